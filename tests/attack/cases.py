"""Cases: a generator, a kind of input, a solver and its options, all of them a function of the seed and a number."""

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from fwlasso import lasso_cv, lasso_path
from fwlasso.options import Options
from fwlasso.solvers.registry import SOLVERS

from . import generators, losses
from .altered import IN_PLACE, altered_after_first_pass, judge_altered
from .duality import General
from .generators import GENERATORS, Data, Rng
from .judge import Fault, Verdict, judge
from .options import ENABLED, OPTIONS, is_solved
from .refits import REFIT, judge_refits
from .storages import KINDS, fits, held

Splits = list[tuple[np.ndarray, np.ndarray]]

#: All generators, and those that take turns.
MAKERS: dict[str, Callable[[Rng], Data]] = {**GENERATORS, **OPTIONS, **losses.LOSSES}
DRAWN = (*GENERATORS, *ENABLED, *losses.LOSSES)
_NAMES_AN_ARGUMENT = re.compile(r"\b(X|y|radii|alphas|tol|eps|max_iter|cv|" + "|".join(General._fields) + r")\b")
_SOLVERS = ("certified", "gram", "working-set", "sfw", "fw", "afw", "pfw", "cd")  # the study registers more
# Radii beyond this may be refused: squares of them are beyond float64.
_EXTREME_RADIUS = 1e78


class Case(NamedTuple):
    """Data, how they are given, and what is asked of them."""

    generator: str
    kind: str
    data: Data
    options: dict[str, Any]
    splits: Splits | None = None

    @property
    def types(self) -> tuple[Any, ...]:
        """What kernels are compiled for."""
        plain = not (self.options["fit_intercept"] or self.options["standardize"])
        return (
            self.kind,
            self.options["solver"],
            self.data.loss,
            plain,
            "radii" in self.options,
            self.data.folds,
            *self.data.asked.keywords(),
        )

    @property
    def may_be_refused(self) -> bool:
        return self.data.extreme or np.max(self.options.get("radii", 0.0)) > _EXTREME_RADIUS

    def __str__(self) -> str:
        m, p = self.data.X.shape
        folds = "" if self.splits is None else f", {len(self.splits)} folds"
        asked = ", ".join([*(f"{name}={value}" for name, value in self.options.items()), *self.data.asked.keywords()])
        return f"{self.generator} {m} x {p} as {self.kind}{folds}: {asked}"


def make_case(seed: int, number: int, names: tuple[str, ...] = DRAWN) -> Case:
    """Return a case; generators take turns."""
    rng = np.random.default_rng([seed, number])
    name = names[number % len(names)]
    data = MAKERS[name](rng)
    kinds = [kind for kind in KINDS if fits(kind, data.X)]
    weights = np.array([3.0 if kind in ("dense64", "bed") else 1.0 for kind in kinds])
    kind = str(rng.choice(kinds, p=weights / weights.sum()))
    if data.folds is not None:  # masks are types of their own: few of them
        kind = str(rng.choice(["dense64", "csc64"]))
    splits = draw_splits(rng, len(data.y), data.folds) if data.folds else None
    is_squared = data.loss == "squared"
    options = draw_options(rng, data, splits is not None) if is_squared else losses.draw_options(rng, data)
    if data.altered is not None:
        kind = str(rng.choice(IN_PLACE))
    if data.folds == "refit":  # of columns about their means, and with points that have few features
        options = {name: value for name, value in options.items() if name != "radii"}
        options |= {"alphas": int(rng.integers(2, 11)), "fit_intercept": True}
    return Case(name, kind, data, options, splits)


def draw_options(rng: Rng, data: Data, folds: bool) -> dict[str, Any]:
    """Return settings of a path; the default solver has every third case, and all of those with folds."""
    grids = {name: [grid for grid in SOLVERS[name].grids if is_solved(data.asked, name, grid)] for name in _SOLVERS}
    solvers = [name for name in _SOLVERS if grids[name]]
    usual = solvers[0]  # the default one, but where it is not for such a penalty
    solver = usual if folds or rng.random() < 0.25 else str(rng.choice(solvers))
    entry = SOLVERS[solver]
    grid = str(rng.choice(grids[solver]))
    options: dict[str, Any] = {"solver": solver, grid: draw_grid(rng, data, grid)}
    if isinstance(options[grid], int) and rng.random() < 0.5:
        options["eps"] = float(rng.choice([1e-1, 1e-2, 1e-5]))
    if rng.random() < 0.8:
        options |= {"stop": "gap", "tol": float(rng.choice([1e-4, 1e-8, 1e-15, 0.0], p=[0.5, 0.25, 0.125, 0.125]))}
    if rng.random() < 0.25:
        options["max_iter"] = int(rng.integers(1, 11))
    elif entry.routes == ("pointwise",):
        options["max_iter"] = 500
    options |= {"fit_intercept": bool(rng.random() < 0.8), "standardize": bool(rng.random() < 0.4)}
    options |= {"n_threads": int(rng.choice([1, 1, 1, 2])), "random_state": int(rng.integers(1000))}
    if solver in ("sfw", "fw") and grid == "radii" and rng.random() < 0.5:
        options["variant"] = "paper"
    if solver in ("sfw", "afw", "pfw") and rng.random() < 0.5:
        options["sample_size"] = float(rng.choice([0.1, 0.5]))
    return options


def draw_grid(rng: Rng, data: Data, grid: str) -> int | np.ndarray:
    """Return a number of points, or values from within a path to far beyond it, alphas below all rounding."""
    if rng.random() < 0.5:
        return int(rng.integers(1, 11))
    with np.errstate(all="ignore"):
        X = np.nan_to_num(data.X)
        X, y = X - X.mean(axis=0), data.y - data.y.mean()
        size = (
            np.abs(X.T @ y).max() / len(y) if grid == "alphas" else np.linalg.norm(y) / np.linalg.norm(X, axis=0).max()
        )
        size = size if 1e-250 < size < 1e250 else 1.0
        values = size * 10.0 ** rng.uniform(-4.0, 1.0, int(rng.integers(1, 6)))
        below = size * 10.0 ** -rng.uniform(9.0, 320.0, 2)
    beyond = [2.0 * size, *below, 1e-310, 5e-324] if grid == "alphas" else [5e-324, 10.0 ** rng.integers(10, 301)]
    far = [0.0, values[0], *beyond]
    return np.concatenate([values, rng.choice(far, int(rng.integers(0, 3)))])


def draw_splits(rng: Rng, m: int, folds: str) -> Splits:
    """Return folds; of one sample, it is held out or, once, all that is kept."""
    order = rng.permutation(m)
    if folds == "repeated":
        drawn = rng.integers(0, m, m)
        return [(order[1:], order[:1]), (np.append(drawn, drawn[0]), order[: m // 2])]
    if folds != "one":
        parts = np.array_split(order, 3)
        return [(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), np.sort(parts[k])) for k in range(3)]
    one, others = order[:1], np.sort(order[1:])
    return [(others, one), (one, others)]


def run(case: Case, strict: bool = False) -> Verdict:
    """Solve a case and judge what is returned; whatever is raised belongs to its case."""
    y, values, asked = case.data.y, held(case.kind, case.data.X), case.data.asked
    X = KINDS[case.kind](case.data.X if case.kind == "bed" else values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.splits is None:
                with nullcontext() if case.data.altered is None else altered_after_first_pass(X, case.data.altered):
                    path = lasso_path(X, y, **case.options, **asked.keywords())
                folds, scores = (), None
            else:
                refit = REFIT if case.data.folds == "refit" else {}
                found = lasso_cv(X, y, cv=case.splits, **case.options, **asked.keywords(), **refit)
                path, folds, scores = found.path, found.fold_paths, found.choice.fold_scores
        except Exception as error:
            return Verdict(faults=(_refusal(case, error),))
        try:
            if case.data.loss != "squared":
                return losses.judge(path, values, y, asked)
            verdict = judge(path, X, values, y, asked, strict=strict)
            verdict += Verdict(faults=_judge_counts(path, case.options))
            if case.data.altered is not None:
                verdict += Verdict(faults=judge_altered(path))
            for k, fold in enumerate(folds):
                train, test = case.splits[k]
                own = asked
                if case.data.folds == "repeated":  # so often a row counts
                    own = asked._replace(sample_weight=np.bincount(train, minlength=len(y)).astype(float))
                    train = np.unique(train)
                verdict += judge(fold, X, values, y, own, rows=train, strict=strict)
                if case.data.folds != "refit":
                    verdict += Verdict(faults=_judge_scores(fold, values[test], y[test], asked.on(test), scores[:, k]))
            if case.data.folds == "refit":
                verdict += Verdict(faults=judge_refits(found, values, y))
        except Exception as error:
            return Verdict(faults=(Fault("errors", f"of the judge: {error!r}"),))
    return verdict


def _judge_counts(path: Any, options: dict[str, Any]) -> tuple[Fault, ...]:
    """Compare the iterations of a path with their limit, on each of two routes."""
    n_iter, n_most = int(path.counters.iterations.sum()), 2 * len(path) * options.get("max_iter", Options.max_iter)
    return () if n_iter <= n_most else (Fault("wrong", f"{n_iter} iterations, not {n_most} at most"),)


def _refusal(case: Case, error: Exception) -> Fault:
    if not isinstance(error, ValueError):
        return Fault("errors", repr(error))
    if case.data.altered is not None:
        fair: object = re.search("^X was altered while the path was computed|^X contains NaN, infinity", str(error))
    elif case.splits is not None and case.data.asked.sample_weight is not None:
        fair = re.search("^sample_weight: all samples to (fit|score) in fold", str(error))
    else:
        fair = case.may_be_refused and _NAMES_AN_ARGUMENT.search(str(error))
    return Fault("refused" if fair else "refused wrongly", str(error))


def _judge_scores(
    path: Any, values: np.ndarray, y: np.ndarray, asked: General, scores: np.ndarray
) -> tuple[Fault, ...]:
    """Compare the scores of a fold with mean squared errors in long double, up to rounding of plain predictions."""
    coefs, shift = path.coefs.toarray().astype(np.longdouble), 0.0 if asked.offset is None else asked.offset[:, None]
    errors = values.astype(np.longdouble) @ coefs + path.intercepts + shift - y[:, None]
    sizes = np.abs(values).astype(np.longdouble) @ np.abs(coefs) + np.abs(path.intercepts) + np.abs(y)[:, None]
    off = 2.0**-53 * (path.coefs.shape[0] + 8) * (sizes + np.abs(shift))

    def mean(numbers: np.ndarray) -> np.ndarray:
        return numbers.mean(axis=0) if asked.sample_weight is None else np.average(numbers, 0, asked.sample_weight)

    exact = mean(errors**2)
    allowed = mean(off * (2.0 * np.abs(errors) + off)) + 1e-12 * exact
    if not np.isfinite(scores).all():
        return (Fault("non-finite", "scores of a fold"),)
    if not (np.abs(exact - scores) <= allowed).all():
        return (Fault("wrong", f"scores {scores}, are {exact}"),)
    return ()


class Promise(NamedTuple):
    """Sets of data that a share of all points must be certified on."""

    n_sets: int
    share: float
    quick: int  # every so many sets in `make test`
    seed: int
    make: Callable[[Rng, int], Data]  # of a set, by its number
    tols: tuple[float, ...] = (1e-4, 1e-4, 1e-8, 1e-8)  # sets take turns
    options: Callable[[int], dict[str, Any]] = lambda _: {}


def _shaped(rng: Rng, number: int) -> np.ndarray:
    return rng.standard_normal((40, 8) if number % 2 else (30, 60))


def _times(rng: Rng, number: int) -> Data:
    unit, span = (1.0, 1e3, 1e9)[number // 4 % 3], (86400.0, 3600.0, 60.0, 1.0)[number // 12 % 4]
    X = generators.times_of(rng, *_shaped(rng, number).shape, unit, span)
    return Data(X, generators.response(rng, generators.standard(X)))


def _hard_and_tall(rng: Rng, number: int) -> Data:
    make = (generators.ill_conditioned, generators.copies, generators.scales_side_by_side)[number % 3]
    return next(data for _ in range(100) if (data := make(rng)).X.shape[0] >= data.X.shape[1])


PROMISES = {
    # Means 1e4 to 1e14 times the spread; tall and wide.
    "large-means": Promise(
        88, 1.0, 2, 1, lambda rng, k: generators.means_of(rng, _shaped(rng, k), 10.0 ** (4 + k // 4 % 11))
    ),
    # Unix times in s, ms and ns, over a day, an hour, a minute and a second.
    "times": Promise(96, 1.0, 4, 2, _times),
    "ids": Promise(60, 1.0, 4, 3, lambda rng, k: (generators.ids, generators.years)[k % 2](rng)),
    "near-copies": Promise(400, 0.0, 10, 4, lambda rng, k: (generators.near_copies, generators.chains)[k % 2](rng)),
    "spectra": Promise(
        200, 0.99, 25, 5,
        lambda rng, _: generators.spectra_of(rng, int(rng.integers(20, 101)), int(rng.integers(200, 501))),
        tols=(1e-4,), options=lambda k: {"eps": (1e-2, 1e-5)[k % 2]},
    ),
    # Condition 1e12, duplicates and scales 1e12 apart, with no fewer samples than columns.
    "hard-and-tall": Promise(
        120, 0.0, 6, 6, _hard_and_tall,
        tols=(1e-4,) * 3 + (1e-8,) * 3, options=lambda k: {"standardize": bool(k // 6 % 2)},
    ),
}  # fmt: skip


def promised(name: str, number: int) -> Case:
    """Return a set of a promise."""
    promise = PROMISES[name]
    data = promise.make(np.random.default_rng([promise.seed, number]), number)
    asked = {"solver": "certified", "alphas": 20, "tol": promise.tols[number % len(promise.tols)]}
    asked |= {"fit_intercept": True, "standardize": False, "n_threads": 1, "random_state": number}
    return Case(f"promise: {name}", "dense64", data, asked | promise.options(number))


def case_of(key: str, seed: int, names: tuple[str, ...] = DRAWN) -> Case:
    """Return a case by its number, or a set of a promise by name/number."""
    name, _, number = key.rpartition("/")
    return promised(name, int(number)) if name else make_case(seed, int(number), names)

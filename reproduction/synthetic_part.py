"""The synthetic sets: the growth of the most relevant coefficients, and the test error, FW against CD."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fwlasso.solvers.sample_size import QuantileRule, SparsityRule

from . import published
from .claims import LOW, SAME, compared_best, judged, low_minimum
from .data.paper_sets import PAPER_SETS
from .figures import Growth, growth_figure, held_out_figure
from .intervals import Interval, of_mean
from .measuring import idle_points, numbers, run
from .methods import Method
from .sets import STUDY_SETS, SYNTHETIC, Loaded, load
from .study import Case, Claim, Figure, Findings, Part, Record, Setup, Table, Task
from .summary import mean_of
from .text import counted, listed, number, power, share
from .units import STOPPING

#: The relevant features are those with the largest mean coefficient along a path as exact as this.
REFERENCE_GAP = 1e-8
N_FEATURES = 10
#: The sets whose test error the paper shows.
WITH_TEST_ERROR = ("synthetic-10000-100", "synthetic-50000-158")
_CONFIDENCE = 0.99
_ZERO_STEPS = (
    "To the letter a sample without descent makes a step of zero, which meets the rule and ends a point: the table "
    "counts such points as zero steps. Ours draws again."
)
#: Draws of the data: the first has all runs of FW to the letter, the others few, as ours has.
N_DRAWS = 5
_FEW_RUNS = 2

_EXACT = Method("certified", "certified path", "alphas", {"solver": "certified", "tol": REFERENCE_GAP})
_CD = Method("cd", "CD", "alphas", {"solver": "cd", **STOPPING})
_FW = Method("sfw", "FW", "radii", {"solver": "sfw", "variant": "paper", **STOPPING}, is_random=True)
_OURS = Method("sfw-ours", "FW, ours, single columns", "radii", {"solver": "sfw", "block_size": 1, **STOPPING}, True)


def _tasks(setup: Setup) -> list[Task]:
    settings = {
        "gap": REFERENCE_GAP, "features": N_FEATURES, "confidence": _CONFIDENCE, "fw": _FW.settings,
        "ours": _OURS.settings, **STOPPING,
    }  # fmt: skip
    tasks = []
    for name in (name for name in setup.sets if name in SYNTHETIC):
        for draw in range(min(setup.n_seeds, N_DRAWS)):
            n_runs = setup.n_seeds if draw == 0 else min(setup.n_seeds, _FEW_RUNS)
            seconds = 5.0 + 1e-4 * STUDY_SETS[name].p * (n_runs + _FEW_RUNS)
            run_all = partial(_run, setup, name, draw, n_runs)
            tasks.append(Task(f"synthetic/{name}/{draw}", seconds, run_all, {"runs": n_runs, **settings}))
    return tasks


def _run(setup: Setup, name: str, draw: int, n_runs: int) -> Record:
    """Follow the most relevant features along the exact path, CD's and FW's."""
    loaded = load(name, setup.data, setup.n_threads, draw)
    exact = run(loaded, _EXACT, 0, setup.n_threads).path
    strength = np.asarray(abs(exact.scaled_coefs).mean(axis=1)).ravel()
    features = np.argsort(-strength, kind="stable")[:N_FEATURES]
    n_relevant = math.ceil(exact.n_active.mean())
    rule = SparsityRule(n_relevant, _CONFIDENCE)
    cd = run(loaded, _CD, 0, setup.n_threads)
    data = loaded.data
    paths = {"exact": exact, "cd": cd.path}
    runs = {
        key: [run(loaded, method, seed, setup.n_threads, sample_size=rule).path for seed in range(n)]
        for key, method, n in (("fw", _FW, n_runs), ("ours", _OURS, min(n_runs, _FEW_RUNS)))
    }
    return {
        "title": data.title,
        "features": features.tolist(),
        "true_features": len({*features.tolist()} & {*_relevant(loaded)}),
        "n_relevant": n_relevant,
        "sample_size": rule(data.X.shape[1], 0),
        **{key: _path_record(loaded, path, features) for key, path in paths.items()},
        **{key: [_path_record(loaded, path, features) for path in of_key] for key, of_key in runs.items()},
    }


def _relevant(loaded: Loaded) -> list[int]:
    """Return the features of the true model."""
    return [] if loaded.data.relevant is None else [int(feature) for feature in loaded.data.relevant]


def _path_record(loaded: Loaded, path: Any, features: Any) -> Record:
    data = loaded.data
    assert data.y_test is not None  # synthetic sets come with a test set
    return {
        "l1": numbers(np.asarray(abs(path.scaled_coefs).sum(axis=0)).ravel()),
        "coefs": [numbers(row) for row in path.scaled_coefs.tocsr()[features].toarray()],
        "n_active": path.n_active.tolist(),
        "stalled": idle_points(path),
        "train_mse": numbers(loaded.mse(data.X, data.y, path.coefs, path.intercepts)),
        "test_mse": numbers(loaded.mse(data.X_test, data.y_test, path.coefs, path.intercepts)),
        "iterations": int(path.counters.iterations.sum()),
        "dot_products": int(path.counters.dot_products),
    }


Draws = Sequence[Record]  # of one set


def _show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    keys = {name: [f"synthetic/{name}/{draw}" for draw in range(N_DRAWS)] for name in setup.sets}
    found = {name: [records[key] for key in of_set if key in records] for name, of_set in keys.items()}
    known = {name: draws for name, draws in found.items() if draws}
    if not known:
        return Findings([], [], [])
    figures = [_growth(name, draws[0]) for name, draws in known.items()]
    figures += [_test_error(name, draws[0]) for name, draws in known.items() if name in WITH_TEST_ERROR]
    return Findings([_table(known)], figures, [], _claims(known))


def _growth(name: str, record: Record) -> Figure:
    return growth_figure(_drawn(name, record))


def _test_error(name: str, record: Record) -> Figure:
    return held_out_figure(_drawn(name, record))


def _drawn(name: str, record: Record) -> Growth:
    what = ("title", "features", "fw", "ours", "cd", "sample_size")
    return Growth(name, *(record[key] for key in what))


def _over(draws: Draws, look: Callable[[Record], float]) -> Interval:
    """Return the mean over the draws of the data of what is computed from each."""
    return of_mean(mean_of([look(draw) for draw in draws]))


def _table(known: Mapping[str, Draws]) -> Table:
    rows, data = [], []
    for name, draws in known.items():
        for method, key in ((_FW, "fw"), (_OURS, "ours"), (_CD, "cd")):
            n_runs = sum(len(_runs(draw, key)) for draw in draws)
            found = {what: _over(draws, partial(look, key=key)) for what, look in _LOOKS.items()}
            forms: Mapping[str, Callable[[float], str]] = {"distance": share, "dot products": power}
            cells = [found[what].text(forms.get(what, number)) for what in _LOOKS]
            rows.append((draws[0]["title"], method.label, f"{len(draws)}, {n_runs}", *cells))
            numbers_of = {what: interval.value for what, interval in found.items()}
            data.append({"set": name, "method": method.key, "draws": len(draws), "runs": n_runs, **numbers_of})
    header = ("data set", "method", "draws, runs", *_LOOKS)
    note = (
        f"Means over the draws of the data; FW as the paper writes it, and ours. Distance: the difference of the "
        f"{N_FEATURES} coefficients from the exact path at equal l1 norms, on average over the points, relative to the "
        "largest coefficient. Test errors are divided by that of exact solutions, the last objective by its minimum."
    )
    return Table("synthetic", "Synthetic sets: FW against CD", header, rows, note, data)


def _runs(draw: Record, key: str) -> Sequence[Record]:
    return draw[key] if isinstance(draw[key], list) else [draw[key]]


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _distance(draw: Record, key: str) -> float:
    """Return how far coefficients are from exact ones at equal l1 norms, on average, relative to the largest one."""
    exact, away = draw["exact"], []
    known = np.array(exact["l1"])
    for path in _runs(draw, key):
        l1 = np.array(path["l1"])
        for row, theirs in zip(path["coefs"], exact["coefs"], strict=True):
            away.append(np.abs(np.array(row) - np.interp(l1, known, np.array(theirs))).mean())
    return _mean(away) / float(np.abs(np.array(exact["coefs"])).max())


def _best(draw: Record, key: str) -> float:
    """Return the smallest test error of a path over that of the exact one."""
    return _mean(min(path["test_mse"]) for path in _runs(draw, key)) / float(min(draw["exact"]["test_mse"]))


def _last(draw: Record, key: str, what: str) -> float:
    """Return the error of the last point over that of the exact path."""
    return _mean(path[what][-1] for path in _runs(draw, key)) / float(draw["exact"][what][-1])


def _best_norm(draw: Record, key: str) -> float:
    """Return the l1 norm of the model with the smallest test error over the largest."""
    found = [path["l1"][int(np.argmin(path["test_mse"]))] for path in _runs(draw, key)]
    return _mean(found) / float(draw["exact"]["l1"][-1])


def _emptiness(draw: Record) -> float:
    """Return the best test error of the exact path over that of the empty model, where it begins."""
    exact = draw["exact"]["test_mse"]
    return float(min(exact) / exact[0])


#: Columns of the table.
_LOOKS: dict[str, Callable[..., float]] = {
    "distance": _distance,
    "best test error": _best,
    "last test error": partial(_last, what="test_mse"),
    "last objective": partial(_last, what="train_mse"),
    "zero steps": lambda draw, key: _mean(len(path["stalled"]) for path in _runs(draw, key)),
    "active features": lambda draw, key: _mean(_mean(path["n_active"]) for path in _runs(draw, key)),
    "dot products": lambda draw, key: _mean(path["dot_products"] for path in _runs(draw, key)),
}


def _claims(known: Mapping[str, Draws]) -> list[Claim]:
    grown, best, low, end, cost = [], [], [], [], []
    for draws in known.values():
        where, emptiness = draws[0]["title"], _over(draws, _emptiness).value
        low.append(low_minimum(where, "exact", _over(draws, partial(_best_norm, key="exact")), emptiness))
        for key, label in (("fw", "FW to the letter"), ("ours", "FW, ours")):
            away = _over(draws, partial(_distance, key=key))
            grown.append(judged(where, away, away.lies(0.0, SAME), label, share))
            best.append(compared_best(where, f"{label} / exact", _over(draws, partial(_best, key=key)), emptiness))
            test, train = (_over(draws, partial(_against_cd, key=key, what=what)) for what in ("test_mse", "train_mse"))
            case = judged(where, test, test.lies(0.0, 1.0), f"{label} / CD")
            end.append(case._replace(ours=f"{case.ours}; its objective {train.text()} times CD's"))
            dots = _over(draws, partial(_dots_against_cd, key=key))
            cost.append(judged(where, dots, dots.lies(0.0, 1.0), f"{label} / CD"))
    shown = listed([PAPER_SETS[name].title for name in WITH_TEST_ERROR])
    early = (
        "Where it holds, FW is at the end of the path far above the minimum of its objective: a point that is left "
        "early predicts as a smaller model does, which is no better solution."
    )
    return [
        Claim(
            f"FW follows the {N_FEATURES} most relevant coefficients along the path, on average within {share(SAME)} "
            "of the largest one.",
            grown,
            _ZERO_STEPS,
            place="section 5.1, Figures 1, 2",
        ),
        Claim(
            f"FW and CD find the same best test error, that of exact solutions within {share(SAME)}.",
            best,
            f"{_ZERO_STEPS} The paper shows this for {shown}.",
            place="section 5.1, Figure 3",
        ),
        Claim("At the end of the path FW's test error is below CD's.", end, early, place="section 5.1, Figure 3"),
        Claim(f"The best model has a low l1 norm, below {share(LOW)} of the largest.", low, place="section 5.2"),
        Claim(
            "FW takes fewer dot products than CD on synthetic sets, too, where the paper shows no cost.",
            cost,
            "Ours goes on after a draw without descent, and the paper's rule is strict in the units of y here: points "
            "take thousands of steps. To the letter nearly all points end by a step of zero, far from a solution.",
            place="section 5.2, of others",
        ),
        _sample_sizes(known),
        _quantile(),
    ]


def _against_cd(draw: Record, key: str, what: str) -> float:
    return _last(draw, key, what) / _last(draw, "cd", what)


def _dots_against_cd(draw: Record, key: str) -> float:
    fw, cd = (_mean(path["dot_products"] for path in _runs(draw, one)) for one in (key, "cd"))
    return fw / cd


def _sample_sizes(known: Mapping[str, Draws]) -> Claim:
    """Hold the published sample sizes against those of our draws, whose sparsity varies."""
    cases = []
    for name, draws in known.items():
        theirs, sizes = published.SAMPLE_SIZES[name], [draw["sample_size"] for draw in draws]
        shown = f"from {min(sizes):,} to {max(sizes):,} over {counted(len(sizes), 'draw')}"
        cases.append(Case(draws[0]["title"], min(sizes) <= theirs <= max(sizes), shown, f"{theirs:,}"))
    text = f"The sparsity rule at {share(_CONFIDENCE)} gives the published sizes: they lie between those of our draws."
    why = "The sizes follow from the mean number of active features, and draws of the data differ in it."
    return Claim(text, cases, why, place="section 5.1")


def _quantile() -> Claim:
    """Compute what Theorem 1 asks for."""
    rule = QuantileRule()
    ours = rule(10**9, 0)
    text = (
        f"A sample of {published.QUANTILE_SIZE} has one of the {share(rule.quantile)} largest entries of any gradient "
        f"with a probability of {share(rule.confidence)}."
    )
    case = Case("any set", ours == published.QUANTILE_SIZE, f"{ours:,} by the formula", f"{published.QUANTILE_SIZE}")
    return Claim(text, [case], place="section 4.5")


PART = Part("synthetic", "Synthetic data sets", _tasks, _show)

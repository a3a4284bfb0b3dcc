"""The paper's table of methods, measured: how fast each converges, what a step costs, and how many nonzeros it has.

All solve one problem with more features than samples, from zero: at a penalty, or at the radius of its solution. The
error of a point a is (F(a) - F*) / (F(0) - F*), with the penalty in F where there is one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwlasso._core.columns import Vector
from fwlasso._core.iterate import Iterate, is_stale, objective, refresh, zero
from fwlasso._core.penalties import L1, L1Ball, Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.solvers.away_steps import AwayFrankWolfe, away_step, pairwise_step
from fwlasso.solvers.certified import Certified
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.frank_wolfe import VARIANTS, FrankWolfe
from fwlasso.solvers.protocol import Burst, SolverSettings, StepSolver, Stopping
from fwlasso.solvers.sample_size import FixedSize

from ..pictures import legend_below, line_of, log_axes, panels
from ..solvers.accelerated_gradient import SLEP, AcceleratedGradient
from ..solvers.mirror_descent import MirrorDescent
from ..solvers.nearest_point import NearestPoint
from ..solvers.stochastic_descent import StochasticDescent
from ..study import Case, Claim, Figure, Findings, Part, Record, Setup, Table, Task
from ..text import counted, power
from .fits import exponential_law, power_law

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "rates"
N_SAMPLES, N_FEATURES, N_RELEVANT = 100, 2000, 10
N_DRAWN: Final = 200  # columns that a step of the sampled method looks at
_PENALTY: Final = 0.1  # of the largest one
MOST_STEPS, MOST_EPOCHS = 10_000, 2_000
_LEAST_ERROR: Final = 1e-9  # below this rounding shows
_MOST_SEEDS: Final = 5
_COST_STEPS: Final = 20
_SIZES: Final = (0.5, 1.0, 2.0)  # of p and of m, for the growth of the cost
_LETTER: Final = VARIANTS["paper"]


class Method(NamedTuple):
    """A row of the paper's table: what it says, and how the method is made."""

    label: str
    ball: bool  # the constrained form
    make: Callable[[int], StepSolver]  # by its seed
    iterations: str  # to an error eps, as published
    cost: str  # of an iteration
    sparse: str
    per_step: str = ""  # "p" or "m": a step of ours is an epoch of so many iterations of the paper's
    is_random: bool = False


#: Published numbers of iterations to an error, as exponents of the error by steps; and what fits may miss them by.
_EXPONENTS: Final = {"1/√ε": -2.0, "1/ε": -1.0, "p/ε": -1.0, "1/ε²": -0.5, "log(p)/ε²": -0.5}
_SLACK: Final = 0.1

#: The relatives of Frank-Wolfe without a published entry are not of the paper's table.
METHODS: Final[dict[str, Method]] = {
    "apg-ball": Method("SLEP const.", True, lambda _: AcceleratedGradient(SLEP), "1/√ε", "mp + p", "no"),
    "apg": Method("SLEP reg.", False, lambda _: AcceleratedGradient(SLEP), "1/√ε", "mp + p", "no"),
    "apg-ball-ours": Method("APG const., ours", True, lambda _: AcceleratedGradient(), "", "", ""),
    "cd": Method("CD", False, lambda _: CoordinateDescent(), "unknown", "mp", "yes"),
    "sgd": Method("SGD", False, partial(MirrorDescent, is_euclidean=True), "1/ε²", "p", "no", "m", True),
    "smidas": Method("SMIDAS", False, partial(MirrorDescent, is_euclidean=False), "log(p)/ε²", "p", "no", "m", True),
    "wolfe": Method("GeoLasso (Wolfe)", True, lambda _: NearestPoint(), "1/ε", "mp + a²", "yes"),
    "fw": Method("FW, all columns", True, lambda _: FrankWolfe(None, None, 0, _LETTER), "1/ε", "mp", "yes"),
    "scd": Method("SCD", False, StochasticDescent, "p/ε", "m", "yes", "p", True),
    "sfw": Method(
        f"FW, {N_DRAWN} columns",
        True,
        lambda seed: FrankWolfe(FixedSize(N_DRAWN), 1, seed, _LETTER),
        "1/ε",
        "mκ",
        "yes",
        "",
        True,
    ),
    "afw": Method("away-step FW", True, lambda _: AwayFrankWolfe(away_step), "", "", ""),
    "pfw": Method("pairwise FW", True, lambda _: AwayFrankWolfe(pairwise_step), "", "", ""),
}


def tasks(setup: Setup) -> list[Task]:
    """One task for every method and seed, and one for what steps cost."""
    shape = {"m": N_SAMPLES, "p": N_FEATURES, "relevant": N_RELEVANT, "penalty": _PENALTY, "drawn": N_DRAWN}
    found = []
    for key, method in METHODS.items():
        most = MOST_EPOCHS if method.per_step else MOST_STEPS
        for seed in range(min(setup.n_seeds, _MOST_SEEDS) if method.is_random else 1):
            found.append(
                Task(f"{_NAME}/{key}/{seed}", 3.0, partial(_follow, key, seed, most), {**shape, "steps": most})
            )
        found.append(Task(f"{_NAME}/cost/{key}", 1.0, partial(_cost, key), {**shape, "sizes": list(_SIZES)}))
    return found


class Posed(NamedTuple):
    """The problem in both forms, and the least value of the objective of each."""

    problem: Problem
    penalty: L1
    ball: L1Ball
    least: dict[bool, float]  # by whether it is constrained

    def form(self, method: Method) -> Penalty:
        """Return the penalty that a method solves for."""
        return self.ball if method.ball else self.penalty

    def error(self, method: Method, iterate: Iterate) -> float:
        """Return how far a point is from the least value, of how far zero is."""
        added = 0.0 if method.ball else self.penalty.lam * iterate.l1
        least = self.least[method.ball]
        return (objective(self.problem, iterate) + added - least) / (0.5 * self.problem.yy - least)


@cache
def posed(m: int, p: int) -> Posed:
    """Return a problem of a size."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((m, p)))
    y = X[:, :N_RELEVANT] @ (rng.choice([-1.0, 1.0], N_RELEVANT) * rng.uniform(0.5, 1.5, N_RELEVANT))
    y += rng.standard_normal(m)
    with Workers(1) as workers:
        problem = build_problem(as_design(X), y, False, False, workers)
        penalty = L1(_PENALTY * problem.lambda_max)
        solver = Certified(SolverSettings("gap", 1e-13, 1000))
        found = solver.solve(problem, [penalty], None, workers, lambda *_, **__: None)
    ((qq, qy, l1, _),) = found.sums.tolist()
    fit = 0.5 * problem.yy + 0.5 * qq - qy
    return Posed(problem, penalty, L1Ball(l1), {True: fit, False: fit + penalty.lam * l1})


def _steps(
    method: Method, seed: int, size: tuple[int, int], targets: NDArray[np.int64], stopping: Stopping
) -> tuple[list[Iterate], list[int], int]:
    """Go from zero; return points after numbers of steps, those numbers, and all dot products."""
    pose = posed(*size)
    solver, iterate, n_steps, n_dots = method.make(seed), zero(pose.problem), 0, 0
    points, counts = [], []
    if solver.columns_per_step(pose.problem, iterate) < size[1]:  # the gap of a sample is no reason to stop
        stopping = Stopping()
    with Workers(1) as workers:
        for target in targets.tolist():
            status = None
            while n_steps < target and status is None:
                burst = Burst(pose.problem, pose.form(method), stopping, target - n_steps, workers)
                done = solver.advance(burst, iterate)
                iterate, status = done.iterate, done.status
                if is_stale(pose.problem, iterate):
                    iterate = refresh(pose.problem, iterate)
                n_steps, n_dots = n_steps + done.n_iter, n_dots + done.n_dots
            kept = iterate.n_active  # arrays are written in place by the next steps
            points.append(
                iterate._replace(active=iterate.active[:kept].copy(), unscaled=iterate.unscaled[:kept].copy())
            )
            counts.append(n_steps)
            if status is not None or pose.error(method, iterate) <= _LEAST_ERROR:
                break
    return points, counts, n_dots


def _follow(key: str, seed: int, most: int) -> Record:
    """Return errors and nonzeros after numbers of steps on a logarithmic grid."""
    method, pose = METHODS[key], posed(N_SAMPLES, N_FEATURES)
    targets = np.unique(np.geomspace(1, most, 60).astype(np.int64))
    stopping = Stopping(gap=1e-13 * 0.5 * pose.problem.yy)
    points, counts, _ = _steps(method, seed, (N_SAMPLES, N_FEATURES), targets, stopping)
    return {
        "steps": counts,
        "errors": [float(pose.error(method, point)) for point in points],
        "n_active": [int(np.count_nonzero(point.unscaled)) for point in points],
    }


def _cost(key: str) -> Record:
    """Return the multiplications of an iteration as p, and as m, is half and twice as large."""
    method = METHODS[key]
    targets = np.arange(1, _COST_STEPS + 1)
    found: Record = {}
    for name in ("p", "m"):
        sizes = [
            (round(N_SAMPLES * s), N_FEATURES) if name == "m" else (N_SAMPLES, round(N_FEATURES * s)) for s in _SIZES
        ]
        found[name] = []
        for m, p in sizes:
            _, counts, n_dots = _steps(method, 0, (m, p), targets, Stopping())
            n_iterations = counts[-1] * {"": 1, "m": m, "p": p}[method.per_step]
            found[name].append(n_dots * m / n_iterations)
    return found


class Rate:
    """The errors of a method, its runs apart, and the better of two laws through the last decade of their steps."""

    def __init__(self, key: str, runs: list[Record]) -> None:
        self.key, self.label, self.n_runs = key, METHODS[key].label, len(runs)
        self.steps = np.array(runs[0]["steps"], dtype=np.float64)
        self.errors = np.maximum(np.minimum.accumulate(runs[0]["errors"]), _LEAST_ERROR / 10.0)
        self.most_nonzeros = max(max(run["n_active"]) for run in runs)
        self.at_most_steps = all(n <= k for run in runs for k, n in zip(run["steps"], run["n_active"], strict=True))
        fits = [_last_decade(run) for run in runs]
        self.fits = [fit for fit in fits if fit is not None]

    @property
    def text(self) -> str:
        """The law in words, with the range over the runs."""
        return _words(self.fits)

    @property
    def fitted(self) -> str:
        """The steps that the law is fitted to."""
        return f"{self.fits[0].first:,.0f} to {self.fits[0].last:,.0f}" if self.fits else "-"


class _Law(NamedTuple):
    slope: float
    is_linear: bool  # a constant factor a step fits better than a power of the number of steps
    first: float
    last: float


def _last_decade(run: Record) -> _Law | None:
    """Fit both laws to the last decade of the steps with errors that are more than rounding."""
    errors: Vector = np.minimum.accumulate(run["errors"])
    steps = np.array(run["steps"], dtype=np.float64)
    known = errors > _LEAST_ERROR
    used = known & (steps >= steps[known].max(initial=0.0) / 10.0)
    if used.sum() < 4 or errors[used][0] == errors[used][-1]:
        return None
    sublinear, linear = (law(steps[used], errors[used]) for law in (power_law, exponential_law))
    better = max(sublinear, linear, key=lambda fit: fit.r2)
    return _Law(better.slope, better is linear, steps[used][0], steps[used][-1])


def _words(laws: Sequence[_Law]) -> str:
    if not laws:
        return "too few points to fit"
    if laws[0].is_linear:
        return f"falls by {_range([100.0 * -np.expm1(law.slope) for law in laws], '.2g')} % a step"
    return f"falls like steps^{_range([law.slope for law in laws], '.2f')}"


def _range(values: list[float], form: str) -> str:
    low, high = (f"{edge:{form}}" for edge in (min(values, key=abs), max(values, key=abs)))
    return low if low == high else f"{low} to {high}"


def show(_: Setup, records: Mapping[str, Record]) -> Findings:
    """Return the table and a picture of the errors, and the fitted rates."""
    runs = {key: [record for name, record in records.items() if name.startswith(f"{_NAME}/{key}/")] for key in METHODS}
    rates = [Rate(key, found) for key, found in runs.items() if found]
    if not rates:
        return Findings([], [], [])
    title = f"Error against steps at one point: {N_SAMPLES} samples, {N_FEATURES:,} features"
    return Findings([_table(rates, records)], [Figure(_NAME, title, lambda: _draw(rates))], [], [_claim(rates)])


def _claim(rates: list[Rate]) -> Claim:
    """Hold the fitted laws against the published numbers of iterations."""
    cases = []
    for rate in rates:
        exponent = _EXPONENTS.get(METHODS[rate.key].iterations)
        if exponent is not None and rate.fits:
            holds = all(fit.is_linear or fit.slope <= exponent + _SLACK for fit in rate.fits)
            where = f"{N_SAMPLES} x {N_FEATURES:,}"
            cases.append(
                Case(where, holds, f"{rate.text}, {counted(rate.n_runs, 'run')}", f"steps^{exponent:g}", rate.label)
            )
    text = (
        "Errors fall at least as fast as the published numbers of iterations say, up to "
        f"{_SLACK:g} in the exponent, over the last decade of steps."
    )
    return Claim(text, cases, "A decade that ends before the asymptotic law sets in may fall more slowly.", "Table 2")


def _table(rates: list[Rate], records: Mapping[str, Record]) -> Table:
    rows, data = [], []
    for rate in rates:
        method, cost = METHODS[rate.key], records.get(f"{_NAME}/cost/{rate.key}")
        growth = {} if cost is None else {name: power_law(_SIZES, cost[name]).slope for name in ("p", "m")}
        grown = " ".join(f"{name}^{value:.1f}" for name, value in growth.items()) or "-"
        unit = {"": "", "m": " (step: m of them)", "p": " (step: p of them)"}[method.per_step]
        nonzeros = f"{rate.most_nonzeros:,}" + (", ≤ steps" if rate.at_most_steps and not method.per_step else "")
        rows.append(
            (
                method.label,
                "constrained" if method.ball else "penalized",
                method.iterations or "-",
                rate.text,
                rate.fitted,
                str(rate.n_runs),
                (method.cost or "-") + unit,
                grown,
                method.sparse or "-",
                nonzeros,
            )
        )
        data.append(
            {
                "method": rate.key,
                "runs": rate.n_runs,
                "is_linear": rate.fits[0].is_linear if rate.fits else None,
                "slopes": " ".join(f"{fit.slope:.5g}" for fit in rate.fits),
                "first_fitted_step": rate.fits[0].first if rate.fits else None,
                "last_fitted_step": rate.fits[0].last if rate.fits else None,
                "steps": int(rate.steps[-1]),
                "last_error": float(rate.errors[-1]),
                "cost_by_p": growth.get("p"),
                "cost_by_m": growth.get("m"),
                "most_nonzeros": rate.most_nonzeros,
                "nonzeros_at_most_steps": rate.at_most_steps,
            }
        )
    header = (
        "method", "form", "iterations to ε, published", "error, measured", "fitted over steps", "runs",
        "cost of an iteration, published", "measured", "sparse iterations, published", "most nonzeros, measured",
    )  # fmt: skip
    note = (
        f"{N_SAMPLES} samples, {N_FEATURES:,} features, a penalty of {_PENALTY:g} of the largest one or the l1 norm of "
        f"its solution, from zero. Error: (F - F*) / (F(0) - F*), the smallest so far, above {power(_LEAST_ERROR)}. "
        "O(1/ε) iterations are steps^-1, O(1/√ε) steps^-2, O(1/ε²) steps^-0.5. The law is fitted over the last decade "
        "of steps: a power of them, or a constant factor where that explains more; ranges are over the runs. Cost: "
        f"exponents of the multiplications of an iteration, counted over {_COST_STEPS} steps, as p or m is half or "
        "twice as large; κ columns are drawn, a are active. ≤ steps: no iterate had more nonzeros than steps."
    )
    return Table(
        _NAME, "Methods for the Lasso: rates, costs and sparsity, published and measured", header, rows, note, data
    )


def _draw(rates: list[Rate]) -> "Picture":
    figure, (ax,) = panels(1, size=(8.6, 5.4))
    for rate in rates:
        law = re.sub(r"\^(\S+)", r"$^{\1}$", _words(rate.fits[:1]))
        ax.plot(rate.steps, rate.errors, label=f"{rate.label}: {law}", **line_of(rate.key))
    ax.axhline(_LEAST_ERROR, color="#999999", linewidth=0.8, linestyle=":")
    ax.set_xlabel("steps (SCD, SGD, SMIDAS: epochs)")
    ax.set_ylabel("smallest error so far")
    ax.set_title(f"Error at one point: {N_SAMPLES:,} x {N_FEATURES:,}, the first run of each method", fontsize="medium")
    log_axes(ax)
    legend_below(figure, [ax], n_columns=2)
    return figure


PART = Part(_NAME, "Rates of convergence at one point", tasks, show)

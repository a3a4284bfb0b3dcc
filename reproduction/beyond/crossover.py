"""Two ways to the correlations of all columns: the method of residuals, and that of active covariates.

A step of deterministic Frank-Wolfe takes p dot products by the residual. Active covariates take p for a column that is
stepped to for the first time, and none for others: the correlations are kept, and a step changes them by X'z_j. Which
is cheaper depends on how many steps go to how many columns, and on how many numbers a column has. Both take the same
steps.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path
from fwlasso.solvers.frank_wolfe import VARIANTS, FrankWolfe
from fwlasso.solvers.registry import SOLVERS, pointwise, register

from ..pictures import legend_below, line_of, log_axes, name_of, panels
from ..sets import load
from ..study import Case, Claim, Figure, Findings, Part, Record, Setup, Table, Task
from ..text import counted, number, power, share
from ..units import STOPPING, UNITS
from .effects import sets_of as dense_sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "crossover"
_SPARSE: Final = "dorothea"
_RESIDUALS: Final = "fw-residuals"
#: Labels by solver.
METHODS: Final = {_RESIDUALS: "method of residuals", "fw": "method of active covariates"}
MOST_STEPS: Final = 30  # a point
# Paths end after so many points of the grid: each is the beginning of the next.
_LENGTHS: Final = (1, 2, 4, 8, 16, 32, 50, 65, 80, 100)
_KEPT: Final = 3  # multiplications for a correlation that is kept: z_j'y - scale z_j'q, shrink z_j'q + push z_j'z_k


def sets_of(setup: Setup) -> list[str]:
    """Return one synthetic set, Pyrim, and one of sparse columns."""
    return dense_sets(setup) + [name for name in setup.sets if name == _SPARSE]


def tasks(setup: Setup) -> list[Task]:
    """One task for every set and method."""
    settings = {"steps": MOST_STEPS, "lengths": list(_LENGTHS), **STOPPING}
    return [
        Task(f"{_NAME}/{name}/{method}", 30.0, partial(_run, setup, name, method), {**settings, "solver": method})
        for name in sets_of(setup)
        for method in METHODS
    ]


def _run(setup: Setup, name: str, method: str) -> Record:
    """Return steps and dot products, without z_j'y, of the beginnings of a path."""
    if _RESIDUALS not in SOLVERS:
        residuals = VARIANTS["default"]._replace(covariance_bytes=0)
        entry = pointwise(("radii",), SOLVERS["fw"].stops, lambda _: FrankWolfe(None, None, 0, residuals))
        register(_RESIDUALS, entry)
    loaded = load(name, setup.data, setup.n_threads)
    X, y = loaded.data.X, loaded.data.y
    settings: dict[str, Any] = {"solver": method, "max_iter": MOST_STEPS, "certify": False, **UNITS, **STOPPING}
    steps, dot_products = [], []
    for length in _LENGTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # points end by the number of their steps
            path = lasso_path(X, y, radii=loaded.grids.radii[:length], n_threads=setup.n_threads, **settings)
        steps.append(int(path.counters.iterations.sum()))
        dot_products.append(int(path.counters.dot_products) - X.shape[1])
    return {
        "p": X.shape[1],
        "entries": float(X.nnz / X.shape[1]) if sp.issparse(X) else X.shape[0],  # of a column, on average
        "steps": steps,
        "dot_products": dot_products,
        "seconds": float(path.counters.seconds["solve"]),
        "n_active": float(path.n_active.mean()),
    }


class Cost(NamedTuple):
    """What a method spends on a set."""

    steps: Vector
    dot_products: Vector
    multiplications: Vector
    record: Record


def _cost(method: str, record: Record) -> Cost:
    steps, dots = np.array(record["steps"], np.float64), np.array(record["dot_products"], np.float64)
    kept = 0.0 if method == _RESIDUALS else _KEPT * record["p"] * steps
    return Cost(steps, dots, record["entries"] * dots + kept, record)


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return what both cost after numbers of steps, as a table and a picture."""
    found = {
        name: [_cost(method, records[f"{_NAME}/{name}/{method}"]) for method in METHODS]
        for name in sets_of(setup)
        if all(f"{_NAME}/{name}/{method}" in records for method in METHODS)
    }
    if not found:
        return Findings([], [], [])
    title = "Deterministic FW: cost of the correlations of all columns"
    figure = Figure(_NAME, title, lambda: _draw(found))
    sentences = [_sentence(name, *costs) for name, costs in found.items()]
    return Findings([_table(found)], [figure], sentences, [_claim(found)])


def _share(residuals: Cost, covariates: Cost) -> float:
    """Return the multiplications of the second over those of the first, over the whole path."""
    return float(covariates.multiplications[-1] / residuals.multiplications[-1])


def _claim(found: Mapping[str, list[Cost]]) -> Claim:
    cases = []
    for name, costs in found.items():
        spent = _share(*costs)
        active = number(costs[1].record["n_active"])
        cases.append(
            Case(name_of(name), spent < 1.0, f"{share(spent)} of the multiplications, {active} active features")
        )
    text = "Deterministic FW: active covariates cost less than the method of residuals where solutions are very sparse."
    return Claim(text, cases, place="section 4.2")


def _crossover(residuals: Cost, covariates: Cost) -> int | None:
    """Return after how many steps the second takes fewer multiplications, from there on."""
    behind = np.flatnonzero(covariates.multiplications >= residuals.multiplications)
    first = int(behind[-1]) + 1 if behind.size else 0
    return int(covariates.steps[first]) if first < covariates.steps.size else None


def _table(found: Mapping[str, list[Cost]]) -> Table:
    rows, data = [], []
    for name, (residuals, covariates) in found.items():
        crossover = _crossover(residuals, covariates)
        numbers = {
            "steps": int(covariates.steps[-1]),
            "entries": covariates.record["entries"],
            "passes": round(covariates.dot_products[-1] / covariates.record["p"]),
            "dot_products_residuals": residuals.dot_products[-1],
            "dot_products_covariates": covariates.dot_products[-1],
            "multiplications_residuals": residuals.multiplications[-1],
            "multiplications_covariates": covariates.multiplications[-1],
            "crossover": crossover,
            "seconds_residuals": residuals.record["seconds"],
            "seconds_covariates": covariates.record["seconds"],
        }
        steps, entries, passes, *spent = numbers.values()
        cells = [*map(power, spent[:4]), "-" if crossover is None else f"{crossover:,}", *map(number, spent[5:])]
        rows.append((name_of(name), number(entries), f"{steps:,}", f"{passes:,}", *cells))
        data.append({"set": name, **numbers})
    header = (
        "set", "entries of a column", "steps", "passes of covariates", "dot products, residuals", "covariates",
        "multiplications, residuals", "covariates", "fewer from step", "seconds, residuals", "covariates",
    )  # fmt: skip
    note = (
        f"{_LENGTHS[-1]} radii in the paper's units and by its rule, at most {MOST_STEPS} steps a point; z_j'y is not "
        "counted. A pass is p dot products, for a column that is stepped to for the first time. A dot product is one "
        f"multiplication for every entry of the column, a correlation that is kept {_KEPT}. Costs are known after "
        f"{counted(len(_LENGTHS), 'beginning')} of the path: covariates may be the cheaper ones a little before."
    )
    return Table(_NAME, "Method of residuals and of active covariates", header, rows, note, data)


def _sentence(name: str, residuals: Cost, covariates: Cost) -> str:
    crossover = _crossover(residuals, covariates)
    begins = "at no length" if crossover is None else f"from step {crossover:,} on at the latest"
    return (
        f"Deterministic FW on {name_of(name)}: {counted(int(covariates.steps[-1]), 'step')} take "
        f"{covariates.dot_products[-1] / covariates.record['p']:,.0f} passes by active covariates, "
        f"{share(covariates.dot_products[-1] / residuals.dot_products[-1])} of the dot products of the method of "
        f"residuals, and {share(_share(residuals, covariates))} of its "
        f"multiplications; there are fewer {begins}."
    )


def _draw(found: Mapping[str, list[Cost]]) -> "Picture":
    figure, axes = panels(len(found))
    for ax, (name, costs) in zip(axes, found.items(), strict=True):
        for (key, label), cost in zip(METHODS.items(), costs, strict=True):
            ax.plot(cost.steps, cost.multiplications, label=label, **line_of(key, every_point=True))
        ax.set_title(name_of(name), fontsize="medium")
        ax.set_xlabel("steps of the path so far")
        ax.set_ylabel("multiplications so far")
        log_axes(ax)
    legend_below(figure, axes)
    return figure


PART = Part(_NAME, "Residuals or active covariates", tasks, show)

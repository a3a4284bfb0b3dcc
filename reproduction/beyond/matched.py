"""Is Frank-Wolfe sparser than coordinate descent? On the paper's grids, and at the same l1 norms.

Points on a logarithmic grid of l1 norms are sparser models, on average, than points on a logarithmic grid of penalties,
whoever solves them. A penalized method is brought to Frank-Wolfe's l1 norms by the penalties that belong to them,
lambda = a'X'(y - X a) / ||a||_1 for a solution a of the constrained problem, which the certified path knows. Of what is
left, a part is the stopping rule's: features that a solution does not have are there because a point was left early.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path

from ..data.paper_sets import PAPER_SETS
from ..methods import METHODS, Method
from ..pictures import draw_runs, legend_below, log_axes, name_axes, name_of, panels
from ..sets import Loaded
from ..study import Figure, Findings, Part, Record, Setup, Table, Task
from ..text import number, power, share
from ..units import UNITS
from .curves import curve, path_tasks, runs_of, sets_of, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "matched"
_RELATION_GAP: Final = 1e-10  # of the solutions that tell the penalty of every l1 norm

_SOLVED_GAP: Final = 1e-4
_CD_MATCHED = METHODS["cd"]._replace(key="cd-matched", label="CD, l1 norms of FW")
_CD_SOLVED = Method(
    "cd-solved", "CD, l1 norms of FW, solved", "alphas", {"solver": "cd", "stop": "gap", "tol": _SOLVED_GAP}
)
_FW, _CD, _EXACT_ALPHAS, _EXACT = "sfw-1", "cd", "certified", "certified-radii"
_ALL: Final = {
    method.key: method
    for method in (METHODS[_FW], METHODS[_CD], _CD_MATCHED, _CD_SOLVED, METHODS[_EXACT_ALPHAS], METHODS[_EXACT])
}
# The paths that are compared at the same l1 norms.
_AT_SAME: Final = {
    _FW: "FW 1 %",
    _CD_MATCHED.key: "CD",
    _CD_SOLVED.key: f"CD to a gap of {power(_SOLVED_GAP)}",
    _EXACT: "certified path",
}


def tasks(setup: Setup) -> list[Task]:
    """Paths on the paper's grids, and two of CD on the penalties of Frank-Wolfe's l1 norms."""
    return [
        task
        for name in sets_of(setup)
        for method in _ALL.values()
        for task in path_tasks(
            setup, name, method, with_penalties_of_radii if method in (_CD_MATCHED, _CD_SOLVED) else None
        )
    ]


def with_penalties_of_radii(loaded: Loaded) -> Loaded:
    """Return the set with the penalties whose solutions have the l1 norms of the grid of radii."""
    data, grids = loaded.data, loaded.grids
    exact = lasso_path(data.X, data.y, radii=grids.radii, tol=_RELATION_GAP, **UNITS)
    return loaded._replace(grids=grids._replace(alphas=exact.alphas))


class Matched(NamedTuple):
    """The runs of all methods on a set."""

    name: str
    title: str
    runs: dict[str, list[Record]]

    def mean_active(self, key: str) -> float:
        """Return the mean over points and runs of the number of active features."""
        return float(curve(self.runs[key], "n_active").mean())

    def error(self, key: str, field: str) -> Vector | None:
        """Return the mean square error of every point, that of the empty model being 1; None without a test set."""
        if field not in self.runs[key][0]:
            return None
        # The grid of penalties starts where the solution is zero.
        return np.asarray(curve(self.runs[key], field) / curve(self.runs[_EXACT_ALPHAS], field)[0])

    @property
    def off(self) -> float:
        """The largest relative difference between an l1 norm of CD and the one that it was meant to have."""
        asked, got = (curve(self.runs[key], "l1") for key in (_EXACT, _CD_MATCHED.key))
        return float(np.abs(got / asked - 1.0).max())


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return mean numbers of active features on both grids, errors at the same l1 norms, and a picture."""
    found = []
    for name in sets_of(setup):
        runs = {key: runs_of(records, name, method) for key, method in _ALL.items()}
        if all(runs.values()):
            found.append(Matched(name, PAPER_SETS[name].title, runs))
    if not found:
        return Findings([], [], [])
    figure = Figure(_NAME, "Active features at the same l1 norms", lambda: _draw(found))
    sentences = [sentence for matched in found for sentence in _sentences(matched)]
    return Findings([_active_table(found), _error_table(found)], [figure], sentences)


def _active_table(found: list[Matched]) -> Table:
    rows = [
        (matched.title, *(f"{matched.mean_active(key):.1f}" for key in _ALL), share(matched.off)) for matched in found
    ]
    header = (
        "set", "FW 1 %, log grid of l1 norms", "CD, log grid of penalties", "CD, l1 norms of FW", "the same, solved",
        "certified, log grid of penalties", "certified, l1 norms of FW", "l1 norm of CD off by",
    )  # fmt: skip
    note = (
        "Mean number of active features over the 100 points of a path. The paper compares the second column with the "
        "third. The fourth has the grid of the second; the fifth also has a gap of at most "
        f"{_SOLVED_GAP:g} at every point, instead of the paper's stopping rule. The last column is the largest "
        "relative difference between the l1 norm of a point of CD by the paper's rule and that of the solution for its "
        "penalty. A point of the certified path is a mix of two solutions, and has the features of both."
    )
    return Table("matched-active", "Active features on the paper's grids and at the same l1 norms", header, rows, note)


def _error_table(found: list[Matched]) -> Table:
    rows = []
    for matched in found:
        for key, label in _AT_SAME.items():
            train, test = (matched.error(key, field) for field in ("train_mse", "test_mse"))
            assert train is not None
            row = (
                matched.title,
                label,
                f"{matched.mean_active(key):.1f}",
                f"{train.mean():.3f}",
                power(float(train[-1])),
            )
            if test is None:
                rows.append((*row, "", "", ""))
                continue
            best = int(np.argmin(test))
            l1, active = (curve(matched.runs[key], field)[best] for field in ("l1", "n_active"))
            rows.append((*row, f"{test[best]:.3f}", number(float(l1)), f"{active:.0f}"))
    header = (
        "set", "method", "mean active", "mean train error", "last train error", "best test error", "at l1 norm",
        "active there",
    )  # fmt: skip
    note = "All at the same 100 l1 norms. Errors are mean squares, divided by that of the empty model."
    return Table("matched-errors", "Sparsity and error at the same l1 norms", header, rows, note)


def _sentences(matched: Matched) -> list[str]:
    fw, cd, cd_matched, cd_solved, _, exact = (matched.mean_active(key) for key in _ALL)
    sentences = [
        f"{matched.title}: on the paper's grids FW 1 % has {fw:.1f} active features a point and CD {cd:.1f}. At the "
        f"same l1 norms CD has {cd_matched:.1f}, so that FW is {_sparser(fw, cd_matched)} than CD by the same stopping "
        f"rule. Solved to a gap of {_SOLVED_GAP:g} CD has {cd_solved:.1f}, and the certified path {exact:.1f}: FW is "
        f"{_sparser(fw, cd_solved)} than a solution."
    ]
    errors = [matched.error(key, "test_mse") for key in (_FW, _CD_MATCHED.key, _EXACT)]
    if all(error is not None for error in errors):
        best = [float(np.min(error)) for error in errors if error is not None]
        fw, cd, exact = best
        none = " No point predicts better than the empty model." if min(best) >= 1.0 else ""
        sentences.append(
            f"{matched.title}: the best test error at these l1 norms is {fw:.3f} of that of the empty model by FW 1 %, "
            f"{cd:.3f} by CD and {exact:.3f} by the certified path.{none}"
        )
    return sentences


def _sparser(fw: float, other: float) -> str:
    return "sparser" if fw < other else "not sparser"


def _draw(found: list[Matched]) -> "Picture":
    figure, axes = panels(len(found))
    for ax, matched in zip(axes, found, strict=True):
        for key, label in _AT_SAME.items():
            l1, active = curve(matched.runs[key], "l1"), values(matched.runs[key], "n_active")
            drawn = (active > 0).all(axis=0)
            draw_runs(ax, l1[drawn], active[:, drawn], key, label)
        log_axes(ax)
        name_axes(ax, name_of(matched.name), "active features")
    figure.suptitle("Active features at the same l1 norms")
    legend_below(figure, axes, note="Lines are medians of the runs, bands go from the smallest to the largest.")
    return figure


PART = Part(_NAME, "Sparsity at the same l1 norms", tasks, show)

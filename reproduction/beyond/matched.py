"""Is Frank-Wolfe sparser than coordinate descent? On the paper's grids, and at the same l1 norms.

Points on a logarithmic grid of l1 norms are sparser models, on average, than points on a logarithmic grid of penalties,
whoever solves them. A penalized method is brought to Frank-Wolfe's l1 norms by the penalties that belong to them,
lambda = a'X'(y - X a) / ||a||_1 for a solution a of the constrained problem, which the certified path knows. Of what is
left, a part is the stopping rule's: features that a solution does not have are there because a point was left early.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..claims import judged
from ..intervals import of_mean, ratio
from ..methods import METHODS, Method
from ..pictures import draw_runs, legend_below, log_axes, name_axes, name_of, panels
from ..sets import STUDY_SETS, Loaded
from ..study import Claim, Figure, Findings, Part, Record, Setup, Table, Task
from ..summary import Mean, mean_of
from ..text import power, share
from ..units import N_POINTS, nearly_exact
from .curves import curve, path_tasks, runs_of, sets_of, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "matched"
_RELATION_GAP: Final = 1e-8  # of the solutions that tell the penalty of every l1 norm

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
    exact = nearly_exact(data.X, data.y, radii=grids.radii, tol=_RELATION_GAP)
    return loaded._replace(grids=grids._replace(alphas=exact.alphas))


class Matched(NamedTuple):
    """The runs of all methods on a set."""

    name: str
    title: str
    runs: dict[str, list[Record]]

    def mean_active(self, key: str) -> Mean:
        """Return the mean over the runs of the mean number of active features of a point."""
        return mean_of([float(np.mean(run["n_active"])) for run in self.runs[key]])

    @property
    def off(self) -> float:
        """The largest relative difference between an l1 norm of CD and the one that it was meant to have."""
        asked, got = (curve(self.runs[key], "l1") for key in (_EXACT, _CD_MATCHED.key))
        return float(np.abs(got / asked - 1.0).max())


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return mean numbers of active features on both grids, a picture, and the one verdict on them."""
    found = []
    for name in sets_of(setup):
        runs = {key: runs_of(records, name, method) for key, method in _ALL.items()}
        if all(runs.values()):
            found.append(Matched(name, STUDY_SETS[name].title, runs))
    if not found:
        return Findings([], [], [])
    figure = Figure(_NAME, "Active features at the same l1 norms", lambda: _draw(found))
    return Findings([_table(found)], [figure], [], [_claim(found)])


def _table(found: list[Matched]) -> Table:
    rows = [
        (
            matched.title,
            f"{len(matched.runs[_FW])}",
            *(of_mean(matched.mean_active(key)).text() for key in _ALL),
            share(matched.off),
        )
        for matched in found
    ]
    header = (
        "set", "runs of FW", "FW 1 %, log grid of l1 norms", "CD, log grid of penalties", "CD, l1 norms of FW",
        "the same, solved", "certified, log grid of penalties", "certified, l1 norms of FW", "l1 norm of CD off by",
    )  # fmt: skip
    note = (
        f"Mean number of active features over the {N_POINTS} points of a path. The paper compares FW with CD on its "
        f"own log grid. Solved means a gap of at most {power(_SOLVED_GAP)} at every point, not by the paper's rule. "
        "The last column is the largest relative difference between the l1 norm of a point of CD by the paper's rule "
        "and that of the solution for its penalty. A point of the certified path is a mix of two solutions, and has "
        "the features of both."
    )
    return Table(_NAME, "Active features on the paper's grids and at the same l1 norms", header, rows, note)


def _claim(found: list[Matched]) -> Claim:
    """Answer by the runs of CD at FW's l1 norms, by the same stopping rule."""
    cases = []
    for matched in found:
        fw = matched.mean_active(_FW)
        times, solved = (ratio(fw, matched.mean_active(key)) for key in (_CD_MATCHED.key, _EXACT))
        case = judged(matched.title, times, times.lies(0.0, 1.0), "FW 1 % / CD")
        cases.append(
            case._replace(
                ours=f"{case.ours}, where CD's norms are off by {share(matched.off)} at most; against exact solutions "
                f"{solved.text()}"
            )
        )
    return Claim(
        "FW finds sparser models than CD at equal l1 norms.",
        cases,
        "Equal ratios of l1 norms put more points on sparse models than equal ratios of penalties do, whoever solves "
        "them: on average over its own grid CD is denser. What is left is the stopping rule's: features that a "
        "solution does not have are there because a point was left early.",
        place="section 5.2, Figure 4",
    )


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

"""How exact every solver is: the true duality gap of every point of its path, by the paper's stopping rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fwlasso._core.columns import Vector

from ..data.paper_sets import PAPER_SETS
from ..methods import METHODS, Method
from ..pictures import draw_runs, legend_below, log_axes, mark_stalled, name_axes, name_floor, name_of, panels
from ..study import Figure, Findings, Part, Record, Setup, Table, Task
from ..text import number, power, share
from ..units import EPS, STOPPING
from .curves import curve, path_tasks, runs_of, sets_of, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "gaps"
_EXACT: Final = "certified-radii"  # the optimum for every radius of Frank-Wolfe's grid
_SHARES: Final = (1e-2, 1e-3, 1e-4, 1e-6)  # the gaps that points are counted above
_LEAST: Final = 1e-8  # smaller gaps are not drawn
_NEARLY_ZERO: Final = 1e-30  # stands for zero on a logarithmic axis
_MOST_LINES: Final = 7  # in a panel
_KIND: Final = ("sfw-1", "sfw-2", "sfw-3", "fw", "afw", "pfw")

_COMPARED = ("cd", "scd", "apg", "apg-ball", "sfw-1", "sfw-2", "sfw-3", "fw", _EXACT)
_ALL: Final = {
    **{key: METHODS[key] for key in _COMPARED},
    **{
        solver: Method(solver, label, "radii", {"solver": solver, **STOPPING})
        for solver, label in (("afw", "away-step FW"), ("pfw", "pairwise FW"))
    },
}
# Methods that take minutes on some sets, and where they are run; their records by other parts are shown as well.
_ONLY_ON: Final = {
    **dict.fromkeys(("scd", "apg", "apg-ball"), ("synthetic-10000-32", "pyrim")),
    **dict.fromkeys(("sfw-2", "sfw-3", "fw", "afw", "pfw"), ("pyrim",)),
}


def _sets_of(setup: Setup) -> list[str]:
    """Return the paper's sets: gaps on others are in their tables."""
    return [name for name in sets_of(setup) if name in PAPER_SETS]


def tasks(setup: Setup) -> list[Task]:
    """One path for every set, solver and seed."""
    return [
        task
        for name in _sets_of(setup)
        for key, method in _ALL.items()
        if name in _ONLY_ON.get(key, (name,))
        for task in path_tasks(setup, name, method)
    ]


Runs = dict[str, list[Record]]


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a picture of all sets, a table of each, and what they say about the paper's stopping rule."""
    found: dict[str, Runs] = {}
    for name in _sets_of(setup):
        runs = {key: runs_of(records, name, method) for key, method in _ALL.items()}
        found[name] = {key: of_method for key, of_method in runs.items() if of_method}
    found = {name: of_set for name, of_set in found.items() if of_set}
    if not found:
        return Findings([], [], [])
    title = f"True duality gap of every point, stopping at a change of {STOPPING['tol']:g}"
    return Findings([_table(found)], [Figure(_NAME, title, lambda: _draw(found))], _sentences(found))


def _shares_above(gaps: Vector) -> list[float]:
    return [float(np.mean(gaps > limit)) for limit in _SHARES]


def _table(found: Mapping[str, Runs]) -> Table:
    rows, data = [], []
    for name, of_set in found.items():
        for key, runs in of_set.items():
            gaps = values(runs, "gaps")
            shares = _shares_above(gaps)
            median, largest = float(np.nanmedian(gaps)), float(np.nanmax(gaps))
            stalled = float(np.mean([len(run.get("stalled", [])) for run in runs]))
            label = _ALL[key].label
            rows.append(
                (
                    PAPER_SETS[name].title,
                    label,
                    f"{len(runs)}",
                    power(median, 2),
                    power(largest, 2),
                    *map(share, shares),
                    number(stalled),
                )
            )
            counted = {f"share_above_{limit:g}": above for limit, above in zip(_SHARES, shares, strict=True)}
            known: dict[str, Any] = {"set": name, "method": key, "label": label, "runs": len(runs)}
            data.append({**known, "median_gap": median, "largest_gap": largest, **counted, "stalled": stalled})
    header = (
        "set", "method", "runs", "median gap", "largest gap", *(f"above {power(limit)}" for limit in _SHARES),
        "zero steps",
    )  # fmt: skip
    note = (
        "Gaps over all columns, relative to 1/2 ||y||², recomputed in plain numpy: of the constrained form for methods "
        "on the grid of l1 norms, of the penalized form for CD, SCD and SLEP reg. Shares are of points of all runs. "
        "The certified path stops on its gap, all others by the paper's rule; zero steps are points that ended on "
        "samples without descent."
    )
    return Table(_NAME, "True duality gaps along the path", header, rows, note, data)


def _sentences(found: Mapping[str, Runs]) -> list[str]:
    """Say how far from the optimum the paper's rule ends, over the sets."""
    sentences = []
    for key in ("sfw-1", "cd"):
        gaps = [values(of_set[key], "gaps") for of_set in found.values() if key in of_set]
        if gaps:
            above = [_shares_above(of_set)[0] for of_set in gaps]
            medians = [float(np.nanmedian(of_set)) for of_set in gaps]
            sentences.append(
                f"{_ALL[key].label}: by the paper's stopping rule {_between(above, share)} of the points of a set have "
                f"a true gap above {_SHARES[0]:g}, and the median gap is {_between(medians, power)}."
            )
    return sentences


def _between(values: Sequence[float], form: Callable[..., str]) -> str:
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def _panels_of(name: str, of_set: Runs) -> list[tuple[str, Runs]]:
    """Return what is drawn of a set: all methods in a panel, or two of them where lines would hide each other."""
    if len(of_set) <= _MOST_LINES:
        return [(name_of(name), of_set)]
    kinds = {"FW and others": [key for key in of_set if key not in _KIND[1:]], "kinds of FW": [*_KIND, _EXACT]}
    return [
        (f"{name_of(name)}: {kind}", {key: of_set[key] for key in keys if key in of_set})
        for kind, keys in kinds.items()
    ]


def _draw(found: Mapping[str, Runs]) -> "Picture":
    shown = [panel for name, of_set in found.items() for panel in _panels_of(name, of_set)]
    figure, axes = panels(len(shown))
    for ax, (title, of_panel) in zip(axes, shown, strict=True):
        for key, runs in of_panel.items():
            l1, gaps = curve(runs, "l1"), values(runs, "gaps")
            drawn = (l1 > 0.0) & np.isfinite(gaps).all(axis=0)
            draw_runs(ax, l1[drawn], np.maximum(gaps[:, drawn], _NEARLY_ZERO), key, _ALL[key].label)
        largest = max(curve(runs, "l1")[-1] for runs in of_panel.values())
        ax.set_xlim(0.8 * EPS * largest, 1.2 * largest)  # a grid of penalties has points near zero
        name_floor(ax, _LEAST, f"below {power(_LEAST)}: not drawn")
        log_axes(ax)
        if "sfw-1" in of_panel:
            mark_stalled(ax, of_panel["sfw-1"], "sfw-1", "FW 1 %")
        name_axes(ax, title, "duality gap / (1/2 ||y||²)")
    figure.suptitle(f"True duality gap of every point, stopping at a change of {STOPPING['tol']:g}")
    legend_below(
        figure, axes, n_columns=3, note="Lines are medians of the runs, bands go from the smallest to the largest."
    )
    return figure


PART = Part(_NAME, "True duality gaps along the path", tasks, show)

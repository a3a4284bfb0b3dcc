"""What all figures share: one look for every method, panels, axes and legends.

A page is some 800 pixels wide: a figure of two columns is drawn 9.4 inches wide, so that its text stays readable.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fwlasso._core.columns import Vector

from .sets import STUDY_SETS
from .study import Record
from .text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

L1_LABEL: Final = "l1 norm of the scaled coefficients (units of y)"
_MOST_COLUMNS: Final = 2
_PANEL: Final = (4.7, 3.5)  # inches


class Look(NamedTuple):
    """How a method is drawn."""

    colour: str
    marker: str
    style: Any = "-"
    width: float = 1.5


#: The look of every method in all figures. No colour and no marker is there twice, so that either of them is enough;
#: hues are those of Okabe and Ito and of Tol, told apart by colour-blind readers.
LOOKS: Final[dict[str, Look]] = {
    "sfw-1": Look("#0072B2", "o", "-", 2.2),
    "sfw-2": Look("#56B4E9", "s", "-", 1.8),
    "sfw-3": Look("#332288", "D", (0, (5, 1)), 1.4),
    "sfw-1-ours": Look("#44AA99", "h", (0, (4, 1, 1, 1))),
    "sfw-1-blocks": Look("#999933", "p", (0, (2, 1))),
    "sfw-fixed": Look("#AA4499", "H", (0, (3, 1, 1, 1))),
    "fw-residuals": Look("#885522", "x", "--", 1.6),
    "fw": Look("#6699CC", "d", (0, (1, 1)), 2.0),
    "afw": Look("#117733", "<", "-"),
    "pfw": Look("#882255", ">", (0, (4, 1))),
    "cd": Look("#D55E00", "v", "--", 1.9),
    "cd-solved": Look("#661100", "*", (0, (1, 2)), 1.3),
    "scd": Look("#009E73", "^", (0, (1, 1)), 1.7),
    "apg": Look("#CC79A7", "P", (0, (6, 2))),
    "apg-ball": Look("#E69F00", "X", "-."),
    "apg-ours": Look("#EE99AA", "1", (0, (6, 1, 1, 1))),
    "apg-ball-ours": Look("#997700", "2", (0, (3, 2))),
    "sgd": Look("#BBBBBB", "3", "-", 1.3),
    "smidas": Look("#777777", "4", (0, (5, 2)), 1.3),
    "wolfe": Look("#00AACC", "8", (0, (2, 2)), 1.6),
    "certified": Look("#000000", ".", "-", 1.0),
}
# Another grid or another number of columns a step is not another method.
_SAME: Final = {"sfw": "sfw-1", "sfw-share": "sfw-1", "certified-radii": "certified", "cd-matched": "cd"}
_MARK_EVERY: Final = 0.16  # of the diagonal of a panel


def line_of(method: str, *, every_point: bool = False) -> dict[str, Any]:
    """Return how the line of a method is drawn, with a few markers that begin where no other line has them."""
    key = _SAME.get(method, method)
    colour, marker, style, width = LOOKS[key]
    first = _MARK_EVERY * list(LOOKS).index(key) / len(LOOKS)
    return {
        "color": colour, "linestyle": style, "linewidth": width, "marker": marker, "markersize": 5,
        "markevery": None if every_point else (first, _MARK_EVERY),
    }  # fmt: skip


def styles() -> Iterator[dict[str, Any]]:
    """Yield colour and marker of one series after the other, where series are settings of one method."""
    for key in ("sfw-1", "cd", "scd", "apg", "apg-ball", "sfw-3", "sfw-2", "sfw-1-blocks", "pfw", "certified"):
        yield {"color": LOOKS[key].colour, "marker": LOOKS[key].marker}


def panels(n: int, n_columns: int | None = None, size: tuple[float, float] = _PANEL) -> "tuple[Figure, list[Axes]]":
    """Return a figure with exactly `n` panels of a size in inches, row by row; no window system is touched."""
    from matplotlib.figure import Figure

    n_columns = n_columns or min(n, _MOST_COLUMNS)
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    grid = figure.add_gridspec(n_rows, n_columns)
    axes = [figure.add_subplot(grid[divmod(k, n_columns)]) for k in range(n)]
    for ax in axes:
        ax.grid(color="#dddddd", linewidth=0.5)
        ax.set_axisbelow(True)
    return figure, axes


def name_of(name: str) -> str:
    """Return the title of a set with the numbers of its samples and features.

    Examples
    --------
    >>> name_of("pyrim")
    'Pyrim, 74 x 201,376'
    """
    title, m, _, p = STUDY_SETS[name]
    return f"{title}, {m:,} x {p:,}"


def name_axes(ax: "Axes", title: str, y_label: str) -> None:
    """Finish a panel over the l1 norm."""
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel(L1_LABEL)
    ax.set_ylabel(y_label)


def log_axes(ax: "Axes", which: str = "xy") -> None:
    """Make axes logarithmic, after all is drawn: names at powers of ten, and between where they are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for letter in which:
        getattr(ax, f"set_{letter}scale")("log")
        axis: Axis = getattr(ax, f"{letter}axis")
        low, high = sorted(axis.get_view_interval())
        decades = np.log10(high / low)
        named = (1.0,) if decades > 2.2 else (1.0, 2.0, 5.0) if decades > 0.8 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
        axis.set_major_locator(LogLocator(subs=named, numticks=9))
        axis.set_major_formatter(FuncFormatter(_tick))
        axis.set_minor_formatter(NullFormatter())


def _tick(value: float, _: int) -> str:
    """Return a number between 0.001 and 10,000 as it is, others with a power of ten."""
    if 0.9e-3 < value < 9999.0:
        return f"{value:,g}"
    exponent = int(np.floor(np.log10(value) + 1e-9))
    leading = round(value / 10.0**exponent)
    factor = "" if leading == 1 else rf"{leading} \times "
    return f"${factor}10^{{{exponent}}}$"


def pushed_apart(places: Vector, least: float) -> Vector:
    """Return places of labels in the same order, neighbours at least so far from each other, moved by little.

    Examples
    --------
    >>> pushed_apart(np.array([2.0, 0.0, 2.0]), 1.0)
    array([1.5, 0. , 2.5])
    """
    order = np.argsort(places, kind="stable")
    moved = places[order].astype(np.float64)
    for _ in range(200):
        gaps = np.maximum(least - np.diff(moved), 0.0) / 2.0
        moved[:-1] -= gaps
        moved[1:] += gaps
    found = np.empty_like(moved)
    found[order] = moved
    return found


def draw_runs(ax: "Axes", x: Vector, rows: Vector, method: str, label: str) -> None:
    """Draw the median of the runs of a method, one row each, and a band from the smallest of them to the largest."""
    look = line_of(method)
    if len(rows) > 1:
        label = f"{label}, {counted(len(rows), 'run')}"
        ax.fill_between(x, rows.min(axis=0), rows.max(axis=0), color=look["color"], alpha=0.2, linewidth=0.0)
    ax.plot(x, np.median(rows, axis=0), label=label, **look)


def mark_stalled(ax: "Axes", runs: Sequence[Record], method: str, label: str) -> None:
    """Mark along the upper edge the points at which half of the runs or more ended on a draw without descent."""
    l1 = np.median([run["l1"] for run in runs], axis=0)
    counts = np.bincount([k for run in runs for k in run.get("stalled", [])], minlength=len(l1))
    stalled = l1[(counts > 0) & (2 * counts >= len(runs))]
    if not stalled.size:
        return
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(ax.get_ylim())
    ax.set_ylim(top=float(scale.inverted().transform(high + 0.08 * (high - low))))  # room for the marks
    ax.plot(
        stalled, np.full(stalled.size, 0.97), "|", transform=ax.get_xaxis_transform(), markersize=6,
        color=LOOKS[_SAME.get(method, method)].colour, label=f"points of {label} that ended on a draw without descent",
    )  # fmt: skip


def name_floor(ax: "Axes", floor: float, what: str) -> None:
    """Hide what is below a floor, and say so: a line that goes below ends there, and is not drawn along it."""
    bottom = floor / 4.0
    ax.set_ylim(bottom=bottom)
    ax.axhspan(bottom, floor, facecolor="#e8e8e8", edgecolor="none", zorder=4)
    ax.axhline(floor, color="#666666", linewidth=0.8, zorder=4)
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "zorder": 5}
    ax.text(0.99, floor / 2.0, what, fontsize="x-small", color="#333333", **place)


def legend_below(figure: "Figure", axes: "list[Axes]", n_columns: int = 4, note: str = "") -> None:
    """Name every series of the panels once, below all of them, with what to know when reading them."""
    named = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        named.values(),
        named.keys(),
        loc="outside lower center",
        ncols=min(len(named), n_columns),
        frameon=False,
        fontsize="small",
        handlelength=3.2,
        title=note or None,
        title_fontsize="small",
    )

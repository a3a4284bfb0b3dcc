"""What the figures of this folder share: sizes, colours and panels."""

from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fwlasso.plots import COLOURS

from ..figures import L1_LABEL, LOOKS, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _ = COLOURS
# A method has one look in all figures; these are the ones that the paper does not have.
_LOOKS: Final = {
    **LOOKS,
    "sfw-2": Look(_SKY, "-", 1.8),
    "sfw-3": Look(_SKY, "--", 1.4),
    "fw": Look(_BLUE, ":", 2.0),
    "afw": Look(_GREEN, "-", 1.8),
    "pfw": Look(_PINK, "-", 1.8),
    "cd-matched": LOOKS["cd"],
    "cd-solved": Look(_ORANGE, "-", 1.6),
    "certified-radii": LOOKS["certified"],
}
_MARKERS: Final = "osD^vP*Xph"
_MOST_COLUMNS = 3


def panels(n: int, n_columns: int | None = None, size: tuple[float, float] = (5.2, 4.0)) -> "tuple[Figure, list[Axes]]":
    """Return a figure with exactly `n` panels of a size in inches, row by row; no window system is touched."""
    from matplotlib.figure import Figure

    n_columns = n_columns or (2 if n == 4 else min(n, _MOST_COLUMNS))
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    grid = figure.add_gridspec(n_rows, n_columns)
    return figure, [figure.add_subplot(grid[divmod(k, n_columns)]) for k in range(n)]


def line_of(method: str) -> dict[str, Any]:
    """Return colour, style and width of the line of a method."""
    colour, style, width = _LOOKS[method]
    return {"color": colour, "linestyle": style, "linewidth": width}


def styles() -> Iterator[dict[str, Any]]:
    """Yield colour and marker of one series after the other: told apart by either of them, by any reader."""
    for colour, marker in zip(cycle(COLOURS[:-1]), cycle(_MARKERS), strict=False):  # yellow is too faint for lines
        yield {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.5}


def whole_decades(ax: "Axes") -> None:
    """Let logarithmic axes go from one power of ten to another, and name no values between: names would overlap."""
    from matplotlib.ticker import NullFormatter

    for axis, (low, high), limit in (
        (ax.xaxis, ax.dataLim.intervalx, ax.set_xlim),
        (ax.yaxis, ax.dataLim.intervaly, ax.set_ylim),
    ):
        # A little more than the data: no marker is cut.
        limit(10.0 ** np.floor(np.log10(low / 1.1)), 10.0 ** np.ceil(np.log10(high * 1.1)))
        axis.set_minor_formatter(NullFormatter())


def name_axes(ax: "Axes", title: str, y_label: str) -> None:
    """Finish a panel over the l1 norm."""
    ax.set_title(title)
    ax.set_xlabel(L1_LABEL)
    ax.set_ylabel(y_label)
    ax.grid(alpha=0.3)


def legend_below(figure: "Figure", axes: "list[Axes]", n_columns: int = 6) -> None:
    """Name every series of the panels once, below all of them."""
    named = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        named.values(),
        named.keys(),
        loc="outside lower center",
        ncols=min(len(named), n_columns),
        frameon=False,
        fontsize="small",
    )

"""Figures of the study. FW is the thick blue line against the rest; every method has one look in all of them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fwlasso._core.columns import Vector
from fwlasso.plots import COLOURS

from .study import Figure
from .summary import Result, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

L1_LABEL: Final = "l1 norm of the scaled coefficients (units of y)"
_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _ = COLOURS
_PANEL = (5.2, 3.9)  # inches


class Look(NamedTuple):
    """How a method is drawn."""

    colour: str
    style: Any = "-"
    width: float = 1.4


LOOKS: Final[dict[str, Look]] = {
    "apg-ball": Look(_ORANGE, "-."),
    "apg": Look(_PINK, (0, (6, 2))),
    "scd": Look(_GREEN, (0, (1, 1))),
    "cd": Look(_RED, "--", 1.8),
    "sfw-1": Look(_BLUE, "-", 2.4),
    "certified": Look("black", ":", 1.2),
}
#: The three sample sizes of FW: lines of falling width, so that they are seen where they coincide.
SHARE_LOOKS: Final[dict[str, Look]] = {
    "sfw-3": Look(_SKY, "-", 4.5),
    "sfw-2": Look(_BLUE, "-", 2.2),
    "sfw-1": Look(_ORANGE, "--", 1.3),
    "certified": LOOKS["certified"],
}


def can_be_drawn(result: Result, looks: Mapping[str, Look] = LOOKS) -> bool:
    """Tell whether one of the methods was run."""
    return any(key in result.found for key in looks)


def sparsity_figure(result: Result) -> Figure:
    """Return the number of active features against the l1 norm, all methods."""
    title = f"{result.title}: active features"
    return Figure(f"sparsity-{result.name}", title, partial(_draw_sparsity, result, title))


def _draw_sparsity(result: Result, title: str) -> "Canvas":
    canvas, ((ax,),) = _canvas(title, 1, 1, (7.5, 4.8))
    _curves(ax, result.found, LOOKS, lambda summary: summary.active)
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.8)
    ax.set_ylabel("active features")
    _legend(ax, "upper left")
    return canvas


def error_figure(result: Result) -> Figure:
    """Return training and test error against the l1 norm: all methods above, FW with three sample sizes below."""
    title = f"{result.title}: mean square error"
    return Figure(f"errors-{result.name}", title, partial(_draw_errors, result, title))


def _draw_errors(result: Result, title: str) -> "Canvas":
    errors: list[tuple[str, Callable[[Summary], Vector | None]]] = [("training MSE", lambda summary: summary.train_mse)]
    if any(summary.test_mse is not None for summary in result.found.values()):
        errors.append(("test MSE", lambda summary: summary.test_mse))
    rows = [("all methods", LOOKS), ("FW, three sample sizes", SHARE_LOOKS)]
    rows = [(heading, looks) for heading, looks in rows if can_be_drawn(result, looks)]
    panels = [[(row, error) for error in errors] for row in rows]
    if len(errors) == 1:  # no test set: side by side
        panels = [_flat(panels)]
    canvas, axes = _canvas(title, len(panels), len(panels[0]))
    for (row, error), ax in zip(_flat(panels), _flat(axes), strict=True):
        (heading, looks), (label, of) = row, error
        _curves(ax, result.found, looks, of)
        ax.set_yscale("log")
        ax.set_ylabel(f"{label} (squared units of y)")
        ax.set_title(heading, fontsize="medium")
        _legend(ax, "best")
    return canvas


class Growth(NamedTuple):
    """Coefficients of a few features along two paths."""

    name: str
    title: str
    l1: Mapping[str, Vector]  # by label of the method: of every point
    coefs: Mapping[str, Any]  # features by points
    looks: Mapping[str, Look]


def growth_figure(growth: Growth) -> Figure:
    """Return the growth of coefficients along the path, one method against another."""
    return Figure(f"growth-{growth.name}", growth.title, partial(_draw_growth, growth))


def _draw_growth(growth: Growth) -> "Canvas":
    canvas, ((ax,),) = _canvas(growth.title, 1, 1, (7.5, 4.8))
    for label, coefs in growth.coefs.items():
        look = growth.looks[label]
        for k, of_feature in enumerate(coefs):
            ax.plot(
                growth.l1[label],
                of_feature,
                color=look.colour,
                linestyle=look.style,
                linewidth=look.width,
                label=label if k == 0 else None,
            )
    ax.axhline(0.0, color="black", linewidth=0.6)
    ax.set_ylabel("coefficient of the scaled feature (units of y)")
    _legend(ax, "upper left")
    return canvas


def held_out_figure(name: str, title: str, curves: Mapping[str, tuple[Vector, Vector, Look]]) -> Figure:
    """Return test error against the l1 norm; `curves` are l1 norms, errors and looks by label."""
    return Figure(f"test-error-{name}", title, partial(_draw_test_error, title, curves))


def _draw_test_error(title: str, curves: Mapping[str, tuple[Vector, Vector, Look]]) -> "Canvas":
    canvas, ((ax,),) = _canvas(title, 1, 1, (7.5, 4.8))
    ax.yaxis.set_major_formatter("{x:,.6g}")
    for label, (l1, errors, look) in curves.items():
        ax.plot(l1, errors, color=look.colour, linestyle=look.style, linewidth=look.width, label=label)
        best = int(np.argmin(errors))
        ax.plot(l1[best], errors[best], "o", color=look.colour, markersize=7, markerfacecolor="white")
    ax.plot([], [], "o", color="black", markersize=7, markerfacecolor="white", label="smallest error")
    ax.set_ylabel("test MSE (squared units of y)")
    _legend(ax, "best")
    return canvas


def write_figure(figure: Figure, folder: Path) -> None:
    """Write NAME.png and NAME.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    canvas = figure.draw()
    canvas.savefig(folder / f"{figure.name}.png", dpi=130)
    canvas.savefig(folder / f"{figure.name}.svg", metadata={"Date": None})


# Helpers -----------------------------------------------------------------------------------------------------


def _canvas(title: str, n_rows: int, n_columns: int, size: tuple[float, float] | None = None) -> tuple["Canvas", Any]:
    """Return a figure and its axes, for files: no window system is touched."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=size or (_PANEL[0] * n_columns, _PANEL[1] * n_rows), layout="constrained")
    axes = canvas.subplots(n_rows, n_columns, squeeze=False)
    for ax in axes.ravel():
        ax.set_xlabel(L1_LABEL)
        ax.grid(color="#dddddd", linewidth=0.5)
        ax.set_axisbelow(True)
    canvas.suptitle(title)
    return canvas, axes


def _curves(
    ax: "Axes", found: Mapping[str, Summary], looks: Mapping[str, Look], of: Callable[[Summary], Vector | None]
) -> None:
    """Draw a curve of every method over a logarithmic axis of l1 norms; the empty model has no place on it."""
    drawn = [(found[key], look, of(found[key])) for key, look in looks.items() if key in found]
    for summary, look, values in drawn:
        if values is None:
            continue
        shown = summary.l1 > 0.0
        style = {"color": look.colour, "linestyle": look.style, "linewidth": look.width}
        ax.plot(summary.l1[shown], values[shown], label=summary.method.label, **style)
    ax.set_xscale("log")
    largest = max(float(summary.l1[-1]) for summary, _, _ in drawn)
    ax.set_xlim(0.008 * largest, 1.2 * largest)


def _legend(ax: "Axes", place: str) -> None:
    ax.legend(loc=place, fontsize="small", frameon=True, framealpha=0.9, edgecolor="none", handlelength=3.2)


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [one for row in rows for one in row]

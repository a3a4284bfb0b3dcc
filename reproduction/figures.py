"""The figures of the paper: active features and errors along the path, and the growth of coefficients."""

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from fwlasso._core.columns import Vector

from .methods import CERTIFIED_GAP, METHODS
from .pictures import (
    L1_LABEL,
    draw_runs,
    legend_below,
    line_of,
    log_axes,
    mark_stalled,
    name_axes,
    name_floor,
    name_of,
    panels,
    pushed_apart,
)
from .study import Figure, Record
from .summary import Result, Summary
from .text import power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

#: The optimum for every l1 norm of the grid, and, drawn last, the line that others are held against.
_EXACT: Final = "certified-radii"
_METHODS: Final = ("apg-ball", "apg", "scd", "cd", "sfw-1")
_SHARES: Final = ("sfw-1", "sfw-2", "sfw-3")
_NEARLY_ZERO: Final = 1e-12  # stands for zero on a logarithmic axis
_BANDS: Final = "Lines are medians of the runs, bands go from the smallest to the largest run."


def can_be_drawn(result: Result) -> bool:
    """Tell whether one of the methods was run."""
    return any(key in result.found for key in (*_METHODS, *_SHARES, _EXACT))


def sparsity_figure(result: Result) -> Figure:
    """Return the number of active features against the l1 norm, all methods."""
    return Figure(f"sparsity-{result.name}", f"{result.title}: active features", partial(_draw_sparsity, result))


def _draw_sparsity(result: Result) -> "Picture":
    figure, (ax,) = panels(1, size=(8.6, 5.4))
    _curves(ax, result, (*_METHODS, _EXACT), lambda summary: _rows(summary, "n_active"))
    log_axes(ax)
    ax.set_ylim(bottom=0.8)
    name_axes(ax, f"{_heading(result)}: active features", "active features")
    legend_below(figure, [ax], note=_note(result, (*_METHODS, _EXACT)))
    return figure


def error_figure(result: Result) -> Figure:
    """Return errors against the l1 norm: all methods on the left, FW with three sample sizes on the right."""
    return Figure(f"errors-{result.name}", f"{result.title}: mean square error", partial(_draw_errors, result))


def _draw_errors(result: Result) -> "Picture":
    columns = [("all methods", _METHODS), ("FW, three sample sizes", _SHARES)]
    columns = [(heading, keys) for heading, keys in columns if any(key in result.found for key in keys)]
    kinds: list[Callable[[Axes, Result, Sequence[str]], None]] = [_draw_training]
    if _EXACT in result.found:
        kinds.append(_draw_excess)
    if any(summary.test_mse is not None for summary in result.found.values()):
        kinds.append(_draw_test)
    figure, axes = panels(len(columns) * len(kinds), n_columns=len(columns))
    for k, draw in enumerate(kinds):
        row = axes[k * len(columns) : (k + 1) * len(columns)]
        for ax, (heading, keys) in zip(row, columns, strict=True):
            draw(ax, result, keys)
            ax.set_title(heading if k == 0 else "", fontsize="medium")
            ax.set_xlabel(L1_LABEL)
        limits = np.array([ax.get_ylim() for ax in row])
        for ax in row:
            ax.set_ylim(limits[:, 0].min(), limits[:, 1].max())
    figure.suptitle(f"{_heading(result)}: mean square error")
    legend_below(figure, axes, note=_note(result, (*_METHODS, *_SHARES, _EXACT)))
    return figure


def _draw_training(ax: "Axes", result: Result, keys: Sequence[str]) -> None:
    _curves(ax, result, (*keys, _EXACT), lambda summary: _rows(summary, "train_mse"))
    ax.axhline(result.variance, color="#666666", linewidth=0.8, linestyle=":", label="empty model")
    log_axes(ax)
    ax.set_ylabel("training MSE (squared units of y)")


def _draw_excess(ax: "Axes", result: Result, keys: Sequence[str]) -> None:
    """Draw by how much errors are above the smallest that their l1 norms allow."""
    exact = result.found[_EXACT]
    last = exact.l1[-1]
    optimum = PchipInterpolator(np.log(exact.l1), np.log(exact.train_mse), extrapolate=False)

    def excess(summary: Summary) -> Vector:
        l1 = _rows(summary, "l1")
        inside = np.where((l1 > 0.0) & (l1 < 1.001 * last), np.minimum(l1, last), np.nan)
        above = _rows(summary, "train_mse") / np.exp(optimum(np.log(inside))) - 1.0
        return np.asarray(np.maximum(above, _NEARLY_ZERO))

    _curves(ax, result, keys, excess)
    # The reference is off by as much as its gap allows.
    floor = float(f"{1.5 * CERTIFIED_GAP * result.variance / exact.train_mse.min():.0e}")
    name_floor(ax, floor, f"below {power(floor)}: the optimum, as far as it is known")
    log_axes(ax)
    ax.set_ylabel("training MSE / optimum - 1")


def _draw_test(ax: "Axes", result: Result, keys: Sequence[str]) -> None:
    _curves(ax, result, (*keys, _EXACT), lambda summary: _rows(summary, "test_mse"))
    for key in (*keys, _EXACT):
        if key in result.found:
            _mark_least(ax, result.found[key].l1, np.median(_rows(result.found[key], "test_mse"), axis=0), key)
    empty = result.found.get("certified")  # on the grid of penalties, which starts with the empty model
    if empty is not None and empty.test_mse is not None:
        ax.axhline(empty.test_mse[0], color="#666666", linewidth=0.8, linestyle=":", label="empty model")
    log_axes(ax, "x")
    ax.set_ylabel("test MSE (squared units of y)")


class Growth(NamedTuple):
    """A synthetic set: the paths of FW, one for every seed, and that of CD."""

    name: str
    title: str
    features: Sequence[int]  # those that are followed
    fw: Sequence[Record]  # as the paper writes it
    ours: Sequence[Record]
    cd: Record
    n_sampled: int  # columns a step of FW

    @property
    def of_fw(self) -> list[tuple[str, str, Sequence[Record]]]:
        """Key, label and runs of both kinds of FW."""
        return [
            ("sfw", f"FW, {self.n_sampled:,} columns a step", self.fw),
            ("sfw-1-ours", "FW, ours, as many columns", self.ours),
        ]


def growth_figure(growth: Growth) -> Figure:
    """Return the growth of coefficients, FW and ours against CD: the whole path, and its start below."""
    title = f"{growth.title}: growth of the {len(growth.features)} most relevant coefficients"
    return Figure(f"growth-{growth.name}", title, partial(_draw_growth, growth))


_START: Final = 0.12  # of the largest l1 norm


def _draw_growth(growth: Growth) -> "Picture":
    figure, axes = panels(4, size=(4.7, 4.2))
    headings = ("FW as the paper writes it", "FW, ours")
    for k, ax in enumerate(axes):
        key, label, runs = growth.of_fw[k % 2]
        for of in ((key, label, runs), ("cd", "CD", [growth.cd])):
            _draw_coefs(ax, growth, *of)
        ax.axhline(0.0, color="black", linewidth=0.6)
        ax.set_xlabel(L1_LABEL)
        if k < 2:
            ax.set_title(f"{headings[k]}, with the numbers of the features", fontsize="medium")
            ax.set_ylabel("coefficient of the scaled feature")
            _label_ends(ax, growth.features, runs)
        else:
            ax.set_title("the start of the path", fontsize="medium")
            ax.set_ylabel("coefficient of the scaled feature")
            _show_start(ax, runs)
        mark_stalled(ax, runs, key, "FW" if key == "sfw" else "ours")
    figure.suptitle(f"{name_of(growth.name)}: the {len(growth.features)} most relevant coefficients (units of y)")
    legend_below(figure, axes, n_columns=2, note=_BANDS if len(growth.fw) > 1 else "")
    return figure


def _draw_coefs(ax: "Axes", growth: Growth, key: str, label: str, runs: Sequence[Record]) -> None:
    l1 = np.median([run["l1"] for run in runs], axis=0)
    for k in range(len(growth.features)):
        draw_runs(ax, l1, np.array([run["coefs"][k] for run in runs]), key, label)


def _show_start(ax: "Axes", runs: Sequence[Record]) -> None:
    """Let a panel end early, and show where a single column would have the whole ball: stalled points are there."""
    end = _START * runs[0]["l1"][-1]
    coefs = np.array([np.array(run["coefs"])[:, np.array(run["l1"]) <= end] for run in runs])
    low, high = min(0.0, float(coefs.min())), float(coefs.max())
    ax.set_xlim(0.0, end)
    ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    for sign in (1.0, -1.0):
        label = "a column that has the whole ball: coefficient = ± l1 norm"
        ax.plot([0.0, end], [0.0, sign * end], color="#888888", linewidth=0.8, linestyle=":", label=label)


def _label_ends(ax: "Axes", features: Sequence[int], runs: Sequence[Record]) -> None:
    """Write the number of a feature at the end of its lines, labels apart from each other."""
    last = runs[0]["l1"][-1]
    ends = np.array([np.median([run["coefs"][k][-1] for run in runs]) for k in range(len(features))])
    low, high = ax.get_ylim()
    ax.set_xlim(right=1.2 * last)
    for k, place in enumerate(pushed_apart(ends, 0.045 * (high - low))):
        ax.annotate(
            f"{features[k]:,}", (last, ends[k]), (1.06 * last, place), va="center", fontsize="x-small",
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "#666666", "shrinkA": 0.0, "shrinkB": 0.0},
        )  # fmt: skip


def held_out_figure(growth: Growth) -> Figure:
    """Return test error against the l1 norm, as a share of the empty model's: from zero on, and closer."""
    return Figure(f"test-error-{growth.name}", f"{growth.title}: test error", partial(_draw_test_error, growth))


def _draw_test_error(growth: Growth) -> "Picture":
    empty = growth.cd["test_mse"][0]  # the grid of penalties starts with the empty model
    figure, axes = panels(2, size=(4.7, 4.0))
    for ax in axes:
        for key, label, runs in (*growth.of_fw, ("cd", "CD", [growth.cd])):
            l1 = np.median([run["l1"] for run in runs], axis=0)
            errors = np.array([run["test_mse"] for run in runs]) / empty
            draw_runs(ax, l1, errors, key, label)
            _mark_least(ax, l1, np.median(errors, axis=0), key)
        ax.axhline(1.0, color="#666666", linewidth=1.0, linestyle=":", label="empty model")
        ax.set_xlabel(L1_LABEL)
        ax.set_ylabel("test MSE / that of the empty model")
    whole, _ = axes
    whole.set_ylim(bottom=0.0)
    for ax, title in zip(axes, ("from zero on", "closer"), strict=True):
        ax.set_title(title, fontsize="medium")
        mark_stalled(ax, growth.fw, "sfw", "FW")
    figure.suptitle(f"{name_of(growth.name)}: test error")
    legend_below(figure, axes, n_columns=3, note=_BANDS if len(growth.fw) > 1 else "")
    return figure


def write_figure(figure: Figure, folder: Path) -> None:
    """Write NAME.png and NAME.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    canvas = figure.draw()
    canvas.savefig(folder / f"{figure.name}.png", dpi=130)
    canvas.savefig(folder / f"{figure.name}.svg", metadata={"Date": None})


# Helpers -----------------------------------------------------------------------------------------------------


def _heading(result: Result) -> str:
    return f"{name_of(result.name)}{' (stand-in)' if result.is_standin else ''}"


def _rows(summary: Summary, field: str) -> Vector:
    """Return what is known of every point, one row a run."""
    return np.array([run[field] for run in summary.runs], dtype=np.float64)


def _curves(ax: "Axes", result: Result, keys: Sequence[str], of: Callable[[Summary], Vector]) -> None:
    """Draw the runs of methods over the l1 norms of the grid; the empty model has no place on a logarithmic axis."""
    found = {key: result.found[key] for key in keys if key in result.found}
    for key, summary in found.items():
        label = "certified path, FW's grid" if key == _EXACT else summary.method.label
        shown = summary.l1 > 0.0
        draw_runs(ax, summary.l1[shown], of(summary)[:, shown], key, label)
    largest = max(float(summary.l1[-1]) for summary in found.values())
    ax.set_xlim(0.008 * largest, 1.2 * largest)


def _mark_least(ax: "Axes", l1: Vector, errors: Vector, key: str) -> None:
    """Mark the smallest error of a line."""
    best = int(np.argmin(errors))
    look = {"color": line_of(key)["color"], "markersize": 9, "markerfacecolor": "none", "zorder": 5}
    ax.plot(l1[best], errors[best], "o", **look)
    ax.plot([], [], "o", color="black", markersize=9, markerfacecolor="none", label="smallest error of a line")


def _note(result: Result, keys: Sequence[str]) -> str:
    """Say what lines and bands are, and what is missing and why."""
    several = any(result.found[key].n_runs > 1 for key in keys if key in result.found)
    missing = [f"{METHODS[key].label}: {why}" for key, why in result.missing.items() if key in keys]
    lines = ([_BANDS] if several else []) + [f"Not run: {'; '.join(missing)}."] * bool(missing)
    return "\n".join(textwrap.fill(line, 110) for line in lines)

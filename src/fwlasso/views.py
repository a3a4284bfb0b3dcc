"""Paths in part and at a glance: slices, and results as notebooks show them, by text, small picture and table."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core.columns import Vector
from .solvers.registry import current_name

if TYPE_CHECKING:
    from .result import LassoPath

#: So many rows and curves are shown at most.
N_ROWS, N_CURVES = 10, 12
_WIDTH, _HEIGHT, _MARGIN = 440.0, 160.0, 8.0
_COLOURS = "#4477aa", "#ee6677", "#228833", "#aa8800", "#66ccee", "#aa3377"
_LINE = '<polyline fill="none" stroke="{}" stroke-width="1.5" points="{}"/>'
_MARK = '<line x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="100%" stroke="currentColor" stroke-dasharray="3"/>'


def current_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that were saved, with the solver as it is called now."""
    return settings | {"solver": current_name(settings["solver"])} if "solver" in settings else settings


def points_of(path: "LassoPath", part: slice) -> "LassoPath":
    """Return the path of some points; raise an IndexError if there are none, or if they go from dense to sparse."""
    places = list(range(len(path)))[part]
    if not places or places[0] > places[-1]:
        raise IndexError(f"a slice of a path has points, from sparse to dense: {part} of {len(path)} points has not")
    columns = {name: getattr(path, name)[places] for name in ("alphas", "radii", "intercepts", "gaps", "r2")}
    matrices = {name: getattr(path, name)[:, places] for name in ("coefs", "scaled_coefs")}
    counters = replace(path.counters, iterations=path.counters.iterations[places])
    return replace(path, **columns, **matrices, counters=counters, statuses=tuple(path.statuses[k] for k in places))


def path_html(path: "LassoPath") -> str:
    """Return a path as a notebook shows it: some of its points, and its largest coefficients."""
    sizes = abs(path.scaled_coefs).max(axis=1).toarray().ravel()
    strongest = np.argsort(-sizes, kind="stable")[: min(N_CURVES, np.count_nonzero(sizes))]
    picture = curves(path.radii, path.scaled_coefs[strongest].toarray())
    known = {"point": list(range(len(path))), **path.point_columns()}
    rows = [[column[k] for column in known.values()] for k in spread(len(path))]
    return small_html(repr(path), list(known), rows, picture)


def span(values: NDArray[Any]) -> str:
    """Return the first, the last and the largest value as text."""
    if values.size == 0:
        return "none"
    return f"{values[0]:.3g} ... {values[-1]:.3g} (largest {np.nanmax(values):.3g})"


def spread(n: int) -> list[int]:
    """Return some of n places, from the first to the last.

    Examples
    --------
    >>> spread(100)
    [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    """
    return np.unique(np.linspace(0, n - 1, min(n, N_ROWS)).round().astype(int)).tolist()  # type: ignore[no-any-return]


def small_html(
    text: str, head: Sequence[str], rows: Sequence[Sequence[object]], picture: str = "", chosen: int | None = None
) -> str:
    """Return a text, a picture and a table; a row in bold if one is chosen."""
    body = ""
    for k, row in enumerate(rows):
        cells = "".join(f"<td>{escape(f'{cell:.4g}' if isinstance(cell, float) else str(cell))}</td>" for cell in row)
        body += f'<tr style="font-weight: bold">{cells}</tr>' if k == chosen else f"<tr>{cells}</tr>"
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div><pre style="white-space: pre-wrap">{escape(text)}</pre>{picture}{table}</div>'


def curves(x: Vector, values: NDArray[np.float64], mark: float | None = None) -> str:
    """Return a picture of curves over x, a row each; of numbers that are not finite a curve has no points."""
    known = values[np.isfinite(values)]
    if known.size == 0 or x.size < 2:
        return ""
    low, high = min(known.min(), 0.0), max(known.max(), 0.0)
    place = (x - x.min()) / max(float(np.ptp(x)), 1e-300) * (_WIDTH - 2 * _MARGIN) + _MARGIN
    depth = (high - values) / max(high - low, 1e-300) * (_HEIGHT - 2 * _MARGIN) + _MARGIN
    lines = [
        _LINE.format(
            _COLOURS[k % len(_COLOURS)],
            " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(place, row, strict=True) if np.isfinite(b)),
        )
        for k, row in enumerate(depth)
    ]
    lines += [] if mark is None else [_MARK.format(np.interp(mark, np.sort(x), np.sort(place)))]
    size = f'width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"'
    return f'<svg role="img" {size} style="border: 1px solid currentColor; max-width: 100%">{"".join(lines)}</svg>'

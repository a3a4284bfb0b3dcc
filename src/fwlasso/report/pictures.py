"""Pictures of a choice as sections of the page: drawings that need no scripts."""

from collections.abc import Callable, Iterable
from html import escape

import numpy as np

from ..selection.pictures import Line, Picture

_WIDTH, _HEIGHT = 460.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, _WIDTH - 14.0, 14.0, _HEIGHT - 40.0
_TICKS = 6
_CLASSES = {"line": "line colour-0", "fold": "fold", "bar": "axis"}

Scale = Callable[[float], float]


def pictures_html(pictures: Iterable[Picture]) -> str:
    """Return the sections of pictures, side by side; nothing if there are none."""
    sections = "".join(map(_section, pictures))
    return sections and f'<div class="pictures">{sections}</div>'


def _section(picture: Picture) -> str:
    title, note = escape(picture.title), escape(picture.note)
    drawn = "".join(_drawn(picture))
    svg = f'<svg role="img" aria-label="{title}. {note}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}">{drawn}</svg>'
    return f'<section><h2>{title}</h2><figure class="chart">{svg}</figure><p class="hint">{note}</p></section>'


def _drawn(picture: Picture) -> Iterable[str]:
    high_x = max(value for line in picture.lines for value in line.x) or 1.0
    high_y = max(value for line in picture.lines for value in line.y) or 1.0
    if picture.has_diagonal:
        high_x = high_y = max(high_x, high_y)
    x, y = _scale(high_x, _LEFT, _RIGHT), _scale(high_y, _BOTTOM, _TOP)
    for tick in _ticks(high_y):
        yield f'<line class="grid" x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        yield f'<text class="tick end" x="{_LEFT - 8:g}" y="{y(tick) + 4:.1f}">{tick:g}</text>'
    for tick in _ticks(high_x):
        yield f'<text class="tick middle" x="{x(tick):.1f}" y="{_BOTTOM + 17:g}">{tick:g}</text>'
    yield f'<line class="axis" x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{_BOTTOM:g}" y2="{_BOTTOM:g}"/>'
    middle = (_LEFT + _RIGHT) / 2.0
    yield f'<text class="label middle" x="{middle:g}" y="{_HEIGHT - 4:g}">{escape(picture.x_label)}</text>'
    across = f"rotate(-90) translate({-(_TOP + _BOTTOM) / 2:g} 14)"
    yield f'<text class="label middle" transform="{across}">{escape(picture.y_label)}</text>'
    if picture.has_diagonal:
        yield _path([0.0, high_x], [0.0, high_y], x, y, "tolerance")
    for line in picture.lines:
        yield from _of_line(line, x, y)


def _of_line(line: Line, x: Scale, y: Scale) -> Iterable[str]:
    if line.kind in _CLASSES:
        yield _path(line.x, line.y, x, y, _CLASSES[line.kind])
        return
    for a, b in zip(line.x, line.y, strict=True):
        yield f'<circle class="dot" cx="{x(a):.1f}" cy="{y(b):.1f}" r="4"/>'


def _path(xs: list[float], ys: list[float], x: Scale, y: Scale, name: str) -> str:
    places = " ".join(f"{x(a):.1f} {y(b):.1f}" for a, b in zip(xs, ys, strict=True))
    return f'<path class="{name}" d="M{places}"/>'


def _scale(high: float, first: float, last: float) -> Scale:
    return lambda value: first + (last - first) * value / high


def _ticks(high: float) -> list[float]:
    """Return steps of 1, 2 or 5 times a power of ten from zero on, so many or fewer."""
    power = 10.0 ** np.floor(np.log10(high / _TICKS))
    step = next(it * power for it in (1.0, 2.0, 5.0, 10.0) if high / (it * power) <= _TICKS)
    return (step * np.arange(int(high / step + 1e-9) + 1)).tolist()  # type: ignore[no-any-return]

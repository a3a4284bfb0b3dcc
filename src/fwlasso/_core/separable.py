"""A cost of its own for every column: slope, ridge and bounds; see costs.py."""

import math
from typing import Any, NamedTuple

import numpy as np

from .costs import (
    Cost,
    Plain,
    Vector,
    at_columns,
    at_lambda,
    bounds,
    changes,
    clip,
    conjugate,
    curvature,
    difference,
    exchange,
    has_free_columns,
    has_ridge,
    is_free,
    is_hard,
    is_plain,
    l1_norm,
    larger,
    lean,
    minimise_1d,
    n_tops,
    piece,
    pull,
    set_places,
    settle,
    slope,
    soft_threshold,
    strain,
    take_in,
    value,
    with_places,
)
from .jit import INLINE, part_of_kernel

# A list of places has room for so many.
_FEWEST = 2


class Separable(NamedTuple):
    """Everything else; arrays that nobody gave are one number, repeated without memory."""

    slopes: Vector  # s_j
    bent: Vector  # r_j
    lower: Vector  # l_j
    upper: Vector  # u_j
    fixed: float
    share: float
    kappa: float  # 1 / the least singular value of the columns with s_j = 0, at length one; zero if there are none


def make_cost(
    p: int, slopes: Any, bent: Any, lower: Any, upper: Any, *, fixed: float, share: float, kappa: float = 0.0
) -> Cost:
    """Return the cost of p columns, `Plain` if it can be; numbers stand for arrays of them."""
    given = [np.asarray(values, np.float64) for values in (slopes, bent, lower, upper)]
    plain = (1.0, None, -math.inf, math.inf)
    if fixed == share == 0.0 and all(v is None or np.all(a == v) for a, v in zip(given, plain, strict=True)):
        return Plain()
    s, r, low, high = (_strided(values, p) for values in given)
    return Separable(s, r, low, high, fixed=fixed, share=share, kappa=kappa)


def _strided(values: Vector, n: int) -> Vector:
    """Return n numbers, or more, that a single one repeats without memory.

    Arrays in one piece, as those of one number are, and those not to be written to, are of other types than these, for
    which kernels would compile again.
    """
    if values.ndim == 0:
        return np.ndarray((n,), np.float64, np.full(1, values), strides=(0,))
    room = np.zeros(2 * n)[::2]
    room[: values.size] = values
    return room


@is_plain.register(Separable, INLINE)
def _(cost):
    return False


@at_columns.register(Separable)
def _(cost, columns):
    n = max(_FEWEST, columns.size)
    few = {name: array[0] if array.strides == (0,) and array.size else array[columns] for name, array in _arrays(cost)}
    return cost._replace(**{name: _strided(array, n) for name, array in few.items()})


@clip.register(Separable)
def _(cost, columns, coefs):
    return np.clip(coefs, cost.lower[columns], cost.upper[columns])


@at_lambda.register(Separable)
def _(cost, lam):
    return cost._replace(fixed=cost.fixed + cost.share * lam, share=0.0)


@l1_norm.register(Separable)
def _(cost, columns, coefs):
    return float(cost.slopes[columns] @ np.abs(coefs))


@with_places.register(Separable)
def _(cost, n_places):
    n = max(_FEWEST, n_places)
    return cost._replace(**{name: _strided(array[:n_places], n) for name, array in _arrays(cost)})


@set_places.register(Separable)
def _(cost, places, other):
    for (_, mine), (_, its) in zip(_arrays(cost), _arrays(other), strict=True):
        mine[places] = its[: places.size]


def _arrays(cost: Separable) -> list[tuple[str, Vector]]:
    return [(name, getattr(cost, name)) for name in ("slopes", "bent", "lower", "upper")]


@n_tops.register(Separable, INLINE)
def _(cost):
    return 3


@take_in.register(Separable, INLINE)
def _(cost, lam, j, corr, blur, tops, at):
    tops[at + 1] = larger(tops[at + 1], pull(cost, j, corr))
    for side in range(2):
        size = (corr if side == 0 else -corr) + blur
        if size > 0.0:
            end = size if side == 0 else -size
            if is_hard(cost, lam, j, end):
                tops[at] = max(tops[at], pull(cost, j, end))
            elif size > lam and pull(cost, j, end) > lam:
                tops[at + 2] += conjugate(cost, lam, j, end)


@slope.register(Separable, INLINE)
def _(cost, j):
    return cost.slopes[j]


@curvature.register(Separable, INLINE)
def _(cost, lam, j):
    return (cost.fixed + cost.share * lam) * cost.bent[j]


@bounds.register(Separable, INLINE)
def _(cost, j):
    return cost.lower[j], cost.upper[j]


@lean.register(Separable, INLINE)
def _(cost, lam, j, sign, b):
    return lam * cost.slopes[j] * sign + curvature(cost, lam, j) * b


@piece.register(Separable, INLINE)
def _(cost, j, sign):
    low, high = cost.lower[j], cost.upper[j]
    if cost.slopes[j] == 0.0:
        return low, high
    return (0.0, high) if sign > 0.0 else (low, 0.0)


@part_of_kernel
def _sides(cost: Separable, lam: float, j: int, b: float) -> tuple[float, float]:
    """Return the derivatives to the left and to the right of b: they differ at zero alone."""
    ridge, kink = curvature(cost, lam, j) * b, lam * cost.slopes[j]
    return (kink if b > 0.0 else -kink) + ridge, (kink if b >= 0.0 else -kink) + ridge


@exchange.register(Separable, INLINE)
def _(cost, lam, j, sign, rest, b, corr, above):
    if sign != 0.0:
        low, high = piece(cost, j, sign)
        if b < low:
            return 0.0, low
        return (0.0, high) if b > high else (sign, b)
    left, right = _sides(cost, lam, j, rest)
    blur = (above - 1.0) * (lam + abs(right))
    if rest < cost.upper[j] and corr > right + blur:
        return (1.0 if rest >= 0.0 else -1.0), rest
    if rest > cost.lower[j] and corr < left - blur:
        return (1.0 if rest > 0.0 else -1.0), rest
    return 0.0, rest


@is_free.register(Separable, INLINE)
def _(cost, j, b):
    return cost.slopes[j] == 0.0 or (b != 0.0 and b != cost.lower[j] and b != cost.upper[j])


@changes.register(Separable, INLINE)
def _(cost, j, b, new):
    return is_free(cost, j, b) != is_free(cost, j, new) or (cost.slopes[j] > 0.0 and b * new < 0.0)


@strain.register(Separable, INLINE)
def _(cost, lam, j, b, corr):
    left, right = _sides(cost, lam, j, b)
    up = corr - right if b < cost.upper[j] else -math.inf
    return lam + max(up, left - corr if b > cost.lower[j] else -math.inf)


@difference.register(Separable, INLINE)
def _(cost, lam, j, b, new):
    of_slope = lam * cost.slopes[j] * (abs(new) - abs(b))
    return of_slope + 0.5 * curvature(cost, lam, j) * (new - b) * (new + b)


@has_ridge.register(Separable, INLINE)
def _(cost):
    return cost.fixed > 0.0 or cost.share > 0.0


@has_free_columns.register(Separable, INLINE)
def _(cost):
    return cost.kappa > 0.0


@settle.register(Separable, INLINE)
def _(cost, j, b):
    low, high = piece(cost, j, b)
    return (0.0, b) if b in (low, high) else (1.0 if b >= 0.0 else -1.0, b)


@pull.register(Separable, INLINE)
def _(cost, j, corr):
    # What is not a number is on neither side: no bound hides it.
    is_closed = (corr > 0.0 and not cost.upper[j] > 0.0) or (corr < 0.0 and not cost.lower[j] < 0.0)
    return 0.0 if is_closed or cost.slopes[j] == 0.0 else abs(corr)


@value.register(Separable, INLINE)
def _(cost, lam, j, b):
    return lam * cost.slopes[j] * abs(b) + 0.5 * curvature(cost, lam, j) * b * b


@conjugate.register(Separable, INLINE)
def _(cost, lam, j, corr):
    excess, bound = abs(corr) - lam * cost.slopes[j], cost.upper[j] if corr > 0.0 else -cost.lower[j]
    if not (excess > 0.0 and bound > 0.0):  # no product with a bound that is infinite
        return 0.0
    mu = curvature(cost, lam, j)
    t = min(excess / mu, bound) if mu > 0.0 else bound
    return (excess - 0.5 * mu * t) * t if t < math.inf else math.inf


@is_hard.register(Separable, INLINE)
def _(cost, lam, j, corr):
    return (cost.upper[j] if corr > 0.0 else -cost.lower[j]) == math.inf and curvature(cost, lam, j) == 0.0


@minimise_1d.register(Separable, INLINE)
def _(cost, lam, j, aim, norm2):
    t = soft_threshold(aim, lam * cost.slopes[j]) / (norm2 + curvature(cost, lam, j))
    return min(max(t, cost.lower[j]), cost.upper[j])

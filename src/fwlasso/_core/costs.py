"""What a coefficient costs, column by column: the shape of the penalty, which is the same along a path.

    cost_j(t; lam) = lam s_j |t| + 1/2 mu_j(lam) t^2   on   l_j <= t <= u_j,      mu_j(lam) = (fixed + share lam) r_j.

Lambda is all that changes from point to point: the ridge of an elastic net of fixed l1_ratio follows it by `share`, a
ridge of its own is `fixed`. s_j is 1, or 0 for a column without a penalty. l_j <= 0 <= u_j.

With the slope of the loss c_j = z_j'r, a coefficient is at its minimum where c_j is the derivative of its cost, or, at
a kink or a bound, between those on both sides. The *piece* of a coefficient is where its cost is smooth: (0, u_j),
(l_j, 0), or (l_j, u_j) without a penalty. A coefficient is *free* inside of a piece, else it *rests*:
at zero or at a bound.

`Plain` is the Lasso's cost: its functions are constants, and kernels compile to what they would be without them.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .jit import INLINE, by_type, kernel, part_of_kernel

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]


class Plain(NamedTuple):
    """lam |t|: s_j = 1, no ridge, no bounds."""


class Separable(NamedTuple):
    """Everything else; arrays that nobody gave are one number, repeated without memory."""

    slopes: Vector  # s_j
    bent: Vector  # r_j
    lower: Vector  # l_j
    upper: Vector  # u_j
    fixed: float
    share: float
    kappa: float  # 1 / the least singular value of the columns with s_j = 0, at length one; zero if there are none


#: Plain, Separable, or another NamedTuple that is registered with the functions below.
Cost: TypeAlias = Any


def make_cost(
    p: int, slopes: Any, bent: Any, lower: Any, upper: Any, *, fixed: float, share: float, kappa: float = 0.0
) -> Cost:
    """Return the cost of p columns, `Plain` if it can be; numbers stand for arrays of them."""
    arrays = [np.broadcast_to(np.asarray(values, np.float64), p) for values in (slopes, bent, lower, upper)]
    plain = (1.0, None, -math.inf, math.inf)
    if fixed == share == 0.0 and all(v is None or np.all(a == v) for a, v in zip(arrays, plain, strict=True)):
        return Plain()
    # Strided views, of an array of one's own, too: arrays in one piece are another type, and kernels compile twice.
    s, r, low, high = (array if array.strides == (0,) else np.repeat(array, 2)[::2] for array in arrays)
    return Separable(s, r, low, high, fixed, share, kappa)


@by_type
def is_plain(cost: Cost) -> bool:
    """Tell whether coefficients rest at zero alone, and pieces are straight: a constant of the type."""


@by_type
def slope(cost: Cost, j: int) -> float:
    """Return s_j."""


@by_type
def curvature(cost: Cost, lam: float, j: int) -> float:
    """Return mu_j(lam)."""


@by_type
def bounds(cost: Cost, j: int) -> tuple[float, float]:
    """Return l_j and u_j."""


@by_type
def lean(cost: Cost, lam: float, j: int, sign: float, b: float) -> float:
    """Return the derivative at b on the piece of this sign."""


@by_type
def piece(cost: Cost, j: int, sign: float) -> tuple[float, float]:
    """Return the ends of the piece of this sign."""


@by_type
def exchange(
    cost: Cost, lam: float, j: int, sign: float, rest: float, b: float, corr: float, above: float
) -> tuple[float, float]:
    """Return the sign of the piece, zero at rest, and the resting place, that b and c_j = `corr` ask for.

    A free coefficient (sign not zero) that left its piece rests at the end it passed. One at rest is pulled onto a
    piece where c_j is beyond the derivative there by a factor of `above`, which is a little more than one: rounding.
    """


@by_type
def is_free(cost: Cost, j: int, b: float) -> bool:
    """Tell whether b is inside of a piece."""


@by_type
def changes(cost: Cost, j: int, b: float, new: float) -> bool:
    """Tell whether a coefficient that was b is on another piece, or at rest."""


@by_type
def strain(cost: Cost, lam: float, j: int, b: float, corr: float) -> float:
    """Return lambda, and how far c_j is beyond what holds b where it rests: not above lambda if it is held."""


@by_type
def settle(cost: Cost, j: int, b: float) -> tuple[float, float]:
    """Return the sign of the piece that b is on, zero at rest, and where it rests."""


@by_type
def pull(cost: Cost, j: int, corr: float) -> float:
    """Return what lambda has to be to hold a coefficient at zero: |c_j| where the side is open, zero elsewhere."""


@by_type
def at_columns(cost: Cost, columns: Indices) -> Cost:
    """Return the cost of a few columns, in arrays of its own; for Python."""


@by_type
def clip(cost: Cost, columns: Indices, coefs: Vector) -> Vector:
    """Return the coefficients of some columns within their bounds; for Python."""


@by_type
def with_places(cost: Cost, n_places: int) -> Cost:
    """Return the cost with room for so many columns, whatever there were before; for Python."""


@by_type
def set_places(cost: Cost, places: Indices, other: Cost) -> None:
    """Put the cost of other columns to some places; for Python."""


@kernel
def largest_pull(cost: Cost, corrs: Vector) -> float:
    """Return the smallest lambda that holds all coefficients at zero, given the slopes of the loss there."""
    largest = 0.0
    for j in range(corrs.size):
        largest = larger(largest, pull(cost, j, corrs[j]))
    return largest


@kernel
def fill_pulls(cost: Cost, corrs: NDArray[np.float32], pulls: NDArray[np.float32]) -> None:
    """Fill in the pull of every column."""
    for j in range(corrs.size):
        pulls[j] = pull(cost, j, corrs[j])


@part_of_kernel
def larger(size: float, other: float) -> float:
    """Return the larger of two sizes, and infinity where the other is no number: max() would pass over it."""
    return np.inf if np.isnan(other) else max(size, other)


@kernel
def curvatures(cost: Cost, lam: float, columns: Indices) -> Vector:
    """Return mu_j(lam) of some columns."""
    found = np.empty(columns.size)
    for i in range(columns.size):
        found[i] = curvature(cost, lam, columns[i])
    return found


@kernel
def leans(cost: Cost, lam: float, columns: Indices, coefs: Vector) -> Vector:
    """Return the derivatives of the costs of some columns, whose coefficients are free: `coefs` has one a column."""
    found = np.empty(columns.size)
    for i in range(columns.size):
        b = coefs[columns[i]]
        found[i] = lean(cost, lam, columns[i], np.sign(b), b)
    return found


@by_type
def value(cost: Cost, lam: float, j: int, b: float) -> float:
    """Return the cost of b, within its bounds."""


@by_type
def difference(cost: Cost, lam: float, j: int, b: float, new: float) -> float:
    """Return how much more another coefficient on the same side of zero, or zero, costs than b."""


@by_type
def has_ridge(cost: Cost) -> bool:
    """Tell whether there is a ridge: then no column depends on others."""


@by_type
def conjugate(cost: Cost, lam: float, j: int, corr: float) -> float:
    """Return the supremum of c t - cost_j(t) over all t; infinite where nothing holds t."""


@by_type
def is_hard(cost: Cost, lam: float, j: int, corr: float) -> bool:
    """Tell whether the conjugate has no bound on this side: there is neither a bound nor a ridge."""


@by_type
def minimise_1d(cost: Cost, lam: float, j: int, aim: float, norm2: float) -> float:
    """Return the minimiser of 1/2 norm2 t^2 - aim t + cost_j(t)."""


@part_of_kernel
def soft_threshold(x: float, threshold: float) -> float:
    """Return x moved towards zero by `threshold`: the minimiser of 1/2 (t - x)^2 + threshold |t|."""
    if x > threshold:
        return x - threshold
    return x + threshold if x < -threshold else 0.0


# What is known of the correlations of a residual with many columns, by type: one number, or three.


@by_type
def n_tops(cost: Cost) -> int:
    """Return how many numbers bound the correlations of a residual."""


@by_type
def take_in(cost: Cost, lam: float, j: int, corr: float, blur: float, tops: Vector) -> None:
    """Let c_j count in the numbers that bound all: for `Plain` the largest |c_j|.

    For others:

    0. the largest pull towards a side that is hard;
    1. the largest pull of all;
    2. the sum of cost*_j(|c_j| + blur) over sides that are not hard.
    """


# Plain ---------------------------------------------------------------------------------------------------------------


@is_plain.register(Plain, INLINE)
def _(cost):
    return True


@at_columns.register(Plain)
def _(cost, columns):
    return cost


@clip.register(Plain)
def _(cost, columns, coefs):
    return coefs


@with_places.register(Plain)
def _(cost, n_places):
    return cost


@set_places.register(Plain)
def _(cost, places, other):
    return None


@n_tops.register(Plain, INLINE)
def _(cost):
    return 1


@take_in.register(Plain, INLINE)
def _(cost, lam, j, corr, blur, tops):
    tops[0] = larger(tops[0], abs(corr))


@slope.register(Plain, INLINE)
def _(cost, j):
    return 1.0


@curvature.register(Plain, INLINE)
def _(cost, lam, j):
    return 0.0


@bounds.register(Plain, INLINE)
def _(cost, j):
    return -math.inf, math.inf


@lean.register(Plain, INLINE)
def _(cost, lam, j, sign, b):
    return lam * sign


@piece.register(Plain, INLINE)
def _(cost, j, sign):
    return (0.0, math.inf) if sign > 0.0 else (-math.inf, 0.0)


@exchange.register(Plain, INLINE)
def _(cost, lam, j, sign, rest, b, corr, above):
    if sign * b < 0.0:
        return 0.0, 0.0
    if sign == 0.0 and abs(corr) > lam * above:
        return (1.0 if corr > 0.0 else -1.0), 0.0
    return sign, 0.0


@is_free.register(Plain, INLINE)
def _(cost, j, b):
    return b != 0.0


@changes.register(Plain, INLINE)
def _(cost, j, b, new):
    return b * new <= 0.0


@strain.register(Plain, INLINE)
def _(cost, lam, j, b, corr):
    return abs(corr)


@difference.register(Plain, INLINE)
def _(cost, lam, j, b, new):
    return lam * (abs(new) - abs(b))


@has_ridge.register(Plain, INLINE)
def _(cost):
    return False


@settle.register(Plain, INLINE)
def _(cost, j, b):
    return (1.0 if b > 0.0 else -1.0 if b < 0.0 else 0.0), 0.0


@pull.register(Plain, INLINE)
def _(cost, j, corr):
    return abs(corr)


@value.register(Plain, INLINE)
def _(cost, lam, j, b):
    return lam * abs(b)


@conjugate.register(Plain, INLINE)
def _(cost, lam, j, corr):
    return 0.0 if abs(corr) <= lam else math.inf


@is_hard.register(Plain, INLINE)
def _(cost, lam, j, corr):
    return True


@minimise_1d.register(Plain, INLINE)
def _(cost, lam, j, aim, norm2):
    return soft_threshold(aim, lam) / norm2


# Separable -----------------------------------------------------------------------------------------------------------


@is_plain.register(Separable, INLINE)
def _(cost):
    return False


@at_columns.register(Separable)
def _(cost, columns):
    return cost._replace(**{name: np.repeat(array[columns], 2)[::2] for name, array in _arrays(cost)})


@clip.register(Separable)
def _(cost, columns, coefs):
    return np.clip(coefs, cost.lower[columns], cost.upper[columns])


@with_places.register(Separable)
def _(cost, n_places):
    room = {name: np.zeros(2 * n_places)[::2] for name, _ in _arrays(cost)}
    for name, array in _arrays(cost):
        room[name][: array.size] = array[:n_places]
    return cost._replace(**room)


@set_places.register(Separable)
def _(cost, places, other):
    for (_, mine), (_, its) in zip(_arrays(cost), _arrays(other), strict=True):
        mine[places] = its


def _arrays(cost: Separable) -> list[tuple[str, Vector]]:
    return [(name, getattr(cost, name)) for name in ("slopes", "bent", "lower", "upper")]


@n_tops.register(Separable, INLINE)
def _(cost):
    return 3


@take_in.register(Separable, INLINE)
def _(cost, lam, j, corr, blur, tops):
    strength = pull(cost, j, corr)
    tops[1] = larger(tops[1], strength)
    if is_hard(cost, lam, j, corr):
        tops[0] = larger(tops[0], strength)
    for side in range(2):
        excess = (corr if side == 0 else -corr) + blur
        if excess > lam and pull(cost, j, excess if side == 0 else -excess) > lam:
            signed = excess if side == 0 else -excess
            if not is_hard(cost, lam, j, signed):
                tops[2] += conjugate(cost, lam, j, signed)


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


@settle.register(Separable, INLINE)
def _(cost, j, b):
    low, high = piece(cost, j, b)
    return (0.0, b) if b in (low, high) else (1.0 if b >= 0.0 else -1.0, b)


@pull.register(Separable, INLINE)
def _(cost, j, corr):
    is_open = (cost.upper[j] if corr > 0.0 else -cost.lower[j]) > 0.0
    return abs(corr) if is_open and cost.slopes[j] > 0.0 else 0.0


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

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


#: `Plain`, `separable.Separable`, or another NamedTuple that is registered with the functions below.
Cost: TypeAlias = Any


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
    """Return the cost of a few columns, in arrays of its own that may be longer; for Python."""


@by_type
def clip(cost: Cost, columns: Indices, coefs: Vector) -> Vector:
    """Return the coefficients of some columns within their bounds; for Python."""


@by_type
def at_lambda(cost: Cost, lam: float) -> Cost:
    """Return the cost whose ridge is that at lambda, whatever lambda it is asked for; for Python."""


@by_type
def l1_norm(cost: Cost, columns: Indices, coefs: Vector) -> float:
    """Return sum s_j |b_j| of the coefficients of some columns; for Python."""


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
def strongest(cost: Cost, corrs: Vector) -> int:
    """Return the column with the largest pull, the first of equals; one that is not a number is the largest."""
    best, largest = 0, 0.0
    for j in range(corrs.size):
        strength = pull(cost, j, corrs[j])
        if not strength <= largest:
            best, largest = j, strength
            if np.isnan(strength):  # nothing is larger
                break
    return best


@kernel
def fill_pulls(cost: Cost, corrs: NDArray[Any], pulls: NDArray[Any]) -> None:
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
def has_free_columns(cost: Cost) -> bool:
    """Tell whether there are columns without a penalty, whose kappa is known."""


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
def take_in(cost: Cost, lam: float, j: int, corr: float, blur: float, tops: Vector, at: int) -> None:
    """Let c_j count in the numbers that bound all, those of `tops` from `at` on: for `Plain` the largest |c_j|.

    For others:

    0. the largest pull towards a side that is hard, with the blur: zero if there is no such side;
    1. the largest pull of all, without it;
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


@at_lambda.register(Plain)
def _(cost, lam):
    return cost


@l1_norm.register(Plain)
def _(cost, columns, coefs):
    return float(np.add.reduce(np.abs(coefs)))


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
def _(cost, lam, j, corr, blur, tops, at):
    tops[at] = larger(tops[at], abs(corr))


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
@has_free_columns.register(Plain, INLINE)
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

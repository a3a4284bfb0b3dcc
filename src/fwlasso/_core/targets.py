"""Where the points of a path are, lambdas or radii, between solutions for lambdas: all of it on plain numbers.

A radius lies where the norms of two solutions mix to it. The l1 norm is convex: no mix is outside of the ball.
"""

import numpy as np

from .columns import Vector
from .jit import by_type
from .penalties import L1, L1Ball, Penalty

# A norm of so many radii is outside of the ball, and not only by rounding; radii that differ by less are the same.
_OUTSIDE, _SAME = 1.0 + 1e-13, 1e-14
# The smallest lambda that is solved, a fraction of the largest: it answers lambda = 0; or all lambdas below rounding,
# and radii beyond all solutions, unless their rounding is larger than that, up to the last fraction.
_SMALLEST, _LEAST, _LARGEST_FLOOR = 1e-9, 1e-15, 1e-3


@by_type
def floor_of(penalty: Penalty, values: Vector, lambda_max: float, rounding: float, allowed: float) -> float:
    """Return the smallest lambda that answers what is beyond it, given the points of a path from sparse to dense.

    For radii beyond the norm of all solutions lambda times the radius bounds the gap of a solution for lambda: that may
    be as large as `allowed`. Below the rounding of correlations there is nothing to solve, but for data that are all
    rounding.
    """


@by_type
def is_zero(penalty: Penalty, value: float, lambda_max: float) -> bool:
    """Tell whether the solution of a point is the null model."""


@by_type
def fraction_inside(penalty: Penalty, value: float, l1: float) -> float:
    """Return which fraction of coefficients of this norm is allowed as a point."""


@by_type
def position(
    penalty: Penalty, value: float, floor: float, left: tuple[float, float], right: tuple[float, float]
) -> float:
    """Return the t for which (1 - t) left + t right is the guess for a point: above 1 if it is beyond.

    Both are lambda and the l1 norm of a solution; one at the floor answers all that is beyond it.
    """


@floor_of.register(L1)
def _(penalty, values, lambda_max, rounding, allowed):
    return max(_LEAST * lambda_max, min(values[values > 0.0].min(initial=np.inf), _SMALLEST * lambda_max))


@is_zero.register(L1)
def _(penalty, value, lambda_max):
    return value >= lambda_max


@fraction_inside.register(L1)
def _(penalty, value, l1):
    return 1.0


@position.register(L1)
def _(penalty, value, floor, left, right):
    return (left[0] - max(value, floor)) / (left[0] - right[0])


@floor_of.register(L1Ball)
def _(penalty, values, lambda_max, rounding, allowed):
    floor = min(max(rounding, _LEAST * lambda_max), _LARGEST_FLOOR * lambda_max)
    return max(floor, allowed / values[-1] if values[-1] > 0.0 else 0.0)


@is_zero.register(L1Ball)
def _(penalty, value, lambda_max):
    return value == 0.0 or lambda_max == 0.0


@fraction_inside.register(L1Ball)
def _(penalty, value, l1):
    return value / l1 if l1 > value * _OUTSIDE else 1.0


@position.register(L1Ball)
def _(penalty, value, floor, left, right):
    t = (value - left[1]) / (right[1] - left[1]) if right[1] > left[1] else np.inf
    return 1.0 if abs(value - right[1]) <= _SAME * value or (right[0] <= floor and not t <= 1.0) else t

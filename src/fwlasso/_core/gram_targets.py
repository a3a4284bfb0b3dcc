"""Where the points of a path are, of every kind of penalty: a NamedTuple of a number, and seven functions.

A point lies between two nodes, solutions for some lambda; a point for a radius is certified in its own form.
"""

from typing import Any, NamedTuple

import numpy as np

from .cholesky import Indices
from .costs import largest_pull
from .gram_gaps import Sums, point_gap, radius_gap
from .jit import by_type, inner_kernel
from .moments import Matrix, Moments, Vector, gamma
from .penalties import L1, L1Ball, Penalty

# For radii: how far beyond one to aim, and between which factors lambda falls from node to node.
_BEYOND, _STEEPEST, _GENTLEST = 1.05, 0.1, 0.9
# A norm of so many radii is outside of the ball, and not only by rounding.
_OUTSIDE = 1.0 + 1e-13
# And where between two of them another may be.
_NEAREST, _FARTHEST = 0.1, 0.9
# The smallest lambda that is solved, a fraction of the largest: it answers lambda = 0; or all lambdas below rounding,
# and radii beyond all solutions.
_SMALLEST, _LEAST, _LARGEST_FLOOR, _FRACTION_OF_GAP = 1e-9, 1e-15, 1e-3, 0.3


class Targets(NamedTuple):
    """The points of a path from sparse to dense: their numbers, each a lambda or a radius."""

    penalty: Penalty  # the first one: its type is what matters
    values: Vector
    floor: float  # the smallest lambda that is solved: it answers what is beyond


#: What is known of a node.
About = np.dtype(
    [
        ("lam", np.float64),
        ("l1", np.float64),
        ("magnitude", np.float64),  # B of `gram_gaps`
        ("n_active", np.float64),
        ("is_limited", np.int64),  # by the number of rounds
    ],
    align=True,
)


class Nodes(NamedTuple):
    """Solved penalties by slot. Slots in use: of the node before the last, of the last, and of those on the stack."""

    slots: Indices
    about: Any  # a recarray of About
    b: Matrix
    g: Matrix


@by_type
def lowest_lam(penalty: Penalty, values: Vector, moments: Moments, goal: float) -> float:
    """Return the smallest lambda that is to be solved for points up to gaps of `goal`."""


@by_type
def is_zero(penalty: Penalty, value: float, lambda_max: float) -> bool:
    """Tell whether the solution of a point is zero."""


@by_type
def gap_at(
    penalty: Penalty, value: float, lam: float, moments: Moments, b: Vector, g: Vector, sums: Sums
) -> tuple[float, float]:
    """Return a bound of the gap of a point that solves for about lam, and how much of it is rounding."""


@by_type
def fraction_inside(penalty: Penalty, value: float, l1: float) -> float:
    """Return which fraction of coefficients of this norm is allowed as a point."""


@by_type
def position_of(penalty: Penalty, targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the t for which (1 - t) left + t right is the guess for point k: above 1 if it is beyond."""


@by_type
def lam_ahead(penalty: Penalty, targets: Targets, k: int, nodes: Nodes, before: int, left: int) -> float:
    """Return the lambda of a node to the right of `left` that reaches point k, or goes towards it."""


@by_type
def lam_between(penalty: Penalty, targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the lambda of a node between two others for point k."""


@inner_kernel
def claim_at(
    penalty: Penalty, value: float, lam: float, moments: Moments, b: Vector, g: Vector, sums: Sums
) -> tuple[float, float]:
    """Return the same: where rounding may be all of the correlations, it may be all of the gap."""
    gap, rounding = gap_at(penalty, value, lam, moments, b, g, sums)
    return gap, gap if sums.bound >= 2.0 * sums.largest else rounding


@lowest_lam.register(L1)
def _(penalty, values, moments, goal):
    lambda_max = largest_pull(moments.cost, moments.xty)
    return max(_LEAST * lambda_max, min(values[values > 0.0].min(initial=np.inf), _SMALLEST * lambda_max))


@is_zero.register(L1)
def _(penalty, value, lambda_max):
    return value >= lambda_max


@gap_at.register(L1)
def _(penalty, value, lam, moments, b, g, sums):
    return point_gap(moments.cost, value, moments, b, g, sums)


@fraction_inside.register(L1)
def _(penalty, value, l1):
    return 1.0


@position_of.register(L1)
def _(penalty, targets, k, nodes, left, right):
    lam = max(targets.values[k], targets.floor)
    return (nodes.about[left].lam - lam) / (nodes.about[left].lam - nodes.about[right].lam)


@lam_ahead.register(L1)
@lam_between.register(L1)
def _(penalty, targets, k, nodes, first, second):
    return max(targets.values[k], targets.floor)


@lowest_lam.register(L1Ball)
def _(penalty, values, moments, goal):
    # Of a solution for lam, lam * radius bounds the gap for every radius beyond its norm. There is nothing to solve
    # below the rounding of correlations.
    lambda_max = largest_pull(moments.cost, moments.xty)
    rounding = gamma(moments.n_ops + 8.0) * moments.y_norm * moments.norms.max(initial=0.0)
    floor = min(max(rounding, _LEAST * lambda_max), _LARGEST_FLOOR * lambda_max)
    return max(floor, _FRACTION_OF_GAP * goal / values[-1] if values[-1] > 0.0 else 0.0)


@is_zero.register(L1Ball)
def _(penalty, value, lambda_max):
    return value == 0.0 or lambda_max == 0.0


@gap_at.register(L1Ball)
def _(penalty, value, lam, moments, b, g, sums):
    return radius_gap(moments.cost, value, lam, moments, b, g, sums)


@fraction_inside.register(L1Ball)
def _(penalty, value, l1):
    return value / l1 if l1 > value * _OUTSIDE else 1.0


@position_of.register(L1Ball)
def _(penalty, targets, k, nodes, left, right):
    # The l1 norm is convex: a mix is never outside the ball.
    radius, near, far = targets.values[k], nodes.about[left].l1, nodes.about[right].l1
    t = (radius - near) / (far - near) if far > near else np.inf
    is_last = nodes.about[right].lam <= targets.floor
    return 1.0 if abs(radius - far) <= 1e-14 * radius or (is_last and not t <= 1.0) else t


@lam_ahead.register(L1Ball)
def _(penalty, targets, k, nodes, before, left):
    # Between kinks the norm is linear in lambda.
    lam, gained = nodes.about[left].lam, nodes.about[left].l1 - nodes.about[before].l1
    fall = _BEYOND * (targets.values[k] - nodes.about[left].l1) * (nodes.about[before].lam - lam)
    ahead = lam - fall / gained if gained > 0.0 else 0.0
    return max(targets.floor, min(_GENTLEST * lam, max(_STEEPEST * lam, ahead)))


@lam_between.register(L1Ball)
def _(penalty, targets, k, nodes, left, right):
    # Not too close to one of them: a secant may creep along one side of a kink.
    t = min(_FARTHEST, max(_NEAREST, position_of(penalty, targets, k, nodes, left, right)))
    return nodes.about[left].lam + t * (nodes.about[right].lam - nodes.about[left].lam)

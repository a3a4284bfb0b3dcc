"""What the points of a path are for: penalties or radii, each a NamedTuple and five functions.

A point lies between two nodes, solutions of the penalized problem; a point for a radius is certified in its own form.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .cholesky import Indices
from .gram_gaps import Sums, ball_gap, penalty_gap
from .jit import by_type
from .moments import Matrix, Vector

# For radii: how far beyond one to aim, and between which factors a penalty falls from node to node.
_BEYOND, _STEEPEST, _GENTLEST = 1.05, 0.1, 0.9
# A norm of so many radii is outside of the ball, and not only by rounding.
_OUTSIDE = 1.0 + 1e-13
# And where between two of them another may be.
_NEAREST, _FARTHEST = 0.1, 0.9


class Penalties(NamedTuple):
    """Decreasing penalties; the solution for `floor` > 0 answers what is below it."""

    values: Vector
    floor: float


class Radii(NamedTuple):
    """Increasing radii; the solution for the penalty `floor` > 0 answers what is beyond the norms of all others."""

    values: Vector
    floor: float


Targets: TypeAlias = Penalties | Radii


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
def share_of(targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the t for which (1 - t) left + t right is the guess for point k: above 1 if it is beyond."""


@by_type
def gap_at(targets: Targets, k: int, yy: float, sums: Sums) -> tuple[float, float]:
    """Return a bound of the gap of point k, and how much of it is rounding."""


@by_type
def share_inside(targets: Targets, k: int, l1: float) -> float:
    """Return which share of a point of this norm is allowed as point k."""


@by_type
def lam_ahead(targets: Targets, k: int, nodes: Nodes, before: int, left: int) -> float:
    """Return the penalty of a node to the right of `left` that reaches point k, or goes towards it."""


@by_type
def lam_between(targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the penalty of a node between two others for point k."""


@share_of.register(Penalties)
def _(targets, k, nodes, left, right):
    lam = max(targets.values[k], targets.floor)
    return (nodes.about[left].lam - lam) / (nodes.about[left].lam - nodes.about[right].lam)


@gap_at.register(Penalties)
def _(targets, k, yy, sums):
    return penalty_gap(yy, sums, targets.values[k])


@share_inside.register(Penalties)
def _(targets, k, l1):
    return 1.0


@lam_ahead.register(Penalties)
def _(targets, k, nodes, before, left):
    return max(targets.values[k], targets.floor)


@lam_between.register(Penalties)
def _(targets, k, nodes, left, right):
    return max(targets.values[k], targets.floor)


@share_of.register(Radii)
def _(targets, k, nodes, left, right):
    # The l1 norm is convex: a mix is never outside the ball.
    radius, near, far = targets.values[k], nodes.about[left].l1, nodes.about[right].l1
    t = (radius - near) / (far - near) if far > near else np.inf
    is_last = nodes.about[right].lam <= targets.floor
    return 1.0 if abs(radius - far) <= 1e-14 * radius or (is_last and not t <= 1.0) else t


@gap_at.register(Radii)
def _(targets, k, yy, sums):
    return ball_gap(targets.values[k], sums)


@share_inside.register(Radii)
def _(targets, k, l1):
    return targets.values[k] / l1 if l1 > targets.values[k] * _OUTSIDE else 1.0


@lam_ahead.register(Radii)
def _(targets, k, nodes, before, left):
    # Between kinks the norm is linear in the penalty.
    lam, gained = nodes.about[left].lam, nodes.about[left].l1 - nodes.about[before].l1
    fall = _BEYOND * (targets.values[k] - nodes.about[left].l1) * (nodes.about[before].lam - lam)
    ahead = lam - fall / gained if gained > 0.0 else 0.0
    return max(targets.floor, min(_GENTLEST * lam, max(_STEEPEST * lam, ahead)))


@lam_between.register(Radii)
def _(targets, k, nodes, left, right):
    # Not too close to one of them: a secant may creep along one side of a kink.
    t = min(_FARTHEST, max(_NEAREST, share_of(targets, k, nodes, left, right)))
    return nodes.about[left].lam + t * (nodes.about[right].lam - nodes.about[left].lam)

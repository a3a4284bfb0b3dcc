"""Points of a path on inner products: which nodes lead to them, and their gaps, by the kind of penalty.

A point lies between two nodes, solutions for some lambda; a point for a radius is certified in its own form.
"""

from typing import Any, NamedTuple

import numpy as np

from .cholesky import Indices
from .gaps import GapTerms, gap_at
from .jit import by_type, inner_kernel
from .moments import Matrix, Moments, Vector
from .penalties import L1, L1Ball, Penalty
from .targets import position

# For radii: how far beyond one to aim, and between which factors lambda falls from node to node.
_BEYOND, _STEEPEST, _GENTLEST = 1.05, 0.1, 0.9
# And where between two of them another may be.
_NEAREST, _FARTHEST = 0.1, 0.9


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
        ("magnitude", np.float64),  # B of `gaps`
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


@inner_kernel
def position_of(targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the t for which (1 - t) left + t right is the guess for point k: above 1 if it is beyond."""
    first, last = nodes.about[left], nodes.about[right]
    ends = (first.lam, first.l1), (last.lam, last.l1)
    return position(targets.penalty, targets.values[k], targets.floor, ends[0], ends[1])  # type: ignore[no-any-return]


@by_type
def lam_ahead(penalty: Penalty, targets: Targets, k: int, nodes: Nodes, before: int, left: int) -> float:
    """Return the lambda of a node to the right of `left` that reaches point k, or goes towards it."""


@by_type
def lam_between(penalty: Penalty, targets: Targets, k: int, nodes: Nodes, left: int, right: int) -> float:
    """Return the lambda of a node between two others for point k."""


@inner_kernel
def claim_at(
    targets: Targets, k: int, lam: float, moments: Moments, b: Vector, g: Vector, terms: GapTerms
) -> tuple[float, float]:
    """Return a bound of the gap of point k, which solves for about lam, and how much of it is rounding.

    Where rounding may be all of the correlations, it may be all of the gap.
    """
    gap, rounding = gap_at(moments.cost, targets.penalty, targets.values[k], lam, moments, b, g, terms)
    return gap, gap if terms.bound >= 2.0 * terms.largest else rounding


@lam_ahead.register(L1)
@lam_between.register(L1)
def _(penalty, targets, k, nodes, first, second):
    return max(targets.values[k], targets.floor)


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
    t = min(_FARTHEST, max(_NEAREST, position_of(targets, k, nodes, left, right)))
    return nodes.about[left].lam + t * (nodes.about[right].lam - nodes.about[left].lam)

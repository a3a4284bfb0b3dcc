"""What a path is asked for: solutions at lambdas, or at radii, which lie between those at lambdas.

Both have the penalties, from sparse to dense, and the same methods.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from .._core.columns import Vector
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.targets import floor_of, position
from .nodes import Node, Span
from .objectives import Objective
from .tuning import Tuning


class _Targets:
    """What alphas and radii have in common."""

    def __init__(self, penalties: Sequence[Penalty]) -> None:
        self.penalties = penalties

    def lowest_lam(self, problem: Problem, lambda_max: float, goal: float, tuning: Tuning) -> float:
        """Return the smallest lambda that is solved: the last but zero, unless that is below the rounding of others."""
        values = np.array([penalty[0] for penalty in self.penalties])
        rounding = gamma(4 * problem.n_samples) * problem.largest * math.sqrt(problem.yy)
        floor = floor_of(self.penalties[-1], values, lambda_max, rounding, tuning.beyond * tuning.accept * goal)
        return max(float(floor), getattr(self.penalties[-1], "lam", 0.0))

    def position(self, span: Span, penalty: Penalty) -> float:
        """Return the t for which (1 - t) left + t right is the guess; outside [0, 1] if there is none."""
        left, right = span.left, span.right
        return float(position(penalty, penalty[0], 0.0, (left.lam, left.known.l1), (right.lam, right.known.l1)))


class AlphaTargets(_Targets):
    """Points at lambdas: nodes may be points themselves."""

    are_nodes = True

    def grid_lams(self, lowest: float) -> Vector:
        """Return the lambdas at which a node is a point, in increasing order."""
        return np.array([max(penalty.lam, lowest) for penalty in self.penalties[::-1]])

    def is_reached(self, penalty: Penalty, node: Node) -> bool:
        """Tell whether a point is not beyond a node."""
        return bool(penalty.lam >= node.lam)

    def first_lam(self, estimate: Callable[[], float]) -> float:
        """Return the lambda of the first point."""
        return float(self.penalties[0].lam)

    def radius_owed(self, *, is_lowest: bool) -> float:
        """Nodes answer for no radius."""
        return -1.0

    def gap(self, objective: Objective, node: Node, radius: float) -> float:
        """Return the gap that a node must be certified with."""
        return objective.gap(L1(node.lam), node.known)

    def split(self, span: Span, t: float, depth: int) -> float:
        """Return the lambda to solve at: that of the point."""
        return span.lam(t)


class RadiusTargets(_Targets):
    """Points at radii: every one is an interpolation between solutions of the penalized problem, by their norms."""

    are_nodes = False

    def grid_lams(self, lowest: float) -> Vector:
        """No lambda is asked for."""
        return np.empty(0)

    def is_reached(self, penalty: L1Ball, node: Node) -> bool:
        """Tell whether a point is not beyond a node."""
        return bool(penalty.radius <= node.known.l1)

    def first_lam(self, estimate: Callable[[], float]) -> float:
        """Return the lambda of the guess."""
        return estimate()

    def radius_owed(self, *, is_lowest: bool) -> float:
        """Return up to which radius a node answers: the last node all that are beyond it, others their norm alone."""
        return self.penalties[-1].radius if is_lowest else 0.0

    def gap(self, objective: Objective, node: Node, radius: float) -> float:
        """Return the gap that a node must be certified with: the larger one of lambda's and of the ball's."""
        ball = L1Ball(max(radius, node.known.l1))
        return max(objective.gap(L1(node.lam), node.known), objective.gap(ball, node.known))

    def split(self, span: Span, t: float, depth: int) -> float:
        """Return the lambda to solve at: the secant's, by turns with the middle, as it may creep along one side."""
        return span.lam(t) if depth % 2 == 0 else math.sqrt(span.left.lam * span.right.lam)


Targets: TypeAlias = AlphaTargets | RadiusTargets


# All other penalties are told by their lambda.
_KINDS: dict[type, type[Targets]] = {L1Ball: RadiusTargets}


def make_targets(penalties: Sequence[Penalty]) -> Targets:
    """Return the targets of a path; all penalties are of one type."""
    return _KINDS.get(type(penalties[-1]), AlphaTargets)(penalties)

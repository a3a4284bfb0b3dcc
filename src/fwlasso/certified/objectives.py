"""What is minimised, and what is known of a point: of least squares some numbers, of other losses two vectors."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.columns import Vector
from .._core.costs import is_plain
from .._core.iterate import Iterate
from .._core.losses import is_quadratic
from .._core.penalties import Penalty
from .._core.problem import Problem
from .._core.samples import to_root
from .._core.sweeps import Indices
from .._core.threads import Workers
from ..problem import claims
from ..problem.certificate import Claim, ResidualTerms, examine, max_correlations, prove, proved_gap
from ..problem.passes import ColumnPass
from ..problem.points import Solution
from .convex import ConvexLoss
from .nodes import Node
from .separable_losses import SeparableLoss
from .separable_squares import SeparableSquares


class LeastSquares:
    """1/2 ||y - X a||^2: six numbers tell all of a point, and those of a mix follow from those of its ends."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def zero(self) -> tuple[Vector, Vector | None]:
        """Return y, the residual of a = 0."""
        return np.array(self.problem.y), None

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Any, max_corr: float) -> Node:
        """Return a solved lambda; `fit` is its residual."""
        return Node(lam, columns, coefs, fit, examine(self.problem, sizes, coefs, fit, max_corr))

    def gap(self, penalty: Penalty, known: ResidualTerms) -> float:
        """Return the duality gap that is proved."""
        return proved_gap(self.problem, penalty, known)

    def rounding(self, penalty: Penalty, known: ResidualTerms) -> float:
        """Return how much of that gap is rounding."""
        return prove(self.problem, penalty, known).rounding

    def cross(self, left: Node, right: Node) -> float:
        """Return the inner product of the residuals."""
        own = self.problem.samples
        return float(to_root(own, left.residual)[:-1] @ to_root(own, right.residual)[:-1])

    def mix(self, left: Node, right: Node, t: float, cross: float) -> ResidualTerms:
        """Return what is known of (1 - t) left + t right."""
        s, (rr, *numbers), (its_rr, *others) = 1.0 - t, left.known, right.known
        rr = max(0.0, s * s * rr + 2.0 * s * t * cross + t * t * its_rr)
        return ResidualTerms(rr, *[s * mine + t * its for mine, its in zip(numbers, others, strict=True)])

    def solution(self, columns: Indices, coefs: Vector, known: ResidualTerms) -> Solution:
        """Return a point: with q = y - r, q'y = y'y - y'r and q'q = y'y - 2 y'r + r'r."""
        qy = self.problem.yy - known.yr
        qq = max(0.0, qy - known.yr + known.rr)
        return Solution(columns, coefs, qq, qy, known.l1)


Objective: TypeAlias = LeastSquares | SeparableSquares | ConvexLoss


def certify_points(
    problem: Problem, penalties: Sequence[Penalty], iterates: Sequence[Iterate], workers: Workers
) -> list[Claim]:
    """Return what is proved for some points, whose fitted values must be fresh, in one pass over the data."""
    if is_quadratic(problem.loss):
        return claims.certify_iterates(problem, penalties, iterates, workers)
    objective = ConvexLoss(problem)
    known = [objective.look_at(iterate) for iterate in iterates]
    tops = max_correlations(problem.X, [point.theta for point in known], workers).tolist()
    points = [point._replace(max_corr=top) for point, top in zip(known, tops, strict=True)]
    found = zip(penalties, points, strict=True)
    return [Claim(objective.gap(*pair), objective.rounding(*pair)) for pair in found]


def solution_of(problem: Problem, iterate: Iterate) -> Solution:
    """Return a point of another loss than least squares."""
    objective = ConvexLoss(problem)
    return objective.solution(*iterate.coefs(), objective.look_at(iterate))


def make_objective(problem: Problem, columns: ColumnPass) -> Objective:
    """Return the objective of a problem, whose columns are read by a pass."""
    if is_plain(problem.cost):
        return LeastSquares(problem) if is_quadratic(problem.loss) else ConvexLoss(problem)
    return (SeparableSquares if is_quadratic(problem.loss) else SeparableLoss)(problem, columns)

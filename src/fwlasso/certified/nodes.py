"""Solved penalties, and what is known between two of them without solving anything."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector, add_column
from .._core.jit import kernel
from .._core.penalties import L1Ball, Penalty
from .._core.problem import Problem
from ..problem.certificate import Evidence, examine, proved_gap
from ..problem.points import Solution


class Node(NamedTuple):
    """A solution of the penalized problem, with what is known of it over all columns."""

    lam: float
    columns: NDArray[np.int64]  # with a nonzero coefficient, in increasing order
    coefs: Vector
    residual: Vector  # y - X a, a sample vector without a constant part
    known: Evidence

    def solution(self, problem: Problem) -> Solution:
        """Return the point with its sums."""
        return _solution(problem, self.columns, self.coefs, self.known)

    def bounded_by(self, max_corr: float) -> "Node":
        """Return the node with another bound of its correlations."""
        return self._replace(known=self.known._replace(max_corr=max_corr))


def make_node(
    problem: Problem, lam: float, columns: NDArray[np.int64], coefs: Vector, residual: Vector, max_corr: float
) -> Node:
    """Return a solved penalty, given the residual that was computed from its coefficients."""
    return Node(lam, columns, coefs, residual, examine(problem, columns, coefs, residual, max_corr))


def zero_node(problem: Problem) -> Node:
    """Return a = 0, the solution for every penalty of at least lambda_max."""
    lam = problem.lambda_max
    return make_node(problem, lam, np.empty(0, np.int64), np.empty(0), np.array(problem.y), lam)


def _solution(problem: Problem, columns: NDArray[np.int64], coefs: Vector, known: Evidence) -> Solution:
    """Return a point: with q = y - r, q'y = y'y - y'r and q'q = y'y - 2 y'r + r'r."""
    qy = problem.yy - known.yr
    qq = max(0.0, qy - known.yr + known.rr)
    return Solution(columns, coefs, qq, qy, known.l1)


class Span(NamedTuple):
    """What is known of the points between two nodes without solving anything."""

    left: Node
    right: Node
    cross: float  # r_L'r_R

    def share(self, penalty: Penalty) -> float:
        """Return the t for which (1 - t) left + t right is the guess for `penalty`; outside [0, 1] if there is none.

        The l1 norm is convex: the guess for a radius is never outside the ball.
        """
        left, right = self.left, self.right
        if isinstance(penalty, L1Ball):
            near, far = left.known.l1, right.known.l1
            if abs(penalty.radius - far) <= 1e-14 * penalty.radius:  # up to rounding it is the node
                return 1.0
            return (penalty.radius - near) / (far - near) if far > near else math.inf
        return float((left.lam - penalty.lam) / (left.lam - right.lam))

    def lam(self, share: float) -> float:
        """Return the penalty that the point at `share` belongs to."""
        return self.left.lam + share * (self.right.lam - self.left.lam)

    def gap(self, problem: Problem, penalty: Penalty, share: float) -> float:
        """Return the duality gap that is proved for the point at `share`."""
        return proved_gap(problem, penalty, self._mixed(share))

    def mix(self, problem: Problem, share: float) -> tuple[Solution, Evidence]:
        """Return (1 - t) left + t right, and what is known of it."""
        if share == 1.0:
            return self.right.solution(problem), self.right.known
        columns, coefs = mix_coefs(self.left, self.right, share)
        known = self._mixed(share)._replace(l1=float(np.abs(coefs).sum()))
        return _solution(problem, columns, coefs, known), known

    def _mixed(self, share: float) -> Evidence:
        return self.left.known.mix(self.right.known, share, self.cross)


def make_span(left: Node, right: Node) -> Span:
    """Return the span between two nodes."""
    return Span(left, right, float(left.residual[:-1] @ right.residual[:-1]))


class Start(NamedTuple):
    """Coefficients to start from, and their residual if it is known."""

    columns: NDArray[np.int64]
    coefs: Vector
    residual: Vector | None = None


def mix_coefs(left: Node, right: Node, share: float) -> tuple[NDArray[np.int64], Vector]:
    """Return the columns and the coefficients of (1 - t) left + t right, t at most 1."""
    columns, coefs, n, _ = _mix_coefs(left.columns, left.coefs, right.columns, right.coefs, share)
    return columns[:n], coefs[:n]


def start_between(problem: Problem, left: Node, right: Node, share: float) -> Start:
    """Return (1 - t) left + t right to start from; where t > 1, without changes of sign."""
    columns, coefs, n, n_in = _mix_coefs(left.columns, left.coefs, right.columns, right.coefs, share)
    residual = (1.0 - share) * left.residual + share * right.residual
    _take_out(problem, columns[n_in:], coefs[n_in:], residual)
    return Start(columns[:n], coefs[:n], residual)


def extend(problem: Problem, before: Node | None, last: Node, lam: float) -> Start:
    """Return the guess for a smaller penalty: the line through two nodes, without changes of sign."""
    if before is None:
        return Start(last.columns, last.coefs, last.residual)
    return start_between(problem, before, last, (before.lam - lam) / (before.lam - last.lam))


@kernel
def _mix_coefs(
    left: NDArray[np.int64], left_coefs: Vector, right: NDArray[np.int64], right_coefs: Vector, share: float
) -> tuple[NDArray[np.int64], Vector, int, int]:
    """Mix coefficients; return them, how many there are, and from where on those are that change their sign."""
    columns = np.empty(left.size + right.size, np.int64)
    coefs = np.empty(left.size + right.size)
    i = k = n = 0
    n_in = columns.size
    while i < left.size or k < right.size:
        j = left[i] if k == right.size or (i < left.size and left[i] <= right[k]) else right[k]
        value = last = 0.0
        if i < left.size and left[i] == j:
            value = (1.0 - share) * left_coefs[i]
            i += 1
        if k < right.size and right[k] == j:
            last = right_coefs[k]
            value += share * last
            k += 1
        if value == 0.0:
            continue
        at = n
        if share <= 1.0 or value * last > 0.0:
            n += 1
        else:
            n_in -= 1
            at = n_in
        columns[at] = j
        coefs[at] = value
    return columns, coefs, n, n_in


@kernel
def _take_out(problem: Problem, columns: NDArray[np.int64], coefs: Vector, residual: Vector) -> None:
    """Turn the residual of some coefficients into the one without these columns."""
    for i in range(columns.size):
        add_column(problem.X, columns[i], coefs[i], residual)

"""Solved penalties, and what is known between two of them without solving anything."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..columns import Vector, add_column
from ..forms import Ball, Form, duality_gap
from ..iterate import NOTHING, Iterate
from ..problem import Problem


class Node(NamedTuple):
    """A solution of the penalized problem, with a bound of its correlations over all columns."""

    weight: float  # lambda
    columns: NDArray[np.int64]  # with a nonzero coefficient, in increasing order
    coefs: Vector
    residual: Vector  # y - X a, a sample vector without a constant part
    qq: float  # S = q'q
    qy: float  # F = q'y
    l1: float
    max_corr: float  # at least ||X'(y - q)||_inf

    def iterate(self) -> Iterate:
        """Return the point without its fitted values."""
        return Iterate(self.columns, self.coefs, NOTHING, self.columns.size, 1.0, self.qq, self.qy, self.l1, 0)


def zero_node(problem: Problem) -> Node:
    """Return a = 0, the solution for every penalty of at least lambda_max."""
    nothing = np.empty(0, np.int64)
    return Node(problem.lambda_max, nothing, np.empty(0), np.array(problem.y), 0.0, 0.0, 0.0, problem.lambda_max)


class Span(NamedTuple):
    """What is known of the points between two nodes without solving anything."""

    left: Node
    right: Node
    cross: float  # q_L'q_R

    def share(self, form: Form) -> float:
        """Return the t for which (1 - t) left + t right is the guess for `form`; outside [0, 1] if there is none.

        The l1 norm is convex: the guess for a radius is never outside the ball.
        """
        left, right = self.left, self.right
        if isinstance(form, Ball):
            if abs(form.radius - right.l1) <= 1e-14 * form.radius:  # up to rounding it is the node
                return 1.0
            return (form.radius - left.l1) / (right.l1 - left.l1) if right.l1 > left.l1 else math.inf
        return (left.weight - form.weight) / (left.weight - right.weight)

    def weight(self, share: float) -> float:
        """Return the penalty that the point at `share` belongs to."""
        return self.left.weight + share * (self.right.weight - self.left.weight)

    def gap(self, problem: Problem, form: Form, share: float) -> float:
        """Return a bound of the duality gap of the point at `share`.

        ||X'r||_inf is convex in r, and the l1 norm in a: their bounds are mixed as the points are.
        """
        qq, qy, l1, max_corr = self._mixed(share)
        return max(0.0, float(duality_gap(form, problem.yy, qq, qy, l1, max_corr)))

    def mix(self, share: float) -> tuple[Iterate, float]:
        """Return (1 - t) left + t right, and a bound of its correlations over all columns."""
        if share == 1.0:
            return self.right.iterate(), self.right.max_corr
        columns, coefs = mix_coefs(self.left, self.right, share)
        qq, qy, _, max_corr = self._mixed(share)
        l1 = float(np.abs(coefs).sum())
        return Iterate(columns, coefs, NOTHING, columns.size, 1.0, qq, qy, l1, 0), max_corr

    def _mixed(self, t: float) -> tuple[float, float, float, float]:
        left, right, s = self.left, self.right, 1.0 - t
        return (
            s * s * left.qq + 2.0 * s * t * self.cross + t * t * right.qq,
            s * left.qy + t * right.qy,
            s * left.l1 + t * right.l1,
            s * left.max_corr + t * right.max_corr,
        )


def make_span(problem: Problem, left: Node, right: Node) -> Span:
    """Return the span between two nodes: q_L'q_R = (y - r_L)'(y - r_R) with y'r = y'y - y'q."""
    cross = left.qy + right.qy - problem.yy + float(left.residual[:-1] @ right.residual[:-1])
    return Span(left, right, cross)


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


def extend(problem: Problem, before: Node | None, last: Node, weight: float) -> Start:
    """Return the guess for a smaller penalty: the line through two nodes, without changes of sign."""
    if before is None:
        return Start(last.columns, last.coefs, last.residual)
    return start_between(problem, before, last, (before.weight - weight) / (before.weight - last.weight))


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

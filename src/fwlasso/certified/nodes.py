"""Solved penalties, and what is known between two of them without solving anything."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.columns import Columns, Vector, add_column
from .._core.costs import clip, l1_norm
from .._core.jit import kernel
from .._core.penalties import Penalty
from .._core.sweeps import Indices
from ..problem.passes import ColumnPass, Probe
from ..problem.points import MOSTLY_ROUNDING, Solution

if TYPE_CHECKING:
    from .objectives import Objective

_NO_COLUMNS = np.empty(0, np.int64)
# A guess is no further from a node than so many times what is between that and the one before.
_FARTHEST = 1e4


class Node(NamedTuple):
    """A solution of the penalized problem, with what is known of it over all columns."""

    lam: float
    columns: Indices  # with a nonzero coefficient, in increasing order
    coefs: Vector
    residual: Vector  # y - X a, or a dual point of another loss: a sample vector without a constant part
    known: Any  # by the objective; has `l1`, `blur` and `bounded_by`

    def bounded_by(self, tops: Vector) -> "Node":
        """Return the node with another bound of its correlations, see `costs.take_in`."""
        return self._replace(known=self.known.bounded_by(tops))

    @property
    def probe(self) -> Probe:
        """What a pass is to correlate."""
        apart, blur = self.known.apart
        return Probe(self.residual, self.lam, apart, blur)


def zero_node(objective: "Objective", columns: ColumnPass) -> Node:
    """Return a = 0, the solution for every penalty of at least lambda_max."""
    fit, residual = objective.zero()
    lam = columns.zero(residual)
    zero = objective.node(lam, _NO_COLUMNS, np.empty(0), np.empty(0), fit, lam)
    return zero if residual is not None else zero.bounded_by(columns.zero_tops(lam, zero.known.apart[1]))


class Span(NamedTuple):
    """What is known of the points between two nodes without solving anything."""

    objective: "Objective"
    left: Node
    right: Node
    cross: Any  # what the objective knows of both

    def lam(self, t: float) -> float:
        """Return the penalty that the point at t belongs to."""
        return self.left.lam + t * (self.right.lam - self.left.lam)

    def gap(self, penalty: Penalty, t: float) -> float:
        """Return the duality gap that is proved for the point at t."""
        return self.objective.gap(penalty, self._mixed(t))

    def is_rounding(self, penalty: Penalty, t: float, gap: float, goal: float) -> bool:
        """Tell whether that gap is as small as float64 lets it become, and rounding alone is more than the goal."""
        rounding = self.objective.rounding(penalty, self._mixed(t))
        return gap <= MOSTLY_ROUNDING * rounding and rounding > goal

    def mix(self, t: float) -> tuple[Solution, Any]:
        """Return (1 - t) left + t right, and what is known of it."""
        if t == 1.0:
            return self.objective.solution(self.right.columns, self.right.coefs, self.right.known), self.right.known
        left, right, cost = self.left, self.right, self.objective.problem.cost
        columns, coefs, n, _ = _mix_coefs(left.columns, left.coefs, right.columns, right.coefs, t)
        columns, coefs = columns[:n], clip(cost, columns[:n], coefs[:n])
        known = self._mixed(t)._replace(l1=l1_norm(cost, columns, coefs))
        return self.objective.solution(columns, coefs, known), known

    def _mixed(self, t: float) -> Any:
        return self.objective.mix(self.left, self.right, t, self.cross)


def make_span(objective: "Objective", left: Node, right: Node) -> Span:
    """Return the span between two nodes."""
    return Span(objective, left, right, objective.cross(left, right))


class Start(NamedTuple):
    """Coefficients to start from, and their residual if it is known."""

    columns: Indices
    coefs: Vector
    residual: Vector | None = None


def start_between(columns: ColumnPass | None, left: Node, right: Node, t: float) -> Start:
    """Return (1 - t) left + t right to start from; where t > 1, without changes of sign.

    Residuals follow coefficients, if there is a pass to read columns with; dual points of other losses do not.
    """
    mixed, coefs, n, n_in = _mix_coefs(left.columns, left.coefs, right.columns, right.coefs, t)
    residual = (1.0 - t) * left.residual + t * right.residual
    if n_in < mixed.size and columns is not None:
        taken = columns.take(mixed[n_in:])
        take_out(taken.X, taken.at, coefs[n_in:], residual)
    return Start(mixed[:n], coefs[:n], residual)


def extend(columns: ColumnPass | None, before: Node | None, last: Node, lam: float) -> Start:
    """Return the guess for a smaller penalty: the line through two nodes, without changes of sign.

    Nodes that are close together beside it differ by rounding, which the line would make as large as what it tells.
    """
    t = np.inf if before is None else (before.lam - lam) / (before.lam - last.lam)
    if before is None or t > _FARTHEST:
        return Start(last.columns, last.coefs, last.residual)
    return start_between(columns, before, last, t)


@kernel
def _mix_coefs(
    left: Indices, left_coefs: Vector, right: Indices, right_coefs: Vector, t: float
) -> tuple[Indices, Vector, int, int]:
    """Mix coefficients; return them, how many there are, and from where on those are that change their sign."""
    columns = np.empty(left.size + right.size, np.int64)
    coefs = np.empty(left.size + right.size)
    i = k = n = 0
    n_in = columns.size
    while i < left.size or k < right.size:
        j = left[i] if k == right.size or (i < left.size and left[i] <= right[k]) else right[k]
        value = last = 0.0
        if i < left.size and left[i] == j:
            value = (1.0 - t) * left_coefs[i]
            i += 1
        if k < right.size and right[k] == j:
            last = right_coefs[k]
            value += t * last
            k += 1
        if value == 0.0:
            continue
        at = n
        if t <= 1.0 or value * last > 0.0:
            n += 1
        else:
            n_in -= 1
            at = n_in
        columns[at] = j
        coefs[at] = value
    return columns, coefs, n, n_in


@kernel
def take_out(X: Columns, columns: Indices, coefs: Vector, residual: Vector) -> None:
    """Turn the residual of some coefficients into the one without these columns."""
    for i in range(columns.size):
        add_column(X, columns[i], coefs[i], residual)

"""Least squares whose coefficients have a cost of their own by column: a ridge, bounds.

The gap G(s) of a point, and what it follows from, are those of problem/claims.py: the columns A with a coefficient, of
all others H, M and V, and the rounding e and blur. Between nodes lambda is the mix of theirs, for radii, too.

V of a node serves any smaller lambda, too, up to s = lam / lam_node. Between two nodes b, r and lam mix, hence c_j; H,
M, V, e and blur of the mix are at most the mix of theirs, and the union of both active sets is A: the proof is in
docs/method/rounding.md.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector, correlations
from .._core.costs import Cost
from .._core.jit import kernel
from .._core.penalties import L1Ball, Penalty
from .._core.problem import Problem
from .._core.samples import to_root
from ..problem.claims import Facts, gap_of_facts, look_at, norm_of, prove_at
from ..problem.passes import ColumnPass
from ..problem.points import Solution
from .nodes import Node

Indices = NDArray[np.int64]
_ROUND_DOWN = 1.0 - 1e-15


class SquaresTerms(NamedTuple):
    """What a gap follows from."""

    cost: Cost  # of the columns A
    columns: Indices
    coefs: Vector
    corrs: Vector
    lam: float
    rr: float  # r'r
    yr: float  # y'r
    l1: float  # of columns with a penalty
    error: float  # e
    blur: float
    eps: float
    tilt: float
    hard: float  # H, but for the blur of columns that were not read; zero if no side is hard
    most: float  # M, but for the blur
    over: float  # V

    def bounded_by(self, tops: Vector) -> "SquaresTerms":
        """Return it with other bounds of the columns without a coefficient, see `costs.take_in`."""
        return self._replace(hard=float(tops[0]), most=float(tops[1]), over=float(tops[2]))

    @property
    def apart(self) -> tuple[Indices, float]:
        """The columns A, and the blur of others."""
        return self.columns, self.blur


class Crossing(NamedTuple):
    """What two nodes have in common: columns A of both, and what each knows of these."""

    cost: Cost
    columns: Indices
    coefs: tuple[Vector, Vector]
    corrs: tuple[Vector, Vector]

    def mix(self, t: float) -> tuple[Cost, Indices, Vector, Vector]:
        """Return the columns A of (1 - t) left + t right: their costs, places, coefficients and correlations."""
        s, (mine, its), (own, others) = 1.0 - t, self.coefs, self.corrs
        return self.cost, self.columns, s * mine + t * its, s * own + t * others


def crossing(source: ColumnPass, left: Node, right: Node) -> Crossing:
    """Return what two nodes have in common."""
    columns, *places = _union(left.columns, right.columns)
    taken, coefs, corrs = source.take(columns), [], []
    for node, own in zip((left, right), places, strict=True):
        others = own < 0
        coefs.append(np.append(node.coefs, 0.0)[own])
        corrs.append(np.append(node.known.corrs, 0.0)[own])
        corrs[-1][others] = correlations(taken.X, taken.at[others], node.residual)
    return Crossing(taken.cost, columns, (coefs[0], coefs[1]), (corrs[0], corrs[1]))


class SeparableSquares:
    """1/2 ||y - X a||^2 with a cost by column: besides some numbers, active columns tell of a point."""

    def __init__(self, problem: Problem, columns: ColumnPass) -> None:
        self.problem = problem
        self._columns = columns
        self._free = columns.take(problem.null.columns)

    def zero(self) -> tuple[Vector, Vector | None]:
        """Return y, the residual of a = 0."""
        return np.array(self.problem.y), None

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Any, max_corr: float) -> Node:
        """Return a solved lambda; `fit` is its residual."""
        taken = self._columns.take(columns)
        fit, facts, yr = look_at(self.problem, self._free, coefs, sizes, fit)
        corrs, l1 = correlations(taken.X, taken.at, fit), norm_of(taken.cost, coefs)
        tilt = self.problem.largest * facts.eps / lam if lam > 0.0 else 0.0
        facts = facts._replace(lam=lam, hard=lam, most=lam, tilt=tilt)
        known = SquaresTerms(taken.cost, columns, coefs, corrs, yr=yr, l1=l1, **facts._asdict())
        return Node(lam, columns, coefs, fit, known)

    def gap(self, penalty: Penalty, known: SquaresTerms) -> float:
        """Return the duality gap that is proved."""
        return float(self._claim(gap_of_facts, penalty, known))

    def rounding(self, penalty: Penalty, known: SquaresTerms) -> float:
        """Return how much of that gap is rounding."""
        return float(self._claim(prove_at, penalty, known).rounding)

    def _claim(self, prove: Callable[..., Any], penalty: Penalty, known: SquaresTerms) -> Any:
        lam = known.lam if isinstance(penalty, L1Ball) else penalty.lam
        longest = lam / known.lam * _ROUND_DOWN if lam < known.lam else 1.0
        hard = known.hard + known.blur if known.hard > 0.0 else 0.0
        numbers = {name: getattr(known, name) for name in ("rr", "error", "blur", "eps", "most", "over", "tilt")}
        active = known.cost, known.coefs, known.corrs
        return prove(self.problem, penalty, active, Facts(lam, hard=hard, **numbers), longest)

    def cross(self, left: Node, right: Node) -> tuple[Crossing, float]:
        """Return what the points between two nodes follow from, and the product of their residuals."""
        mine, its = (to_root(self.problem.samples, node.residual)[:-1] for node in (left, right))
        return crossing(self._columns, left, right), float(mine @ its)

    def mix(self, left: Node, right: Node, t: float, cross: tuple[Crossing, float]) -> SquaresTerms:
        """Return what is known of (1 - t) left + t right."""
        s, first, second = 1.0 - t, left.known, right.known
        numbers = {
            name: s * getattr(first, name) + t * getattr(second, name)
            for name in ("lam", "yr", "l1", "error", "blur", "eps", "hard", "most", "over")
        }
        both, product = cross
        rr = max(0.0, s * s * first.rr + 2.0 * s * t * product + t * t * second.rr)
        return SquaresTerms(*both.mix(t), rr=rr, tilt=max(first.tilt, second.tilt), **numbers)

    def solution(self, columns: Indices, coefs: Vector, known: SquaresTerms) -> Solution:
        """Return a point: with q = y - r, q'y = y'y - y'r and q'q = y'y - 2 y'r + r'r."""
        qy = self.problem.yy - known.yr
        return Solution(columns, coefs, max(0.0, qy - known.yr + known.rr), qy, known.l1)


@kernel
def _union(left: Indices, right: Indices) -> tuple[Indices, Indices, Indices]:
    """Return the columns of two lists in increasing order, and where each is in either list: -1 where it is not."""
    n = left.size + right.size
    columns, at_left, at_right = np.empty(n, np.int64), np.full(n, -1), np.full(n, -1)
    i = k = n = 0
    while i < left.size or k < right.size:
        j = left[i] if k == right.size or (i < left.size and left[i] <= right[k]) else right[k]
        columns[n] = j
        if i < left.size and left[i] == j:
            at_left[n] = i
            i += 1
        if k < right.size and right[k] == j:
            at_right[n] = k
            k += 1
        n += 1
    return columns[:n], at_left[:n], at_right[:n]

"""Least squares whose coefficients have a cost of their own by column: a ridge, bounds.

With r as it is stored, c_j = z_j'r, and any theta = s r, 0 <= s <= lam / H, the gap is a sum of terms that are not
negative,

    G(s) = 1/2 ((1 - s) ||r|| + e)^2 + sum_A [cost_j(b_j) + cost*_j(s c_j) - s b_j c_j] + s V,

over the columns A with a coefficient, whose correlations are known one by one. Of all others are known: H, the largest
pull towards a side that is hard; M, the largest pull; V >= sum cost*_j(c_j), since cost*_j(s c) <= s cost*_j(c). Where
s M <= lam, V is zero. e bounds what the residual is off by, and blur what rounding adds to a correlation: both are
those of problem/certificate.py. For a radius, lam (radius - sum s_j |b_j|) is added, for any lam.

V of a node serves any smaller lambda, too, up to s = lam / lam_node: a cost at rho lam, rho < 1, has at least rho times
the ridge, so that cost*(rho c; rho lam) <= rho cost*(c; lam).

Between two nodes b, r and lam mix, hence c_j; H, M, V, e and blur of the mix are at most the mix of theirs, for cost*
is convex in c and lam together. The union of both active sets is A.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, dot_column
from .._core.costs import Cost, bounds, conjugate, is_hard, pull, slope, value
from .._core.jit import kernel
from .._core.moments import gamma as gamma_of
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1Ball, Penalty
from .._core.problem import Problem
from .._core.samples import to_root
from ..problem.certificate import examine
from ..problem.passes import ColumnPass, Taken
from ..problem.points import Solution
from .nodes import Node

Indices = NDArray[np.int64]
_ROUND_DOWN = 1.0 - 1e-15


class Terms(NamedTuple):
    """What a gap follows from."""

    taken: Taken  # the columns A
    columns: Indices
    coefs: Vector
    corrs: Vector
    lam: float
    rr: float  # r'r
    yr: float  # y'r
    l1: float  # of columns with a penalty
    error: float  # e
    blur: float
    hard: float  # H, but for the blur
    most: float  # M, likewise
    over: float  # V

    def bounded_by(self, tops: Vector) -> "Terms":
        """Return it with other bounds of the columns without a coefficient, see `costs.take_in`."""
        return self._replace(hard=float(tops[0]), most=float(tops[1]), over=float(tops[2]))

    @property
    def apart(self) -> tuple[Indices, float]:
        """The columns A, and the blur of others."""
        return self.columns, self.blur


class Crossing(NamedTuple):
    """What two nodes have in common: columns A of both, and what each knows of these."""

    taken: Taken
    columns: Indices
    coefs: tuple[Vector, Vector]
    corrs: tuple[Vector, Vector]
    product: float  # of the residuals


class SeparableSquares:
    """1/2 ||y - X a||^2 with a cost by column: besides some numbers, active columns tell of a point."""

    def __init__(self, problem: Problem, columns: ColumnPass) -> None:
        self.problem = problem
        self._columns = columns

    def zero(self) -> tuple[Vector, Vector | None]:
        """Return y, the residual of a = 0."""
        return np.array(self.problem.y), None

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Any, max_corr: float) -> Node:
        """Return a solved lambda; `fit` is its residual."""
        found, taken = examine(self.problem, sizes, coefs, fit, max_corr), self._columns.take(columns)
        blur = gamma(4 * self.problem.n_samples + 32) * self.problem.largest * found.r_size
        corrs, l1 = correlations(taken.X, taken.at, fit), norm_of(taken.cost, coefs)
        numbers = {"rr": found.rr, "yr": found.yr, "l1": l1, "error": found.error, "blur": blur}
        known = Terms(taken, columns, coefs, corrs, lam, **numbers, hard=lam, most=lam, over=0.0)
        return Node(lam, columns, coefs, fit, known)

    def gap(self, penalty: Penalty, known: Terms) -> float:
        """Return the duality gap that is proved."""
        return self._claim(penalty, known)[0]

    def rounding(self, penalty: Penalty, known: Terms) -> float:
        """Return how much of that gap is rounding."""
        gap, plain = self._claim(penalty, known)
        return gap - max(0.0, plain) if math.isfinite(gap) else 0.0

    def _claim(self, penalty: Penalty, known: Terms) -> tuple[float, float]:
        problem = self.problem
        at_radius = isinstance(penalty, L1Ball)
        lam = known.lam if at_radius else penalty.lam
        numbers = known.rr, known.error, known.blur, known.hard, known.most, known.over
        if not math.isfinite(sum(numbers[:5]) + known.l1):
            return math.inf, math.inf
        m = problem.n_samples
        longest = lam / known.lam * _ROUND_DOWN if lam < known.lam else 1.0
        gap, plain = claim(known.taken.cost, lam, known.coefs, known.corrs, numbers, longest, gamma(m + 8))
        if at_radius:
            rest = lam * (penalty.radius - known.l1)
            gap += rest + gamma(known.coefs.size + 8) * lam * (penalty.radius + known.l1)
            plain += rest
        relative = 1.0 + gamma(m + 8) * (1.0 + problem.y_size / (math.sqrt(problem.yy) or 1.0))
        return (max(0.0, gap * relative), plain) if math.isfinite(gap) else (math.inf, math.inf)

    def cross(self, left: Node, right: Node) -> Crossing:
        """Return what the points between two nodes follow from."""
        columns = np.union1d(left.columns, right.columns)
        taken = self._columns.take(columns)
        coefs, corrs = [], []
        for node in (left, right):
            own = np.zeros(columns.size)
            own[np.searchsorted(columns, node.columns)] = node.coefs
            coefs.append(own)
            corrs.append(correlations(taken.X, taken.at, node.residual))
        mine, its = (to_root(self.problem.samples, node.residual)[:-1] for node in (left, right))
        return Crossing(taken, columns, (coefs[0], coefs[1]), (corrs[0], corrs[1]), float(mine @ its))

    def mix(self, left: Node, right: Node, t: float, cross: Crossing) -> Terms:
        """Return what is known of (1 - t) left + t right."""
        s, first, second = 1.0 - t, left.known, right.known
        numbers = {
            name: s * getattr(first, name) + t * getattr(second, name)
            for name in ("lam", "yr", "l1", "error", "blur", "hard", "most", "over")
        }
        rr = max(0.0, s * s * first.rr + 2.0 * s * t * cross.product + t * t * second.rr)
        coefs = s * cross.coefs[0] + t * cross.coefs[1]
        corrs = s * cross.corrs[0] + t * cross.corrs[1]
        return Terms(cross.taken, cross.columns, coefs, corrs, rr=rr, **numbers)

    def solution(self, columns: Indices, coefs: Vector, known: Terms) -> Solution:
        """Return a point: with q = y - r, q'y = y'y - y'r and q'q = y'y - 2 y'r + r'r."""
        qy = self.problem.yy - known.yr
        return Solution(columns, coefs, max(0.0, qy - known.yr + known.rr), qy, known.l1)


@kernel
def correlations(X: Columns, columns: Indices, residual: Vector) -> Vector:
    """Return z_j'r of some columns."""
    found = np.empty(columns.size)
    for i in range(columns.size):
        found[i] = dot_column(X, columns[i], residual)
    return found


@kernel
def norm_of(cost: Cost, coefs: Vector) -> float:
    """Return the l1 norm of the coefficients that have a penalty."""
    total = 0.0
    for i in range(coefs.size):
        total += slope(cost, i) * abs(coefs[i])
    return total


@kernel
def claim(
    cost: Cost,
    lam: float,
    coefs: Vector,
    corrs: Vector,
    numbers: tuple[float, float, float, float, float, float],
    longest: float,
    rounding: float,
) -> tuple[float, float]:
    """Return G for the best of three s, `longest` at most, and what it would be without rounding.

    s is as long as hard sides allow; as columns that do not rest at a bound do; and as all columns do.
    """
    rr, error, blur, hard, most, over = numbers
    hard, most = hard + blur, most + blur
    free = largest = most
    for i in range(coefs.size):
        low, high = bounds(cost, i)
        strength = pull(cost, i, corrs[i]) + blur
        largest = max(largest, strength)
        if coefs[i] != (high if corrs[i] > 0.0 else low):
            free = max(free, strength)
        if is_hard(cost, lam, i, corrs[i]):
            hard = max(hard, strength)
    size = np.sqrt(rr) * (1.0 + rounding)
    best = best_plain = np.inf
    for which in range(3):
        top = hard if which == 0 else max(hard, free if which == 1 else largest)
        s = min(longest, lam / top * _ROUND_DOWN if top > lam * _ROUND_DOWN else 1.0)
        gap, plain, terms = 0.5 * ((1.0 - s) * size + error) ** 2, 0.5 * (1.0 - s) ** 2 * rr, 0.0
        for i in range(coefs.size):
            if slope(cost, i) > 0.0:
                own, inner = value(cost, lam, i, coefs[i]), s * coefs[i] * corrs[i]
                up, down = s * (corrs[i] + blur), s * (corrs[i] - blur)
                dual = max(conjugate(cost, lam, i, up), conjugate(cost, lam, i, down))
                gap += own + dual - inner + s * abs(coefs[i]) * blur
                plain += own + min(dual, conjugate(cost, lam, i, s * corrs[i])) - inner
                terms += own + dual + abs(inner)
        if s * most > lam:
            gap, plain = gap + s * over, plain + s * over
        gap += gamma_of(coefs.size + 16.0) * (terms + abs(gap))
        if not gap >= best:
            best, best_plain = gap, plain
    return best, best_plain

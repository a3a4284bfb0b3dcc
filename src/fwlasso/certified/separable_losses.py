"""Other losses than least squares whose coefficients have a cost of their own by column: ridge, bounds, none at all.

The gap is that of problem/claims.py, whose first term is the loss's. Here no correlation that is read has its blur
added: with `tilt` = blur / lambda, s is (1 + tilt) times shorter, which keeps what is at most lambda there, and leaves
conjugates of what exceeds it no larger. Columns A have theirs.

To columns U without a penalty, and to constants, dual points are orthogonal up to rounding. With k_i = |theta_i| + h_i,
h curvatures where theta is next to the slopes, else zero, and sqrt(W) U = Q R, theta_i + k_i t_i is exactly so, where

    t_i = -q_i'a / sqrt(w_i),      (Q'K Q) a = R^-T U'theta,      K the diagonal of k_i / w_i,

and (1 - max |t|) times that is inside of the domain, which is convex and has zero in it. R^-T U'theta is no longer than
the eps of claims.py.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.columns import Vector, correlations
from .._core.costs import Cost, at_columns, take_in
from .._core.jit import kernel
from .._core.losses import fill_slopes
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.samples import sample_vector, weight_vector
from .._core.subproblem.descent import active_places
from .._core.subproblem.solve import Subproblem
from .._core.sweeps import Indices
from ..problem.claims import Facts, Predicted, distance_of_dual, least_gap, norm_of
from ..problem.passes import ColumnPass
from .convex import FAR, MOST_OFF, ConvexLoss, Dual, Witness, examine_dual
from .nodes import Node
from .separable_squares import Crossing, crossing

_ROUND_DOWN = 1.0 - 1e-15
# A dual point is next to the slopes where it is this fraction of the curvature from them.
_NEAR = 0.3
#: The columns A: their costs, places, coefficients and correlations.
Active = tuple[Cost, Indices, Vector, Vector]


class Terms(NamedTuple):
    """What a gap follows from; the columns A, and numbers, besides what a `Witness` has."""

    cost: Cost  # of the columns A
    columns: Indices
    coefs: Vector
    corrs: Vector
    eta: Vector
    theta: Vector
    intercept: float
    l1: float  # of columns with a penalty
    error: float
    lam: float
    hard: float  # H, but for the blur; zero if no side is hard
    most: float  # M, but for the blur
    over: float = 0.0  # V

    def bounded_by(self, tops: Vector) -> "Terms":
        """Return it with other bounds of the columns without a coefficient, see `costs.take_in`."""
        return self._replace(hard=float(tops[0]), most=float(tops[1]), over=float(tops[2]))

    @property
    def apart(self) -> tuple[Indices, float]:
        """The columns A, and what rounding may add to others: it is added later."""
        return self.columns, 0.0


class SeparableLoss(ConvexLoss):
    """A sum of convex functions of the linear predictor, with a cost by column."""

    def __init__(self, problem: Problem, columns: ColumnPass) -> None:
        super().__init__(problem)
        self._columns, null = columns, problem.null
        self._free = columns.take(null.columns)
        ones = self._roots[:, np.newaxis][:, : int(problem.centred)] / math.sqrt(problem.total_weight)
        self._basis = np.hstack([ones, null.Q]) if null.columns.size else ones[:, :0]

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Any, max_corr: float) -> Node:
        """Return a solved lambda; `fit` has its vectors and its intercept."""
        node = super().node(lam, columns, coefs, sizes, fit, max_corr)
        taken = self._columns.take(columns)
        corrs = correlations(taken.X, taken.at, fit.theta)
        return node._replace(known=_terms(node.known, lam, (taken.cost, columns, coefs, corrs), (lam, lam, 0.0)))

    def gap_within(self, subproblem: Subproblem, members: Indices, lam: float, fit: Witness) -> float:
        """Return the gap over the members of a working set, whose correlations are known."""
        cost, (coefs, corrs, _) = subproblem.copies.cost, subproblem.iterate
        active, tops = active_places(subproblem.iterate, members), np.array([lam, lam, 0.0])
        _take_in_others(cost, lam, members, coefs, corrs, tops)
        fit = fit._replace(theta=sample_vector(fit.theta))
        known = _terms(fit, lam, (at_columns(cost, active), active, coefs[active], corrs[active]), tops)
        return self.gap(L1(lam), known)

    def _claim(self, penalty: Penalty, known: Any) -> tuple[float, float]:
        lam = known.lam if isinstance(penalty, L1Ball) else penalty.lam
        problem, (of_corrs, of_sums, largest) = self.problem, self._blurs
        dual = examine_dual(problem.loss, known.eta, known.theta, self.samples, problem.centred, of_sums)
        if self._basis.size:
            dual = self._moved(known, dual)
        rho = dual.rho
        if not rho < MOST_OFF:
            return math.inf, math.inf
        blur = (of_corrs + rho * largest) * dual.norm
        tilt = 1.0 + blur / lam
        facts = Facts(lam, 0.0, 0.0, blur, 0.0, hard=known.hard * tilt, most=known.most * tilt, over=known.over)
        if not math.isfinite(sum(facts[:-2]) + known.l1):
            return math.inf, math.inf
        numbers = {"error": known.error, "norm": dual.norm, "moved": rho * dual.sizes, "of_sums": of_sums}
        fit = Predicted(problem.loss, known.eta, known.theta, **numbers)
        longest = (lam / known.lam * _ROUND_DOWN if lam < known.lam else 1.0) / tilt
        gap = least_gap(known.cost, fit, known.coefs, known.corrs, facts, longest)
        exact = fit._replace(error=0.0, moved=0.0, of_sums=0.0)
        facts = facts._replace(blur=-blur, hard=known.hard, most=known.most)
        plain = least_gap(known.cost, exact, known.coefs, known.corrs, facts, 1.0)
        if isinstance(penalty, L1Ball):
            more = lam * (penalty.radius - known.l1)
            gap, plain = gap + more + gamma(known.coefs.size + 8) * lam * (penalty.radius + known.l1), plain + more
        return (max(0.0, gap), gap - min(plain, gap)) if math.isfinite(gap) else (math.inf, math.inf)

    def _moved(self, known: Terms, dual: Dual) -> Dual:
        """Return a dual point with the share that it moves by at most, to be orthogonal to U and constants."""
        problem, basis, theta = self.problem, self._basis, known.theta[:-1]
        (m, k), weights, loss = basis.shape, weight_vector(self.samples), problem.loss
        slopes, reached = np.empty(m), np.empty(m)
        fill_slopes(loss, known.eta, slopes, reached)
        reached = np.abs(theta) + np.where(np.abs(theta - slopes) <= _NEAR * reached, reached, 0.0)
        shares = np.divide(reached, weights, out=np.zeros(m), where=weights > 0.0)
        of_ones = abs(float(theta.sum())) + gamma(m + 32) * float(np.abs(theta).sum())
        off = math.hypot(
            distance_of_dual(problem.cost, self._free, known.theta, self._blurs[0] * dual.norm),
            of_ones / math.sqrt(problem.total_weight) if problem.centred else 0.0,
        )
        blur = gamma(4 * m * (k + 1) + 32) * math.sqrt(k)
        products = (basis.T * shares) @ basis
        least = float(np.linalg.eigvalsh(products)[0]) - blur * float(np.trace(products))
        blur *= problem.cost.kappa
        least = math.sqrt(max(0.0, least)) - blur * math.sqrt(shares.max())
        rows = np.sqrt(np.einsum("ij,ij->i", basis, basis)) + blur
        reach = float(np.divide(rows, self._roots, out=np.zeros(m), where=self._roots > 0.0).max())
        rho = 2.0 * (1.0 + 1e-6) * reach * off / least**2 if least > 0.0 else math.inf
        norm = math.sqrt(float(reached @ shares))
        sizes = float(reached @ (np.abs(known.eta[:-1]) + np.abs(loss.offset) + FAR))
        return dual._replace(rho=rho, norm=norm, sizes=sizes)

    def cross(self, left: Node, right: Node) -> Crossing:
        """Return the columns A of both nodes."""
        return crossing(self._columns, left, right)

    def mix(self, left: Node, right: Node, t: float, cross: Crossing) -> Terms:
        """Return what is known of (1 - t) left + t right."""
        names = Terms._fields[4:]
        pairs = ((getattr(left.known, name), getattr(right.known, name)) for name in names)
        return Terms(*cross.mix(t), *((1.0 - t) * mine + t * its for mine, its in pairs))


def _terms(fit: Witness, lam: float, active: Active, tops: Any) -> Terms:
    l1, (hard, most, over) = float(norm_of(active[0], active[2])), map(float, tops)
    known = Terms(*active, fit.eta, fit.theta, fit.intercept, l1, fit.error, lam=lam, hard=hard, most=most)
    return known._replace(over=over)


@kernel
def _take_in_others(cost: Cost, lam: float, members: Indices, coefs: Vector, corrs: Vector, tops: Vector) -> None:
    """Take in the members without a coefficient."""
    for k in members:
        if coefs[k] == 0.0:
            take_in(cost, lam, k, corrs[k], 0.0, tops, 0)

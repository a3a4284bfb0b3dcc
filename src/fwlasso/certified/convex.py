"""A convex loss of the linear predictor as the certified path's objective: a point is told by two vectors."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.columns import Vector
from .._core.iterate import Iterate
from .._core.jit import by_type, kernel
from .._core.losses import Loss, add_best_constant, dual_size, fenchel, fill_slopes
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.samples import Samples, weight, weight_vector
from .._core.subproblem.descent import totals
from .._core.subproblem.solve import Subproblem
from .._core.sweeps import Indices
from ..problem.points import Solution
from .nodes import Node

#: The best constant of the null model is found to so many digits.
EXACT = 1e-15
# How far the linear predictors of a point and of its dual point may be apart, and how far 1'theta from zero.
FAR, MOST_OFF = 50.0, 1e-3


class Witness(NamedTuple):
    """What is known of a point: its linear predictor, a dual point, and numbers."""

    eta: Vector  # sample vectors, as they are stored
    theta: Vector
    intercept: float
    l1: float  # ||a||_1
    error: float  # at least the distance of eta from what its coefficients make, in the metric of the weights
    max_corr: float  # ||X'theta||_inf up to rounding, or a bound of it

    def bounded_by(self, tops: Vector) -> "Witness":
        """Return it with another bound of the correlations."""
        return self._replace(max_corr=float(tops[0]))

    @property
    def apart(self) -> tuple[Indices, float]:
        """Columns that the objective looks at itself, none, and what rounding may add to others: it is added later."""
        return np.empty(0, np.int64), 0.0


class ConvexLoss:
    """A sum of convex functions of the linear predictor eta = X a + b0.

    With any theta for which 1'theta = 0, if there is an intercept, and s theta in the domain of the conjugate,

        G = [F(eta) + F*(-s theta) + s theta'eta] + lam ||a||_1 - s theta'eta,   s <= lam / ||X'theta||_inf,

    and for a radius, with s = 1, that times ||X'theta||_inf in place of lam ||a||_1. The bracket is a sum of terms that
    are not negative: see `_core/losses`.

    What rounding adds is in docs/method/rounding.md: eta is off by e, the loss by at most ||r|| e + max h e^2, and
    1'theta by eps, for which theta is made a little shorter.
    """

    def __init__(self, problem: Problem) -> None:
        m = problem.n_samples
        self.problem, self.samples = problem, problem.samples
        self._roots = np.sqrt(weight_vector(self.samples))
        self._blurs = gamma(4 * m + 32) * problem.largest, gamma(m + 32), problem.largest
        null = problem.null  # what is known of its coefficients is rounded in the offset
        self._null_size = float(problem.sizes(null.columns) @ np.abs(null.coefs))
        # What gaps are relative to is rounded, too.
        eta = np.full(problem.y.size, problem.units.y_mean)
        self._scale = (
            1.0 + gamma(m + 32) * float(fenchel(problem.loss, eta, np.array(problem.y), 0.0)[1]) / problem.null_loss
        )

    def zero(self) -> tuple[Witness, Vector | None]:
        """Return what is known of a = 0, with the best intercept; its slopes are y."""
        problem = self.problem
        eta, g = np.zeros(problem.y.size), problem.units.y_mean
        eta[:-1] = g
        return Witness(eta, np.array(problem.y), g, 0.0, 0.0, 0.0), None

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Any, max_corr: float) -> Node:
        """Return a solved lambda; `fit` has its vectors and its intercept."""
        m, g = self.problem.n_samples, abs(fit.intercept) * math.sqrt(self.problem.total_weight)
        size = self._null_size + float(sizes @ np.abs(coefs)) + math.sqrt(np.sum((self._roots * fit.eta[:-1]) ** 2)) + g
        n = columns.size + self.problem.null.columns.size
        error, l1 = gamma(n + m + 16 + self.problem.units.n_ops) * size, float(np.sum(np.abs(coefs)))
        return Node(lam, columns, coefs, fit.theta, fit._replace(l1=l1, error=error, max_corr=max_corr))

    def look_at(self, iterate: Iterate) -> Witness:
        """Return what is known of an iterate but for its correlations: its slopes, less what the intercept explains."""
        problem, loss = self.problem, self.problem.loss
        own, (columns, coefs) = loss.weights, iterate.coefs()
        eta, theta, bends = (np.zeros(problem.y.size) for _ in range(3))
        image = iterate.scale * (iterate.fitted[:-1] - iterate.fitted[-1] / problem.total_weight * own)
        np.divide(image, own, out=eta[:-1], where=own > 0.0)
        g = float(add_best_constant(loss, eta[:-1], EXACT)) if problem.centred else 0.0
        slopes, total = fill_slopes(loss, eta, theta, bends)
        if problem.centred:
            theta -= bends * (slopes / total)
        theta[-1] = np.sum(theta[:-1])
        fit = Witness(eta, theta, g, 0.0, 0.0, 0.0)
        return self.node(0.0, columns, coefs, problem.sizes(columns), fit, 0.0).known  # type: ignore[no-any-return]

    def gap_within(self, subproblem: Subproblem, members: Indices, lam: float, fit: Witness) -> float:
        """Return the gap over the members of a working set, whose correlations are known."""
        _, _, l1, max_corr = totals(subproblem.copies, subproblem.iterate, members, lam)
        return self.gap(L1(lam), fit._replace(l1=l1, error=0.0, max_corr=max_corr))

    def gap(self, penalty: Penalty, known: Any) -> float:
        """Return the duality gap that is proved."""
        return self._scale * self._claim(penalty, known)[0]

    def rounding(self, penalty: Penalty, known: Any) -> float:
        """Return how much of that gap is rounding."""
        gap, rounding = self._claim(penalty, known)
        return min(gap, rounding) if math.isfinite(gap) else 0.0

    def _claim(self, penalty: Penalty, known: Any) -> tuple[float, float]:
        problem = self.problem
        gap, rounding = claim(problem.loss, penalty, known, self.samples, problem.centred, self._blurs)
        return (max(0.0, gap), rounding) if math.isfinite(gap + known.max_corr) else (math.inf, math.inf)

    def cross(self, left: Node, right: Node) -> Any:
        """Return nothing: a mix takes vectors."""

    def mix(self, left: Node, right: Node, t: float, cross: Any) -> Any:
        """Return what is known of (1 - t) left + t right: the mix of dual points is feasible for that of lambdas."""
        s, (eta, theta, *numbers), (its_eta, its_theta, *others) = 1.0 - t, left.known, right.known
        mixed = [s * mine + t * its for mine, its in zip(numbers, others, strict=True)]
        return Witness(s * eta + t * its_eta, s * theta + t * its_theta, *mixed)

    def solution(self, columns: Indices, coefs: Vector, known: Any) -> Solution:
        """Return a point."""
        loss = float(fenchel(self.problem.loss, known.eta, known.theta, 0.0)[0])
        fitted = float(known.theta[:-1] @ (known.eta[:-1] - known.intercept))
        return Solution(columns, coefs, loss, fitted, known.l1, known.intercept - self.problem.units.y_mean)


@by_type
def _dual(penalty: Penalty, max_corr: float, l1: float) -> tuple[float, float]:
    """Return s, and what the penalty and its conjugate add to the gap."""


@_dual.register(L1)
def _(penalty, max_corr, l1):
    s = penalty.lam / max_corr * (1.0 - 1e-15) if max_corr > penalty.lam else 1.0
    return s, penalty.lam * l1


@_dual.register(L1Ball)
def _(penalty, max_corr, l1):
    return 1.0, penalty.radius * max_corr


class Dual(NamedTuple):
    """What is known of a dual point by itself."""

    norm: float  # in the metric of the weights
    rho: float  # by which share of itself it is too long for 1'theta to be zero, about
    inner: float  # theta'eta
    sizes: float  # sum |theta_i| times at least the size of the predictors that it may belong to


@kernel
def examine_dual(loss: Loss, eta: Vector, theta: Vector, own: Samples, centred: bool, of_sums: float) -> Dual:
    """Return what is known of a dual point."""
    up = down = inner = sizes = norm2 = 0.0
    for i in range(loss.y.size):
        w = weight(own, i)
        if w > 0.0:
            of_slope = dual_size(loss, i, theta[i])
            norm2 += of_slope * of_slope / w
            up += max(theta[i], 0.0)
            down -= min(theta[i], 0.0)
            inner += theta[i] * eta[i]
            sizes += of_slope * (abs(eta[i]) + abs(loss.offset[i]) + FAR)
    rho, less = 0.0, min(up, down)
    if centred:
        eps = abs(up - down) + of_sums * (up + down)
        rho = eps / less if less > 0.0 else np.inf * eps
    return Dual(np.sqrt(norm2), rho, inner, sizes)


@kernel
def claim(
    loss: Loss, penalty: Penalty, known: Witness, own: Samples, centred: bool, blurs: tuple[float, float, float]
) -> tuple[float, float]:
    """Return G, and how much of it is rounding."""
    eta, theta = known.eta, known.theta
    of_corrs, of_sums, largest = blurs
    norm, rho, inner, sizes = examine_dual(loss, eta, theta, own, centred, of_sums)
    s, of_penalty = _dual(penalty, known.max_corr + (of_corrs + rho * largest) * norm, known.l1)
    bracket, size, slopes2, top = fenchel(loss, eta, theta, s)
    plain_s, plain_penalty = _dual(penalty, known.max_corr, known.l1)
    rounding = np.sqrt(slopes2) * known.error + top * known.error * known.error
    rounding += of_sums * (size + of_penalty + s * sizes) + s * rho * sizes
    gap = bracket + of_penalty - s * inner + rounding
    return gap if rho < MOST_OFF else np.inf, rounding + (plain_s - s) * abs(inner) + of_penalty - plain_penalty

"""What is minimised, and what is known of a point: of least squares some numbers, of other losses two vectors."""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from .._core.columns import Vector
from .._core.costs import is_plain
from .._core.jit import kernel
from .._core.losses import Loss, fill_curvature, fill_residual, is_quadratic, loss_value, smoothness
from .._core.moments import rounding_bound as gamma
from .._core.objective import duality_gap
from .._core.penalties import L1, Penalty, Sums
from .._core.problem import Problem
from .._core.samples import Unweighted, sample_vector, to_root
from .._core.sweeps import Indices
from ..problem.certificate import Evidence, examine, prove, proved_gap
from ..problem.passes import ColumnPass
from ..problem.points import Solution
from .nodes import Node
from .separable_squares import SeparableSquares

# Fraction of the largest curvature.
_LEAST_CURVATURE = 0.01


class LeastSquares:
    """1/2 ||y - X a||^2: six numbers tell all of a point, and those of a mix follow from those of its ends."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def zero(self) -> tuple[Vector, Vector | None]:
        """Return y, the residual of a = 0."""
        return np.array(self.problem.y), None

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Vector, max_corr: float) -> Node:
        """Return a solved lambda; `fit` is its residual."""
        return Node(lam, columns, coefs, fit, examine(self.problem, sizes, coefs, fit, max_corr))

    def gap(self, penalty: Penalty, known: Evidence) -> float:
        """Return the duality gap that is proved."""
        return proved_gap(self.problem, penalty, known)

    def rounding(self, penalty: Penalty, known: Evidence) -> float:
        """Return how much of that gap is rounding."""
        return prove(self.problem, penalty, known).rounding

    def cross(self, left: Node, right: Node) -> float:
        """Return the inner product of the residuals."""
        mine, its = (to_root(self.problem.samples, node.residual)[:-1] for node in (left, right))
        return float(mine @ its)

    def mix(self, left: Node, right: Node, t: float, cross: float) -> Evidence:
        """Return what is known of (1 - t) left + t right."""
        known: Evidence = left.known.mix(right.known, t, cross)
        return known

    def solution(self, columns: Indices, coefs: Vector, known: Evidence) -> Solution:
        """Return a point: with q = y - r, q'y = y'y - y'r and q'q = y'y - 2 y'r + r'r."""
        qy = self.problem.yy - known.yr
        qq = max(0.0, qy - known.yr + known.rr)
        return Solution(columns, coefs, qq, qy, known.l1)


class Witness(NamedTuple):
    """What is known of a point: its linear predictor, and a dual direction, the residual of the loss there."""

    eta: Vector  # sample vectors, as they are stored
    theta: Vector  # without a constant part if there is an intercept
    l1: float  # ||a||_1
    error: float  # at least the distance of eta from what its coefficients make
    max_corr: float  # ||X'theta||_inf up to rounding, or a bound of it

    def bounded_by(self, tops: Vector) -> "Witness":
        """Return it with another bound of the correlations."""
        return self._replace(max_corr=float(tops[0]))

    @property
    def apart(self) -> tuple[Indices, float]:
        """Columns that the objective looks at itself, none, and what rounding may add to others: it is added later."""
        return np.empty(0, np.int64), 0.0


class ConvexLoss:
    """A sum of convex functions of the linear predictor eta = X a + b0; the dual point is a multiple of their slopes.

    Rounding. With gamma as in problem/certificate.py, eta is off by e, so that the loss is by at most ||theta|| e and
    half its smoothness times e^2; correlations are off by gamma(4 m + 32) largest ||theta||, and the sums that a gap is
    the rest of by gamma(m + 32) of the sizes of their terms, among which is what is left of a constant part of theta.
    """

    def __init__(self, problem: Problem, loss: Loss) -> None:
        if not isinstance(problem.samples, Unweighted):
            raise TypeError(f"{type(loss).__name__}: only least squares supports sample weights and folds")
        if not is_plain(problem.cost):
            raise TypeError(f"{type(loss).__name__}: only least squares supports bounds and ridges")
        self.problem, self.loss = problem, loss

    def zero(self) -> tuple[Vector, Vector | None]:
        """Return the linear predictor of a = 0, with the best intercept, and its residual."""
        eta = sample_vector(np.zeros(self.problem.y.size - 1))
        if self.problem.centred:
            eta[:-1] += _best_constant(self.loss, self.problem.y)
        return eta, self.residual(eta)

    def residual(self, eta: Vector) -> Vector:
        """Return the residual of the loss; with an intercept, without a constant part."""
        theta = np.empty(eta.size)
        _residual(self.loss, self.problem.y, eta, self.problem.centred, theta)
        return theta

    def value(self, eta: Vector) -> float:
        """Return the loss."""
        return float(_value(self.loss, self.problem.y, eta))

    def quadratic(self, eta: Vector) -> tuple[Vector, Vector]:
        """Return least squares with the same slope and curvature at eta: roots of weights, and the response.

        Curvatures are kept above a hundredth of the largest that there is, or a step would go anywhere.
        """
        weights, theta = np.empty(eta.size - 1), np.empty(eta.size)
        _model(self.loss, self.problem.y, eta, weights, theta)
        np.maximum(weights, _LEAST_CURVATURE * smoothness(self.loss), out=weights)
        return np.sqrt(weights), eta[:-1] + theta[:-1] / weights

    def node(self, lam: float, columns: Indices, coefs: Vector, sizes: Vector, fit: Vector, max_corr: float) -> Node:
        """Return a solved lambda; `fit` is its linear predictor."""
        theta, m = self.residual(fit), self.problem.n_samples
        size = float(sizes @ np.abs(coefs)) + math.sqrt(np.sum(fit[:-1] ** 2))
        error, l1 = gamma(columns.size + m + 12) * size, float(np.sum(np.abs(coefs)))
        return Node(lam, columns, coefs, theta, Witness(fit, theta, l1, error, max_corr))

    def gap(self, penalty: Penalty, known: Witness) -> float:
        """Return the duality gap that is proved."""
        theta, largest = math.sqrt(np.sum(known.theta[:-1] ** 2)), self.problem.largest
        max_corr = known.max_corr + gamma(4 * self.problem.n_samples + 32) * largest * theta
        gap = float(_gap(self.loss, penalty.lam, known._replace(max_corr=max_corr), self.problem.y))
        gap += self.rounding(penalty, known)
        return max(0.0, gap) if math.isfinite(gap + max_corr) else math.inf

    def rounding(self, penalty: Penalty, known: Witness) -> float:
        """Return how much of that gap is rounding, but for correlations."""
        theta, y, m = math.sqrt(np.sum(known.theta[:-1] ** 2)), math.sqrt(self.problem.yy), self.problem.n_samples
        value = self.value(known.eta) + penalty.lam * known.l1
        of_eta = (theta + 0.5 * smoothness(self.loss) * known.error) * known.error
        return float(of_eta + gamma(m + 32) * (value + theta * (theta + y)))

    def cross(self, left: Node, right: Node) -> None:
        """Return nothing: a mix takes vectors."""

    def mix(self, left: Node, right: Node, t: float, cross: None) -> Witness:
        """Return what is known of (1 - t) left + t right: the mix of dual points is feasible for that of lambdas."""
        return Witness(*((1.0 - t) * mine + t * its for mine, its in zip(left.known, right.known, strict=True)))

    def solution(self, columns: Indices, coefs: Vector, known: Witness) -> Solution:
        """Return a point: sums are those of its linear predictor."""
        eta, y = known.eta[:-1], self.problem.y[:-1]
        return Solution(columns, coefs, float(np.sum(eta * eta)), float(np.sum(eta * y)), known.l1)


Objective: TypeAlias = LeastSquares | SeparableSquares | ConvexLoss


def make_objective(problem: Problem, loss: Loss, columns: ColumnPass) -> Objective:
    """Return the objective of a problem, whose columns are read by a pass."""
    if not is_quadratic(loss):
        return ConvexLoss(problem, loss)
    return LeastSquares(problem) if is_plain(problem.cost) else SeparableSquares(problem, columns)


@kernel
def _gap(loss: Loss, lam: float, known: Witness, y: Vector) -> float:
    sums = Sums(0.0, 0.0, 0.0, known.l1)
    return float(duality_gap(loss, L1(lam), sums, known.max_corr, y, known.eta, known.theta))


@kernel
def _value(loss: Loss, y: Vector, eta: Vector) -> float:
    return float(loss_value(loss, y, eta))


@kernel
def _model(loss: Loss, y: Vector, eta: Vector, curvatures: Vector, theta: Vector) -> None:
    fill_curvature(loss, y, eta, curvatures)
    fill_residual(loss, y, eta, theta)


@kernel
def _residual(loss: Loss, y: Vector, eta: Vector, centred: bool, theta: Vector) -> None:
    fill_residual(loss, y, eta, theta)
    m = y.size - 1
    if centred:
        constant = theta[m] / m
        theta[m] = 0.0
        for i in range(m):
            theta[i] -= constant
            theta[m] += theta[i]


def _best_constant(loss: Loss, y: Vector) -> float:
    """Return the b that minimises the loss of eta = b, where slopes add up to zero, by bisection."""
    low, high = float(y[:-1].min()), float(y[:-1].max())
    theta, m = np.empty(y.size), y.size - 1
    while low < (middle := 0.5 * (low + high)) < high:
        _residual(loss, y, np.full(m + 1, middle), False, theta)
        low, high = (middle, high) if theta[m] > 0.0 else (low, middle)
    return middle

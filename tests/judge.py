"""The judge of certified paths: everything that a path claims, computed again in long double."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from attack.duality import PLAIN, Cost, General, Ray, ball_gap, cost_of, dual_loss, golden_section, penalized_gap
from fwlasso import LassoPath, Status, lasso_path
from fwlasso._core.penalties import L1, L1Ball

U = 2.0**-53
#: What long double, in which all is judged, rounds by.
U_JUDGE = np.finfo(np.longdouble).eps / 2
# A gap of no more than so many times its rounding is as small as float64 lets it become, up to what is roughly told.
_MOSTLY_ROUNDING = 12.0


class Loss:
    """A loss of samples: F(eta) is the sum of its values, eta the linear predictor. All is in long double.

    A loss holds its samples, weights and offsets, and has the three functions that come first.
    """

    def values(self, eta: np.ndarray) -> np.ndarray:
        """Return f_i(eta_i)."""
        raise NotImplementedError

    def residual(self, eta: np.ndarray) -> np.ndarray:
        """Return -f_i'(eta_i)."""
        raise NotImplementedError

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        """Return f_i*(-theta_i), infinite outside of their domain."""
        raise NotImplementedError

    def curvatures(self, eta: np.ndarray) -> np.ndarray:
        """Return f_i''(eta_i); asked for where columns have no penalty."""
        raise NotImplementedError

    def fenchel(self, eta: np.ndarray, theta: np.ndarray) -> np.longdouble:
        """Return F(eta) + F*(-theta) + theta'eta, which is never negative."""
        return (self.values(eta) + self.conjugates(theta) + theta * eta).sum()

    def longest(self, theta: np.ndarray) -> np.longdouble:
        """Return the s >= 0 with the least F*(-s theta)."""
        far = np.longdouble(1.0)
        while self.conjugates(2 * far * theta).sum() < self.conjugates(far * theta).sum():
            far *= 2
        return golden_section(lambda s: self.conjugates(s * theta).sum(), 0 * far, 2 * far)

    def intercept(self, eta: np.ndarray) -> np.longdouble:
        """Return the best constant to add: residuals add up to zero."""
        far = np.longdouble(1.0)
        while self.residual(eta - far).sum() < 0 or self.residual(eta + far).sum() > 0:
            far *= 2
        low, high = -far, far
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.residual(eta + middle).sum() > 0 else (low, middle)
        return low


class Squares(Loss):
    """1/2 (y - eta)^2, where weights and means have been seen to."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y

    def values(self, eta: np.ndarray) -> np.ndarray:
        return (self.y - eta) ** 2 / 2

    def residual(self, eta: np.ndarray) -> np.ndarray:
        return self.y - eta

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        return theta * (theta / 2 - self.y)

    def fenchel(self, eta: np.ndarray, theta: np.ndarray) -> np.longdouble:
        return ((self.y - eta - theta) ** 2).sum() / 2  # of large y no digits are lost

    def longest(self, theta: np.ndarray) -> np.longdouble:
        return self.y @ theta / (theta @ theta) if theta.any() else np.longdouble(0.0)

    def intercept(self, eta: np.ndarray) -> np.longdouble:
        return np.longdouble(0.0)


class Logistic(Loss):
    """log(1 + exp(eta + o)) - y (eta + o), times weights."""

    def __init__(self, y: np.ndarray, weights: np.ndarray, offset: np.ndarray | float = 0.0) -> None:
        self.y, self.weights, self.offset = wide(y), wide(weights), wide(offset)

    def values(self, eta: np.ndarray) -> np.ndarray:
        eta = eta + self.offset
        return self.weights * (np.logaddexp(0, eta) - self.y * eta)

    def residual(self, eta: np.ndarray) -> np.ndarray:
        return self.weights * (self.y - 1 / (1 + np.exp(-eta - self.offset)))

    def curvatures(self, eta: np.ndarray) -> np.ndarray:
        eta = np.abs(eta + self.offset)
        return self.weights * np.exp(-eta) / (1 + np.exp(-eta)) ** 2

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        q = self.y - theta / self.weights
        entropy = xlogx(q) + xlogx(1 - q)
        return np.where((q >= 0) & (q <= 1), self.weights * entropy + theta * self.offset, np.inf)


class Poisson(Loss):
    """exp(eta + o) - y (eta + o), times weights."""

    def __init__(self, y: np.ndarray, weights: np.ndarray, offset: np.ndarray | float = 0.0) -> None:
        self.y, self.weights, self.offset = wide(y), wide(weights), wide(offset)

    def values(self, eta: np.ndarray) -> np.ndarray:
        eta = eta + self.offset
        return self.weights * (np.exp(eta) - self.y * eta)

    def residual(self, eta: np.ndarray) -> np.ndarray:
        return self.weights * (self.y - np.exp(eta + self.offset))

    def curvatures(self, eta: np.ndarray) -> np.ndarray:
        return self.weights * np.exp(eta + self.offset)

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        q = self.y - theta / self.weights
        return np.where(q >= 0, self.weights * (xlogx(q) - q) + theta * self.offset, np.inf)


class Cox(Loss):
    """The partial likelihood with Breslow's ties, by risk sets as they are written; y has times, events and strata."""

    def __init__(self, y: np.ndarray, weights: np.ndarray, offset: np.ndarray | float = 0.0) -> None:
        self.weights, self.offset = wide(weights), wide(offset)
        self.times, self.events = y[:, 0], wide(y[:, 1]) * self.weights
        self.strata = y[:, 2] if y.shape[1] > 2 else np.zeros(len(y))
        moments = np.unique(np.column_stack([self.strata, self.times])[self.events > 0], axis=0)
        alike = moments[:, :1] == self.strata
        self.sets = alike & (moments[:, 1:] <= self.times)  # who is at risk, by moment
        self.died = (alike & (moments[:, 1:] == self.times)) * self.events
        self.deaths = self.died.sum(axis=1)

    def risks(self, eta: np.ndarray) -> np.ndarray:
        return self.weights * np.exp(eta + self.offset)

    def values(self, eta: np.ndarray) -> np.ndarray:
        at_risk = np.log(np.where(self.sets, self.risks(eta), 0).sum(axis=1))
        return np.append(self.deaths * at_risk, -self.events * (eta + self.offset))

    def residual(self, eta: np.ndarray) -> np.ndarray:
        return self.events - self.deaths @ self.shares(self.risks(eta))

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        """The eta with the slopes -theta, from the first moment of a stratum on: it is known up to a constant."""
        nu, value = self.events - theta, (theta * self.offset).sum()
        if not theta.any():
            return np.array([-(self.deaths * np.log(self.deaths)).sum()])
        for stratum in np.unique(self.strata[self.events > 0]):
            which = np.flatnonzero((self.sets & (self.strata == stratum)).any(axis=1))
            last = self.sets[which].sum(axis=0) * (self.strata == stratum)  # the last moment that a sample is there at
            hazard, total = np.longdouble(0), self.deaths[which[0]]
            for g, moment in enumerate(which, 1):
                hazard = hazard + self.deaths[moment] / total
                value = value - self.deaths[moment] * np.log(total)
                own = (last == g) & (nu != 0)
                if (nu[own] < 0).any():
                    return np.array([np.inf])
                value = value + (nu[own] * np.log(nu[own] / (self.weights[own] * hazard))).sum()
                total = total - nu[own].sum() / hazard
                if g < len(which) and not total > 0:
                    return np.array([np.inf])
        return np.array([value])

    def shares(self, risks: np.ndarray) -> np.ndarray:
        """Return distributions over the risk sets, by moment."""
        there = np.where(self.sets, risks, 0)
        return there / there.sum(axis=1, keepdims=True)

    def fenchel(self, eta: np.ndarray, theta: np.ndarray) -> np.longdouble:
        """Of a multiple of the slopes at eta by what it is the sum of: distributions over the risk sets."""
        r = self.residual(eta)
        s = theta @ r / (r @ r) if r.any() else np.longdouble(1.0)
        at, dead = self.shares(self.risks(eta)), self.died / self.deaths[:, np.newaxis]
        mixed = (1 - s) * dead + s * at
        if 0 <= s <= 1 and (np.abs(self.deaths @ mixed - self.events + theta) <= 1e-16 * (1 + self.events)).all():
            return (self.deaths @ np.where(mixed > 0, xlogx(mixed) - mixed * np.log(np.where(at > 0, at, 1)), 0)).sum()
        return self.values(eta).sum() + self.conjugates(theta).sum() + theta @ eta

    def longest(self, theta: np.ndarray) -> np.longdouble:
        return np.longdouble(1.0)  # of slopes: beyond it a dual point may have no conjugate

    def intercept(self, eta: np.ndarray) -> np.longdouble:
        return np.longdouble(0.0)


def xlogx(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)


class Exact(NamedTuple):
    """The problem in long double. For least squares rows are multiplied by roots of the weights, and are centred."""

    Z: np.ndarray
    y: np.ndarray
    sizes: np.ndarray  # of columns that are not centred yet, as far from zero as float64 has to take them
    y_size: np.longdouble
    cost: Cost
    factors: np.ndarray  # f_j / v_j: coefficients in the units of users are these times those of z_j
    total: np.longdouble  # the sum of the weights
    loss: Loss
    fit_intercept: bool
    n_ops: int = 0  # roundings of factors, by which bounds in units of z_j are off

    def eta(self, a: np.ndarray) -> np.ndarray:
        """The linear predictor with the best intercept."""
        eta = self.Z @ a
        return eta + self.loss.intercept(eta) if self.fit_intercept else eta

    @property
    def half_yy(self) -> np.longdouble:
        """The loss of the null model, of columns without a penalty alone; one if nothing is left to explain."""
        if isinstance(self.loss, Squares):
            eta = self.y - projected(self.free, self.y)
        else:
            eta = self.eta(np.zeros(self.factors.size, np.longdouble))
            for _ in range(60 if self.free.size else 0):  # Newton's method
                d, t = explained(self, eta, self.loss.residual(eta)), np.longdouble(1.0)
                while t > 1e-18 and not self.loss.fenchel(eta + t * d, 0 * eta) <= self.loss.fenchel(eta, 0 * eta):
                    t /= 2
                eta = eta + t * d
        return self.loss.fenchel(eta, 0 * eta) or np.longdouble(1.0)

    @property
    def free(self) -> np.ndarray:
        """The columns without a penalty."""
        return self.Z[:, ~self.cost.slopes]

    @property
    def lambda_max(self) -> float:
        return float(np.abs(self.Z.T @ self.y).max())

    @property
    def norms(self) -> np.ndarray:
        return np.sqrt((self.Z**2).sum(axis=0))

    def size(self, norm: Any) -> Any:
        """An l1 norm in units of ||y|| over the largest ||z_j||."""
        return norm * self.norms.max() / (np.sqrt(2 * self.half_yy))

    def inside(self, a: np.ndarray) -> np.ndarray:
        """Coefficients with the rounding of bounds taken off; what is further outside stays there."""
        near = np.clip(a, self.cost.lower, self.cost.upper)
        return np.where(np.abs(a - near) <= (4 + self.n_ops) * U * np.abs(near), near, a)

    def is_outside(self, a: np.ndarray) -> bool:
        return bool(((a < self.cost.lower) | (a > self.cost.upper)).any())


def projected(columns: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Take out of v what columns explain, by Gram-Schmidt, three times."""
    basis = np.zeros((v.size, 0), np.longdouble)

    def without(v: np.ndarray) -> np.ndarray:
        for _ in range(3):
            v = v - basis @ (basis.T @ v)
        return v

    for column in columns.T:
        left = without(column)
        norm = np.sqrt(left @ left)
        if norm > 1e-15 * np.sqrt(column @ column):
            basis = np.column_stack([basis, left / norm])
    return without(v)


def centred(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Take the means off, however large: what float64 holds of them first, by which no digit is lost."""
    near = values - (weights @ values / weights.sum()).astype(float)
    return near - weights @ near / weights.sum()


def exact(
    values: Any, y: Any, fit_intercept: bool, standardize: bool, asked: General = PLAIN, loss: Loss | None = None
) -> Exact:
    """Form the columns z_j, in long double; samples without a weight are left out.

    Another loss than least squares holds weights and offset itself.
    """
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    weights = np.ones(len(values)) if asked.sample_weight is None else asked.sample_weight
    Z, y, w = (wide(numbers)[weights > 0.0] for numbers in (values, y, weights))
    if asked.offset is not None and loss is None:
        y = y - wide(asked.offset)[weights > 0.0]
    means = np.abs(w @ Z / w.sum()) * np.sqrt(w.sum())
    y_centre = centred(y, w) if fit_intercept and loss is None else y
    if fit_intercept:
        Z = centred(Z, w)
    norms = np.sqrt(w @ Z**2)
    sizes = np.hypot(norms, np.where(means > 30 * norms, norms, means)) if fit_intercept else norms
    v = asked.factors(values.shape[1])
    factors = 1 / wide(np.where((v > 0.0) & (v < np.inf), v, 1.0))
    if standardize:
        scale = norms / np.sqrt(w.sum())
        factors = np.divide(factors, scale, out=factors, where=scale > 0)
    Z, sizes = (part * np.where(v < np.inf, factors, 0) for part in (Z, sizes))
    cost = cost_of(asked, factors, w.sum(), wide)
    if loss is None:
        Z, y_centre = np.sqrt(w)[:, None] * Z, np.sqrt(w) * y_centre
    return Exact(
        Z,
        y_centre,
        sizes,
        np.sqrt(2 * (y_centre @ y_centre)),
        cost,
        factors,
        w.sum(),
        loss or Squares(y_centre),
        fit_intercept,
        len(y_centre) if standardize else 0,
    )


def explained(given: Exact, eta: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """What columns without a penalty, and the intercept, explain of slopes in the metric of the curvatures."""
    basis = np.column_stack([np.ones((eta.size, int(given.fit_intercept))), given.free])
    basis = basis[:, basis.any(axis=0)]
    basis = basis / np.abs(basis).max(axis=0)
    A = np.column_stack([basis.T @ (given.loss.curvatures(eta)[:, None] * basis), basis.T @ theta])
    for i in range(basis.shape[1]):  # Gauss and Jordan
        A[i] /= A[i, i]
        others = np.arange(len(A)) != i
        A[others] -= np.outer(A[others, i], A[i])
    return basis @ A[:, -1]


def wide(numbers: Any) -> np.ndarray:
    return np.asarray(numbers).astype(np.longdouble)


def ray_of(given: Exact, a: np.ndarray, direction: np.ndarray | None = None) -> Ray:
    """Return a point with the multiples of its residual, or of another `direction`, less what U explains of it."""
    loss, eta = given.loss, given.eta(a)
    theta = loss.residual(eta) if direction is None else wide(direction)
    if isinstance(loss, Squares):
        theta = projected(given.free, theta) if direction is None else theta
    elif given.free.size:
        theta = theta - loss.curvatures(eta) * explained(given, eta, theta)
    c = np.where(given.cost.slopes, given.Z.T @ theta, 0)
    return Ray(a, c, lambda s: loss.fenchel(eta, s * theta), loss.longest(theta), isinstance(loss, Squares))


def objective(given: Exact, penalty: L1 | L1Ball, a: np.ndarray) -> np.longdouble:
    """What coefficients cost, with the best intercept."""
    cost = given.cost.values(a, np.longdouble(getattr(penalty, "lam", 0.0)))
    return given.loss.values(given.eta(a)).sum() + cost.sum()


def recomputed_gap(
    given: Exact, penalty: L1Ball | L1, a: np.ndarray, direction: np.ndarray | None = None
) -> np.longdouble:
    """The relative duality gap over all columns, from its definition: infinite outside of the bounds.

    The dual point is a multiple of the residual, or of another `direction`.
    """
    a = given.inside(a)
    if given.is_outside(a):
        return np.longdouble(np.inf)
    if isinstance(penalty, L1Ball):
        gap = ball_gap(given.cost, ray_of(given, a), np.longdouble(penalty.radius))
    else:
        gap = penalized_gap(given.cost, ray_of(given, a, direction), np.longdouble(penalty.lam))
    return gap / given.half_yy


def gap_of_residual(given: Exact, penalty: L1Ball | L1, a: np.ndarray, r: np.ndarray | None = None) -> np.longdouble:
    """The relative gap of the best multiple of the residual; over a ball that of the residual itself, as in a claim."""
    if isinstance(penalty, L1):
        return recomputed_gap(given, penalty, a, r)
    c = given.Z.T @ (given.y - given.Z @ a)
    return (penalty.radius * np.abs(c).max() - a @ c) / given.half_yy


def true_gap(Z: np.ndarray, y: np.ndarray, penalty: L1Ball | L1, a: np.ndarray) -> float:
    """The duality gap on columns and a response that are taken as they are."""
    given = exact(Z, y, False, False)
    return float(given.half_yy * recomputed_gap(given, penalty, a.astype(np.longdouble)))


def rounding(
    given: Exact, penalty: L1Ball | L1, a: np.ndarray, *, standardized: bool = False, stored: np.ndarray | None = None
) -> float:
    """What float64 cannot tell of a relative gap, by `fwlasso.certificate`; `stored` is the residual as it has it."""
    m, r = given.y.size, given.y - given.Z @ a if stored is None else stored.astype(np.longdouble)
    r_size, l1, M = np.sqrt(r @ r), np.abs(a).sum(), np.abs(given.Z.T @ r).max()
    largest = given.sizes.max()
    of_products = (4 * m + 32) * U * largest * r_size
    if given.free.any():  # dual points are orthogonal to columns without a penalty, up to that much
        free, norms = ~given.cost.slopes & (given.norms > 0), given.norms
        least = np.linalg.svd((given.Z[:, free] / norms[free]).astype(float), compute_uv=False).min()
        shares = (4 * m + 32) * U * r_size * given.sizes[free] / norms[free]
        of_products += largest * np.sqrt(shares @ shares) / max(least, U)
    n_ops = np.count_nonzero(a) + 12 + m * standardized
    of_residual = n_ops * U * (given.y_size + given.sizes @ np.abs(a)) + (2 * m + 8) * U * r_size
    of_sums = (m + 8) * U * r_size * (r_size + given.y_size)
    if isinstance(penalty, L1Ball):
        reach = penalty.radius + l1
        return float((reach * (of_products + largest * of_residual) + r_size * of_residual + of_sums) / given.half_yy)
    # By so much a dual point may be shorter, or longer, whose products are off as the residual is that it is made of.
    moved = of_products + largest * of_residual
    longer, shorter = (min(1, penalty.lam / c) if c > 0 else 1 for c in (max(M - moved, M / 1000), M + moved))
    of_dual = np.abs(given.y @ r) * (longer - shorter)
    of_primal = (r_size + of_residual) * of_residual + (m + 8) * U * penalty.lam * l1
    if given.free.any():  # brackets of coefficients are told one by one
        of_primal += 2 * l1 * of_products
    return float((of_primal + of_dual + 2 * of_sums) / given.half_yy)


def moved(given: Exact, penalty: L1Ball | L1, a: np.ndarray, *, standardized: bool = False) -> float:
    """How far the relative gap of a dual point s r may be from that of the residual r as float64 stores it."""
    if isinstance(penalty, L1Ball):
        return 0.0
    r, lam = given.y - given.Z @ a, np.longdouble(penalty.lam)
    r_size = np.sqrt(r @ r)
    n_ops = np.count_nonzero(a) + 12 + given.y.size * standardized
    d = n_ops * U * (given.y_size + given.sizes @ np.abs(a)) + (2 * given.y.size + 8) * U * r_size
    lost = dual_loss(given.cost, ray_of(given, given.inside(a)), lam, given.norms * d, (d, given.y_size, r_size))
    return float(lost / given.half_yy)


def untold(given: Exact, penalty: L1Ball | L1, a: np.ndarray) -> float:
    """What long double cannot tell of a relative gap, for which every product is as large as it may be."""
    y_size = np.sqrt(2 * given.half_yy)
    size = given.norms @ np.abs(a) / y_size
    reach = given.size(np.longdouble(penalty.radius)) if isinstance(penalty, L1Ball) else size
    return float((given.y.size + a.size) * U_JUDGE * (1 + size) * (1 + max(size, reach)))


def forms_of(path: LassoPath, asked: General = PLAIN) -> list[L1Ball | L1]:
    if path.settings["grid"] == "radii":
        return [L1Ball(np.longdouble(radius)) for radius in path.radii]
    total = path.settings["n_samples"] if asked.sample_weight is None else wide(asked.sample_weight).sum()
    return [L1(total * wide(asked.l1_ratio) * np.longdouble(alpha)) for alpha in path.alphas]


def judge(path: LassoPath, values: Any, y: Any, asked: General = PLAIN, *, certified: bool = True) -> np.ndarray:
    """Check all that a path claims; return the recomputed gaps.

    A point may miss its tolerance only where its gap is mostly rounding, or `certified` is False.
    """
    fit_intercept, standardize = path.settings["fit_intercept"], path.settings["standardize"]
    given = exact(values, y, fit_intercept, standardize, asked)
    tol, cost = path.settings["tol"], given.cost
    scaled = given.inside(wide(path.scaled_coefs.toarray()).T).T
    fitted = given.Z @ scaled
    gaps = np.zeros(len(path), np.longdouble)
    for k, penalty in enumerate(forms_of(path, asked)):
        a, l1 = scaled[:, k], cost.l1(scaled[:, k])
        slack = untold(given, penalty, a) + moved(given, penalty, a, standardized=standardize)
        gaps[k] = recomputed_gap(given, penalty, a)
        claimed = path.gaps[k]
        assert claimed >= gaps[k] - slack, f"point {k}: claimed {claimed:.3e}, is {gaps[k]:.3e}, slack {slack:.1e}"
        if isinstance(penalty, L1Ball):
            assert l1 <= penalty.radius * (1 + 1e-13), f"point {k}: outside the ball"
        if path.statuses[k] is Status.CERTIFIED:
            assert claimed <= tol
        else:
            assert claimed > tol
            if path.statuses[k] is Status.PRECISION:
                noise = rounding(given, penalty, a, standardized=standardize)
                assert claimed <= _MOSTLY_ROUNDING * noise, f"point {k}: gap {claimed:.3e}, rounding {noise:.1e}"
            else:
                assert not certified, f"point {k}: {path.statuses[k]} at {claimed:.3e}, tol {tol:.0e}"
        assert_optimal(given, penalty, a, (claimed + slack) * given.half_yy)
        if not isinstance(penalty, L1Ball):
            assert l1 == pytest.approx(path.radii[k], rel=1e-12)
        r2 = 1 - ((given.y - fitted[:, k]) ** 2).sum() / (2 * given.half_yy)
        if given.y @ given.y > 0:
            # Of inner products it is only as good as these; where that is not good, the data are looked at.
            blurred = min(1e-7, 1e-15 * (1 + given.norms @ np.abs(a) / np.sqrt(2 * given.half_yy)) ** 2 * given.y.size)
            assert path.r2[k] == pytest.approx(float(r2), abs=1e-9 + float(blurred) + rounding(given, penalty, a))
    assert_same_in_user_units(path, given, values, y, asked)
    assert path.ending is None
    return gaps


def rounding_of_slopes(given: Exact, penalty: L1Ball | L1, a: np.ndarray) -> np.longdouble:
    """How far the relative gap of slopes as float64 stores them may be from that of the slopes themselves.

    They are off by d, so that the dual point may be ||X||d / lambda longer; the gap is no steeper than |theta'eta|.
    """
    loss, eta = given.loss, given.eta(a)
    if type(loss).curvatures is Loss.curvatures:  # Cox's has what it may be off by in its claims
        return np.longdouble(0.0)
    sizes, r = 4 + np.abs(eta + loss.offset), np.abs(loss.residual(eta))
    d = U * sizes * (r + loss.curvatures(eta)) / np.sqrt(loss.weights)
    return given.norms.max() * np.sqrt(d @ d) / getattr(penalty, "lam", np.inf) * (r @ sizes) / given.half_yy


#: By the name that users give a loss.
LOSSES: dict[str, type[Loss]] = {"logistic": Logistic, "poisson": Poisson, "cox": Cox}


def judge_loss(
    path: LassoPath, values: Any, y: Any, asked: General = PLAIN, others: tuple[Status, ...] = ()
) -> np.ndarray:
    """Check all that a path of another loss than least squares claims; return the recomputed gaps.

    Points end certified, with all the precision there is, or as `others` do.
    """
    fit_intercept, standardize = path.settings["fit_intercept"], path.settings["standardize"]
    y = np.asarray(y)
    numbers = np.asarray(y == path.classes[1], float) if path.classes else np.asarray(y, float)
    weights = np.ones(len(y)) if asked.sample_weight is None else asked.sample_weight
    there, offset = weights > 0.0, np.zeros(len(y)) if asked.offset is None else asked.offset
    loss = LOSSES[path.loss](numbers[there], weights[there], offset[there])
    numbers = numbers if numbers.ndim == 1 else numbers[:, 1]
    given = exact(values, numbers, fit_intercept, standardize, asked, loss)
    dense = wide(values.toarray() if sp.issparse(values) else values)[there]
    scaled, gaps = wide(path.scaled_coefs.toarray()), np.zeros(len(path), np.longdouble)
    for k, penalty in enumerate(forms_of(path, asked)):
        a = scaled[:, k]
        gaps[k], claimed = recomputed_gap(given, penalty, a), path.gaps[k]
        values_at, sizes = loss.values(given.eta(a)), given.sizes @ np.abs(a) + 1
        slack = U_JUDGE * len(y) * (np.abs(values_at).sum() + sizes * given.y_size) / given.half_yy
        slack += 2 * U * given.cost.values(a, getattr(penalty, "lam", 0)).sum() / given.half_yy  # lambda is rounded
        slack += rounding_of_slopes(given, penalty, a)
        assert claimed >= gaps[k] - slack, f"point {k}: claimed {claimed:.3e}, is {gaps[k]:.3e}, slack {slack:.1e}"
        is_proved = path.settings["stop"] == "gap" and claimed <= path.settings["tol"]
        assert (path.statuses[k] is Status.CERTIFIED) == is_proved, f"point {k}: {path.statuses[k]} at {claimed:.3e}"
        assert path.statuses[k] in (Status.CERTIFIED, Status.PRECISION, *others), f"{path.statuses[k]} at {claimed:.3e}"
        eta = dense @ path.coefs.toarray()[:, k] + path.intercepts[k]
        off = np.abs(eta - given.eta(a)) if path.loss != "cox" else np.zeros(1)  # up to a constant
        blur = 1e-14 * (np.abs(dense) @ np.abs(path.coefs.toarray()[:, k]) + np.abs(eta) + np.abs(path.intercepts[k]))
        if (np.abs(loss.residual(given.eta(a))) > 0).any() and path.r2[k] < 1 - 1e-6:
            assert (off <= blur + 1e-5).all(), f"point {k}: intercept {off.max():.1e}"
        explained = 1 - loss.fenchel(eta, 0 * eta) / given.half_yy
        assert path.r2[k] == pytest.approx(float(explained), abs=1e-8 + 1e-14 * float(sizes))
    assert path.ending is None
    return gaps


def assert_optimal(given: Exact, penalty: L1Ball | L1, a: np.ndarray, bound: Any) -> None:
    """Each term of the gap is at most the gap: correlations and signs are right as far as that goes."""
    cost, lam = given.cost, getattr(penalty, "lam", 0)
    mu = cost.curvatures(lam)
    c = np.where(cost.slopes, given.Z.T @ projected(given.free, given.y - given.Z @ a) - mu * a, 0)
    if isinstance(penalty, L1Ball):
        if not mu.any():
            assert (np.abs(a) * cost.hardest(c, 0) - a * c <= bound)[cost.slopes].all()
        return
    # From c_j - mu_j a_j of the solution they are at most so far, and a_j, with a ridge, at most sqrt(2 bound / mu_j).
    blur = (given.norms + np.sqrt(mu)) * np.sqrt(2 * bound)
    # At a bound, or beside it, a coefficient is pulled however strongly.
    off = np.sqrt(2 * bound / np.where(mu > 0, mu, np.inf))
    held = (a + off >= cost.upper) & (c > 0) | (a - off <= cost.lower) & (c < 0)
    free = cost.slopes & ((cost.lower == -np.inf) & (cost.upper == np.inf) | (mu > 0) & ~held)
    a, c, blur = a[free], c[free], blur[free]
    assert (np.abs(c) <= lam + blur).all()
    assert (lam * np.abs(a) - a * c <= bound + np.abs(a) * blur).all()
    assert ((np.sign(a) == np.sign(c)) | (np.abs(a) * (lam - blur) <= bound)).all()


def assert_same_in_user_units(path: LassoPath, given: Exact, values: Any, y: Any, asked: General) -> None:
    """The coefficients for the columns as given are inside their bounds, and make the same predictions."""
    values, y = wide(values.toarray() if sp.issparse(values) else values), wide(y)
    coefs, scaled = path.coefs.toarray(), wide(path.scaled_coefs.toarray())
    lower, upper = (ends[:, None] for ends in asked.bounds(len(coefs)))
    assert ((lower <= coefs) & (coefs <= upper)).all(), "outside of the bounds"
    weights = np.ones(len(y)) if asked.sample_weight is None else asked.sample_weight
    there, roots = weights > 0.0, np.sqrt(wide(weights[weights > 0.0]))[:, None]
    y = (y if asked.offset is None else y - wide(asked.offset))[there]
    mean = roots[:, 0] ** 2 @ y / given.total if path.settings["fit_intercept"] else 0.0
    predicted = values[there] @ coefs + path.intercepts
    sizes = np.abs(values[there]) @ np.abs(coefs) + np.abs(path.intercepts)
    terms = np.abs(given.Z) @ np.abs(scaled) + np.abs(given.y).max()
    off = roots * (predicted - mean) - given.Z @ scaled
    assert (np.abs(off) <= 4 * U * roots * (sizes + np.abs(mean)) + 1e-13 * terms).all()
    assert ((coefs != 0) == (path.scaled_coefs.toarray() != 0)).all()


def solve(values: Any, y: Any, **options: Any) -> LassoPath:
    """Solve, with or without a warning that rounding was met: `judge` decides whether that is an excuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(values, y, **options)

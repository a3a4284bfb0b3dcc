"""The judge of certified paths: everything that a path claims, computed again in long double."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fwlasso import LassoPath, Status, lasso_path
from fwlasso._core.penalties import L1, L1Ball

U = 2.0**-53
#: What long double, in which all is judged, rounds by.
U_JUDGE = np.finfo(np.longdouble).eps / 2
# A gap of no more than so many times its rounding is as small as float64 lets it become, up to what is roughly told.
_MOSTLY_ROUNDING = 12.0


class Exact(NamedTuple):
    """The columns z_j and the response in long double."""

    Z: np.ndarray
    y: np.ndarray
    sizes: np.ndarray  # of columns that are not centred yet, as far from zero as float64 has to take them
    y_size: np.longdouble

    @property
    def half_yy(self) -> np.longdouble:
        return self.y @ self.y / 2 or np.longdouble(1.0)

    @property
    def lambda_max(self) -> float:
        return float(np.abs(self.Z.T @ self.y).max())

    @property
    def norms(self) -> np.ndarray:
        return np.sqrt((self.Z**2).sum(axis=0))

    def size(self, norm: Any) -> Any:
        """An l1 norm in units of ||y|| over the largest ||z_j||."""
        return norm * self.norms.max() / (np.sqrt(2 * self.half_yy))


def centred(values: np.ndarray) -> np.ndarray:
    """Take the means off, however large: what float64 holds of them first, by which no digit is lost."""
    near = values - values.mean(axis=0).astype(float)
    return near - near.mean(axis=0)


def exact(values: Any, y: Any, fit_intercept: bool, standardize: bool) -> Exact:
    """Form the columns z_j, in long double."""
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    Z, y = values.astype(np.longdouble), np.asarray(y).astype(np.longdouble)
    means = np.abs(Z.mean(axis=0)) * np.sqrt(np.longdouble(len(Z)))
    if fit_intercept:
        Z, y = centred(Z), centred(y)
    norms = np.sqrt((Z**2).sum(axis=0))
    sizes = np.hypot(norms, np.where(means > 30 * norms, norms, means)) if fit_intercept else norms
    if standardize:
        scale = np.sqrt((Z**2).mean(axis=0))
        Z = np.divide(Z, scale, out=np.zeros_like(Z), where=scale > 0)
        sizes = np.divide(sizes, scale, out=np.zeros_like(sizes), where=scale > 0)
    return Exact(Z, y, sizes, np.sqrt(2 * (y @ y)))


def recomputed_gap(
    given: Exact, penalty: L1Ball | L1, a: np.ndarray, direction: np.ndarray | None = None
) -> np.longdouble:
    """The relative duality gap over all columns, from its definition: primal minus dual.

    The dual point is a multiple of the residual, or of another `direction`.
    """
    r = given.y - given.Z @ a
    corrs = given.Z.T @ r
    if isinstance(penalty, L1Ball):
        return (penalty.radius * np.abs(corrs).max() - a @ corrs) / given.half_yy
    v = r if direction is None else direction.astype(np.longdouble)
    largest, vv = np.abs(given.Z.T @ v).max(), v @ v
    s = given.y @ v / vv if vv > 0 else np.longdouble(0.0)
    if largest > 0:
        s = np.clip(s, -penalty.lam / largest, penalty.lam / largest)
    # Of D = 1/2 y'y - 1/2 ||y - s v||^2 no digits are lost where y'y is large and s v is not.
    return (r @ r / 2 + penalty.lam * np.abs(a).sum() - s * (given.y @ v - s * vv / 2)) / given.half_yy


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
    return float((of_primal + of_dual + 2 * of_sums) / given.half_yy)


def moved(given: Exact, penalty: L1Ball | L1, a: np.ndarray, *, standardized: bool = False) -> float:
    """How far the relative gap of a dual point s r may be from that of the residual r as float64 stores it."""
    if isinstance(penalty, L1Ball):
        return 0.0
    r = given.y - given.Z @ a
    r_size, M = np.sqrt(r @ r), np.abs(given.Z.T @ r).max()
    n_ops = np.count_nonzero(a) + 12 + given.y.size * standardized
    d = n_ops * U * (given.y_size + given.sizes @ np.abs(a)) + (2 * given.y.size + 8) * U * r_size
    s = min(1, penalty.lam / M) if M > 0 else 1
    lost = min(1, given.norms.max() * d / M) if M > 0 else 1
    return float(s * (np.abs(given.y @ r) * lost + given.y_size * d + s * (r_size * d + d * d / 2)) / given.half_yy)


def untold(given: Exact, penalty: L1Ball | L1, a: np.ndarray) -> float:
    """What long double cannot tell of a relative gap, for which every product is as large as it may be."""
    y_size = np.sqrt(2 * given.half_yy)
    size = given.norms @ np.abs(a) / y_size
    reach = given.size(np.longdouble(penalty.radius)) if isinstance(penalty, L1Ball) else size
    return float((given.y.size + a.size) * U_JUDGE * (1 + size) * (1 + max(size, reach)))


def forms_of(path: LassoPath) -> list[L1Ball | L1]:
    if path.settings["grid"] == "radii":
        return [L1Ball(np.longdouble(radius)) for radius in path.radii]
    return [L1(path.settings["n_samples"] * np.longdouble(alpha)) for alpha in path.alphas]


def judge(path: LassoPath, values: Any, y: Any, *, certified: bool = True) -> np.ndarray:
    """Check all that a path claims; return the recomputed gaps.

    A point may miss its tolerance only where its gap is mostly rounding, or `certified` is False.
    """
    fit_intercept, standardize = path.settings["fit_intercept"], path.settings["standardize"]
    given = exact(values, y, fit_intercept, standardize)
    tol = path.settings["tol"]
    weights = path.scaled_coefs.toarray().astype(np.longdouble)
    fitted = given.Z @ weights
    corrs = given.Z.T @ (given.y[:, None] - fitted)
    gaps = np.zeros(len(path), np.longdouble)
    for k, penalty in enumerate(forms_of(path)):
        a, c = weights[:, k], corrs[:, k]
        l1 = np.abs(a).sum()
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
        # Each term of the gap is at most the gap: correlations and signs are right as far as that goes.
        bound = (claimed + slack) * given.half_yy
        if isinstance(penalty, L1Ball):
            assert (np.abs(a) * np.abs(c).max() - a * c <= bound).all()
        else:
            blur = given.norms * np.sqrt(2 * bound)
            assert (np.abs(c) <= penalty.lam + blur).all()
            assert (penalty.lam * np.abs(a) - a * c <= bound + np.abs(a) * blur).all()
            assert ((np.sign(a) == np.sign(c)) | (np.abs(a) * (penalty.lam - blur) <= bound)).all()
            assert l1 == pytest.approx(path.radii[k], rel=1e-12)
        r2 = 1 - ((given.y - fitted[:, k]) ** 2).sum() / (2 * given.half_yy)
        if given.y @ given.y > 0:
            # Of inner products it is only as good as these; where that is not good, the data are looked at.
            blurred = min(1e-7, 1e-15 * (1 + given.norms @ np.abs(a) / np.sqrt(2 * given.half_yy)) ** 2 * given.y.size)
            assert path.r2[k] == pytest.approx(float(r2), abs=1e-9 + float(blurred) + rounding(given, penalty, a))
    # The coefficients for the columns as given make the same predictions.
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    mean = np.asarray(y).astype(np.longdouble).mean() if fit_intercept else 0.0
    coefs, values = path.coefs.toarray(), values.astype(np.longdouble)
    predicted = values @ coefs + path.intercepts
    sizes = np.abs(values) @ np.abs(coefs) + np.abs(path.intercepts)
    terms = np.abs(given.Z) @ np.abs(weights) + np.abs(given.y).max()
    assert (np.abs(predicted - fitted - mean) <= 4 * U * (sizes + np.abs(mean)) + 1e-13 * terms).all()
    assert ((coefs != 0) == (path.scaled_coefs.toarray() != 0)).all()
    assert path.ending is None
    return gaps


def solve(values: Any, y: Any, **options: Any) -> LassoPath:
    """Solve, with or without a warning that rounding was met: `judge` decides whether that is an excuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(values, y, **options)

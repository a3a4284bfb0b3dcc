"""The judge of certified paths: everything that a path claims, computed again in long double."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fwlasso import LassoPath, Status, lasso_path
from fwlasso.forms import Ball, Penalty

EPS = 2.0**-53


class Exact(NamedTuple):
    """The columns z_j and the response in long double."""

    Z: np.ndarray
    y: np.ndarray

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


def exact(values: Any, y: Any, fit_intercept: bool, standardize: bool) -> Exact:
    """Form the columns z_j, in long double."""
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    Z, y = values.astype(np.longdouble), np.asarray(y).astype(np.longdouble)
    if fit_intercept:
        Z, y = Z - Z.mean(axis=0), y - y.mean()
    if standardize:
        scale = np.sqrt((Z**2).mean(axis=0))
        Z = np.divide(Z, scale, out=np.zeros_like(Z), where=scale > 0)
    return Exact(Z, y)


def recomputed_gap(given: Exact, form: Ball | Penalty, a: np.ndarray) -> np.longdouble:
    """The relative duality gap over all columns, from its definition: primal minus dual."""
    r = given.y - given.Z @ a
    corrs = given.Z.T @ r
    largest = np.abs(corrs).max()
    if isinstance(form, Ball):
        return (form.radius * largest - a @ corrs) / given.half_yy
    rr, yr = r @ r, given.y @ r
    s = yr / rr if rr > 0 else np.longdouble(0.0)
    if largest > 0:
        s = np.clip(s, -form.weight / largest, form.weight / largest)
    dual = given.y @ given.y / 2 - ((given.y - s * r) ** 2).sum() / 2
    return (rr / 2 + form.weight * np.abs(a).sum() - dual) / given.half_yy


def rounding(given: Exact, form: Ball | Penalty, l1: Any) -> float:
    """What float64 cannot tell of a relative gap.

    The residual is off by u (||y|| + ||a||_1 max ||z_j||), m terms long, and the gap multiplies that by the norm.
    """
    size = given.size(l1)
    other = given.size(np.longdouble(form.radius)) if isinstance(form, Ball) else size
    return float(8 * (given.y.size + 8) * EPS * (1 + size) * (1 + max(size, other)))


def digits_lost(values: Any, fit_intercept: bool) -> float:
    """How much larger columns are than what centring leaves of them: claims cover as much more rounding."""
    if not fit_intercept:
        return 1.0
    X = np.asarray(values.toarray() if sp.issparse(values) else values).astype(np.longdouble)
    centred = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=0))
    ratios = np.sqrt((X**2).sum(axis=0))[centred > 0] / centred[centred > 0]
    return float(max(ratios, default=1.0))


def forms_of(path: LassoPath) -> list[Ball | Penalty]:
    if path.settings["grid"] == "radii":
        return [Ball(np.longdouble(radius)) for radius in path.radii]
    return [Penalty(path.settings["n_samples"] * np.longdouble(alpha)) for alpha in path.alphas]


def judge(path: LassoPath, values: Any, y: Any, *, certified: bool = True) -> np.ndarray:
    """Check all that a path claims; return the recomputed gaps.

    A point may miss its tolerance only where `rounding` is of the size of the tolerance, or `certified` is False.
    """
    fit_intercept, standardize = path.settings["fit_intercept"], path.settings["standardize"]
    given = exact(values, y, fit_intercept, standardize)
    tol = path.settings["tol"]
    weights = path.scaled_coefs.toarray().astype(np.longdouble)
    fitted = given.Z @ weights
    corrs = given.Z.T @ (given.y[:, None] - fitted)
    gaps = np.zeros(len(path), np.longdouble)
    for k, form in enumerate(forms_of(path)):
        a, c = weights[:, k], corrs[:, k]
        l1 = np.abs(a).sum()
        slack = 1e-12 + rounding(given, form, l1)
        gaps[k] = recomputed_gap(given, form, a)
        claimed = path.gaps[k]
        assert claimed >= gaps[k] - slack, f"point {k}: claimed {claimed:.3e}, is {gaps[k]:.3e}"
        if isinstance(form, Ball):
            assert l1 <= form.radius * (1 + 1e-9), f"point {k}: outside the ball"
        if path.statuses[k] is Status.CERTIFIED:
            assert claimed <= tol
            assert gaps[k] <= tol + slack
        else:
            assert path.statuses[k] is Status.PRECISION or not certified
            assert claimed > tol or tol < slack
            assert not certified or tol < 10 * slack * digits_lost(values, fit_intercept), (
                f"point {k}: gap {claimed:.3e}, rounding {slack:.1e}, tol {tol:.0e}"
            )
        # Each term of the gap is at most the gap: correlations and signs are right as far as that goes.
        bound = (claimed + slack) * given.half_yy
        if isinstance(form, Ball):
            assert (np.abs(a) * np.abs(c).max() - a * c <= bound).all()
        else:
            blur = given.norms * np.sqrt(2 * bound)
            assert (np.abs(c) <= form.weight + blur).all()
            assert (form.weight * np.abs(a) - a * c <= bound + np.abs(a) * blur).all()
            assert ((np.sign(a) == np.sign(c)) | (np.abs(a) * (form.weight - blur) <= bound)).all()
            assert l1 == pytest.approx(path.radii[k], rel=1e-12)
        r2 = 1 - ((given.y - fitted[:, k]) ** 2).sum() / (2 * given.half_yy)
        if given.y @ given.y > 0:
            assert path.r2[k] == pytest.approx(float(r2), abs=1e-9 + slack)
    # The coefficients for the columns as given make the same predictions.
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    mean = np.asarray(y).astype(np.longdouble).mean() if fit_intercept else 0.0
    predicted = values.astype(np.longdouble) @ path.coefs.toarray() + path.intercepts
    sizes = np.abs(values).astype(np.longdouble) @ np.abs(path.coefs.toarray()) + np.abs(path.intercepts)
    assert (np.abs(predicted - fitted - mean) <= 1e-13 * (sizes + np.abs(fitted) + np.abs(y).max())).all()
    assert ((path.coefs.toarray() != 0) == (path.scaled_coefs.toarray() != 0)).all()
    assert path.ending is None
    return gaps


def solve(values: Any, y: Any, **options: Any) -> LassoPath:
    """Solve, with or without a warning that rounding was met: `judge` decides whether that is an excuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(values, y, **options)

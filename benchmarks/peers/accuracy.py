"""How exact coefficients are, in plain numpy and scipy: an independent check, by no code of the solvers."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]
_CHUNK = 20_000  # columns that are read together


class Moments(NamedTuple):
    """What one pass over the columns tells."""

    mean: Vector
    deviation: Vector  # root mean square, 0 for a column that is constant


def moments(X: Any) -> Moments:
    """Return mean and deviation of every column, dense or sparse."""
    p = X.shape[1]
    mean, deviation = np.zeros(p), np.zeros(p)
    for lo in range(0, p, _CHUNK):
        part = slice(lo, min(lo + _CHUNK, p))
        mean[part], deviation[part] = (_sparse_moments if sp.issparse(X) else _dense_moments)(X[:, part])
    return Moments(mean, deviation)


def _dense_moments(X: Any) -> Moments:
    mean = X.mean(axis=0)
    deviation = np.sqrt(((X - mean) ** 2).mean(axis=0))
    return Moments(mean, np.where(deviation > 1e-12 * np.abs(X).max(axis=0), deviation, 0.0))


def _sparse_moments(X: Any) -> Moments:
    m, p = X.shape
    lengths = np.diff(X.indptr)
    column = np.repeat(np.arange(p), lengths)
    mean = np.bincount(column, X.data, p) / m
    squares = np.bincount(column, (X.data - mean[column]) ** 2, p) + (m - lengths) * mean**2
    deviation = np.sqrt(squares / m)
    largest = np.zeros(p)
    np.maximum.at(largest, column, np.abs(X.data))
    return Moments(mean, np.where(deviation > 1e-12 * largest, deviation, 0.0))


def ball_gaps(X: Any, y: Vector, coefs: Any, radii: Vector, known: Moments | None = None) -> Vector:
    """Relative duality gaps of the constrained form on standardised columns.

    `coefs` (p x points) are for the columns as given; gap = radius max|Z'r| - a'Z'r, over 1/2 ||y||^2. `known` saves a
    pass over the columns.
    """
    y_c, r, _, largest = _residuals(X, y, coefs, known or moments(X), standardize=True)
    return np.asarray((radii * largest - ((y_c[:, None] - r) * r).sum(axis=0)) / (0.5 * y_c @ y_c))


def penalty_gaps(
    X: Any, y: Vector, coefs: Any, alphas: Vector, standardize: bool = True, known: Moments | None = None
) -> Vector:
    """Relative duality gaps of the penalized form.

    Columns are centred, and scaled to a mean square of one if `standardize`; `coefs` are for the columns as given. A
    sparse X stays sparse.
    """
    lam = alphas * y.size
    y_c, r, l1, largest = _residuals(X, y, coefs, known or moments(X), standardize)
    rr, yr = (r**2).sum(axis=0), y_c @ r
    bound = np.divide(lam, largest, out=np.full(lam.size, np.inf), where=largest > 0.0)
    s = np.clip(np.divide(yr, rr, out=np.zeros(lam.size), where=rr > 0.0), -bound, bound)
    return np.asarray((0.5 * rr + lam * l1 - s * yr + 0.5 * s**2 * rr) / (0.5 * y_c @ y_c))


def _residuals(
    X: Any, y: Vector, coefs: Any, known: Moments, standardize: bool
) -> tuple[Vector, NDArray[np.float64], Vector, Vector]:
    """Return y centred and, of every point, the residual, ||a||_1 and max|Z'r|, in the units of the columns Z."""
    coefs = sp.csc_array(coefs)
    mean, deviation = known
    scale = deviation if standardize else np.ones(mean.size)
    y_c = y - y.mean()
    used = np.unique(coefs.indices)
    fitted = X[:, used] @ coefs[used].toarray()
    r = np.ascontiguousarray(y_c[:, None] - (fitted - fitted.mean(axis=0)))
    l1 = np.asarray(abs(coefs.multiply(scale[:, None])).sum(axis=0)).ravel()
    largest = np.zeros(coefs.shape[1])
    for lo in range(0, mean.size, _CHUNK):
        part = slice(lo, min(lo + _CHUNK, mean.size))
        varies = deviation[part] > 0.0
        corr = X[:, part].T @ r - np.outer(mean[part], r.sum(axis=0))
        corr = np.divide(corr, scale[part, None], out=np.zeros_like(corr), where=varies[:, None])
        largest = np.maximum(largest, np.abs(corr).max(axis=0))
    return y_c, r, l1, largest

"""How exact coefficients are, in plain numpy and scipy: an independent check, by no code of the solvers."""

from collections.abc import Iterator
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
    known = known or moments(X)
    y_c, r = _residuals(X, y, coefs)
    largest = np.zeros(radii.size)
    for _, corr in _correlations(X, r, known, known.deviation):
        largest = np.maximum(largest, np.abs(corr).max(axis=0))
    return np.asarray((radii * largest - ((y_c[:, None] - r) * r).sum(axis=0)) / (0.5 * y_c @ y_c))


def penalty_gaps(
    X: Any,
    y: Vector,
    coefs: Any,
    alphas: Vector,
    standardize: bool = True,
    known: Moments | None = None,
    l1_ratio: float = 1.0,
) -> Vector:
    """Relative duality gaps of the penalized form, of an elastic net the smaller ones of two dual points.

    Columns are centred, and scaled to a mean square of one if `standardize`; `coefs` are for the columns as given. A
    sparse X stays sparse. With lam and mu the sizes of both penalties times m, one dual point is a multiple of
    (r, -sqrt(mu) a), the residual on X with sqrt(mu) I below it; the other is r, by sum (|c_j| - lam)_+^2 / (2 mu).
    """
    known, lam, mu = known or moments(X), alphas * y.size * l1_ratio, alphas * y.size * (1.0 - l1_ratio)
    y_c, r = _residuals(X, y, coefs)
    scale = known.deviation if standardize else np.ones(known.mean.size)
    scaled = sp.csc_array(sp.csc_array(coefs).multiply(scale[:, None]))
    l1, ridge = abs(scaled).sum(axis=0), mu * (scaled * scaled).sum(axis=0)
    largest, beyond = np.zeros(lam.size), np.zeros(lam.size)
    for part, corr in _correlations(X, r, known, scale):
        beyond += (np.maximum(np.abs(corr) - lam, 0.0) ** 2).sum(axis=0)
        bent = corr - mu * scaled[part].toarray() if mu.any() else corr
        largest = np.maximum(largest, np.abs(bent).max(axis=0))
    rr, yr = (r**2).sum(axis=0), y_c @ r
    bound = np.divide(lam, largest, out=np.full(lam.size, np.inf), where=largest > 0.0)
    s = np.clip(np.divide(yr, rr + ridge, out=np.zeros(lam.size), where=rr > 0.0), -bound, bound)
    primal = 0.5 * (rr + ridge) + lam * l1
    gaps = primal - s * yr + 0.5 * s**2 * (rr + ridge)
    by_conjugates = primal - yr + 0.5 * rr + 0.5 * np.divide(beyond, mu, out=np.full(mu.size, np.inf), where=mu > 0)
    return np.asarray(np.minimum(gaps, by_conjugates) / (0.5 * y_c @ y_c))


def _residuals(X: Any, y: Vector, coefs: Any) -> tuple[Vector, NDArray[np.float64]]:
    """Return y centred and the residual of every point."""
    coefs = sp.csc_array(coefs)
    y_c = y - y.mean()
    used = np.unique(coefs.indices)
    fitted = X[:, used] @ coefs[used].toarray()
    return y_c, np.ascontiguousarray(y_c[:, None] - (fitted - fitted.mean(axis=0)))


def _correlations(X: Any, r: Any, known: Moments, scale: Vector) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield Z'r of some columns after the other, zero for those that are constant."""
    for lo in range(0, scale.size, _CHUNK):
        part = slice(lo, min(lo + _CHUNK, scale.size))
        corr = X[:, part].T @ r - np.outer(known.mean[part], r.sum(axis=0))
        varies = known.deviation[part] > 0.0
        yield part, np.divide(corr, scale[part, None], out=np.zeros_like(corr), where=varies[:, None])

"""Data for paths on a Gram matrix, made to be hard, and their moments; gaps of points on them in long double."""

from collections.abc import Iterator

import numpy as np

from fwlasso._core.costs import Plain
from fwlasso._core.moments import Moments
from fwlasso._core.penalties import L1, L1Ball
from judge import exact, recomputed_gap


def moments_of(X: np.ndarray, y: np.ndarray) -> Moments:
    """Inner products of centred columns, by way of shifted ones, as plain as can be."""
    m = len(y)
    Z, r = X - X[0], y - y[0]
    gram, xty, yy = Z.T @ Z, Z.T @ r, r @ r
    norms, y_norm = np.sqrt(gram.diagonal()), np.sqrt(yy)
    sums, y_sum = Z.sum(axis=0), r.sum()
    gram = gram - np.outer(sums, sums) / m
    n_ops = 3 * (m + 5) + 6  # a product of m numbers, three times for centring, and a rounding for the shift of each
    up = 1.0 + n_ops * 2.0**-53
    return Moments(
        np.ascontiguousarray(gram), xty - sums * (y_sum / m), float(yy - y_sum * (y_sum / m)), norms * up,
        float(y_norm * up), n_ops, Plain(),
    )  # fmt: skip


def true_gaps(X: np.ndarray, y: np.ndarray, coefs: np.ndarray, lams=None, radii=None) -> np.ndarray:
    """Duality gaps over all columns, of centred data, in long double."""
    given = exact(X, y, True, False)
    penalties = map(L1, lams.astype(np.longdouble)) if radii is None else map(L1Ball, radii.astype(np.longdouble))
    points = zip(penalties, coefs.astype(np.longdouble), strict=True)
    return given.half_yy * np.array([recomputed_gap(given, penalty, b) for penalty, b in points])


def hard_cases(m: int = 120, p: int = 24, seed: int = 1) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, X and y."""
    rng = np.random.default_rng(seed)
    X, noise = rng.standard_normal((m, p)), 0.1 * rng.standard_normal(m)
    beta = np.where(np.arange(p) < 6, 1.0, 0.0)

    def response(X: np.ndarray) -> np.ndarray:
        signal = X @ beta
        return signal / (signal.std() or 1.0) + noise

    yield "plain", X, response(X)
    for k in (3, 6, 9):
        yield f"means 1e{k}", X + 10.0**k, response(X) + 10.0**k
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    for k in (4, 8, 12):
        Z = U * np.geomspace(1, 10.0**-k, p) @ Vt
        yield f"condition 1e{k}", Z, response(Z)
    for k in (3, 5, 7, 8, 10, 12):
        Z = X.copy()
        Z[:, p // 2 :] = Z[:, : p // 2] + 10.0**-k * X[:, p // 2 :]
        yield f"near copies 1e-{k}", Z, response(Z)
    Z = X.copy()
    Z[:, p // 2 :] = Z[:, : p // 2] * np.where(np.arange(p // 2) % 2, 1.0, -1.0)
    yield "copies", Z, response(Z)
    Z = X.copy()
    Z[:, p // 2 :] = Z[:, : p // 2] @ rng.standard_normal((p // 2, p - p // 2))
    yield "dependent", Z, response(Z)
    yield "rank one", np.outer(X[:, 0], X[0]), response(X)
    Z = X * np.geomspace(1e-6, 1e6, p)
    yield "scales 1e12", Z, response(Z)
    Z = 1.0 / (np.arange(m)[:, None] + np.arange(p) + 1.0)
    yield "Hilbert", Z, response(Z)
    yield "Vandermonde", np.vander(np.linspace(0.0, 1.0, m), p, increasing=True), response(X)
    yield "y in the span", X, X @ beta
    yield "y a column", X, X[:, 3]
    Q = np.linalg.qr(np.c_[np.ones(m), X, noise])[0]
    yield "y orthogonal", X, Q[:, -1]
    yield "y zero", X, np.zeros(m)
    Z = X.copy()
    Z[:, ::5] = 0.0
    yield "zero columns", Z, response(Z)
    yield "one column", X[:, :1], response(X)
    yield "one row", X[:1], response(X)[:1]
    yield "two rows", X[:2], response(X)[:2]

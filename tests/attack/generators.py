"""Data that break arithmetic: every generator is a function of a numpy Generator."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .duality import PLAIN, General

Rng = np.random.Generator


class Data(NamedTuple):
    """Columns and a response; of genotypes NaN is a missing call."""

    X: np.ndarray
    y: np.ndarray
    extreme: bool = False  # numbers whose squares or coefficients are beyond float64 may be refused
    #: Cross-validated, with folds of "many" samples or of "one", with "repeated" rows to fit, or with a "refit".
    folds: str | None = None
    #: Columns that turn into NaN, or infinity, after the first pass: the one that enters first, and others.
    altered: np.ndarray | None = None
    asked: General = PLAIN
    loss: str = "squared"


def draw_shape(rng: Rng) -> tuple[int, int]:
    """Return the shape of a small set, tall or wide."""
    if rng.random() < 0.5:
        return int(rng.integers(12, 50)), int(rng.integers(2, 13))
    return int(rng.integers(4, 25)), int(rng.integers(25, 70))


def normal(rng: Rng) -> np.ndarray:
    return rng.standard_normal(draw_shape(rng))


def response(rng: Rng, V: np.ndarray) -> np.ndarray:
    """Return a response of some columns of order one, with noise."""
    k = min(3, V.shape[1])
    return V[:, :k] @ [3.0, -2.0, 1.0][:k] + 10.0 ** rng.uniform(-3.0, 0.0) * rng.standard_normal(len(V))


def standard(X: np.ndarray) -> np.ndarray:
    """Return columns about their means, of order one."""
    V = X - X[0]
    V = V - V.mean(axis=0)
    return V / np.maximum(np.abs(V).max(axis=0), np.finfo(float).tiny)


def explained(rng: Rng, X: np.ndarray) -> Data:
    """Return columns with a response of their own numbers."""
    return Data(X, response(rng, X))


def dated(rng: Rng, X: np.ndarray) -> Data:
    """Return columns far from zero with a response of what they vary by."""
    return Data(X, response(rng, standard(X)))


def integers(rng: Rng) -> Data:
    X = rng.integers(-9, 10, draw_shape(rng)).astype(float)
    return Data(X, np.round(response(rng, X)))


def zeros(rng: Rng) -> Data:
    V = normal(rng)
    return explained(rng, V * (rng.random(V.shape) < rng.choice([0.02, 0.2, 0.6])))


def repeated_rows(rng: Rng) -> Data:
    V = normal(rng)
    rows = rng.integers(0, max(1, len(V) // 3), len(V))
    return Data(V[rows], response(rng, V)[rows])


def genotypes(rng: Rng) -> Data:
    """Rare variants, missing calls, and columns without any call."""
    m, p = draw_shape(rng)
    X = rng.binomial(2, rng.choice([0.01, 0.05, 0.3, 0.5], p), (m, p)).astype(float)
    X[rng.random((m, p)) < rng.choice([0.0, 0.05, 0.5])] = np.nan
    X[:, rng.random(p) < 0.05] = np.nan
    return Data(X, response(rng, np.nan_to_num(X)))


def means_of(rng: Rng, V: np.ndarray, ratio: float) -> Data:
    """Return columns whose means are `ratio` times their spread."""
    spread = 10.0 ** rng.uniform(-3.0, 3.0, V.shape[1])
    return Data(spread * (ratio * rng.uniform(1.0, 2.0, V.shape[1]) + V), response(rng, V))


def means(rng: Rng) -> Data:
    return means_of(rng, normal(rng), 10.0 ** rng.integers(0, 16))


def means_and_constants(rng: Rng) -> Data:
    """Columns far from zero beside constant ones, and beside columns about zero."""
    X, y, *_ = means(rng)
    X[:, rng.random(X.shape[1]) < 0.2] = 10.0 ** rng.integers(0, 16)
    near = rng.random(X.shape[1]) < 0.2
    X[:, near] = rng.standard_normal((len(y), near.sum()))
    return Data(X, y)


def one_ulp(rng: Rng) -> Data:
    """Columns of two neighbouring numbers, some of them beside ordinary ones."""
    V = normal(rng)
    base = 10.0 ** rng.uniform(-3.0, 12.0, V.shape[1])
    X = np.where(V > 0.0, np.nextafter(base, np.inf), np.broadcast_to(base, V.shape))
    return Data(np.where(rng.random(V.shape[1]) < 0.3, V, X), response(rng, np.sign(V)))


def one_outlier(rng: Rng) -> Data:
    """Columns with one entry, the first or any, that is far from all others."""
    V = normal(rng)
    X = 10.0 ** rng.integers(0, 10) + V
    X[0 if rng.random() < 0.5 else rng.integers(len(V)), rng.random(V.shape[1]) < 0.7] = rng.choice([0.0, 1e12, -1e9])
    return Data(X, response(rng, V))


def times_of(rng: Rng, m: int, p: int, unit: float, span: float) -> np.ndarray:
    """Return unix times in `unit` per second, over `span` seconds."""
    return np.round((1.7e9 + rng.uniform(0.0, span, (m, p))) * unit * 1024.0) / 1024.0


def refits_far_from_zero(rng: Rng) -> Data:
    """Columns whose means are 1e3 to 1e12 times their spread, to be refitted by least squares."""
    V = rng.standard_normal((int(rng.integers(12, 41)), int(rng.integers(2, 61))))
    return means_of(rng, V, 10.0 ** rng.uniform(3.0, 12.0))._replace(folds="refit")


def unix_times(rng: Rng) -> Data:
    """Times in seconds, milli- and nanoseconds over a day to a second, beside ordinary columns."""
    V = normal(rng)
    spans = 10.0 ** rng.uniform(0.0, 5.0, V.shape[1])
    X = times_of(rng, *V.shape, rng.choice([1.0, 1e3, 1e9]), spans)
    return dated(rng, np.where(rng.random(V.shape[1]) < 0.3, V, X))


def years(rng: Rng) -> Data:
    return dated(rng, rng.integers(1950, 2025, draw_shape(rng)).astype(float))


def ids(rng: Rng) -> Data:
    """Numbers in a row, from some large one on."""
    m, p = draw_shape(rng)
    return dated(rng, 10.0 ** rng.integers(5, 15, p) + np.stack([rng.permutation(m) for _ in range(p)], axis=1))


def powers(rng: Rng) -> Data:
    """Times, years or ids, with their squares and cubes."""
    X, y, *_ = (unix_times, years, ids)[rng.integers(3)](rng)
    return Data(np.hstack([X[:, :8] ** k for k in (1, 2, 3)]), y)


def sparse_and_far(rng: Rng) -> Data:
    """Empty columns at both ends, and full ones with large means among sparse ones."""
    V = normal(rng)
    X = V * (rng.random(V.shape) < 0.3)
    full = rng.random(V.shape[1]) < 0.3
    X[:, full] = 10.0 ** rng.integers(0, 13) + V[:, full]
    X[:, [0, -1]] = 0.0
    return Data(X, response(rng, V))


def y_constant(rng: Rng) -> Data:
    V = normal(rng)
    value = rng.choice([0.0, 0.1, 1.7e9, -3e-300, 5e-324])
    return Data(V, np.full(len(V), value), extreme=bool(0.0 < abs(value) < 1e-100))


def y_one_ulp(rng: Rng) -> Data:
    """A response that is constant but for one ulp, in one entry or many."""
    V = normal(rng)
    base = 10.0 ** rng.uniform(-5.0, 12.0)
    up = rng.random(len(V)) < rng.choice([0.1, 0.5])
    up[0], up[-1] = True, False
    return Data(V, np.where(up, np.nextafter(base, np.inf), base))


def y_orthogonal(rng: Rng) -> Data:
    """A response orthogonal to all columns, but for 10^-k of it."""
    m, p = int(rng.integers(12, 50)), int(rng.integers(2, 9))
    X = rng.standard_normal((m, p))
    basis, _ = np.linalg.qr(np.hstack([np.ones((m, 1)), X]))
    y = rng.standard_normal(m)
    y -= basis @ (basis.T @ y)
    return Data(X, y + 10.0 ** -rng.integers(1, 18) * X[:, 0])


def y_in_span(rng: Rng) -> Data:
    X = rng.standard_normal((int(rng.integers(3, 20)), int(rng.integers(25, 60))))
    return Data(X, X @ rng.standard_normal(X.shape[1]))


def scales(rng: Rng) -> Data:
    """All numbers of X, and of y, near some power of ten that float64 has."""
    V = normal(rng)
    y = response(rng, V)
    exponents = rng.integers(-320, 151, 2)
    x_scale, y_scale = 10.0 ** exponents.astype(float)
    return Data(V * x_scale, y * y_scale, extreme=bool(np.abs(exponents).max() > 70))


def scales_side_by_side(rng: Rng) -> Data:
    V = normal(rng)
    return Data(V * 10.0 ** rng.integers(-12, 13, V.shape[1]), response(rng, V))


def denormals(rng: Rng) -> Data:
    """Columns of denormal numbers, alone or beside ordinary ones; or such a response."""
    V = normal(rng)
    few = rng.random(V.shape[1]) < rng.choice([0.0, 0.2, 1.0])
    return Data(np.where(few, V * 1e-310, V), response(rng, V) * rng.choice([1.0, 1e-310]), extreme=True)


def copies(rng: Rng) -> Data:
    V = normal(rng)
    p = V.shape[1]
    return Data(V[:, rng.integers(0, max(1, p // 2), p)] * rng.choice([-1.0, 1.0], p), response(rng, V))


def near_copies(rng: Rng) -> Data:
    """Columns that differ by little from each other."""
    V = normal(rng)
    X = V[:, :1] + 10.0 ** -rng.integers(3, 16) * V
    return Data(X, response(rng, X + V))


def chains(rng: Rng) -> Data:
    """Columns that differ by little from the one before."""
    V = normal(rng)
    return explained(rng, V[:, :1] + np.cumsum(10.0 ** -rng.integers(1, 12) * V, axis=1))


def dependent(rng: Rng) -> Data:
    """Columns in a space of few dimensions."""
    (m, p), k = draw_shape(rng), int(rng.integers(1, 6))
    return explained(rng, rng.standard_normal((m, k)) @ rng.standard_normal((k, p)))


def rank_one(rng: Rng) -> Data:
    m, p = draw_shape(rng)
    return explained(rng, np.outer(rng.standard_normal(m), rng.standard_normal(p)))


def hilbert(rng: Rng) -> Data:
    m, p = draw_shape(rng)
    return explained(rng, 1.0 / (1.0 + np.arange(m)[:, None] + np.arange(p)))


def vandermonde(rng: Rng) -> Data:
    m, p = draw_shape(rng)
    nodes = rng.uniform(-1.0, 1.0, m) if rng.random() < 0.5 else np.linspace(0.0, 1.0, m)
    return explained(rng, nodes[:, None] ** np.arange(p))


def ill_conditioned(rng: Rng) -> Data:
    """Singular values from one down to 1e-12."""
    V = normal(rng)
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return Data(left * np.geomspace(1.0, 1e-12, min(V.shape)) @ right, response(rng, V))


def laeuchli(rng: Rng) -> Data:
    """Ones above a small multiple of the identity: inner products forget it where its square is rounding."""
    p = int(rng.integers(2, 40))
    return Data(np.vstack([np.ones(p), 10.0 ** -rng.uniform(3.0, 12.0) * np.eye(p)]), rng.standard_normal(p + 1))


def spectra_of(rng: Rng, m: int, p: int) -> Data:
    """Return sums of six Gaussian curves with little noise, and a mixture of their amounts."""
    place = np.linspace(0.0, 1.0, p)
    centres, widths = rng.uniform(0.0, 1.0, (6, 1)), rng.uniform(0.03, 0.2, (6, 1))
    amounts = rng.uniform(0.0, 1.0, (m, 6))
    noise = 10.0 ** rng.uniform(-7.0, -4.0)
    X = amounts @ np.exp(-0.5 * ((place - centres) / widths) ** 2) + noise * rng.standard_normal((m, p))
    return Data(X, amounts @ [3.0, -2.0, 1.0, 0.5, 0.0, 0.0] + 1e-2 * rng.standard_normal(m))


def altered_in_place(rng: Rng) -> Data:
    """Columns about zero or some way from it, of which some do not stay what they were: the first to enter is one."""
    V = normal(rng)
    y = response(rng, V)
    X = V + 10.0 ** rng.integers(0, 4) * (rng.random(V.shape[1]) < rng.choice([0.0, 0.5]))
    is_altered = rng.random(V.shape[1]) < rng.choice([0.0, 0.1, 0.5])
    for W, target in ((X, y), (X - X.mean(axis=0), y - y.mean())):  # by units
        corrs = np.abs(target @ W)
        is_altered[[np.argmax(corrs), np.argmax(corrs / np.linalg.norm(W, axis=0))]] = True
    return Data(X, y, altered=np.flatnonzero(is_altered))


def few_samples(rng: Rng) -> Data:
    m, p = int(rng.integers(1, 3)), int(rng.integers(1, 20))
    return Data(rng.standard_normal((m, p)) + rng.choice([0.0, 1e9]), rng.standard_normal(m))


def one_column(rng: Rng) -> Data:
    X = rng.standard_normal((int(rng.integers(1, 40)), 1)) + rng.choice([0.0, 1e9])
    return Data(X, response(rng, X - X[0]))


def no_varying_columns(rng: Rng) -> Data:
    m, p = draw_shape(rng)
    return Data(np.tile(rng.choice([0.0, 0.1, -1e9, 1 / 3], p), (m, 1)), rng.standard_normal(m))


GENERATORS: dict[str, Callable[[Rng], Data]] = {
    "plain": lambda rng: Data(V := normal(rng), response(rng, V) + 7.0),
    **{make.__name__: make for make in (integers, zeros, repeated_rows, genotypes, copies)},
    **{make.__name__: make for make in (means, means_and_constants, one_ulp, one_outlier, unix_times, years, ids)},
    "powers": powers,
    "large_means_in_folds": lambda rng: means(rng)._replace(folds="many"),
    "folds_of_one": lambda rng: (GENERATORS["plain"], means, years)[rng.integers(3)](rng)._replace(folds="one"),
    "bootstrap": lambda rng: GENERATORS["plain"](rng)._replace(folds="repeated"),
    "refits_far_from_zero": refits_far_from_zero,
    "sparse_and_far": sparse_and_far,
    "y_far_from_zero": lambda rng: Data(V := normal(rng), 10.0 ** rng.integers(4, 16) + response(rng, V)),
    **{make.__name__: make for make in (y_constant, y_one_ulp, y_orthogonal)},
    "y_is_column": lambda rng: Data(V := normal(rng), rng.choice([1.0, -3.0, 1e-8]) * V[:, 1]),
    "y_in_span": y_in_span,
    **{make.__name__: make for make in (scales, scales_side_by_side, denormals, near_copies, chains, dependent)},
    **{make.__name__: make for make in (rank_one, hilbert, vandermonde, ill_conditioned, laeuchli)},
    "spectra": lambda rng: spectra_of(rng, int(rng.integers(15, 40)), int(rng.integers(60, 150))),
    **{make.__name__: make for make in (few_samples, one_column, no_varying_columns, altered_in_place)},
}

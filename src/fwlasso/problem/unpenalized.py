"""Columns U without a penalty: what they explain of y is taken off it, as a mean is, and dual points are without them.

With sqrt(W) U = Q R the null model has R b_0 = Q'y, and the response of the problem becomes its residual y - U b_0.
Dual points have U'theta = 0, up to rounding: see `certified/separable_squares`.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svdvals

from .._core.columns import (
    Columns,
    Matrix,
    Vector,
    column_chunks,
    correlations,
    fill_rooted,
    read_only,
    samples,
    shape,
    storage_of,
)
from .._core.costs import Cost, is_plain
from .._core.dense import Dense
from .._core.moments import UNIT_ROUNDOFF
from .._core.moments import rounding_bound as gamma
from .._core.notices import warn_of_doubt
from .._core.problem import NullFit, Problem
from .._core.samples import from_root, inner, n_samples, sample_vector, to_root
from .._core.threads import Workers, one_blas_thread
from .._core.weighted import weighted
from ..data.frames import columns_named

Indices = NDArray[np.int64]

# Columns without a penalty are worked with as a dense matrix, all of them all the time.
_MOST = 1000


def rooted(X: Columns, at: Indices, *, centred: bool) -> Matrix:
    """Return sqrt(W) z_j of some columns, each a row."""
    rows = np.empty((at.size, shape(storage_of(X))[0]))
    fill_rooted(X, at, centred, rows)
    return rows


def free_columns(
    X: Columns, cost: Cost, *, centred: bool, names: tuple[str, ...] | None = None
) -> tuple[Cost, Indices]:
    """Return a cost with its kappa, and the columns without a penalty; raise a ValueError if they are too many.

    Those that depend on others, up to rounding, and constant ones have no coefficient: they are fixed at zero, which a
    warning says of the first.
    """
    asked = np.empty(0, np.int64) if is_plain(cost) else np.flatnonzero(cost.slopes == 0.0)
    if asked.size == 0:
        return cost, asked
    n = n_samples(samples(X))
    if asked.size > _MOST:
        raise ValueError(f"unpenalized: {asked.size:,} columns without a penalty are more than {_MOST:,}")
    with one_blas_thread():
        rows = rooted(X, asked, centred=centred)
        norms = np.sqrt(np.einsum("ki,ki->k", rows, rows))
        varies = np.flatnonzero(norms > 0.0)
        unit = (rows[varies] / norms[varies, None]).T
        R, pivots = qr(unit, mode="r", pivoting=True, check_finite=False) if varies.size else (np.empty((0, 0)), varies)
        rank = int(np.count_nonzero(np.abs(R.diagonal()) > 4.0 * gamma(n + 32)))
        inside = np.sort(pivots[:rank])
        least = svdvals(unit[:, inside], check_finite=False).min(initial=1.0) - gamma(4 * n * (rank + 1) + 32)
    if rank >= n - centred:
        few = f"{rank:,} columns without a penalty leave nothing of {n:,} samples to explain"
        raise ValueError(f"unpenalized: {few}: name fewer")
    free, is_dependent = asked[varies[inside]], np.zeros(cost.slopes.size, np.bool_)
    is_dependent[asked[np.delete(varies, inside)]] = True
    if is_dependent.any():
        what = "Without a penalty, and dependent on others without one, so that they are left out"
        warn_of_doubt(f"{what}: {columns_named(names, is_dependent)}.")
    return with_free(cost, free, 1.0 / least if least > 0.0 else np.inf), free


def with_free(cost: Cost, free: Indices, kappa: float) -> Cost:
    """Return a cost with its kappa, where other columns without a penalty are fixed at zero."""
    slopes, lower, upper = (np.repeat(np.array(values), 2)[::2] for values in (cost.slopes, cost.lower, cost.upper))
    out = np.setdiff1d(np.flatnonzero(slopes == 0.0), free)
    slopes[out], lower[out], upper[out] = 1.0, 0.0, 0.0
    return cost._replace(slopes=slopes, lower=lower, upper=upper, kappa=kappa if free.size else 0.0)


def free_on_data(
    X: Columns, y: Vector, cost: Cost, *, centred: bool, names: tuple[str, ...] | None
) -> tuple[Cost, float]:
    """Return `free_columns` of the columns and the response as they are given, with the loss of the null model."""
    cost, free = free_columns(X, cost, centred=centred, names=names)
    left = rooted(weighted(Dense(read_only(y[np.newaxis])), samples(X)), np.zeros(1, np.int64), centred=centred)[0]
    if free.size:
        with one_blas_thread():
            null = _null_fit(rooted(X, free, centred=centred), free)
            for _ in range(2):  # once more for rounding
                left = left - null.explain(left)[1]
    return cost, 0.5 * float(left @ left)


def _null_fit(rows: Matrix, columns: Indices) -> NullFit:
    """Return the basis of independent columns, given sqrt(W) z_j of each as a row; it has no coefficients yet."""
    Q, R = qr(rows.T, mode="economic", check_finite=False)
    return NullFit(columns, np.zeros(columns.size), np.ascontiguousarray(Q), np.ascontiguousarray(R))


def projected(problem: Problem, r: Vector) -> tuple[Vector, float]:
    """Return a residual without what columns without a penalty explain of it, and how far it is from the other one."""
    if problem.null.columns.size == 0:
        return r, 0.0
    r, lost, moved = r.copy(), 0.0, np.zeros(r.size)
    for _ in range(2):  # once more for rounding
        moved[:-1] = problem.null.explain(to_root(problem.samples, r)[:-1])[1]
        r[:-1] -= from_root(problem.samples, moved)[:-1]
        lost += float(np.sqrt(moved @ moved)) * (1.0 + 1e-8)
    r[-1] = np.sum(r[:-1]) if problem.centred else r[-1]
    return r, lost


def without_free(problem: Problem, workers: Workers, names: tuple[str, ...] | None = None) -> Problem:
    """Return the problem of the residual of the null model, if there are columns without a penalty."""
    cost, free = free_columns(problem.X, problem.cost, centred=problem.centred, names=names)
    problem = problem._replace(cost=cost)
    if free.size == 0:
        return problem
    own, X = problem.samples, problem.X
    with one_blas_thread():
        rows, y = rooted(X, free, centred=problem.centred), to_root(own, problem.y)[:-1]
        null = _null_fit(rows, free)
        for _ in range(2):
            np.add(null.coefs, null.explain(y - null.coefs @ rows)[0], out=null.coefs)
        left = y - null.coefs @ rows
        lost = null.explain(left)[1]  # rounding
    response = sample_vector(from_root(own, sample_vector(left - lost))[:-1])
    xty = np.empty(problem.xty.size)

    def correlate(lo: int, hi: int) -> None:
        xty[lo:hi] = correlations(X, np.arange(lo, hi), response)

    workers.map(correlate, column_chunks(X))
    y_size = problem.y_size + float(problem.sizes(free) @ np.abs(null.coefs)) + math.sqrt(lost @ lost) / UNIT_ROUNDOFF
    return problem._replace(y=response, xty=xty, yy=inner(own, response, response), y_size=y_size, null=null)

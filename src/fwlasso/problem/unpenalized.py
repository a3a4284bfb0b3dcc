"""Columns U without a penalty: what they explain of y is taken off it, as a mean is, and dual points are without them.

With sqrt(W) U = Q R the null model has R b_0 = Q'y, and the response of the problem becomes its residual y - U b_0.
Of another loss it is found by Newton's method, U b_0 is added to the offset, and its slopes are the response.
Dual points have U'theta = 0, up to rounding: see `certified/separable_squares` and `certified/separable_losses`.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular, svdvals

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
from .._core.losses import fenchel, fill_slopes, is_quadratic, reach
from .._core.moments import UNIT_ROUNDOFF
from .._core.moments import rounding_bound as gamma
from .._core.notices import warn_of_doubt
from .._core.problem import NullFit, Problem
from .._core.samples import from_root, inner, n_samples, norm, sample_vector, to_root, weight_vector
from .._core.threads import Workers, one_blas_thread
from .._core.weighted import weighted
from ..data.frames import columns_named

Indices = NDArray[np.int64]

# Columns without a penalty are worked with as a dense matrix, all of them all the time.
_MOST = 1000
# Steps to the null model of another loss at most; the last one is so short, and promises so little of the loss.
_MOST_STEPS, _NEAR, _SMALL = 100, 1e-2, 1e-14
# Where the loss is flatter by such a factor than where it is not, coefficients grow without end.
_FLAT = 1e-11
_NO_MODEL = "unpenalized: columns without a penalty tell some of y exactly, and have no model: give them a penalty"


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
        rows = rooted(X, free, centred=problem.centred)
        problem = problem._replace(null=_null_fit(rows, free))
        problem = _null_of_squares(problem, rows) if is_quadratic(problem.loss) else _null_of_loss(problem)
    response, xty = problem.y, np.empty(problem.xty.size)

    def correlate(lo: int, hi: int) -> None:
        xty[lo:hi] = correlations(X, np.arange(lo, hi), response)

    workers.map(correlate, column_chunks(X))
    return problem._replace(xty=xty, yy=inner(own, response, response))


def _null_of_squares(problem: Problem, rows: Matrix) -> Problem:
    """Return the problem with the residual of the null model, and its coefficients."""
    null, own = problem.null, problem.samples
    y = to_root(own, problem.y)[:-1]
    for _ in range(2):
        np.add(null.coefs, null.explain(y - null.coefs @ rows)[0], out=null.coefs)
    left = y - null.coefs @ rows
    lost = null.explain(left)[1]  # rounding
    response = sample_vector(from_root(own, sample_vector(left - lost))[:-1])
    size = float(problem.sizes(null.columns) @ np.abs(null.coefs)) + math.sqrt(lost @ lost) / UNIT_ROUNDOFF
    return problem._replace(y=response, y_size=problem.y_size + size)


def _null_of_loss(problem: Problem) -> Problem:
    """Return the problem with the slopes of the null model, by Newton's method, and its coefficients and constant."""
    loss, roots = problem.loss, np.sqrt(weight_vector(problem.samples))
    m, first = roots.size, int(problem.centred)
    basis = np.ones((first + problem.null.columns.size, m))
    np.divide(problem.null.Q.T, roots, out=basis[first:], where=roots > 0.0)
    coefs, theta, curvatures = np.zeros(len(basis)), np.empty(m), np.empty(m)
    coefs[:first] = problem.units.y_mean

    def explain() -> Vector:
        """Return what the basis explains of theta, in the metric of the curvatures."""
        curved = basis * np.sqrt(curvatures)
        products = curved @ curved.T
        sizes, turned = np.linalg.eigh(products)
        if not sizes[0] > _FLAT * sizes[-1]:
            raise ValueError(_NO_MODEL)
        found: Vector = turned @ ((basis @ theta @ turned) / sizes)
        return found

    def value(coefs: Vector) -> float:
        return float(fenchel(loss, coefs @ basis, theta, 0.0)[0])

    for _ in range(_MOST_STEPS):
        fill_slopes(loss, coefs @ basis, theta, curvatures)
        step, before, t = explain(), value(coefs), 1.0
        while t > _SMALL and not value(coefs + t * step) <= before * (1.0 + _SMALL):
            t *= 0.5
        coefs = coefs + t * step
        if t == 1.0 and reach(loss, step @ basis) <= _NEAR and theta @ (step @ basis) <= _SMALL * before:
            break
    else:
        raise ValueError(_NO_MODEL)
    fill_slopes(loss, coefs @ basis, theta, curvatures)
    for _ in range(2):  # what rounding has left
        theta -= curvatures * (explain() @ basis)
    null = problem.null._replace(coefs=solve_triangular(problem.null.R, coefs[first:], check_finite=False))
    response = sample_vector(theta)
    return problem._replace(
        y=response, y_size=norm(problem.samples, response), loss_of_null=value(coefs), null=null,
        units=problem.units._replace(y_mean=float(coefs[:first].sum())),
        loss=loss._replace(offset=loss.offset + coefs[first:] @ basis[first:]),
    )  # fmt: skip

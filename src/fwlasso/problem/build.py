"""What is given: the design, the response and what one pass over them tells."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.beside import Beside
from .._core.columns import (
    Columns,
    Vector,
    column_chunks,
    column_entries,
    column_entry,
    column_moments,
    dot_column,
    fetch_listed,
    nbytes,
    read_only,
    samples,
    shape,
    storage_of,
)
from .._core.costs import is_plain
from .._core.csc import Csc
from .._core.dense import Dense
from .._core.jit import kernel
from .._core.losses import Logistic, Loss, Poisson, add_best_constant, fenchel, fill_slopes
from .._core.problem import Problem
from .._core.samples import as_samples, inner, n_samples, norm, sample_vector, total_weight, weight, weight_vector
from .._core.standardized import Shifted, Standardized
from .._core.threads import Workers, even_cuts
from .._core.transform import Units
from .._core.weighted import weight_of_others, weighted
from ..data.design import Design
from ..data.elsewhere import remote_of
from ..data.frames import columns_named, not_finite
from ..data.survival import cox_of
from ..data.terms import PLAIN, Terms
from .unpenalized import without_free

# Columns whose mean is so many times larger than their spread are counted from a number of theirs, not from zero.
_FAR = 30.0
# Norms of columns and numbers of y between these are taken as they are; others are scaled by a power of two. So no
# product of them, and no square, over- or underflows.
_USUAL_X, _USUAL_Y = (1e-100, 1e100), (1e-30, 1e30)
# Sums of squares below this may have lost digits to underflow; columns that vary by less than the other are refused.
_TINY_SQUARES, _LEAST_NORM = 1e-280, 1e-200


def build_problem(
    design: Design,
    y: Vector,
    fit_intercept: bool,
    standardize: bool,
    workers: Workers,
    kept: NDArray[Any] | None = None,
    *,
    weights: NDArray[Any] | None = None,
    terms: Terms = PLAIN,
    loss: Callable[[Vector, Vector, Vector], Loss] | None = None,
    offset: Vector | None = None,
) -> Problem:
    """Read all columns once and return the problem, on all samples or a part of them, alike or with weights.

    A weight of zero leaves a sample out, and whole numbers are repetitions: lambda is alpha times the sum of weights.
    `fit_intercept` centres the columns and y. `standardize` scales every column to a mean square of one (about
    its mean with an intercept, about zero without), so that z_j'z_j = m; then columns are divided by the factors of
    their penalties. Constant columns become zero columns: those whose largest number is their smallest. Another `loss`
    than least squares is made of y, weights and offset.
    """
    columns = weighted(design.columns, as_samples(design.n_samples, weights, kept))
    m, p = shape(columns)
    total = total_weight(samples(columns))
    own, offset = weight_vector(samples(columns)), np.zeros(y.size) if offset is None else offset
    null = None if loss is None else null_model(loss(y, own, offset), fit_intercept)
    if null is None:
        response, y_size, units = _as_centred(y, own, fit_intercept)
    else:
        response, units = null.slopes, Units(0, 0, 0.0, null.constant)
        y_size = norm(samples(columns), response)
    remote = remote_of(columns)
    if remote is None:
        means, norms, xty, origins = summarize_here(columns, response, fit_intercept, workers)
    else:
        means, norms, xty, origins = remote.summarize(columns, response, fit_intercept)
    if not (np.isfinite(norms).all() and np.isfinite(xty).all()):
        raise not_finite(design.feature_names, ~(np.isfinite(norms) & np.isfinite(xty)))
    columns = _counted_from(columns, origins)
    if not fit_intercept:
        norms = np.hypot(norms, math.sqrt(total) * means)
        means[:] = 0.0
    if ((norms > 0.0) & (norms < _LEAST_NORM)).any():
        which = columns_named(design.feature_names, (norms > 0.0) & (norms < _LEAST_NORM))
        raise ValueError(f"X varies by less than {_LEAST_NORM:g}, too little to compute with in float64, in {which}")
    divisors, n_ops = (None, 0) if terms is PLAIN else (terms.divisors, terms.n_ops)
    largest = float((norms if divisors is None else norms / divisors).max(initial=0.0))
    if largest > 0.0 and not (standardize or _USUAL_X[0] < largest < _USUAL_X[1]):
        units = units._replace(x_power=-math.frexp(largest)[1])
    X: Columns = columns
    norms2 = norms  # in the same memory
    if fit_intercept or standardize or units.x_power != 0 or divisors is not None:
        factors = np.ones(p) if divisors is None else divisors
        largest = _standardize(total, response[-1], standardize, 2.0**units.x_power, means, norms2, xty, factors)
        X = Standardized(columns, read_only(means), read_only(factors))
    else:
        norms2 *= norms2
    response, xty, norms2 = map(read_only, (response, xty, norms2))
    yy = inner(samples(columns), response, response)
    units = units._replace(n_ops=(m if standardize else 0) + n_ops)
    problem = Problem(
        X, response, xty, norms2, yy,
        centred=bool(fit_intercept), largest=largest, y_size=y_size, units=units, n_samples=m, l1_ratio=terms.l1_ratio,
        **({} if null is None else {"loss": null.loss, "loss_of_null": null.value}),
    )  # fmt: skip
    if terms is PLAIN:
        return problem
    problem = problem._replace(cost=terms.cost(problem.transform, total))
    return problem if is_plain(problem.cost) else without_free(problem, workers, design.feature_names)


class Summaries(NamedTuple):
    """What one reading tells of every column, counted from its origin."""

    means: Vector
    norms: Vector  # about the mean
    xty: Vector
    origins: Vector | None  # None: all are zero


def summarize_here(columns: Columns, y: Vector, fit_intercept: bool, workers: Workers) -> Summaries:
    """Read all columns once, and those far from zero once more."""
    p = shape(columns)[1]
    means, norms, xty = np.empty(p), np.empty(p), np.empty(p)
    workers.sweep(lambda lo, hi: _summarize(columns, np.arange(lo, hi), y, means, norms, xty), column_chunks(columns))
    is_finite = np.isfinite(norms).all() and np.isfinite(xty).all()
    origins = _count_from_near(columns, y, means, norms, xty, workers) if fit_intercept and is_finite else None
    return Summaries(means, norms, xty, origins)


#: The losses by name: what makes one of y, weights and offset.
LOSSES: dict[str, Callable[[Vector, Vector, Vector], Loss] | None] = {
    "squared": None,
    "logistic": Logistic,
    "poisson": Poisson,
    "cox": cox_of,
}


class NullModel(NamedTuple):
    """The model without columns, for another loss than least squares."""

    loss: Loss
    slopes: Vector  # a sample vector
    value: float  # the loss, above the least there can be
    constant: float


def null_model(loss: Loss, fit_intercept: bool) -> NullModel:
    """Return the model of the best constant, or of none."""
    eta, slopes, curvatures = (np.zeros(loss.y.size) for _ in range(3))
    constant = float(add_best_constant(loss, eta, 1e-15)) if fit_intercept else 0.0
    fill_slopes(loss, eta, slopes, curvatures)
    if (np.abs(slopes) <= 1e-14 * loss.weights * (1.0 + np.abs(loss.y))).all():  # rounding: y is constant
        slopes[:] = 0.0
    return NullModel(loss, sample_vector(slopes), fenchel(loss, eta, slopes, 0.0)[0], constant)


def _as_centred(y: Vector, weights: Vector, fit_intercept: bool) -> tuple[Vector, float, Units]:
    """Return y as the solver has it, its size before it was centred, and the units.

    It is counted from the number of its own that is closest to its mean: what is constant is zero then.
    """
    is_in = weights > 0.0
    y = np.where(is_in, y, 0.0)  # the others have no say in the power
    largest = float(np.max(np.abs(y)))
    power = 0 if largest == 0.0 or _USUAL_Y[0] < largest < _USUAL_Y[1] else -math.frexp(largest)[1]
    y = np.ldexp(y, power)
    given, own = y[is_in], weights[is_in]
    total = np.sum(own)
    origin = float(given[np.argmin(np.abs(given - np.sum(own * given) / total))]) if fit_intercept else 0.0
    given = given - origin
    mean = float(np.sum(own * given) / total) if fit_intercept else 0.0
    response = sample_vector(np.where(is_in, weights * (y - origin - mean), 0.0))
    return response, math.sqrt(np.sum(own * given**2)), Units(0, power, origin, mean)


def _counted_from(columns: Columns, origins: Vector | None) -> Columns:
    """Return columns that are counted from their origins."""
    if origins is None:
        return columns
    whole = storage_of(columns)
    shifted = Shifted(whole, read_only(origins))
    return shifted if columns is whole else columns._replace(columns=shifted)


def _count_from_near(
    columns: Columns, y: Vector, means: Vector, norms: Vector, xty: Vector, workers: Workers
) -> Vector | None:
    """Return a number of their own for columns far from zero, and fill in what changes if they are counted from it."""
    p = means.size
    far = _far_columns(math.sqrt(total_weight(samples(columns))) / _FAR, means, norms)
    if far.size == 0:
        return None
    origins = np.zeros(p)
    cuts = even_cuts(far.size, far.size * max(1, nbytes(columns) // p))
    workers.map(lambda lo, hi: _find_origins(columns, far[lo:hi], y.size - 1, means, norms, origins), cuts)
    if not isinstance(storage_of(columns), Dense | Csc | Beside) or not origins.any():  # genotypes are small numbers
        return None
    near = _counted_from(columns, origins)
    far = far[origins[far] != 0.0]
    cuts = even_cuts(far.size, far.size * max(1, nbytes(columns) // p))
    workers.map(lambda lo, hi: _summarize(near, far[lo:hi], y, means, norms, xty), cuts)
    return origins


@kernel
def _far_columns(ratio: float, means: Vector, norms: Vector) -> NDArray[np.int64]:
    """Return the columns with |mean| ratio > norm; no temporary of size p."""
    n = 0
    for j in range(means.size):
        n += abs(means[j]) * ratio > norms[j]
    far, n = np.empty(n, np.int64), 0
    for j in range(means.size):
        if abs(means[j]) * ratio > norms[j]:
            far[n] = j
            n += 1
    return far


@kernel
def _summarize(X: Columns, columns: NDArray[np.int64], y: Vector, means: Vector, norms: Vector, xty: Vector) -> None:
    """Fill the mean of some columns, the root of their sum of squares about it, and x_j'y."""
    for k in range(columns.size):
        j = columns[k]
        fetch_listed(X, columns, k)
        means[j], squares = column_moments(X, j)
        norms[j] = _small_norm(X, j, means[j]) if squares < _TINY_SQUARES else np.sqrt(squares)
        xty[j] = dot_column(X, j, y)


@kernel
def _small_norm(X: Columns, j: int, mean: float) -> float:
    """Return the root of the sum of squares about the mean, where the squares themselves may underflow."""
    own = samples(X)
    largest = weight_there = 0.0
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        weight_there += weight(own, i)
        if weight(own, i) > 0.0:
            largest = max(largest, abs(value - mean))
    of_others = weight_of_others(own, X, j, weight_there)  # of a sparse column: zeros
    largest = max(largest, abs(mean)) if of_others > 0.0 else largest
    if largest == 0.0:
        return 0.0
    squares = of_others * (mean / largest) ** 2
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        squares += weight(own, i) * ((value - mean) / largest) ** 2
    return float(largest * np.sqrt(squares))


@kernel
def _find_origins(
    X: Columns, columns: NDArray[np.int64], n_rows: int, means: Vector, norms: Vector, origins: Vector
) -> None:
    """Fill the number closest to the mean for columns of which all entries are stored; those of constants are zero."""
    own = samples(X)
    for j in columns:
        smallest, largest, nearest = np.inf, -np.inf, np.inf
        n_there = 0
        for k in range(column_entries(X, j)):
            i, value = column_entry(X, j, k)
            if weight(own, i) > 0.0:
                n_there += 1
                smallest, largest = min(smallest, value), max(largest, value)
                if abs(value - means[j]) < abs(nearest - means[j]):
                    nearest = value
        if n_there < n_samples(own):
            smallest, largest = min(smallest, 0.0), max(largest, 0.0)
        if smallest == largest:
            norms[j] = 0.0
        elif column_entries(X, j) == n_rows:
            origins[j] = nearest


@kernel
def _standardize(
    m: float, y_sum: float, unit: bool, scale: float, means: Vector, norms: Vector, xty: Vector, factors: Vector
) -> float:
    """Divide f_j of z_j = f_j (x_j - mu_j 1) by the factors; turn x_j'y into z_j'y, norms of x_j into z_j'z_j.

    Return the largest f_j ||x_j||. Constant columns, and those of an infinite factor, have f_j = 0.
    """
    largest2 = 0.0
    for j in range(means.size):
        factor = 0.0
        if norms[j] > 0.0:
            factor = (np.sqrt(m) / norms[j] if unit else scale) / factors[j]
        factors[j] = factor
        xty[j] = factor * (xty[j] - means[j] * y_sum)
        norms[j] = (factor * norms[j]) ** 2
        largest2 = max(largest2, norms[j] + m * (factor * means[j]) ** 2)
    return float(np.sqrt(largest2))

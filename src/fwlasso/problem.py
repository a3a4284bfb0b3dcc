"""What is given: the design, the response and what one pass over them tells."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from ._jit import kernel
from .columns import (
    Columns,
    Csc,
    Dense,
    Masked,
    Shifted,
    Standardized,
    Stored,
    Vector,
    column_entries,
    column_entry,
    column_moments,
    cut_columns,
    dot_column,
    holds,
    masked,
    nbytes,
    read_only,
    sample_vector,
    shape,
)
from .design import Design
from .frames import listed
from .parallel import Workers, even_cuts

# Columns whose mean is so many times larger than their spread are counted from a number of theirs, not from zero.
_FAR = 30.0
# Norms of columns and numbers of y between these are taken as they are; others are scaled by a power of two. So no
# product of them, and no square, over- or underflows.
_USUAL_X, _USUAL_Y = (1e-100, 1e100), (1e-30, 1e30)
# Sums of squares below this may have lost digits to underflow; columns that vary by less than the other are refused.
_TINY_SQUARES, _LEAST_NORM = 1e-280, 1e-200
# Of numbers below this, float64 holds no more than forty bits.
_FEWEST_DIGITS = 2.0**-1034


class Units(NamedTuple):
    """What was done to the numbers of users: all of it exact, but for y_mean.

    The solver has z_j = f_j (x_j - o_j - mu_j) and 2^y_power y - y_origin - y_mean, and f_j = 2^x_power unless columns
    are standardised. Powers are zero for numbers of any ordinary size.
    """

    x_power: int
    y_power: int
    y_origin: float
    y_mean: float
    standardized: bool

    @property
    def coef_power(self) -> int:
        """Coefficients of users are 2^coef_power times those of the solver, for the columns as the solver has them."""
        return self.x_power - self.y_power

    @property
    def penalty_power(self) -> int:
        """A penalty of users, m alpha, is lambda after multiplication with 2^penalty_power."""
        return self.x_power + self.y_power


class Problem(NamedTuple):
    """Least squares of `y` on the columns z_j of `X`: built once per path, never changed.

    With an intercept the columns and `y` are centred, and the intercept follows from their means.
    """

    X: Columns
    y: Vector  # with its sum: see columns.sample_vector
    xty: Vector  # z_j'y, the paper's sigma_j
    norms2: Vector  # z_j'z_j
    yy: float  # y'y
    centred: bool  # whether columns and y are centred
    largest: float  # the largest of the sizes of columns, see `sizes`
    y_size: float  # ||y|| before it was centred, counted from its origin
    units: Units
    n_samples: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        return self.n_samples, self.xty.size

    @property
    def nbytes(self) -> int:
        """Bytes of the design matrix, read in one pass."""
        return nbytes(self.X)

    @property
    def null_loss(self) -> float:
        """1/2 y'y, the loss of a = 0 and what relative gaps are relative to; one where y is zero."""
        return 0.5 * self.yy or 1.0

    @property
    def lambda_max(self) -> float:
        """The smallest penalty with a zero solution: ||X'y||_inf."""
        return float(max(np.max(self.xty, initial=0.0), -np.min(self.xty, initial=0.0)))  # no temporary of size p

    def sizes(self, columns: NDArray[np.int64]) -> Vector:
        """Return f_j ||x_j - o_j|| of some columns, before they are centred: what rounding is relative to."""
        norms2 = self.norms2[columns]
        if isinstance(self.X, Standardized) and self.centred:
            norms2 = norms2 + self.shape[0] * (self.X.factors[columns] * self.X.means[columns]) ** 2
        return np.sqrt(norms2)

    def to_user_units(
        self, indptr: NDArray[np.int64], columns: NDArray[np.int64], weights: Vector
    ) -> tuple[Vector, Vector]:
        """Return the coefficients of the user's columns, and the intercepts, of points as the parts of a CSC matrix.

        X b + b0 = Z w + y_mean with z_j = f_j (x_j - mu_j 1) gives b_j = f_j w_j, b0 = y_mean - sum mu_j b_j. Means are
        sums of two numbers, and what they make may cancel: all of it is added up in long double.
        """
        n, units = indptr.size - 1, self.units
        mean = np.ldexp(np.longdouble(units.y_mean), -units.y_power) + np.ldexp(units.y_origin, -units.y_power)
        if not isinstance(self.X, Standardized):
            return in_user_units(weights, -units.y_power), np.full(n, float(mean))
        coefs = in_user_units(self.X.factors[columns] * weights, -units.y_power)
        if not self.centred:
            return coefs, np.zeros(n)
        means = self.X.means[columns].astype(np.longdouble) + _origins(self.X)[columns]
        sums = np.add.reduceat(np.append(means * coefs, np.longdouble(0.0)), indptr[:-1])
        sums[indptr[1:] == indptr[:-1]] = 0.0  # of no terms, `reduceat` takes the next one
        return coefs, in_user_units(mean - sums, 0, least=0.0)

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient and w_j = b_j / f_j; constant columns have none."""
        indices = np.flatnonzero(coefs)
        indices = indices[self.norms2[indices] > 0.0]
        weights = np.ldexp(coefs[indices], self.units.y_power)
        return indices, weights / self.X.factors[indices] if isinstance(self.X, Standardized) else weights


def in_user_units(values: NDArray[np.floating[Any]], power: int, *, least: float = _FEWEST_DIGITS) -> Vector:
    """Return 2^power values, or raise a ValueError where float64 has no room for them: the largest is below `least`."""
    with np.errstate(over="ignore", under="ignore"):
        scaled: Vector = np.ldexp(values, power).astype(np.float64)
    largest = np.max(np.abs(scaled), initial=0.0)
    if not (least <= largest < np.inf or not values.any()):
        raise ValueError(
            "X and y: their numbers are so far apart in size, or both so large or so small, that float64 cannot hold "
            "what follows from them. Scale them"
        )
    return scaled


def _origins(X: Standardized) -> Vector:
    """Return what the columns are counted from."""
    inner = X.columns.columns if isinstance(X.columns, Masked) else X.columns
    return inner.origins if isinstance(inner, Shifted) else np.zeros(X.means.size)


@kernel
def rank_bound(problem: Problem) -> int:
    """Return how many columns can be independent: as many as there are samples, less one for the intercept."""
    return int(problem.n_samples - problem.centred)


def as_response(y: Any, n_samples: int) -> Vector:
    """Return y as finite float64 of length `n_samples`, or raise a ValueError that names it."""
    if y is None:
        raise ValueError("y is None: this estimator requires y to be passed, but the target y is None")
    response = column_or_1d(y, dtype=np.float64, warn=True)
    check_consistent_length(np.empty(n_samples), response)
    if not np.isfinite(response).all():
        raise ValueError("y contains NaN or infinity")
    return np.asarray(response)


def build_problem(
    design: Design,
    y: Vector,
    fit_intercept: bool,
    standardize: bool,
    workers: Workers,
    kept: NDArray[np.bool_] | None = None,
) -> Problem:
    """Read all columns once and return the problem, of all samples or of those that are `kept`.

    `fit_intercept` centres the columns and y. `standardize` scales every column to a mean square of one (about
    its mean with an intercept, about zero without), so that z_j'z_j = m. Constant columns become zero columns: those
    whose largest number is their smallest.
    """
    columns = masked(design.columns, kept)
    m, p = shape(columns)
    response, y_size, units = _as_centred(y, kept, fit_intercept, standardize)
    means, norms, xty = np.empty(p), np.empty(p), np.empty(p)
    workers.sweep(
        lambda lo, hi: _summarize(columns, np.arange(lo, hi), response, means, norms, xty), cut_columns(columns)
    )
    if not (np.isfinite(norms).all() and np.isfinite(xty).all()):
        raise ValueError(
            "X contains NaN, infinity or values too large for their squares to be finite, in "
            + _named(design, ~(np.isfinite(norms) & np.isfinite(xty)))
        )
    if fit_intercept:
        columns = _counted_from_near(columns, response, means, norms, xty, workers)
    else:
        norms = np.hypot(norms, math.sqrt(m) * means)
        means[:] = 0.0
    if ((norms > 0.0) & (norms < _LEAST_NORM)).any():
        which = _named(design, (norms > 0.0) & (norms < _LEAST_NORM))
        raise ValueError(f"X varies by less than {_LEAST_NORM:g}, too little to compute with in float64, in {which}")
    largest = float(norms.max(initial=0.0))
    if largest > 0.0 and not (standardize or _USUAL_X[0] < largest < _USUAL_X[1]):
        units = units._replace(x_power=-math.frexp(largest)[1])
    X: Columns = columns
    norms2 = norms  # in the same memory
    if fit_intercept or standardize or units.x_power != 0:
        factors = np.empty(p)
        largest = _standardize(m, response[-1], standardize, 2.0**units.x_power, means, norms2, xty, factors)
        X = Standardized(columns, read_only(means), read_only(factors))
    else:
        norms2 *= norms2
    response, xty, norms2 = map(read_only, (response, xty, norms2))
    yy = float(np.sum(response[:-1] ** 2))  # not by BLAS: its threads round differently, and spin beside ours
    return Problem(X, response, xty, norms2, yy, bool(fit_intercept), largest, y_size, units, m)


def _named(design: Design, which: NDArray[np.bool_]) -> str:
    """Return the columns that are meant, by their names or numbers."""
    p = which.size
    bad = [(design.feature_names or range(p))[j] for j in np.flatnonzero(which)]
    return f"{'column' if len(bad) == 1 else 'columns'} {listed(bad)}"


def _as_centred(
    y: Vector, kept: NDArray[np.bool_] | None, fit_intercept: bool, standardize: bool
) -> tuple[Vector, float, Units]:
    """Return y as the solver has it, its size before it was centred, and the units.

    It is counted from the number of its own that is closest to its mean: what is constant is zero then.
    """
    y = y if kept is None else np.where(kept, y, 0.0)  # the others have no say in the power
    largest = float(np.max(np.abs(y)))
    power = 0 if largest == 0.0 or _USUAL_Y[0] < largest < _USUAL_Y[1] else -math.frexp(largest)[1]
    y = np.ldexp(y, power)
    given = y if kept is None else y[kept]
    origin = float(given[np.argmin(np.abs(given - np.mean(given)))]) if fit_intercept else 0.0
    given = given - origin
    mean = float(np.mean(given)) if fit_intercept else 0.0
    response = sample_vector(y - origin - mean if kept is None else np.where(kept, y - origin - mean, 0.0))
    return response, math.sqrt(np.sum(given**2)), Units(0, power, origin, mean, bool(standardize))


def _counted_from_near(
    columns: Stored, y: Vector, means: Vector, norms: Vector, xty: Vector, workers: Workers
) -> Stored:
    """Return the columns with those far from zero counted from a number of their own, and fill in what that changes."""
    m, p = shape(columns)
    far = _far_columns(math.sqrt(m) / _FAR, means, norms)
    if far.size == 0:
        return columns
    origins = np.zeros(p)
    cuts = even_cuts(far.size, far.size * max(1, nbytes(columns) // p))
    workers.run(lambda lo, hi: _find_origins(columns, far[lo:hi], y.size - 1, means, norms, origins), cuts)
    whole = columns.columns if isinstance(columns, Masked) else columns
    if not isinstance(whole, Dense | Csc) or not origins.any():  # genotypes are small numbers
        return columns
    shifted = Shifted(whole, read_only(origins))
    near: Stored = columns._replace(columns=shifted) if isinstance(columns, Masked) else shifted
    far = far[origins[far] != 0.0]
    cuts = even_cuts(far.size, far.size * max(1, nbytes(columns) // p))
    workers.run(lambda lo, hi: _summarize(near, far[lo:hi], y, means, norms, xty), cuts)
    return near


@kernel
def _far_columns(share: float, means: Vector, norms: Vector) -> NDArray[np.int64]:
    """Return the columns with |mean| share > norm; no temporary of size p."""
    n = 0
    for j in range(means.size):
        n += abs(means[j]) * share > norms[j]
    far, n = np.empty(n, np.int64), 0
    for j in range(means.size):
        if abs(means[j]) * share > norms[j]:
            far[n] = j
            n += 1
    return far


@kernel
def _summarize(X: Stored, columns: NDArray[np.int64], y: Vector, means: Vector, norms: Vector, xty: Vector) -> None:
    """Fill the mean of some columns, the root of their sum of squares about it, and x_j'y."""
    for j in columns:
        means[j], squares = column_moments(X, j)
        norms[j] = _small_norm(X, j, means[j]) if squares < _TINY_SQUARES else np.sqrt(squares)
        xty[j] = dot_column(X, j, y)


@kernel
def _small_norm(X: Stored, j: int, mean: float) -> float:
    """Return the root of the sum of squares about the mean, where the squares themselves may underflow."""
    largest = n_there = 0.0
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        n_there += holds(X, i)
        largest = max(largest, abs(value - mean) * holds(X, i))
    n_others = shape(X)[0] - n_there  # of a sparse column: zeros
    largest = max(largest, abs(mean)) if n_others > 0.0 else largest
    if largest == 0.0:
        return 0.0
    squares = n_others * (mean / largest) ** 2
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        squares += holds(X, i) * ((value - mean) / largest) ** 2
    return float(largest * np.sqrt(squares))


@kernel
def _find_origins(
    X: Stored, columns: NDArray[np.int64], n_rows: int, means: Vector, norms: Vector, origins: Vector
) -> None:
    """Fill the number closest to the mean for columns of which all entries are stored; those of constants are zero."""
    for j in columns:
        smallest, largest, nearest = np.inf, -np.inf, np.inf
        n_there = 0.0
        for k in range(column_entries(X, j)):
            i, value = column_entry(X, j, k)
            if holds(X, i) > 0.0:
                n_there += 1.0
                smallest, largest = min(smallest, value), max(largest, value)
                if abs(value - means[j]) < abs(nearest - means[j]):
                    nearest = value
        if n_there < shape(X)[0]:
            smallest, largest = min(smallest, 0.0), max(largest, 0.0)
        if smallest == largest:
            norms[j] = 0.0
        elif column_entries(X, j) == n_rows:
            origins[j] = nearest


@kernel
def _standardize(
    m: int, y_sum: float, unit: bool, scale: float, means: Vector, norms: Vector, xty: Vector, factors: Vector
) -> float:
    """Fill f_j of z_j = f_j (x_j - mu_j 1), turn x_j'y into z_j'y and norms of x_j into squared norms of z_j.

    Return the largest f_j ||x_j||. Constant columns have f_j = 0.
    """
    largest2 = 0.0
    for j in range(means.size):
        factor = 0.0
        if norms[j] > 0.0:
            factor = np.sqrt(m) / norms[j] if unit else scale
        factors[j] = factor
        xty[j] = factor * (xty[j] - means[j] * y_sum)
        norms[j] = (factor * norms[j]) ** 2
        largest2 = max(largest2, norms[j] + m * (factor * means[j]) ** 2)
    return float(np.sqrt(largest2))

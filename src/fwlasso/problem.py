"""What is given: the design, the response and what one pass over them tells."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from ._jit import kernel
from .columns import (
    Columns,
    Standardized,
    Stored,
    Vector,
    column_moments,
    cut_columns,
    dot_column,
    masked,
    nbytes,
    read_only,
    sample_vector,
    shape,
)
from .design import Design
from .frames import listed
from .parallel import Workers


class Problem(NamedTuple):
    """Least squares of `y` on the columns z_j of `X`: built once per path, never changed.

    With an intercept the columns and `y` are centred, and the intercept follows from their means.
    """

    X: Columns
    y: Vector  # with its sum: see columns.sample_vector
    xty: Vector  # z_j'y, the paper's sigma_j
    norms2: Vector  # z_j'z_j
    yy: float  # y'y
    y_mean: float  # what was subtracted from y
    centred: bool  # whether columns and y are centred

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        m, p = shape(self.X)
        return m, p

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

    def to_user_units(
        self, indptr: NDArray[np.int64], columns: NDArray[np.int64], weights: Vector
    ) -> tuple[Vector, Vector]:
        """Return the coefficients of the user's columns, and the intercepts, of points as the parts of a CSC matrix.

        X b + b0 = Z w + y_mean with z_j = f_j (x_j - mu_j 1) gives b_j = f_j w_j, b0 = y_mean - sum mu_j b_j.
        """
        n = indptr.size - 1
        intercepts = np.full(n, self.y_mean)
        if not isinstance(self.X, Standardized):
            return weights, intercepts
        coefs = self.X.factors[columns] * weights
        point_of = np.repeat(np.arange(n), np.diff(indptr))
        intercepts -= np.bincount(point_of, weights=self.X.means[columns] * coefs, minlength=n)
        return coefs, intercepts

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient and w_j = b_j / f_j; constant columns have none."""
        indices = np.flatnonzero(coefs)
        if not isinstance(self.X, Standardized):
            return indices, coefs[indices]
        factors = self.X.factors[indices]
        return indices[factors > 0.0], coefs[indices[factors > 0.0]] / factors[factors > 0.0]


@kernel
def rank_bound(problem: Problem) -> int:
    """Return how many columns can be independent: as many as there are samples, less one for the intercept."""
    return int(shape(problem.X)[0] - problem.centred)


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
    its mean with an intercept, about zero without), so that z_j'z_j = m. Constant columns become zero columns.
    """
    columns = masked(design.columns, kept)
    m, p = shape(columns)
    y_mean = float(np.mean(y if kept is None else y[kept])) if fit_intercept else 0.0
    response = sample_vector(y - y_mean if kept is None else np.where(kept, y - y_mean, 0.0))
    if np.abs(response[:-1]).max() <= m * np.finfo(np.float64).eps * abs(y_mean):
        response[:] = 0.0  # a constant y: what is left of it is the rounding of its mean
    means, norms2, xty = np.empty(p), np.empty(p), np.empty(p)
    finite = workers.sweep(
        lambda lo, hi: _summarize(columns, response, lo, hi, means, norms2, xty), cut_columns(columns)
    )
    if not all(finite):
        names = design.feature_names or range(p)
        bad = [names[j] for j in np.flatnonzero(~(np.isfinite(norms2) & np.isfinite(xty)))]
        raise ValueError(
            "X contains NaN, infinity or values too large for their squares to be finite, in "
            f"{'column' if len(bad) == 1 else 'columns'} {listed(bad)}"
        )
    if not fit_intercept:
        _add_means(m, means, norms2)
    X: Columns = columns
    if fit_intercept or standardize:
        factors = np.empty(p)
        _standardize(m, response[-1], standardize, means, norms2, xty, factors)
        X = Standardized(columns, read_only(means), read_only(factors))
    response, xty, norms2 = map(read_only, (response, xty, norms2))
    with np.errstate(over="ignore"):
        yy = float(np.sum(response[:-1] ** 2))  # not by BLAS: its threads round differently, and spin beside ours
    if not np.isfinite(yy):
        raise ValueError("y has values too large for their squares to be finite")
    return Problem(X, response, xty, norms2, yy, y_mean, bool(fit_intercept))


@kernel
def _summarize(X: Stored, y: Vector, lo: int, hi: int, means: Vector, squares: Vector, xty: Vector) -> bool:
    """Fill mean, sum of squares about it and x_j'y for columns lo..hi; tell whether all are finite."""
    finite = True
    for j in range(lo, hi):
        means[j], squares[j] = column_moments(X, j)
        xty[j] = dot_column(X, j, y)
        finite = finite and np.isfinite(squares[j]) and np.isfinite(xty[j])
    return finite


@kernel
def _add_means(m: int, means: Vector, norms2: Vector) -> None:
    """Turn sums of squares about the means into sums of squares about zero, and the means into zeros."""
    for j in range(means.size):
        norms2[j] += m * means[j] ** 2
        means[j] = 0.0


@kernel
def _standardize(m: int, y_sum: float, unit: bool, means: Vector, norms2: Vector, xty: Vector, factors: Vector) -> None:
    """Fill f_j of z_j = f_j (x_j - mu_j 1), and turn x_j'y and the norms into those of z_j.

    A column whose variation is no more than the rounding of its mean is constant: f_j = 0.
    """
    for j in range(means.size):
        rounding = m * (m * 2.2e-16 * means[j]) ** 2
        factor = 0.0
        if norms2[j] > rounding:
            factor = np.sqrt(m / norms2[j]) if unit else 1.0
        factors[j] = factor
        xty[j] = factor * (xty[j] - means[j] * y_sum)
        norms2[j] *= factor**2

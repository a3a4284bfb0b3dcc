"""The problem that is solved, as kernels see it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .columns import Columns, Matrix, Vector, nbytes, samples, storage_of
from .costs import Cost, Plain, largest_pull
from .csc import Csc
from .losses import Loss, Squared
from .samples import Samples, total_weight
from .standardized import Standardized, origins_of

# Below 2^-1022 float64 holds fewer digits: what is lost there is less than the rounding of a number of this size.
_ALL_DIGITS = 2.0**-1000


class Units(NamedTuple):
    """What was done to the numbers of users: all of it exact, but for y_mean.

    The solver has z_j = f_j (x_j - o_j - mu_j) and 2^y_power y - y_origin - y_mean, and f_j = 2^x_power unless columns
    are standardised, or divided by factors of their penalties. Powers are zero for numbers of any ordinary size.
    """

    x_power: int
    y_power: int
    y_origin: float
    y_mean: float
    n_ops: int = 0  # roundings in f_j

    @property
    def coef_power(self) -> int:
        """Coefficients of users are 2^coef_power times those of the solver, for the columns as the solver has them."""
        return self.x_power - self.y_power

    @property
    def penalty_power(self) -> int:
        """A penalty of users, m alpha, is lambda after multiplication with 2^penalty_power."""
        return self.x_power + self.y_power


class NullFit(NamedTuple):
    """Columns U without a penalty, sqrt(W) U = Q R, and what they explain of y by themselves: R coefs = Q'y."""

    columns: NDArray[np.int64] = np.empty(0, np.int64)  # by their numbers, or their places
    coefs: Vector = np.empty(0)
    Q: Matrix = np.empty((0, 0))
    R: Matrix = np.empty((0, 0))

    def explain(self, v: Vector) -> tuple[Vector, Vector]:
        """Return the coefficients of what U explains of sqrt(W) r, R^-1 Q'v, and that itself."""
        products = self.Q.T @ v
        return solve_triangular(self.R, products, check_finite=False), self.Q @ products


class Problem(NamedTuple):
    """Least squares of `y` on the columns z_j of `X`: built once per path, never changed.

    With an intercept the columns and `y` are centred, and the intercept follows from their means. Likewise `y` is the
    residual of columns without a penalty, and the coefficients of these are counted from those of the null model. For
    another loss, which has its samples, `y` are the slopes of the null model.
    """

    X: Columns
    y: Vector  # with its sum: see samples.sample_vector
    xty: Vector  # z_j'y, the paper's sigma_j
    norms2: Vector  # z_j'z_j
    yy: float  # y'y
    centred: bool  # whether columns and y are centred
    largest: float  # the largest of the sizes of columns, see `sizes`
    y_size: float  # ||y|| before it was centred, counted from its origin: what its rounding is relative to
    units: Units
    n_samples: int  # of which the weight is not zero
    cost: Cost = Plain()
    l1_ratio: float = 1.0  # lambda is alpha times the total weight times that
    loss: Loss = Squared()
    loss_of_null: float = 0.0  # of another loss than least squares, above the least there can be
    null: NullFit = NullFit()

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        return self.n_samples, self.xty.size

    @property
    def samples(self) -> Samples:
        """The samples and their weights."""
        return samples(self.X)  # type: ignore[no-any-return]

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the samples: lambda is so many times alpha."""
        return total_weight(self.samples)  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Bytes of the design matrix, read in one pass."""
        return nbytes(self.X)

    @property
    def n_entries(self) -> int:
        """Numbers of the design matrix, read in one pass."""
        X = storage_of(self.X)
        return int(X.data.size) if isinstance(X, Csc) else self.xty.size * (self.y.size - 1)

    @property
    def null_loss(self) -> float:
        """1/2 y'y, the loss of a = 0 and what relative gaps are relative to; one where y is zero."""
        return self.loss_of_null or 0.5 * self.yy or 1.0

    @property
    def lambda_max(self) -> float:
        """The smallest penalty with a zero solution: ||X'y||_inf for the Lasso."""
        return float(largest_pull(self.cost, self.xty))

    def sizes(self, columns: NDArray[np.int64]) -> Vector:
        """Return f_j ||x_j - o_j|| of some columns, before they are centred: what rounding is relative to."""
        return sizes_of(self.X, columns, self.norms2[columns])

    def to_user_units(
        self, indptr: NDArray[np.int64], columns: NDArray[np.int64], scaled: Vector
    ) -> tuple[Vector, Vector]:
        """Return the coefficients of the user's columns, and the intercepts, of points as the parts of a CSC matrix.

        X b + b0 = Z w + y_mean with z_j = f_j (x_j - mu_j 1) gives b_j = f_j w_j, b0 = y_mean - sum mu_j b_j. Means are
        sums of two numbers, and what they make may cancel: all of it is added up in long double.
        """
        n, units = indptr.size - 1, self.units
        mean = np.ldexp(np.longdouble(units.y_mean), -units.y_power) + np.ldexp(units.y_origin, -units.y_power)
        if not isinstance(self.X, Standardized):
            return in_user_units(scaled, -units.y_power), np.full(n, float(mean))
        coefs = in_user_units(self.X.factors[columns] * scaled, -units.y_power, of=scaled)
        if not self.centred:
            return coefs, np.zeros(n)
        means = self.X.means[columns].astype(np.longdouble) + origins_of(self.X)[columns]
        sums = np.add.reduceat(np.append(means * coefs, np.longdouble(0.0)), indptr[:-1])
        sums[indptr[1:] == indptr[:-1]] = 0.0  # of no terms, `reduceat` takes the next one
        return coefs, in_user_units(mean - sums, 0, least=0.0)

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient and w_j = b_j / f_j; constant columns have none."""
        indices = np.flatnonzero(coefs)
        indices = indices[self.norms2[indices] > 0.0]
        scaled = np.ldexp(coefs[indices], self.units.y_power)
        scaled = scaled / self.X.factors[indices] if isinstance(self.X, Standardized) else scaled
        return self.counted(indices, scaled)

    def counted(self, columns: NDArray[np.int64], coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return coefficients counted from those of the null model."""
        if self.null.columns.size == 0:
            return columns, coefs
        counted = np.zeros(self.xty.size)
        counted[columns] = coefs
        counted[self.null.columns] -= self.null.coefs
        columns = np.flatnonzero(counted)
        return columns, counted[columns]


def sizes_of(X: Columns, columns: NDArray[np.int64], norms2: Vector) -> Vector:
    """Return `Problem.sizes` of some columns, given their z_j'z_j."""
    if isinstance(X, Standardized):  # means are zero where columns are not centred
        norms2 = norms2 + total_weight(samples(X)) * (X.factors[columns] * X.means[columns]) ** 2
    return np.sqrt(norms2)


def in_user_units(
    values: NDArray[np.floating[Any]], power: int, *, of: Vector | None = None, least: float = _ALL_DIGITS
) -> Vector:
    """Return 2^power values, or raise a ValueError where float64 has no room for them: the largest is below `least`.

    `of` is what the values were made of, if they may be zero by underflow.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled: Vector = np.ldexp(values, power).astype(np.float64)
    largest = np.max(np.abs(scaled), initial=0.0)
    if not (least <= largest < np.inf or not (values if of is None else of).any()):
        raise ValueError(
            "X and y: their numbers differ so much in size, or are both so large or so small, that float64 cannot hold "
            "the results. Scale them"
        )
    return scaled

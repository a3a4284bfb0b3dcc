"""The problem that is solved, as kernels see it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .columns import Columns, Matrix, Vector, nbytes, samples, storage_of
from .costs import Cost, Plain, largest_pull
from .csc import Csc
from .elsewhere import Elsewhere
from .losses import Loss, Squared
from .samples import Samples, total_weight
from .standardized import Standardized, origins_of
from .transform import Transform, Units


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
        if isinstance(X, Elsewhere):
            return int(X.entries.sum())
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

    @property
    def transform(self) -> Transform:
        """What leads from the columns of users to z_j."""
        X, units, zero = self.X, self.units, np.broadcast_to(0.0, self.xty.size)
        y_origin, y_mean = (float(np.ldexp(number, -units.y_power)) for number in (units.y_origin, units.y_mean))
        if not isinstance(X, Standardized):
            factors = np.ldexp((self.norms2 > 0.0).astype(np.float64), -units.y_power)
            return Transform(factors, zero, zero, y_origin, y_mean, units)
        factors = X.factors if units.y_power == 0 else np.ldexp(X.factors, -units.y_power)
        return Transform(factors, origins_of(X), X.means, y_origin, y_mean, units)

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient, and that of z_j."""
        return self.counted(*self.transform.from_user_units(coefs))

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

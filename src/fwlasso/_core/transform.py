"""Between the columns and the response of users and those that a solver has: one record, of both routes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Vector
from .jit import kernel_in_order

# Below 2^-1022 float64 holds fewer digits: what is lost there is less than the rounding of a number of this size.
_ALL_DIGITS = 2.0**-1000
# Products of numbers between these have a rounding that float64 holds; by this, two of them are brought there.
_SMALL, _LARGE, _ENLARGE = 1e-140, 1e140, 2.0**512


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


class Transform(NamedTuple):
    """z_j = f_j (x_j - o_j - mu_j 1) of the columns of users, and 2^y_power (y - y_origin - y_mean).

    Each route has powers of two of its own: where rows are summed, squares of every column are in range of float64;
    where columns are read, all have one power, and their products with vectors are in it.
    """

    factors: Vector  # 2^-y_power f_j: coefficients are so many times those of z_j; zero for columns that do not vary
    origins: Vector  # o_j, exact
    means: Vector  # mu_j, those of x_j - o_j
    y_origin: float  # in units of users, as is y_mean
    y_mean: float
    units: Units

    def to_user_units(self, indptr: NDArray[np.int64], columns: NDArray[np.int64], a: Vector) -> tuple[Vector, Vector]:
        """Return the coefficients of the user's columns, and the intercepts, of points as the parts of a CSC matrix.

        They are b_j = factors_j a_j and b0 = y_origin + y_mean - sum (o_j + mu_j) b_j. What these make may cancel:
        all of it is added up as if with twice the digits.
        """
        with np.errstate(over="ignore"):
            coefs = in_user_units(self.factors[columns] * a, 0, of=a)
        intercepts = np.empty(indptr.size - 1)
        _fill_intercepts(
            indptr, self.origins[columns], self.means[columns], coefs, self.y_origin, self.y_mean, intercepts
        )
        return coefs, in_user_units(intercepts, 0, least=0.0)

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient b_j and a_j = b_j / factors_j; constant columns have none."""
        columns = np.flatnonzero(coefs)
        columns = columns[self.factors[columns] > 0.0]
        return columns, coefs[columns] / self.factors[columns]


def in_user_units(values: Vector, power: int, *, of: Vector | None = None, least: float = _ALL_DIGITS) -> Vector:
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


@kernel_in_order
def _add_product(total: float, a: float, b: float) -> tuple[float, float]:
    """Return total + a b rounded, and what both roundings took: Dekker's product, of halves with 26 bits."""
    if abs(a) < _SMALL < _LARGE < abs(b):
        a, b = a * _ENLARGE, b / _ENLARGE
    elif abs(b) < _SMALL < _LARGE < abs(a):
        a, b = a / _ENLARGE, b * _ENLARGE
    product, lost = a * b, 0.0
    if _SMALL < abs(a) < _LARGE and _SMALL < abs(b) < _LARGE:
        a_high, b_high = 134217729.0 * a, 134217729.0 * b
        a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
        a_low, b_low = a - a_high, b - b_high
        lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    added = total + product
    back = added - total
    return added, lost + ((total - (added - back)) + (product - back))


@kernel_in_order
def _fill_intercepts(
    indptr: NDArray[np.int64],
    origins: Vector,
    means: Vector,
    coefs: Vector,
    y_origin: float,
    y_mean: float,
    intercepts: Vector,
) -> None:
    """Fill y_origin + y_mean - sum (origin + mean) b; what the rounding of every step took is added at the end."""
    for k in range(intercepts.size):
        total, rest = _add_product(y_origin, y_mean, 1.0)
        for e in range(indptr[k], indptr[k + 1]):
            for shift in (origins[e], means[e]):
                total, lost = _add_product(total, shift, -coefs[e])
                rest += lost
        intercepts[k] = total + rest

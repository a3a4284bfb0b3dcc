"""From sums over rows to the moments of centred and standardised columns, and back to the user's units."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.costs import Plain
from .._core.jit import kernel_in_order
from .._core.moments import Matrix, Moments, Vector, gamma
from .._core.problem import Units
from ..data.terms import PLAIN, Terms
from .blocks import Coordinates, Mask
from .row_sums import RowSums

# Norms are no smaller than sqrt(m) times this: rounding of the least numbers is relative to nothing else.
_LEAST_NORM = 2.0**-510
# Relative rounding of a column's squares up to which a bound of it is worth having.
_RESOLVED = 0.01


class Centre(NamedTuple):
    """What leads from columns in the coordinates of their sums to those that `Moments` are of, and back to the user's.

    z_j = factors_j (x_j - means_j 1), and y - y_mean 1. Lambda is x_scale y_scale times that of the user's problem:
    both are one but for numbers whose squares leave the range of float64.
    """

    coordinates: Coordinates
    means: Vector
    y_mean: float
    factors: Vector  # zero for columns that do not vary
    x_scale: float  # of all columns; one where they are standardised
    is_rounded: bool  # factors are

    @property
    def y_scale(self) -> float:
        """What y was multiplied by."""
        return float(self.coordinates.scales[-1])

    @property
    def units(self) -> Units:
        """How penalties, radii and coefficients of users follow from those of z_j."""
        x_power, y_power = (math.frexp(scale)[1] - 1 for scale in (self.x_scale, self.y_scale))
        return Units(x_power, y_power, float(self.coordinates.shifts[-1]), self.y_mean)

    @property
    def factors_of_x(self) -> Vector:
        """The factors f_j of z_j = f_j (x_j - mean_j) with the columns of users."""
        return self.factors * self.coordinates.scales[1:-1]

    def to_user_units(
        self, indptr: NDArray[np.int64], columns: NDArray[np.int64], weights: Vector
    ) -> tuple[Vector, Vector]:
        """Return the coefficients of the user's columns, and the intercepts, of points as the parts of a CSC matrix.

        With v_j = factors_j w_j / y_scale they are b_j = scale_j v_j and b0 = y_shift + y_mean / y_scale -
        sum (shift_j b_j + mean_j v_j), as if computed with twice the digits. What is out of range becomes infinite.
        """
        shifts, scales = self.coordinates
        with np.errstate(over="ignore"):
            scaled = self.factors[columns] * weights / self.y_scale
            coefs = scaled * scales[1 + columns]
        intercepts = np.empty(indptr.size - 1)
        y_mean = self.y_mean / self.y_scale
        _fill_intercepts(
            indptr, shifts[1 + columns], coefs, self.means[columns], scaled, shifts[-1], y_mean, intercepts
        )
        return coefs, intercepts


def moments(
    sums: RowSums,
    fit_intercept: bool,
    standardize: bool,
    constant: Mask | None = None,
    *,
    terms: Terms = PLAIN,
) -> tuple[Moments, Centre]:
    """Return the inner products of the columns that a path is computed on, and what leads back to the user's.

    `constant` names the columns of [X, y] whose largest number is their smallest, or without an intercept, zero. By
    default those have a sum of squares of zero: right where the shifts are of the same rows.

    What they err by is in docs/method/rounding.md: with K = sums.n_ops and w = sqrt(norms2_0 / rows) it is gamma_N,
    N = (1 + 2 w + w^2) K + 5, of norms that grow by (1 + n_j / c_j) / 2 where columns are scaled to unit norm.
    """
    rows, diagonal = sums.products[0, 0], sums.products.diagonal()[1:]
    ones_ratio = math.sqrt(sums.norms2[0] / rows)
    times = 1.0 + (2.0 * ones_ratio if fit_intercept else 0.0) + (ones_ratio**2 if sums.is_weighted else 0.0)
    n_ops = math.ceil(times * sums.n_ops) + (5 if fit_intercept else 0)
    constant = diagonal == 0.0 if constant is None else constant
    totals = sums.products[0, 1:] if fit_intercept else np.zeros(diagonal.size)
    norms = np.sqrt(sums.norms2[1:]) * (1.0 + gamma(sums.n_ops + 4.0))
    factors = np.ones(diagonal.size)
    x_scale = 1.0
    if standardize:
        squares = np.where(constant, rows, diagonal - totals**2 / rows)[:-1]
        factors[:-1], inflation = _unit_factors(squares, norms[:-1], rows, n_ops)
        norms[:-1] *= factors[:-1] * inflation
        n_ops = math.ceil(2.1 * n_ops) + 8
    else:
        scales = sums.coordinates.scales[1:-1]
        x_scale = float(scales.min(where=~constant[:-1], initial=np.inf))
        x_scale = x_scale if np.isfinite(x_scale) else 1.0
        factors[:-1] = x_scale / scales
        norms[:-1] *= factors[:-1]
    divisors, n_more = (None, 0) if terms is PLAIN else (terms.divisors, terms.n_ops)
    n_ops += 3 * n_more
    if divisors is not None:
        constant = constant | np.append(np.isinf(divisors), False)
        divisors = np.where(np.isinf(divisors), 1.0, divisors)
        factors[:-1] /= divisors
        norms[:-1] /= divisors
    np.maximum(norms, math.sqrt(rows) * _LEAST_NORM, out=norms)
    factors[constant] = norms[constant] = 0.0
    gram, xty = np.empty((diagonal.size - 1,) * 2), np.empty(diagonal.size - 1)
    yy = _eliminate(sums.products, totals, 1.0 / rows, factors, gram, xty)
    found = Moments(gram, xty, max(yy, 0.0), norms[:-1], float(norms[-1]), n_ops, cost=Plain())
    means, is_rounded = totals / rows, standardize or n_more > 0
    centre = Centre(sums.coordinates, means[:-1], float(means[-1]), factors[:-1], x_scale, is_rounded)
    return found, centre


def _unit_factors(squares: Vector, norms: Vector, rows: float, n_ops: int) -> tuple[Vector, Vector]:
    """Return sqrt(rows / squares), and what their own rounding inflates the norms by; infinite where it is unknown."""
    with np.errstate(all="ignore"):
        ratios = norms / np.sqrt(squares)
        errors = gamma(float(n_ops)) * ratios**2
        is_resolved = errors <= _RESOLVED
        factors = np.where(is_resolved, np.sqrt(rows / squares), 1.0)
        return factors, np.where(is_resolved, 0.5 * (1.0 + ratios) * (1.0 + errors), np.inf)


@kernel_in_order
def _eliminate(
    products: Matrix, totals: Vector, inverse_rows: float, factors: Vector, gram: Matrix, xty: Vector
) -> float:
    """Fill d_i d_j (x_i'x_j - t_i t_j / rows), of X and of X with y, and return that of y."""
    p = xty.size
    for i in range(p):
        for j in range(p):
            centred = products[i + 1, j + 1] - (totals[i] * totals[j]) * inverse_rows
            gram[i, j] = (factors[i] * factors[j]) * centred
        xty[i] = (factors[i] * factors[p]) * (products[i + 1, p + 1] - (totals[i] * totals[p]) * inverse_rows)
    yy: float = (factors[p] * factors[p]) * (products[p + 1, p + 1] - (totals[p] * totals[p]) * inverse_rows)
    return yy


@kernel_in_order
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b rounded, and what the rounding took."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@kernel_in_order
def _two_product(a: float, b: float) -> tuple[float, float]:
    """Return a b rounded, and what the rounding took: Dekker's, of halves with 26 bits."""
    product = a * b
    if not (1e-140 < abs(a) < 1e140 and 1e-140 < abs(b) < 1e140):
        return product, 0.0
    a_high, b_high = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel_in_order
def _fill_intercepts(
    indptr: NDArray[np.int64],
    shifts: Vector,
    coefs: Vector,
    means: Vector,
    scaled: Vector,
    y_shift: float,
    y_mean: float,
    intercepts: Vector,
) -> None:
    """Fill y_shift + y_mean - sum (shift b + mean v); what the rounding of every step took is added at the end."""
    for k in range(intercepts.size):
        total, rest = _two_sum(y_shift, y_mean)
        for e in range(indptr[k], indptr[k + 1]):
            for a, b in ((shifts[e], coefs[e]), (means[e], scaled[e])):
                product, lost = _two_product(a, -b)
                total, dropped = _two_sum(total, product)
                rest += lost + dropped
        intercepts[k] = total + rest

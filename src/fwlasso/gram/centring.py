"""From sums over rows to the moments of centred and standardised columns, and back to the user's units."""

import math
from typing import NamedTuple

import numpy as np

from .._core.costs import Plain
from .._core.jit import kernel_in_order
from .._core.moments import Matrix, Moments, Vector, gamma
from .._core.transform import Transform, Units
from ..data.terms import PLAIN, Terms
from .blocks import Coordinates, Mask
from .row_sums import RowSums

# Norms are no smaller than sqrt(m) times this: rounding of the least numbers is relative to nothing else.
_LEAST_NORM = 2.0**-510
# Relative rounding of a column's squares up to which a bound of it is worth having.
_RESOLVED = 0.01


class Centre(NamedTuple):
    """What leads from columns in the coordinates of their sums to those that `Moments` are of.

    z_j = factors_j (x_j - means_j 1), and y - y_mean 1. Lambda is 2^(x_power + y_power) times that of the user's
    problem: both are zero but for numbers whose squares leave the range of float64.
    """

    coordinates: Coordinates
    means: Vector
    y_mean: float
    factors: Vector  # zero for columns that do not vary
    is_rounded: bool  # factors are
    transform: Transform  # the same of the columns of users

    @property
    def y_scale(self) -> float:
        """What y was multiplied by."""
        return float(self.coordinates.scales[-1])


def _transform(coordinates: Coordinates, means: Vector, factors: Vector, x_scale: float) -> Transform:
    """Return what leads from the columns of users to z_j; x_scale is that of all columns."""
    shifts, scales = coordinates.shifts[1:], coordinates.scales[1:]
    x_power, y_power = (math.frexp(scale)[1] - 1 for scale in (x_scale, scales[-1]))
    units, own = Units(x_power, y_power, float(shifts[-1] * scales[-1]), float(means[-1])), means / scales
    with np.errstate(over="ignore"):  # coefficients beyond the range are refused
        of_coefs = factors / scales[-1] * scales[:-1]
    return Transform(of_coefs, shifts[:-1], own[:-1], float(shifts[-1]), float(own[-1]), units)


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
    transform = _transform(sums.coordinates, means, factors[:-1], x_scale)
    return found, Centre(sums.coordinates, means[:-1], float(means[-1]), factors[:-1], is_rounded, transform)


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

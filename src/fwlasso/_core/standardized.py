"""Columns that are counted from a number of theirs, centred and scaled, never formed.

Columns far from zero are counted from an *origin*, a number that float64 holds and that is near theirs: x_ij - o_j is
exact up to one rounding of itself, and exact where x_ij / 2 <= o_j <= 2 x_ij. So years, times and identifiers lose no
digits when they are centred. A column has an origin only if every entry is stored.
"""

from typing import NamedTuple

import numpy as np

from .columns import (
    Columns,
    Vector,
    add_column,
    column_entries,
    column_entry,
    column_moments,
    column_shift,
    dot_column,
    dot_each,
    fetch_column,
    pass_on,
    samples,
    shape,
)
from .jit import INLINE, kernel
from .samples import total_weight


class Shifted(NamedTuple):
    """Columns x_j - origins[j] 1 of another storage; the origin is zero unless all entries of a column are stored."""

    columns: Columns
    origins: Vector


class Standardized(NamedTuple):
    """Columns z_j = factors[j] (x_j - means[j] 1) of another storage, never formed; x_j is counted from its origin."""

    columns: Columns
    means: Vector
    factors: Vector


def origins_of(X: Columns) -> Vector:
    """Return what the columns are counted from."""
    while hasattr(X, "columns"):
        if isinstance(X, Shifted):
            return X.origins
        X = X.columns
    return np.zeros(shape(X)[1])


# Columns counted from their origins. If there is one, all entries are stored: the k-th is that of row k. ------------

pass_on(Shifted, column_entries, fetch_column, shape)


@kernel
def _sum_from(X: Columns, j: int, origin: float, v: Vector, first: int, n_lanes: int) -> float:
    """Return the product of x_j - origin 1 with the numbers v[first], v[first + n_lanes], ..."""
    total = 0.0
    for k in range(column_entries(X, j)):
        total += (column_entry(X, j, k)[1] - origin) * v[first + k * n_lanes]
    return total


@dot_column.register(Shifted)
def _(X, j, v):
    if X.origins[j] == 0.0:
        return dot_column(X.columns, j, v)
    return _sum_from(X.columns, j, X.origins[j], v, 0, 1)


@dot_each.register(Shifted, INLINE)
def _(X, j, V, out):
    if X.origins[j] == 0.0:
        dot_each(X.columns, j, V, out)
    else:
        n_lanes = V.rows.shape[1] // (shape(X)[0] + 1)  # see `stack`
        for k in range(V.n):
            out[k] = _sum_from(X.columns, j, X.origins[j], V.rows[k // n_lanes], k % n_lanes, n_lanes)


@column_moments.register(Shifted)
def _(X, j):
    if X.origins[j] == 0.0:
        return column_moments(X.columns, j)
    m, total = shape(X)[0], 0.0
    for k in range(m):
        total += column_entry(X, j, k)[1]
    mean, squares = total / m, 0.0
    for k in range(m):
        squares += (column_entry(X, j, k)[1] - mean) ** 2
    return mean, squares


@column_entry.register(Shifted)
def _(X, j, k):
    i, value = column_entry(X.columns, j, k)
    return i, value - X.origins[j]


# Standardised columns -----------------------------------------------------------------------------------------------

pass_on(Standardized, column_entries, fetch_column, shape)


@dot_column.register(Standardized)
def _(X, j, v):
    return X.factors[j] * (dot_column(X.columns, j, v) - X.means[j] * v[-1])


@dot_each.register(Standardized, INLINE)
def _(X, j, V, out):
    dot_each(X.columns, j, V, out)
    for k in range(V.n):
        out[k] = X.factors[j] * (out[k] - X.means[j] * V.sums[k])


@add_column.register(Standardized)
def _(X, j, a, v):
    multiple = a * X.factors[j]
    add_column(X.columns, j, multiple, v)
    v[-1] += multiple * X.means[j] * total_weight(samples(X))


@column_moments.register(Standardized)
def _(X, j):
    mean, squares = column_moments(X.columns, j)
    return X.factors[j] * (mean - X.means[j]), X.factors[j] ** 2 * squares


@column_shift.register(Standardized)
def _(X, j):
    return X.factors[j] * X.means[j]


@column_entry.register(Standardized)
def _(X, j, k):
    i, value = column_entry(X.columns, j, k)
    return i, X.factors[j] * value


@samples.register(Standardized)
def _(X):
    return samples(X.columns)

"""Dense columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import add_column, column_entries, column_entry, column_moments, dot_column, fetch_column, shape
from .instructions import fetch

# Longer columns are read in order for so long that the machine notices. In bytes, as is what it sends at once.
_SHORT, _LINE = 4096, 64


class Dense(NamedTuple):
    """A column-major array, kept as its transpose: row-major whatever its shape.

    An array of one row or one column is contiguous both ways; numba would take it for another type than X is otherwise.
    """

    values: NDArray[Any]  # by column, then by row


# Single precision is added up in double precision: compiled code would do so anyway, plain Python when it is converted.


@dot_column.register(Dense)
def _(X, j, v):
    values = X.values
    total = 0.0
    for i in range(values.shape[1]):
        total += values[j, i] * v[i]
    return total


@fetch_column.register(Dense)
def _(X, j):
    values = X.values
    m, size = values.shape[1], values.itemsize
    if m * size <= _SHORT:
        for i in range(j * m, (j + 1) * m, _LINE // size):
            fetch(values, i)


@add_column.register(Dense)
def _(X, j, a, v):
    values = X.values
    for i in range(values.shape[1]):
        v[i] += a * np.float64(values[j, i])


@column_moments.register(Dense)
def _(X, j):
    values = X.values
    m = values.shape[1]
    total = 0.0
    for i in range(m):
        total += np.float64(values[j, i])
    mean = total / m
    squares = 0.0
    for i in range(m):
        squares += (np.float64(values[j, i]) - mean) ** 2
    return mean, squares


@column_entries.register(Dense)
def _(X, j):
    return X.values.shape[1]


@column_entry.register(Dense)
def _(X, j, k):
    return k, np.float64(X.values[j, k])


@shape.register(Dense)
def _(X):
    return X.values.shape[1], X.values.shape[0]

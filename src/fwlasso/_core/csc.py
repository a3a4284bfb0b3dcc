"""Compressed sparse columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import (
    add_column,
    column_entries,
    column_entry,
    column_moments,
    cuts_by_work,
    dot_column,
    dot_each,
    n_lanes,
    shape,
)
from .instructions import LANES, gathered_sum, gathered_sums, gathered_two_sums
from .jit import IN_ORDER, INLINE
from .threads import even_cuts


class Csc(NamedTuple):
    """Compressed sparse columns; within a column the row indices increase."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    n_rows: int


# Unsigned indices spare numba's test for negative ones.


@dot_column.register(Csc, INLINE)
def _(X, j, v):
    return gathered_sum(X.data, X.indices, v, 0, 1, X.indptr[j], X.indptr[j + 1])


@dot_each.register(Csc, INLINE)
def _(X, j, V, out):
    start, stop = X.indptr[j], X.indptr[j + 1]
    if V.n == 1:
        out[0] = gathered_sum(X.data, X.indices, V.rows, 0, 1, start, stop)
    elif V.n == 2:
        out[0], out[1] = gathered_two_sums(X.data, X.indices, V.rows, 0, 2, start, stop)
    else:
        for row in range(V.rows.shape[0]):
            sums = gathered_sums(X.data, X.indices, V.rows, row * V.rows.shape[1], LANES, start, stop)
            for lane in range(LANES):
                out[row * LANES + lane] = sums[lane]


@add_column.register(Csc, IN_ORDER)
def _(X, j, a, v):
    for k in range(np.uintp(X.indptr[j]), np.uintp(X.indptr[j + 1])):
        v[np.uintp(X.indices[k])] += a * np.float64(X.data[k])


@column_moments.register(Csc)
def _(X, j):
    start, stop = np.uintp(X.indptr[j]), np.uintp(X.indptr[j + 1])
    total = 0.0
    for k in range(start, stop):
        total += np.float64(X.data[k])
    mean = total / X.n_rows
    squares = (X.n_rows - np.float64(stop - start)) * mean**2
    for k in range(start, stop):
        squares += (np.float64(X.data[k]) - mean) ** 2
    return mean, squares


@column_entries.register(Csc)
def _(X, j):
    return X.indptr[j + 1] - X.indptr[j]


@column_entry.register(Csc)
def _(X, j, k):
    at = np.uintp(X.indptr[j] + k)
    return X.indices[at], np.float64(X.data[at])


@shape.register(Csc)
def _(X):
    return X.n_rows, X.indptr.size - 1


@n_lanes.register(Csc)
def _(X, n_vectors):
    return n_vectors if n_vectors <= 2 else LANES


@cuts_by_work.register(Csc)
def _(X, n_bytes):
    inner = even_cuts(int(X.indptr[-1]), n_bytes)
    inside = np.searchsorted(X.indptr, np.array(inner[1:-1], X.indptr.dtype)).tolist()
    return sorted({0, X.indptr.size - 1, *inside})

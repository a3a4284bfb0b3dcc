"""The pass over the rows of a sparse matrix: the outer products of all rows with themselves."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.csc import Csc
from .._core.jit import kernel_in_order
from .._core.moments import Matrix, Vector
from .._core.samples import Samples, Unweighted, Weights, root
from .._core.threads import Workers
from .blocks import Coordinates, Mask

# Denser matrices are multiplied faster with their zeros: BLAS makes some sixty products in the time of one here.
_LARGEST_DENSITY = 0.1
# Entries that are turned to rows at a time: they stay in the cache, where every column looks up its rows.
_BLOCK_ENTRIES = 1 << 18
_MOST_ROWS = 1 << 30  # of a block: its indices are of 32 bits
# Ranges of columns that threads take.
_N_RANGES = 16
# What numpy's pairwise sums of y may round by, whatever its length.
_PAIRWISE_OPS = 256
_TILE = 32

Integers = NDArray[np.int64]


def is_sparse_enough(n_entries: int, m: int, p: int) -> bool:
    """Tell whether outer products of rows are faster than blocks with all their zeros."""
    return n_entries < _LARGEST_DENSITY * m * p


class _Block(NamedTuple):
    """Some rows of a matrix, and of every entry of a column where its row is."""

    row_starts: Integers
    columns: NDArray[np.int32]  # of the entries of a row, increasing
    values: Vector
    column_starts: Integers
    rows: NDArray[np.int32]  # of the entries of a column
    ends: NDArray[np.int32]  # one beyond this entry, in its row


def sum_sparse_rows(
    X: Csc,
    y: Vector,
    coordinates: Coordinates,
    kept: Mask | None,
    samples: Samples,
    workers: Workers,
    *,
    products: Matrix,
    vanished: Mask,
) -> int:
    """Fill the products of [1, X, y] over all rows, or over those that are kept; return how many roundings they have.

    Column a adds x_ia x_ib over its rows i, for all b <= a in these: one row of the products is in work, in the
    innermost cache, and nobody else writes to it.
    """
    m, p = X.n_rows, X.indptr.size - 1
    kept = np.ones(m, np.bool_) if kept is None else kept
    with np.errstate(all="ignore"):
        response = coordinates.place(y[None], np.empty((1, m)), slice(-1, None))[0] * kept
    own = samples if isinstance(samples, Weights) else Unweighted(m)  # all that are kept count alike
    if isinstance(own, Weights):
        response *= own.roots
    n_entries = int(X.indptr[-1])
    n_rows = int(min(m, _MOST_ROWS, 1 + m * _BLOCK_ENTRIES // max(1, n_entries)))
    begin, end = X.indptr[:-1].astype(np.int64), np.empty(p, np.int64)
    block = _make_block(n_rows, p, 0)
    for lo in range(0, m, n_rows):
        n_new = _find_ends(X.indices, X.indptr, begin, lo + n_rows, end)
        if n_new > block.values.size:
            block = _make_block(n_rows, p, n_new)
        _fill(own, X.data, X.indices, begin, end, lo, kept, *coordinates, block)
        workers.map(partial(_multiply, own, block, lo, response, products), _ranges(p))
        begin, end = end, begin
    products[0, 0] = np.sum(own.values[kept]) if isinstance(own, Weights) else np.count_nonzero(kept)
    products[-1, 0] = np.sum(response * own.roots) if isinstance(own, Weights) else np.sum(response)
    with np.errstate(all="ignore"):
        products[-1, -1] = np.sum(response**2)
    products[-1, 1:-1] = products[1:-1, -1]
    mirror(products)
    for j in np.flatnonzero((products.diagonal()[1:-1] == 0.0) & (np.diff(X.indptr) > 0)):
        vanished[1 + j] |= (X.data[X.indptr[j] : X.indptr[j + 1]] != coordinates.shifts[1 + j]).any()
    vanished[-1] |= products[-1, -1] == 0.0 and response.any()
    return int(np.diff(X.indptr).max(initial=0)) + _PAIRWISE_OPS


def _make_block(n_rows: int, p: int, n_entries: int) -> _Block:
    row_starts, column_starts = np.empty(n_rows + 1, np.int64), np.empty(p + 1, np.int64)
    columns, rows, ends = np.empty((3, n_entries), np.int32)
    return _Block(row_starts, columns, np.empty(n_entries), column_starts, rows, ends)


def _ranges(p: int) -> list[int]:
    """Cut the columns into ranges of equal work, which grows with the columns before them."""
    return sorted({int(p * np.sqrt(k / _N_RANGES)) for k in range(_N_RANGES + 1)})


@kernel_in_order
def _find_ends(indices: NDArray[Any], indptr: NDArray[Any], begin: Integers, hi: int, end: Integers) -> int:
    """Find where every column leaves the rows below hi, and return how many entries there are up to there."""
    n_entries = 0
    for j in range(begin.size):
        k = begin[j]
        while k < indptr[j + 1] and indices[k] < hi:
            k += 1
        n_entries += k - begin[j]
        end[j] = k
    return n_entries


@kernel_in_order
def _fill(
    samples: Samples,
    data: NDArray[Any],
    indices: NDArray[Any],
    begin: Integers,
    end: Integers,
    lo: int,
    kept: Mask,
    shifts: Vector,
    scales: Vector,
    block: _Block,
) -> None:
    """Turn the entries from `begin` to `end` of every column to rows, counted from `lo`, in their coordinates.

    They are multiplied by the roots of the weights.
    """
    row_starts, columns, values, column_starts, rows, ends = block
    for i in range(row_starts.size):
        row_starts[i] = 0
    at = 0
    for j in range(begin.size):
        column_starts[j] = at
        for k in range(begin[j], end[j]):
            if kept[indices[k]]:
                row_starts[indices[k] - lo + 1] += 1
                rows[at] = indices[k] - lo
                at += 1
    column_starts[begin.size] = at
    for i in range(row_starts.size - 1):
        row_starts[i + 1] += row_starts[i]
    free = row_starts.copy()
    for j in range(begin.size):
        at = column_starts[j]
        for k in range(begin[j], end[j]):
            if kept[indices[k]]:
                place = free[rows[at]]
                free[rows[at]] = place + 1
                columns[place] = j
                value = data[k] * scales[1 + j] - shifts[1 + j] * scales[1 + j]
                values[place] = value * root(samples, indices[k])
                ends[at] = place + 1
                at += 1


@kernel_in_order
def _multiply(
    samples: Samples, block: _Block, lo: int, response: Vector, products: Matrix, first: int, last: int
) -> None:
    """Add to the products of columns first..last with 1, with y, and with the columns up to themselves."""
    row_starts, columns, values, column_starts, rows, ends = block
    one = np.uintp(1)  # unsigned indices spare numba's test for negative ones
    for a in range(first, last):
        out = products[a + 1]
        for k in range(np.uintp(column_starts[a]), np.uintp(column_starts[a + 1])):
            i, stop = np.uintp(rows[k]), np.uintp(ends[k])
            value = values[stop - one]
            out[0] += value * root(samples, lo + i)
            out[out.size - 1] += value * response[lo + i]
            for e in range(np.uintp(row_starts[i]), stop):
                out[np.uintp(columns[e]) + one] += value * values[e]


@kernel_in_order
def mirror(products: Matrix) -> None:
    """Copy the lower half to the upper one, tile by tile."""
    n = products.shape[0]
    for top in range(0, n, _TILE):
        for left in range(0, top + 1, _TILE):
            for i in range(top, min(top + _TILE, n)):
                for j in range(left, min(left + _TILE, i)):
                    products[j, i] = products[i, j]

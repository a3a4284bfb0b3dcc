"""Rows that come from a source, such as a file, summed up as they come: in dense blocks, or entry by entry."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core.dense import Dense
from .._core.jit import kernel_in_order
from .._core.moments import Matrix, Vector
from .._core.samples import Samples, Unweighted, Weights, n_roundings
from .._core.threads import Workers, one_blas_thread
from .blocks import BLOCK_ROWS, Coordinates, Mask, Rows, add_in_order, choose_coordinates
from .row_sums import RowBlock, RowSums
from .sparse_sums import is_sparse_enough, mirror


class EntryRows(NamedTuple):
    """Some rows of [y, X], of which the numbers in X that are not zero are listed row by row."""

    targets: Vector
    row_ends: Rows  # where the entries of a row end
    columns: NDArray[Any]
    values: NDArray[Any]


class DenseRows(NamedTuple):
    """Some rows of [X, y], of which every number is told, with weights > 0 if they have any."""

    values: Matrix  # by column
    targets: Vector
    weights: Vector | None = None


#: Some rows that a source yields.
Batch: TypeAlias = DenseRows | EntryRows

# Rows that tell where a column lies.
_SAMPLE_ROWS = 256


def n_columns(batch: Batch) -> int:
    """Return how many columns of X some rows have, as far as can be seen."""
    return int(batch.columns.max(initial=-1)) + 1 if isinstance(batch, EntryRows) else len(batch.values)


class Stream:
    """Sums over rows in the making. Text may have a new column in its last line: it goes behind the others."""

    def __init__(self, fit_intercept: bool, coordinates: Coordinates | None) -> None:
        self._fit_intercept, self._coordinates = fit_intercept, coordinates
        self._products, self._n_entries, self._n_blocks = np.zeros((2, 2)), np.zeros(2, np.int64), 0
        self._n_rows = self._n_roundings = 0  # of weights
        self.vanished = np.zeros(2, np.bool_)

    def add(self, batches: Iterator[Batch], workers: Workers) -> None:
        """Add all rows, in the way that suits the first of them."""
        first = next(batches)
        batches = itertools.chain([first], batches)
        batches = map(self._count, batches)
        if is_sparse_enough(first.values.size, first.targets.size, n_columns(first)):
            self._add_entries(batches, workers)
        else:
            self._add_blocks(_cut(batches, BLOCK_ROWS), workers)

    def _count(self, batch: Batch) -> Batch:
        self._n_rows += batch.targets.size
        return batch

    def _add_blocks(self, blocks: Iterator[list[Batch]], workers: Workers) -> None:
        """Add blocks of rows, cut by their numbers and not by what a read brings."""

        def take(_: RowBlock) -> tuple[list[Batch], Coordinates] | None:
            parts = next(blocks, None)
            if parts is None:
                return None
            self._n_blocks += 1
            return parts, self._coordinates_of(parts)

        def compute(taken: tuple[list[Batch], Coordinates], room: RowBlock) -> None:
            parts, coordinates = taken
            values, y, weights = _put_together(parts, coordinates.shifts.size - 2)
            of_rows: Samples = Unweighted(y.size)
            if weights is not None:
                of_rows = Weights(weights, np.sqrt(weights), math.fsum(weights), y.size)
            self._n_roundings = n_roundings(of_rows)
            room.multiply(Dense(values), y, np.arange(y.size), coordinates, of_rows)

        def add(taken: tuple[list[Batch], Coordinates], room: RowBlock) -> None:
            self._widen(taken[1].shifts.size)
            room.add_to(self._products, self.vanished)

        with one_blas_thread():
            add_in_order(workers, workers.n_threads, take, compute, add, lambda: RowBlock(BLOCK_ROWS))

    def _add_entries(self, batches: Iterator[Batch], workers: Workers) -> None:
        """Add the outer product of every row with itself; one thread reads while another one adds."""
        of_y = np.zeros(3)  # number of rows; sums of y and of its squares since the last full block

        def take(_: None) -> tuple[Batch, Coordinates] | None:
            batch = next(batches, None)
            return None if batch is None else (batch, self._coordinates_of([batch]))

        def add(taken: tuple[Batch, Coordinates], _: None) -> None:
            rows, coordinates = taken
            assert isinstance(rows, EntryRows)
            self._widen(coordinates.shifts.size)
            _add_rows(*rows, *coordinates, self._products, of_y, self._n_entries, self.vanished)

        add_in_order(workers, 2, take, lambda _rows, _room: None, add, lambda: None)
        _close_block(of_y, self._products)
        mirror(self._products)
        self._n_blocks = int(self._products[0, 0]) // BLOCK_ROWS + 1

    def _coordinates_of(self, parts: list[Batch]) -> Coordinates:
        """Return the coordinates of some rows, as wide as any before; the first ones choose them."""
        p = max(map(n_columns, parts))
        if self._coordinates is None:
            may_shift = np.full(p + 2, self._fit_intercept)
            may_shift[0] = False
            values, y, _ = _put_together(next(_cut(iter(parts), _SAMPLE_ROWS)), p)
            may_shift[1:-1] &= (values != 0.0).all(axis=1)  # not if numbers are absent
            self._coordinates = choose_coordinates(Dense(values), y, np.arange(y.size), may_shift)
        self._coordinates = self._coordinates.widened(p)
        return self._coordinates

    def _widen(self, n: int) -> None:
        """Make room for n columns of [1, X, y]."""
        n_old = len(self._products)
        if n > n_old:
            old = np.append(np.arange(n_old - 1), n - 1)
            products, n_entries, vanished = np.zeros((n, n)), np.zeros(n, np.int64), np.zeros(n, np.bool_)
            products[np.ix_(old, old)], n_entries[old], vanished[old] = self._products, self._n_entries, self.vanished
            self._products, self._n_entries, self.vanished = products, n_entries, vanished

    def sums(self, p: int) -> RowSums:
        """Return the sums over at least p columns of X."""
        self._widen(p + 2)
        assert self._coordinates is not None
        n_ops = int(max(self._n_entries.max(), BLOCK_ROWS + self._n_blocks)) + 2
        return RowSums(
            products=self._products,
            coordinates=self._coordinates.widened(len(self._products) - 2),
            norms2=self._products.diagonal().copy(),
            n_ops=n_ops + self._n_roundings,
            n_rows=self._n_rows,
            is_weighted=self._n_roundings > 0,
        )


def _cut(batches: Iterator[Batch], n_rows: int) -> Iterator[list[Batch]]:
    """Cut rows into blocks of so many, which are parts of batches."""
    parts: list[Batch] = []
    n_free = n_rows
    for batch in batches:
        lo, size = 0, batch.targets.size
        while lo < size:
            hi = min(size, lo + n_free)
            parts.append(_part(batch, lo, hi))
            lo, n_free = hi, n_free - (hi - lo)
            if n_free == 0:
                yield parts
                parts, n_free = [], n_rows
    if parts:
        yield parts


def _part(batch: Batch, lo: int, hi: int) -> Batch:
    """Return some rows of a batch."""
    if not isinstance(batch, EntryRows):
        weights = None if batch.weights is None else batch.weights[lo:hi]
        return DenseRows(batch.values[:, lo:hi], batch.targets[lo:hi], weights)
    begin, row_ends = batch.row_ends[lo - 1] if lo else 0, batch.row_ends[lo:hi]
    return EntryRows(
        targets=batch.targets[lo:hi],
        row_ends=row_ends - begin,
        columns=batch.columns[begin : row_ends[-1]],
        values=batch.values[begin : row_ends[-1]],
    )


def _put_together(parts: list[Batch], p: int) -> DenseRows:
    """Return p columns of X, by column, and y."""
    if len(parts) == 1 and isinstance(parts[0], DenseRows):
        return parts[0]
    y = np.concatenate([part.targets for part in parts])
    own = [part.weights for part in parts if isinstance(part, DenseRows) and part.weights is not None]
    values, at = np.zeros((p, y.size)), 0
    for part in parts:
        if isinstance(part, EntryRows):
            _scatter(part.row_ends, part.columns, part.values, at, values)
        else:
            values[:, at : at + part.targets.size] = part.values
        at += part.targets.size
    return DenseRows(values, y, np.concatenate(own) if own else None)


@kernel_in_order
def _scatter(row_ends: Rows, columns: NDArray[Any], values: Vector, at: int, out: Matrix) -> None:
    """Write the entries of rows to the columns of `out` from `at` on."""
    begin = 0
    for r in range(row_ends.size):
        for e in range(begin, row_ends[r]):
            out[columns[e], at + r] = values[e]
        begin = row_ends[r]


@kernel_in_order
def _add_rows(
    targets: Vector,
    row_ends: Rows,
    columns: NDArray[Any],
    values: Vector,
    shifts: Vector,
    scales: Vector,
    products: Matrix,
    of_y: Vector,
    n_entries: Rows,
    vanished: Mask,
) -> None:
    """Add the outer products of rows to the lower half; columns that are shifted have a number in every row."""
    last, begin, full = len(products) - 1, 0, np.flatnonzero(shifts[:-1])
    own_columns, own_values = np.empty(last, np.int64), np.empty(last)
    own_columns[: full.size] = full
    for r in range(row_ends.size):
        n = full.size
        for k in range(n):
            own_values[k] = -shifts[full[k]] * scales[full[k]]
        for e in range(begin, row_ends[r]):
            j = 1 + columns[e]
            value = values[e] * scales[j] - shifts[j] * scales[j]
            if shifts[j] != 0.0:
                own_values[np.searchsorted(full, j)] = value
            else:
                own_columns[n], own_values[n] = j, value
                n += 1
        begin = row_ends[r]
        y = targets[r] * scales[last] - shifts[last] * scales[last]
        vanished[last] |= y != 0.0 and y * y == 0.0
        for a in range(n):
            i, value = own_columns[a], own_values[a]
            n_entries[i] += 1
            vanished[i] |= value != 0.0 and value * value == 0.0
            products[i, 0] += value
            products[last, i] += value * y
            for b in range(a + 1):
                j = own_columns[b]
                products[max(i, j), min(i, j)] += value * own_values[b]
        of_y[0] += 1.0
        of_y[1] += y
        of_y[2] += y * y
        if of_y[0] == BLOCK_ROWS:
            _close_block(of_y, products)


@kernel_in_order
def _close_block(of_y: Vector, products: Matrix) -> None:
    """Add the sums over a block: those of millions of rows, one by one, would round too often."""
    products[0, 0] += of_y[0]
    products[-1, 0] += of_y[1]
    products[-1, -1] += of_y[2]
    of_y[:] = 0.0

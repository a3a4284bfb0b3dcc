"""Rows that come from a file, summed up as they come: in dense blocks, or entry by entry.

The columns are those of [1, y, X]: text may have a new one in its last line, which goes behind all others.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.jit import kernel_in_order
from .._core.moments import Matrix, Vector
from .._core.threads import Workers
from ..datasets.arrow_files import Block
from ..datasets.libsvm_rows import TextRows
from .blocks import BLOCK_ROWS, Coordinates, Mask, add_in_order, choose_shifts
from .row_sums import RowSums
from .sparse_sums import mirror

Batch = Block | TextRows
Integers = NDArray[np.int64]

# Text with fewer of its numbers is taken entry by entry: see sparse_sums.
_LARGEST_DENSITY = 0.1
# Rows that tell where a column lies.
_SAMPLE_ROWS = 256


def n_columns(batch: Batch) -> int:
    """Return how many columns of X a batch of rows has, as far as can be seen."""
    return int(batch.columns.max(initial=-1)) + 1 if isinstance(batch, TextRows) else len(batch[0])


def is_sparse(batch: Batch) -> bool:
    """Tell whether rows like these are taken entry by entry."""
    if not isinstance(batch, TextRows):
        return False
    return batch.values.size < _LARGEST_DENSITY * batch.targets.size * n_columns(batch)


def _write(batch: Batch, lo: int, hi: int, block: Matrix, at: int) -> None:
    """Write rows lo..hi of a batch to a block of [1, y, X], from column `at` on."""
    out = block[:, at : at + hi - lo]
    out[0] = 1.0
    if isinstance(batch, TextRows):
        out[1], out[2:] = batch.targets[lo:hi], 0.0
        _scatter(batch.row_ends, batch.columns, batch.values, lo, hi, at, block)
    else:
        out[1], out[2:] = batch[1][lo:hi], batch[0][:, lo:hi]


@kernel_in_order
def _scatter(
    row_ends: Integers, columns: NDArray[Any], values: Vector, lo: int, hi: int, at: int, block: Matrix
) -> None:
    """Write the entries of rows lo..hi to the columns of a block from `at` on."""
    for r in range(lo, hi):
        for e in range(row_ends[r - 1] if r > 0 else 0, row_ends[r]):
            block[2 + columns[e], at + r - lo] = values[e]


class Stream:
    """Sums over rows in the making: what both ways have in common."""

    def __init__(self, batches: Iterator[Batch], fit_intercept: bool, coordinates: Coordinates | None) -> None:
        self._batches, self._fit_intercept, self._coordinates = batches, fit_intercept, coordinates
        self._products = np.zeros((2, 2))
        self._vanished = np.zeros(2, np.bool_)
        self._n_ops = 0

    def _coordinates_of(self, width: int) -> Coordinates:
        """Return coordinates for so many columns; new ones are neither shifted nor scaled."""
        assert self._coordinates is not None
        shifts, scales = self._coordinates
        n_new = max(0, width - shifts.size)
        return Coordinates(np.append(shifts, np.zeros(n_new)), np.append(scales, np.ones(n_new)))

    def _choose_coordinates(self, sample: Matrix) -> None:
        """Choose the coordinates by the first rows; columns in which numbers are absent are not shifted."""
        if self._coordinates is None:
            may_shift = np.full(len(sample), self._fit_intercept)
            may_shift[0] = False
            may_shift[2:] &= (sample[2:] != 0.0).all(axis=1)
            self._coordinates = Coordinates(choose_shifts(sample, may_shift, False), np.ones(len(sample)))

    def _widen(self, width: int) -> None:
        """Make room for more columns."""
        n = len(self._products)
        if width > n:
            products, vanished = np.zeros((width, width)), np.zeros(width, np.bool_)
            products[:n, :n], vanished[:n] = self._products, self._vanished
            self._products, self._vanished = products, vanished

    def finish(self, width: int) -> tuple[RowSums, Mask]:
        """Return the sums over [1, y, X], at least `width` columns, and whether squares of their numbers vanished."""
        self._widen(width)
        products = self._products
        coordinates = self._coordinates_of(len(products))
        return RowSums(products, coordinates, products.diagonal().copy(), self._n_ops), self._vanished


class _Desk:
    """What a thread works on: some rows of [1, y, X], and their products."""

    def __init__(self) -> None:
        self.block, self.products = np.empty((2, BLOCK_ROWS)), np.empty((2, 2))

    def widen(self, width: int, n_rows: int) -> None:
        """Make room for more columns, in which the rows that are there have zeros."""
        n = len(self.block)
        if width > n:
            block = np.empty((width, BLOCK_ROWS))
            block[:n, :n_rows], block[n:, :n_rows] = self.block[:, :n_rows], 0.0
            self.block, self.products = block, np.empty((width, width))


class BlockStream(Stream):
    """Rows as they come, cut into dense blocks by their numbers."""

    _batch: Batch | None = None
    _at = 0  # rows of the batch that were taken
    _width = 2
    _n_blocks = 0

    def run(self, workers: Workers) -> None:
        """Read all rows; the thread that reads waits for none that multiplies."""
        add_in_order(workers, workers.n_threads, self._take, self._multiply, self._add, _Desk)
        self._n_ops = BLOCK_ROWS + self._n_blocks + 2

    def _take(self, desk: _Desk) -> tuple[int, Coordinates] | None:
        """Fill a block; return how many rows it has."""
        n = 0
        desk.widen(self._width, 0)
        while n < BLOCK_ROWS:
            if self._batch is None:
                self._batch, self._at = next(self._batches, None), 0
                if self._batch is None:
                    break
                self._width = max(self._width, 2 + n_columns(self._batch))
                desk.widen(self._width, n)
            size = (self._batch.targets if isinstance(self._batch, TextRows) else self._batch[1]).size
            stop = min(size, self._at + BLOCK_ROWS - n)
            _write(self._batch, self._at, stop, desk.block, n)
            n, self._at = n + stop - self._at, stop
            if stop == size:
                self._batch = None
        if n == 0:
            return None
        self._n_blocks += 1
        self._choose_coordinates(desk.block[:, : min(n, _SAMPLE_ROWS)])
        return n, self._coordinates_of(len(desk.block))

    def _multiply(self, taken: tuple[int, Coordinates], desk: _Desk) -> None:
        n, coordinates = taken
        block = desk.block[:, :n]
        with np.errstate(all="ignore"):
            coordinates.place(block, block, slice(None))
            np.matmul(block, block.T, out=desk.products)

    def _add(self, taken: tuple[int, Coordinates], desk: _Desk) -> None:
        width = len(desk.block)
        self._widen(width)
        with np.errstate(all="ignore"):
            self._products[:width, :width] += desk.products
        zero = np.flatnonzero(desk.products.diagonal() == 0.0)
        self._vanished[zero[desk.block[zero, : taken[0]].any(axis=1)]] = True


class EntryStream(Stream):
    """Rows with few entries: the outer product of every row with itself is added as it comes."""

    def __init__(self, batches: Iterator[Batch], fit_intercept: bool, coordinates: Coordinates | None) -> None:
        super().__init__(batches, fit_intercept, coordinates)
        self._counts = np.zeros(2, np.int64)
        self._row = np.zeros(3)  # number of rows; sums of y and of its squares since the last full block

    def run(self, workers: Workers) -> None:
        """Read all rows; one thread reads while another one adds."""
        add_in_order(workers, 2, self._take, lambda _rows, _desk: None, self._add, lambda: None)
        _close_block(self._row, self._products)
        mirror(self._products)
        n_blocks = int(self._products[0, 0]) // BLOCK_ROWS + 1
        self._n_ops = int(max(self._counts.max(), BLOCK_ROWS + n_blocks)) + 3

    def _take(self, _desk: None) -> TextRows | None:
        batch = next(self._batches, None)
        if batch is None:
            return None
        assert isinstance(batch, TextRows)
        if self._coordinates is None and batch.targets.size:
            sample = np.empty((2 + n_columns(batch), min(batch.targets.size, _SAMPLE_ROWS)))
            _write(batch, 0, sample.shape[1], sample, 0)
            self._choose_coordinates(sample)
        return batch

    def _add(self, rows: TextRows, _desk: None) -> None:
        if not rows.targets.size:
            return
        width = max(2 + n_columns(rows), len(self._products))
        self._widen(width)
        self._counts = np.append(self._counts, np.zeros(width - self._counts.size, np.int64))
        shifts, scales = self._coordinates_of(width)
        shifted = np.flatnonzero(shifts[2:]) + 2
        longest = int(np.diff(rows.row_ends, prepend=0).max()) + shifted.size + 1
        room = np.empty(longest, np.int64), np.empty(longest)
        _add_rows(*rows[:4], shifts, scales, shifted, *room, self._row, self._products, self._counts, self._vanished)


@kernel_in_order
def _add_rows(
    targets: Vector,
    row_ends: Integers,
    columns: NDArray[Any],
    values: Vector,
    shifts: Vector,
    scales: Vector,
    shifted: Integers,
    own_columns: Integers,
    own_values: Vector,
    row: Vector,
    products: Matrix,
    counts: Integers,
    vanished: Mask,
) -> None:
    """Add the outer products of rows to the lower half; columns that are shifted have a number in every row."""
    begin = 0
    for r in range(row_ends.size):
        n = 0
        for j in shifted:
            own_columns[n], own_values[n] = j, -shifts[j] * scales[j]
            n += 1
        for e in range(begin, row_ends[r]):
            j = 2 + columns[e]
            value = values[e] * scales[j] - shifts[j] * scales[j]
            if shifts[j] != 0.0:
                own_values[np.searchsorted(shifted, j)] = value
            else:
                own_columns[n], own_values[n] = j, value
                n += 1
        begin = row_ends[r]
        y = targets[r] * scales[1] - shifts[1] * scales[1]
        vanished[1] |= y != 0.0 and y * y == 0.0
        for a in range(n):
            i, value = own_columns[a], own_values[a]
            counts[i] += 1
            vanished[i] |= value != 0.0 and value * value == 0.0
            products[i, 0] += value
            products[i, 1] += value * y
            for b in range(a + 1):
                j = own_columns[b]
                products[max(i, j), min(i, j)] += value * own_values[b]
        products[0, 0] += 1.0
        row[0] += 1.0
        row[1] += y
        row[2] += y * y
        if row[0] == BLOCK_ROWS:
            _close_block(row, products)


@kernel_in_order
def _close_block(row: Vector, products: Matrix) -> None:
    """Add the sums of y over a block: a sum of millions of rows, one by one, would round too often."""
    products[1, 0] += row[1]
    products[1, 1] += row[2]
    row[0] = row[1] = row[2] = 0.0

"""Rows of any storage, block by block, as float64 in coordinates of their own: what a pass over the rows multiplies."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.bed import Packed
from .._core.columns import Csc, Dense, Whole, shape
from .._core.jit import kernel
from .._core.moments import Matrix, Vector
from .._core.threads import Workers

S = TypeVar("S")
T = TypeVar("T")
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Rows of a block: enough for BLAS, few enough for the cache and for a small bound of rounding.
BLOCK_ROWS = 1024
_FEWEST_ROWS = 256
# So many blocks, if there are rows for them: 2, 3, 4 and 6 threads then have the same work.
_N_BLOCKS = 12
# Runs of so many rows, at so many places, tell where a column lies.
_RUN_ROWS, _N_RUNS = 8, 8
# Where |mean| is no more than this many spreads, rounding grows by 17 at most: not worth a copy.
_TOLERATED_MEAN = 4.0


class Coordinates(NamedTuple):
    """Where the columns of [1, X, y] are measured from, and in which units: x becomes scale (x - shift).

    Shifts are numbers near the means, scales are powers of two: they cost at most one rounding per number.
    """

    shifts: Vector  # zero for the column of ones
    scales: Vector  # one for the column of ones

    @property
    def are_plain(self) -> bool:
        """Whether X is taken as it is."""
        return not self.shifts[1:-1].any() and bool((self.scales[1:-1] == 1.0).all())

    def place(self, values: NDArray[Any], out: Matrix, columns: slice = slice(1, -1)) -> Matrix:
        """Write columns of [1, X, y], those of X by default, that lie in the rows of `values`."""
        shifts, scales = self.shifts[columns, None], self.scales[columns, None]
        if (scales == 1.0).all():
            np.subtract(values, shifts, out=out)
        else:  # first the scale: a difference of huge numbers may be infinite
            np.multiply(values, scales, out=out)
            np.subtract(out, shifts * scales, out=out)
        return out


def plain_coordinates(p: int) -> Coordinates:
    """Return coordinates that change nothing."""
    return Coordinates(np.zeros(p + 2), np.ones(p + 2))


def choose_shifts(sample: Matrix, may_shift: Mask, lies_ready: bool) -> Vector:
    """Return a number near the mean for every row of `sample`, one of its own; zero where the spread is larger.

    Rows of a constant are shifted by it: what is left is exactly zero. Data that are ready to be multiplied where they
    lie are shifted only if that pays for a copy.
    """
    with np.errstate(all="ignore"):  # what is not finite is not shifted, and found later
        means = sample.mean(axis=1)
        distances = np.abs(sample - means[:, None])
        ratios = np.where(may_shift, np.abs(means) / distances.mean(axis=1), 0.0)  # NaN for a row of zeros
    nearest = np.take_along_axis(sample, np.argmin(distances, axis=1)[:, None], axis=1)[:, 0]
    if lies_ready and not (ratios[1:-1] > _TOLERATED_MEAN).any():
        ratios[1:-1] = 0.0
    return np.where((ratios > 1.0) & np.isfinite(nearest), nearest, 0.0)


def shifted_coordinates(X: Whole, y: Vector) -> Coordinates:
    """Return coordinates for data with an intercept, from some rows."""
    m, p = shape(X)
    starts = np.linspace(0, max(0, m - _RUN_ROWS), _N_RUNS).astype(np.int64)
    rows = np.unique(starts[:, None] + np.arange(min(m, _RUN_ROWS)))
    sample = np.zeros((p + 2, rows.size))
    sample[1:-1] = read_rows(X, rows, sample[1:-1])
    sample[-1] = y[rows]
    return Coordinates(choose_shifts(sample, shiftable(X), lies_ready(X)), np.ones(p + 2))


def shiftable(X: Whole) -> Mask:
    """Tell which columns of [1, X, y] may be shifted.

    Of sparse columns only full ones: where a number is absent, the mean is no more than sqrt(m) spreads.
    """
    m, p = shape(X)
    may_shift = np.ones(p + 2, np.bool_)
    may_shift[0] = False
    if isinstance(X, Csc):
        may_shift[1:-1] = np.diff(X.indptr) == m
    return may_shift


# A block ------------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Rows of a fold that are multiplied at once."""

    fold: int
    rows: Rows  # increasing


def cut_rows(m: int, p: int, most: int = BLOCK_ROWS) -> list[int]:
    """Cut m rows of p columns into blocks: by the data, never by the number of threads."""
    fewest = min(most, max(_FEWEST_ROWS, p // 2))  # every block adds p^2 numbers
    n_blocks = max(1, -(-m // min(most, max(fewest, m // _N_BLOCKS))))
    return [k * m // n_blocks for k in range(n_blocks + 1)]


def cut_folds(m: int, p: int, fold_of: Rows | None, most: int = BLOCK_ROWS) -> list[Piece]:
    """Cut the rows of every fold into blocks, in the order of their first rows: neighbours are read together."""
    if fold_of is None:
        return [Piece(0, np.arange(lo, hi)) for lo, hi in itertools.pairwise(cut_rows(m, p, most))]
    pieces = []
    for fold in range(int(fold_of.max()) + 1):
        rows = np.flatnonzero(fold_of == fold)
        pieces += [Piece(fold, rows[lo:hi]) for lo, hi in itertools.pairwise(cut_rows(rows.size, p, most)) if lo < hi]
    return sorted(pieces, key=lambda piece: int(piece.rows[0]))


def lies_ready(X: Whole) -> bool:
    """Tell whether blocks of the storage can be multiplied where they lie."""
    return isinstance(X, Dense) and X.values.dtype == np.float64


def read_block(X: Whole, rows: Rows, coordinates: Coordinates, room: Matrix) -> Matrix:
    """Return some rows, transposed: where they lie if they can be taken as they are, else in `room`."""
    if coordinates.are_plain:
        return read_rows(X, rows, room)
    values = dense_rows(X, rows) if isinstance(X, Dense) else read_rows(X, rows, room)
    return coordinates.place(values, room[:, : rows.size])


def read_rows(X: Whole, rows: Rows, room: Matrix) -> Matrix:
    """Return some rows as they are, transposed: where they lie, or in `room`."""
    out = room[:, : rows.size]
    if isinstance(X, Dense):
        values = dense_rows(X, rows)
        if values.dtype == np.float64:
            return values
        np.copyto(out, values)
    elif isinstance(X, Csc):
        _fill_csc(X.data, X.indices, X.indptr, rows, room)
    else:
        _fill_bed(X.packed, X.means, rows, room)
    return out


def dense_rows(X: Dense, rows: Rows) -> NDArray[Any]:
    """Return some rows as they are, transposed: where they lie if they are neighbours."""
    first, last = int(rows[0]), int(rows[-1])
    return X.values[:, first : last + 1] if last - first + 1 == rows.size else X.values.take(rows, axis=1)


@kernel
def _fill_csc(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], rows: Rows, out: Matrix) -> None:
    """Write some rows of a sparse matrix."""
    for j in range(out.shape[0]):
        for r in range(rows.size):
            out[j, r] = 0.0
        below, above = indptr[j], indptr[j + 1]
        while below < above:  # the first entry that is not before the first row
            middle = (below + above) // 2
            if indices[middle] < rows[0]:
                below = middle + 1
            else:
                above = middle
        r = 0
        for k in range(below, indptr[j + 1]):
            while r < rows.size and rows[r] < indices[k]:
                r += 1
            if r == rows.size:
                break
            if rows[r] == indices[k]:
                out[j, r] = data[k]


@kernel
def _fill_bed(packed: Packed, means: Vector, rows: Rows, out: Matrix) -> None:
    """Write some rows of genotypes: 00 is two copies, 10 one, 11 none, 01 the mean of the calls."""
    for j in range(out.shape[0]):
        for r in range(rows.size):
            code = packed[j, rows[r] >> 2] >> ((rows[r] & 3) << 1)
            if code & 1:
                out[j, r] = 0.0 if code & 2 else means[j]
            else:
                out[j, r] = 1.0 if code & 2 else 2.0


# Threads ------------------------------------------------------------------------------------------------------


class _OverError(Exception):
    """Another thread has failed."""


class _Turns:
    """Numbers pieces as they are taken, and lets threads take turns by these numbers."""

    def __init__(self) -> None:
        self._taking = threading.Lock()
        self._changed = threading.Condition()
        self._n_taken = self._n_added = 0
        self._is_over = False

    def take(self, take: Callable[[], S | None]) -> tuple[int, S] | None:
        """Return the next piece with its number; None if there is none."""
        with self._taking:
            if self._is_over or (piece := take()) is None:
                return None
            self._n_taken += 1
            return self._n_taken - 1, piece

    @contextmanager
    def of(self, k: int) -> Iterator[None]:
        """Wait until all pieces before k have had their turns."""
        with self._changed:
            self._changed.wait_for(lambda: self._n_added == k or self._is_over)
            if self._is_over:
                raise _OverError
            yield
            self._n_added += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let all threads go."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


def add_in_order(
    workers: Workers,
    n_threads: int,
    take: Callable[[T], S | None],
    compute: Callable[[S, T], None],
    add: Callable[[S, T], None],
    make_room: Callable[[], T],
) -> None:
    """Take pieces until there are none, one at a time, compute with them on threads, and add them as they were taken.

    Every thread has a room of its own. The first piece that is not added is always in work: nobody waits for ever.
    """
    turns = _Turns()

    def work(_lo: int, _hi: int) -> None:
        room = make_room()
        try:
            while (taken := turns.take(partial(take, room))) is not None:
                k, piece = taken
                compute(piece, room)
                with turns.of(k):
                    add(piece, room)
        except _OverError:
            return
        except BaseException:
            turns.end()
            raise

    workers.run(work, range(min(n_threads, workers.n_threads) + 1))

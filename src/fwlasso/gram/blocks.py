"""Rows of any storage, block by block, as float64 in coordinates of their own: what a pass over the rows multiplies."""

import itertools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, column_entries, column_entry
from .._core.dense import Dense
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

    def place(self, values: NDArray[Any], out: Matrix, columns: slice = slice(1, -1)) -> Matrix:
        """Write columns of [1, X, y], those of X by default, that lie in the rows of `values`."""
        shifts, scales = self.shifts[columns, None], self.scales[columns, None]
        if (scales == 1.0).all():
            np.subtract(values, shifts, out=out)
        else:  # first the scale: a difference of huge numbers may be infinite
            np.multiply(values, scales, out=out)
            np.subtract(out, shifts * scales, out=out)
        return out

    def widened(self, p: int) -> "Coordinates":
        """Return coordinates of at least p columns of X; new ones, before y, are neither shifted nor scaled."""
        last = self.shifts.size - 1
        if p < last:
            return self
        at = np.full(p + 1 - last, last)
        return Coordinates(np.insert(self.shifts, at, 0.0), np.insert(self.scales, at, 1.0))


def choose_coordinates(X: Columns, y: Vector, rows: Rows, may_shift: Mask) -> Coordinates:
    """Return coordinates without scales: a column is shifted by one of its numbers in some rows, that near their mean.

    Constant columns become zero; what varies by more than its mean is not shifted. Data that are ready to be multiplied
    where they lie are shifted only if that pays for a copy.
    """
    sample = np.zeros((may_shift.size, rows.size))
    if not may_shift.any():
        return Coordinates(np.zeros(may_shift.size), np.ones(may_shift.size))
    sample[1:-1] = read_rows(X, rows, sample[1:-1])
    sample[-1] = y[rows]
    with np.errstate(all="ignore"):  # what is not finite is not shifted, and found later
        means = sample.mean(axis=1)
        distances = np.abs(sample - means[:, None])
        ratios = np.where(may_shift, np.abs(means) / distances.mean(axis=1), 0.0)  # NaN for a row of zeros
    nearest = np.take_along_axis(sample, np.argmin(distances, axis=1)[:, None], axis=1)[:, 0]
    if isinstance(X, Dense) and X.values.dtype == np.float64 and not (ratios[1:-1] > _TOLERATED_MEAN).any():
        ratios[1:-1] = 0.0
    return Coordinates(np.where((ratios > 1.0) & np.isfinite(nearest), nearest, 0.0), np.ones(may_shift.size))


def some_rows(m: int) -> Rows:
    """Return a few runs of m rows: they tell where a column lies."""
    starts = np.linspace(0, max(0, m - _RUN_ROWS), _N_RUNS).astype(np.int64)
    return np.unique(starts[:, None] + np.arange(min(m, _RUN_ROWS)))


# A block ------------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Rows of a fold that are multiplied at once."""

    fold: int
    rows: Rows  # increasing


def cut_rows(m: int, p: int) -> list[int]:
    """Cut m rows of p columns into blocks: by the data, never by the number of threads."""
    fewest = max(_FEWEST_ROWS, p // 2)  # every block adds p^2 numbers
    n_blocks = max(1, -(-m // min(BLOCK_ROWS, max(fewest, m // _N_BLOCKS))))
    return [k * m // n_blocks for k in range(n_blocks + 1)]


def cut_folds(m: int, p: int, fold_of: Rows | None) -> list[Piece]:
    """Cut the rows of every fold into blocks, in the order of their first rows: neighbours are read together."""
    pieces = []
    for fold in range(1 if fold_of is None else int(fold_of.max()) + 1):
        rows = np.arange(m) if fold_of is None else np.flatnonzero(fold_of == fold)
        pieces += [Piece(fold, rows[lo:hi]) for lo, hi in itertools.pairwise(cut_rows(rows.size, p)) if lo < hi]
    return sorted(pieces, key=lambda piece: int(piece.rows[0]))


def read_block(X: Columns, rows: Rows, coordinates: Coordinates, room: Matrix) -> Matrix:
    """Return some rows, transposed: where they lie if they can be taken as they are, else in `room`."""
    values, out = read_rows(X, rows, room), room[:, : rows.size]
    if coordinates.shifts[1:-1].any() or (coordinates.scales[1:-1] != 1.0).any():
        return coordinates.place(values, out)
    if values.dtype == np.float64:
        return values
    np.copyto(out, values)
    return out


def read_rows(X: Columns, rows: Rows, room: Matrix, first: int = 0) -> NDArray[Any]:
    """Return some rows of as many columns as there is room for, from `first` on, transposed.

    They are as they lie, and where they lie if they are neighbours in a dense array.
    """
    if isinstance(X, Dense):
        values, lo, hi = X.values[first : first + len(room)], int(rows[0]), int(rows[-1]) + 1
        return values[:, lo:hi] if hi - lo == rows.size else values.take(rows, axis=1)
    _fill(X, first, rows, room)
    return room[:, : rows.size]


@kernel
def _fill(X: Columns, first: int, rows: Rows, out: Matrix) -> None:
    """Write some rows of columns from `first` on; their entries are in increasing rows."""
    for j in range(out.shape[0]):
        for r in range(rows.size):
            out[j, r] = 0.0
        below, n = 0, column_entries(X, first + j)
        above = n
        while below < above:  # the first entry that is not before the first row
            middle = (below + above) // 2
            if column_entry(X, first + j, middle)[0] < rows[0]:
                below = middle + 1
            else:
                above = middle
        r = 0
        for k in range(below, n):
            i, value = column_entry(X, first + j, k)
            while r < rows.size and rows[r] < i:
                r += 1
            if r == rows.size:
                break
            if rows[r] == i:
                out[j, r] = value


# Threads ------------------------------------------------------------------------------------------------------


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
    taking, turns = threading.Lock(), threading.Condition()
    n_taken = n_added = 0
    has_failed = False

    def go_on(room: T) -> bool:
        nonlocal n_taken, n_added
        with taking:
            if has_failed or (piece := take(room)) is None:
                return False
            k, n_taken = n_taken, n_taken + 1
        compute(piece, room)
        with turns:
            turns.wait_for(lambda: n_added == k or has_failed)
            if not has_failed:
                add(piece, room)
                n_added += 1
                turns.notify_all()
            return not has_failed

    def work(_lo: int, _hi: int) -> None:
        nonlocal has_failed
        room = make_room()
        try:
            while go_on(room):
                pass
        except BaseException:
            with turns:
                has_failed = True
                turns.notify_all()
            raise

    workers.map(work, range(min(n_threads, workers.n_threads) + 1))

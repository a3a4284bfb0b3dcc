"""Copies of the few columns that are worked with, in float64: one type for every storage of X.

Columns are centred and scaled when they are copied. What works on copies is compiled once, and loses no digits to the
means of columns.
"""

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, column_entries, column_entry, column_shift, fetch_listed, samples
from .._core.costs import set_places, with_places
from .._core.jit import kernel, part_of_kernel
from .._core.problem import Problem
from .._core.samples import root, to_root, total_weight, weight, weight_vector
from .._core.subproblem.copies import Copies
from .._core.sweeps import Indices
from .._core.threads import Workers, even_cuts, physical_memory
from .._core.weighted import weight_of_others
from ..problem.passes import Summary, Taken
from ..problem.points import SolvedPoint

#: Bytes that the copies of a path may take: so many, and at most this share of the machine's memory.
MOST_BYTES, _MOST_OF_MEMORY = 2 << 30, 0.25
# An entry of a compressed copy has so many bytes.
_BYTES_PER_ENTRY = 12
# Columns that are fuller than this are copied as a whole: so their means are no larger than their variation.
_FULL = 0.5
# There is room for so many columns at first, and for so many bytes of dense ones: what is not used costs nothing.
_FIRST_PLACES, _FIRST_BYTES = 256, 32 << 20


class NoRoom(Exception):  # noqa: N818
    """The columns that are to be worked with do not fit into the memory for copies."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__(f"The relevant columns do not fit into the {n_bytes >> 20:,} MB that their copies may take.")
        self.points: list[SolvedPoint] = []  # that were solved before


class Copier:
    """Copies columns of a problem to places, within the bytes that copies may take."""

    def __init__(self, problem: Problem, summary: Summary, workers: Workers) -> None:
        self._workers = workers
        self._n_columns = summary.n_columns
        self._n_entries = 0  # that are in use, up to the last
        m = problem.y.size - 1
        self.most_bytes = min(MOST_BYTES, int(_MOST_OF_MEMORY * physical_memory()))
        nothing, no_places = np.empty(0), np.empty(0, np.int64)
        self.copies = Copies(
            rows=np.empty((0, m)),
            data=nothing,
            indices=np.empty(0, np.int32),
            starts=no_places,
            stops=no_places,
            shifts=nothing,
            norms2=nothing,
            xty=nothing,
            y=np.array(to_root(summary.samples, problem.y)),
            roots=np.sqrt(weight_vector(summary.samples)),
            yy=problem.yy,
            total=total_weight(summary.samples),
            n_samples=problem.n_samples,
            cost=with_places(problem.cost, 0),
            centred=problem.centred,
            dense=summary.n_entries > _FULL * m * summary.n_columns,
        )

    @property
    def room(self) -> int:
        """How many places there is room for."""
        return self.copies.starts.size

    def fits(self, taken: Taken) -> bool:
        """Tell whether more columns fit beside those that are there."""
        copies = self.copies
        if copies.dense:
            n_more = 8 * (copies.y.size - 1) * taken.at.size
        else:
            n_more = _BYTES_PER_ENTRY * int(_lengths(taken, copies).sum())
        return self.nbytes + n_more <= self.most_bytes

    @property
    def nbytes(self) -> int:
        """The bytes of the columns that are there."""
        n_entries = int((self.copies.stops - self.copies.starts).sum())
        return n_entries * (8 if self.copies.dense else _BYTES_PER_ENTRY)

    def drop(self, places: Indices) -> None:
        """Forget the columns of some places."""
        self.copies.starts[places] = self.copies.stops[places] = 0

    def copy(self, taken: Taken, places: Indices) -> None:
        """Copy columns to places that are free."""
        n_places = int(places.max(initial=-1)) + 1
        if n_places > self.room:
            self._add_places(n_places)
        copies, X, columns = self.copies, taken.X, taken.at
        set_places(copies.cost, places, taken.cost)
        m = copies.y.size - 1
        if copies.dense:
            cuts = even_cuts(columns.size, 16 * m * columns.size)
            self._workers.map(lambda lo, hi: _copy_dense(X, columns, places, copies, lo, hi), cuts)
            return
        lengths = _lengths(taken, copies)
        n_more = int(lengths.sum())
        if self._n_entries + n_more > copies.data.size:
            self._add_entries(n_more)
            copies = self.copies
        copies.starts[places] = self._n_entries + np.cumsum(lengths) - lengths
        self._n_entries += n_more
        cuts = even_cuts(columns.size, 2 * _BYTES_PER_ENTRY * n_more)
        self._workers.map(lambda lo, hi: _copy_compressed(X, columns, places, copies, lo, hi), cuts)

    def _add_places(self, n_least: int) -> None:
        """Make room for more columns; rows are moved rarely, and of the rest there is little, as it is swept often."""
        copies, old = self.copies, self.room
        room = max(n_least, min(max(_FIRST_PLACES, 2 * old), self._n_columns))
        if copies.dense and room > copies.rows.shape[0]:
            first = min(_FIRST_BYTES, self.most_bytes) // (8 * (copies.y.size - 1))
            rows = np.empty((max(room, min(first, self._n_columns)), copies.rows.shape[1]))
            rows[:old] = copies.rows[:old]
            copies = copies._replace(rows=rows)
        more = np.zeros(room - old)
        self.copies = copies._replace(
            starts=np.append(copies.starts, more.astype(np.int64)),
            stops=np.append(copies.stops, more.astype(np.int64)),
            shifts=np.append(copies.shifts, more),
            norms2=np.append(copies.norms2, more),
            xty=np.append(copies.xty, more),
            cost=with_places(copies.cost, room),
        )

    def _add_entries(self, n_more: int) -> None:
        """Make room for more entries, and leave out those that were dropped."""
        copies = self.copies
        lengths = copies.stops - copies.starts
        n_live = int(lengths.sum())
        room = 2 * (n_live + n_more)
        data, indices = np.empty(room), np.empty(room, np.int32)
        starts = np.cumsum(lengths) - lengths
        _move_entries(copies, starts, data, indices)
        self._n_entries = n_live
        self.copies = copies._replace(data=data, indices=indices, starts=starts, stops=starts + lengths)


@kernel
def _move_entries(copies: Copies, starts: Indices, data: Vector, indices: NDArray[np.int32]) -> None:
    for k in range(starts.size):
        for e in range(copies.stops[k] - copies.starts[k]):
            data[starts[k] + e] = copies.data[copies.starts[k] + e]
            indices[starts[k] + e] = copies.indices[copies.starts[k] + e]


@part_of_kernel
def _is_full(n_entries: int, copies: Copies) -> bool:
    """Tell whether a column is copied as a whole: without its mean, where that may be large."""
    return copies.centred and n_entries > _FULL * copies.n_samples


def _lengths(taken: Taken, copies: Copies) -> Indices:
    """Return how many entries compressed copies of some columns may have."""
    n_entries = taken.n_entries
    return np.where(copies.centred & (n_entries > _FULL * copies.n_samples), copies.n_samples, n_entries)


@kernel
def _copy_dense(X: Columns, columns: Indices, places: Indices, copies: Copies, lo: int, hi: int) -> None:
    for c in range(lo, hi):
        k = places[c]
        fetch_listed(X, columns, c)
        norm2, copies.xty[k] = _fill_row(X, columns[c], copies, copies.rows[k])
        copies.norms2[k] = norm2
        copies.starts[k], copies.stops[k] = 0, copies.y.size - 1


@kernel
def _fill_row(X: Columns, j: int, copies: Copies, row: Vector) -> tuple[float, float]:
    """Fill in sqrt(W) z_j; return z_j'W z_j and z_j'W y."""
    own, shift = samples(X), column_shift(X, j)
    for i in range(row.size):
        row[i] = -shift * copies.roots[i]
    total = 0.0
    for e in range(column_entries(X, j)):
        i, value = column_entry(X, j, e)
        row[i] = (value - shift) * copies.roots[i]
    for i in range(row.size):
        total += row[i] * root(own, i)
    rest = total / copies.total if copies.centred else 0.0  # what rounding has left of the mean
    norm2 = xty = 0.0
    for i in range(row.size):
        row[i] -= rest * copies.roots[i]
        norm2 += row[i] * row[i]
        xty += row[i] * copies.y[i]
    return norm2, xty


@kernel
def _copy_compressed(X: Columns, columns: Indices, places: Indices, copies: Copies, lo: int, hi: int) -> None:
    """Copy columns to where their places start."""
    own, m = samples(X), copies.y.size - 1
    row = np.empty(m)
    for c in range(lo, hi):
        j, k = columns[c], places[c]
        at = copies.starts[k]
        if _is_full(column_entries(X, j), copies):
            copies.shifts[k] = 0.0
            norm2, copies.xty[k] = _fill_row(X, j, copies, row)
            copies.norms2[k] = norm2
            for i in range(m):
                if copies.roots[i] > 0.0:
                    copies.indices[at] = i
                    copies.data[at] = row[i]
                    at += 1
            copies.stops[k] = at
            continue
        total = there = norm2 = xty = 0.0
        for e in range(column_entries(X, j)):
            i, value = column_entry(X, j, e)
            if copies.roots[i] > 0.0:
                copies.indices[at] = i
                copies.data[at] = value * root(own, i)
                total += copies.data[at] * root(own, i)
                there += weight(own, i)
                at += 1
        shift = total / copies.total if copies.centred else 0.0
        for e in range(copies.starts[k], at):
            norm2 += (copies.data[e] - shift * root(own, copies.indices[e])) ** 2
            xty += copies.data[e] * copies.y[copies.indices[e]]
        copies.stops[k] = at
        copies.shifts[k] = shift
        copies.norms2[k] = norm2 + weight_of_others(own, X, j, there) * shift**2
        copies.xty[k] = xty - shift * copies.y[m]

"""Sparse columns put row by row.

Products with columns gather all over a vector of samples, which costs more than to multiply. By rows, an entry of U d
and its part of U'(U d) are made at once, and all that is gathered from are vectors over a few columns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Vector
from ..jit import kernel, kernel_in_order
from ..sweeps import Indices
from ..threads import even_cuts
from .copies import Copies

# Columns are put by rows if no more than this fraction of their numbers is stored, and at most so many: 80 MB.
_SPARSE, _MOST_ENTRIES = 0.25, 1 << 23
# The time to multiply twice by an entry is that to read so many bytes.
_BYTES_PER_ENTRY = 25
# So many columns can be named with 16 bits.
_MOST_COLUMNS = 1 << 16


class SparseRows(NamedTuple):
    """A sparse matrix by rows: of columns u_i + shift_i roots with u_i orthogonal to the roots, or without shifts."""

    starts: Indices
    columns: NDArray[np.uint16]
    values: Vector
    shifts: Vector  # by column
    roots: Vector  # by row


@kernel
def by_rows(copies: Copies, places: Indices, lo: int, hi: int) -> SparseRows:
    """Return z_k / ||z_k|| of places lo..hi by rows; no rows at all if that would not pay."""
    n, m = hi - lo, copies.y.size - 1
    norms, shifts, n_entries = np.empty(n), np.empty(n), 0
    for i in range(n):
        k = places[lo + i]
        n_entries += copies.stops[k] - copies.starts[k]
        norms[i] = np.sqrt(copies.norms2[k])
        shifts[i] = copies.shifts[k] / norms[i]
    pays = n <= _MOST_COLUMNS and n_entries <= min(_MOST_ENTRIES, _SPARSE * n * m)
    if not pays:
        n_entries = 0
    starts = np.zeros(m + 1 if pays else 0, np.int64)
    names, values = np.empty(n_entries, np.uint16), np.empty(n_entries)
    if pays:
        one = np.uintp(1)
        for i in range(lo, hi):
            k = places[i]
            for e in range(np.uintp(copies.starts[k]), np.uintp(copies.stops[k])):
                starts[np.uintp(copies.indices[e]) + one] += 1
        for row in range(m):
            starts[row + 1] += starts[row]
        ends = starts.copy()
        for i in range(n):
            k, factor = places[lo + i], 1.0 / norms[i]
            for e in range(np.uintp(copies.starts[k]), np.uintp(copies.stops[k])):
                sample = np.uintp(copies.indices[e])
                at = np.uintp(ends[sample])
                names[at] = i
                values[at] = copies.data[e] * factor
                ends[sample] += 1
    return SparseRows(starts, names, values, shifts, copies.roots)


@kernel
def no_rows() -> SparseRows:
    """Return what stands for rows where they would not pay."""
    return SparseRows(np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0), np.empty(0), np.empty(0))


def cut_rows(rows: SparseRows) -> list[int]:
    """Cut the rows into chunks of about equal work, for `multiply_twice`."""
    cuts = even_cuts(rows.values.size, _BYTES_PER_ENTRY * rows.values.size)
    n_rows = max(0, rows.starts.size - 1)
    return sorted({0, n_rows, *np.searchsorted(rows.starts, cuts[1:-1]).tolist()})


@kernel_in_order
def multiply_twice(rows: SparseRows, d: Vector, lo: int, hi: int) -> Vector:
    """Return what rows lo..hi make of U'U d."""
    image = np.zeros(d.size)
    constant = 0.0
    for i in range(d.size):
        constant += rows.shifts[i] * d[i]
    for row in range(lo, hi):
        start, stop = np.uintp(rows.starts[row]), np.uintp(rows.starts[row + 1])
        v = -constant * rows.roots[row]
        for k in range(start, stop):
            v += rows.values[k] * d[np.uintp(rows.columns[k])]
        for k in range(start, stop):  # v is orthogonal to the roots: it takes no shifts
            image[np.uintp(rows.columns[k])] += rows.values[k] * v
    return image

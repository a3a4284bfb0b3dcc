"""Products with some columns, on threads where they have many entries."""

import numpy as np

from ..columns import Vector
from ..jit import kernel
from ..sweeps import Indices
from ..threads import FEWEST_BYTES, Workers, n_chunks
from .copies import Copies, add, center, count_entries, dot

# Columns are combined in so many parts at most, each of them a vector over samples.
_MOST_PARTS = 4
# The time to multiply by an entry is that to read so many bytes.
_BYTES_PER_ENTRY = 40
#: Entries of columns that threads pay for.
MANY_ENTRIES = FEWEST_BYTES // _BYTES_PER_ENTRY


class Products:
    """Products with the columns z_i of some places."""

    def __init__(self, copies: Copies, places: Indices, workers: Workers) -> None:
        self.copies = copies
        self._places = places
        self._workers = workers
        ends = np.cumsum(count_entries(copies, places))
        n_parts = min(n_chunks(_BYTES_PER_ENTRY * int(ends[-1])), _MOST_PARTS) if places.size else 1
        self._cuts = _cut_evenly(ends, n_parts)

    def combine(self, coefs: Vector) -> Vector:
        """Return the sum of coefs_i z_i, without a constant part if columns are centred."""
        copies, places = self.copies, self._places
        parts = self._workers.map(lambda lo, hi: _combine(copies, places, coefs, lo, hi), self._cuts)
        total: Vector = np.sum(parts, axis=0)
        center(copies, total)
        return total

    def correlate(self, v: Vector) -> Vector:
        """Return z_i'v of all columns."""
        copies, places = self.copies, self._places
        return np.concatenate(self._workers.map(lambda lo, hi: _correlate(copies, places, v, lo, hi), self._cuts))


def _cut_evenly(ends: Indices, n_parts: int) -> list[int]:
    """Cut columns into parts of about equal work, given how many entries there are up to each of them."""
    if n_parts == 1:
        return [0, ends.size]
    inner = np.searchsorted(ends, [ends[-1] * k // n_parts for k in range(1, n_parts)])
    return sorted({0, ends.size, *inner.tolist()})


@kernel
def _combine(copies: Copies, places: Indices, coefs: Vector, lo: int, hi: int) -> Vector:
    v = np.zeros(copies.y.size)
    for i in range(lo, hi):
        add(copies, places[i], coefs[i], v)
    return v


@kernel
def _correlate(copies: Copies, places: Indices, v: Vector, lo: int, hi: int) -> Vector:
    products = np.empty(hi - lo)
    for i in range(lo, hi):
        products[i - lo] = dot(copies, places[i], v)
    return products

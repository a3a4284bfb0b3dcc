"""The columns of a working set, copied side by side: what its kernels read in place of X."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import (
    Matrix,
    Vector,
)
from ..instructions import gathered_sum
from ..jit import kernel, part_of_kernel

Indices = NDArray[np.int64]


class Copies(NamedTuple):
    """Columns by place, as dense rows or compressed, and the response; samples that are masked are zero, or left out.

    Dense rows are z_j. Compressed columns are z_j + shift 1 in memory: see columns.py.
    """

    rows: Matrix  # by place, then by sample; no rows if columns are compressed
    data: Vector
    indices: NDArray[np.int32]
    starts: Indices  # by place, as what follows: from where on entries are, and up to where; in a dense row all
    stops: Indices
    shifts: Vector
    norms2: Vector  # z_j'z_j
    xty: Vector  # z_j'y
    y: Vector  # a sample vector
    kept: Vector  # by sample: 1 for those that are there, else 0
    yy: float
    n_samples: int  # that are there
    centred: bool
    dense: bool


@part_of_kernel
def dot(copies: Copies, k: int, v: Vector) -> float:
    """Return z_k'v, for a sample vector v."""
    m = v.size - 1
    if not copies.dense:
        total: float = gathered_sum(copies.data, copies.indices, v, 0, 1, copies.starts[k], copies.stops[k])
        return total - float(copies.shifts[k]) * float(v[m])
    total = 0.0
    for i in range(m):
        total += copies.rows[k, i] * v[i]
    return total


@part_of_kernel
def add(copies: Copies, k: int, a: float, v: Vector) -> None:
    """Add a z_k to a sample vector, up to a multiple of 1 for compressed columns that are centred."""
    m = v.size - 1
    if copies.dense:
        for i in range(m):
            v[i] += a * copies.rows[k, i]
    else:
        for e in range(np.uintp(copies.starts[k]), np.uintp(copies.stops[k])):
            v[np.uintp(copies.indices[e])] += a * copies.data[e]
        v[m] += a * copies.shifts[k] * copies.n_samples


@kernel
def center(copies: Copies, v: Vector) -> None:
    """Take the constant part out of a sum of columns; carried along, it costs digits in every dot product."""
    m = v.size - 1
    constant = v[m] / copies.n_samples
    for i in range(m):
        v[i] -= constant * copies.kept[i]
    v[m] = 0.0


@kernel
def rank_bound(copies: Copies) -> int:
    """Return how many columns can be independent: as many as there are samples, less one for the intercept."""
    return int(copies.n_samples - copies.centred)


@kernel
def entries_of(copies: Copies, places: Indices) -> int:
    """Return how many numbers the columns of some places have."""
    n_entries = 0
    for k in places:
        n_entries += copies.stops[k] - copies.starts[k]
    return int(n_entries)


def count_entries(copies: Copies, places: Indices) -> Indices:
    """Return how many numbers the column of each of some places has."""
    return copies.stops[places] - copies.starts[places]

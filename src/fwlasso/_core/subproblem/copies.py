"""The columns of a working set, copied side by side: what its kernels read in place of X."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Matrix, Vector
from ..costs import Cost, has_ridge
from ..instructions import gathered_sum
from ..jit import kernel, part_of_kernel
from ..sweeps import Indices


class Copies(NamedTuple):
    """Columns by place, as dense rows or compressed, and the response; samples that are masked are zero, or left out.

    All of it is multiplied by the roots of the samples' weights, so that sums of squares are weighted ones. Dense rows
    are sqrt(W) z_j. Compressed columns are z_j + shift roots in memory: see columns.py.
    """

    rows: Matrix  # by place, then by sample; no rows if columns are compressed
    data: Vector
    indices: NDArray[np.int32]
    starts: Indices  # by place, as what follows: from where on entries are, and up to where; in a dense row all
    stops: Indices
    shifts: Vector
    norms2: Vector  # z_j'z_j
    xty: Vector  # z_j'y
    y: Vector  # a sample vector: its last place has the sum of its entries times the roots
    roots: Vector  # of the weights by sample: 1 for those that are there, else 0, where these count alike
    yy: float
    total: float  # the sum of the weights
    n_samples: int  # that are there
    cost: Cost  # of coefficients, by place
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
    """Add a z_k to a sample vector, up to a multiple of the roots for compressed columns that are centred."""
    m = v.size - 1
    if copies.dense:
        for i in range(m):
            v[i] += a * copies.rows[k, i]
    else:
        for e in range(np.uintp(copies.starts[k]), np.uintp(copies.stops[k])):
            v[np.uintp(copies.indices[e])] += a * copies.data[e]
        v[m] += a * copies.shifts[k] * copies.total


@kernel
def center(copies: Copies, v: Vector) -> None:
    """Take the constant part out of a sum of columns; carried along, it costs digits in every dot product."""
    m = v.size - 1
    constant = v[m] / copies.total
    for i in range(m):
        v[i] -= constant * copies.roots[i]
    v[m] = 0.0


@kernel
def rank_bound(copies: Copies) -> int:
    """Return how many columns can be independent: as many as there are samples, less one for the intercept.

    With a ridge all can.
    """
    return int(copies.norms2.size if has_ridge(copies.cost) else copies.n_samples - copies.centred)


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


def weigh(copies: Copies, members: Indices, roots: Vector, scale: Vector, response: Vector) -> Copies:
    """Return the columns of some places, and a response, in the metric of other weights, by their roots.

    `scale` has these by the roots of the weights that copies have.
    """
    shape = (copies.norms2.size, roots.size) if copies.dense else (0, roots.size)
    weighted = copies._replace(
        rows=np.empty(shape),
        data=np.empty(copies.data.size),
        shifts=np.zeros(copies.shifts.size),
        norms2=np.zeros(copies.norms2.size),
        xty=np.zeros(copies.xty.size),
        y=np.zeros(copies.y.size),
        roots=roots,
        total=float(np.sum(roots**2)),
    )
    _weigh_response(response, weighted)
    _weigh_columns(copies, members, scale, weighted)
    return weighted._replace(yy=float(np.sum(weighted.y[:-1] ** 2)))


@kernel
def _weigh_response(response: Vector, weighted: Copies) -> None:
    """Fill in a response, without its weighted mean if columns are centred."""
    y, roots, m = weighted.y, weighted.roots, weighted.roots.size
    total = 0.0
    for i in range(m):
        total += roots[i] ** 2 * response[i]
    mean = total / weighted.total if weighted.centred else 0.0
    for i in range(m):
        y[i] = roots[i] * (response[i] - mean)
        y[m] += roots[i] * y[i]


@kernel
def _weigh_columns(copies: Copies, members: Indices, scale: Vector, weighted: Copies) -> None:
    """Fill in columns that have their old means in memory, or none: weighted ones are taken off them."""
    roots, m = weighted.roots, weighted.roots.size
    for k in members:
        total = within = norm2 = xty = 0.0
        if copies.dense:
            for i in range(m):
                total += roots[i] * scale[i] * copies.rows[k, i]
            mean = total / weighted.total if copies.centred else 0.0
            for i in range(m):
                value = scale[i] * copies.rows[k, i] - mean * roots[i]
                weighted.rows[k, i] = value
                norm2 += value * value
                xty += value * weighted.y[i]
        else:
            for e in range(copies.starts[k], copies.stops[k]):
                root = roots[copies.indices[e]]
                weighted.data[e] = scale[copies.indices[e]] * copies.data[e]
                total += root * weighted.data[e]
                within += root * root
                xty += weighted.data[e] * weighted.y[copies.indices[e]]
            mean = total / weighted.total if copies.centred else 0.0
            for e in range(copies.starts[k], copies.stops[k]):
                norm2 += (weighted.data[e] - mean * roots[copies.indices[e]]) ** 2
            norm2 += (weighted.total - within) * mean**2
            xty -= mean * weighted.y[m]
            weighted.shifts[k] = mean
        weighted.norms2[k] = norm2
        weighted.xty[k] = xty

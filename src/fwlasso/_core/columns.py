"""The column protocol: all that knows how a column lies in memory.

A storage is a NamedTuple and nine functions:

- ``dot_column(X, j, v)``: z_j'v
- ``dot_each(X, j, V, out)``: z_j'v of several vectors, as `stack` puts them
- ``add_column(X, j, a, v)``: v += a W z_j, in place, with the weights W of the samples
- ``column_moments(X, j)``: mean of column j and its sum of squares about that mean
- ``column_shift(X, j)``: the constant that centring has taken off column j
- ``column_entries(X, j)``: how many numbers are stored of column j
- ``column_entry(X, j, k)``: the row and the number of one of them
- ``shape(X)``: (m, p)
- ``samples(X)``: the samples, and their weights if they have any

Vectors `v` are vectors over samples, see `samples.py`. Since centred columns are orthogonal to 1, `add_column` leaves
their constant part out: it would not change any dot product.

A wrapper is a NamedTuple with other columns inside, its field `columns`: `Shifted`, `Weighted` and `Standardized`, in
this order. Functions that have a default below are those of most storages, and need not be registered.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .jit import INLINE, by_type, kernel, kernel_in_order, part_of_kernel
from .samples import Samples, Unweighted, total_weight, weight
from .threads import even_cuts

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
#: Any storage or wrapper: whatever is registered with the functions below.
Columns: TypeAlias = Any

# So many columns before it is read, one is fetched.
_AHEAD = 8


class Vectors(NamedTuple):
    """Some vectors over samples, made by `stack`."""

    rows: Matrix
    sums: Vector  # their last entries
    n: int


@by_type
def dot_column(X: Columns, j: int, v: Vector) -> float:
    """Return z_j'v."""


@by_type
def dot_each(X: Columns, j: int, V: Vectors, out: Vector) -> None:
    """Fill z_j'v for every vector v of V."""


@by_type
def add_column(X: Columns, j: int, a: float, v: Vector) -> None:
    """Add a W z_j to v, up to a multiple of the weights for centred columns."""


@by_type
def column_moments(X: Columns, j: int) -> tuple[float, float]:
    """Return the mean of column j and its sum of squares about that mean."""


@by_type
def column_shift(X: Columns, j: int) -> float:
    """Return the constant that centring has taken off column j: z_j + column_shift 1 is what lies in memory."""


@by_type
def column_entries(X: Columns, j: int) -> int:
    """Return how many numbers column j has in memory: the cost of a dot product with it."""


@by_type
def column_entry(X: Columns, j: int, k: int) -> tuple[int, float]:
    """Return the row and the value of the k-th number in memory of column j: of z_j + column_shift 1."""


@by_type
def shape(X: Columns) -> tuple[int, int]:
    """Return the number of samples and of features."""


@by_type
def samples(X: Columns) -> Samples:
    """Return the samples."""


@by_type
def fetch_column(X: Columns, j: int) -> None:
    """Have the memory send column j, which is read soon; there may be no such column."""


@by_type
def n_lanes(X: Columns, n_vectors: int) -> int:
    """Return how many of some vectors `dot_each` reads sample by sample, side by side."""


@by_type
def cuts_by_work(X: Columns, n_bytes: int) -> list[int]:
    """Cut the columns of a storage into chunks of about equal work, given the bytes of all of it."""


@dot_each.otherwise
def _(X, j, V, out):
    for k in range(V.n):
        out[k] = dot_column(X, j, V.rows[k])


@add_column.otherwise
def _(X, j, a, v):
    of_samples = samples(X)
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        v[i] += a * (value * weight(of_samples, i))


@column_shift.otherwise
def _(X, j):
    return 0.0


@samples.otherwise
def _(X):
    return Unweighted(shape(X)[0])


@fetch_column.otherwise
def _(X, j):
    pass  # entries of sparse columns are read one after the other


@n_lanes.otherwise
def _(X, n_vectors):
    return 1


@cuts_by_work.otherwise
def _(X, n_bytes):
    return even_cuts(shape(X)[1], n_bytes)


def pass_on(wrapper: type, *functions: Any) -> None:
    """Let a wrapper have some functions of the columns inside it: such that neither make nor return arrays."""
    for function in functions:
        n = len(inspect.signature(function).parameters)
        function.register(wrapper, INLINE)(_PASSES[n](function))


_PASSES: dict[int, Callable[..., Any]] = {
    1: lambda function: lambda X: function(X.columns),
    2: lambda function: lambda X, j: function(X.columns, j),
    3: lambda function: lambda X, j, k: function(X.columns, j, k),
    4: lambda function: lambda X, j, V, out: function(X.columns, j, V, out),
}


@part_of_kernel
def fetch_next(X: Columns, j: int) -> None:
    """Have the memory send what is read some columns after column j, if all columns are."""
    fetch_column(X, j + _AHEAD)


@part_of_kernel
def fetch_listed(X: Columns, columns: NDArray[np.int64], k: int) -> None:
    """Have the memory send what is read some columns after the k-th of a list."""
    fetch_column(X, columns[min(k + _AHEAD, columns.size - 1)])


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: numba compiles for it once, whether the user's array is writable or not."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def storage_of(X: Columns) -> Columns:
    """Return the storage inside of all wrappers."""
    while hasattr(X, "columns"):
        X = X.columns
    return X


def stack(X: Columns, vectors: Sequence[Vector]) -> Vectors:
    """Return vectors over samples as `dot_each` reads them fastest.

    A row holds as many vectors, sample by sample, as the storage gathers from at once, and zeros for those that are
    wanting.
    """
    lanes = n_lanes(storage_of(X), len(vectors))
    rows = np.zeros((-(-len(vectors) // lanes), vectors[0].size, lanes))
    for k, v in enumerate(vectors):
        rows[k // lanes, :, k % lanes] = v
    return Vectors(rows.reshape(len(rows), -1), rows[:, -1].flatten(), len(rows) * lanes)


def column_chunks(X: Columns, n_vectors: int = 1) -> list[int]:
    """Cut the columns into chunks of about equal work, for products of all of them with some vectors."""
    X = storage_of(X)
    return cuts_by_work(X, n_vectors * nbytes(X))  # type: ignore[no-any-return]


def nbytes(X: Any) -> int:
    """Return the bytes that a pass over a storage reads: those of its arrays, unless it has a figure of its own."""
    if isinstance(X, tuple) and not hasattr(X, "nbytes"):
        return sum(map(nbytes, X))
    return int(getattr(X, "nbytes", 0))


@kernel
def correlations(X: Columns, columns: NDArray[np.int64], v: Vector) -> Vector:
    """Return z_j'v of some columns."""
    found = np.empty(columns.size)
    for i in range(columns.size):
        found[i] = dot_column(X, columns[i], v)
    return found


@kernel_in_order
def fill_rooted(X: Columns, columns: NDArray[np.int64], centred: bool, rows: Matrix) -> None:
    """Fill in sqrt(W) z_j of some columns, each a row, less its mean if it is to be centred.

    Numbers are counted from one of the column's own before that: a mean that is large costs no digits.
    """
    own, total = samples(X), total_weight(samples(X))
    for k in range(columns.size):
        row, shift = rows[k], column_shift(X, columns[k])
        row[:] = -shift
        for e in range(column_entries(X, columns[k])):
            i, value = column_entry(X, columns[k], e)
            row[i] = value - shift
        origin = mean = 0.0
        if centred:
            for i in range(row.size):
                origin = row[i] if weight(own, i) > 0.0 else origin
            for i in range(row.size):
                row[i] -= origin
                mean += weight(own, i) * row[i] / total if weight(own, i) > 0.0 else 0.0
        for i in range(row.size):
            row[i] = (row[i] - mean) * np.sqrt(weight(own, i)) if weight(own, i) > 0.0 else 0.0


@kernel
def count_entries(X: Columns, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers each of some columns has in memory."""
    counts = np.empty(columns.size, np.int64)
    for i in range(columns.size):
        counts[i] = column_entries(X, columns[i])
    return counts

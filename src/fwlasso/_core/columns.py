"""Storage of the design matrix: everything that knows how a column lies in memory.

A storage is a NamedTuple and nine functions, the *column protocol*:

- ``dot_column(X, j, v)``: z_j'v
- ``dot_each(X, j, V, out)``: z_j'v of several vectors, as `side_by_side` puts them
- ``add_column(X, j, a, v)``: v += a z_j, in place
- ``column_moments(X, j)``: mean of column j and its sum of squares about that mean
- ``column_shift(X, j)``: the constant that centring has taken off column j
- ``column_entries(X, j)``: how many numbers are stored of column j
- ``column_entry(X, j, k)``: the row and the number of one of them
- ``shape(X)``: (m, p)
- ``holds(X, i)``: 1 where sample i is one of them, 0 where it is masked

Vectors over samples, `v` above, have length m + 1: the last entry carries their sum (`sample_vector`). It is
what makes centring cost nothing: for z = f (x - mu 1), z'v = f (x'v - mu sum(v)). Since z is orthogonal to 1,
`add_column` of a centred column leaves its constant part out: it would not change any dot product.

Columns far from zero are counted from an *origin* (`Shifted`), a number that float64 holds and that is near theirs:
x_ij - o_j is exact up to one rounding of itself, and exact where x_ij / 2 <= o_j <= 2 x_ij. So years, times and
identifiers lose no digits when they are centred. A column has an origin only where every entry is stored.

A part of the samples, a fold say, is a mask over the same memory (`Masked`). Vectors over samples keep their length and
are zero wherever the mask is: no dot product needs to know.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .instructions import LANES, gathered_sum, gathered_sums, gathered_two_sums
from .jit import IN_ORDER, INLINE, by_type, kernel
from .threads import even_cuts

if TYPE_CHECKING:
    from .bed import Bed

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: numba compiles for it once, whether the user's array is writable or not."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


class Dense(NamedTuple):
    """A column-major array, kept as its transpose: row-major whatever its shape.

    An array of one row or one column is contiguous both ways; numba would take it for another type than X is otherwise.
    """

    values: NDArray[Any]  # by column, then by row


class Csc(NamedTuple):
    """Compressed sparse columns; within a column the row indices increase."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    n_rows: int


class Shifted(NamedTuple):
    """Columns x_j - origins[j] 1 of another storage; the origin is zero unless all entries of a column are stored."""

    columns: "Dense | Csc"
    origins: Vector


class Masked(NamedTuple):
    """Some samples of another storage, where they lie."""

    columns: "Whole | Shifted"
    kept: Vector  # 1 for the samples that are there, else 0
    n_kept: int


class Standardized(NamedTuple):
    """Columns z_j = factors[j] (x_j - means[j] 1) of another storage, never formed; x_j is counted from its origin."""

    columns: "Stored"
    means: Vector
    factors: Vector


class Vectors(NamedTuple):
    """Some vectors over samples, made by `side_by_side`."""

    rows: Matrix
    sums: Vector  # their last entries
    n: int


Whole: TypeAlias = "Dense | Csc | Bed"
Stored: TypeAlias = "Whole | Shifted | Masked"
Columns: TypeAlias = "Stored | Standardized"


@by_type
def dot_column(X: Columns, j: int, v: Vector) -> float:
    """Return z_j'v."""


@by_type
def dot_each(X: Columns, j: int, V: Vectors, out: Vector) -> None:
    """Fill z_j'v for every vector v of V."""


@by_type
def add_column(X: Columns, j: int, a: float, v: Vector) -> None:
    """Add a z_j to v, up to a multiple of 1 for centred columns."""


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
def holds(X: Columns, i: int) -> float:
    """Return 1 where sample i is one of this problem's, else 0."""


# Dense -------------------------------------------------------------------------------------------------------
# Single precision is added up in double precision: compiled code would do so anyway, plain Python when it is converted.


@dot_column.register(Dense)
def _(X, j, v):
    values = X.values
    total = 0.0
    for i in range(values.shape[1]):
        total += values[j, i] * v[i]
    return total


@dot_each.register(Dense)
def dot_one_by_one(X, j, V, out):
    """With vectors that lie one after the other."""
    for k in range(V.n):
        out[k] = dot_column(X, j, V.rows[k])


@add_column.register(Dense)
def _(X, j, a, v):
    values = X.values
    for i in range(values.shape[1]):
        v[i] += a * np.float64(values[j, i])


@column_moments.register(Dense)
def _(X, j):
    values = X.values
    m = values.shape[1]
    total = 0.0
    for i in range(m):
        total += np.float64(values[j, i])
    mean = total / m
    squares = 0.0
    for i in range(m):
        squares += (np.float64(values[j, i]) - mean) ** 2
    return mean, squares


@column_shift.register(Dense)
def _(X, j):
    return 0.0


@column_entries.register(Dense)
def _(X, j):
    return X.values.shape[1]


@column_entry.register(Dense)
def _(X, j, k):
    return k, np.float64(X.values[j, k])


@shape.register(Dense)
def _(X):
    return X.values.shape[1], X.values.shape[0]


# Compressed sparse columns. Unsigned indices spare numba's test for negative ones. ---------------------------


@dot_column.register(Csc, INLINE)
def _(X, j, v):
    return gathered_sum(X.data, X.indices, v, 0, 1, X.indptr[j], X.indptr[j + 1])


@dot_each.register(Csc, INLINE)
def _(X, j, V, out):
    start, stop = X.indptr[j], X.indptr[j + 1]
    if V.n == 1:
        out[0] = gathered_sum(X.data, X.indices, V.rows, 0, 1, start, stop)
    elif V.n == 2:
        out[0], out[1] = gathered_two_sums(X.data, X.indices, V.rows, 0, 2, start, stop)
    else:
        for row in range(V.rows.shape[0]):
            sums = gathered_sums(X.data, X.indices, V.rows, row * V.rows.shape[1], LANES, start, stop)
            for lane in range(LANES):
                out[row * LANES + lane] = sums[lane]


@add_column.register(Csc, IN_ORDER)
def _(X, j, a, v):
    for k in range(np.uintp(X.indptr[j]), np.uintp(X.indptr[j + 1])):
        v[np.uintp(X.indices[k])] += a * np.float64(X.data[k])


@column_moments.register(Csc)
def _(X, j):
    start, stop = np.uintp(X.indptr[j]), np.uintp(X.indptr[j + 1])
    total = 0.0
    for k in range(start, stop):
        total += np.float64(X.data[k])
    mean = total / X.n_rows
    squares = (X.n_rows - np.float64(stop - start)) * mean**2
    for k in range(start, stop):
        squares += (np.float64(X.data[k]) - mean) ** 2
    return mean, squares


@column_shift.register(Csc)
def _(X, j):
    return 0.0


@column_entries.register(Csc)
def _(X, j):
    return X.indptr[j + 1] - X.indptr[j]


@column_entry.register(Csc)
def _(X, j, k):
    at = np.uintp(X.indptr[j] + k)
    return X.indices[at], np.float64(X.data[at])


@shape.register(Csc)
def _(X):
    return X.n_rows, X.indptr.size - 1


# Columns counted from their origins. Where there is one, all entries are stored: the k-th is that of row k. --------


@kernel
def _sum_from(X: "Dense | Csc", j: int, origin: float, v: Vector, first: int, n_lanes: int) -> float:
    """Return the product of x_j - origin 1 with the numbers v[first], v[first + n_lanes], ..."""
    total = 0.0
    for k in range(column_entries(X, j)):
        total += (column_entry(X, j, k)[1] - origin) * v[first + k * n_lanes]
    return total


@dot_column.register(Shifted)
def _(X, j, v):
    if X.origins[j] == 0.0:
        return dot_column(X.columns, j, v)
    return _sum_from(X.columns, j, X.origins[j], v, 0, 1)


@dot_each.register(Shifted, INLINE)
def _(X, j, V, out):
    if X.origins[j] == 0.0:
        dot_each(X.columns, j, V, out)
    else:
        n_lanes = V.rows.shape[1] // (shape(X)[0] + 1)  # see `side_by_side`
        for k in range(V.n):
            out[k] = _sum_from(X.columns, j, X.origins[j], V.rows[k // n_lanes], k % n_lanes, n_lanes)


@add_column.register(Shifted)
def _(X, j, a, v):
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        v[i] += a * value


@column_moments.register(Shifted)
def _(X, j):
    if X.origins[j] == 0.0:
        return column_moments(X.columns, j)
    m, total = shape(X)[0], 0.0
    for k in range(m):
        total += column_entry(X, j, k)[1]
    mean, squares = total / m, 0.0
    for k in range(m):
        squares += (column_entry(X, j, k)[1] - mean) ** 2
    return mean, squares


@column_shift.register(Shifted)
def _(X, j):
    return 0.0


@column_entries.register(Shifted)
def _(X, j):
    return column_entries(X.columns, j)


@column_entry.register(Shifted)
def _(X, j, k):
    i, value = column_entry(X.columns, j, k)
    return i, value - X.origins[j]


@shape.register(Shifted)
def _(X):
    return shape(X.columns)


# Some of the samples -----------------------------------------------------------------------------------------


@dot_column.register(Masked)
def _(X, j, v):
    return dot_column(X.columns, j, v)  # v is zero where X has no samples


@dot_each.register(Masked, INLINE)
def _(X, j, V, out):
    dot_each(X.columns, j, V, out)


@add_column.register(Masked)
def _(X, j, a, v):
    for k in range(column_entries(X, j)):
        i, value = column_entry(X, j, k)
        v[i] += a * value


@column_moments.register(Masked)
def _(X, j):
    total = n_there = 0.0
    for k in range(column_entries(X.columns, j)):
        i, value = column_entry(X.columns, j, k)
        total += value * X.kept[i]
        n_there += X.kept[i]
    mean = total / X.n_kept
    squares = (X.n_kept - n_there) * mean**2
    for k in range(column_entries(X.columns, j)):
        i, value = column_entry(X.columns, j, k)
        squares += X.kept[i] * (value - mean) ** 2
    return mean, squares


@column_shift.register(Masked)
def _(X, j):
    return 0.0


@column_entries.register(Masked)
def _(X, j):
    return column_entries(X.columns, j)


@column_entry.register(Masked)
def _(X, j, k):
    i, value = column_entry(X.columns, j, k)
    return i, value * X.kept[i]


@shape.register(Masked)
def _(X):
    return X.n_kept, shape(X.columns)[1]


@holds.register(Dense)
@holds.register(Csc)
@holds.register(Shifted)
def holds_all(X, i):
    """Of a storage with all samples."""
    return 1.0


@holds.register(Masked)
def _(X, i):
    return X.kept[i]


# Standardised columns ----------------------------------------------------------------------------------------


@dot_column.register(Standardized)
def _(X, j, v):
    return X.factors[j] * (dot_column(X.columns, j, v) - X.means[j] * v[-1])


@dot_each.register(Standardized, INLINE)
def _(X, j, V, out):
    dot_each(X.columns, j, V, out)
    for k in range(V.n):
        out[k] = X.factors[j] * (out[k] - X.means[j] * V.sums[k])


@add_column.register(Standardized)
def _(X, j, a, v):
    weight = a * X.factors[j]
    add_column(X.columns, j, weight, v)
    v[-1] += weight * X.means[j] * shape(X.columns)[0]


@column_moments.register(Standardized)
def _(X, j):
    mean, squares = column_moments(X.columns, j)
    return X.factors[j] * (mean - X.means[j]), X.factors[j] ** 2 * squares


@column_shift.register(Standardized)
def _(X, j):
    return X.factors[j] * X.means[j]


@column_entries.register(Standardized)
def _(X, j):
    return column_entries(X.columns, j)


@column_entry.register(Standardized)
def _(X, j, k):
    i, value = column_entry(X.columns, j, k)
    return i, X.factors[j] * value


@shape.register(Standardized)
def _(X):
    return shape(X.columns)


@holds.register(Standardized)
def _(X, i):
    return holds(X.columns, i)


# For all storages --------------------------------------------------------------------------------------------


def storage_of(X: Columns) -> Whole:
    """Return the storage inside of all wrappers."""
    while isinstance(X, Standardized | Masked | Shifted):
        X = X.columns
    return X


def sample_vector(values: NDArray[Any]) -> Vector:
    """Return `values` as a vector over samples, its sum in the last place."""
    return np.append(np.asarray(values, dtype=np.float64), np.sum(values, dtype=np.float64))


def side_by_side(X: Columns, vectors: Sequence[Vector]) -> Vectors:
    """Return vectors over samples as `dot_each` reads them fastest.

    Sparse columns gather from several of them at once. For these, a row holds two vectors sample by sample if there are
    no more, or else `LANES`, and zeros for those that are wanting.
    """
    X = storage_of(X)
    if not isinstance(X, Csc) or len(vectors) == 1:
        rows = np.array(vectors)
        return Vectors(rows, rows[:, -1].copy(), len(rows))
    n_lanes = 2 if len(vectors) == 2 else LANES
    rows = np.zeros((-(-len(vectors) // n_lanes), vectors[0].size, n_lanes))
    for k, v in enumerate(vectors):
        rows[k // n_lanes, :, k % n_lanes] = v
    return Vectors(rows.reshape(len(rows), -1), rows[:, -1].flatten(), len(rows) * n_lanes)


def masked(columns: Whole, kept: NDArray[np.bool_] | None) -> Stored:
    """Return the samples of a storage that are `kept`; by default all of them."""
    return columns if kept is None else Masked(columns, read_only(kept.astype(np.float64)), int(kept.sum()))


@kernel
def count_entries(X: Columns, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers each of some columns has in memory."""
    counts = np.empty(columns.size, np.int64)
    for i in range(columns.size):
        counts[i] = column_entries(X, columns[i])
    return counts


@kernel
def center(X: Columns, v: Vector) -> None:
    """Take the constant part out of a sum of centred columns; carried along, it costs digits in every dot product.

    Where columns are not centred, the sum in the last place is not kept, and zero: nothing is changed.
    """
    constant = v[-1] / shape(X)[0]
    for i in range(v.size - 1):
        v[i] -= constant * holds(X, i)
    v[-1] = 0.0


def cut_columns(X: Columns, n_vectors: int = 1) -> list[int]:
    """Cut the columns into chunks of about equal work, for products of all of them with some vectors."""
    X = storage_of(X)
    _, p = shape(X)
    n_bytes = n_vectors * nbytes(X)
    if not isinstance(X, Csc):
        return even_cuts(p, n_bytes)
    shares = even_cuts(int(X.indptr[-1]), n_bytes)
    return sorted({0, p, *np.searchsorted(X.indptr, np.array(shares[1:-1], X.indptr.dtype)).tolist()})


def nbytes(X: Any) -> int:
    """Return the bytes that a pass over a storage reads: those of its arrays, unless it has a figure of its own."""
    if isinstance(X, tuple) and not hasattr(X, "nbytes"):
        return sum(map(nbytes, X))
    return int(getattr(X, "nbytes", 0))

"""Packed genotypes: two bits each, in the layout of PLINK's .bed files; a storage of columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import (
    Vector,
    add_column,
    column_entries,
    column_entry,
    column_moments,
    dot_column,
    shape,
)
from .jit import INLINE, kernel, part_of_kernel

Packed = NDArray[np.uint8]

# The time to decode a genotype is that to read so many bytes.
_BYTES_PER_GENOTYPE = 4


class Bed(NamedTuple):
    """Packed genotypes, a row of bytes per column of the matrix."""

    packed: Packed
    means: Vector  # of the calls of every column: what its missing calls are
    n_rows: int

    @property
    def nbytes(self) -> int:
        """As many bytes as are read in the time of a pass."""
        return _BYTES_PER_GENOTYPE * self.n_rows * self.means.size


# The four samples of a byte are an inner loop: the compiler makes vectors of it. All is compiled into its callers: code
# of its own would be optimised by itself where it is compiled, and with its caller where that comes from the cache, and
# round differently. ------------------------------------------------------------------------------------------


@part_of_kernel
def _dosage(code: int, mean: float) -> float:
    """Return what the two lowest bits of `code` stand for."""
    if code & 1:
        return 0.0 if code & 2 else mean
    return 1.0 if code & 2 else 2.0


@dot_column.register(Bed, INLINE)
def _(X, j, v):
    packed, mean = X.packed, X.means[j]
    n_full = X.n_rows // 4
    total = 0.0
    for k in range(n_full):
        byte = packed[j, k]
        for i in range(4):
            total += _dosage(byte >> (2 * i), mean) * v[4 * k + i]
    for i in range(X.n_rows - 4 * n_full):
        total += _dosage(packed[j, n_full] >> (2 * i), mean) * v[4 * n_full + i]
    return total


@add_column.register(Bed, INLINE)
def _(X, j, a, v):
    packed, mean = X.packed, X.means[j]
    n_full = X.n_rows // 4
    for k in range(n_full):
        byte = packed[j, k]
        for i in range(4):
            v[4 * k + i] += a * _dosage(byte >> (2 * i), mean)
    for i in range(X.n_rows - 4 * n_full):
        v[4 * n_full + i] += a * _dosage(packed[j, n_full] >> (2 * i), mean)


@column_moments.register(Bed, INLINE)
def _(X, j):
    mean = X.means[j]
    missing, one, two = _count_calls(X.packed, X.n_rows, j)
    none = X.n_rows - missing - one - two
    return mean, none * mean**2 + one * (1.0 - mean) ** 2 + two * (2.0 - mean) ** 2


@column_entries.register(Bed)
def _(X, j):
    return X.n_rows


@column_entry.register(Bed)
def _(X, j, k):
    return k, _dosage(X.packed[j, k >> 2] >> ((k & 3) << 1), X.means[j])


@shape.register(Bed)
def _(X):
    return X.n_rows, X.packed.shape[0]


@part_of_kernel
def _count_calls(packed: Packed, n_rows: int, j: int) -> tuple[int, int, int]:
    """Return how many samples of column j are missing, have one copy, and have two."""
    missing = one = two = 0
    for i in range(n_rows):
        code = (packed[j, i >> 2] >> ((i & 3) << 1)) & 3
        missing += code == 1
        one += code == 2
        two += code == 0
    return missing, one, two


@kernel
def fill_means(packed: Packed, n_rows: int, means: Vector) -> None:
    """Fill the mean of the calls of every column; 0 where there are none."""
    for j in range(means.size):
        missing, one, two = _count_calls(packed, n_rows, j)
        means[j] = (one + 2.0 * two) / max(n_rows - missing, 1)


@kernel
def _multiply(X: Bed, data: Vector, indices: NDArray[Any], indptr: NDArray[Any], product: NDArray[np.float64]) -> None:
    """Add the linear combinations of columns that a CSC matrix asks for to the rows of `product`."""
    for row in range(product.shape[0]):
        for k in range(indptr[row], indptr[row + 1]):
            add_column(X, indices[k], data[k], product[row])

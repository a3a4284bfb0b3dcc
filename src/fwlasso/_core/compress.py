"""Dense coefficients to compressed ones."""

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .moments import Matrix, Vector


@kernel
def compress_rows(rows: Matrix) -> tuple[Vector, NDArray[np.int32], NDArray[np.int32]]:
    """Return the values, indices and bounds of a CSC matrix whose columns are `rows`; what is not a number stays."""
    n_points, p = rows.shape
    bounds = np.zeros(n_points + 1, np.int32)
    for k in range(n_points):
        row, n = rows[k], 0
        for j in range(p):
            n += row[j] != 0.0
        bounds[k + 1] = bounds[k] + n
    values, indices = np.empty(bounds[n_points]), np.empty(bounds[n_points], np.int32)
    n = 0
    for k in range(n_points):
        row = rows[k]
        for j in range(p):
            if row[j] != 0.0:
                values[n], indices[n] = row[j], j
                n += 1
    return values, indices, bounds

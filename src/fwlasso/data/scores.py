"""How good predictions are, for many models at once."""

import numpy as np

from .._core.columns import Matrix, Vector
from .checks import numpy_defaults


@numpy_defaults()
def squared_errors(predicted: Matrix, y: Vector, weights: Vector | None = None) -> Vector:
    """Return the mean squared error of every column of predictions."""
    return np.asarray(np.average((predicted - y[:, np.newaxis]) ** 2, axis=0, weights=weights))


@numpy_defaults()
def r2_scores(predicted: Matrix, y: Vector, weights: Vector | None = None) -> Vector:
    """Return R^2 of every column of predictions, as scikit-learn has it: of a constant y it is 1 or 0.

    Examples
    --------
    >>> import numpy as np
    >>> r2_scores(np.array([[1.0, 2.0, 2.0], [3.0, 2.0, 3.0]]), np.array([1.0, 3.0]))
    array([1. , 0. , 0.5])
    >>> r2_scores(np.array([[3.0, 2.0], [3.0, 3.0]]), np.array([3.0, 3.0]))
    array([1., 0.])
    """
    errors = squared_errors(predicted, y, weights)
    variance = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    if (y.size if weights is None else np.count_nonzero(weights)) < 2:  # of one sample nothing can be said
        return np.full(errors.size, np.nan)
    return np.asarray(1.0 - errors / variance if variance > 0.0 else errors == 0.0, dtype=np.float64)

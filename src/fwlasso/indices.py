"""Sparse matrices of others, before compiled code reads them: scipy takes every index at its word."""

from typing import Any

import scipy.sparse as sp


def check_indices(X: Any) -> None:
    """Raise a ValueError if X is a compressed sparse matrix that leads outside its arrays, or outside its shape.

    Examples
    --------
    >>> import numpy as np
    >>> X = sp.csr_array((np.ones(2), [0, 7], [0, 1, 2]), shape=(2, 5))
    >>> check_indices(X)
    Traceback (most recent call last):
    ...
    ValueError: X is not a valid CSR matrix: an index is outside the shape
    """
    if not sp.issparse(X) or X.format not in ("csr", "csc", "bsr"):
        return
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    shape = X.shape[0] // height, X.shape[1] // width
    n_major, n_minor = shape[::-1] if X.format == "csc" else shape
    indptr, indices = X.indptr, X.indices
    fits = indptr.size == n_major + 1 and indptr[0] == 0 and indptr[-1] <= min(indices.size, len(X.data))
    if not fits or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: indptr does not fit the shape and the indices")
    used = indices[: indptr[-1]]
    if used.size and not 0 <= used.min() <= used.max() < n_minor:
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: an index is outside the shape")

"""Data to predict from: its columns matched with those of a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.notices import warn_of_doubt
from .checks import check_indices
from .frames import names_beside
from .genotypes import Genotypes
from .store import Store, as_store
from .table import Table


def as_held(X: Any) -> Store | Table | None:
    """Return the store or the table that X is, or the store that it names; None where X is a matrix by itself."""
    return X if isinstance(X, Table) else as_store(X)


def matrix_and_names(
    X: Any, n_features: int, first_index: int | None, known: Sequence[str] | None
) -> tuple[Any, tuple[str, ...] | None]:
    """Return the matrix of data to predict from, in a store, a table or by itself, and the names of its columns.

    `known` are those of the model: see `names_beside`. Rows of LIBSVM text have the columns of the model
    then: see `match_columns`.
    """
    held = as_held(X)
    check_indices(X if held is None else held.X)
    matrix = X if held is None else match_columns(held, n_features, first_index)
    if held is not None and held.feature_names is not None:
        return matrix, held.feature_names
    return matrix, matrix.feature_names if isinstance(matrix, Genotypes) else names_beside(matrix, known)


def match_columns(table: Table | Store, n_features: int, first_index: int | None) -> Any:
    """Return the columns of a model from rows of LIBSVM text; rows of any other kind as they are."""
    if table.first_index is None or first_index is None:
        return table.X
    if table.first_index != first_index:
        raise ValueError(
            f"X counts its features from {table.first_index}, and the data of the model count from {first_index}: "
            f"read it with zero_based={first_index == 0}"
        )
    return fit_columns(table.X, n_features)


def fit_columns(X: Any, n_features: int) -> Any:
    """Return a CSC matrix with so many columns: empty ones are added, or those behind are left out, with a word."""
    m, p = X.shape
    if p <= n_features:
        indptr = np.append(X.indptr, np.full(n_features - p, X.indptr[-1], X.indptr.dtype))
        return sp.csc_array((X.data, X.indices, indptr), shape=(m, n_features))
    n_ignored = np.count_nonzero(np.diff(X.indptr[n_features:]))
    warn_of_doubt(f"{n_ignored:,} features that the model does not know are ignored")
    return X[:, :n_features]

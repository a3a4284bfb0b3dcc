"""X b + b0 for data of every kind that X may be: the columns are matched with those of a model, and multiplied."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, column_entries, column_entry, shape
from .._core.jit import kernel
from .._core.notices import warn_of_doubt
from .checks import as_offset, check, check_indices, numpy_defaults
from .design import Described, as_matrix, described
from .elsewhere import columns_here
from .frames import frame_columns, frame_names, names_beside
from .genotypes import Variant
from .store import Store, as_container
from .table import Table

# Columns of a storage that are looked at together.
_BLOCK = 256


class Linear(NamedTuple):
    """Linear models of the same features, and what is known of these."""

    coefs: sp.csc_array | Vector  # a column for every model; or the vector of one
    intercepts: Vector | float
    #: Of all features, in their order; or, by number, of some that are looked for among others.
    feature_names: Sequence[str] | Mapping[int, str] | None = None
    variants: Mapping[int, Variant] = MappingProxyType({})
    first_index: int | None = None
    missing: str = "error"  # "mean": an absent variant stands at its mean
    has_offset: bool = False  # a part of every prediction is given with the rows


def predict(X: Any, model: Linear, offset: Any = None) -> NDArray[np.float64]:
    """Return the predictions for every row of X, a container or a matrix of any kind, by every model: a column each.

    Those of a single model, whose coefficients are a vector, are a vector. The offset is by default that of the
    container.
    """
    container = as_container(X)
    X = X if container is None else container
    offset = offset_of(X, offset, has_offset=model.has_offset)
    predicted = _predict(X, model)
    if offset is not None:
        known = as_offset(offset, len(predicted))
        predicted = predicted + (known if predicted.ndim == 1 else known[:, np.newaxis])
    return predicted


def offset_of(X: Any, offset: Any, *, has_offset: bool) -> Any:
    """Return the offset of rows, by default that of their container; a ValueError if a model has none, or needs it."""
    if offset is not None and not has_offset:
        raise ValueError("offset: the model was fitted without an offset")
    if has_offset and offset is None:
        offset = getattr(as_container(X), "offset", None)
        if offset is None:
            raise ValueError("offset: the model was fitted with an offset: give that of the rows of X")
    return offset


def _predict(X: Any, model: Linear) -> NDArray[np.float64]:
    """Return X b + b0."""
    check_missing(model.missing)
    known, coefs, intercepts = model.feature_names, model.coefs, model.intercepts
    used = list(known.values()) if isinstance(known, Mapping) else known
    container = as_container(X)
    check_indices(X if container is None else container.X)
    matrix = X if container is None else match_columns(container, coefs.shape[0], model.first_index)
    own = described(matrix)
    if model.missing != "error" and own is None:
        raise ValueError("missing: models keep the means of genotypes alone, and X is of another kind")
    names = None if container is None else container.feature_names
    if names is None:
        names = names_beside(matrix, used) if own is None else own.feature_names
    if names is not None and used is not None:
        if own is not None:
            coefs, intercepts = _carry_over(model, own)
        elif isinstance(known, Mapping):
            places, coefs = _find(names, used), coefs[list(known)]
            if not places:
                return np.full(matrix.shape[0], intercepts)
            matrix = matrix[:, places] if frame_names(matrix) is None else frame_columns(matrix, places)
        elif tuple(names) != tuple(used):
            raise ValueError("X has other feature names than the data of the path, or has them in another order")
    if own is None:
        matrix = as_matrix(matrix, accept_sparse=("csr", "csc"))
    if matrix.shape[1] != coefs.shape[0]:
        raise ValueError(f"X has {matrix.shape[1]} features, the model was fitted with {coefs.shape[0]}")
    return multiply(matrix, coefs, intercepts)


def check_missing(missing: str) -> None:
    """Raise a ValueError unless this is a way to treat absent features."""
    check("missing", missing, missing in ("error", "mean"), "'error' or 'mean'")


@numpy_defaults()
def multiply(X: Any, coefs: sp.csc_array | Vector, intercepts: Vector | float) -> NDArray[np.float64]:
    """Return X b + b0 for a matrix that is validated."""
    product = X @ coefs  # not by scikit-learn: it wants the same precision in both
    return np.asarray((product.toarray() if sp.issparse(product) else product) + intercepts)


def match_columns(container: Table | Store, n_features: int, first_index: int | None) -> Any:
    """Return the columns of a model from rows of LIBSVM text; rows of any other kind as they are."""
    if container.first_index is None or first_index is None:
        return container.X
    if container.first_index != first_index:
        raise ValueError(
            f"X counts its features from {container.first_index}, but the data of the model count from {first_index}: "
            f"read it with zero_based={first_index == 0}"
        )
    return fit_columns(container.X, n_features)


def fit_columns(X: Any, n_features: int) -> Any:
    """Return a CSC matrix with so many columns: empty ones are added, or those behind are left out, with a word."""
    m, p = X.shape
    if p <= n_features:
        indptr = np.append(X.indptr, np.full(n_features - p, X.indptr[-1], X.indptr.dtype))
        return sp.csc_array((X.data, X.indices, indptr), shape=(m, n_features))
    n_ignored = np.count_nonzero(np.diff(X.indptr[n_features:]))
    warn_of_doubt(f"{n_ignored:,} features unknown to the model are ignored")
    return X[:, :n_features]


def _carry_over(model: Linear, X: Described) -> tuple[sp.csc_array | Vector, Vector | float]:
    """Return coefficients and intercepts for the columns of X."""
    is_one = model.coefs.ndim == 1
    columns = sp.csc_array(model.coefs[:, np.newaxis] if is_one else model.coefs)
    at_means = model.missing == "mean"
    coefs, offsets = X.carry_over(columns, model.feature_names or (), model.variants, at_means=at_means)
    return (coefs.toarray()[:, 0], model.intercepts + offsets[0]) if is_one else (coefs, model.intercepts + offsets)


def _find(names: Sequence[str], used: Sequence[str]) -> list[int]:
    """Return where the features of a model are among columns of these names."""
    wanted = set(used)
    if len(wanted) < len(used):
        twice = next(name for k, name in enumerate(used) if name in used[:k])
        raise ValueError(f"the model has two features {twice!r}: give X without names, in the order of the fit")
    found: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in wanted and found.setdefault(name, k) != k:
            raise ValueError(f"X has two columns {name!r}, one of the {len(used)} that the model uses")
    missing = [name for name in used if name not in found]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, one of the {len(used)} that the model uses")
    return [found[name] for name in used]


# Rows of a storage -------------------------------------------------------------------------------------------


def predict_rows(
    columns: Columns, rows: NDArray[np.int64], coefs: sp.csc_array, intercepts: Vector
) -> NDArray[np.float64]:
    """Return X b + b0 for some rows of X and every column b of `coefs`; only columns with a coefficient are read."""
    used = np.unique(coefs.indices)
    by_feature = sp.csr_array(coefs)
    columns, places = columns_here(columns, used.astype(np.int64))
    predicted = np.tile(intercepts, (rows.size, 1))
    for lo in range(0, used.size, _BLOCK):
        block = used[lo : lo + _BLOCK]
        values = np.empty((block.size, rows.size))
        gather(columns, places[lo : lo + _BLOCK], rows, values)
        predicted += values.T @ by_feature[block].toarray()
    return predicted


@kernel
def gather(columns: Any, features: NDArray[np.int64], rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Fill a row of `values` for every feature: its numbers at the samples `rows`."""
    column = np.zeros(shape(columns)[0])
    for f in range(features.size):
        n_entries = column_entries(columns, features[f])
        for k in range(n_entries):
            i, value = column_entry(columns, features[f], k)
            column[i] = value
        for r in range(rows.size):
            values[f, r] = column[rows[r]]
        for k in range(n_entries):
            i, value = column_entry(columns, features[f], k)
            column[i] = 0.0

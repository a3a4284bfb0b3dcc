"""What users have as a design matrix, validated and turned into a storage."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, column_chunks, read_only, shape
from .._core.csc import Csc
from .._core.dense import Dense
from .._core.jit import kernel
from .._core.threads import Workers
from .checks import (
    LARGEST_EXACT,
    check_in_memory,
    check_indices,
    check_kind,
    check_pointers,
    is_wide,
    tell_of_rounding,
)
from .frames import columns_named, frame_names, frame_values


class Design(NamedTuple):
    """A validated design matrix: its storage, the names of its features, and what had to be converted."""

    columns: Columns
    feature_names: tuple[str, ...] | None = None
    conversion: str | None = None
    frame: str | None = None  # the package of a frame

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(shape(self.columns)[0])


def arrays_of(columns: Columns) -> dict[str, NDArray[Any]]:
    """Return the arrays of a storage, and of those inside of it, by name."""
    found: dict[str, NDArray[Any]] = {}
    for name, part in columns._asdict().items():
        if isinstance(part, np.ndarray):
            found[name] = part
        elif isinstance(part, tuple):
            found |= {f"{name}.{inner}": array for inner, array in arrays_of(part).items()}
    return found


class Described(Protocol):
    """A matrix that brings a storage of its own, and knows its columns and samples by more than names: `Genotypes`."""

    shape: tuple[int, int]
    feature_names: tuple[str, ...] | None
    variants: Any  # what it knows of all columns; None: nothing

    def as_design(self) -> Design:
        """Return the storage that is solved with."""

    def check_order(self, y: Any) -> None:
        """Raise a ValueError if y names the samples in another order."""

    def facts_of(self, columns: Sequence[int]) -> dict[int, Any]:
        """Return what a model keeps of some columns, to find them elsewhere; nothing if nothing is known."""

    def carry_over(
        self, coefs: sp.csc_array, names: Mapping[int, str] | Sequence[str], facts: Any, /, *, at_means: bool
    ) -> tuple[sp.csc_array, Vector]:
        """Return the coefficients of a model for the columns here, and what is added to every product with them."""


def described(X: Any) -> Described | None:
    """Return X if it is such a matrix; its class is asked, since a frame may have columns of any name."""
    return X if hasattr(type(X), "carry_over") else None


def as_design(X: Any, workers: Workers | None = None) -> Design:
    """Turn what users have into a design, or raise a ValueError that names X.

    Column-major arrays and canonical CSC matrices of float64 or float32 are used where they lie. Anything else
    is copied once, and `Design.conversion` says so. NaN and infinity are found in the first pass over the
    data, by `problem.build_problem`. An object with a method `as_design`, like `bed.Genotypes`, brings its own.
    """
    if is_plain(X):
        return Design(Dense(read_only(X).T))
    check_in_memory("X", X)
    if callable(own := getattr(X, "as_design", None)):  # of a frame it could be a column
        design: Design = own()
        return design
    source, feature_names, kind = X, frame_names(X), None
    if feature_names is not None:
        kind = type(X).__module__.partition(".")[0]
        X, source = frame_values(X), X.iloc[:, 0].to_numpy() if feature_names and hasattr(X, "iloc") else None
    try:
        X = as_matrix(X, accept_sparse="csc", order="F", ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        raise _of_column(X, error) from error
    if sp.issparse(X):
        columns = _as_csc(X, workers or Workers(1))
        conversion = _conversion("CSC", columns.data, getattr(source, "data", None))
        return Design(columns, feature_names, conversion, kind)
    values = read_only(X)
    return Design(Dense(values.T), feature_names, _conversion("column-major order", values, source), kind)


def as_matrix(X: Any, **how: Any) -> Any:
    """Return the numbers of an array, a sparse matrix or a frame as scikit-learn's `check_array` does.

    A ValueError names X where a conversion would pass over a mask or count the nanoseconds of dates.
    """
    given = np.asarray(X) if isinstance(X, list | tuple) else X
    given = given if frame_names(given) is None else frame_values(given)
    check_kind("X", given)
    values = _checked(given, **how)
    if is_wide(getattr(given, "dtype", None)):
        sizes = abs(values).max(axis=0)
        is_large = (sizes.toarray().ravel() if sp.issparse(values) else sizes) >= LARGEST_EXACT
        if is_large.any():
            tell_of_rounding("X", f", in {columns_named(None, is_large)}")
    return values


def _checked(X: Any, order: Any = None, ensure_all_finite: bool = True, accept_sparse: Any = ()) -> Any:
    """Return what scikit-learn's `check_array` does, which takes a second to import and most matrices do not need."""
    is_known = X.format in accept_sparse if sp.issparse(X) else type(X) is np.ndarray
    if is_known and X.ndim == 2 and min(X.shape) > 0 and X.dtype in (np.float64, np.float32):
        entries = X.data if sp.issparse(X) else X
        if not ensure_all_finite or np.isfinite(entries.sum(dtype=np.float64)):
            return X if sp.issparse(X) else np.asarray(X, order=order)
    from sklearn.utils import check_array

    how = {"order": order, "ensure_all_finite": ensure_all_finite, "accept_sparse": accept_sparse}
    return check_array(X, dtype=(np.float64, np.float32), input_name="X", **how)


def is_plain(X: Any) -> bool:
    """Tell whether X is an array that is taken as it is: most are, and small ones should not wait for checks."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.size > 0
        and X.flags.f_contiguous
        and X.dtype in (np.float64, np.float32)
    )


def _of_column(X: Any, error: Exception) -> Exception:
    """Return the error of the first column that is not numbers, with its place; the error itself if there is none."""
    values = np.asarray(X)
    if values.ndim == 2 and values.dtype.kind in "OUS":
        for j in range(values.shape[1]):
            try:
                values[:, j].astype(np.float64)
            except (TypeError, ValueError) as reason:
                return type(reason)(f"X, column {j}: {reason}. Encode it as numbers, or leave it out")
    return error


def _conversion(layout: str, storage: NDArray[Any], origin: Any) -> str | None:
    """Say what was converted; None if `storage` is memory of `origin`."""
    if isinstance(origin, np.ndarray) and np.may_share_memory(storage, origin):
        return None
    return f"X was copied once, to {storage.dtype} in {layout}"


def _as_csc(X: Any, workers: Workers) -> Csc:
    """Take the arrays of a scipy CSC matrix; a matrix with unsorted or repeated entries is copied and mended."""
    check_pointers(X)  # before any index is read
    columns = Csc(read_only(X.data), read_only(X.indices), read_only(X.indptr), X.shape[0])
    if any(workers.map(lambda lo, hi: _count_faults(columns, lo, hi), column_chunks(columns))):
        check_indices(X)
        mended = X.copy()
        mended.sum_duplicates()
        return _as_csc(mended, workers)
    return columns


@kernel
def _count_faults(X: Csc, lo: int, hi: int) -> int:
    """Return how many of columns lo..hi begin or end outside, and how many of their indices do not increase."""
    n_faults = 0
    one = np.uintp(1)
    for j in range(lo, hi):
        start, stop = np.uintp(X.indptr[j]), np.uintp(X.indptr[j + 1])
        if start < stop:
            n_faults += (X.indices[start] < 0) | (X.indices[stop - one] >= X.n_rows)
        for k in range(start + one, stop):  # unsigned, and without a branch: for vector instructions
            n_faults += X.indices[k] <= X.indices[k - one]
    return n_faults

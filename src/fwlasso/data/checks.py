"""Checks of arguments: each raises a ValueError that names what is wrong."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.columns import Vector
from .._core.notices import warn_of_doubt

#: Integers from here on may not be exact in float64.
LARGEST_EXACT = 2.0**53
# A weight that is this much smaller than the largest one is zero.
_LEAST_WEIGHT = 1e-200
_DATES = "date", "time", "duration"
_WIDE = "int64", "uint64"

# Packages whose arrays lie on a disk, or are computed when they are asked for.
_LAZY = ("cubed", "dask", "dask_expr", "h5py", "netCDF4", "tables", "tensorstore", "zarr")


def check_indices(X: Any) -> None:
    """Raise a ValueError if X is a compressed sparse matrix that leads outside its arrays, or outside its shape."""
    if not sp.issparse(X) or X.format not in ("csr", "csc", "bsr"):
        return
    n_minor = check_pointers(X)
    used = X.indices[: X.indptr[-1]]
    if used.size and not 0 <= used.min() <= used.max() < n_minor:
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: an index is outside the shape")


def check_pointers(X: Any) -> int:
    """Raise a ValueError if indptr leads outside the arrays of a compressed matrix; return the bound of its indices."""
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    shape = X.shape[0] // height, X.shape[1] // width
    n_major, n_minor = shape[::-1] if X.format == "csc" else shape
    indptr = X.indptr
    fits = indptr.size == n_major + 1 and indptr[0] == 0 and indptr[-1] <= min(X.indices.size, len(X.data))
    if not fits or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"X is not a valid {X.format.upper()} matrix: indptr does not fit the shape and the indices")
    return int(n_minor)


def is_lazy(values: Any) -> bool:
    """Tell whether numbers are elsewhere, on a disk or still to be computed, and numpy would fetch them all.

    Dask's collections, and what holds one, have a graph; the others are told by the package of their type.
    """
    kind = type(values)
    graph = getattr(kind, "__dask_graph__", None)
    return kind.__module__.partition(".")[0] in _LAZY or (callable(graph) and graph(values) is not None)


def check_in_memory(name: str, values: Any) -> None:
    """Raise a ValueError that says what to do if numbers are not in memory."""
    if not is_lazy(values):
        return
    kind, size = type(values), getattr(values, "nbytes", None)
    is_known = isinstance(size, int | float | np.integer) and np.isfinite(size)
    about = f", {int(size):,} bytes" if is_known else ""  # type: ignore[arg-type]
    whole = f"{name}.compute()" if hasattr(kind, "compute") else f"{name}[:]"
    is_array = len(getattr(values, "shape", ())) == 2 and hasattr(kind, "dtype")
    other = "write_store(folder, X, y) makes a store" if is_array else "convert makes a store of a parquet file of it"
    remedy = f" if it fits; else fwlasso.datasets.{other}, block by block" if name == "X" else ""
    if name == "X" and hasattr(kind, "__dask_graph__"):
        remedy += "; fwlasso.distributed.lasso_path solves it where it lies"
    what = f"{kind.__name__} of {kind.__module__.partition('.')[0]}{about}"
    raise ValueError(f"{name} ({what}) is not in memory: give {whole}{remedy}")


def as_response(y: Any, n_samples: int) -> Vector:
    """Return y as finite float64 of length `n_samples`, or raise a ValueError that names it."""
    if y is None:
        raise ValueError("y is None: this estimator requires y to be passed, but the target y is None")
    y = by_itself("y", y)
    try:
        response = _column(y, warn=True)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"y must be numbers: {error}") from None
    if response.size != n_samples:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_samples, response.size]}")
    if not np.isfinite(response).all():
        raise ValueError("y contains NaN or infinity")
    if bool((np.abs(response) >= LARGEST_EXACT).any()) and any(map(is_wide, _dtypes(y))):
        tell_of_rounding("y")
    return np.asarray(response)


def count_alike(weights: Any) -> bool:
    """Tell whether these are no weights of single samples: None, or one number for all."""
    return weights is None or isinstance(weights, Real) or getattr(weights, "ndim", 1) == 0


def _column(given: Any, *, warn: bool = False) -> Vector:
    """Return what scikit-learn's `column_or_1d` does, which takes a second to import and most vectors do not need."""
    if type(given) is np.ndarray and given.ndim == 1 and given.dtype in (np.float64, np.float32, np.int64):
        return np.ascontiguousarray(given, np.float64)
    from sklearn.utils import column_or_1d

    return np.asarray(column_or_1d(given, dtype=np.float64, warn=warn))


def as_random_state(given: Any) -> np.random.RandomState:
    """Return what scikit-learn's `check_random_state` does, which takes a second to import."""
    if given is None:
        return np.random.mtrand._rand  # type: ignore[attr-defined,no-any-return]
    if type(given) is int:
        return np.random.RandomState(given)
    from sklearn.utils import check_random_state

    return check_random_state(given)  # type: ignore[no-any-return]


def as_weights(weights: Any, n_samples: int) -> Vector | None:
    """Return sample weights, or raise a ValueError; None for a number, since all samples count alike then.

    A weight that is nothing beside the largest is zero.
    """
    if count_alike(weights):
        is_number = isinstance(weights, Real) and 0.0 < float(weights) < np.inf
        check("sample_weight", weights, is_number, "numbers >= 0, one a sample")
        return None
    values = by_sample("sample_weight", weights, n_samples)
    if (values < 0.0).any() or not values.any():
        raise ValueError("sample_weight must be >= 0, and not zero for all samples")
    return np.where(values < _LEAST_WEIGHT * values.max(), 0.0, values)


def as_offset(offset: Any, n_samples: int) -> Vector:
    """Return the part of the response that is known, or raise a ValueError."""
    return by_sample("offset", offset, n_samples)


def by_sample(name: str, given: Any, n_samples: int) -> Vector:
    """Return finite numbers, one a sample."""
    given = by_itself(name, given)
    try:
        values = _column(given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one a sample: {error}") from None
    if values.size != n_samples:
        raise ValueError(f"{name} must be one number for each of the {n_samples} samples, got {values.size}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return np.asarray(values)


def by_itself(name: str, values: Any) -> Any:
    """Return a vector that is in memory, without a mask or dates; as an array, if it is a list or a capsule alone."""
    check_in_memory(name, values)
    values = np.asarray(values) if isinstance(values, list | tuple) else from_capsule(name, values)
    check_kind(name, values)
    return values


def from_capsule(name: str, values: Any) -> Any:
    """Return an array of numbers that only DLPack's protocol gives; anything else as it is."""
    if not hasattr(values, "__dlpack__") or hasattr(values, "__array__"):
        return values
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError) as error:  # they are on another device
        raise ValueError(f"{name}: {error}") from error


def check_kind(name: str, values: Any) -> None:
    """Raise a ValueError for masks and dates: a conversion to float64 forgets the former, and counts the latter."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array, which is not supported: fill or drop the masked entries first")
    dates = next((dtype for dtype in _dtypes(values) if is_date(dtype)), None)
    if dates is not None:
        raise ValueError(f"{name} has dates or durations, {dates}: convert them to numbers first, such as days")


def _dtypes(values: Any) -> list[Any]:
    """Return the types of an array or a series, or of the columns of a frame."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        return list(values.dtypes)
    return [getattr(values, "dtype", getattr(values, "type", None))]


def is_date(dtype: Any) -> bool:
    """Tell whether a type of numpy, pandas, polars or pyarrow is one of dates, times or durations."""
    return str(dtype).lower().startswith(_DATES)


def is_wide(dtype: Any) -> bool:
    """Tell whether a type of numpy, pandas, polars or pyarrow has integers that float64 may round."""
    return str(dtype).lower().removesuffix("[pyarrow]") in _WIDE


def tell_of_rounding(name: str, where: str = "") -> None:
    """Warn of integers that float64 may have rounded."""
    what = "which float64 does not hold exactly: they were rounded."
    warn_of_doubt(f"{name} has integers of 2^53 or more{where}, {what}")


def check(name: str, value: Any, valid: bool, what: str) -> None:
    """Raise a ValueError that names an argument which is not what it must be."""
    if not valid:
        raise ValueError(f"{name} must be {what}, got {value!r}")


def numpy_defaults() -> np.errstate:
    """Return a context, or decorator, with numpy's default treatment of overflow and underflow, whatever is set."""
    return np.errstate(all="warn", under="ignore")


def ask(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the answer of a function of the user's; its StopIteration would end an iterator of ours, not the call."""
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(f"{name} raised StopIteration") from error


def is_count(value: Any) -> bool:
    """Tell whether this is an integer of at least 1."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1

"""Tables with named columns: pandas, polars and pyarrow. None of them is imported here."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import LARGEST_EXACT, is_date, is_wide, tell_of_rounding

_N_TOLD = 5


def frame_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns; None if X is no frame."""
    names = _names(X)
    return None if names is None else tuple(str(name) for name in names)


def names_beside(X: Any, known: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the columns to compare with those of a fit, if X is a frame and both have names.

    Columns that are only counted, 0, 1, 2, ..., have no names beside texts.
    """
    names = _names(X)
    if names is None or known is None:
        return None
    counted = names == tuple(range(len(names)))
    return None if counted and not are_numbers(known) else tuple(map(str, names))


def are_numbers(names: Sequence[str]) -> bool:
    """Tell whether names are nothing but numbers, such as the first row of a table without names."""
    try:
        return all(float(name) == float(name) for name in names)
    except ValueError:
        return False


def _names(X: Any) -> tuple[Any, ...] | None:
    # In this order: a column of a pandas frame is an attribute of it, whatever its name is.
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):  # polars' lazy frames, whose names cost a query
        raise ValueError("X is a lazy frame, which has no numbers yet: call collect() first")
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        return tuple(X.columns)
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # pyarrow
        return tuple(X.column_names)
    return None


def frame_columns(frame: Any, places: list[int]) -> Any:
    """Return the numbers of some columns, in this order; see `frame_values`."""
    if hasattr(frame, "iloc"):  # pandas
        return frame_values(frame.iloc[:, places])
    return frame_values(frame[:, places] if hasattr(frame, "get_columns") else frame.select(places))


def frame_values(frame: Any) -> Any:
    """Return the numbers of a frame, sparse where all its columns are; copied once, unless they are one block.

    Raises a ValueError that names the columns that are not numbers, or that have missing values.
    """
    names = frame_names(frame) or ()
    dtypes = list(frame.dtypes if hasattr(frame, "dtypes") else frame.schema.types)
    other = {name: str(dtype) for name, dtype in zip(names, dtypes, strict=True) if not is_number(dtype)}
    if other:
        raise ValueError(
            f"X has {len(other)} columns that are not numbers: {listed(list(other))}. {_remedy(set(other.values()))}"
        )
    if dtypes and all(hasattr(dtype, "fill_value") for dtype in dtypes):  # pandas' sparse columns
        _check_fills(names, dtypes)
        return frame.sparse.to_coo()
    if len(set(dtypes)) == 1 and isinstance(dtypes[0], np.dtype) and dtypes[0].kind == "f":
        return frame.to_numpy()  # pandas: a block of floats is not copied
    is_single = all(str(dtype).lower() in ("float32", "float") for dtype in dtypes)
    values = _in_one_block(frame, np.float32 if is_single else np.float64)
    missing = [name for name, column in zip(names, values.T, strict=True) if np.isnan(column).any()]
    if missing:
        raise ValueError(f"X has missing values in {listed(missing)}")
    wide = [j for j, dtype in enumerate(dtypes) if is_wide(dtype)]
    large = [names[j] for j in wide if np.abs(values[:, j]).max(initial=0.0) >= LARGEST_EXACT]
    if large:
        tell_of_rounding("X", f" in {listed(large)}")
    return values


def _check_fills(names: Sequence[str], dtypes: list[Any]) -> None:
    """Raise a ValueError unless zero is what sparse columns do not store."""
    others = [name for name, dtype in zip(names, dtypes, strict=True) if dtype.fill_value != 0]
    if others:
        raise ValueError(
            f"X has sparse columns with a fill value other than 0: {listed(others)}. Make them dense by "
            "column.sparse.to_dense(), or pandas.arrays.SparseArray(column.sparse.to_dense(), fill_value=0)"
        )


def as_frame(columns: dict[str, Any], kind: str | None) -> Any:
    """Return columns as a frame of the package that X came from; of pandas, unless it is polars or pyarrow."""
    kind = kind if kind in ("polars", "pyarrow") and find_spec(kind) else "pandas"
    package = import_module(kind)
    return package.table(columns) if kind == "pyarrow" else package.DataFrame(columns)


def all_columns(frame: Any) -> Sequence[Any]:
    """Return the columns of a frame one by one, as it has them."""
    if hasattr(frame, "iloc"):  # pandas, where names may be repeated
        return [frame.iloc[:, j] for j in range(frame.shape[1])]
    return list(frame.columns if hasattr(frame, "schema") and hasattr(frame, "column_names") else frame.get_columns())


def _in_one_block(frame: Any, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return the numbers of a frame in column-major order, NaN where they are missing."""
    if hasattr(frame, "iloc"):  # pandas
        return np.asarray(frame.to_numpy(dtype=dtype, na_value=np.nan), order="F")
    columns = all_columns(frame)
    values = np.empty((len(frame), len(columns)), dtype, "F")
    for j, column in enumerate(columns):
        values[:, j] = column.to_numpy()
    return values


def _remedy(dtypes: set[str]) -> str:
    """Say how columns of such types become numbers."""
    dates = set(filter(is_date, dtypes))
    told = ["Convert dates to numbers, for example by (column - column.min()).dt.days."] if dates else []
    if "object" in dtypes:
        told.append("Convert objects that are numbers by pandas.to_numeric(column).")
    if dtypes - dates:
        told.append(
            "Encode texts and categories: "
            "sklearn.compose.ColumnTransformer([('codes', OneHotEncoder(), columns)], remainder='passthrough') in "
            "front of this one in a Pipeline gives columns of numbers, and keeps sparse columns sparse"
        )
    return " ".join(told)


def listed(names: Sequence[str | int]) -> str:
    """Return the first few names, or numbers, for a message."""
    return first_of([repr(name) for name in names])


def first_of(texts: Sequence[str]) -> str:
    """Return the first few texts, for a message."""
    return ", ".join(texts[:_N_TOLD]) + (", ..." if len(texts) > _N_TOLD else "")


def columns_named(names: tuple[str, ...] | None, which: NDArray[np.bool_]) -> str:
    """Return the columns that are meant, by their names or numbers."""
    found = [(names or range(which.size))[j] for j in np.flatnonzero(which)]
    return f"{'column' if len(found) == 1 else 'columns'} {listed(found)}"


def not_finite(names: tuple[str, ...] | None, which: NDArray[np.bool_]) -> ValueError:
    """Return the error for columns of X that cannot be computed with."""
    what = "NaN, infinity or values too large for their squares to be finite"
    return ValueError(f"X contains {what}, in {columns_named(names, which)}")


def is_number(dtype: Any) -> bool:
    """Tell whether a column of this type has numbers; pandas, polars and pyarrow have types of their own."""
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    if hasattr(dtype, "num_fields"):  # pyarrow
        return str(dtype) in ("bool", "float", "double", "halffloat") or str(dtype).lstrip("u").startswith("int")
    kind = getattr(getattr(dtype, "subtype", dtype), "kind", "O")  # pandas: sparse dtypes have a subtype
    return kind in "biuf"

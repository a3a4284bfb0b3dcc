"""Filling the arrays of a store from a source, block by block.

A dense matrix is copied by blocks of columns or of rows. A sparse one is read twice: to count the entries of every
column, and to put them in their places. Rows and columns may be selected on the way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core.jit import kernel
from ..data.progress import ProgressCallback, Step
from .source import BLOCK_BYTES, Entries, EntryBlocks, Rectangle, Source, cuts

Indices: TypeAlias = NDArray[np.int64]
#: Makes an array of a name, type and shape, in column-major order: in a file, or in memory.
Allocate: TypeAlias = Callable[[str, Any, tuple[int, ...]], NDArray[Any]]


class Selection(NamedTuple):
    """Which rows and columns of a source are taken, in this order; None for all."""

    rows: Indices | None = None
    columns: Indices | None = None

    def shape(self, source: Source) -> tuple[int, int]:
        """Return the shape of what is selected."""
        m, p = source.shape
        return m if self.rows is None else self.rows.size, p if self.columns is None else self.columns.size


def fill(
    source: Source, selection: Selection, dtype: np.dtype[Any], allocate: Allocate, tell: ProgressCallback
) -> dict[str, NDArray[Any]]:
    """Fill the arrays of a store, and return them by name: X, or data, indices and indptr."""
    if isinstance(source.matrix, Rectangle):
        X = allocate("X", dtype, selection.shape(source))
        _fill_dense(source, selection, X, tell)
        return {"X": X}
    return _fill_sparse(source, selection, dtype, allocate, tell)


def _fill_dense(source: Source, selection: Selection, out: NDArray[Any], tell: ProgressCallback) -> None:
    """Copy a dense source to `out`, by blocks of whole rows or of whole columns."""
    assert isinstance(source.matrix, Rectangle)
    values, by_rows = source.matrix
    axis = 0 if by_rows else 1
    along, across = selection[axis], selection[1 - axis]
    places = _places(along, source.shape[axis])
    done = 0
    for lo, hi in cuts(places.size, BLOCK_BYTES // max(1, source.shape[1 - axis] * out.itemsize)):
        part: Any = slice(lo, hi) if along is None else lo + np.flatnonzero(places[lo:hi] >= 0)
        to = part if along is None else places[part]
        if places[part].size == 0:
            continue
        if by_rows:  # of files by slices alone
            block = np.asarray(values[lo:hi, :])
            block = (block if along is None else block[part - lo]).T
        else:
            block = np.asarray(values[:, part])
        block = _floats(block if across is None else block[across], out.dtype)
        if not np.isfinite(block).all():
            i, j = np.argwhere(~np.isfinite(block))[0]
            place = (i if across is None else across[i]), np.arange(places.size)[part][j]
            _refuse_value(block[i, j], source, *(place[::-1] if by_rows else place))
        (out.T if by_rows else out)[:, to] = block
        done += block.size
        tell(Step("copying", done, out.size))


def _floats(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):  # what does not fit float32 is infinite, and refused
        return np.asarray(values, dtype)


def _refuse_value(value: Any, source: Source, row: int, column: int) -> NoReturn:
    found = f"found {value} in row {row}, column {_name(source, column)}"
    raise ValueError(f"X: expected a finite {np.asarray(value).dtype}, {found}")


def _name(source: Source, column: int) -> str:
    return str(column) if source.feature_names is None else repr(source.feature_names[column])


# Sparse ------------------------------------------------------------------------------------------------------


def _fill_sparse(
    source: Source, selection: Selection, dtype: np.dtype[Any], allocate: Allocate, tell: ProgressCallback
) -> dict[str, NDArray[Any]]:
    """Count the entries of every column, then put them into their places."""
    assert isinstance(source.matrix, EntryBlocks)
    m, p = selection.shape(source)
    row_of, column_of = _places(selection.rows, source.shape[0]), _places(selection.columns, source.shape[1])
    done, total = 0, source.matrix.n_entries

    bounds = np.zeros(p + 1, np.int64)
    for block in source.matrix.blocks():
        rows, columns = _as_indices(block)
        if not _count(rows, columns, row_of, column_of, bounds):
            raise ValueError(f"X is not a valid sparse matrix: an index is outside the shape {source.shape}")
        done += block[2].shape[0]
        tell(Step("counting", done, total))
    np.cumsum(bounds, out=bounds)
    n_entries, done = int(bounds[-1]), 0
    data = allocate("data", dtype, (n_entries,))
    indices = allocate("indices", _index_type(m), (n_entries,))
    free = bounds[:-1].copy()
    for block in source.matrix.blocks():
        rows, columns = _as_indices(block)
        numbers = _floats(np.asarray(block[2]), dtype).copy()
        if not np.isfinite(numbers).all():
            k = int(np.flatnonzero(~np.isfinite(numbers))[0])
            _refuse_value(numbers[k], source, int(rows[k]), int(columns[k]))
        _place(rows, columns, numbers, row_of, column_of, free, data, indices)
        done += numbers.size
        tell(Step("filling", done, total))
    if selection.rows is not None and (np.diff(selection.rows) < 0).any():
        _sort_columns(data, indices, bounds)
    _require_order(source, selection, indices, bounds)
    indptr = allocate("indptr", _index_type(n_entries), (p + 1,))
    indptr[:] = bounds
    return {"data": data, "indices": indices, "indptr": indptr}


def _as_indices(block: Entries) -> tuple[Indices, Indices]:
    """Return rows and columns of one type, writable as the numbers are: one compiled kernel."""
    return np.array(block[0], np.int64), np.array(block[1], np.int64)


def _require_order(source: Source, selection: Selection, indices: NDArray[Any], bounds: Indices) -> None:
    j = _first_unordered(indices, bounds)
    if j >= 0:
        column = j if selection.columns is None else int(selection.columns[j])
        raise ValueError(
            f"X: the entries of column {_name(source, column)} are not in the order of their rows, or two have the "
            "same row: X.sum_duplicates() repairs a sparse matrix of scipy"
        )


def _places(selected: Indices | None, n: int) -> Indices:
    """Return where each of n rows or columns goes; -1 for those that are left out."""
    if selected is None:
        return np.arange(n)
    places = np.full(n, -1, np.int64)
    places[selected] = np.arange(selected.size)
    return places


def _index_type(largest: int) -> Any:
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


@kernel
def _count(rows: Indices, columns: Indices, row_of: Indices, column_of: Indices, bounds: Indices) -> bool:
    """Add to bounds[j + 1] the entries of column j; tell whether all are inside the matrix."""
    for k in range(rows.size):
        i, j = rows[k], columns[k]
        if i < 0 or i >= row_of.size or j < 0 or j >= column_of.size:
            return False
        if row_of[i] >= 0 and column_of[j] >= 0:
            bounds[column_of[j] + 1] += 1
    return True


@kernel
def _place(
    rows: Indices,
    columns: Indices,
    values: NDArray[Any],
    row_of: Indices,
    column_of: Indices,
    free: Indices,
    data: NDArray[Any],
    indices: NDArray[Any],
) -> None:
    """Put entries at the first free places of their columns."""
    for k in range(rows.size):
        i, j = row_of[rows[k]], column_of[columns[k]]
        if i >= 0 and j >= 0:
            data[free[j]] = values[k]
            indices[free[j]] = i
            free[j] += 1


@kernel
def _sort_columns(data: NDArray[Any], indices: NDArray[Any], bounds: Indices) -> None:
    """Sort the entries of every column by row."""
    for j in range(bounds.size - 1):
        lo, hi = bounds[j], bounds[j + 1]
        order = np.argsort(indices[lo:hi])
        data[lo:hi] = data[lo:hi][order]
        indices[lo:hi] = indices[lo:hi][order]


@kernel
def _first_unordered(indices: NDArray[Any], bounds: Indices) -> int:
    """Return the first column whose rows do not increase, -1 if there is none."""
    for j in range(bounds.size - 1):
        for k in range(bounds[j] + 1, bounds[j + 1]):
            if indices[k] <= indices[k - 1]:
                return j
    return -1

"""Filling the arrays of a store from a source, block by block.

A dense matrix is copied by blocks of columns or of rows. A sparse one is read twice: to count the entries of every
column, and to put them in their places. Rows and columns may be selected on the way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._jit import kernel
from ..progress import Step, Tell
from .source import BLOCK_BYTES, BLOCK_ENTRIES, EntryBlocks, Rectangle, Source, cuts

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
    parts: list[Source], selection: Selection, dtype: np.dtype[Any], allocate: Allocate, tell: Tell
) -> tuple[str, dict[str, NDArray[Any]]]:
    """Fill the arrays of a store with sources side by side, all dense or all sparse; return its kind and the arrays."""
    if isinstance(parts[0].matrix, Rectangle):
        m, _ = selection.shape(parts[0])
        ends = np.cumsum([0, *(selection.shape(part)[1] for part in parts)]).tolist()
        X = allocate("X", dtype, (m, ends[-1]))
        done = 0
        for part, lo, hi in zip(parts, ends[:-1], ends[1:], strict=True):
            done = _fill_dense(part, selection, X[:, lo:hi], tell, done, X.size)
        return "dense", {"X": X}
    return "csc", _fill_sparse(parts, selection, dtype, allocate, tell)


def _fill_dense(source: Source, selection: Selection, out: NDArray[Any], tell: Tell, done: int, total: int) -> int:
    """Copy a dense source to `out`; return the numbers written so far."""
    assert isinstance(source.matrix, Rectangle)
    values, by_rows = source.matrix
    m, p = source.shape
    rows, columns = selection
    if by_rows:
        places = _places(rows, m)
        for lo, hi in cuts(m, BLOCK_BYTES // max(1, p * out.itemsize)):
            wanted = np.flatnonzero(places[lo:hi] >= 0)
            if wanted.size == 0:
                continue
            block = np.asarray(values[lo:hi, :])
            block = block if rows is None else block[wanted]
            block = _floats(block if columns is None else block[:, columns], out.dtype)
            _require_finite(block, source, wanted + lo, columns)
            out[slice(lo, hi) if rows is None else places[lo:hi][wanted], :] = block
            done += block.size
            tell(Step("copying", done, total))
        return done
    for lo, hi in cuts(out.shape[1], BLOCK_BYTES // max(1, m * out.itemsize)):
        part = slice(lo, hi) if columns is None else columns[lo:hi]
        block = np.asarray(values[:, part])
        block = _floats(block if rows is None else block[rows], out.dtype)
        _require_finite(block, source, rows, np.arange(lo, hi) if columns is None else columns[lo:hi])
        out[:, lo:hi] = block
        done += block.size
        tell(Step("copying", done, total))
    return done


def _floats(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):  # what does not fit float32 is infinite, and refused
        return np.asarray(values, dtype)


def _require_finite(block: NDArray[Any], source: Source, rows: Indices | None, columns: Indices | None) -> None:
    finite = np.isfinite(block)
    if finite.all():
        return
    i, j = (int(place[0]) for place in np.nonzero(~finite))
    row, column = i if rows is None else rows[i], j if columns is None else columns[j]
    _refuse_value(block[i, j], source, int(row), int(column))


def _refuse_value(value: Any, source: Source, row: int, column: int) -> NoReturn:
    name = column if source.feature_names is None else repr(source.feature_names[column])
    raise ValueError(f"X: expected a finite {np.asarray(value).dtype}, found {value} in row {row}, column {name}")


# Sparse ------------------------------------------------------------------------------------------------------


def _fill_sparse(
    parts: list[Source], selection: Selection, dtype: np.dtype[Any], allocate: Allocate, tell: Tell
) -> dict[str, NDArray[Any]]:
    m, p = selection.shape(parts[0])[0], sum(selection.shape(part)[1] for part in parts)
    row_of = _places(selection.rows, parts[0].shape[0])
    total = sum(part.matrix.n_entries for part in parts if isinstance(part.matrix, EntryBlocks))
    column_of, offset = [], 0
    for part in parts:
        column_of.append(_places(selection.columns, part.shape[1], offset))
        offset += selection.shape(part)[1]

    bounds = np.zeros(p + 1, np.int64)
    for done, part, places, block in _blocks(parts, column_of):
        if not _count(block[0], block[1], row_of, places, bounds):
            raise ValueError(f"X is not a valid sparse matrix: an index is outside the shape {part.shape}")
        tell(Step("counting", done, total))
    np.cumsum(bounds, out=bounds)
    n_entries = int(bounds[-1])
    data = allocate("data", dtype, (n_entries,))
    indices = allocate("indices", _index_type(m), (n_entries,))
    free = bounds[:-1].copy()
    for done, part, places, (rows, columns, values) in _blocks(parts, column_of):
        numbers = _floats(values, dtype).copy()
        if not np.isfinite(numbers).all():
            k = int(np.flatnonzero(~np.isfinite(numbers))[0])
            _refuse_value(numbers[k], part, int(rows[k]), int(columns[k]))
        _place(rows, columns, numbers, row_of, places, free, data, indices)
        tell(Step("filling", done, total))
    if not _increasing(indices, bounds):
        n_left = _tidy(data, indices, bounds, m, tell)
        if n_left < n_entries:
            data = _shortened("data", data, n_left, allocate)
            indices = _shortened("indices", indices, n_left, allocate)
            n_entries = n_left
    indptr = allocate("indptr", _index_type(n_entries), (p + 1,))
    indptr[:] = bounds
    return {"data": data, "indices": indices, "indptr": indptr}


def _blocks(parts: list[Source], column_of: list[Indices]) -> Any:
    """Yield the blocks of all parts, with the entries read so far."""
    done = 0
    for part, places in zip(parts, column_of, strict=True):
        assert isinstance(part.matrix, EntryBlocks)
        for rows, columns, values in part.matrix.blocks():
            done += values.shape[0]
            # One type of index, writable as the numbers are: one compiled kernel.
            yield done, part, places, (np.array(rows, np.int64), np.array(columns, np.int64), np.asarray(values))


def _places(selected: Indices | None, n: int, offset: int = 0) -> Indices:
    """Return where each of n rows or columns goes; -1 for those that are left out."""
    if selected is None:
        return np.arange(offset, offset + n)
    places = np.full(n, -1, np.int64)
    places[selected] = np.arange(offset, offset + selected.size)
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
def _increasing(indices: NDArray[Any], bounds: Indices) -> bool:
    for j in range(bounds.size - 1):
        for k in range(bounds[j] + 1, bounds[j + 1]):
            if indices[k] <= indices[k - 1]:
                return False
    return True


def _tidy(data: NDArray[Any], indices: NDArray[Any], bounds: Indices, m: int, tell: Tell) -> int:
    """Sort the entries of every column by row and sum those of one place, in place; return how many are left."""
    p, n_entries, written, lo = bounds.size - 1, int(bounds[-1]), 0, 0
    while lo < p:
        hi = max(lo + 1, int(np.searchsorted(bounds, bounds[lo] + BLOCK_ENTRIES, "right")) - 1)
        start, stop = int(bounds[lo]), int(bounds[hi])
        some = data[start:stop].copy(), indices[start:stop].copy(), bounds[lo : hi + 1] - start
        block = sp.csc_array(some, shape=(m, hi - lo))
        block.sum_duplicates()
        end = written + block.nnz  # never beyond `stop`
        data[written:end], indices[written:end] = block.data, block.indices
        bounds[lo:hi] = block.indptr[:-1] + written
        written, lo = end, hi
        tell(Step("sorting", stop, n_entries))
    bounds[p] = written
    return written


def _shortened(name: str, values: NDArray[Any], size: int, allocate: Allocate) -> NDArray[Any]:
    shorter = allocate(name, values.dtype, (size,))
    for lo, hi in cuts(size, BLOCK_ENTRIES):
        shorter[lo:hi] = values[lo:hi]
    return shorter

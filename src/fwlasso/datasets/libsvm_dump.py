"""Writing LIBSVM files: numbers come back as they were, and the file is there only when it is complete."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .._jit import kernel
from ..indices import check_indices
from .compressed import replacing

_BLOCK_ENTRIES = 1 << 18  # about this many are written at a time


def dump_libsvm(
    X: Any, y: ArrayLike, path: str | Path, *, zero_based: bool = False, query_id: ArrayLike | None = None
) -> None:
    """Write a LIBSVM file, row by row.

    Numbers are written with as few digits as `load_libsvm` needs to read the same float64; the numbers of float32 are
    written as the float64 that they are. Of dense matrices the zeros are left out; of sparse ones all that is stored
    is written.

    Parameters
    ----------
    X : array or sparse matrix, m x p
        Not copied, unless it is sparse and neither CSC with sorted indices nor CSR.
    y : array of m numbers
    path : path
        Packed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. An existing file is replaced in the end, at
        once.
    zero_based : bool
        Whether indices count from 0.
    query_id : array of m integers, optional
        Written as ``qid:``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.svm")
    ...     dump_libsvm([[0.1, 0.0], [0.0, 2.0]], [1, -1], file)
    ...     print(file.read_text())
    1 1:0.1
    -1 2:2
    """
    X = X if sp.issparse(X) else np.asarray(X)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise ValueError(f"X must be a matrix of real numbers, got {X.ndim} dimensions of {X.dtype}")
    queries = None if query_id is None else np.asarray(query_id)
    for name, values in (("y", y), ("query_id", queries)):
        if values is not None and values.shape != X.shape[:1]:
            raise ValueError(f"{name} must have {X.shape[0]} entries, one per row of X, got the shape {values.shape}")
    if queries is not None and queries.dtype.kind not in "ui":
        raise ValueError(f"query_id must be integers, got {queries.dtype}")
    if not np.isfinite(y).all():
        raise ValueError("y must be finite")
    with replacing(Path(path)) as stream:
        first = 0
        for counts, columns, values in _row_blocks(X):
            rows = slice(first, first + counts.size)
            block = _lines(
                counts, columns + (not zero_based), values, y[rows], None if queries is None else queries[rows]
            )
            stream.write(block)
            first = rows.stop


def _lines(
    counts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], y: NDArray[np.float64], queries: Any
) -> bytes:
    """Return rows as text; entries lie one row behind the other."""
    if not np.isfinite(values).all():
        raise ValueError("X must be finite")
    entries = list(map("{}:{}".format, columns.tolist(), _texts(values)))
    ends = np.cumsum(counts).tolist()
    heads = _texts(y) if queries is None else map("{} qid:{}".format, _texts(y), queries.tolist())
    lines = []
    begin = 0
    for head, end in zip(heads, ends, strict=True):
        lines.append(" ".join([head, *entries[begin:end]]))
        begin = end
    return "".join(line + "\n" for line in lines).encode("ascii")


def _texts(values: NDArray[Any]) -> list[str]:
    """Return numbers with the fewest digits that give the same float64, and whole ones without a point."""
    return [text.removesuffix(".0") for text in map(repr, values.astype(np.float64).tolist())]


Block = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _row_blocks(X: Any) -> Iterator[Block]:
    """Yield, for some rows after the other, the number of entries of every row, and columns and values of them all."""
    if not sp.issparse(X):
        return _dense_blocks(X)
    check_indices(X)
    if X.format == "csc" and X.has_canonical_format:
        return _csc_blocks(X)
    return _csr_blocks(X if X.format == "csr" else X.tocsr())


def _dense_blocks(X: NDArray[Any]) -> Iterator[Block]:
    step = max(1, _BLOCK_ENTRIES // max(1, X.shape[1]))
    for begin in range(0, X.shape[0], step):
        part = X[begin : begin + step]
        rows, columns = np.nonzero(part)
        yield np.bincount(rows, minlength=part.shape[0]), columns, part[rows, columns]


def _cuts(row_ends: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Cut rows, given where the entries of each end, into blocks."""
    begin = written = 0
    while begin < row_ends.size:
        end = max(begin + 1, int(np.searchsorted(row_ends, written + _BLOCK_ENTRIES, side="right")))
        yield begin, end
        begin, written = end, int(row_ends[end - 1])


def _csr_blocks(X: Any) -> Iterator[Block]:
    for begin, end in _cuts(X.indptr[1:]):
        part = X[begin:end]
        part.sum_duplicates()  # sorts, too
        yield np.diff(part.indptr), part.indices, part.data


def _csc_blocks(X: Any) -> Iterator[Block]:
    row_ends = np.zeros(X.shape[0], np.int64)
    _count_rows(X.indices, row_ends)
    np.cumsum(row_ends, out=row_ends)
    reached = X.indptr[:-1].copy()
    for begin, end in _cuts(row_ends):
        first = row_ends[begin - 1] if begin else 0
        starts = np.concatenate(([first], row_ends[begin : end - 1])) - first
        n_entries = int(row_ends[end - 1] - first)
        columns, values = np.empty(n_entries, np.int64), np.empty(n_entries, X.dtype)
        counts = np.diff(starts, append=n_entries)
        _take_rows(X.indices, X.data, X.indptr, reached, begin, end, starts, columns, values)
        yield counts, columns, values


@kernel
def _count_rows(indices: NDArray[Any], counts: NDArray[np.int64]) -> None:
    for row in indices:
        counts[row] += 1


@kernel
def _take_rows(
    indices: NDArray[Any],
    data: NDArray[Any],
    indptr: NDArray[Any],
    reached: NDArray[Any],
    begin: int,
    end: int,
    places: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[Any],
) -> None:
    """Write the entries of the rows from `begin` to `end`, row by row, and go on in every column from where it was."""
    for column in range(reached.size):
        k = reached[column]
        while k < indptr[column + 1] and indices[k] < end:
            place = places[indices[k] - begin]
            columns[place], values[place] = column, data[k]
            places[indices[k] - begin] += 1
            k += 1
        reached[column] = k

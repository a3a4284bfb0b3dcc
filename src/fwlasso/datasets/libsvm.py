"""LIBSVM files, read once to compressed sparse columns.

Rows are kept as they come from `stream_rows`. Then threads count the entries of every column, each in its part of the
rows; the sums tell where in the matrix each thread begins in every column, and the entries are put there.
"""

import itertools
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from .._core.jit import kernel
from .._core.threads import Workers, physical_memory, resolve_threads
from ..data.checks import check, is_count
from ..data.progress import ProgressCallback, silent, telling
from ..data.table import Table
from .libsvm_faults import Expected
from .libsvm_rows import TextRows, changed, first_index, stream_rows

_FLOAT64 = np.dtype(np.float64)
_INT32_MAX = int(np.iinfo(np.int32).max)
_BYTES_PER_COLUMN = 32  # pointers, counts and what it takes to add them up


def load_libsvm(
    path: str | Path,
    n_features: int | None = None,
    *,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    query_id: bool = False,
    n_threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Any:
    r"""Read a LIBSVM file.

    A line is ``target [qid:integer] index:value index:value ... [# comment]``. Blank lines and lines with nothing but a
    comment are no rows. Indices need not be sorted within a line, but every index may be there once only. Numbers
    are plain decimals, rounded as Python's float() does; nan, inf and what is too large are refused. Entries that are
    written as 0 are stored.

    Parameters
    ----------
    path : path
        A file; packed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``, the latter with the library
        backports.zstd.
    n_features : int, optional
        The number of columns. By default given by the largest index, and at least one.
    dtype : float64 or float32
        Of the matrix.
    zero_based : bool or "auto"
        Whether indices count from 0. "auto": they count from 1 unless there is a 0, as in scikit-learn. That is a guess
        for each file separately: if several belong together, say which it is.
    query_id : bool
        Whether to return the queries of all rows, too. Every row must have one then; otherwise they are skipped.
    n_threads : int, optional
        By default as many as there are cores. The result is the same for any number.
    progress : callable, optional
        Called with a `Step` after every block, in bytes of the file.

    Returns
    -------
    X : csc_array
        With sorted indices, of 32 bits where those suffice.
    y : array of float64
    query_id : array of int64
        If it was asked for.

    Raises
    ------
    ValueError
        What was not expected, as ``file:line:column: expected ..., found ...``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.svm")
    ...     _ = file.write_text("1.5 1:2 3:4e-1  # a comment\n-1 2:7\n")
    ...     X, y = load_libsvm(file)
    >>> X.toarray()
    array([[2. , 0. , 0.4],
           [0. , 7. , 0. ]])
    >>> y
    array([ 1.5, -1. ])
    """
    file, dtype = Path(path), np.dtype(dtype)
    check("dtype", dtype, dtype in (np.float64, np.float32), "float64 or float32")
    check("n_features", n_features, n_features is None or is_count(n_features), "an integer >= 1 or None")
    check("zero_based", zero_based, zero_based in (True, False, "auto"), "True, False or 'auto'")
    check("n_threads", n_threads, n_threads is None or is_count(n_threads), "an integer >= 1 or None")
    check("progress", progress, progress is None or callable(progress), "callable or None")
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    if n_features is not None and n_features > _most_columns():
        raise MemoryError(f"n_features: there is no memory for {n_features:,} columns")
    table, queries = _read(
        file, zero_based, n_features, dtype, with_queries=query_id, n_threads=n_threads, tell=telling(progress)
    )
    return (table.X, table.y, queries) if query_id else (table.X, table.y)


def read_libsvm(file: Path, zero_based: bool | Literal["auto"]) -> Table:
    """Read rows as `load_libsvm` does; there must be some."""
    table, _ = _read(file, zero_based)
    if not table.y.size:
        raise ValueError(f"{file}: there are no rows")
    return table


def _most_columns() -> int:
    """Return for how many columns this machine has memory."""
    return physical_memory() // _BYTES_PER_COLUMN


def expect_columns(zero_based: bool | Literal["auto"]) -> Expected:
    """Return what is expected of a file with as many columns as this machine has memory for."""
    return Expected(int(zero_based is False), _most_columns(), reason=" (there is no memory for more columns)")


def _read(
    file: Path,
    zero_based: bool | Literal["auto"],
    n_features: int | None = None,
    dtype: np.dtype[Any] = _FLOAT64,
    *,
    with_queries: bool = False,
    n_threads: int | None = None,
    tell: ProgressCallback = silent,
) -> tuple[Table, NDArray[np.int64]]:
    """Return the rows and their queries."""
    n_threads = resolve_threads(n_threads)
    expected = expect_columns(zero_based)._replace(dtype=dtype, with_queries=bool(with_queries))
    if n_features is not None:  # which may yet prove right as an index
        expected = expected._replace(highest=n_features, reason="")
    pieces = list(stream_rows(file, expected, n_threads, tell))
    some = [piece.columns for piece in pieces if piece.columns.size]
    low, high = min((int(c.min()) for c in some), default=-1), max((int(c.max()) for c in some), default=-1)
    shift = first_index(zero_based, low)
    p = max(1, high + 1 - shift) if n_features is None else n_features
    if high >= p + shift:  # the base is known only now: read again for the place of that index
        for _ in stream_rows(file, expected._replace(highest=p + shift - 1), n_threads):
            pass
        raise changed(file)
    y = np.concatenate([np.empty(0), *(piece.targets for piece in pieces)])
    queries = np.concatenate([np.empty(0, np.int64), *(piece.queries for piece in pieces)])
    with Workers(n_threads) as workers:
        data, indices, indptr = _by_columns(pieces, p + shift, dtype, workers)
    X = sp.csc_array((data, indices, indptr[shift:]), shape=(y.size, p))
    X.has_canonical_format = True  # spares scipy a look at it
    return Table(X, y, first_index=shift), queries


def _by_columns(
    pieces: list[TextRows], width: int, dtype: np.dtype[Any], workers: Workers
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return data, indices and indptr of all rows; indices are those of the text, below `width`."""
    first_rows = [0, *itertools.accumulate(piece.targets.size for piece in pieces)]
    n_entries = sum(piece.values.size for piece in pieces)
    index_type = np.int32 if max(n_entries, first_rows[-1], width) <= _INT32_MAX else np.int64
    # Every part has a count for every column: together they take no more than the entries do.
    n_parts = max(1, min(workers.n_threads, n_entries // width, len(pieces)))
    cuts = [k * len(pieces) // n_parts for k in range(n_parts + 1)]
    places = np.zeros((n_parts + 1, width), index_type)

    def count(part: int, _: int) -> None:
        for piece in pieces[cuts[part] : cuts[part + 1]]:
            _count_columns(piece.columns, places[part + 1])

    def put(part: int, _: int) -> None:
        for k in range(cuts[part], cuts[part + 1]):
            _scatter(
                pieces[k].columns, pieces[k].values, pieces[k].row_ends, first_rows[k], places[part], indices, data
            )

    workers.map(count, range(n_parts + 1))
    indptr = np.zeros(width + 1, index_type)
    np.cumsum(places.sum(axis=0, dtype=index_type), out=indptr[1:])
    places[0] = indptr[:-1]
    np.cumsum(places, axis=0, out=places)
    data, indices = np.empty(n_entries, dtype), np.empty(n_entries, index_type)
    workers.map(put, range(n_parts + 1))
    return data, indices, indptr


@kernel
def _count_columns(columns: Any, counts: Any) -> None:
    """Add the entries of every column to its count."""
    for column in columns:
        counts[column] += 1


@kernel
def _scatter(columns: Any, values: Any, row_ends: Any, first_row: int, places: Any, indices: Any, data: Any) -> None:
    """Put the entries of some rows where their columns go on."""
    begin = 0
    for row in range(row_ends.size):
        for entry in range(begin, row_ends[row]):
            column = np.uintp(columns[entry])  # unsigned indices spare numba's test for negative ones
            place = np.uintp(places[column])
            places[column] += 1
            indices[place] = first_row + row
            data[place] = values[entry]
        begin = row_ends[row]

"""LIBSVM files, read by threads straight to compressed sparse columns.

A file is read twice. The first time every thread counts, for its part of the lines, the entries of every column; the
sums tell where in the matrix each thread begins in every column. The second time the entries are put there. Nothing
else is held than the matrix, a count per column and thread, and a block of text per thread. A packed file is counted by
one thread, behind another that unpacks it; one of gzip is cut meanwhile, so that threads can fill in its parts.
"""

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ..options import check, is_count
from ..parallel import Workers, resolve_threads
from ..progress import Tell
from .libsvm_faults import INFINITE_FLOAT32, Misfit
from .libsvm_parts import Count, Expected, Journey, Part, Sink, changed, count_part, cut_file, fill_part

T = TypeVar("T")
#: Gives an array of a size and a dtype.
Allocate: TypeAlias = Callable[[int, Any], NDArray[Any]]

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
    progress: Tell | None = None,
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
        backports.zstd. It is read twice.
    n_features : int, optional
        The number of columns. By default the largest index tells, and there is at least one.
    dtype : float64 or float32
        Of the matrix.
    zero_based : bool or "auto"
        Whether indices count from 0. "auto": they count from 1 unless there is a 0, as in scikit-learn. That is a guess
        for every file by itself: where several belong together, say which it is.
    query_id : bool
        Whether to return the queries of all rows, too. Every row must have one then; otherwise they are skipped.
    n_threads : int, optional
        By default as many as there are cores. The result is the same for any number.
    progress : callable, optional
        Called with a `Step` once in a while, in bytes of both readings: by several threads, but never by two at once.

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
    with Workers(resolve_threads(n_threads)) as workers:
        return _Loader(file, workers, progress, dtype, bool(query_id), np.empty).load(n_features, zero_based)


def read_libsvm(
    file: Path, zero_based: bool | Literal["auto"], tell: Tell | None = None, allocate: Allocate = np.empty
) -> tuple[sp.csc_array, NDArray[np.float64], int]:
    """Read rows as `load_libsvm` does, to arrays of the caller's making; return the first column's index, too."""
    with Workers(resolve_threads(None)) as workers:
        loader = _Loader(file, workers, tell, np.dtype(np.float64), False, allocate)
        X, y = loader.load(None, zero_based)
    if not y.size:
        raise ValueError(f"{file}: there are no rows")
    return X, y, loader.first_index


def _most_columns() -> int:
    """Return for how many columns this machine has memory."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _BYTES_PER_COLUMN)


class _Loader:
    """Reads one file."""

    def __init__(
        self,
        file: Path,
        workers: Workers,
        tell: Tell | None,
        dtype: np.dtype[Any],
        with_queries: bool,
        allocate: Allocate,
    ) -> None:
        self._file, self._workers, self._dtype, self._with_queries = file, workers, dtype, with_queries
        self._allocate = allocate
        self._parts = cut_file(file, workers.n_threads)
        self._journey = Journey(file, 2 * file.stat().st_size, tell)
        self.first_index = 0  # until the file is read

    def load(self, n_features: int | None, zero_based: bool | str) -> Any:
        version = _version(self._file)
        try:
            counts, self.first_index, p = self._count(n_features, zero_based)
            result = self._fill(counts, self.first_index, p)
        except BaseException as error:
            self._journey.stop()
            if isinstance(error, ValueError) and _version(self._file) != version:
                raise changed(self._file) from error
            raise
        if _version(self._file) != version:
            raise changed(self._file)
        return result

    def _count(self, n_features: int | None, zero_based: bool | str) -> tuple[list[Count], int, int]:
        """Return what there is in every part, the index of the first column, and the number of columns."""
        lowest = 1 if zero_based is False else 0
        most = _most_columns() if n_features is None else n_features  # as index, n_features may yet prove right
        found = self._each(lambda part, _: count_part(part, self._journey, most))
        if any(counted is None for counted in found):
            raise self._explain(lowest, most, n_features)
        counted = [pair for pairs in found if pairs is not None for pair in pairs]
        self._parts, counts = [part for part, _ in counted], [count for _, count in counted]
        low, high = min(count.lowest for count in counts), max(count.highest for count in counts)
        is_empty = high < 0
        shift = int(zero_based is False or (zero_based == "auto" and low > 0 and not is_empty))
        p = max(1, high + 1 - shift) if n_features is None else n_features
        if not is_empty and (low < lowest or high >= p + shift):
            raise self._explain(lowest, p + shift - 1, n_features)
        return counts, shift, p

    def _fill(self, counts: list[Count], shift: int, p: int) -> Any:
        """Return the matrix, the targets and, if they are wanted, the queries."""
        n_rows = [0, *itertools.accumulate(count.n_rows for count in counts)]
        n_entries = sum(count.n_entries for count in counts)
        index_type = np.int32 if max(n_entries, n_rows[-1], p) <= _INT32_MAX else np.int64
        indptr, places = _places(counts, p + shift, index_type)
        data, indices = self._allocate(n_entries, self._dtype), self._allocate(n_entries, index_type)
        y, queries = np.empty(n_rows[-1]), np.empty(n_rows[-1] if self._with_queries else 0, np.int64)
        expected = self._expected(shift, p + shift - 1)

        def fill(part: Part, k: int) -> Misfit | int:
            rows = slice(n_rows[k], n_rows[k + 1])
            sink = Sink(y[rows], queries[rows], n_rows[k], places[k], indices, data)
            return fill_part(part, self._journey, expected, self._with_queries, sink)

        wrong = self._first_misfit(self._each(fill))
        if wrong is not None:
            raise ValueError(wrong)
        X = sp.csc_array((data, indices, indptr[shift:]), shape=(y.size, p))
        X.has_canonical_format = True  # spares scipy a look at it
        return (X, y, queries) if self._with_queries else (X, y)

    def _expected(self, lowest: int, highest: int) -> Expected:
        return Expected((lowest, highest), np.inf if self._dtype == np.float64 else INFINITE_FLOAT32)

    def _each(self, read: Callable[[Part, int], T]) -> list[T]:
        """Return what is read of every part, on threads."""
        return self._workers.run(lambda k, _: read(self._parts[k], k), range(len(self._parts) + 1))

    def _explain(self, lowest: int, highest: int, n_features: int | None) -> ValueError:
        """Look closely at a file that has something wrong with it, and return the error."""
        silent, expected = Journey(self._file, 0, None), self._expected(lowest, highest)
        results = self._each(lambda part, _: fill_part(part, silent, expected, self._with_queries, None))
        wrong = self._first_misfit(results)
        if wrong is None:
            return changed(self._file)
        reason = " (there is no memory for more columns)" if n_features is None and "at most" in wrong else ""
        return ValueError(wrong + reason)

    def _first_misfit(self, results: Sequence[Misfit | int]) -> str | None:
        """Return where and what the first thing is that is wrong; results are misfits, or numbers of lines."""
        n_lines = 1
        for result in results:
            if isinstance(result, Misfit):
                return f"{self._file}:{n_lines + result.line}:{result.column}: {result.what}"
            n_lines += result
        return None


def _places(counts: list[Count], width: int, index_type: type) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return where every index begins in the matrix, and for every part where its own entries begin there.

    The counts are taken from the list and let go of, one by one.
    """
    indptr: NDArray[Any] = np.zeros(width + 1, index_type)
    for count in counts:
        used = count.columns[:width]
        indptr[1 : 1 + used.size] += used
    np.cumsum(indptr, dtype=index_type, out=indptr)
    places = [indptr[:-1].copy()]
    while len(counts) > 1:
        used = counts.pop(0).columns[:width]
        places.append(places[-1].copy())
        places[-1][: used.size] += used
    counts.clear()
    return indptr, places


def _version(file: Path) -> tuple[int, int]:
    state = file.stat()
    return state.st_size, state.st_mtime_ns

"""What a store is made of: a matrix that is read block by block, dense or entry by entry, and what goes with it.

Nothing here holds the whole matrix. Arrays may be memory maps or datasets of an HDF5 file.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.bed import Bed
from .._core.columns import shape
from .._core.csc import Csc
from ..data.checks import LARGEST_EXACT, check_indices, check_kind, is_lazy, is_wide, tell_of_rounding
from ..data.design import as_design
from ..data.progress import ProgressCallback
from ..data.table import BESIDE_Y, Table

#: Bytes of a block of a dense matrix.
BLOCK_BYTES = 64 << 20
#: Entries of a block of a sparse matrix: with rows, columns and values, about as many bytes.
BLOCK_ENTRIES = 1 << 21

#: Why genotypes are not made a store.
NO_STORE = (
    "packed genotypes need no store, which would be 32 times as large: they are used in place; "
    "open_bed(keep=, columns=), or --keep and --extract, take a part of them"
)

#: Rows, columns and values of some entries.
Entries: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Rectangle(NamedTuple):
    """A dense matrix that gives ``values[rows, columns]`` for slices."""

    values: Any
    by_rows: bool  # whether blocks of whole rows are cheaper to read than blocks of whole columns


class EntryBlocks(NamedTuple):
    """A sparse matrix as a sequence of entries, in blocks, from the start as often as asked."""

    blocks: Callable[[], Iterator[Entries]]
    n_entries: int


class Source(NamedTuple):
    """A matrix with its response and its names."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # float64 or float32
    matrix: Rectangle | EntryBlocks
    y: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    sample_names: tuple[str, ...] | None = None
    target: str | None = None  # these as in a Table
    first_index: int | None = None
    means: NDArray[np.float64] | None = None
    sample_weight: Any = None
    offset: Any = None


class Wanted(NamedTuple):
    """What is asked of a file. Of tables the columns by name: the response, by default the last one, and features."""

    target: str | None = None
    columns: Sequence[str] | None = None  # by default all but those left out
    exclude: Sequence[str] = ()
    zero_based: bool | Literal["auto"] = "auto"
    needs_response: bool = True  # rows to predict need none
    pheno: Any = None  # of genotypes: phenotypes and covariates in other files, and lists of samples
    covariates: Any = None
    keep: Any = None
    remove: Any = None
    drop_missing: bool = False  # of tables: rows with a cell without a value are left out, ...
    impute: str | Mapping[str, float] | None = None  # ... or such cells stand at "mean", or at means by name
    weights: str | None = None  # by name, as the response: of samples, ...
    offset: str | None = None  # ... and its known part

    @property
    def beside(self) -> dict[str, str]:
        """What is asked for beside the response, as a table calls it, and by which name."""
        named = zip(BESIDE_Y, (self.weights, self.offset), strict=True)
        return {role: name for role, name in named if name is not None}

    @property
    def has_gaps(self) -> bool:
        """Whether some cells of a table may have no value; new rows need none of the response."""
        return self.drop_missing or self.impute is not None or (self.target is not None and not self.needs_response)

    @property
    def response(self) -> bool:
        """Whether there must be a response."""
        return self.needs_response or self.target is not None


def from_matrix(X: Any, y: Any = None, feature_names: tuple[str, ...] | None = None) -> Source:
    """Return an array, a scipy sparse matrix or a frame as a source; arrays are not copied.

    Of arrays whose numbers are not in memory, slices are fetched, of whole rows where their chunks are.
    """
    sizes = [n for n in getattr(X, "shape", ()) if isinstance(n, Integral)]
    if is_lazy(X) and len(sizes) == 2 and getattr(getattr(X, "dtype", None), "kind", "O") in "biuf":
        m, p, chunks = *map(int, sizes), getattr(X, "chunks", None)
        by_rows = p < m if chunks is None else int(np.ravel(chunks[0])[0]) < m
        return Source((m, p), float_type(X.dtype), Rectangle(X, by_rows), y, feature_names)
    if isinstance(X, np.ndarray):
        check_kind("X", X)
    if not sp.issparse(X) and not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
        columns, names, *_ = as_design(X)
        if isinstance(columns, Bed):
            raise ValueError(f"X: {NO_STORE}")
        feature_names = feature_names or names
        is_sparse = isinstance(columns, Csc)
        X = sp.csc_array(columns[:3], shape=shape(columns)) if is_sparse else columns[0].T
    m, p = X.shape
    numbers = X.data if sp.issparse(X) else X
    if is_wide(X.dtype) and numbers.size and max(int(numbers.max()), -int(numbers.min())) >= LARGEST_EXACT:
        tell_of_rounding("X")
    matrix = _from_sparse(X) if sp.issparse(X) else from_dense(X)
    return Source((m, p), float_type(X.dtype), matrix, y, feature_names)


def from_table(table: Table) -> Source:
    """Return a table as a source."""
    source = from_matrix(table.X, table.y, table.feature_names)
    known = {name: getattr(table, name) for name in ("target", "first_index", "means", *BESIDE_Y)}
    return source._replace(**known)


def from_dense(values: Any) -> Rectangle:
    """Return a two-dimensional array.

    A block of whole columns reads pieces of BLOCK_BYTES / m bytes from a row-major array, a block of whole rows
    writes pieces of BLOCK_BYTES / p bytes to a column-major one: the longer pieces are better.
    """
    m, p = values.shape
    return Rectangle(values, by_rows=not values.flags.f_contiguous and p < m)


def _from_sparse(X: Any) -> EntryBlocks:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must have real numbers, found {X.dtype}")
    check_indices(X)
    if X.format not in ("csc", "csr"):
        X = X.tocsc()
        X.sum_duplicates()  # scipy 1.13 leaves the entries of a DIA matrix in the order of its diagonals
    return from_compressed(X.data, X.indices, X.indptr, by_rows=X.format == "csr")


def float_type(dtype: Any) -> np.dtype[Any]:
    """Return the type that numbers of `dtype` are stored in: float32 is kept, everything else becomes float64."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


def from_compressed(data: Any, indices: Any, indptr: NDArray[Any], *, by_rows: bool) -> EntryBlocks:
    """Return a CSR (`by_rows`) or CSC matrix; `data` and `indices` may be anything that gives slices."""
    n_entries = int(data.shape[0])
    bounds = np.asarray(indptr, np.int64)
    fits = bounds.size > 0 and bounds[0] == 0 and bounds[-1] == n_entries == int(indices.shape[0])
    if not fits or (np.diff(bounds) < 0).any():
        raise ValueError("X is not a valid sparse matrix: data, indices and indptr do not fit each other")

    def blocks() -> Iterator[Entries]:
        for lo, hi in cuts(n_entries, BLOCK_ENTRIES):
            first = int(np.searchsorted(bounds, lo, "right")) - 1
            last = int(np.searchsorted(bounds, hi, "left"))
            ends = np.clip(bounds[first : last + 1], lo, hi)
            lengths = ends[1:] - ends[:-1]
            major, minor = np.repeat(np.arange(first, last), lengths), indices[lo:hi]
            yield (major, minor, data[lo:hi]) if by_rows else (minor, major, data[lo:hi])

    return EntryBlocks(blocks, n_entries)


def cuts(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of pieces of at most `size`, and at least one, of ``range(n)``: (0, 2), (2, 3) for n = 3."""
    size = max(1, size)
    for lo in range(0, n, size):
        yield lo, min(lo + size, n)


class Spool:
    """An array that is appended to piece by piece, in a file or in memory: for lengths that are not known ahead."""

    def __init__(self, stream: BinaryIO, dtype: Any) -> None:
        self._stream, self._dtype = stream, np.dtype(dtype)
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append an array in row-major order."""
        self._stream.write(np.ascontiguousarray(values, self._dtype).data)
        self.size += values.size

    def map(self, *shape: int) -> NDArray[Any]:
        """Return all that was appended, once; it may be altered."""
        self._stream.flush()
        if self.size == 0:
            return np.empty(shape, self._dtype)
        if isinstance(self._stream, io.BytesIO):
            return np.frombuffer(self._stream.getbuffer(), self._dtype).reshape(shape)
        return np.memmap(self._stream, self._dtype, "r+", shape=shape)


class Desk(NamedTuple):
    """Where a file is opened as a source."""

    scratch: Path | None  # an empty folder to unpack to; None for memory
    tell: ProgressCallback
    stack: ExitStack  # of what is open as long as the source is

    def spool(self, name: str, dtype: Any) -> Spool:
        """Return an array to append to."""
        in_file = None if self.scratch is None else self.stack.enter_context((self.scratch / name).open("w+b"))
        return Spool(in_file or io.BytesIO(), dtype)

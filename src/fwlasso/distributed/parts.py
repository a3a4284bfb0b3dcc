"""Columns where they lie: a part is a recipe until it is read, and what is asked of it are functions of few vectors.

No engine is known here. What a worker holds can always be made again: a part travels as its recipe.
"""

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.bed import Bed, fill_means
from .._core.columns import Columns, Matrix, Vector, read_only, shape
from .._core.costs import Cost, at_columns, is_plain
from .._core.csc import Csc
from .._core.dense import Dense
from .._core.problem import Problem
from .._core.samples import Samples
from .._core.standardized import Shifted, Standardized
from .._core.sweeps import Indices, Ratios
from .._core.threads import Workers
from .._core.transform import Units
from .._core.weighted import weighted
from ..data.design import as_design
from ..problem.build import Summaries, summarize_here
from ..problem.passes import Probe, read_all, read_some

# Bytes that are read from a file at a time.
_AT_ONCE = 64 << 20


class FileArray(NamedTuple):
    """Rows of an array in a file, and what tells that the file is still the same."""

    path: str
    offset: int  # of the first row
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int  # of the file
    changed: int  # in nanoseconds since 1970

    @property
    def nbytes(self) -> int:
        """The bytes of the rows."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))

    def rows(self, lo: int, hi: int) -> "FileArray":
        """Return some of the rows."""
        per_row = self.nbytes // max(1, self.shape[0])
        return self._replace(offset=self.offset + lo * per_row, shape=(hi - lo, *self.shape[1:]))

    def read(self) -> NDArray[Any]:
        """Read, not map: a mapped file that goes would end the process."""
        file, found = Path(self.path), np.empty(self.shape, self.dtype)
        room: Any = found.reshape(-1).view(np.uint8) if found.size else b""
        with file.open("rb") as stream:
            state = os.fstat(stream.fileno())
            if (state.st_size, state.st_mtime_ns) != (self.n_bytes, self.changed):
                raise ValueError(f"{file} was altered since its design was opened: open it again")
            stream.seek(self.offset)
            for at in range(0, len(room), _AT_ONCE):
                if stream.readinto(room[at : at + _AT_ONCE]) != len(room[at : at + _AT_ONCE]):  # type: ignore[attr-defined]
                    raise ValueError(f"{file} was cut off while it was being read")
        return read_only(found)


def array_in_file(array: NDArray[Any]) -> FileArray:
    """Return where an array that is mapped from a file lies; a ValueError if it is not."""
    base: Any = array
    while not (isinstance(base, np.memmap) and base.base is not None and not isinstance(base.base, np.ndarray)):
        base = getattr(base, "base", None)
        if base is None:
            raise ValueError("X must lie in files, as a store, genotypes or .npy do, for other machines to read it")
    if not array.flags.c_contiguous:
        raise ValueError("X must lie in its file in column-major order")
    first = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    state = os.stat(base.filename)  # noqa: PTH116
    offset = base.offset + first
    return FileArray(
        os.fspath(Path(base.filename).resolve()), offset, array.dtype.str, array.shape, state.st_size, state.st_mtime_ns
    )


class Recipe(NamedTuple):
    """How some columns are read: a dense array by column, packed genotypes, or the arrays of CSC."""

    kind: type
    n_rows: int
    arrays: tuple[FileArray, ...]
    indptr: NDArray[Any] | None = None  # of the columns, from zero

    @property
    def nbytes(self) -> int:
        """Bytes of the columns in memory."""
        return sum(it.nbytes for it in self.arrays) + (0 if self.indptr is None else self.indptr.nbytes)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.arrays[0].shape[0] if self.indptr is None else self.indptr.size - 1

    def columns(self, lo: int, hi: int) -> "Recipe":
        """Return how some of the columns are read."""
        if self.indptr is None:
            return self._replace(arrays=tuple(it.rows(lo, hi) for it in self.arrays))
        first, last = int(self.indptr[lo]), int(self.indptr[hi])
        indptr = np.asarray(self.indptr[lo : hi + 1]) - self.indptr[lo]
        return self._replace(arrays=tuple(it.rows(first, last) for it in self.arrays), indptr=indptr)

    def read(self) -> Columns:
        """Read the columns."""
        arrays = [it.read() for it in self.arrays]
        if self.indptr is not None:
            return Csc(arrays[0], arrays[1], read_only(self.indptr), self.n_rows)
        if self.kind is Dense:
            return Dense(arrays[0])
        means = np.empty(len(arrays[0]))
        fill_means(arrays[0], self.n_rows, means)
        return Bed(arrays[0], read_only(means), self.n_rows)


def recipe_of(X: Columns) -> Recipe:
    """Return how all columns of a storage that is mapped from files are read."""
    if isinstance(X, Csc):
        arrays = array_in_file(X.data), array_in_file(X.indices)
        return Recipe(Csc, X.n_rows, arrays, X.indptr)
    if isinstance(X, Bed):
        return Recipe(Bed, X.n_rows, (array_in_file(X.packed),))
    if isinstance(X, Dense):
        return Recipe(Dense, shape(X)[0], (array_in_file(X.values),))
    raise ValueError("X must be a dense or sparse matrix, or genotypes, for its columns to lie on a cluster")


class Part:
    """Some columns. It is read when it is first asked, in the thread of the task."""

    def __init__(self, how: Any) -> None:
        self._how, self._lock = how, threading.Lock()
        self._storage: Columns | None = None
        self.token = 0  # of this reading

    def __reduce__(self) -> Any:
        return Part, (self._how,)

    def __sizeof__(self) -> int:
        return int(self._how.nbytes)

    @property
    def storage(self) -> Columns:
        """The columns as they lie in memory."""
        with self._lock:
            if self._storage is None:
                self.token = int.from_bytes(os.urandom(7))
                is_recipe = isinstance(self._how, Recipe)
                self._storage = self._how.read() if is_recipe else as_design(np.asfortranarray(self._how)).columns
            return self._storage


class Scaled(NamedTuple):
    """A part in the units of the solver."""

    part: Part
    origins: Vector | None
    means: Vector | None  # with the factors, if columns are centred or scaled
    factors: Vector | None
    samples: Samples
    cost: Cost  # as it travels, see `packed`
    cuts: list[int]  # pieces of its columns

    def problem(self) -> Problem:
        """Return what a pass over the columns of the part is made for."""
        X = self.part.storage
        m, p = shape(X)
        X = X if self.origins is None else Shifted(X, _owned(self.origins))
        X = weighted(X, _owned(self.samples))
        X = X if self.factors is None else Standardized(X, _owned(self.means), _owned(self.factors))
        return Problem(
            X, np.empty(m + 1), np.empty(p), np.empty(p), 0.0,
            centred=False, largest=0.0, y_size=0.0, units=Units(0, 0, 0.0, 0.0), n_samples=m,
            cost=_unpacked(self.cost, p),
        )  # fmt: skip


_OF_COST = "slopes", "bent", "lower", "upper"


def packed(cost: Cost, lo: int, hi: int) -> Cost:
    """Return the cost of some columns as it travels: what is one number, repeated, is one."""
    if is_plain(cost):
        return cost
    arrays = {name: getattr(cost, name) for name in _OF_COST}
    return cost._replace(**{name: a[:1].copy() if a.strides == (0,) else a[lo:hi].copy() for name, a in arrays.items()})


def _unpacked(cost: Cost, p: int) -> Cost:
    if is_plain(cost):
        return cost
    whole = {name: np.broadcast_to(getattr(cost, name), p) for name in _OF_COST}
    return at_columns(cost._replace(**whole), np.arange(p))


def _owned(values: Any) -> Any:
    """Return arrays, and those inside of tuples, as read-only ones of this process: what travelled may be neither."""
    if isinstance(values, np.ndarray):
        return read_only(np.array(values))
    if isinstance(values, tuple) and hasattr(values, "_fields"):
        return type(values)(*map(_owned, values))
    return values


# What is asked of a part ---------------------------------------------------------------------------------------


def open_part(how: Any) -> Part:
    """Return a part that is read."""
    part = Part(how)
    _ = part.storage
    return part


def summarize(part: Part, y: Vector, samples: Samples, fit_intercept: bool) -> Summaries:
    """Read all columns of a part once."""
    with Workers(1) as workers:
        return summarize_here(weighted(part.storage, _owned(samples)), np.array(y), fit_intercept, workers)


def read_part(part: Scaled, residuals: Matrix, asked: tuple[tuple[float, Indices, float], ...]) -> "ReadPart":
    """Read all columns of a part for some probes."""
    problem, probes = part.problem(), _probes(residuals, asked)
    ratios, ceiling = np.empty(problem.xty.size, np.float32), np.zeros(problem.xty.size, np.float32)
    with Workers(1) as workers:
        tops = read_all(problem, probes, ratios, ceiling, workers, part.cuts)
    return ReadPart(np.array(tops), ratios, ceiling if len(probes) > 1 else None, part.part.token)


class ReadPart(NamedTuple):
    """What bounds all columns of a part, and what is kept of each."""

    tops: Matrix  # of every piece
    ratios: Ratios  # of the last probe
    ceiling: Ratios | None  # of several; of one it follows from the ratios
    token: int


def read_some_of_part(
    part: Scaled, columns: Indices, residuals: Matrix, asked: tuple[tuple[float, Indices, float], ...]
) -> tuple[Matrix, Indices]:
    """Return what some columns of a part say about some probes, and which exceed lambda."""
    with Workers(1) as workers:
        found, violators = read_some(part.problem(), np.array(columns), _probes(residuals, asked), workers, part.cuts)
    return np.array(found), violators


def _probes(residuals: Matrix, asked: tuple[tuple[float, Indices, float], ...]) -> list[Probe]:
    return [
        Probe(np.array(r), lam, np.array(apart), blur) for r, (lam, apart, blur) in zip(residuals, asked, strict=True)
    ]


def fetch(part: Part, columns: Indices) -> Columns:
    """Return some columns as they are stored."""
    return pick(part.storage, columns)


def pick(X: Columns, columns: Indices) -> Columns:
    """Return some columns of a storage, in arrays of their own."""
    if isinstance(X, Dense):
        return Dense(X.values[columns])
    if isinstance(X, Bed):
        return Bed(X.packed[columns], X.means[columns], X.n_rows)
    spans = [slice(int(X.indptr[j]), int(X.indptr[j + 1])) for j in columns]
    indptr = np.cumsum([0, *(span.stop - span.start for span in spans)], dtype=X.indptr.dtype)
    data, indices = (np.concatenate([values[:0], *(values[span] for span in spans)]) for values in (X.data, X.indices))
    return Csc(data, indices, indptr, X.n_rows)


def join(parts: list[Columns]) -> Columns:
    """Return the columns of storages of one type, side by side."""
    first = parts[0]
    if isinstance(first, Csc):
        ends = np.cumsum([0, *(int(part.indptr[-1]) for part in parts)])
        pointers = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        indptr = np.concatenate([first.indptr[:1], *pointers]).astype(first.indptr.dtype)
        data, indices = (
            np.concatenate(arrays) for arrays in zip(*((it.data, it.indices) for it in parts), strict=True)
        )
        return Csc(read_only(data), read_only(indices), read_only(indptr), first.n_rows)
    arrays = [np.concatenate(values) for values in zip(*(it[: 1 + isinstance(it, Bed)] for it in parts), strict=True)]
    return first._replace(**dict(zip(first._fields, map(read_only, arrays), strict=False)))

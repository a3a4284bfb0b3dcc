"""Matrices in text: LIBSVM, whose rows are spooled, and Matrix Market, which is read into memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.threads import resolve_threads
from ..data.progress import ProgressCallback, Step
from ..data.table import Table
from .binary_files import BESIDE, response_beside
from .compressed import unpacked
from .libsvm import expect_columns, read_libsvm
from .libsvm_rows import first_index, stream_rows
from .source import Desk, Entries, EntryBlocks, Source, Wanted, from_compressed, from_table

_BLOCK = 16 << 20  # bytes of text parsed at a time


def open_libsvm(file: Path, wanted: Wanted, desk: Desk) -> Source | Table:
    """Return LIBSVM text as a source, if there is a place to spool its rows to; else as a table."""
    if wanted.target is not None:
        raise ValueError(f"{file}: the target of a LIBSVM file is the first number of every line, and has no name")
    if desk.scratch is None:
        return read_libsvm(file, wanted.zero_based)
    columns, data = desk.spool("columns", np.int64), desk.spool("data", np.float64)
    targets, lengths = [np.empty(0)], [np.zeros(1, np.int64)]
    expected = expect_columns(wanted.zero_based)
    lowest, highest = expected.highest, -1
    for rows in stream_rows(file, expected, resolve_threads(None), desk.tell):
        columns.append(rows.columns)
        data.append(rows.values)
        targets.append(rows.targets)
        lengths.append(np.diff(rows.row_ends, prepend=0))
        lowest = int(rows.columns.min(initial=lowest))
        highest = int(rows.columns.max(initial=highest))
    y = np.concatenate(targets)
    if not y.size:
        raise ValueError(f"{file}: there are no rows")
    base = first_index(wanted.zero_based, lowest if data.size else -1)
    bounds = np.cumsum(np.concatenate(lengths))
    as_written = from_compressed(data.map(data.size), columns.map(data.size), bounds, by_rows=True)

    def blocks() -> Iterator[Entries]:
        for i, j, values in as_written.blocks():
            yield i, j - base, values

    shape = y.size, max(1, highest + 1 - base)
    return Source(shape, np.dtype(np.float64), EntryBlocks(blocks, data.size), y, first_index=base)


class _Header(NamedTuple):
    """The first lines of a Matrix Market file."""

    is_dense: bool
    is_pattern: bool  # places without values: all are one
    mirror: float  # what the entry at (j, i) is of that at (i, j); 0 if it is not told by it
    shape: tuple[int, int]
    n_entries: int


def open_matrix_market(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return Matrix Market text as a source, coordinates or an array of real numbers.

    scipy's mmread would be shorter, but it ends the process on a text that is cut off within a number.
    """
    y = response_beside(file, wanted)
    with file.open("rb") as packed, unpacked(packed, file) as stream:
        header = _read_header(file, stream)
        per_line = 1 if header.is_dense else 3 - header.is_pattern
        blocks = list(_number_blocks(file, packed, stream, per_line, desk.tell))
    numbers = np.concatenate([np.empty((0, per_line)), *blocks])
    if len(numbers) != header.n_entries:
        what = "numbers" if header.is_dense else "entries"
        raise ValueError(f"{file}: expected {header.n_entries} {what}, found {len(numbers)}")
    X = numbers.reshape(header.shape[::-1]).T if header.is_dense else _from_entries(file, header, numbers)
    return from_table(Table(X, y, target=wanted.target or BESIDE))


def _from_entries(file: Path, header: _Header, numbers: NDArray[np.float64]) -> sp.csc_array:
    """Return the matrix with these entries, those of one place summed."""
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= header.shape) & (places == np.floor(places))).all():
        raise ValueError(f"{file}: an index is no number within the shape {header.shape}")
    i, j = places.T.astype(np.int64) - 1
    values = np.ones(i.size) if header.is_pattern else numbers[:, 2]
    if header.mirror:
        off = i != j
        values = np.append(values, header.mirror * values[off])
        i, j = np.append(i, j[off]), np.append(j, i[off])
    return sp.coo_array((values, (i, j)), shape=header.shape).tocsc()


def _read_header(file: Path, stream: Any) -> _Header:
    words = stream.readline().decode("latin-1").lower().split()
    known = (
        words[:2] == ["%%matrixmarket", "matrix"]
        and len(words) == 5
        and words[2] in ("coordinate", "array")
        and words[3] in ("real", "double", "integer", "pattern")
        and words[4] in (("general", "symmetric", "skew-symmetric") if words[2] == "coordinate" else ("general",))
    )
    if not known:
        raise ValueError(
            f"{file}: expected a Matrix Market header of real, integer or pattern numbers, found {' '.join(words)!r}"
        )
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = stream.readline()
    sizes = line.split()
    is_dense = words[2] == "array"
    if len(sizes) != (2 if is_dense else 3) or not all(size.isdigit() for size in sizes):
        raise ValueError(f"{file}: expected a line of sizes, found {line!r}")
    m, p, *rest = map(int, sizes)
    mirror = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}[words[4]]
    return _Header(is_dense, words[3] == "pattern", mirror, (m, p), rest[0] if rest else m * p)


def _number_blocks(
    file: Path, packed: Any, stream: Any, per_line: int, tell: ProgressCallback
) -> Iterator[NDArray[np.float64]]:
    """Yield the numbers of a text in blocks of whole lines, and tell how far in the file, packed or not, it is."""
    what, size = f"reading {file.name}", file.stat().st_size
    while block := stream.read(_BLOCK):
        block += b"" if block.endswith(b"\n") else stream.readline()
        try:
            numbers = np.array(block.split(), np.float64)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
        if numbers.size % per_line:
            raise ValueError(f"{file}: expected {per_line} numbers in every line")
        yield numbers.reshape(-1, per_line)
        tell(Step(what, min(packed.tell(), size), size))
    tell(Step(what, size, size))

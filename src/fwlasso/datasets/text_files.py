"""Matrices in text: LIBSVM, whose rows are spooled, and Matrix Market, which is read into memory."""

import re
from collections.abc import Iterator
from inspect import signature
from io import BytesIO
from pathlib import Path
from string import whitespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.threads import resolve_threads
from ..data.compressed import unpacked
from ..data.files import naming
from ..data.progress import ProgressCallback, Step
from ..data.table import Table
from .binary_files import BESIDE, response_beside
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


def open_matrix_market(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return Matrix Market text as a source, coordinates or an array of real numbers."""
    y = response_beside(file, wanted)
    with naming(file, (ValueError, OverflowError)):
        with file.open("rb") as packed, unpacked(packed, file) as stream:
            text = b"".join(_blocks(file, packed, stream, desk.tell))
        return from_table(Table(_matrix(text), y, target=wanted.target or BESIDE))


def _blocks(file: Path, packed: Any, stream: Any, tell: ProgressCallback) -> Iterator[bytes]:
    """Yield a text in blocks, and tell how far in the file, packed or not, it is."""
    what, size = f"reading {file.name}", file.stat().st_size
    while block := stream.read(_BLOCK):
        yield block
        tell(Step(what, min(packed.tell(), size), size))
    yield b"\n"
    tell(Step(what, size, size))


def _matrix(text: bytes) -> Any:
    """Return the matrix of a Matrix Market text, by scipy's mmread and with what that passes over refused.

    It reads 1d5 as 1, 0x10 as 0 and 1.5 as the integer 1, drops words beyond those that a line has, and ends the
    process on a last line that is cut off within a number.
    """
    from scipy.io import mminfo, mmread  # formats of others take a while to import

    if not (head := re.match(rb"(?:%.*\n|[^\S\n]*\n)+\S.*", text)):
        raise ValueError(f"expected a Matrix Market header, found {text[:40]!r}")
    *_, n_entries, layout, field, symmetry = mminfo(BytesIO(head[0]))
    if field == "complex" or (layout == "array" and symmetry != "general"):
        raise ValueError(
            f"expected real, integer or pattern numbers, or a full array, found {layout} {field} {symmetry}"
        )
    digits = whitespace.encode() + b"0123456789+-" + (b"" if field in ("integer", "pattern") else b".eE")
    if odd := text.translate(None, digits)[len(head[0].translate(None, digits)) :]:
        line = 1 + text.count(b"\n", 0, text.index(odd[:1], head.end()))
        raise ValueError(f"line {line}: {odd[:1].decode('latin-1')!r} is in no {field} number")
    is_word = np.frombuffer(text, np.uint8, offset=head.end()) > ord(" ")
    found, per_line = np.count_nonzero(is_word[1:] > is_word[:-1]), 1 if layout == "array" else 2 + (field != "pattern")
    if found != n_entries * per_line:
        raise ValueError(f"expected {n_entries} lines of {per_line} numbers, found {found} numbers")
    float(text[-99:].split()[-1])
    as_array = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}  # scipy 1.18 warns without
    X = mmread(BytesIO(text), **as_array)
    return sp.csc_array(X, dtype=float) if layout == "coordinate" else np.asfortranarray(X, float)

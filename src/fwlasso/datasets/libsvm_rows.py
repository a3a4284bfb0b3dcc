"""LIBSVM text, read once: one thread cuts it into blocks of whole lines, others parse them, and rows come in order."""

import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.decimals import NINE, NO_NUMBER, PLUS, UNSURE, ZERO, read_decimal, sign_at
from .._core.jit import kernel, kernel_in_order, part_of_kernel
from ..data.compressed import unpacked
from ..data.progress import ProgressCallback, Step, silent
from .libsvm_faults import QUERY, WORD, Expected, MisfitError, check_first_row, first_misfit

_QUERY = re.compile(rb"^[^\S\n]*[^\s#]+[^\S\n]+" + QUERY + rb"(?![^\s#])", re.MULTILINE)

S = TypeVar("S")
T = TypeVar("T")

_BLOCK_BYTES = 1 << 20
_INT32_MAX = int(np.iinfo(np.int32).max)
_TOO_LARGE = 10**17  # no index is counted further
_TAB, _NEWLINE, _RETURN, _BLANK, _HASH, _COLON, _Q, _I, _D = (ord(sign) for sign in "\t\n\r #:qid")


class TextRows(NamedTuple):
    """Some rows."""

    targets: NDArray[np.float64]
    row_ends: NDArray[np.int64]  # where the entries of a row end
    columns: NDArray[Any]  # indices as they are written
    values: NDArray[Any]
    queries: NDArray[np.int64]  # empty if they are not wanted


def stream_rows(
    file: Path, expected: Expected, n_threads: int, tell: ProgressCallback = silent
) -> Generator[TextRows, None, None]:
    """Yield all rows of a file, block by block; memory does not grow with the file. Errors tell line and column."""
    n_lines = 1
    try:
        with file.open("rb") as packed, unpacked(packed, file) as plain:
            check_first_row(plain, expected)
        for n_new, rows in _in_order(partial(_parse_block, expected=expected), _line_blocks(file, tell), n_threads):
            n_lines += n_new
            yield rows
    except MisfitError as wrong:
        raise ValueError(f"{file}:{n_lines + wrong.line}:{wrong.column}: {wrong.what}") from None


def first_index(zero_based: bool | str, lowest: int) -> int:
    """Return what the first column is called, if `lowest` is the lowest index in use, -1 if there is none."""
    return int(zero_based is False or (zero_based == "auto" and lowest > 0))


def changed(file: Path) -> ValueError:
    """Return the error for a file that somebody writes to."""
    return ValueError(f"{file}: the file has changed while it was read")


def _in_order(function: Callable[[S], T], items: Iterator[S], n_threads: int) -> Iterator[T]:
    """Yield function(item) of all items in their order, computed by threads, at most two for each ahead."""
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(n_threads, "fwlasso-rows") as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _line_blocks(file: Path, tell: ProgressCallback) -> Iterator[bytes]:
    """Yield the lines of a file, packed or not, in blocks; all end with a newline, the last one too."""
    with file.open("rb", buffering=0) as packed, unpacked(packed, file) as plain:  # type: ignore[arg-type]
        state = os.fstat(packed.fileno())
        begun: list[memoryview] = []  # pieces of a line
        chunk = b"\n"
        while chunk:
            chunk = plain.read(_BLOCK_BYTES)
            tell(Step(f"reading {file.name}", min(packed.tell(), state.st_size), state.st_size))
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield b"".join([*begun, memoryview(chunk)[:cut]])
                begun.clear()
            begun.append(memoryview(chunk)[cut:])
    if rest := b"".join(begun):
        yield rest + b"\n"
    now = file.stat()
    if (now.st_size, now.st_mtime_ns) != (state.st_size, state.st_mtime_ns):
        raise changed(file)


def _parse_block(block: bytes, expected: Expected) -> tuple[int, TextRows]:
    """Return the number of lines and the rows; raise a `MisfitError` where something is not as expected."""
    text = np.frombuffer(block, np.uint8)
    n_lines, most_entries = _count_signs(text)  # an entry has a colon, a row a line
    index_type = np.int32 if expected.highest <= _INT32_MAX else np.int64
    columns, values = np.empty(most_entries, index_type), np.empty(most_entries, expected.dtype)
    targets, row_ends = np.empty(n_lines), np.empty(n_lines, np.int64)
    unsure = np.empty((n_lines + most_entries, 2), np.int64)
    n_rows, n_entries, n_unsure, increases, is_fine = _parse_lines(
        text, expected.lowest, expected.highest, expected.most, targets, row_ends, columns, values, unsure
    )
    queries = np.array(_QUERY.findall(block) if expected.with_queries else [], np.int64)
    rows = TextRows(targets[:n_rows], row_ends[:n_rows], columns[:n_entries], values[:n_entries], queries)
    is_fine = is_fine and _ask_python(block, unsure[:n_unsure], expected, rows)
    is_fine = is_fine and queries.size == n_rows * expected.with_queries
    if not is_fine or (not increases and _has_copies(rows)):
        raise first_misfit(block, expected)
    return n_lines, rows


def _ask_python(block: bytes, unsure: NDArray[np.int64], expected: Expected, rows: TextRows) -> bool:
    """Write the numbers that compiled code is not sure of; tell whether all are finite."""
    for place, entry in unsure.tolist():
        word = WORD.match(block, place)
        value = np.nan if word is None else float(word[0])
        if not abs(value) < (expected.most if entry >= 0 else np.inf):
            return False
        if entry >= 0:
            rows.values[entry] = value
        else:
            rows.targets[-1 - entry] = value
    return True


def _has_copies(rows: TextRows) -> bool:
    """Tell whether an index is in a row twice."""
    of_row = np.repeat(np.arange(rows.row_ends.size), np.diff(rows.row_ends, prepend=0))
    order = np.lexsort((rows.columns, of_row))
    return bool(((np.diff(of_row[order]) == 0) & (np.diff(rows.columns[order]) == 0)).any())


# Compiled code: a text ends with a newline, so that no loop needs another bound ------------------------------------


@kernel
def _count_signs(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Return the numbers of lines and of colons."""
    n_lines = n_colons = 0
    for sign in text:
        n_lines += sign == _NEWLINE
        n_colons += sign == _COLON
    return n_lines, n_colons


@part_of_kernel
def _skip_blanks(text: Any, at: int) -> int:
    while sign_at(text, at) == _BLANK or (_TAB <= sign_at(text, at) <= _RETURN and sign_at(text, at) != _NEWLINE):
        at += 1
    return at


@part_of_kernel
def _ends_word(sign: int) -> bool:
    return sign in (_BLANK, _HASH) or _TAB <= sign <= _RETURN


@part_of_kernel
def _skip_query(text: Any, at: int) -> int:
    # Compared one after the other: the text may end within.
    if text[at] == _Q and text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == _COLON:
        while text[at] > _BLANK and text[at] != _HASH:
            at += 1
    return at


@part_of_kernel
def _read_index(text: Any, at: int) -> tuple[Any, int]:
    """Return the index that begins at `at`, -1 if there is none, and the place behind its colon."""
    first = at + 1 if sign_at(text, at) == PLUS else at
    index: Any = 0
    end = first
    while ZERO <= sign_at(text, end) <= NINE:
        index = min(10 * index + np.int64(sign_at(text, end) - ZERO), _TOO_LARGE)
        end += 1
    return index if first < end and sign_at(text, end) == _COLON else -1, end + 1


@kernel_in_order
def _parse_lines(
    text: Any,
    lowest: int,
    highest: int,
    most: float,
    targets: Any,
    row_ends: Any,
    columns: Any,
    values: Any,
    unsure: Any,
) -> tuple[int, int, int, bool, bool]:
    """Write columns and values of all entries, and of every row its target and the end of its entries.

    Numbers that are not certain, see `decimals`, are listed with their places in the text and their entries, or
    -1 - row for targets. Returns the numbers of rows, entries and unsure numbers, whether indices increase in every
    row, and whether everything is as expected: it ends where something is not.
    """
    at = n_rows = n_entries = n_unsure = 0
    increases = True
    while at < text.size:
        at = _skip_blanks(text, at)
        if sign_at(text, at) != _NEWLINE and sign_at(text, at) != _HASH:
            begin, before = at, -1
            targets[n_rows], at, state = read_decimal(text, begin)
            if state == UNSURE:
                unsure[n_unsure, 0], unsure[n_unsure, 1] = begin, -1 - n_rows
                n_unsure += 1
            is_fine = state != NO_NUMBER and _ends_word(sign_at(text, at))
            begin = _skip_blanks(text, at)
            at = _skip_query(text, begin)
            is_fine = is_fine and (at == begin or _ends_word(sign_at(text, at)))
            at = _skip_blanks(text, at)
            while is_fine and sign_at(text, at) != _NEWLINE and sign_at(text, at) != _HASH:
                index, begin = _read_index(text, at)
                if not lowest <= index <= highest:
                    return n_rows, n_entries, n_unsure, increases, False
                value, at, state = read_decimal(text, begin)
                is_fine = state != NO_NUMBER and _ends_word(sign_at(text, at)) and abs(value) < most
                if state == UNSURE:
                    unsure[n_unsure, 0], unsure[n_unsure, 1] = begin, n_entries
                    n_unsure += 1
                columns[n_entries], values[n_entries] = index, value
                n_entries += 1
                increases = increases and index > before
                before = index
                at = _skip_blanks(text, at)
            if not is_fine:
                return n_rows, n_entries, n_unsure, increases, False
            row_ends[n_rows] = n_entries
            n_rows += 1
        while sign_at(text, at) != _NEWLINE:
            at += 1
        at += 1
    return n_rows, n_entries, n_unsure, increases, True

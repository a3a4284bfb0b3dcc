"""What is wrong with a LIBSVM file, and where: line and column, what was expected and what was found."""

import re
from typing import NamedTuple

import numpy as np

from .decimals import PADDING
from .libsvm_scan import Bytes, Fault, Integers

#: The least number that rounds to infinity in float32.
INFINITE_FLOAT32 = (2.0 - 2.0**-24) * 2.0**127

_LONGEST_FOUND = 40  # signs of a word that are shown
_WORD = re.compile(rb"[^ \t-\r#]+")


class Misfit(NamedTuple):
    """Something that was not expected."""

    place: int  # in its block
    line: int  # from 0 on
    column: int  # from 1 on, in signs
    what: str


def word_at(text: Bytes, at: int) -> bytes:
    """Return what stands from a place on to the next blank or comment."""
    word = _WORD.match(memoryview(text)[: text.size - PADDING], at)  # type: ignore[arg-type]
    return b"" if word is None else bytes(word[0])


def misfit_at(text: Bytes, at: int, fault: Fault, bounds: tuple[int, int]) -> Misfit:
    """Say what is wrong at a place of a block."""
    word = word_at(text, at)
    before = text[:at].tobytes()
    line = before.rpartition(b"\n")[2]
    column = len(line.decode("utf-8", errors="replace")) + 1
    return Misfit(at, before.count(b"\n"), column, f"expected {_expected(fault, word, bounds)}, found {_shown(word)}")


def _expected(fault: Fault, word: bytes, bounds: tuple[int, int]) -> str:
    if fault == Fault.COLUMN:
        index = int(word.partition(b":")[0])
        return f"an index of at least {bounds[0]}" if index < bounds[0] else f"an index of at most {bounds[1]}"
    if fault in (Fault.TARGET, Fault.VALUE):
        where = "as target" if fault == Fault.TARGET else "after ':'"
        return f"a {'finite ' if _is_too_large(word) else ''}number {where}"
    return {
        Fault.INDEX: "index:value",
        Fault.QUERY: "qid: and an integer",
        Fault.DUPLICATE: "every index once in a line",
    }[fault]


def _is_too_large(word: bytes) -> bool:
    """Tell whether this is a number, but one that is not finite or too large for what it is read as."""
    try:
        return not abs(float(word)) < INFINITE_FLOAT32
    except ValueError:
        return False


def _shown(word: bytes) -> str:
    if not word:
        return "nothing"
    text = word.decode("utf-8", errors="replace")
    return repr(text if len(text) <= _LONGEST_FOUND else text[: _LONGEST_FOUND - 3] + "...")


def duplicate_in(text: Bytes, columns: Integers, row_ends: Integers) -> Misfit | None:
    """Return the first entry of a block whose index was in its row before, if there is one."""
    lengths = np.diff(row_ends, prepend=0)
    rows = np.repeat(np.arange(row_ends.size), lengths)
    columns = columns[: rows.size]
    order = np.lexsort((columns, rows))  # stable: copies stay in the order of the text
    is_copy = (np.diff(rows[order]) == 0) & (np.diff(columns[order]) == 0)
    copies = order[1:][is_copy]
    if not copies.size:
        return None
    entry = int(copies.min())
    row = int(rows[entry])
    return misfit_at(text, _entry_place(text, row, entry - int(row_ends[row] - lengths[row])), Fault.DUPLICATE, (0, 0))


def _entry_place(text: Bytes, row: int, entry: int) -> int:
    """Return where an entry of a row begins, both counted from 0."""
    begin = 0
    for line in text[: text.size - PADDING].tobytes().split(b"\n"):
        words = list(_WORD.finditer(line.partition(b"#")[0]))
        if words:
            if row == 0:
                has_query = len(words) > 1 and words[1][0].startswith(b"qid:")
                return begin + words[1 + has_query + entry].start()
            row -= 1
        begin += len(line) + 1
    raise AssertionError("there is no such row")

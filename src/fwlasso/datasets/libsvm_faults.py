"""What is expected of LIBSVM text, and what is wrong with it where: read slowly, in plain Python, when it is known."""

import re
from typing import Any, BinaryIO, NamedTuple

import numpy as np

#: A word; blanks are those of Python's ``bytes.split``.
WORD = re.compile(rb"[^\s#]+")
#: The integer of a query.
QUERY = rb"qid:([+-]?0*[0-9]{1,18})"

_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INDEX = re.compile(rb"\+?([0-9]+):")
_CONTROL = re.compile(rb"[\x00-\x1f]")
_INFINITE_FLOAT32 = (2.0 - 2.0**-24) * 2.0**127  # the least number that rounds to infinity
_LONGEST_FOUND = 40  # signs of a word that are shown
_BEGINNING = 1 << 16  # bytes of the first row that are looked at ahead
_IS_TABLE = "; a row of LIBSVM text is a number and index:value pairs, and the names of tables end in .csv or .tsv"


class Expected(NamedTuple):
    """What is accepted: indices between two bounds, values that are finite in a dtype, queries or none."""

    lowest: int
    highest: int
    dtype: np.dtype[Any] = np.dtype(np.float64)
    with_queries: bool = False
    reason: str = ""  # why there is no higher index

    @property
    def most(self) -> float:
        """What all values must be below."""
        return np.inf if self.dtype == np.float64 else _INFINITE_FLOAT32


class MisfitError(Exception):
    """Something that was not expected: line, from 0 on, column in signs, from 1 on, and what it is."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(line, column, what)
        self.line, self.column, self.what = line, column, what


def first_misfit(text: bytes, expected: Expected) -> MisfitError:
    """Return the first thing that is wrong in some lines."""
    for n, line in enumerate(text.split(b"\n")):
        used = line.partition(b"#")[0]
        found = _wrong_in(used, expected)
        if found is not None:
            place, what = found
            column = len(used[:place].decode("utf-8", errors="replace")) + 1
            reason = expected.reason if "at most" in what else ""
            return MisfitError(n, column, f"expected {what}, found {_shown(used, place)}{reason}")
    raise AssertionError("there is nothing wrong")


def check_first_row(stream: BinaryIO, expected: Expected) -> None:
    """Raise a `MisfitError` if the first row is none, before anything is compiled to read the others."""
    for n, line in enumerate(iter(lambda: stream.readline(_BEGINNING), b"")):
        used = line.partition(b"#")[0]
        if len(line) == _BEGINNING or WORD.search(used):  # the longest are read by what is compiled
            if len(line) < _BEGINNING and _wrong_in(used, expected) is not None:
                wrong = first_misfit(line, expected)
                raise MisfitError(n, wrong.column, wrong.what + ("" if b":" in used else _IS_TABLE))
            return


def _wrong_in(line: bytes, expected: Expected) -> tuple[int, str] | None:
    """Return where the first thing is that is wrong in a line, and what should be there; None if all is well."""
    words = list(WORD.finditer(line))
    if not words:
        return None
    target = words.pop(0)
    if (kind := _missing_number(target[0], np.inf)) is not None:
        return target.start(), f"{kind} as target"
    place, query = (words[0].start(), words[0][0]) if words else (len(line), b"")
    has_query = query.startswith(b"qid:")
    if not re.fullmatch(QUERY, query) if expected.with_queries else has_query and _CONTROL.search(query):
        return place, "qid: and an integer"
    seen: set[int] = set()
    for word in words[has_query:]:
        if (wrong := _wrong_entry(word[0], expected, seen)) is not None:
            return word.start() + wrong[0], wrong[1]
    return None


def _wrong_entry(word: bytes, expected: Expected, seen: set[int]) -> tuple[int, str] | None:
    """Return what is wrong with an entry, as `_wrong_in` does; `seen` are the indices before it."""
    found = _INDEX.match(word)
    if found is None:
        return 0, "index:value"
    index = int(found[1].lstrip(b"0")[:20] or b"0")  # more digits are too large in any case
    if index < expected.lowest:
        return 0, f"an index of at least {expected.lowest}"
    if index > expected.highest:
        return 0, f"an index of at most {expected.highest}"
    value = word[found.end() :]
    if index in seen and _NUMBER.fullmatch(value):
        return 0, "every index once in a line"
    seen.add(index)
    kind = _missing_number(value, expected.most)
    return None if kind is None else (found.end(), f"{kind} after ':'")


def _missing_number(word: bytes, most: float) -> str | None:
    """Return what this should be; None if it is a number that is below `most`."""
    try:
        is_finite = abs(float(word)) < most
    except ValueError:
        return "a number"
    if not is_finite:
        return "a finite number"
    return None if _NUMBER.fullmatch(word) else "a number"


def _shown(line: bytes, place: int) -> str:
    word = WORD.match(line, place)
    if word is None:
        return "nothing"
    text = word[0].decode("utf-8", errors="replace")
    return repr(text if len(text) <= _LONGEST_FOUND else text[: _LONGEST_FOUND - 3] + "...")

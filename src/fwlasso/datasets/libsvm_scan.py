"""LIBSVM text, scanned by compiled code: whole lines go in, columns and values come out.

A text is an array of bytes that ends with a newline, so that no loop needs another bound. Blanks are those of Python's
``bytes.split``. What is not as it should be ends a scan with the `Fault` and its place.
"""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._instructions import WINDOW, bits_below, non_digits, word_ends
from .._jit import kernel, part_of_kernel
from .decimals import (
    MINUS,
    NINE,
    NO_NUMBER,
    PADDING,
    PLUS,
    POINT,
    SURE,
    UNSURE,
    ZERO,
    read_decimal,
    read_digits,
    read_known_digits,
    short_decimal,
)

TAB, NEWLINE, RETURN, BLANK, HASH, COLON = (ord(sign) for sign in "\t\n\r #:")
_Q, _I, _D = (ord(sign) for sign in "qid")

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Fault(IntEnum):
    """What is wrong at some place of a text."""

    NONE = 0
    TARGET = 1
    INDEX = 2
    COLUMN = 3
    VALUE = 4
    QUERY = 5
    DUPLICATE = 6


# Enumerations are slow to compile.
_FINE, _TARGET, _INDEX, _COLUMN, _VALUE, _QUERY = (int(fault) for fault in list(Fault)[:6])
_MOST_INDEX = 10**17  # ten times this and a digit more is an int64

_1, _63 = np.uint64(1), np.uint64(63)


@part_of_kernel
def _skip_blanks(text: Bytes, at: int) -> int:
    while text[at] == BLANK or (TAB <= text[at] <= RETURN and text[at] != NEWLINE):
        at += 1
    return at


@part_of_kernel
def _ends_word(sign: int) -> bool:
    return sign in (BLANK, HASH) or TAB <= sign <= RETURN


@part_of_kernel
def _ends_features(sign: int) -> bool:
    return sign in (NEWLINE, HASH)


@part_of_kernel
def _skip_word(text: Bytes, at: int) -> Any:
    """Return the next place at or behind `at` of a blank, any other control character, or a comment."""
    ends = word_ends(text, at)
    while ends == 0:
        at += WINDOW
        ends = word_ends(text, at)
    return at + np.int64(bits_below(ends, ends))


@part_of_kernel
def _skip_line(text: Bytes, at: int) -> int:
    while text[at] != NEWLINE:
        at += 1
    return at


@part_of_kernel
def _read_index(text: Bytes, at: int) -> tuple[Any, Any]:
    """Return the index that begins at `at` and the place behind its colon; -1 if there is none.

    From `_MOST_INDEX` on, indices are not exact: they are too large in any case.
    """
    first = at + 1 if text[at] == PLUS else at
    number, n_digits = read_digits(text, first)
    index, end = np.int64(number), first + n_digits
    while n_digits == 8 and ZERO <= text[end] <= NINE:
        if index < _MOST_INDEX:
            index = 10 * index + np.int64(text[end] - ZERO)
        end += 1
    return (index if end > first and text[end] == COLON else -1), end + 1


@part_of_kernel
def _read_short_entry(text: Bytes, begin: int, end: int) -> tuple[Any, Any, bool]:
    """Read an entry of a few plain digits, "12:3.45" or "6:-7"; return index, value, and whether it is of this kind.

    One look tells where the signs are that are no digits: there are no loops, and nothing is read twice.
    """
    signs = non_digits(text, begin)
    colon = np.int64(bits_below(signs, signs))
    signs = signs & (signs - _1)
    has_sign = (signs >> (np.uint64(colon + 1) & _63)) & _1  # right behind the colon
    signs = signs & (signs - has_sign)
    first: Any = begin + colon + 1 + np.int64(has_sign)
    point = begin + np.int64(bits_below(signs, signs))
    n_whole = point - first
    if not 1 <= colon <= 8 or not 1 <= n_whole <= 8 or text[np.uintp(begin + colon)] != COLON:
        return 0, 0.0, False
    if has_sign == 1 and text[np.uintp(first - 1)] != MINUS:
        return 0, 0.0, False
    n_decimals: Any = 0
    if point < end:
        signs = signs & (signs - _1)
        n_decimals = end - point - 1
        if text[np.uintp(point)] != POINT or n_decimals > 8 or begin + np.int64(bits_below(signs, signs)) != end:
            return 0, 0.0, False
    value, is_sure = short_decimal(text, first, n_whole, n_decimals)
    index = np.int64(read_known_digits(text, begin, colon))
    return index, -value if has_sign == 1 else value, is_sure and _ends_word(text[np.uintp(end)])


@part_of_kernel
def _skip_query(text: Bytes, at: int) -> int:
    """Return the place behind ``qid:``, or `at` where there is none."""
    # Compared one after the other: the text may end within.
    is_query = text[at] == _Q and text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == COLON
    return at + 4 if is_query else at


@part_of_kernel
def _scan_features(text: Bytes, at: int, n_entries: int, columns: Integers) -> tuple[Any, int, Any, Any]:
    """Write the indices up to the end of the line or its comment.

    Returns the place, the number of entries, and the lowest and the highest index; a lowest below 0 is a fault.
    """
    lowest, highest = 10 * _MOST_INDEX, -1
    begin: Any = at
    window: Any = at
    while True:
        ends = word_ends(text, window)
        while ends != 0:
            end = window + np.int64(bits_below(ends, ends))
            ends = ends & (ends - _1)
            if end > begin:
                index, _ = _read_index(text, begin)
                lowest, highest = min(lowest, index), max(highest, index)
                if index < 0:
                    return end, n_entries, lowest, highest
                columns[n_entries] = index
                n_entries += 1
            if _ends_features(text[np.uintp(end)]):
                return end, n_entries, lowest, highest
            begin = end + 1
        window += WINDOW


@kernel
def scan_columns(text: Bytes, columns: Integers) -> tuple[int, int, int, int, bool]:
    """Write the indices of all entries, in the order of the text, and skip the values.

    Returns the number of entries, that of rows, the lowest and the highest index, and whether all was well so far
    as it was looked at. `parse_lines` looks at everything.
    """
    at = n_entries = n_rows = 0
    lowest, highest = 10 * _MOST_INDEX, -1
    while at < text.size - PADDING:
        at = _skip_blanks(text, at)
        if text[at] != NEWLINE and text[at] != HASH:
            n_rows += 1
            at = _skip_blanks(text, _skip_word(text, at))
            if _skip_query(text, at) > at:
                at = _skip_blanks(text, _skip_word(text, at))
            at, n_entries, low, high = _scan_features(text, at, n_entries, columns)
            lowest, highest = min(lowest, low), max(highest, high)
            if low < 0:
                return n_entries, n_rows, lowest, highest, False
        at = _skip_line(text, at) + 1
    return n_entries, n_rows, lowest, highest, True


@part_of_kernel
def _read_query(text: Bytes, at: int) -> tuple[int, int, bool]:
    """Read the integer of a query that begins at `at`; return it, where it ends, and whether it is one."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    number: Any = 0
    while ZERO <= text[at] <= NINE and number < _MOST_INDEX:
        number = 10 * number + np.int64(text[at] - ZERO)
        at += 1
    return -number if negative else number, at, at > first and _ends_word(text[at])


@part_of_kernel
def _parse_query(text: Bytes, at: int, queries: Integers, row: int) -> tuple[int, bool]:
    """Store the query of a row, if queries are wanted; return the place behind it, and whether all was well."""
    begin = _skip_query(text, at)
    end = _skip_word(text, at) if begin > at else at
    is_fine = begin == at or _ends_word(text[end])
    if queries.size > 0:
        queries[row], _, is_number = _read_query(text, begin)
        is_fine = begin > at and is_number
    return (end if is_fine else at), is_fine


@part_of_kernel
def _read_entry(text: Bytes, begin: int, end: int, bounds: Any, most: float) -> tuple[Any, Any, Any, int, int]:
    """Return the index and the value of the entry from `begin` to `end`, the place of its value, its state, its fault.

    If there is a fault, the place is that of the fault.
    """
    lowest, highest = bounds
    index, value, is_short = _read_short_entry(text, begin, end)
    if is_short:
        return index, value, begin, SURE, _FINE if lowest <= index <= highest else _COLUMN
    index, behind = _read_index(text, begin)
    if not lowest <= index <= highest:
        return index, 0.0, begin, SURE, _INDEX if index < 0 else _COLUMN
    value, number_end, state = read_decimal(text, behind)
    is_fine = state != NO_NUMBER and number_end == end and _ends_word(text[end]) and abs(value) < most
    return index, value, behind, state, _FINE if is_fine else _VALUE


@part_of_kernel
def _parse_features(
    text: Bytes, at: int, bounds: Any, most: float, n_entries: int, columns: Integers, values: Floats, unsure: Any
) -> tuple[Any, int, int, bool, int]:
    """Read ``index:value`` up to the end of the line or its comment.

    Returns the place, the numbers of entries and of unsure numbers, whether the indices increase, and the fault.
    """
    places, entries, n_unsure = unsure
    increases = True
    top = -1
    begin: Any = at
    window: Any = at
    while True:
        ends = word_ends(text, window)
        while ends != 0:
            end = window + np.int64(bits_below(ends, ends))
            ends = ends & (ends - _1)
            if end > begin:
                index, value, place, state, fault = _read_entry(text, begin, end, bounds, most)
                if fault != _FINE:
                    return place, n_entries, n_unsure, increases, fault
                if state == UNSURE:
                    places[n_unsure], entries[n_unsure] = place, n_entries
                    n_unsure += 1
                increases = increases and index > top
                top = max(top, index)
                columns[n_entries], values[n_entries] = index, value
                n_entries += 1
            elif not _ends_word(text[end]):
                return begin, n_entries, n_unsure, increases, _INDEX
            if _ends_features(text[np.uintp(end)]):
                return end, n_entries, n_unsure, increases, _FINE
            begin = end + 1
        window += WINDOW


@kernel
def parse_lines(
    text: Bytes,
    bounds: tuple[int, int],
    most: float,
    columns: Integers,
    values: Floats,
    targets: Floats,
    queries: Integers,
    row_ends: Integers,
    unsure_places: Integers,
    unsure_entries: Integers,
) -> tuple[int, int, int, int, bool, int]:
    """Write columns and values of all entries, and of every row its target, its query and the end of its entries.

    Indices outside of `bounds` and values that are not below `most` are faults. Numbers that are not certain, see
    `decimals`, are listed with their places in the text and their entries, or -1 - row for targets. Queries are
    skipped where there is no room for them.

    Returns the numbers of lines, rows and unsure numbers, the place where it ended, whether indices increase in every
    row, and the fault.
    """
    at = n_lines = n_rows = n_entries = n_unsure = 0
    increases = True
    while at < text.size - PADDING:
        at = _skip_blanks(text, at)
        if text[at] != NEWLINE and text[at] != HASH:
            target, end, state = read_decimal(text, at)
            if state == NO_NUMBER or not _ends_word(text[end]):
                return n_lines, n_rows, n_unsure, at, increases, _TARGET
            if state == UNSURE:
                unsure_places[n_unsure], unsure_entries[n_unsure] = at, -1 - n_rows
                n_unsure += 1
            at, is_fine = _parse_query(text, _skip_blanks(text, end), queries, n_rows)
            if not is_fine:
                return n_lines, n_rows, n_unsure, at, increases, _QUERY
            at, n_entries, n_unsure, is_sorted, fault = _parse_features(
                text, at, bounds, most, n_entries, columns, values, (unsure_places, unsure_entries, n_unsure)
            )
            increases = increases and is_sorted
            targets[n_rows], row_ends[n_rows] = target, n_entries
            n_rows += 1
            if fault != _FINE:
                return n_lines, n_rows, n_unsure, at, increases, fault
        at = _skip_line(text, at) + 1
        n_lines += 1
    return n_lines, n_rows, n_unsure, at, increases, _FINE


@kernel
def count_columns(columns: Integers, counts: Any) -> None:
    """Add the entries of every column to its count."""
    for column in columns:
        counts[column] += 1


@kernel
def scatter(
    columns: Integers, values: Floats, row_ends: Integers, first_row: int, places: Any, indices: Any, data: Any
) -> bool:
    """Put the entries of some rows where their columns go on; return False if there is no room."""
    begin = 0
    for row in range(row_ends.size):
        for entry in range(begin, row_ends[row]):
            column = np.uintp(columns[entry])  # unsigned indices spare numba's test for negative ones
            place = np.uintp(places[column])
            if place >= data.size:
                return False
            places[column] += 1
            indices[place] = first_row + row
            data[place] = values[entry]
        begin = row_ends[row]
    return True

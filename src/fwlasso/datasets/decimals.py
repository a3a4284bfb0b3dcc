"""Decimal numbers in text, read by compiled code to the float64 that Python's float() gives, bit for bit.

A number w 10^q with w below 2^64 goes one of three ways:

- w <= 2^53 and |q| <= 22: w and 10^|q| are floats, and one multiplication or division rounds once.
- Else w 5^q is formed from 128 bits of 5^q (Lemire, "Number parsing at a gigabyte per second", 2021). The product is
  known to within two units of its 128th bit. Rounded to 53 bits that is certain, unless a half lies in between.
- Where it is not certain, where w has more than 19 digits, or where the result is not a normal number, the answer is
  `UNSURE`, and Python's float() is asked.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._instructions import WINDOW, bits_above, bits_below, eight_bytes, upper_product
from .._jit import part_of_kernel

PADDING = WINDOW  # bytes behind a text that may be looked at

# What became of a number.
SURE, UNSURE, NO_NUMBER = 0, 1, 2

PLUS, MINUS, POINT, ZERO, NINE, UPPER_E, LOWER_E = (ord(sign) for sign in "+-.09Ee")

_LEAST_POWER, _GREATEST_POWER = -342, 308  # beyond, 19 digits are zero or infinite
_MOST_DIGITS = 19  # 10^19 < 2^64
_LARGE_EXPONENT = 100_000  # no exponent is counted further, so that none overflows
_TEN_TO = np.array([10.0**k for k in range(23)])  # exact up to 10^22


def _powers_of_five() -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """Return the upper and lower half of c and the integer e, with c 2^e <= 10^q < (c + 1) 2^e and c of 128 bits."""
    high, low, shift = [], [], []
    for q in range(_LEAST_POWER, _GREATEST_POWER + 1):
        power = 5 ** abs(q)
        n_bits = power.bit_length()
        e = n_bits - 128 if q >= 0 else -127 - n_bits
        c = ((1 << -e) // power) if q < 0 else (power >> e if e >= 0 else power << -e)
        high.append(c >> 64)
        low.append(c & (2**64 - 1))
        shift.append(e + q)
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64), np.array(shift, dtype=np.int64)


_HIGH, _LOW, _SHIFT = _powers_of_five()
_LEAST_SHIFT, _GREATEST_SHIFT = -1074, 970  # 53 bits times these powers of two are normal and finite
_TWO_TO = 2.0 ** np.arange(_LEAST_SHIFT, _GREATEST_SHIFT + 1)

# Written out, because int64 and uint64 together are float64 for numba.
_0, _1, _4, _9, _10, _63, _64 = (np.uint64(k) for k in (0, 1, 4, 9, 10, 63, 64))
_ALMOST = np.uint64(2**64 - 4)
_TWO_TO_53 = np.uint64(2**53)

# Eight digits in a word: the first one is in the lowest byte.
_ZEROS = np.uint64(0x3030303030303030)
_BEYOND_NINE = np.uint64(0x7676767676767676)  # added to a byte: its upper bit is set from 10 on
_UPPER_BITS = np.uint64(0x8080808080808080)
_OUTER_PAIRS, _INNER_WEIGHTS, _OUTER_WEIGHTS = (
    np.uint64(k) for k in (0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001)
)
_3, _8, _16, _32 = (np.uint64(k) for k in (3, 8, 16, 32))
_SHIFTS = np.arange(64, -8, -8, dtype=np.uint64) // 2  # half of the bits above n digits
_INTEGER_TEN_TO = np.array([10**k for k in range(9)], dtype=np.uint64)


@part_of_kernel
def read_digits(text: NDArray[np.uint8], at: int) -> tuple[Any, Any]:
    """Return the number that the digits at `at` are, and how many there are, up to eight."""
    word = eight_bytes(text, at) ^ _ZEROS
    # A byte that is no digit carries into later ones only.
    n_digits = np.int64(bits_below((word + _BEYOND_NINE) & _UPPER_BITS, word & _UPPER_BITS) >> _3)
    return _join_digits((word << _SHIFTS[n_digits]) << _SHIFTS[n_digits]), n_digits


@part_of_kernel
def read_known_digits(text: NDArray[np.uint8], at: int, n_digits: Any) -> Any:
    """Return the number that the digits at `at` are, of which it is known how many there are: one to eight."""
    return _join_digits((eight_bytes(text, at) ^ _ZEROS) << ((_64 - (np.uint64(n_digits) << _3)) & _63))


@part_of_kernel
def _join_digits(word: Any) -> Any:
    """Return the number that eight digits are, bytes from 0 to 9."""
    word = word * _10 + (word >> _8)  # pairs of digits in every other byte
    inner = (word & _OUTER_PAIRS) * _INNER_WEIGHTS
    outer = ((word >> _16) & _OUTER_PAIRS) * _OUTER_WEIGHTS
    return (inner + outer) >> _32


@part_of_kernel
def _read_all_digits(text: NDArray[np.uint8], at: int, number: Any) -> tuple[Any, int]:
    """Return `number` continued by all digits at `at`, which may be too many, and where they end."""
    n_digits = 8
    while n_digits == 8:
        digits, n_digits = read_digits(text, at)
        number = number * _INTEGER_TEN_TO[n_digits] + digits
        at += n_digits
    return number, at


@part_of_kernel
def read_decimal(text: NDArray[np.uint8], at: int) -> tuple[float, int, int]:
    """Read the number that begins at `at`; return it, where it ends, and what became of it.

    The text must go on for `PADDING` bytes behind something that is not part of a number.
    """
    negative = text[at] == MINUS
    first = at + 1 if negative or text[at] == PLUS else at
    mantissa, end = _read_all_digits(text, first, _0)
    n_digits, exponent = end - first, 0
    if text[end] == POINT:
        point = end + 1
        mantissa, end = _read_all_digits(text, point, mantissa)
        exponent = point - end
        n_digits += end - point
    if n_digits == 0:
        return 0.0, at, NO_NUMBER
    if text[end] == LOWER_E or text[end] == UPPER_E:
        power, end, is_there = _read_exponent(text, end + 1)
        if not is_there:
            return 0.0, at, NO_NUMBER
        exponent += power
    if n_digits > _MOST_DIGITS and n_digits - _count_zeros(text, first) > _MOST_DIGITS:
        return 0.0, end, UNSURE
    value, is_sure = _nearest(mantissa, exponent)
    return -value if negative else value, end, SURE if is_sure else UNSURE


@part_of_kernel
def short_decimal(text: NDArray[np.uint8], at: int, n_whole: Any, n_decimals: Any) -> tuple[float, bool]:
    """Return the number at `at`, of which it is known how many digits stand before and behind its point.

    Those are one to eight, and up to eight. Without digits behind it, there need not be a point.
    Returns also whether the number is certain: whether all its digits together are a float, see `_nearest`.
    """
    number = read_known_digits(text, at, n_whole)
    if n_decimals == 0:
        return np.float64(number), True
    number = number * _INTEGER_TEN_TO[np.uintp(n_decimals)] + read_known_digits(text, at + n_whole + 1, n_decimals)
    return np.float64(number) / _TEN_TO[np.uintp(n_decimals)], number <= _TWO_TO_53


@part_of_kernel
def _count_zeros(text: NDArray[np.uint8], at: int) -> int:
    """Return the number of zeros that a number begins with."""
    n_zeros = 0
    while text[at] == ZERO or text[at] == POINT:
        n_zeros += text[at] == ZERO
        at += 1
    return n_zeros


@part_of_kernel
def _read_exponent(text: NDArray[np.uint8], at: int) -> tuple[int, int, bool]:
    negative = text[at] == MINUS
    first = at + 1 if negative or text[at] == PLUS else at
    power: Any = 0
    end = first
    while ZERO <= text[end] <= NINE:
        if power < _LARGE_EXPONENT:
            power = 10 * power + np.int64(text[end] - ZERO)
        end += 1
    return -power if negative else power, end, end > first


@part_of_kernel
def _nearest(w: Any, q: int) -> tuple[float, bool]:
    """Return the float nearest to w 10^q, and whether it is certain."""
    if w <= _TWO_TO_53 and -22 <= q <= 22:
        return (np.float64(w) * _TEN_TO[q] if q >= 0 else np.float64(w) / _TEN_TO[-q]), True
    if w == 0:
        return 0.0, True
    if q < _LEAST_POWER or q > _GREATEST_POWER:
        return 0.0, False
    n_leading = bits_above(w, w)
    w = w << n_leading
    # w c = (upper, lower) 2^64 + ..., with c = (_HIGH, _LOW)
    high = _HIGH[q - _LEAST_POWER]
    carried = upper_product(w, _LOW[q - _LEAST_POWER])
    upper, lower = upper_product(w, high), w * high + carried
    if lower < carried:
        upper = upper + _1
    n_rest = _10 if upper >> _63 == 1 else _9  # bits of `upper` behind the first 54
    first_bits = upper >> n_rest  # 53 bits and a half
    rest = upper - (first_bits << n_rest)
    is_half = first_bits & _1 == 1 and rest == 0 and lower <= _4
    is_almost_half = first_bits & _1 == 0 and rest == (_1 << n_rest) - _1 and lower >= _ALMOST
    shift = _SHIFT[q - _LEAST_POWER] + 129 + np.int64(n_rest) - np.int64(n_leading)
    if is_half or is_almost_half or not _LEAST_SHIFT <= shift <= _GREATEST_SHIFT:
        return 0.0, False
    return np.float64((first_bits + (first_bits & _1)) >> _1) * _TWO_TO[shift - _LEAST_SHIFT], True

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

from .jit import part_of_kernel

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
_0, _1, _4, _9, _10, _32, _63, _64 = (np.uint64(k) for k in (0, 1, 4, 9, 10, 32, 63, 64))
_ALMOST = np.uint64(2**64 - 4)
_TWO_TO_53 = np.uint64(2**53)
_LOWER_HALF = np.uint64(2**32 - 1)
_HALVES = np.array([32, 16, 8, 4, 2, 1], dtype=np.uint64)


@part_of_kernel
def sign_at(text: NDArray[np.uint8], at: int) -> Any:
    """Return a sign of a text; unsigned places spare numba's test for negative ones, a quarter of the time."""
    return text[np.uintp(at)]


@part_of_kernel
def _read_digits(text: NDArray[np.uint8], at: int, number: Any) -> tuple[Any, int]:
    """Return `number` continued by all digits at `at`, which may be too many, and where they end."""
    while ZERO <= sign_at(text, at) <= NINE:
        number = number * _10 + np.uint64(sign_at(text, at) - ZERO)
        at += 1
    return number, at


@part_of_kernel
def read_decimal(text: NDArray[np.uint8], at: int) -> tuple[float, int, int]:
    """Read the number that begins at `at`; return it, where it ends, and what became of it.

    The text must go on with something that is not part of a number.
    """
    negative = sign_at(text, at) == MINUS
    first = at + 1 if negative or sign_at(text, at) == PLUS else at
    mantissa, end = _read_digits(text, first, _0)
    n_digits, exponent = end - first, 0
    if sign_at(text, end) == POINT:
        point = end + 1
        mantissa, end = _read_digits(text, point, mantissa)
        exponent = point - end
        n_digits += end - point
    if n_digits == 0:
        return 0.0, at, NO_NUMBER
    if sign_at(text, end) == LOWER_E or sign_at(text, end) == UPPER_E:
        power, end, is_there = _read_exponent(text, end + 1)
        if not is_there:
            return 0.0, at, NO_NUMBER
        exponent += power
    if n_digits > _MOST_DIGITS and n_digits - _count_zeros(text, first) > _MOST_DIGITS:
        return 0.0, end, UNSURE
    value, is_sure = _nearest(mantissa, exponent)
    return -value if negative else value, end, SURE if is_sure else UNSURE


@part_of_kernel
def _count_zeros(text: NDArray[np.uint8], at: int) -> int:
    """Return the number of zeros that a number begins with."""
    n_zeros = 0
    while sign_at(text, at) == ZERO or sign_at(text, at) == POINT:
        n_zeros += sign_at(text, at) == ZERO
        at += 1
    return n_zeros


@part_of_kernel
def _read_exponent(text: NDArray[np.uint8], at: int) -> tuple[int, int, bool]:
    negative = sign_at(text, at) == MINUS
    first = at + 1 if negative or sign_at(text, at) == PLUS else at
    power: Any = 0
    end = first
    while ZERO <= sign_at(text, end) <= NINE:
        if power < _LARGE_EXPONENT:
            power = 10 * power + np.int64(sign_at(text, end) - ZERO)
        end += 1
    return -power if negative else power, end, end > first


@part_of_kernel
def _upper_product(a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the product of two uint64, from four products of their halves."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOWER_HALF, b >> _32, b & _LOWER_HALF
    first = a_high * b_low + ((a_low * b_low) >> _32)
    second = a_low * b_high + (first & _LOWER_HALF)
    return a_high * b_high + (first >> _32) + (second >> _32)


@part_of_kernel
def _nearest(w: Any, q: int) -> tuple[float, bool]:
    """Return the float nearest to w 10^q, and whether it is certain."""
    if w <= _TWO_TO_53 and -22 <= q <= 22:
        return (np.float64(w) * _TEN_TO[q] if q >= 0 else np.float64(w) / _TEN_TO[-q]), True
    if w == 0:
        return 0.0, True
    if q < _LEAST_POWER or q > _GREATEST_POWER:
        return 0.0, False
    n_leading = _0
    for half in _HALVES:
        if w >> (_64 - half) == 0:
            w = w << half
            n_leading = n_leading + half
    # w c = (upper, lower) 2^64 + ..., with c = (_HIGH, _LOW)
    high = _HIGH[q - _LEAST_POWER]
    carried = _upper_product(w, _LOW[q - _LEAST_POWER])
    upper, lower = _upper_product(w, high), w * high + carried
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

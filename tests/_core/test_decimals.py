"""Numbers are rounded as Python rounds them, or it is known that they may not be."""

import random

import numpy as np

from fwlasso._core import decimals
from libsvm_cases import HARD_NUMBERS


def read_number(text):
    word = np.frombuffer(text.encode() + b"\n", np.uint8)
    return decimals.read_decimal(word, 0)


def random_numbers(n, rng):
    for _ in range(n):
        yield repr(np.frombuffer(rng.randbytes(8))[0].item())
        yield f"{rng.getrandbits(rng.randint(1, 64))}e{rng.randint(-345, 310)}"
        yield f"{rng.random():.{rng.randint(1, 19)}g}"
        halfway = 2 * rng.getrandbits(52) + 2**53 + 1  # between two floats
        yield str(halfway * 2 ** rng.randint(0, 9))
        yield str(halfway * 2 ** rng.randint(0, 9) + rng.choice([-1, 1]))
        yield f"{halfway * 5 ** rng.randint(0, 4)}e{rng.randint(-30, 30)}"


def test_numbers_are_those_of_python():
    numbers = [*HARD_NUMBERS, *random_numbers(5_000, random.Random(0))]
    n_sure = 0
    for text in numbers:
        value, end, state = read_number(text)
        if "n" not in text:
            assert end == len(text)
            assert state != decimals.NO_NUMBER
        if state == decimals.SURE:
            n_sure += 1
            assert value.hex() == float(text).hex(), text
    assert n_sure > 0.6 * len(numbers)


def test_floats_with_all_their_digits_need_no_second_look():
    rng = np.random.default_rng(0)
    states = [read_number(repr(value))[2] for value in np.exp(rng.uniform(-600, 600, 2000)).tolist()]
    assert states == [decimals.SURE] * 2000

"""LIBSVM files and what they hold, for the tests of reading and of writing."""

import bz2
import functools
import gzip
import io
import lzma
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from fwlasso.datasets import libsvm, libsvm_rows, load_libsvm

MOST_COLUMNS = 10_000  # so that no large index takes all memory
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
HARD_NUMBERS = [
    *["0", "-0", "+0.0", "00000000000000000000", "0e999", "0.0000000000000000000000000000000000000000000001"],
    *["9007199254740991", "9007199254740993", "9007199254740995", f"9007199254740993.{1:015}", "9007199254740992"],
    *["1e22", "1e23", "1e-22", "1e-23", "123456789012345678e-30", "8.5e22", "9.5367431640625e-7", "1.", ".5", "+.5E+1"],
    *["1.7976931348623157e308", "1.7976931348623158e308", "2.2250738585072014e-308", "2.2250738585072011e-308"],
    *["4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "1e-99999999999999"],
    *["18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000"],
    *["0.000000000000000000001234567890123456789", "1e0000000000000000000005", "5" * 400 + "e-400"],
]


def assert_same(X, y, expected, expected_y):
    """The same arrays, bit for bit."""
    expected = sp.csc_array(expected)
    expected.sort_indices()
    assert isinstance(X, sp.csc_array)
    assert X.shape == expected.shape
    assert X.has_sorted_indices
    assert sp.csc_array((X.data, X.indices, X.indptr), shape=X.shape).has_canonical_format  # looked at, not believed
    np.testing.assert_array_equal(X.indptr, expected.indptr)
    np.testing.assert_array_equal(X.indices, expected.indices)
    np.testing.assert_array_equal(X.data.view(np.uint8), expected.data.view(np.uint8))
    np.testing.assert_array_equal(y.view(np.uint64), expected_y.view(np.uint64))


def some_text(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_rows):
        indices = np.unique(rng.integers(1, 500, rng.integers(0, 12)))
        lines.append(" ".join([repr(rng.normal()), *(f"{j}:{rng.normal()!r}" for j in indices)]) + "\n")
    return "".join(lines).encode()


@functools.cache
def some_matrix():
    return load_svmlight_file(io.BytesIO(some_text()))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("libsvm") / "data.svm"


def load(file, data, pack=bytes, **options):
    file.write_bytes(pack(data))
    return load_libsvm(file, **options)


@contextmanager
def small_pieces(block=64):
    """Read blocks that are so small that short files have many of them."""
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(libsvm_rows, "_BLOCK_BYTES", block))
        patches.enter_context(mock.patch.object(libsvm, "_most_columns", return_value=MOST_COLUMNS))
        yield

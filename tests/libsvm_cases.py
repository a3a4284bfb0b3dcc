"""LIBSVM files and what they hold, for the tests of reading and of writing."""

import functools
import io

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

FINITE = st.floats(allow_nan=False, allow_infinity=False)


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

"""Written LIBSVM files are read again, bit for bit."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import libsvm_cases
from fwlasso.datasets import dump_libsvm, libsvm_dump, load_libsvm
from libsvm_cases import FINITE, assert_same, some_matrix

file = libsvm_cases.file
KINDS = [np.asarray, np.asfortranarray, sp.csc_array, sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_array]


@st.composite
def matrices(draw):
    shape = draw(st.integers(0, 8)), draw(st.integers(1, 8))
    values = st.one_of(st.just(0.0), FINITE, st.integers(-9, 9).map(float))
    entries = draw(st.lists(values, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    y = draw(st.lists(FINITE, min_size=shape[0], max_size=shape[0]))
    return np.reshape(np.array(entries, dtype=float), shape), np.array(y, dtype=float)


@pytest.mark.long
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(matrices(), st.sampled_from(KINDS), st.sampled_from([np.float64, np.float32]), st.booleans(), st.integers(1, 20))
def test_what_is_written_is_read_again(file, matrix, kind, dtype, zero_based, block):
    dense, y = matrix
    with np.errstate(over="ignore"):
        dense = np.nan_to_num(dense.astype(dtype))
    with mock.patch.object(libsvm_dump, "_BLOCK_ENTRIES", block):
        dump_libsvm(kind(dense), y, file, zero_based=zero_based)
    for read_as in {dtype, np.float64}:
        X, found_y = load_libsvm(file, dense.shape[1], dtype=read_as, zero_based=zero_based)
        assert_same(X, found_y, sp.csc_array(dense.astype(read_as)), y)


@pytest.mark.parametrize("ending", [".svm", ".gz", ".svm.bz2", ".xz"])
def test_written_file_is_packed_as_its_name_tells(tmp_path, ending):
    X, y = some_matrix()
    file = tmp_path / f"data{ending}"
    dump_libsvm(X, y, file)
    assert_same(*load_libsvm(file, X.shape[1]), X, y)
    assert (file.read_bytes()[:2] == b"\x1f\x8b") is (ending == ".gz")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_stored_zeros_queries_and_whole_numbers_are_written(tmp_path):
    X = sp.csc_array((np.array([0.0, 3.0, -1e22]), np.array([0, 1, 1]), np.array([0, 1, 2, 3])), shape=(2, 3))
    dump_libsvm(X, [1, -0.5], tmp_path / "data.svm", query_id=[4, -5])
    assert (tmp_path / "data.svm").read_text() == "1 qid:4 1:0\n-0.5 qid:-5 2:3 3:-1e+22\n"
    found, y, queries = load_libsvm(tmp_path / "data.svm", query_id=True)
    assert_same(found, y, X, np.array([1, -0.5]))
    assert queries.tolist() == [4, -5]


def test_entries_of_one_place_are_added_before_they_are_written(tmp_path):
    X = sp.coo_array(([1.0, 2.0, 5.0], ([0, 0, 0], [1, 1, 0])), shape=(1, 2))
    for kind in (X, sp.csr_array((X.data, [1, 1, 0], [0, 3]), shape=(1, 2)), sp.csc_array(X)):
        dump_libsvm(kind, [1], tmp_path / "data.svm")
        assert (tmp_path / "data.svm").read_text() == "1 1:5 2:3\n"


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0]], [1.0, 2.0], {}, "y must have 1 entries"),
        ([1.0], [1.0], {}, "X must be a matrix"),
        ([["a"]], [1.0], {}, "X must be a matrix"),
        ([[np.nan]], [1.0], {}, "X must be finite"),
        (sp.csc_array([[np.inf]]), [1.0], {}, "X must be finite"),
        ([[1.0]], [np.nan], {}, "y must be finite"),
        ([[1.0]], [1.0], {"query_id": [1.5]}, "query_id must be integers"),
        ([[1.0]], [1.0], {"query_id": [1, 2]}, "query_id must have 1 entries"),
    ],
)
def test_what_cannot_be_written_leaves_no_file_and_the_old_one(tmp_path, X, y, options, message):
    for there in (False, True):
        if there:
            (tmp_path / "data.svm").write_text("1 1:1\n")
        with pytest.raises(ValueError, match=message):
            dump_libsvm(X, y, tmp_path / "data.svm", **options)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["1 1:1\n"] * there

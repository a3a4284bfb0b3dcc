"""What users have as a design matrix: used where it lies, converted once, or refused."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from conftest import STORAGES, formed, held, random_values
from fwlasso.data.design import as_design


@pytest.mark.parametrize("storage", STORAGES)
def test_column_major_csc_and_packed_are_used_where_they_lie(storage, rng):
    X = STORAGES[storage](held(storage, random_values(rng, 6, 4)))
    design = as_design(X)
    assert design.conversion is None
    stored = design.columns[0]
    assert np.shares_memory(stored, X.data if sp.issparse(X) else getattr(X, "packed", X))
    assert not stored.flags.writeable


@pytest.mark.parametrize(
    ("convert", "said"),
    [
        (lambda v: np.repeat(np.asfortranarray(v), 2, axis=0)[::2], "column-major order"),
        (np.ascontiguousarray, "column-major order"),
        (lambda v: v.astype(np.float16), "column-major order"),
        (lambda v: v.astype(np.int64), "column-major order"),
        (lambda v: v.tolist(), "column-major order"),
        (sp.csr_array, "CSC"),
        (sp.coo_matrix, "CSC"),
        (lambda v: sp.csc_array(v.astype(np.int32)), "CSC"),
        (pl.DataFrame, "column-major order"),
    ],
)
def test_what_is_converted_is_converted_once_and_said(convert, said, rng):
    values = rng.integers(-3, 4, (5, 3)).astype(float)
    X = convert(values)
    design = as_design(X)
    assert design.conversion == f"X was copied once, to float64 in {said}"
    if isinstance(X, np.ndarray):
        assert not np.shares_memory(design.columns.values, X)
    np.testing.assert_array_equal(formed(design.columns), values)


def test_unsorted_and_repeated_entries_are_mended_in_a_copy():
    X = sp.csc_array((np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(3, 2))
    before = X.indices.copy()
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    design = as_design(X)
    np.testing.assert_array_equal(formed(design.columns), [[2.0, 0.0], [0.0, 7.0], [1.0, 0.0]])
    np.testing.assert_array_equal(X.indices, before)
    assert design.conversion == "X was copied once, to float64 in CSC"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "Expected 2D array"),
        (np.ones((2, 2, 2)), "X has 3 dimensions|dim 3|Found array with dim"),
        (np.ones((0, 3)), "0 sample"),
        (np.ones((3, 0)), "0 feature"),
        (np.ones((2, 2), dtype=complex), "Complex data"),
        (np.array([["a", "b"]]), "X|string|dtype"),
        (np.ma.masked_array(np.ones((2, 2))), "X is a masked array"),
    ],
)
def test_bad_input_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        as_design(X)

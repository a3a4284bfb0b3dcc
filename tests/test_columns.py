import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from conftest import STORAGES, Case, formed, held, random_values
from fwlasso._jit import kernel
from fwlasso.columns import (
    add_column,
    as_design,
    column_moments,
    column_shift,
    cut_columns,
    dot_column,
    nbytes,
    sample_vector,
    shape,
)


@kernel
def dots(X, v):
    return np.array([dot_column(X, j, v) for j in range(shape(X)[1])])


@kernel
def moments(X):
    return [column_moments(X, j) for j in range(shape(X)[1])]


@kernel
def shifts(X):
    return np.array([column_shift(X, j) for j in range(shape(X)[1])])


@kernel
def combine(X, a, v):
    for j in range(shape(X)[1]):
        add_column(X, j, a[j], v)


def test_dot_column_is_the_product_with_the_formed_column(case: Case, rng):
    v = rng.standard_normal(case.Z.shape[0])
    np.testing.assert_allclose(dots(case.problem.X, sample_vector(v)), case.Z.T @ v, rtol=1e-10, atol=1e-12)


def test_add_column_agrees_up_to_a_constant_that_no_dot_product_sees(case: Case, rng):
    a = rng.standard_normal(case.Z.shape[1])
    v = sample_vector(np.zeros(case.Z.shape[0]))
    combine(case.problem.X, a, v)
    q = case.Z @ a
    np.testing.assert_allclose(dots(case.problem.X, v), case.Z.T @ q, rtol=1e-9, atol=1e-9)
    if np.ptp(v[:-1] - q) > 1e-9 or not np.allclose(v[:-1], q):
        np.testing.assert_allclose(v[:-1] - v[:-1].mean(), q, atol=1e-10)
        np.testing.assert_allclose(v[-1], v[:-1].sum(), rtol=1e-12)


def test_column_moments_are_mean_and_centred_sum_of_squares(case: Case):
    mean, squares = np.array(moments(case.problem.X)).T
    np.testing.assert_allclose(mean, case.Z.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(squares, ((case.Z - case.Z.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-10, atol=1e-12)


def test_column_shift_leads_from_the_formed_columns_to_the_memory(case: Case):
    """The columns z_j + shift_j 1 are those in memory, times f_j where they are scaled."""
    X = case.problem.X
    stored = getattr(X, "columns", X)
    values = formed(stored)
    np.testing.assert_allclose(case.Z + shifts(X), getattr(X, "factors", 1.0) * values, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(shifts(stored), 0.0)


def test_add_column_adds_the_formed_column_and_its_shift(case: Case):
    m, p = case.Z.shape
    for j in range(p):
        a = np.zeros(p)
        a[j] = -3.0
        v = sample_vector(np.zeros(m))
        combine(case.problem.X, a, v)
        np.testing.assert_allclose(v[:-1], -3.0 * (case.Z[:, j] + shifts(case.problem.X)[j]), rtol=1e-11, atol=1e-12)


def test_moments_survive_a_large_mean():
    values = 1e8 + np.array([[0.0], [1.0], [2.0], [3.0]])
    for X in (np.asfortranarray(values), sp.csc_array(values)):
        assert moments(as_design(X).columns)[0] == pytest.approx((1e8 + 1.5, 5.0), rel=1e-12)


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
        (np.ascontiguousarray, "X was copied once, to float64 in column-major order"),
        (lambda v: v.astype(np.float16), "X was copied once, to float64 in column-major order"),
        (lambda v: v.astype(np.int64), "X was copied once, to float64 in column-major order"),
        (lambda v: v.tolist(), "X was copied once, to float64 in column-major order"),
        (sp.csr_array, "X was copied once, to float64 in CSC"),
        (sp.coo_matrix, "X was copied once, to float64 in CSC"),
        (lambda v: sp.csc_array(v.astype(np.int32)), "X was copied once, to float64 in CSC"),
        (pl.DataFrame, "X was copied once, to float64 in column-major order"),
    ],
)
def test_what_is_converted_is_converted_once_and_said(convert, said, rng):
    values = rng.integers(-3, 4, (5, 3)).astype(float)
    design = as_design(convert(values))
    assert design.conversion == said
    np.testing.assert_array_equal(dots(design.columns, sample_vector(np.ones(5))), values.sum(axis=0))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame, rng):
    values = rng.standard_normal((4, 3))
    design = as_design(frame({name: values[:, j] for j, name in enumerate("abc")}))
    assert design.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(design.columns.values, values)


def test_sparse_frames_stay_sparse():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 0.0]}).astype(pd.SparseDtype(float, 0.0))
    design = as_design(frame)
    assert design.columns.data.size == 2
    assert design.feature_names == ("a", "b")


def test_unsorted_and_repeated_entries_are_mended_in_a_copy():
    X = sp.csc_array((np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(3, 2))
    before = X.indices.copy()
    design = as_design(X)
    np.testing.assert_array_equal(dots(design.columns, sample_vector(np.array([1.0, 10.0, 100.0]))), [102.0, 70.0])
    np.testing.assert_array_equal(X.indices, before)
    assert design.conversion == "X was copied once, to float64 in CSC"


def broken_csc(indices, indptr) -> sp.csc_array:
    X = sp.csc_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    X.indices, X.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    return X


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
        (pd.DataFrame({"n": [1.0], "text": ["x"], "when": pd.to_datetime(["2020-01-01"])}), "'text', 'when'"),
        (pl.DataFrame({"n": [1.0], "text": ["x"]}), "'text'"),
        (broken_csc([0, 5], [0, 1, 2]), "an index is outside the shape"),
        (broken_csc([0, -1], [0, 1, 2]), "an index is outside the shape"),
        (broken_csc([0, 1], [0, 2, 1]), "indptr"),
        (broken_csc([0, 1], [0, 1, 9]), "indptr does not fit"),
    ],
)
def test_bad_input_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        as_design(X)


def test_cuts_share_the_nonzeros_not_the_columns():
    lengths = np.maximum(1, 2_000_000 // np.arange(1, 3001) ** 1.2).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    X = sp.csc_array((3000, 3000))
    X.indptr, X.indices, X.data = indptr, np.zeros(indptr[-1], np.int64), np.zeros(indptr[-1])
    columns = as_design(sp.csc_array(np.ones((2, 2)))).columns._replace(data=X.data, indices=X.indices, indptr=indptr)
    cuts = cut_columns(columns)
    assert cuts[0] == 0
    assert cuts[-1] == 3000
    assert (np.diff(cuts) > 0).all()
    assert cuts[1] < 3000 / len(cuts)


def test_nbytes_counts_every_array(case: Case):
    assert nbytes(case.problem.X) >= nbytes(getattr(case.problem.X, "columns", case.problem.X)) > 0

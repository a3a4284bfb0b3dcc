"""The column protocol of every storage, against formed columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import Case, formed
from fwlasso._core.columns import (
    add_column,
    column_entry,
    column_moments,
    column_shift,
    dot_column,
    dot_each,
    fetch_column,
    fetch_next,
    nbytes,
    shape,
    stack,
)
from fwlasso._core.jit import kernel
from fwlasso._core.samples import sample_vector
from fwlasso._core.standardized import Shifted
from fwlasso.data.design import as_design


@kernel
def dots(X, v):
    return np.array([dot_column(X, j, v) for j in range(shape(X)[1])])


@kernel
def dots_with_each(X, V):
    out = np.empty((shape(X)[1], V.n))
    for j in range(shape(X)[1]):
        dot_each(X, j, V, out[j])
    return out


@kernel
def moments(X):
    return [column_moments(X, j) for j in range(shape(X)[1])]


@kernel
def shifts(X):
    return np.array([column_shift(X, j) for j in range(shape(X)[1])])


@kernel
def entries(X, n):
    return [column_entry(X, j, k) for j in range(shape(X)[1]) for k in range(n)]


@kernel
def combine(X, a, v):
    for j in range(shape(X)[1]):
        add_column(X, j, a[j], v)


@pytest.fixture
def case(every_case: Case) -> Case:
    return every_case


def test_dot_column_is_the_product_with_the_formed_column(case: Case, rng):
    v = rng.standard_normal(case.Z.shape[0])
    np.testing.assert_allclose(dots(case.problem.X, sample_vector(v)), case.Z.T @ v, rtol=1e-10, atol=1e-12)


def test_dot_each_is_the_product_with_every_vector_and_zero_beyond_them(case: Case, rng):
    for n in (1, 2, 4, 5):
        vectors = rng.standard_normal((n, case.Z.shape[0]))
        found = dots_with_each(case.problem.X, stack(case.problem.X, list(map(sample_vector, vectors))))
        np.testing.assert_allclose(found[:, :n], case.Z.T @ vectors.T, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(found[:, n:], 0.0)


def test_no_dot_product_sees_the_constant_that_add_column_leaves(case: Case, rng):
    a, v = rng.standard_normal(case.Z.shape[1]), sample_vector(np.zeros(case.Z.shape[0]))
    combine(case.problem.X, a, v)
    np.testing.assert_allclose(dots(case.problem.X, v), case.Z.T @ (case.Z @ a), rtol=1e-9, atol=1e-9)


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


@pytest.mark.parametrize("wrap", [np.asfortranarray, sp.csc_array])
def test_columns_with_an_origin_are_counted_from_it(wrap, rng):
    """All of the protocol, for columns that lie 1e14 from zero beside one that does not."""
    near = np.round(100 * rng.standard_normal((30, 3)))
    origins = np.array([1e14, 0.0, -3e9])
    X = Shifted(as_design(wrap(near + origins)).columns, origins)
    vectors = rng.standard_normal((5, 30))
    np.testing.assert_allclose(dots(X, sample_vector(vectors[0])), near.T @ vectors[0], rtol=1e-13, atol=1e-11)
    for n in (1, 2, 5):
        found = dots_with_each(X, stack(X, list(map(sample_vector, vectors[:n]))))
        np.testing.assert_allclose(found[:, :n], near.T @ vectors[:n].T, rtol=1e-13, atol=1e-11)
    mean, squares = np.array(moments(X)).T
    np.testing.assert_allclose(mean, near.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(squares, ((near - near.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-13)
    rows, numbers = np.array(entries(X, 30)).T
    np.testing.assert_array_equal(rows.reshape(3, 30), np.tile(np.arange(30.0), (3, 1)))
    np.testing.assert_array_equal(numbers.reshape(3, 30), near.T)
    np.testing.assert_array_equal(formed(X), near)
    v = sample_vector(np.zeros(30))
    combine(X, np.array([2.0, -1.0, 0.5]), v)
    np.testing.assert_array_equal(v[:-1], near @ [2.0, -1.0, 0.5])


def test_nbytes_counts_every_array(case: Case):
    assert nbytes(case.problem.X) >= nbytes(getattr(case.problem.X, "columns", case.problem.X)) > 0


@kernel
def fetched(X, j):
    fetch_next(X, j)
    fetch_column(X, j)
    return dot_column(X, 0, np.zeros(shape(X)[0] + 1))


def test_a_column_is_fetched_without_a_trace_and_none_need_be_there(case: Case):
    p = case.Z.shape[1]
    before = entries(case.problem.X, 1)
    assert [fetched(case.problem.X, j) for j in (0, p - 1, p, p + 10**9)] == [0.0] * 4
    assert entries(case.problem.X, 1) == before

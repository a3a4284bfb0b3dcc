"""Newton's equations without a factor: sparse columns by rows, their preconditioner, conjugate gradients."""

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import Case, make_case
from fwlasso.columns import column_entry, shape
from fwlasso.corrective import conjugate, preconditioner, rows
from fwlasso.corrective.conjugate import conjugate_gradients
from fwlasso.corrective.preconditioner import is_outdated, make_preconditioner, no_preconditioner, restrict
from fwlasso.corrective.rows import SparseRows, by_rows, multiply_twice
from fwlasso.design import as_design
from fwlasso.parallel import Workers
from fwlasso.problem import Problem, build_problem

RIDGE = 1e-7


@pytest.fixture(params=[("csc64", "raw"), ("csc32", "standardized")], ids="-".join)
def case(request, rng) -> Case:
    """Texts in which some words come together: columns that share most of their rows."""
    storage, units = request.param
    m, n_topics = 300, 12
    topics = rng.random((m, n_topics)) < 0.03
    words = topics[:, rng.integers(0, n_topics, 90)] & (rng.random((m, 90)) < 0.8)
    values = words * rng.integers(1, 4, (m, 90)) / 4.0
    values[rng.integers(0, m, 90), np.arange(90)] += 0.5  # no column is empty, none a copy
    return make_case(values, rng.standard_normal(m), storage, units)


def cosines_of(case: Case, columns: np.ndarray) -> np.ndarray:
    U = case.Z[:, columns] / np.linalg.norm(case.Z[:, columns], axis=0)
    return U.T @ U


def norms_of(problem: Problem, columns: np.ndarray) -> np.ndarray:
    return np.sqrt(problem.norms2[columns])


def factor_of(given: SparseRows, n: int) -> np.ndarray:
    L = np.zeros((given.starts.size - 1, n))
    for row in range(L.shape[0]):
        inside = slice(given.starts[row], given.starts[row + 1])
        L[row, given.columns[inside]] = given.values[inside]
    return L


def test_products_by_rows_are_those_by_columns(case, rng):
    columns = rng.permutation(90)[:40]
    given = by_rows(case.problem, columns, norms_of(case.problem, columns))
    d, image = rng.standard_normal(40), np.empty(40)
    multiply_twice(given, d, image)
    np.testing.assert_allclose(image, cosines_of(case, columns) @ d, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_products_by_rows_leave_out_masked_samples(rng, standardize):
    values = (rng.random((80, 30)) < 0.2) * rng.standard_normal((80, 30))
    kept = np.arange(80) % 3 > 0
    design = as_design(sp.csc_array(values))
    problem = build_problem(design, rng.standard_normal(80), True, standardize, Workers(1), kept)
    columns = np.flatnonzero(problem.norms2 > 0.0)
    d, image = rng.standard_normal(columns.size), np.empty(columns.size)
    multiply_twice(by_rows(problem, columns, norms_of(problem, columns)), d, image)
    U = values[kept][:, columns]
    U = (U - U.mean(axis=0)) / np.linalg.norm(U - U.mean(axis=0), axis=0)
    np.testing.assert_allclose(image, U.T @ (U @ d), atol=1e-12)
    row, value = column_entry(problem.X, int(columns[0]), 0)
    assert shape(problem.X)[0] == kept.sum()
    assert kept[row] or value == 0.0


def test_dense_columns_are_not_copied(rng):
    values = rng.standard_normal((30, 20))
    problem = make_case(values, rng.standard_normal(30)).problem
    assert by_rows(problem, np.arange(20), norms_of(problem, np.arange(20))).starts.size == 0
    made = make_preconditioner(problem, np.arange(20), np.arange(20))
    assert made.rows.starts.size == 0
    assert not is_outdated(made, np.arange(20))


def test_more_entries_than_there_is_room_for_are_not_copied(case, monkeypatch):
    monkeypatch.setattr(rows, "_MOST_ENTRIES", 100)
    by_rows_now = getattr(by_rows, "py_func", by_rows)
    assert by_rows_now(case.problem, np.arange(90), norms_of(case.problem, np.arange(90))).starts.size == 0


def test_of_few_close_columns_it_is_the_inverse(rng):
    """All of them are in every row."""
    base = (rng.random(200) < 0.1) * 1.0
    values = np.column_stack([base * (1.0 + 0.3 * rng.random(200)) for _ in range(5)])
    case = make_case(values, rng.standard_normal(200), "csc64")
    made = make_preconditioner(case.problem, np.arange(5), np.arange(5))
    L = factor_of(restrict(made, np.arange(5)), 5)
    with_ridge = cosines_of(case, np.arange(5)) + preconditioner._RIDGE * np.eye(5)
    np.testing.assert_allclose(L.T @ L @ with_ridge, np.eye(5), atol=1e-6)


def test_it_makes_the_equations_easier(case):
    everything = np.arange(90)
    made = make_preconditioner(case.problem, everything, everything)
    L = factor_of(restrict(made, everything), 90)
    G = cosines_of(case, everything) + preconditioner._RIDGE * np.eye(90)
    eased = L @ G @ L.T
    np.testing.assert_allclose(np.diag(eased), 1.0, atol=1e-9)  # every row solves its own equations
    assert np.linalg.cond(eased) < 0.5 * np.linalg.cond(G)
    assert np.diff(made.rows.starts).max() <= preconditioner._MOST_CLOSE + 1


def test_of_fewer_and_of_unknown_columns_it_stays_definite(case, rng):
    places = np.arange(60)
    made = make_preconditioner(case.problem, places, np.arange(90))
    others = np.sort(rng.permutation(90)[:50])
    L = factor_of(restrict(made, others), 50)
    assert np.linalg.eigvalsh(L.T @ L).min() > 0.0
    for i in np.flatnonzero(others >= 60):
        assert np.count_nonzero(L[:, i]) == 1
        assert (L.T @ L)[i, i] == 1.0


def test_it_is_outdated_when_many_columns_are_new():
    assert is_outdated(no_preconditioner(), np.arange(5))
    rank_of = np.array([0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 9])
    known = preconditioner.Preconditioner(rank_of, no_preconditioner().rows)
    assert not is_outdated(known, np.array([0, 1, 3, 4, 5, 6, 7, 8, 9, 10]))
    assert is_outdated(known, np.array([0, 1, 2, 11]))  # the last one has come since


@pytest.mark.parametrize("eased", [False, True])
def test_conjugate_gradients_solve_for_the_step(case, rng, eased):
    places = columns = np.arange(90)
    made = make_preconditioner(case.problem, places, columns) if eased else no_preconditioner()
    aim = rng.standard_normal(90)
    x = aim.copy()
    n_dots = conjugate_gradients(case.problem, made, places, columns, norms_of(case.problem, columns), RIDGE, x)
    G = cosines_of(case, columns) + RIDGE * np.eye(90)
    assert 0 < n_dots <= 2 * 90 * conjugate._MOST_ITERATIONS
    assert x @ G @ x < 2.0 * aim @ x  # the quadratic form falls
    if n_dots < 2 * 90 * conjugate._MOST_ITERATIONS:
        assert np.linalg.norm(G @ x - aim) <= 1.01 * conjugate._ACCURACY * np.linalg.norm(aim)


def test_it_saves_iterations(case, rng):
    places = columns = np.arange(90)
    norms, aim = norms_of(case.problem, columns), rng.standard_normal(90)
    made = make_preconditioner(case.problem, places, columns)
    plain = conjugate_gradients(case.problem, no_preconditioner(), places, columns, norms, RIDGE, aim.copy())
    eased = conjugate_gradients(case.problem, made, places, columns, norms, RIDGE, aim.copy())
    assert eased < 0.7 * plain


def test_dense_columns_are_solved_for_by_columns(rng):
    case = make_case(rng.standard_normal((40, 8)) + 3.0, rng.standard_normal(40), "dense64", "standardized")
    columns = np.arange(8)
    aim = rng.standard_normal(8)
    x = aim.copy()
    conjugate_gradients(case.problem, no_preconditioner(), columns, columns, norms_of(case.problem, columns), RIDGE, x)
    assert np.linalg.norm(cosines_of(case, columns) @ x - aim) <= 1.01 * conjugate._ACCURACY * np.linalg.norm(aim)

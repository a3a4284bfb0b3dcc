"""Newton's equations without a factor: sparse columns by rows, their preconditioner, conjugate gradients."""

import numpy as np
import pytest

from conftest import Case, make_case
from copied import copied, gap_and_objective
from fwlasso._core.problem import Problem
from fwlasso._core.subproblem import preconditioner, rows
from fwlasso._core.subproblem.conjugate import Equations, newton_without_factor
from fwlasso._core.subproblem.copies import Copies
from fwlasso._core.subproblem.descent import SubIterate, refresh
from fwlasso._core.subproblem.preconditioner import Preconditioner
from fwlasso._core.subproblem.products import Products
from fwlasso._core.subproblem.rows import SparseRows, by_rows, cut_rows, no_rows
from fwlasso._core.threads import Workers

RIDGE, ONE_THREAD = 1e-7, Workers(1)


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


def rows_of(copies: Copies, places: np.ndarray) -> SparseRows:
    return by_rows(copies, places, 0, places.size)


def factor_of(given: SparseRows, n: int) -> np.ndarray:
    L = np.zeros((given.starts.size - 1, n))
    for row in range(L.shape[0]):
        inside = slice(given.starts[row], given.starts[row + 1])
        L[row, given.columns[inside]] = given.values[inside]
    return L


def check_that_it_eases(case: Case, places: np.ndarray, made: SparseRows) -> None:
    """Every row solves the equations of its own columns, and together they make those of all of them easier."""
    L = factor_of(made, places.size)
    G = cosines_of(case, places) + preconditioner._RIDGE * np.eye(places.size)
    eased = L @ G @ L.T
    np.testing.assert_allclose(np.diag(eased), 1.0, atol=1e-9)
    assert np.linalg.cond(eased) < 0.5 * np.linalg.cond(G)
    assert np.diff(made.starts).max() <= preconditioner._MOST_CLOSE + 1


@pytest.mark.long
def test_columns_come_and_go(case, rng):
    """It is as good as one that is made afresh; other columns get places meanwhile."""
    problem, columns = case.problem, rng.permutation(90)
    kept = Preconditioner(Workers(1))
    for n_places in (40, 60, 90, 90, 90):
        places = np.sort(rng.permutation(n_places)[: 2 * n_places // 3])
        chosen = columns[places]
        copies = copied(problem, columns[:n_places])
        made = kept.factor(copies, places, rows_of(copies, places))
        check_that_it_eases(case, chosen, made)
        cosines, n = cosines_of(case, chosen) + preconditioner._RIDGE * np.eye(chosen.size), chosen.size
        kept_L, new_L = factor_of(made, n), factor_of(factor(problem, chosen), n)
        assert np.linalg.cond(kept_L @ cosines @ kept_L.T) < 2.0 * np.linalg.cond(new_L @ cosines @ new_L.T)


def test_the_number_of_threads_does_not_change_a_bit(case, rng, monkeypatch):
    monkeypatch.setattr(rows, "_BYTES_PER_ENTRY", 1 << 20)
    monkeypatch.setattr(preconditioner, "_BYTES_PER_PRODUCT", 1 << 20)
    columns, aim = np.arange(90), rng.standard_normal(90)
    assert len(cut_rows(rows_of(copied(case.problem), columns))) > 4
    solutions = []
    for workers in (Workers(1), Workers(3)):
        with workers:
            solutions.append(equations(case.problem, columns, workers).solve(aim, RIDGE)[0])
    assert solutions[0].tobytes() == solutions[1].tobytes()


def test_more_columns_than_samples_leave_one_by_one(rng):
    case = make_case(rng.standard_normal((5, 12)), rng.standard_normal(5))
    problem, copies, members = case.problem, copied(case.problem), np.arange(12)
    work = SubIterate(np.sign(problem.xty) * 0.01, np.zeros(12), np.zeros(6))
    weight = 1e-3 * problem.lambda_max
    refresh(copies, work, members)
    _, before = gap_and_objective(copies, work, members, weight)
    with Workers(1) as workers:
        newton_without_factor(copies, work, Preconditioner(workers), members, weight, workers)
    refresh(copies, work, members)
    _, after = gap_and_objective(copies, work, members, weight)
    assert after < before
    assert np.count_nonzero(work.coefs) <= 5


def factor(problem: Problem, columns: np.ndarray, workers: Workers = ONE_THREAD) -> SparseRows:
    """Return a preconditioner that is made afresh; every column has the place of its own number."""
    copies = copied(problem)
    return Preconditioner(workers).factor(copies, columns, rows_of(copies, columns))


def equations(problem: Problem, columns: np.ndarray, workers: Workers = ONE_THREAD, *, eased: bool = True) -> Equations:
    copies = copied(problem)
    made = factor(problem, columns, workers) if eased else no_rows()
    norms = np.sqrt(copies.norms2[columns])
    return Equations(Products(copies, columns, workers), norms, 0.0 * norms, rows_of(copies, columns), made, workers)

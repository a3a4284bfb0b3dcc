"""Coordinate descent on a working set: its numbers are those of numpy, and its epochs lead to the solution."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso as ReferenceLasso

from conftest import Case, make_case, random_values
from copied import copied
from fwlasso.corrective.copies import Copies, rank_bound
from fwlasso.corrective.descent import Work, descend, listed_places, price, refresh

PENALIZED = -1.0  # a radius that asks for nothing


def columns_of(case: Case) -> np.ndarray:
    """All columns that are not constant, in reverse."""
    return np.flatnonzero(case.problem.norms2 > 0.0)[::-1].copy()


def work_on(case: Case, coefs: np.ndarray) -> tuple[Copies, Work, np.ndarray]:
    """Copies of the columns, at these coefficients; and their places."""
    columns = columns_of(case)
    copies, members = copied(case.problem, columns), np.arange(columns.size)
    work = Work(coefs[columns], np.zeros(columns.size), np.zeros(len(case.y) + 1))
    refresh(copies, work, members)
    return copies, work, members


def test_residual_gap_and_objective_are_those_of_numpy(case, rng):
    a = rng.standard_normal(40) * (rng.random(40) < 0.2) * (case.problem.norms2 > 0.0)
    copies, work, members = work_on(case, a)
    residual = case.y - case.Z @ a
    if case.problem.centred:
        residual -= residual.mean()
    size = np.abs(residual).max()
    np.testing.assert_allclose(work.residual[:-1], residual, atol=1e-11 * size)
    weight = 0.3 * case.problem.lambda_max
    gap, objective = price(copies, work, members, weight, PENALIZED)
    corrs = case.Z.T @ residual
    np.testing.assert_allclose(work.corrs, corrs[columns_of(case)], atol=1e-10 * np.abs(corrs).max())
    l1 = np.abs(a).sum()
    assert objective == pytest.approx(0.5 * residual @ residual + weight * l1, rel=1e-10)
    # The dual point is the residual, scaled into the polytope |z_j'u| <= lambda.
    dual = residual * min(1.0, weight / np.abs(corrs).max())
    best = max(residual @ case.y / (residual @ residual), 0.0)
    scaled = residual * min(best, weight / np.abs(corrs).max())
    bounds = [0.5 * case.y @ case.y - 0.5 * ((case.y - u) ** 2).sum() for u in (dual, scaled)]
    assert objective - max(bounds) - 1e-9 * objective <= gap <= objective - bounds[0] + 1e-9 * objective
    on_ball, _ = price(copies, work, members, weight, 2.0 * l1)
    assert on_ball == pytest.approx(max(gap, 2.0 * l1 * max(weight, np.abs(corrs).max()) - a @ corrs), rel=1e-9)


def test_epochs_lead_to_the_solution(case):
    weight = 0.1 * case.problem.lambda_max
    copies, work, members = work_on(case, np.zeros(40))
    objectives = []
    for _ in range(2000):
        gap, objective = price(copies, work, members, weight, PENALIZED)
        objectives.append(objective)
        if gap <= 1e-9 * case.problem.yy:
            break
        listed, _ = listed_places(rank_bound(copies), work, members, weight)
        descend(copies, work, listed, weight, 0.0, np.inf)
    assert gap <= 1e-9 * case.problem.yy
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    best = ReferenceLasso(weight / 30, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(case.Z, case.y).coef_
    a = np.zeros(40)
    a[columns_of(case)] = work.coefs
    np.testing.assert_allclose(case.Z @ a, case.Z @ best, atol=1e-4 * np.linalg.norm(case.y))


def test_what_is_active_or_should_be_is_listed_and_the_largest_violation_told(rng):
    case = make_case(random_values(rng, 30, 40), rng.standard_normal(30))
    copies, work, members = work_on(case, np.zeros(40))
    work.corrs[:] = 0.0
    work.corrs[[3, 5]] = 1.5, -2.0
    listed, violation = listed_places(rank_bound(copies), work, members, 1.0)
    assert (listed.tolist(), violation) == ([3, 5], 1.0)
    work.coefs[[5, 0, 1]] = -0.1, 0.1, 0.2
    work.corrs[[0, 1]] = 1.0, -0.75  # the sign of the latter is wrong
    listed, violation = listed_places(rank_bound(copies), work, members, 1.0)
    assert (listed.tolist(), violation) == ([0, 1, 3, 5], 1.75)


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_epochs_end_when_violations_are_small_enough(case, share):
    weight = 0.3 * case.problem.lambda_max
    copies, work, members = work_on(case, np.zeros(40))
    price(copies, work, members, weight, PENALIZED)
    listed, first = listed_places(rank_bound(copies), work, members, weight)
    for _ in range(1000):
        n_epochs, violation, is_slow = descend(copies, work, listed, weight, share * first, np.inf)
        assert not is_slow
        if violation <= share * first:
            break
        assert n_epochs == 5
    assert violation <= share * first
    # This is what the last epoch has met and mended; what it leaves is of the same size.
    price(copies, work, listed, weight, PENALIZED)
    _, left = listed_places(rank_bound(copies), work, listed, weight)
    assert left <= 10.0 * share * first


def test_epochs_end_early_where_they_would_take_too_long(rng):
    values = rng.standard_normal((30, 1)) + 0.03 * rng.standard_normal((30, 40))  # nearly the same columns
    case = make_case(values, rng.standard_normal(30))
    weight = 0.1 * case.problem.lambda_max
    copies, work, members = work_on(case, np.full(40, 1e-3))
    n_epochs, violation, is_slow = descend(copies, work, members, weight, 1e-12 * weight, 1e9)
    assert (n_epochs, is_slow) == (5, False)
    for _ in range(100):
        n_epochs, violation, is_slow = descend(copies, work, members, weight, 1e-12 * weight, 4.5)
        if n_epochs < 5:  # the signs are known
            break
    assert (n_epochs, is_slow) == (2, True)
    assert violation > 1e-12 * weight


@pytest.mark.parametrize("n_active", [0, 5, 8, 12])
def test_no_more_columns_are_listed_than_samples_but_for_a_few(rng, n_active):
    case = make_case(random_values(rng, 10, 40), rng.standard_normal(10))
    copies, work, members = work_on(case, np.zeros(40))
    work.coefs[:n_active] = 1.0
    work.corrs[:] = np.linspace(3.0, 1.01, 40)
    listed, _ = listed_places(rank_bound(copies), work, members, 1.0)
    assert n_active + 1 <= listed.size <= max(10, n_active + 4)
    np.testing.assert_array_equal(listed, np.arange(listed.size))  # the worst ones


def test_columns_that_violate_alike_are_listed_together(rng):
    case = make_case(random_values(rng, 10, 40), rng.standard_normal(10))
    copies, work, members = work_on(case, np.zeros(40))
    for largest in (2.0, np.nextafter(1.0, 2.0)):
        work.corrs[:] = 0.5
        work.corrs[10:35] = -largest
        listed, _ = listed_places(rank_bound(copies), work, members, 1.0)
        assert listed.tolist() == list(range(10, 35))

"""Coordinate descent on a working set: what is listed, and when epochs end."""

import numpy as np
import pytest

from conftest import Case, make_case, random_values
from copied import copied
from fwlasso._core.subproblem.copies import Copies, rank_bound
from fwlasso._core.subproblem.descent import Work, descend, listed_places, price, refresh

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


def test_epochs_end_when_violations_are_small_enough(case):
    share, weight = 0.01, 0.3 * case.problem.lambda_max
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

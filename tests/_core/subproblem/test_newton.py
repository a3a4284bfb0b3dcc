"""Newton's steps on active columns never go up."""

import numpy as np
import pytest

from conftest import Case, make_case, random_values
from copied import copied
from fwlasso._core.subproblem.descent import Work, price, refresh
from fwlasso._core.subproblem.gram import empty_gram, factorize, with_cosines, with_places
from fwlasso._core.subproblem.newton import COSINES, FACTOR, NEWTON_DONE, _prepare, newton
from fwlasso._core.threads import Workers

PENALIZED = -1.0  # a radius that asks for nothing


def take_steps(case: Case, columns: np.ndarray, coefs: np.ndarray, weight: float) -> tuple[np.ndarray, float, float]:
    """Take Newton's steps and what they ask for; return the coefficients, and the objective before and after."""
    copies, members = copied(case.problem, columns), np.arange(columns.size)
    work = Work(coefs.copy(), np.zeros(columns.size), np.zeros(len(case.y) + 1))
    gram = with_places(empty_gram(len(case.y)), columns.size)
    refresh(copies, work, members)
    _, before = price(copies, work, members, weight, PENALIZED)
    asked = COSINES
    with Workers(1) as workers:
        while asked != NEWTON_DONE:
            asked, _ = newton(copies, work, gram, members, weight)
            active = members[work.coefs != 0.0]
            if asked == COSINES:
                gram = with_cosines(copies, gram, active, workers)
            elif asked == FACTOR:
                factorize(gram, active)
    moved = work.residual[:-1] - (work.residual[:-1].mean() if copies.centred else 0.0)  # known up to a constant
    refresh(copies, work, members)
    np.testing.assert_allclose(moved, work.residual[:-1], atol=1e-9)
    _, after = price(copies, work, members, weight, PENALIZED)
    return work.coefs, before, after


@pytest.mark.parametrize("seed", range(5))
def test_where_signs_change_the_objective_falls(seed):
    rng = np.random.default_rng(seed)
    Z = random_values(rng, 30, 12, density=0.8) + rng.standard_normal((30, 1))
    case = make_case(Z, Z[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30))
    wrong = rng.standard_normal(12)
    coefs, before, after = take_steps(case, np.arange(12), wrong, 0.3 * case.problem.lambda_max)
    assert after < before
    assert ((coefs == 0.0) | (np.sign(coefs) == np.sign(wrong))).all()
    assert (coefs == 0.0).any()


def test_of_dependent_columns_one_leaves(rng):
    values = random_values(rng, 30, 4, density=1.0)
    values = np.column_stack([values, values[:, 0] + values[:, 1]])
    case = make_case(values, values @ [1.0, 1.0, 1.0, 1.0, 1.0])
    coefs, before, after = take_steps(case, np.arange(5), np.ones(5), 1e-3 * case.problem.lambda_max)
    assert after < before
    assert (coefs[[0, 1, 4]] == 0.0).any()


@pytest.mark.parametrize(
    ("gone", "n_new", "asked", "n_rows"),
    [
        ([190, 150, 198], 2, NEWTON_DONE, 199),  # one by one
        ([190, 150, 198], 60, FACTOR, 197),  # out one by one, in together
        (list(range(100, 160)), 100, FACTOR, 200),  # all behind the first together
    ],
)
def test_the_factor_follows_the_active_columns_in_the_cheapest_way(gone, n_new, asked, n_rows, rng):
    Z = rng.standard_normal((320, 300))
    copies = copied(make_case(Z, rng.standard_normal(320)).problem)
    places = np.arange(300)
    work = Work(np.zeros(300), np.zeros(300), np.zeros(321))
    with Workers(1) as workers:
        gram = with_cosines(copies, with_places(empty_gram(320), 300), places, workers)
    work.coefs[:200] = 1.0
    factorize(gram, places[:200])
    work.coefs[gone] = 0.0
    work.coefs[200 : 200 + n_new] = 1.0
    active = np.flatnonzero(work.coefs)
    assert _prepare(copies, work, gram, active) == asked
    assert gram.size[0] == n_rows
    if asked == FACTOR:
        factorize(gram, active)
    n = active.size
    assert set(gram.place_of[:n]) == set(active)
    lower, kept = np.tril(gram.lower[:n, :n]), gram.slot_of[gram.place_of[:n]]
    np.testing.assert_allclose(lower @ lower.T, gram.cosines[np.ix_(kept, kept)], atol=1e-12)

import numpy as np
import pytest

from conftest import Case, all_coefs, make_case, on_gap, solve_point
from fwlasso import lasso_path
from fwlasso._core.penalties import L1
from fwlasso.solvers.protocol import Stopping
from fwlasso.status import Status
from judge import true_gap
from reproduction.solvers.stochastic_descent import StochasticDescent

pytestmark = pytest.mark.usefixtures("baselines")


@pytest.mark.parametrize("ratio", [0.9, 0.1])
def test_its_certificates_are_true(case: Case, ratio):
    penalty = L1(ratio * case.problem.lambda_max)
    outcome = solve_point(case, StochasticDescent(0), penalty, on_gap(case, 1e-9))
    assert outcome.status is Status.CERTIFIED
    gap = true_gap(case.Z, case.y, penalty, all_coefs(outcome.iterate, 40))
    assert gap <= 2e-9 * 0.5 * case.problem.yy + 1e-12


def test_an_epoch_is_p_dot_products(case: Case):
    penalty = L1(0.05 * case.problem.lambda_max)
    outcome = solve_point(case, StochasticDescent(0), penalty, Stopping(1e-3, -1.0, 1))
    assert outcome.status is Status.SETTLED
    assert outcome.n_dots == 40 * outcome.n_iter
    limited = solve_point(case, StochasticDescent(0), penalty, on_gap(case, 0.0), max_iter=3)
    assert (limited.status, limited.n_iter) == (Status.MAX_ITER, 3)


def test_the_seed_decides(rng):
    X, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
    settings = {"alphas": 5, "solver": "scd", "stop": "change"}
    first, again, other = (lasso_path(X, y, random_state=seed, **settings).coefs.toarray() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_gap_falls_geometrically(rng):
    case = make_case(rng.standard_normal((60, 15)), 3 * rng.standard_normal(60))
    penalty = L1(0.05 * case.problem.lambda_max)
    coarse, fine = (solve_point(case, StochasticDescent(0), penalty, on_gap(case, tol)).n_iter for tol in (1e-5, 1e-10))
    assert fine <= 3 * coarse + 10


def test_a_warm_start_is_taken(case: Case):
    penalty, stopping = L1(0.2 * case.problem.lambda_max), on_gap(case, 1e-9)
    first = solve_point(case, StochasticDescent(0), penalty, stopping)
    again = solve_point(case, StochasticDescent(1), penalty, stopping, first.iterate)
    assert again.n_iter <= 5 < first.n_iter

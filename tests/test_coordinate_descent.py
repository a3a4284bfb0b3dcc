import numpy as np
import pytest
from sklearn.linear_model import Lasso as ReferenceLasso

from conftest import Case
from fwlasso.forms import Ball, Penalty
from fwlasso.iterate import zero
from fwlasso.parallel import Workers
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.run import Stopping, run
from fwlasso.status import Status
from test_certificate import independent_gap


def solve(case: Case, weight: float, stopping: Stopping, iterate=None, max_iter: int = 100_000):
    start = zero(case.problem) if iterate is None else iterate
    with Workers(1) as workers:
        return run(
            CoordinateDescent(), case.problem, Penalty(weight), start, stopping, max_iter, workers, lambda *_: None
        )


def coefs(outcome, p: int) -> np.ndarray:
    a = np.zeros(p)
    active, weights = outcome.iterate.coefs()
    a[active] = weights
    return a


@pytest.mark.parametrize("ratio", [0.9, 0.3, 0.03])
def test_it_agrees_with_scikit_learn(case: Case, ratio):
    m, p = case.Z.shape
    weight = ratio * case.problem.lambda_max
    outcome = solve(case, weight, Stopping(-1.0, 1e-11 * 0.5 * case.problem.yy, 1))
    assert outcome.status is Status.CERTIFIED
    a = coefs(outcome, p)
    reference = ReferenceLasso(weight / m, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(case.Z, case.y)
    np.testing.assert_allclose(case.Z @ a, case.Z @ reference.coef_, atol=2e-4)
    assert outcome.gap <= 1e-11 * 0.5 * case.problem.yy
    assert independent_gap(case, Penalty(weight), a) <= 2e-11 * 0.5 * case.problem.yy + 1e-12


def test_a_warm_restart_at_the_solution_changes_nothing(case: Case):
    weight = 0.2 * case.problem.lambda_max
    stopping = Stopping(-1.0, 1e-9 * 0.5 * case.problem.yy, 1)
    first = solve(case, weight, stopping)
    a = coefs(first, 40)
    again = solve(case, weight, stopping, first.iterate)
    np.testing.assert_allclose(coefs(again, 40), a, rtol=1e-4, atol=1e-6)
    assert again.n_iter <= max(10, first.n_iter // 20)  # the gap on the working set may be a little above its share


def test_no_coefficient_above_the_largest_penalty(case: Case):
    outcome = solve(case, case.problem.lambda_max, Stopping(-1.0, 0.0, 1))
    assert outcome.iterate.coefs()[0].size == 0
    assert outcome.status is Status.CERTIFIED


def test_the_change_rule_and_the_iteration_limit_end_it(case: Case):
    weight = 0.05 * case.problem.lambda_max
    assert solve(case, weight, Stopping(1e-3, -1.0, 1)).status in (Status.SETTLED, Status.CERTIFIED)
    assert solve(case, weight, Stopping(-1.0, 0.0, 1), max_iter=3).status is Status.MAX_ITER


def test_the_constrained_form_is_refused(case: Case):
    with Workers(1) as workers, pytest.raises(TypeError, match="penalized"):
        CoordinateDescent().advance(case.problem, Ball(1.0), zero(case.problem), Stopping(-1.0, 0.0, 1), 1, workers)

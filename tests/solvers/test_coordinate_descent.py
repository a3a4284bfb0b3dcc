import numpy as np
import pytest

from conftest import Case, all_coefs, make_case, on_gap, random_values, solve_point
from fwlasso import lasso_path
from fwlasso._core.penalties import L1
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.protocol import Stopping
from fwlasso.status import Status


def solve(case: Case, weight: float, stopping: Stopping, start=None, max_iter: int = 100_000):
    return solve_point(case, CoordinateDescent(), L1(weight), stopping, start, max_iter)


def test_a_warm_restart_at_the_solution_changes_nothing(case: Case):
    weight = 0.2 * case.problem.lambda_max
    stopping = on_gap(case, 1e-9)
    first = solve(case, weight, stopping)
    a = all_coefs(first.iterate, 40)
    again = solve(case, weight, stopping, first.iterate)
    np.testing.assert_allclose(all_coefs(again.iterate, 40), a, rtol=1e-4, atol=1e-6)
    assert again.n_iter <= 10  # the gap on the working set may be a little above its share


def test_the_change_rule_and_the_iteration_limit_end_it(case: Case):
    weight = 0.05 * case.problem.lambda_max
    assert solve(case, weight, Stopping(1e-3, -1.0, 1)).status in (Status.SETTLED, Status.CERTIFIED)
    assert solve(case, weight, Stopping(-1.0, 0.0, 1), max_iter=3).status is Status.MAX_ITER


# Along a path -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((50, 2000)))
    return X, X[:, :8] @ rng.standard_normal(8) + 0.3 * rng.standard_normal(50)


@pytest.mark.compiled
@pytest.mark.parametrize(("stop", "tol"), [("gap", 1e-12), ("change", 1e-11)])
def test_a_small_tolerance_gives_the_certified_path(wide, stop, tol):
    exact = lasso_path(*wide, alphas=30, tol=1e-12, standardize=True)
    path = lasso_path(*wide, alphas=30, solver="cd", stop=stop, tol=tol, standardize=True, max_iter=10**6)
    np.testing.assert_allclose(path.scaled_coefs.toarray(), exact.scaled_coefs.toarray(), atol=1e-6)


@pytest.mark.compiled
def test_a_point_costs_about_one_pass(wide):
    """The strong rule is right about nearly all columns, and what the pass finds serves the next point."""
    path = lasso_path(*wide, alphas=100, solver="cd", stop="paper", tol=1e-3, standardize=True)
    assert path.counters.dot_products <= 130 * 2000
    assert path.counters.iterations.min() >= 1


@pytest.mark.compiled
def test_a_column_that_the_strong_rule_leaves_out_is_taken_in(wide):
    """Penalties more than twice apart: the rule rules out nothing, and every column comes in as a violator."""
    path = lasso_path(*wide, alphas=[0.5, 0.1, 0.02], solver="cd", tol=1e-9, standardize=True, max_iter=10**6)
    assert path.gaps.max() <= 1e-9
    assert path.n_active[-1] > 20


@pytest.mark.compiled
@pytest.mark.parametrize("stop", ["gap", "change"])
def test_the_same_penalty_again_is_another_point(wide, stop):
    """The warm start is scaled in between, however little: what is kept of the point before must follow."""
    settings = {"solver": "cd", "stop": stop, "tol": 1e-3, "standardize": True}
    X, y = wide
    path = lasso_path(X, y, alphas=[0.3, 0.3, 0.2, 0.2, 0.2], **settings)
    assert path.gaps.max() <= (1e-3 if stop == "gap" else 0.1)
    r2 = 1 - ((y[:, None] - path.predict(X)) ** 2).sum(axis=0) / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(path.r2, r2, atol=1e-9)


def test_settled_by_change_no_column_would_change_by_more(wide):
    X, y = wide
    Z, tol = (X - X.mean(axis=0)) / X.std(axis=0), 1e-3
    path = lasso_path(X, y, alphas=20, solver="cd", stop="paper", tol=tol, standardize=True)
    for k in range(20):
        a = path.scaled_coefs[:, [k]].toarray()[:, 0]
        aim = a + Z.T @ (y - y.mean() - Z @ a) / 50
        update = np.sign(aim) * np.maximum(np.abs(aim) - path.alphas[k], 0.0)
        assert np.abs(update - a)[a == 0.0].max() <= 1.5 * tol


def test_covariance_updates_save_dot_products(rng):
    """Correlated columns take thousands of cycles; their inner products are bought once."""
    X = random_values(rng, 200, 60, density=1.0) + 4.0 * rng.standard_normal((200, 1))
    case = make_case(X, X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(200))
    outcome = solve(case, 1e-3 * case.problem.lambda_max, on_gap(case, 1e-9))
    assert outcome.status is Status.CERTIFIED
    assert outcome.n_iter > 300
    assert outcome.n_dots < 20 * outcome.n_iter

import numpy as np
import pytest

from conftest import Case, all_coefs, make_case, on_gap, solve_point
from fwlasso import lasso_path
from fwlasso._core.iterate import zero
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.solvers.protocol import Burst, Stopping
from fwlasso.status import Status
from judge import true_gap
from reproduction.solvers.accelerated_gradient import OURS, SLEP, AcceleratedGradient

pytestmark = pytest.mark.usefixtures("baselines")

NEVER = Stopping(-1.0, -1.0, 1)


def penalties(case: Case):
    return L1(0.1 * case.problem.lambda_max), L1Ball(1.5)


@pytest.mark.parametrize("manner", [OURS, SLEP], ids=["ours", "slep"])
@pytest.mark.parametrize("which", [0, 1], ids=["penalty", "ball"])
def test_its_certificates_are_true(case: Case, which, manner):
    penalty = penalties(case)[which]
    outcome = solve_point(case, AcceleratedGradient(manner), penalty, on_gap(case, 1e-7))
    assert outcome.status is Status.CERTIFIED
    a = all_coefs(outcome.iterate, 40)
    assert true_gap(case.Z, case.y, penalty, a) <= 2e-7 * 0.5 * case.problem.yy + 1e-12
    if which == 1:
        assert np.abs(a).sum() <= 1.5 * (1 + 1e-12)


@pytest.mark.parametrize("which", [0, 1], ids=["penalty", "ball"])
def test_a_warm_start_is_taken(case: Case, which):
    penalty = penalties(case)[which]
    first = solve_point(case, AcceleratedGradient(), penalty, on_gap(case, 1e-6))
    again = solve_point(case, AcceleratedGradient(), penalty, on_gap(case, 1e-6), first.iterate)
    assert again.n_iter <= 3 < first.n_iter


@pytest.mark.compiled
@pytest.mark.parametrize("which", [0, 1], ids=["penalty", "ball"])
def test_the_objective_falls_as_one_over_k_squared(rng, which):
    """f(a_k) - f* <= 2 L ||a*||^2 / (k + 1)^2, where doubling makes L at most twice the largest eigenvalue of X'X."""
    case = make_case(rng.standard_normal((20, 60)) + 2.0 * rng.standard_normal((20, 1)), 5 * rng.standard_normal(20))
    penalty = L1(0.01 * case.problem.lambda_max) if which == 0 else L1Ball(8.0)

    def objective(a: np.ndarray) -> float:
        added = penalty.lam * np.abs(a).sum() if which == 0 else 0.0
        return float(0.5 * ((case.y - case.Z @ a) ** 2).sum() + added)

    best = all_coefs(solve_point(case, AcceleratedGradient(), penalty, on_gap(case, 1e-11)).iterate, 60)
    bound = 4.0 * np.linalg.norm(case.Z, 2) ** 2 * (best @ best)
    solver, iterate = AcceleratedGradient(), zero(case.problem)
    with Workers(1) as workers:
        for k in range(1, 200):
            iterate = solver.advance(Burst(case.problem, penalty, NEVER, 1, workers), iterate).iterate
            assert objective(all_coefs(iterate, 60)) - objective(best) <= bound / (k + 1) ** 2 + 1e-9


@pytest.mark.parametrize(("solver", "grid"), [("apg", "alphas"), ("apg-ball", "radii")])
def test_run_long_it_is_the_certified_path(rng, solver, grid):
    X = rng.standard_normal((60, 25))
    y = X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(60)
    exact = lasso_path(X, y, tol=1e-12, **{grid: 10})
    path = lasso_path(X, y, solver=solver, stop="change", tol=1e-11, max_iter=10**5, **{grid: getattr(exact, grid)})
    np.testing.assert_allclose(path.coefs.toarray(), exact.coefs.toarray(), atol=1e-6)


@pytest.mark.parametrize(("solver", "grid"), [("apg", {"alphas": 6}), ("apg-ball", {"radii": [0.5, 1.0, 2.0]})])
def test_a_step_is_two_products_even_where_a_gap_is_asked_for(rng, solver, grid):
    """p for X'q, p for X a and each of its few trials; a warm start needs no product of its own."""
    X, y = rng.standard_normal((40, 400)), rng.standard_normal(40)
    path = lasso_path(X, y, solver=solver, stop="gap", tol=1e-3, certify=False, **grid)
    assert path.counters.dot_products <= 400 + 2.8 * 400 * path.counters.iterations.sum()


@pytest.mark.parametrize(("solver", "grid"), [("slep", {"alphas": 6}), ("slep-ball", {"radii": [0.5, 1.0, 2.0]})])
def test_slep_searches_for_l_at_every_point(rng, solver, grid):
    """L starts from 1, far below ||X||^2: a point costs X a of its start, and at least two L in its first step."""
    X, y = rng.standard_normal((40, 400)), rng.standard_normal(40)
    path = lasso_path(X, y, solver=solver, stop="change", tol=0.1, certify=False, standardize=True, **grid)
    n_searched = len(path) - (solver == "slep")  # nothing moves at the largest penalty
    least = 2 * path.counters.iterations.sum() + n_searched + len(path) - 1
    assert path.counters.dot_products >= 400 * least


def test_the_change_rule_and_the_iteration_limit_end_it(case: Case):
    for penalty in penalties(case):
        assert solve_point(case, AcceleratedGradient(), penalty, Stopping(1e-2, -1.0, 1)).status is Status.SETTLED
        limited = solve_point(case, AcceleratedGradient(), penalty, on_gap(case, 0.0), max_iter=3)
        assert (limited.status, limited.n_iter) == (Status.MAX_ITER, 3)

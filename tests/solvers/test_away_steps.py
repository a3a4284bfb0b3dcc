import numpy as np
import pytest

from conftest import Case, all_coefs, make_case, on_gap, solve_point
from fwlasso import lasso_path
from fwlasso._core.iterate import objective, refresh, zero
from fwlasso._core.penalties import L1Ball
from fwlasso._core.threads import Workers
from fwlasso.solvers.away_steps import AwayFrankWolfe, away_step, pairwise_step
from fwlasso.solvers.protocol import Burst, Stopping
from fwlasso.status import Status

NEVER = Stopping(-1.0, -1.0, 1)
STEPS = pytest.mark.parametrize("take_step", [away_step, pairwise_step], ids=["away", "pairwise"])


@STEPS
def test_every_iterate_is_feasible_and_the_objective_falls(case: Case, take_step):
    solver, iterate, last = AwayFrankWolfe(take_step), zero(case.problem), np.inf
    with Workers(1) as workers:
        for _ in range(60):
            iterate = solver.advance(Burst(case.problem, L1Ball(2.5), NEVER, 1, workers), iterate).iterate
            a = all_coefs(iterate, 40)
            assert np.abs(a).sum() <= 2.5 * (1 + 1e-12)
            loss = 0.5 * ((case.y - case.Z @ a) ** 2).sum()
            assert loss <= last * (1 + 1e-9) + 1e-12
            assert objective(case.problem, iterate) == pytest.approx(loss, rel=1e-7)
            assert iterate.l1 == pytest.approx(np.abs(a).sum(), rel=1e-9)
            last = loss


@STEPS
def test_run_long_it_is_the_certified_path(rng, take_step):
    X = rng.standard_normal((60, 25))
    y = X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(60)
    exact = lasso_path(X, y, tol=1e-12, radii=10)
    name = "afw" if take_step is away_step else "pfw"
    path = lasso_path(X, y, solver=name, tol=1e-12, max_iter=10**5, radii=exact.radii)
    np.testing.assert_allclose(path.coefs.toarray(), exact.coefs.toarray(), atol=1e-5)


@STEPS
def test_a_solution_inside_the_ball_is_reached_by_the_atom_at_the_origin(rng, take_step):
    X = rng.standard_normal((40, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(40)
    case = make_case(X, y)
    outcome = solve_point(case, AwayFrankWolfe(take_step), L1Ball(50.0), on_gap(case, 1e-10))
    exact, *_ = np.linalg.lstsq(X, y, rcond=None)
    assert outcome.status is Status.CERTIFIED
    np.testing.assert_allclose(all_coefs(outcome.iterate, 4), exact, atol=1e-5)


@STEPS
def test_a_column_that_is_not_needed_is_dropped(rng, take_step):
    """Start where all mass is on columns that do not matter: they leave the list, with nothing left over."""
    X = rng.standard_normal((40, 30))
    case = make_case(X, 5.0 * X[:, 7])
    start = zero(case.problem)
    start.active[:3], start.unscaled[:3] = [1, 2, 3], [0.5, -0.3, 0.2]
    start = refresh(case.problem, start._replace(n_active=3))
    outcome = solve_point(case, AwayFrankWolfe(take_step), L1Ball(1.0), on_gap(case, 1e-8), start)
    assert outcome.status is Status.CERTIFIED
    assert outcome.iterate.coefs()[0].tolist() == [7]
    assert outcome.n_iter < 30


@STEPS
def test_a_step_is_one_pass(rng, take_step):
    X, y = rng.standard_normal((40, 100)), rng.standard_normal(40)
    outcome = solve_point(make_case(X, y), AwayFrankWolfe(take_step), L1Ball(1.0), Stopping(1e-3, -1.0, 1))
    assert outcome.status is Status.SETTLED
    assert outcome.n_dots <= 101 * outcome.n_iter

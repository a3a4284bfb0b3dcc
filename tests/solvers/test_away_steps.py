import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import Case, all_coefs, make_case, on_gap, solve_point
from fwlasso import AdaptiveRule, lasso_path
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


@pytest.fixture(scope="module")
def tall():
    """Return a strongly convex problem and a radius."""
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((60, 40)))
    y = X[:, :8] @ rng.standard_normal(8) + rng.standard_normal(60)
    return X, y, 2.5


def sampled_path(tall, solver="afw", **settings):
    X, y, radius = tall
    known = {"sample_size": 4, "stop": "gap", "tol": 1e-10, "random_state": 0, "radii": [radius]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(X, y, solver=solver, fit_intercept=False, **known | settings)


@pytest.mark.parametrize("solver", ["afw", "pfw"])
def test_a_sample_of_all_columns_gives_the_same_bits(tall, solver):
    paths = [sampled_path(tall, solver, sample_size=size, radii=5) for size in (None, 40, 1.0, 500)]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.coefs.toarray(), paths[0].coefs.toarray())
        assert path.counters.dot_products == paths[0].counters.dot_products


@pytest.mark.parametrize("solver", ["afw", "pfw"])
def test_samples_with_away_steps_are_certified_where_those_without_are_not(tall, solver):
    path, plain = sampled_path(tall, solver), sampled_path(tall, "sfw", block_size=1, max_iter=5000)
    assert path.statuses == (Status.CERTIFIED,)
    assert path.gaps[0] <= 1e-10
    assert path.counters.iterations[0] < 1000
    assert plain.statuses == (Status.MAX_ITER,)
    assert plain.gaps[0] > 1e-6


def test_draws_of_away_steps_are_those_of_the_seed(tall):
    first, again, other = (sampled_path(tall, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.coefs.toarray(), again.coefs.toarray())
    assert not np.array_equal(first.coefs.toarray(), other.coefs.toarray())
    adaptive = sampled_path(tall, sample_size=AdaptiveRule(at_least=2, at_most=0.5), block_size=2)
    assert adaptive.statuses == (Status.CERTIFIED,)


def test_a_sample_without_descent_ends_a_point_only_after_a_round(tall):
    """A step of zero is no evidence of a solution; a round of them is, for float64."""
    settled, stalled = sampled_path(tall, stop="change", tol=0.0), sampled_path(tall, stop="paper", radii=10)
    assert settled.statuses == (Status.SETTLED,)
    assert settled.gaps[0] <= 1e-10
    assert Status.STALLED in stalled.statuses
    with pytest.raises(ValueError, match="sample_size: the rule gave 0"):
        sampled_path(tall, sample_size=lambda p, n_active: 0)

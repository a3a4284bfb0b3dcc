"""The one loop: what a solver says of its gap is proved before it is believed."""

import numpy as np
import pytest

from conftest import Case, make_case, on_gap, random_values, solve_point
from fwlasso import Status
from fwlasso._core.iterate import Iterate, zero
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.problem.claims import certify_iterates
from fwlasso.solvers.away_steps import AwayFrankWolfe, away_step, pairwise_step
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.protocol import Advance, Burst, StepSolver, Stopping


class Liar:
    """A solver that looks at all columns, takes a step or none, and says that it is done."""

    def __init__(self, solver: StepSolver | None = None) -> None:
        self.solver = solver
        self.asked: list[float] = []

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        self.asked.append(burst.stopping.gap)
        if self.solver is not None:
            iterate = self.solver.advance(burst._replace(stopping=Stopping(-1.0, 0.0, 1), max_steps=5), iterate).iterate
        return Advance(iterate, 1, 0, 0.0, Status.CERTIFIED)


@pytest.fixture
def case(rng) -> Case:
    values = random_values(rng, 30, 10)
    return make_case(values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30), units="centred")


@pytest.mark.parametrize("penalty", [L1(0.5), L1Ball(1.0)])
def test_a_solver_that_says_it_is_done_and_is_not_is_given_up(case: Case, penalty):
    liar = Liar()
    outcome = solve_point(case, liar, penalty, Stopping(-1.0, 1e-6 * case.problem.null_loss, 1))
    assert outcome.status is Status.STALLED
    np.testing.assert_allclose(np.diff(np.log2(liar.asked)), -1.0)  # every time it is asked for half the gap
    assert 2 <= outcome.n_iter == len(liar.asked) <= 20
    (claim,) = certify_iterates(case.problem, [penalty], [zero(case.problem)], Workers(1))
    assert outcome.gap == claim.gap > 1e-6 * case.problem.null_loss
    assert outcome.n_proofs == outcome.n_iter


def test_the_iteration_limit_holds_for_liars_too(case: Case):
    outcome = solve_point(case, Liar(), L1(0.5), Stopping(-1.0, 1e-6, 1), max_iter=3)
    assert (outcome.status, outcome.n_iter) == (Status.MAX_ITER, 3)
    assert outcome.gap > 1e-6


def test_what_rounding_leaves_is_told_from_a_stall(case: Case):
    penalty = L1(0.1 * case.problem.lambda_max)
    outcome = solve_point(case, Liar(CoordinateDescent()), penalty, Stopping(-1.0, 0.0, 1))
    assert outcome.status is Status.PRECISION
    (claim,) = certify_iterates(case.problem, [penalty], [outcome.iterate], Workers(1))
    assert outcome.gap == claim.gap
    assert 0.0 < outcome.gap <= 10.0 * claim.rounding
    assert outcome.gap <= 1e-12 * case.problem.null_loss


def test_a_gap_that_is_proved_is_believed(case: Case):
    penalty = L1(0.1 * case.problem.lambda_max)
    goal = 1e-6 * case.problem.null_loss
    outcome = solve_point(case, Liar(CoordinateDescent()), penalty, Stopping(-1.0, goal, 1))
    assert outcome.status is Status.CERTIFIED
    assert outcome.gap <= goal


SOLVE = {
    "cd": (CoordinateDescent(), L1, 3, 10),
    "afw": (AwayFrankWolfe(away_step), L1Ball, 4, 20),
    "pfw": (AwayFrankWolfe(pairwise_step), L1Ball, 4, 20),
}


@pytest.mark.parametrize("name", SOLVE)
def test_the_gap_falls_geometrically(name, rng):
    """Five more digits take about as many steps as the first five; Frank-Wolfe would take 100,000 times as many."""
    solver, kind, times, more = SOLVE[name]
    case = make_case(rng.standard_normal((60, 15)), 3 * rng.standard_normal(60))
    penalty = kind(0.05 * case.problem.lambda_max if kind is L1 else 1.0)
    coarse, fine = (solve_point(case, solver, penalty, on_gap(case, tol)).n_iter for tol in (1e-5, 1e-10))
    assert fine <= times * coarse + more

"""The one loop: what a solver says of its gap is proved before it is believed."""

import numpy as np
import pytest

from conftest import Case, make_case, random_values
from fwlasso import Status
from fwlasso.certificate import certify_iterates
from fwlasso.forms import Ball, Penalty
from fwlasso.iterate import Iterate, zero
from fwlasso.parallel import Workers
from fwlasso.problem import Problem
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.run import Advance, Solver, Stopping, Task, run


class Liar:
    """A solver that looks at all columns, takes a step or none, and says that it is done."""

    def __init__(self, solver: Solver | None = None) -> None:
        self.solver = solver
        self.asked: list[float] = []

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        return problem.xty.size

    def advance(self, task: Task, iterate: Iterate) -> Advance:
        self.asked.append(task.stopping.gap)
        if self.solver is not None:
            iterate = self.solver.advance(task._replace(stopping=Stopping(-1.0, 0.0, 1), max_steps=5), iterate).iterate
        return Advance(iterate, 1, 0, 0.0, Status.CERTIFIED)


@pytest.fixture
def case(rng) -> Case:
    values = random_values(rng, 30, 10)
    return make_case(values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30), units="centred")


def run_on(case: Case, solver: Solver, form, gap: float, max_iter: int = 1000):
    with Workers(1) as workers:
        return run(
            solver, case.problem, form, zero(case.problem), Stopping(-1.0, gap, 1), max_iter, workers, lambda *_: None
        )


@pytest.mark.parametrize("form", [Penalty(0.5), Ball(1.0)])
def test_a_solver_that_says_it_is_done_and_is_not_is_given_up(case: Case, form):
    liar = Liar()
    outcome = run_on(case, liar, form, 1e-6 * case.problem.null_loss)
    assert outcome.status is Status.STALLED
    np.testing.assert_allclose(np.diff(np.log2(liar.asked)), -1.0)  # every time it is asked for half the gap
    assert 2 <= outcome.n_iter == len(liar.asked) <= 20
    (claim,) = certify_iterates(case.problem, [form], [zero(case.problem)], Workers(1))
    assert outcome.gap == claim.gap > 1e-6 * case.problem.null_loss
    assert outcome.n_priced == outcome.n_dots + outcome.n_iter * 10


def test_the_iteration_limit_holds_for_liars_too(case: Case):
    outcome = run_on(case, Liar(), Penalty(0.5), 1e-6, max_iter=3)
    assert (outcome.status, outcome.n_iter) == (Status.MAX_ITER, 3)
    assert outcome.gap > 1e-6


def test_what_rounding_leaves_is_told_from_a_stall(case: Case):
    form = Penalty(0.1 * case.problem.lambda_max)
    outcome = run_on(case, Liar(CoordinateDescent()), form, 0.0)
    assert outcome.status is Status.PRECISION
    (claim,) = certify_iterates(case.problem, [form], [outcome.iterate], Workers(1))
    assert outcome.gap == claim.gap
    assert 0.0 < outcome.gap <= 10.0 * claim.rounding
    assert outcome.gap <= 1e-12 * case.problem.null_loss


def test_a_gap_that_is_proved_is_believed(case: Case):
    form = Penalty(0.1 * case.problem.lambda_max)
    goal = 1e-6 * case.problem.null_loss
    outcome = run_on(case, Liar(CoordinateDescent()), form, goal)
    assert outcome.status is Status.CERTIFIED
    assert outcome.gap <= goal

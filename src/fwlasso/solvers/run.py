"""The one loop: a solver advances in bursts, and this decides when a point of the path is done."""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..certificate import true_gap
from ..forms import Form, best_scale
from ..iterate import Iterate, refresh, rescale
from ..parallel import Workers
from ..problem import Problem
from ..status import Status

# q, S and F are computed anew from the coefficients after this many recursive updates.
_REFRESH_EVERY = 1000


class Stopping(NamedTuple):
    """Absolute thresholds; a negative one never holds."""

    change: float  # of the largest change of a coefficient in a step
    gap: float  # of the duality gap
    max_idle: int  # draws in a row without descent


class Advance(NamedTuple):
    """What a burst of steps did."""

    iterate: Iterate
    n_iter: int
    n_dots: int
    gap: float  # over the columns looked at
    status: Status | None  # None: not done


class Solver(Protocol):
    """An algorithm: it knows how to advance an iterate."""

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return how many columns the next step looks at; all of them make its gap a certificate."""

    def advance(
        self,
        problem: Problem,
        form: Form,
        iterate: Iterate,
        stopping: Stopping,
        max_steps: int,
        workers: Workers,
    ) -> Advance:
        """Take some steps, at least one and at most `max_steps`."""


class Outcome(NamedTuple):
    """How the work on a point ended."""

    iterate: Iterate
    status: Status
    n_iter: int
    n_dots: int
    gap: float  # over the columns looked at last


#: Looks at time, keyboard and callback between bursts, and names the ending if there is one.
Watch = Callable[[Iterate, int, float], Status | None]


def run(
    solver: Solver,
    problem: Problem,
    form: Form,
    iterate: Iterate,
    stopping: Stopping,
    max_iter: int,
    workers: Workers,
    watch: Watch,
) -> Outcome:
    """Solve one point from `iterate`, scaled first to where its ray is best."""
    p = problem.xty.size
    iterate = rescale(iterate, float(best_scale(form, iterate.qq, iterate.qy, iterate.l1)))
    n_iter = n_dots = 0
    while True:
        max_steps, rules, check = max_iter - n_iter, stopping, False
        if stopping.gap >= 0.0 and (n_columns := solver.columns_per_step(problem, iterate)) < p:
            # The gap of a sample is no certificate. A check looks at all columns: let the steps before it look
            # at as many.
            max_steps, rules, check = min(max_steps, math.ceil(p / n_columns)), stopping._replace(gap=-1.0), True
        iterate, steps, dots, gap, status = solver.advance(problem, form, iterate, rules, max_steps, workers)
        n_iter += steps
        n_dots += dots
        if check or iterate.age >= _REFRESH_EVERY:
            iterate = refresh(problem, iterate)
        if check:
            gap = true_gap(problem, form, iterate, workers)
            n_dots += p
            status = Status.CERTIFIED if gap <= stopping.gap else None
        if status is None:
            status = watch(iterate, n_iter, gap)
        if status is None and n_iter >= max_iter:
            status = Status.MAX_ITER
        if status is not None:
            return Outcome(iterate, status, n_iter, n_dots, gap)

"""The one loop: a solver advances in bursts, and this decides when a point of the path is done."""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from .._core.iterate import Iterate, is_stale, refresh, rescale, sums_at
from .._core.penalties import Penalty, warm_scale
from .._core.problem import Problem
from .._core.threads import Workers
from ..problem.certificate import certify_iterates
from ..problem.points import MOSTLY_ROUNDING, Outcome
from ..status import Status

# So many gaps of a solver may be refuted before it is given up, each half of the one before.
_MOST_REFUTED = 10


class Stopping(NamedTuple):
    """Absolute thresholds; a negative one never holds."""

    change: float  # of the largest change of a coefficient in a step
    gap: float  # of the duality gap
    max_idle: int = np.iinfo(np.int64).max  # draws in a row without descent, or fewer if they look at all columns


class Task(NamedTuple):
    """What a solver is asked to do in a burst."""

    problem: Problem
    penalty: Penalty
    stopping: Stopping
    max_steps: int
    workers: Workers


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

    def advance(self, task: Task, iterate: Iterate) -> Advance:
        """Take some steps, at least one and at most `task.max_steps`."""


#: Looks at time, keyboard and callback between bursts, and names the ending if there is one.
Lookout = Callable[[Iterate, int, float], Status | None]


def run(
    solver: Solver,
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    stopping: Stopping,
    max_iter: int,
    workers: Workers,
    watch: Lookout,
) -> Outcome:
    """Solve one point from `iterate`, scaled first as far out as the objective falls.

    A solver that looks at all columns tells a gap by numbers that may have drifted: it is proved before it is believed.
    """
    p = problem.xty.size
    iterate = rescale(iterate, float(warm_scale(penalty, sums_at(problem.yy, iterate))))
    n_iter = n_dots = n_proofs = n_refuted = 0
    n_looks = p  # columns looked at since the last certificate
    gap = math.inf

    def outcome(status: Status) -> Outcome:
        return Outcome(iterate, status, n_iter, n_dots, gap, n_dots + n_proofs * p)

    while True:
        n_columns = p if stopping.gap < 0.0 else solver.columns_per_step(problem, iterate)
        rules, max_steps = stopping._replace(gap=stopping.gap * 0.5**n_refuted), max_iter - n_iter
        if n_columns < p:  # the gap of a sample is no certificate
            # A certificate looks at all columns: one at the start, then one for as many looks of the steps.
            if n_looks >= p or n_iter >= max_iter:
                iterate = refresh(problem, iterate)
                gap, rounding = certify_iterates(problem, [penalty], [iterate], workers)[0]
                n_dots += p
                n_looks = 0
            if gap <= stopping.gap:
                return outcome(Status.CERTIFIED)
            rules = stopping._replace(gap=-1.0)
            max_steps = min(max_steps, math.ceil((p - n_looks) / n_columns))
        if n_iter >= max_iter:
            return outcome(Status.MAX_ITER)
        task = Task(problem, penalty, rules, max_steps, workers)
        iterate, steps, dots, seen_gap, status = solver.advance(task, iterate)
        n_iter += steps
        n_dots += dots
        n_looks += steps * n_columns
        stale = is_stale(iterate)
        if stale or status is Status.CERTIFIED:
            iterate = refresh(problem, iterate)
        if n_columns == p:
            gap = max(seen_gap, 0.0)
            if status is Status.CERTIFIED:
                gap, rounding = certify_iterates(problem, [penalty], [iterate], workers)[0]
                n_proofs += 1
                if gap <= stopping.gap:
                    return outcome(status)
                n_refuted += 1
                status = None
                if n_refuted >= _MOST_REFUTED:
                    status = Status.PRECISION if gap <= MOSTLY_ROUNDING * rounding else Status.STALLED
            if status is not None:
                return outcome(status)
        ending = watch(iterate, n_iter, gap)
        if ending is not None:
            return outcome(ending)

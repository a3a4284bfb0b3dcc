"""Point by point: a solver advances in bursts, and the one loop here decides when a point of the path is done."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from .._core import iterate as iterates
from .._core.costs import at_columns, at_lambda, clip, curvatures, has_ridge, is_plain
from .._core.iterate import Iterate, is_stale, refresh, rescale, sums_at
from .._core.losses import is_quadratic
from .._core.penalties import Penalty, Sums, warm_scale
from .._core.problem import Problem
from .._core.threads import Workers
from ..certified.objectives import certify_points, solution_of
from ..gram.problem import AnyProblem
from ..problem.claims import norm_of
from ..problem.points import MOSTLY_ROUNDING, Guess, Solution, SolvedPath, SolvedPoint, Tell, solved_path
from ..status import Status
from .protocol import Advance, Burst, SolverSettings, StepSolver, Stopping

#: A point, and what ends the path with it, if anything does.
Solved: TypeAlias = tuple[SolvedPoint, Status | None]

# So many gaps of a solver may be refuted before it is given up, each half of the one before.
_MOST_REFUTED = 10
# A sample without descent is drawn again: for the paper's rule up to this many times in a row.
_MAX_IDLE = 3


class PointByPoint:
    """Solves the points of a path one after the other by the steps of a solver, each from the one before."""

    proves, overlap = False, 0

    def __init__(self, solver: StepSolver, settings: SolverSettings) -> None:
        self._solver, self._settings = solver, settings

    def solve(
        self, problem: AnyProblem, penalties: Sequence[Penalty], start: Guess | None, workers: Workers, tell: Tell
    ) -> SolvedPath:
        """Solve points from sparse to dense."""
        return collect(self.each(problem, penalties, start, workers, tell))

    def each(
        self, problem: AnyProblem, penalties: Sequence[Penalty], start: Guess | None, workers: Workers, tell: Tell
    ) -> Iterator[Solved]:
        """Solve points from sparse to dense, one at a time; none is kept."""
        assert isinstance(problem, Problem)
        burst = Burst(problem, penalties[0], _stopping(problem, self._settings), self._settings.max_iter, workers)
        return each_point(self._solver, penalties, start, burst, tell)


def _stopping(problem: Problem, settings: SolverSettings) -> Stopping:
    """Return the absolute thresholds of the stopping rule.

    If no sample brings descent, a point ends after as many draws as it takes to look at all columns once.
    """
    if settings.rule == "gap":
        return Stopping(gap=settings.tol * problem.null_loss)
    if settings.rule == "paper":
        with np.errstate(over="ignore"):
            return Stopping(float(np.ldexp(settings.tol, -problem.units.coef_power)), max_idle=_MAX_IDLE)
    # A coefficient is measured in units of y over units of a column.
    n_varying = np.count_nonzero(problem.norms2)
    column_norm2 = problem.norms2.sum() / n_varying if n_varying else 1.0
    return Stopping(settings.tol * float(np.sqrt(problem.yy / column_norm2)))


def collect(points: Iterable[Solved]) -> SolvedPath:
    """Return points as a path. An unfinished one is left out, unless it is the first."""
    solved = list(points)
    kept = [point for k, (point, _) in enumerate(solved) if k == 0 or not point.status.ends_path]
    return solved_path(kept, solved[-1][1])


def each_point(
    solver: StepSolver, penalties: Sequence[Penalty], start: Guess | None, burst: Burst, tell: Tell
) -> Iterator[Solved]:
    """Solve points one after the other, each as `burst` asks but for its own penalty."""
    problem = burst.problem
    iterate = iterates.zero(problem) if start is None else iterates.at(problem, *start)
    for k, penalty in enumerate(penalties):
        watch = partial(_tell_of, tell, k)
        own = problem._replace(cost=at_lambda(problem.cost, getattr(penalty, "lam", 0.0)))
        done = solve_point(solver, burst._replace(problem=own, penalty=penalty), iterate, watch)
        iterate, status = done.iterate, done.status
        assert status is not None
        ending: Status | None = status
        if not status.ends_path:
            ending = watch(iterate, done.n_iter, done.gap, done=True)
            ending = ending if k + 1 < len(penalties) else None
        yield _solved_point(own, done, status), ending
        if ending is not None:
            return


def _out_of_steps(burst: Burst, done: Advance) -> Advance:
    """Return a point whose steps are used up: with a ridge or another loss less may be proved than was told."""
    problem, penalty, stopping, _, workers = burst
    if stopping.gap < 0.0 or (is_quadratic(problem.loss) and not has_ridge(problem.cost)):
        return done
    iterate = refresh(problem, done.iterate)
    (claim,) = certify_points(problem, [penalty], [iterate], workers)
    status = Status.CERTIFIED if claim.gap <= stopping.gap else done.status
    return done._replace(iterate=iterate, gap=claim.gap, status=status, n_proofs=done.n_proofs + 1)


def _tell_of(tell: Tell, point: int, iterate: Iterate, n_iter: int, gap: float, *, done: bool = False) -> Status | None:
    return tell(point, int(np.count_nonzero(iterate.unscaled[: iterate.n_active])), n_iter, gap, done=done)


def _begin_at(problem: Problem, penalty: Penalty, iterate: Iterate) -> Iterate:
    """Return the warm start of a point, within the bounds; the ridge may be another than that of the point before."""
    if not is_plain(problem.cost):
        iterate = refresh(problem, iterate)
    # Of another loss they tell nothing: its solvers scale points themselves.
    sums = sums_at(problem.yy, iterate) if is_quadratic(problem.loss) else Sums(0.0, 0.0, 0.0, iterate.l1)
    iterate = rescale(iterate, float(warm_scale(penalty, sums)))
    columns, coefs = iterate.coefs()
    inside = clip(problem.cost, columns, coefs)
    return iterate if np.array_equal(inside, coefs) else iterates.at(problem, columns, inside)


def _solved_point(problem: Problem, done: Advance, status: Status) -> SolvedPoint:
    """Return a point in arrays of its own: the next one goes on in those of the iterate."""
    iterate, n_iter, n_dots, gap, _, n_proofs = done
    n = iterate.n_active
    columns, coefs = iterate.active[:n].copy(), iterate.scale * iterate.unscaled[:n]
    solution = Solution(columns, coefs, iterate.qq, iterate.qy, iterate.l1)
    if not is_quadratic(problem.loss):
        solution = solution_of(problem, iterate)
    elif not is_plain(problem.cost):  # neither with the rows of a ridge, nor with coefficients that have no penalty
        squares = float(curvatures(problem.cost, 0.0, columns) @ coefs**2)
        l1 = float(norm_of(at_columns(problem.cost, columns), coefs))
        solution = solution._replace(qq=max(0.0, iterate.qq - squares), l1=l1)
    n_read = n_dots + n_proofs * problem.xty.size  # by one residual each, and columns are taken for average ones
    n_multiplied = n_read * problem.n_entries // problem.xty.size
    return SolvedPoint(solution, status, gap, n_iter, n_dots, n_read=n_read, n_multiplied=n_multiplied)


def solve_point(
    solver: StepSolver, burst: Burst, iterate: Iterate, watch: Callable[[Iterate, int, float], Status | None]
) -> Advance:
    """Solve one point from `iterate`, scaled first as far out as the objective falls.

    A solver that looks at all columns tells a gap by numbers that may have drifted: it is proved before it is believed.
    `watch` looks at time, keyboard and callback between bursts, and names the ending if there is one.
    """
    problem, penalty, stopping, max_iter, workers = burst
    p = problem.xty.size
    iterate = _begin_at(problem, penalty, iterate)
    n_iter = n_dots = n_proofs = n_refuted = 0
    n_looks = p  # columns looked at since the last certificate
    gap = math.inf

    def ended(status: Status) -> Advance:
        return Advance(iterate, n_iter, n_dots, gap, status, n_proofs)

    while True:
        n_columns = p if stopping.gap < 0.0 else solver.columns_per_step(problem, iterate)
        rules, max_steps = stopping._replace(gap=stopping.gap * 0.5**n_refuted), max_iter - n_iter
        if n_columns < p:  # the gap of a sample is no certificate
            # A certificate looks at all columns: one at the start, then one for as many looks of the steps.
            if n_looks >= p or n_iter >= max_iter:
                iterate = refresh(problem, iterate)
                gap, rounding = certify_points(problem, [penalty], [iterate], workers)[0]
                n_dots += p
                n_looks = 0
            if gap <= stopping.gap:
                return ended(Status.CERTIFIED)
            rules = stopping._replace(gap=-math.inf)
            max_steps = min(max_steps, math.ceil((p - n_looks) / n_columns))
        if n_iter >= max_iter:
            return _out_of_steps(burst, ended(Status.MAX_ITER))
        done = solver.advance(burst._replace(stopping=rules, max_steps=max_steps), iterate)
        iterate, status = done.iterate, done.status
        n_iter += done.n_iter
        n_dots += done.n_dots
        n_looks += done.n_iter * n_columns
        if is_stale(problem, iterate) or status is Status.CERTIFIED:
            iterate = refresh(problem, iterate)
        if n_columns == p:
            gap = max(done.gap, 0.0)
            if status is Status.CERTIFIED:
                gap, rounding = certify_points(problem, [penalty], [iterate], workers)[0]
                n_proofs += 1
                if gap <= stopping.gap:
                    return ended(status)
                n_refuted += 1
                status = None
                if n_refuted >= _MOST_REFUTED:
                    status = Status.PRECISION if gap <= MOSTLY_ROUNDING * rounding else Status.STALLED
            if status is not None:
                return ended(status)
        ending = watch(iterate, n_iter, gap)
        if ending is not None:
            return ended(ending)

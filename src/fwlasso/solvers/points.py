"""The points of a path, solved by the solver asked for: point by point, or by the driver of the certified path."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .. import certified as corrective
from .._core import iterate as iterates
from .._core.notices import warn_of_doubt
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.threads import Workers
from ..certified.driver import Guess
from ..gram.problem import GramProblem, solve_on_gram
from ..problem.grid import LARGEST
from ..problem.points import Outcome
from ..status import Status
from .away_steps import AwayFrankWolfe, pairwise_step
from .coordinate_descent import CoordinateDescent
from .run import Solver, Stopping, run

if TYPE_CHECKING:
    from ..options import Options

#: Points, and what ended the path early, if anything did.
Solved = tuple[list[Outcome], Status | None]

# A sample without descent is drawn again: for the paper's rule up to this many times in a row.
_MAX_IDLE = 3


def solve_points(
    problem: Problem | GramProblem,
    penalties: Sequence[Penalty],
    options: "Options",
    seed: int,
    start: Guess | None,
    workers: Workers,
    tell: corrective.Tell,
) -> Solved:
    """Solve the points, from sparse to dense; return them, and what ended them early, if anything did.

    `start` is near the solution of the first point: columns and coefficients as the solver sees them.
    """
    if problem.yy == 0.0:  # there is nothing to explain, and no radius is too large for that
        return [Outcome(iterates.NO_COEFS, Status.CERTIFIED, 0, 0, 0.0, 0)] * len(penalties), None
    if options.entry.make is None:
        goal = options.tolerance * 0.5 * problem.yy
        return solve_certified(problem, penalties, goal, options.max_iter, workers, tell, start)
    assert isinstance(problem, Problem)
    solver = options.entry.make(options.draws(seed))
    stopping = _stopping(problem, options)
    return _follow(solver, problem, penalties, start, stopping, options.max_iter, workers, tell)


def solve_certified(
    problem: Problem | GramProblem,
    penalties: Sequence[Penalty],
    goal: float,
    max_iter: int,
    workers: Workers,
    tell: corrective.Tell,
    start: Guess | None = None,
) -> Solved:
    """Solve the points to duality gaps of at most `goal`: on the Gram matrix, by a working set, or from the storage."""
    if isinstance(problem, GramProblem):
        found, ending = solve_on_gram(problem, penalties, goal, max_iter, workers, tell, start)
        if ending is not None or problem.by_columns is None or not any(map(_is_open, penalties, found)):
            return found, ending
        # Inner products do not prove every gap: columns may.
        again, ending = _solve_on_columns(
            problem, problem.by_columns(workers), penalties, goal, max_iter, workers, tell, start
        )
        return [min(pair, key=lambda one: one.gap) for pair in zip(found, again, strict=False)], ending
    try:
        return corrective.follow(problem, penalties, goal, max_iter, workers, tell, start)
    except corrective.NoRoom as full:
        warn_of_doubt(f"{full} The rest of the path is solved from where the data lie, which takes longer.")
        found = full.outcomes
    is_ball = isinstance(penalties[0], L1Ball)
    solver: Solver = AwayFrankWolfe(pairwise_step) if is_ball else CoordinateDescent()
    start = found[-1].iterate.coefs() if found else start

    def tell_rest(point: int, iterate: iterates.Iterate, n_iter: int, gap: float, *, done: bool) -> Status | None:
        return tell(len(found) + point, iterate, n_iter, gap, done=done)

    stopping = Stopping(-1.0, goal)
    rest, ending = _follow(solver, problem, penalties[len(found) :], start, stopping, max_iter, workers, tell_rest)
    return found + rest, ending


def _solve_on_columns(
    problem: GramProblem,
    columns: Problem,
    penalties: Sequence[Penalty],
    goal: float,
    max_iter: int,
    workers: Workers,
    tell: corrective.Tell,
    start: Guess | None,
) -> Solved:
    """Solve the points of a problem on its columns, whose units may be other powers of two."""
    of_y = problem.units.y_power - columns.units.y_power
    of_coefs = columns.units.coef_power - problem.units.coef_power
    if of_y == of_coefs == 0:
        return solve_certified(columns, penalties, goal, max_iter, workers, tell, start)

    def as_before(iterate: iterates.Iterate) -> iterates.Iterate:
        return iterate._replace(
            weights=np.ldexp(iterate.weights, of_coefs),
            l1=_ldexp(iterate.l1, of_coefs),
            qq=_ldexp(iterate.qq, 2 * of_y),
            qy=_ldexp(iterate.qy, 2 * of_y),
        )

    def tell_before(point: int, iterate: iterates.Iterate, n_iter: int, gap: float, *, done: bool) -> Status | None:
        return tell(point, as_before(iterate), n_iter, _ldexp(gap, 2 * of_y), done=done)

    # lambda is in units of y times units of a column, a radius in those of coefficients.
    own = [
        L1Ball(min(_ldexp(penalty.radius, -of_coefs), LARGEST))
        if isinstance(penalty, L1Ball)
        else L1(_ldexp(penalty.lam, -2 * of_y + of_coefs))
        for penalty in penalties
    ]
    guess = None if start is None else (start[0], np.ldexp(start[1], -of_coefs))
    solved, ending = solve_certified(columns, own, _ldexp(goal, -2 * of_y), max_iter, workers, tell_before, guess)
    return [
        outcome._replace(iterate=as_before(outcome.iterate), gap=_ldexp(outcome.gap, 2 * of_y)) for outcome in solved
    ], ending


def _ldexp(value: float, power: int) -> float:
    """Return 2^power value; what is beyond float64 is infinite."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, power))


def _is_open(penalty: Penalty, outcome: Outcome) -> bool:
    """Tell whether more than the limits of the work kept a point from its gap; least squares has none to reach."""
    return outcome.status in (Status.STALLED, Status.PRECISION) and penalty != L1(0.0)


def _stopping(problem: Problem, options: "Options") -> Stopping:
    """Return the absolute thresholds of the stopping rule.

    Where no sample brings descent, a point ends after as many draws as it takes to look at all columns once.
    """
    if options.rule == "gap":
        return Stopping(-1.0, options.tolerance * 0.5 * problem.yy)
    if options.rule == "paper":
        return Stopping(_ldexp(options.tolerance, -problem.units.coef_power), -1.0, _MAX_IDLE)
    # A coefficient is measured in units of y over units of a column.
    n_varying = np.count_nonzero(problem.norms2)
    column_norm2 = problem.norms2.sum() / n_varying if n_varying else 1.0
    return Stopping(options.tolerance * float(np.sqrt(problem.yy / column_norm2)), -1.0)


def _follow(
    solver: Solver,
    problem: Problem,
    penalties: Sequence[Penalty],
    start: Guess | None,
    stopping: Stopping,
    max_iter: int,
    workers: Workers,
    tell: corrective.Tell,
) -> Solved:
    """Solve the points one after the other; return them, and what ended the path early, if anything did.

    An unfinished point is left out, unless it is the first: there is always an answer.
    """
    outcomes: list[Outcome] = []
    iterate = iterates.zero(problem) if start is None else iterates.at(problem, *start)
    for point, penalty in enumerate(penalties):
        watch = partial(tell, point, done=False)
        outcome = run(solver, problem, penalty, iterate, stopping, max_iter, workers, watch)
        if outcome.status.ends_path:
            return outcomes or [outcome], outcome.status
        iterate = outcome.iterate
        outcomes.append(outcome._replace(iterate=iterate.copy()))  # the next point goes on in the same arrays
        ending = tell(point, iterate, outcome.n_iter, outcome.gap, done=True)
        if ending is not None and point + 1 < len(penalties):
            return outcomes, ending
    return outcomes, None

"""The points of a path, solved by the solver asked for: point by point, or by the driver of the certified path."""

from functools import partial

import numpy as np

from . import corrective
from . import iterate as iterates
from .corrective.follow import Guess
from .forms import Form
from .options import Options
from .parallel import Workers
from .problem import Problem
from .solvers.run import Outcome, Solver, Stopping, run
from .status import Status

# A sample without descent is drawn again: for the paper's rule up to this many times in a row.
_MAX_IDLE = 3


def solve_points(
    problem: Problem,
    forms: list[Form],
    options: Options,
    seed: int,
    start: Guess | None,
    workers: Workers,
    tell: corrective.Tell,
) -> tuple[list[Outcome], Status | None]:
    """Solve the points, from sparse to dense; return them, and what ended them early, if anything did.

    `start` is near the solution of the first point: columns and coefficients as the solver sees them.
    """
    if options.entry.make is None:
        goal = options.tolerance * 0.5 * problem.yy
        return corrective.follow(problem, forms, goal, options.max_iter, workers, tell, start)
    solver = options.entry.make(options.draws(seed))
    stopping = _stopping(problem, options)
    return _follow(solver, problem, forms, start, stopping, options.max_iter, workers, tell)


def _stopping(problem: Problem, options: Options) -> Stopping:
    """Return the absolute thresholds of the stopping rule.

    Where no sample brings descent, a point ends after as many draws as it takes to look at all columns once.
    """
    if options.rule == "gap":
        return Stopping(-1.0, options.tolerance * 0.5 * problem.yy)
    if options.rule == "paper":
        return Stopping(options.tolerance, -1.0, _MAX_IDLE)
    # A coefficient is measured in units of y over units of a column.
    n_varying = np.count_nonzero(problem.norms2)
    column_norm2 = problem.norms2.sum() / n_varying if n_varying else 1.0
    return Stopping(options.tolerance * float(np.sqrt(problem.yy / column_norm2)), -1.0)


def _follow(
    solver: Solver,
    problem: Problem,
    forms: list[Form],
    start: Guess | None,
    stopping: Stopping,
    max_iter: int,
    workers: Workers,
    tell: corrective.Tell,
) -> tuple[list[Outcome], Status | None]:
    """Solve the points one after the other; return them, and what ended the path early, if anything did.

    An unfinished point is left out, unless it is the first: there is always an answer.
    """
    outcomes: list[Outcome] = []
    iterate = iterates.zero(problem) if start is None else iterates.at(problem, *start)
    for point, form in enumerate(forms):
        watch = partial(tell, point, done=False)
        outcome = run(solver, problem, form, iterate, stopping, max_iter, workers, watch)
        if outcome.status.ends_path:
            return outcomes or [outcome], outcome.status
        iterate = outcome.iterate
        outcomes.append(outcome._replace(iterate=iterate.copy()))  # the next point goes on in the same arrays
        ending = tell(point, iterate, outcome.n_iter, outcome.gap, done=True)
        if ending is not None and point + 1 < len(forms):
            return outcomes, ending
    return outcomes, None

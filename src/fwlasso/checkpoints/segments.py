"""A path in segments: each is computed from the last point of the one before alone, and kept as soon as it is solved.

What a segment starts from is what a file holds: the coefficients of a point. So a run that was killed and one that was
not do the same arithmetic, and their paths are the same to the last bit.
"""

import math

import numpy as np

from .._core.iterate import NOTHING, Iterate
from .._core.penalties import Penalty
from .._core.problem import Problem
from .._core.threads import Workers
from ..certified import Tell
from ..gram.problem import GramProblem
from ..options import Options
from ..problem.points import Outcome
from ..solvers.points import solve_points
from ..status import Status
from .folder import Run

# A segment of the certified path begins with a pass over the data and a new working set, one to two passes in all. Ten
# segments would double the passes of a path, five cost half of them, three a fifth.
_N_SEGMENTS = 3


def cut_points(n_points: int) -> list[range]:
    """Return the points of every segment: a function of the number of points alone."""
    size = math.ceil(n_points / _N_SEGMENTS)
    return [range(first, min(first + size, n_points)) for first in range(0, n_points, size)]


def solve_in_segments(
    problem: Problem | GramProblem,
    penalties: list[Penalty],
    options: Options,
    seed: int,
    run: Run | None,
    workers: Workers,
    tell: Tell,
) -> tuple[list[Outcome], Status | None]:
    """Solve the segments that no run holds yet; return all points, and what ended the path early, if anything did.

    A segment that was not finished is a part of what is returned, but not of the run.
    """
    _, p = problem.shape
    solved: list[Outcome] = []
    for number, points in enumerate(cut_points(len(penalties))):
        found = None if run is None else run.segment(number, len(points), p)
        if found is None:
            ear = _Ear(tell, points.start)
            found, ending = _solve_segment(
                problem, penalties, points, solved, options, _seed(seed, number), workers, ear
            )
            if ending is not None:
                return solved + found, ending
            if run is not None:
                run.keep_segment(number, found)
            # An ending that was asked for with the last point of a segment: the solver sees no more points.
            ending = ear.ending
            # As it will be read by whoever goes on.
            found = [_as_kept(outcome) for outcome in found] if run is None else run.segment(number, len(points), p)
            assert found is not None
        else:
            last = found[-1]
            ending = tell(points.stop - 1, last.iterate, last.n_iter, last.gap, done=True)
        solved += found
        if ending is not None and points.stop < len(penalties):
            return solved, ending
    return solved, None


def _solve_segment(
    problem: Problem | GramProblem,
    penalties: list[Penalty],
    points: range,
    solved: list[Outcome],
    options: Options,
    seed: int,
    workers: Workers,
    ear: "_Ear",
) -> tuple[list[Outcome], Status | None]:
    """Solve the points of a segment from the last one before it."""
    if not solved:
        return solve_points(problem, penalties[: points.stop], options, seed, None, workers, ear)
    # The certified path starts with a pass over the data where its start is a solution: at the last point once more.
    n_again = 1 if options.entry.make is None else 0
    ear.n_again = n_again
    start = solved[-1].iterate.coefs()
    found, ending = solve_points(
        problem, penalties[points.start - n_again : points.stop], options, seed, start, workers, ear
    )
    again, new = found[:n_again], [outcome for outcome in found[n_again:] if not outcome.status.ends_path]
    if again and new:  # what it cost is a cost of the next point
        new[0] = new[0]._replace(
            n_iter=new[0].n_iter + again[0].n_iter,
            n_dots=new[0].n_dots + again[0].n_dots,
            n_priced=new[0].n_priced + again[0].n_priced,
        )
    return new, ending


def _as_kept(outcome: Outcome) -> Outcome:
    """Return a point as it is read from a file."""
    columns, coefs = outcome.iterate.coefs()
    return outcome._replace(
        iterate=outcome.iterate._replace(
            active=columns, weights=coefs, fitted=NOTHING, n_active=columns.size, scale=1.0, age=0
        )
    )


def _seed(seed: int, number: int) -> int:
    """Return the seed of a segment."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


class _Ear:
    """Listens to the work on a segment: gives points their place on the path, and remembers what ends it."""

    def __init__(self, tell: Tell, first: int) -> None:
        self._tell = tell
        self._first = first
        self.n_again = 0  # points at the start that were solved before
        self.ending: Status | None = None

    def __call__(self, point: int, iterate: Iterate, n_iter: int, gap: float, *, done: bool) -> Status | None:
        new = point - self.n_again
        self.ending = self._tell(self._first + max(new, 0), iterate, n_iter, gap, done=done and new >= 0)
        return self.ending

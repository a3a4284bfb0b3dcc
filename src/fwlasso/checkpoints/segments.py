"""A path in segments: each is computed from the last point of the one before alone, and kept as soon as it is solved.

What a segment starts from is what a file holds: the coefficients of a point. So a run that was killed and one that was
not do the same arithmetic, and their paths are the same to the last bit.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._core.penalties import Penalty
from .._core.threads import Workers
from ..gram.problem import AnyProblem
from ..problem.points import Guess, SolvedPath, Tell, joined
from ..solvers.protocol import PathSolver, SolverSettings
from ..status import Status
from .folder import Checkpoint

# A segment of the certified path begins with a pass over the data and a new working set, one to two passes in all. Ten
# segments would double the passes of a path, five cost half of them, three a fifth.
_N_SEGMENTS = 3


def cut_points(n_points: int) -> list[range]:
    """Return the points of every segment: a function of the number of points alone."""
    size = math.ceil(n_points / _N_SEGMENTS)
    return [range(first, min(first + size, n_points)) for first in range(0, n_points, size)]


class InSegments:
    """Solves a path in segments, each by a solver of its own; a run, if there is one, keeps them with the same bits."""

    overlap = 0

    def __init__(
        self, make: Callable[[SolverSettings], PathSolver], settings: SolverSettings, run: Checkpoint | None
    ) -> None:
        self._make, self._settings, self._run = make, settings, run
        self.proves = make(settings).proves

    def solve(
        self, problem: AnyProblem, penalties: Sequence[Penalty], start: Guess | None, workers: Workers, tell: Tell
    ) -> SolvedPath:
        """Solve the segments that the run does not hold yet, from nothing: whoever goes on has no `start`.

        A segment that was not finished is a part of what is returned, but not of the run.
        """
        run, solved = self._run, list[SolvedPath]()
        for number, points in enumerate(cut_points(len(penalties))):
            found = None if run is None else run.segment(number, len(points), problem.shape[1])
            if found is None:
                solver = self._make(self._settings._replace(seed=_seed(self._settings.seed, number)))
                n_again = solver.overlap if solved else 0
                watch = _SegmentTell(tell, points.start, n_again)
                last = solved[-1].support(solved[-1].n_points - 1) if solved else None
                path = solver.solve(problem, penalties[points.start - n_again : points.stop], last, workers, watch)
                found = _without_overlap(path, n_again, bool(solved))
                if path.ending is not None:
                    return joined([*solved, found], path.ending)
                found = found.in_order()  # as it will be read by whoever goes on
                if run is not None:
                    run.save_segment(number, found)
                # An ending that was asked for with the last point of a segment: the solver sees no more points.
                ending = watch.ending
            else:
                n_active, n_iter, gap = int(np.diff(found.indptr)[-1]), int(found.counts[-1, 0]), float(found.gaps[-1])
                ending = tell(points.stop - 1, n_active, n_iter, gap, done=True)
            solved.append(found)
            if ending is not None and points.stop < len(penalties):
                return joined(solved, ending)
        return joined(solved)


def _without_overlap(found: SolvedPath, n_again: int, has_others: bool) -> SolvedPath:
    """Return the new points of a segment, with what it took to solve the last one once more as a cost of the first.

    One that was begun and not solved, the last, is left out, unless there are no others.
    """
    n_solved = found.n_points - (has_others and found.statuses[-1].ends_path)
    new = found.between(n_again, max(n_again, n_solved))
    if n_again and new.n_points:
        new.counts[0] += found.counts[:n_again].sum(axis=0)
    return new


def _seed(seed: int, number: int) -> int:
    """Return the seed of a segment."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


class _SegmentTell:
    """Tells of the work on a segment: gives points their place on the path, and remembers what ends it."""

    def __init__(self, tell: Tell, first: int, n_again: int) -> None:
        self._tell, self._first, self._n_again = tell, first, n_again
        self.ending: Status | None = None

    def __call__(self, point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
        new = point - self._n_again
        self.ending = self._tell(self._first + max(new, 0), n_active, n_iter, gap, done=done and new >= 0)
        return self.ending

"""Paths whose coefficients are not kept: a hundred dense models of millions of features do not fit into memory."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import numpy as np
import scipy.sparse as sp

from fwlasso._core.columns import Vector
from fwlasso._core.penalties import Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.gram.problem import GramProblem
from fwlasso.problem.points import Guess, Solution, SolvedPath, SolvedPoint, Tell, solved_path
from fwlasso.solvers.pointwise import PointByPoint, Solved, collect
from fwlasso.solvers.protocol import PathSolver
from fwlasso.solvers.registry import SOLVERS

#: Is shown coefficients (p x points) and intercepts of some points of a path, and then of the next ones.
Look: TypeAlias = Callable[[sp.csc_array, Vector], None]

#: Coefficients that are kept until they are shown.
MOST_COEFS: Final = 1_000_000


@contextmanager
def looked_at(solver: str, look: Look | None) -> Iterator[list[float]]:
    """Within this context a solver shows its models to `look`, and its paths have none; yield how long it looked."""
    seconds: list[float] = []
    entry = SOLVERS[solver]
    if look is not None:
        SOLVERS[solver] = entry._replace(make=lambda settings: _InBatches(entry.make(settings), look, seconds))
    try:
        yield seconds
    finally:
        SOLVERS[solver] = entry


def _point(path: SolvedPath, k: int) -> SolvedPoint:
    """Return a point by itself."""
    numbers = float(path.gaps[k]), *path.counts[k].tolist()
    return SolvedPoint(Solution(*path.support(k), *path.sums[k].tolist()), path.statuses[k], *numbers)


class _InBatches:
    """Solves a path by another solver of paths, and shows and empties its points, as many at a time as are kept."""

    def __init__(self, solver: PathSolver, look: Look, seconds: list[float]) -> None:
        self._solver, self._look, self._seconds = solver, look, seconds
        self.proves, self.overlap = solver.proves, solver.overlap

    def solve(
        self,
        problem: Problem | GramProblem,
        penalties: Sequence[Penalty],
        start: Guess | None,
        workers: Workers,
        tell: Tell,
    ) -> SolvedPath:
        """Solve points from sparse to dense; only those of a point-by-point solver are not all in memory at once."""
        given = problem, penalties, start, workers, tell
        if isinstance(self._solver, PointByPoint):
            return collect(self._emptied(problem, self._solver.each(*given)))
        path = self._solver.solve(*given)
        return collect(self._emptied(problem, ((_point(path, k), path.ending) for k in range(path.n_points))))

    def _emptied(self, problem: Problem | GramProblem, points: Iterable[Solved]) -> Iterator[Solved]:
        batch: list[SolvedPoint] = []
        for point, ending in points:
            batch.append(point)
            if sum(held.solution.columns.size for held in batch) > MOST_COEFS:
                self._show(problem, batch)
                batch = []
            nothing = point.solution._replace(columns=np.empty(0, np.int64), coefs=np.empty(0))
            yield point._replace(solution=nothing), ending
        if batch:
            self._show(problem, batch)

    def _show(self, problem: Problem | GramProblem, batch: list[SolvedPoint]) -> None:
        began = time.perf_counter()
        path = solved_path(batch).in_order()
        coefs, intercepts = problem.transform.to_user_units(path.indptr, path.columns, path.coefs)
        self._look(sp.csc_array((coefs, path.columns, path.indptr), (problem.shape[1], len(batch))), intercepts)
        self._seconds.append(time.perf_counter() - began)

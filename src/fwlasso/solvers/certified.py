"""The certified path as a solver: on the Gram matrix, by a working set, or from the storage."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.costs import has_ridge
from .._core.losses import has_diagonal, is_quadratic
from .._core.notices import warn_of_doubt
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.threads import Workers
from ..certified import NoRoom, follow
from ..data.elsewhere import remote_of
from ..gram.problem import AnyProblem, solve_on_gram
from ..problem.grid import LARGEST
from ..problem.passes import make_pass
from ..problem.points import Guess, SolvedPath, Tell, joined, plus, solved_path
from ..status import Status
from .away_steps import AwayFrankWolfe, pairwise_step
from .coordinate_descent import CoordinateDescent
from .pointwise import collect, each_point
from .protocol import Burst, SolverSettings, StepSolver, Stopping

# Who goes on if the columns that matter do not fit into memory.
_FROM_STORAGE: dict[type, Callable[[], StepSolver]] = {
    L1: CoordinateDescent,
    L1Ball: lambda: AwayFrankWolfe(pairwise_step),
}


class Certified:
    """Solves points to duality gaps over all columns; a segment begins with a pass at the point that it starts from."""

    proves, overlap = True, 1

    def __init__(self, settings: SolverSettings) -> None:
        self._tol, self._max_iter, self._polish = settings.tol, settings.max_iter, settings.polish

    def solve(
        self, problem: AnyProblem, penalties: Sequence[Penalty], start: Guess | None, workers: Workers, tell: Tell
    ) -> SolvedPath:
        """Solve points from sparse to dense."""
        goal = self._tol * problem.null_loss
        if isinstance(problem, Problem):
            return self._solve_on_columns(problem, penalties, goal, start, workers, tell)
        found = solve_on_gram(problem, penalties, goal, self._max_iter, workers, tell=tell, start=start)
        is_open = [status in (Status.STALLED, Status.PRECISION) for status in found.statuses]
        if penalties[-1] == L1(0.0) and not has_ridge(problem.cost):  # least squares has no gap to reach
            is_open = is_open[: penalties.index(L1(0.0))]
        if found.ending is not None or problem.by_columns is None or True not in is_open:
            return found
        # Inner products do not prove every gap: columns may, whose units may be other powers of two.
        columns = problem.by_columns(workers)
        of_y = problem.units.y_power - columns.units.y_power
        of_coefs = columns.units.coef_power - problem.units.coef_power

        def tell_scaled(point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
            return tell(point, n_active, n_iter, _ldexp(gap, 2 * of_y), done=done)

        own = [_in_units(penalty, of_y, of_coefs) for penalty in penalties]
        guess = None if start is None else columns.counted(start[0], np.ldexp(start[1], -of_coefs))
        again = self._solve_on_columns(columns, own, _ldexp(goal, -2 * of_y), guess, workers, tell_scaled)
        again = plus(again, *columns.null[:2])
        with np.errstate(over="ignore"):
            again = again._replace(
                coefs=np.ldexp(again.coefs, of_coefs),
                sums=np.ldexp(again.sums, [2 * of_y, 2 * of_y, of_coefs, 0]),
                gaps=np.ldexp(again.gaps, 2 * of_y),
            )
        again.sums[:, :2] += problem.yy - 2.0 * problem.null.loss  # of the fit, not of what it adds to the null model
        n = min(found.n_points, again.n_points)
        is_better = (again.gaps[:n] < found.gaps[:n]).tolist()
        best = [(again if better else found).between(k, k + 1) for k, better in enumerate(is_better)]
        return joined(best, again.ending)

    def _solve_on_columns(
        self,
        problem: Problem,
        penalties: Sequence[Penalty],
        goal: float,
        start: Guess | None,
        workers: Workers,
        tell: Tell,
    ) -> SolvedPath:
        """Solve points by a working set; from the storage, once its columns do not fit into memory."""
        polish = not is_quadratic(problem.loss) and (self._polish or not has_diagonal(problem.loss))
        try:
            columns = make_pass(problem, workers)
            asked: Any = {"tell": tell, "guess": start, "polish": polish, "columns": columns}
            return follow(problem, penalties, goal, self._max_iter, workers, **asked)
        except NoRoom as full:
            has_vertices = not (
                isinstance(penalties[0], L1Ball) and problem.null.columns.size
            )  # as `_FROM_STORAGE` asks
            if not (is_quadratic(problem.loss) and has_vertices) or remote_of(problem.X) is not None:
                if not full.points:
                    raise MemoryError(str(full)) from None
                return solved_path(full.points, Status.NO_ROOM)
            warn_of_doubt(f"{full} The rest of the path is solved on the data in place, which takes longer.")
            solved = [solved_path(full.points)] if full.points else []
            n = len(full.points)

        def tell_rest(point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
            return tell(n + point, n_active, n_iter, gap, done=done)

        solver = _FROM_STORAGE[type(penalties[0])]()
        burst = Burst(problem, penalties[n], Stopping(gap=goal), self._max_iter, workers)
        last = solved[0].support(n - 1) if solved else start
        rest = collect(each_point(solver, penalties[n:], last, burst, tell_rest))
        return joined([*solved, rest], rest.ending)


def _in_units(penalty: Penalty, of_y: int, of_coefs: int) -> Penalty:
    """Return a penalty in other units: lambda is in those of y times a column, a radius in those of coefficients."""
    powers = {"lam": of_coefs - 2 * of_y, "radius": -of_coefs}
    scaled = {name: min(_ldexp(value, powers[name]), LARGEST) for name, value in penalty._asdict().items()}
    return penalty._replace(**scaled)


def _ldexp(value: float, power: int) -> float:
    """Return 2^power value; what is beyond float64 is infinite."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, power))

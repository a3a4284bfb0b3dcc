"""Cyclic coordinate descent for the penalized Lasso, in the manner of glmnet.

A point is solved on a working set: the active columns and those that the sequential strong rule keeps,
|z_j'r| >= 2 lambda - lambda' with the residual r of the point before and its penalty lambda', if its sign is allowed;
columns without a penalty are always in it, and solved together after every burst. Most cycles go over the
nonzero coefficients only, by the residual or by inner products, whichever is cheaper. Then all columns are read,
those that are not optimal are taken in, and it goes on. What the pass finds serves the strong rule of the next point.
"""

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.costs import fill_pulls, is_plain
from .._core.iterate import Iterate, correlation, minimise_along, refresh
from .._core.jit import kernel
from .._core.penalties import L1, ROUNDING
from .._core.problem import Problem
from .._core.samples import to_root
from .._core.threads import one_blas_thread
from ..problem.certificate import estimate_gap, residual
from ..problem.claims import gap_of
from ..problem.points import BURST_BYTES
from ..status import Status
from .correlations import correlations, largest
from .covariances import Covariances, cycle_by_covariances
from .protocol import Advance, Burst, Stopping

Indices = NDArray[np.int64]

# Cycles of one burst, however large the data.
_FEWEST_CYCLES = 10
# Columns taken in at once: as many as there are in the working set, but at least this many.
_FEWEST_TAKEN = 32
# On the way to a gap, cycles go on to a change that is expected to bring this share of it.
_SHARE = 0.3


class CoordinateDescent:
    """Coordinate descent with the strong rule. A step is one cycle, over whatever set.

    By the change rule a point is done when a cycle over the working set changes no coefficient by more than the
    threshold, and none outside of it would be. Every pass over the data reads all columns: p dot products.
    """

    def __init__(self) -> None:
        self._last: Iterate | None = None  # as it was returned
        self._corrs = np.empty(0)  # z_j'(y - q) of all columns at the last pass
        self._lam = 0.0  # its penalty
        self._goal = np.inf  # change that ends the cycles on the way to a gap
        self._covariances = Covariances()

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p: the gap it tells is over all columns, or not known and infinite."""
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Cycle on the working set; once it is solved, correlate all columns and take in those that are not optimal."""
        problem, penalty, stopping, max_steps, workers = burst
        n_dots = 0
        if iterate is not self._last:  # a new point
            kept = iterate.active[: iterate.n_active][iterate.unscaled[: iterate.n_active] != 0.0]
            kept = np.union1d(kept, problem.null.columns)
            iterate = _with_columns(iterate, np.union1d(kept, self._strong_set(problem, penalty, iterate)))
            n_dots += kept.size
            iterate = refresh(problem, iterate)
        goal = self._change_goal(problem, stopping)
        cycle_bytes = max(1, iterate.n_active * (problem.nbytes // problem.xty.size))
        max_cycles = min(max_steps, max(_FEWEST_CYCLES, max(problem.nbytes, BURST_BYTES) // cycle_bytes))
        change, n_cycles, n_cycled = self._cycle(problem, penalty.lam, iterate, goal, max_cycles)
        if problem.null.columns.size:
            n_dots += _solve_free(problem, iterate)
        self._last = iterate = refresh(problem, iterate)
        n_dots += n_cycled + int(np.count_nonzero(iterate.unscaled[: iterate.n_active]))
        if change > goal and n_cycles < max_steps:  # a burst is over, the working set is not solved
            return Advance(iterate, n_cycles, n_dots, np.inf, None)
        self._corrs, n_read = correlations(problem, iterate, workers)
        self._lam = penalty.lam
        n_dots += n_read
        if is_plain(problem.cost):
            gap = estimate_gap(problem, penalty, iterate, largest(self._corrs))
        else:
            gap = gap_of(problem, penalty, iterate, self._corrs)
        if gap <= stopping.gap:
            return Advance(iterate, n_cycles, n_dots, gap, Status.CERTIFIED)
        violators = self._violators(problem, penalty, iterate, max(stopping.change, 0.0))
        if violators.size == 0 and change <= max(stopping.change, 0.0):
            return Advance(iterate, n_cycles, n_dots, gap, Status.SETTLED)
        if violators.size == 0 and change <= goal:
            self._goal = goal * min(0.5, _SHARE * stopping.gap / gap)  # the gap falls as the change does
        working_set = np.concatenate([iterate.active[: iterate.n_active], violators])
        self._last = iterate = _with_columns(iterate, working_set)
        return Advance(iterate, n_cycles, n_dots, gap, None)

    def _strong_set(self, problem: Problem, penalty: L1, iterate: Iterate) -> Indices:
        """Return the columns that the strong rule keeps; none where it rules nothing out or nothing is known."""
        corrs, last_lam = self._corrs, self._lam
        if self._last is None and iterate.l1 == 0.0:
            corrs, last_lam = problem.xty, problem.lambda_max
        bound = 2.0 * penalty.lam - last_lam
        return np.flatnonzero(_pulls(problem, corrs) >= bound) if bound > 0.0 else np.empty(0, np.int64)

    def _change_goal(self, problem: Problem, stopping: Stopping) -> float:
        """Return the change that ends the cycles: the threshold, or on the way to a gap, one that leads there."""
        if stopping.gap < 0.0:
            return stopping.change
        if self._goal == np.inf:  # a coordinate's step lowers the objective by 1/2 z_j'z_j change^2
            self._goal = _SHARE * float(np.sqrt(2.0 * stopping.gap / max(problem.norms2.max(), 1e-300)))
        return self._goal

    def _violators(self, problem: Problem, penalty: L1, iterate: Iterate, threshold: float) -> Indices:
        """Return columns outside of the working set that a cycle would change by more than `threshold`.

        At most as many as there are in the working set: those with the largest pulls.
        """
        excess = _pulls(problem, self._corrs)
        excess -= penalty.lam
        excess[iterate.active[: iterate.n_active]] = 0.0
        violators = np.flatnonzero(excess > threshold * problem.norms2)
        n_taken = max(_FEWEST_TAKEN, iterate.n_active)
        if violators.size <= n_taken:
            return violators
        return np.sort(violators[np.argsort(-excess[violators], kind="stable")[:n_taken]])

    def _cycle(
        self, problem: Problem, lam: float, iterate: Iterate, goal: float, max_cycles: int
    ) -> tuple[float, int, int]:
        """Cycle until a cycle over the working set changes no coefficient by more than `goal`.

        In between, cycle over the nonzero coefficients until they settle. Return the change of the last cycle over
        the working set, the number of cycles and that of dot products.
        """
        everywhere = np.arange(iterate.n_active)
        n_cycles = n_dots = 0
        while True:
            change, _ = _cycle_over(problem, lam, iterate, everywhere, goal, 1)
            n_cycles += 1
            n_dots += everywhere.size
            if change <= goal or n_cycles >= max_cycles:
                return change, n_cycles, n_dots
            places = np.flatnonzero(iterate.unscaled[: iterate.n_active])
            done, dots = self._cycle_nonzeros(problem, lam, iterate, places, goal, max_cycles - n_cycles)
            n_cycles += done
            n_dots += dots
            if n_cycles >= max_cycles:
                return change, n_cycles, n_dots

    def _cycle_nonzeros(
        self, problem: Problem, lam: float, iterate: Iterate, places: Indices, goal: float, max_cycles: int
    ) -> tuple[int, int]:
        """Cycle over the coefficients at `places` until they settle; return the cycles and the dot products."""
        columns = iterate.active[places]
        if self._covariances.pay_off(problem, columns):
            n_missing = self._covariances.n_missing(columns)
            gram = self._covariances.among(problem, columns)
            n_cycles = cycle_by_covariances(problem, lam, iterate, places, gram, goal, max_cycles=max_cycles)
            return n_cycles, n_missing + places.size
        # Once as many dot products are spent as the inner products cost, the choice is made again.
        enough = 1 + self._covariances.n_missing(columns) // max(1, places.size)
        _, n_cycles = _cycle_over(problem, lam, iterate, places, goal, min(max_cycles, enough))
        self._covariances.spend(n_cycles * places.size)
        return n_cycles, n_cycles * places.size


def _solve_free(problem: Problem, iterate: Iterate) -> int:
    """Solve for the coefficients without a penalty, in place, given the others; return the dot products.

    All of them are in the list, which is in increasing order. The fitted values do not follow yet.
    """
    columns = problem.null.columns
    with one_blas_thread():
        more, _ = problem.null.explain(to_root(problem.samples, residual(problem, iterate))[:-1])
    iterate.unscaled[np.searchsorted(iterate.active[: iterate.n_active], columns)] += more
    return columns.size


def _pulls(problem: Problem, corrs: Vector) -> Vector:
    pulls = np.empty_like(corrs)
    fill_pulls(problem.cost, corrs, pulls)
    return pulls


def _with_columns(iterate: Iterate, columns: Indices) -> Iterate:
    """Return the same point with `columns` in its list: all that have a coefficient, and others at zero."""
    columns = np.unique(columns)
    active, unscaled = iterate.active[: iterate.n_active], iterate.unscaled[: iterate.n_active]
    nonzero = np.flatnonzero(unscaled)
    scattered = np.zeros(columns.size)
    scattered[np.searchsorted(columns, active[nonzero])] = unscaled[nonzero]
    return iterate._replace(active=columns, unscaled=scattered, n_active=columns.size)


@kernel
def _cycle_over(
    problem: Problem, lam: float, iterate: Iterate, places: Indices, goal: float, max_cycles: int
) -> tuple[float, int]:
    """Cycle over the columns at `places` until a cycle's change is small; return that change and the cycles.

    `iterate` has scale 1, and is changed in place.
    """
    active, unscaled, fitted = iterate.active, iterate.unscaled, iterate.fitted
    n_cycles = 0
    change = np.inf
    while n_cycles < max_cycles and change > goal:
        change = 0.0
        largest = 0.0
        for k in places:
            j = active[k]
            if problem.norms2[j] > 0.0:
                new = minimise_along(problem, j, unscaled[k], correlation(problem, iterate, j), lam, fitted)
                change = max(change, abs(new - unscaled[k]))
                largest = max(largest, abs(new))
                unscaled[k] = new
        n_cycles += 1
        if change <= ROUNDING * largest:  # nothing but rounding
            change = 0.0
    return change, n_cycles

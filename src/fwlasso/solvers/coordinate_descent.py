"""Cyclic coordinate descent for the penalized Lasso: the reference that the other solvers are held against.

It cycles over a working set, then prices all columns, takes in those with |z_j'(y - q)| > lambda, and goes on
until the duality gap over all columns is small. The working set is the active list, zeros included.
"""

import numpy as np

from .._jit import kernel
from ..certificate import gap_of
from ..columns import Vector, add_column, cut_columns
from ..forms import Form, Penalty, duality_gap
from ..iterate import Iterate, correlation, inner_products, refresh
from ..oracle import scan_active
from ..parallel import Workers
from ..problem import Problem
from ..status import Status
from .run import BURST_BYTES, Advance, Stopping

# The gap on the working set is looked at after this many cycles, and driven to this share of the gap asked for.
_CYCLES, _SHARE = 10, 0.3
# Columns taken in at once: as many as there are in the working set, but at least this many.
_FEWEST_TAKEN = 32
# Without a gap to reach, cycle until it is this small relative to 1/2 y'y.
_DEFAULT_GAP = 1e-9


class CoordinateDescent:
    """Coordinate descent on a growing working set. A step is one cycle over it."""

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p: every advance ends with a look at all columns."""
        return problem.xty.size

    def advance(
        self,
        problem: Problem,
        form: Form,
        iterate: Iterate,
        stopping: Stopping,
        max_steps: int,
        workers: Workers,
    ) -> Advance:
        """Solve on the working set, price all columns and take in the worst of those that are not optimal."""
        if not isinstance(form, Penalty):
            raise TypeError("coordinate descent solves the penalized form")
        p = problem.xty.size
        target = stopping.gap if stopping.gap >= 0.0 else _DEFAULT_GAP * 0.5 * problem.yy
        iterate = refresh(problem, iterate)
        # No more work than a look at all columns, or than a burst.
        cycle_bytes = max(1, iterate.n_active * (problem.nbytes // p))
        n_most = min(max_steps, max(_CYCLES, max(problem.nbytes, BURST_BYTES) // cycle_bytes))
        change, n_cycles = _cycle(problem, form, iterate, _SHARE * target, stopping.change, n_most)
        iterate = refresh(problem, iterate)
        n_dots = n_cycles * iterate.n_active + p
        n_cycles = max(1, n_cycles)  # an empty working set counts as a cycle, so that every advance does
        corrs = np.empty(p)
        workers.run(lambda lo, hi: _correlations(problem, iterate, lo, hi, corrs), cut_columns(problem.X))
        np.abs(corrs, out=corrs)
        gap = gap_of(problem, form, iterate, float(corrs.max()))
        if gap <= target:
            return Advance(iterate, n_cycles, n_dots, gap, Status.CERTIFIED)
        corrs[iterate.active[: iterate.n_active]] = 0.0
        violators = np.flatnonzero(corrs > form.weight)
        if violators.size == 0 and change <= max(stopping.change, 0.0):
            return Advance(iterate, n_cycles, n_dots, gap, Status.SETTLED)
        n_taken = min(violators.size, max(_FEWEST_TAKEN, iterate.n_active))
        taken = violators[np.argsort(-corrs[violators], kind="stable")[:n_taken]]
        return Advance(_take_in(iterate, np.sort(taken)), n_cycles, n_dots, gap, None)


def _take_in(iterate: Iterate, columns: Vector) -> Iterate:
    """Return the same point with `columns` in the working set, at zero; columns that left it are dropped."""
    kept = np.flatnonzero(iterate.weights[: iterate.n_active])
    return iterate._replace(
        active=np.concatenate([iterate.active[kept], columns]),
        weights=np.concatenate([iterate.weights[kept], np.zeros(columns.size)]),
        n_active=kept.size + columns.size,
    )


@kernel
def _correlations(problem: Problem, iterate: Iterate, lo: int, hi: int, out: Vector) -> None:
    for j in range(lo, hi):
        out[j] = correlation(problem, iterate, j)


@kernel
def _cycle(
    problem: Problem, form: Penalty, iterate: Iterate, gap_goal: float, change_goal: float, max_cycles: int
) -> tuple[float, int]:
    """Cycle until the gap on the working set or the change of a cycle is small; return that change and the cycles.

    a_j <- soft(a_j z_j'z_j + z_j'(y - q), lambda) / z_j'z_j, on `iterate` with scale 1, in place.
    """
    active, weights, fitted = iterate.active, iterate.weights, iterate.fitted
    change = gap = np.inf
    n_cycles = 0
    while n_cycles < max_cycles and iterate.n_active > 0:
        change = 0.0
        for k in range(iterate.n_active):
            j = active[k]
            norm2 = problem.norms2[j]
            if norm2 > 0.0:
                aim = weights[k] * norm2 + correlation(problem, iterate, j)
                new = np.sign(aim) * max(abs(aim) - form.weight, 0.0) / norm2
                if new != weights[k]:
                    add_column(problem.X, j, new - weights[k], fitted)
                    change = max(change, abs(new - weights[k]))
                    weights[k] = new
        n_cycles += 1
        if change <= change_goal or change == 0.0:
            break
        if n_cycles % _CYCLES == 0:
            qq, qy, l1 = inner_products(problem, iterate)
            _, corr = scan_active(problem, iterate)
            last_gap, gap = gap, duality_gap(form, problem.yy, qq, qy, l1, abs(corr))
            if gap <= gap_goal or not gap < last_gap:  # the latter: as good as rounding lets it become
                break
    return change, n_cycles

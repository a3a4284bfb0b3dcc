"""How exact a solution is: duality gaps over all columns, in float64, independent of any solver.

The gap bounds how far the objective is above its minimum. It needs M = ||X'r||_inf over all p columns, one pass
over the data for any number of residuals r.
"""

import math
from collections.abc import Sequence

import numpy as np

from ._jit import kernel
from .columns import Columns, Vector, Vectors, cut_columns, dot_each, side_by_side
from .forms import Form, duality_gap
from .iterate import Iterate
from .parallel import Workers
from .problem import Problem


def max_correlations(X: Columns, residuals: Sequence[Vector], workers: Workers) -> Vector:
    """Return ||X'r||_inf for every one of some residuals, in one pass over the data.

    Infinite where ||r|| is not finite: max() passes over what is not a number. Where it is, all products are.
    """
    together, n = side_by_side(X, residuals), len(residuals)
    found = workers.sweep(lambda lo, hi: _max_correlations(X, together, lo, hi), cut_columns(X, n))
    with np.errstate(over="ignore"):
        known = [np.isfinite(np.sum(r[:-1] ** 2)) for r in residuals]
    return np.where(known, np.max(found, axis=0)[:n], np.inf)


@kernel
def _max_correlations(X: Columns, residuals: Vectors, lo: int, hi: int) -> Vector:
    largest, corrs = np.zeros(residuals.n), np.empty(residuals.n)
    for j in range(lo, hi):
        dot_each(X, j, residuals, corrs)
        for k in range(corrs.size):
            largest[k] = max(largest[k], abs(corrs[k]))
    return largest


def residual(problem: Problem, iterate: Iterate) -> Vector:
    """Return y - q as a sample vector."""
    return problem.y - iterate.scale * iterate.fitted


def gap_of(problem: Problem, form: Form, iterate: Iterate, max_corr: float) -> float:
    """Return the duality gap of `iterate`, given ||X'(y - q)||_inf or a bound of it.

    Rounding can make it negative by some 1e-16 y'y; a gap is never reported below zero. Of a point that is not
    finite nothing is known: its gap is infinite.
    """
    gap = float(duality_gap(form, problem.yy, iterate.qq, iterate.qy, iterate.l1, max_corr))
    return max(0.0, gap) if math.isfinite(gap + iterate.l1 + max_corr) else math.inf


def true_gap(problem: Problem, form: Form, iterate: Iterate, workers: Workers) -> float:
    """Return the duality gap of `iterate` over all columns: one pass."""
    largest = max_correlations(problem.X, [residual(problem, iterate)], workers)
    return gap_of(problem, form, iterate, largest[0])

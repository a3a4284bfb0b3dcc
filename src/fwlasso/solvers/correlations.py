"""All columns at once, on threads: their correlations with the residual, less the ridge of active ones."""

import numpy as np

from .._core.columns import Vector, column_chunks
from .._core.costs import curvatures, has_ridge
from .._core.iterate import Iterate, correlation
from .._core.jit import kernel
from .._core.problem import Problem
from .._core.threads import Workers


def correlations(problem: Problem, iterate: Iterate, workers: Workers) -> tuple[Vector, int]:
    """Return z_j'(y - q) - mu_j a_j of every column, and how many dot products that took.

    None for a = 0, where it is X'y.
    """
    if iterate.l1 == 0.0:
        return problem.xty.copy(), 0
    corrs = np.empty(problem.xty.size)
    workers.sweep(lambda lo, hi: _fill(problem, iterate, lo, hi, corrs), column_chunks(problem.X))
    if has_ridge(problem.cost):
        columns, coefs = iterate.coefs()
        corrs[columns] -= curvatures(problem.cost, 0.0, columns) * coefs
    return corrs, corrs.size


def largest(corrs: Vector) -> float:
    """Return ||X'(y - q)||_inf, without a temporary of size p."""
    return float(max(np.max(corrs, initial=0.0), -np.min(corrs, initial=0.0)))


@kernel
def _fill(problem: Problem, iterate: Iterate, lo: int, hi: int, out: Vector) -> None:
    for j in range(lo, hi):
        out[j] = correlation(problem, iterate, j)

"""Points with all their coefficients, as methods without an active set have them."""

import numpy as np

from fwlasso._core.columns import Vector, add_column, column_chunks
from fwlasso._core.iterate import Iterate
from fwlasso._core.jit import kernel
from fwlasso._core.problem import Problem
from fwlasso._core.samples import center
from fwlasso._core.threads import Workers


def spread(problem: Problem, iterate: Iterate) -> Vector:
    """Return all p coefficients of a point."""
    coefs = np.zeros(problem.xty.size)
    coefs[iterate.active[: iterate.n_active]] = iterate.scale * iterate.unscaled[: iterate.n_active]
    return coefs


def fitted_values(problem: Problem, coefs: Vector, workers: Workers) -> Vector:
    """Return X a as a sample vector, for all p coefficients, summed over the chunks of columns in their order."""
    cuts = column_chunks(problem.X)
    parts = workers.sweep(lambda lo, hi: _sum_columns(problem, coefs, lo, hi), cuts)
    fitted: Vector = np.sum(parts, axis=0)
    center(problem.samples, fitted)
    return fitted


@kernel
def _sum_columns(problem: Problem, coefs: Vector, lo: int, hi: int) -> Vector:
    total = np.zeros(problem.y.size)
    for j in range(lo, hi):
        if coefs[j] != 0.0:
            add_column(problem.X, j, coefs[j], total)
    return total

"""All columns at once, on threads: their correlations with the residual, and the sum that a point makes of them."""

import numpy as np

from .._jit import kernel
from ..columns import Vector, add_column, center, cut_columns
from ..iterate import Iterate, correlation
from ..parallel import Workers
from ..problem import Problem


def correlations(problem: Problem, iterate: Iterate, workers: Workers) -> tuple[Vector, int]:
    """Return z_j'(y - q) of every column, and how many dot products that took: none for a = 0, where it is X'y."""
    if iterate.l1 == 0.0:
        return problem.xty.copy(), 0
    corrs = np.empty(problem.xty.size)
    workers.sweep(lambda lo, hi: _fill(problem, iterate, lo, hi, corrs), cut_columns(problem.X))
    return corrs, corrs.size


def largest(corrs: Vector) -> float:
    """Return ||X'(y - q)||_inf, without a temporary of size p."""
    return float(max(np.max(corrs, initial=0.0), -np.min(corrs, initial=0.0)))


@kernel
def _fill(problem: Problem, iterate: Iterate, lo: int, hi: int, out: Vector) -> None:
    for j in range(lo, hi):
        out[j] = correlation(problem, iterate, j)


def spread(problem: Problem, iterate: Iterate) -> Vector:
    """Return all p coefficients of a point."""
    coefs = np.zeros(problem.xty.size)
    coefs[iterate.active[: iterate.n_active]] = iterate.scale * iterate.weights[: iterate.n_active]
    return coefs


def fitted_values(problem: Problem, coefs: Vector, workers: Workers) -> Vector:
    """Return X a as a sample vector, for all p coefficients, summed over the chunks of columns in their order."""
    cuts = cut_columns(problem.X)
    parts = workers.sweep(lambda lo, hi: _sum_columns(problem, coefs, lo, hi), cuts)
    fitted: Vector = np.sum(parts, axis=0)
    center(problem.X, fitted)
    return fitted


@kernel
def _sum_columns(problem: Problem, coefs: Vector, lo: int, hi: int) -> Vector:
    total = np.zeros(problem.y.size)
    for j in range(lo, hi):
        if coefs[j] != 0.0:
            add_column(problem.X, j, coefs[j], total)
    return total

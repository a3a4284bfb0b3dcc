"""Grids of the path: penalties from the largest on, or radii from the smallest on, both from sparse to dense."""

from numbers import Integral
from typing import Any

import numpy as np

from . import iterate as iterates
from .columns import Vector
from .forms import Penalty
from .parallel import Workers
from .problem import Problem
from .solvers.coordinate_descent import CoordinateDescent
from .solvers.run import Lookout, Stopping, run

# The way to the last penalty, for the largest radius: warm starts, and the accuracy of the last one.
_STOPS, _RADIUS_GAP, _RADIUS_CYCLES = 20, 1e-5, 20_000


def log_grid(first: float, last: float, n_points: int) -> Vector:
    """Return `n_points` values on a logarithmic grid; a single one is the last."""
    if first <= 0.0:
        return np.zeros(n_points)
    grid = np.geomspace(first, last, n_points) if n_points > 1 else np.array([last])
    return np.asarray(grid, dtype=np.float64)


def as_grid(values: Any, name: str) -> int | Vector:
    """Return a grid argument as a count or as a sorted array of values, sparse models first."""
    wanted = f"{name} must be a number of points >= 1 or an array of values"
    if isinstance(values, Integral):
        if isinstance(values, bool) or values < 1:
            raise ValueError(f"{wanted}, got {values!r}")
        return int(values)
    try:
        grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {values!r}") from None
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid < 0.0).any():
        raise ValueError(f"{wanted}, finite and >= 0 in one dimension")
    ordered = np.sort(grid)
    return ordered[::-1] if name == "alphas" else ordered


def penalty_grid(problem: Problem, alphas: int | Vector, eps: float) -> Vector:
    """Return penalties lambda = m alpha; automatic ones go from lambda_max to eps lambda_max."""
    m, _ = problem.shape
    if isinstance(alphas, int):
        return log_grid(problem.lambda_max, eps * problem.lambda_max, alphas)
    return m * alphas


def radius_grid(
    problem: Problem, radii: int | Vector, eps: float, workers: Workers, watch: Lookout
) -> tuple[Vector, int]:
    """Return radii, and the dot products it took to find them.

    Automatic ones end at delta_max = ||a||_1 at lambda = eps lambda_max and start at eps delta_max, as in the paper.
    """
    if isinstance(radii, int):
        largest, n_dots = largest_radius(problem, eps, workers, watch)
        return log_grid(eps * largest, largest, radii), n_dots
    return radii, 0


def largest_radius(problem: Problem, eps: float, workers: Workers, watch: Lookout) -> tuple[float, int]:
    """Return ||a||_1 of the penalized solution at eps lambda_max, and the dot products it took.

    By coordinate descent with warm starts.
    """
    solver, iterate, n_dots = CoordinateDescent(), iterates.zero(problem), 0
    stopping = Stopping(change=-1.0, gap=_RADIUS_GAP * 0.5 * problem.yy, max_idle=1)
    for penalty in log_grid(problem.lambda_max, eps * problem.lambda_max, _STOPS):
        outcome = run(solver, problem, Penalty(penalty), iterate, stopping, _RADIUS_CYCLES, workers, watch)
        iterate = outcome.iterate
        n_dots += outcome.n_dots
        if outcome.status.ends_path:
            break
    return iterate.l1, n_dots

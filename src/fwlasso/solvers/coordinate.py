"""The step that all coordinate descents on the columns take: exact, along one coordinate."""

from .._jit import part_of_kernel
from ..columns import Vector, add_column
from ..forms import soft_threshold
from ..problem import Problem


@part_of_kernel
def minimise_along(problem: Problem, j: int, coef: float, corr: float, weight: float, fitted: Vector) -> float:
    """Return soft(a_j z_j'z_j + z_j'(y - q), lambda) / z_j'z_j, and bring the fitted values q to it.

    `corr` is z_j'(y - q); the column must not be constant.
    """
    norm2 = problem.norms2[j]
    new = soft_threshold(coef * norm2 + corr, weight) / norm2
    if new != coef:
        add_column(problem.X, j, new - coef, fitted)
    return float(new)

"""Newton's equations without a factor, by conjugate gradients: for more active columns than a Gram has room for."""

import numpy as np

from .._jit import kernel
from ..columns import Vector, add_column, center, dot_column
from ..problem import Problem
from .gram import Indices
from .preconditioner import Preconditioner, restrict
from .rows import SparseRows, by_rows, multiply_twice

# A solution is as exact as this, relative to the right-hand side, or what so many iterations make of it.
_ACCURACY, _MOST_ITERATIONS = 1e-1, 60


@kernel
def conjugate_gradients(
    problem: Problem,
    preconditioner: Preconditioner,
    places: Indices,
    columns: Indices,
    norms: Vector,
    ridge: float,
    x: Vector,
) -> int:
    """Replace x by the solution d of (cosines + ridge) d = x, as far as some iterations go; return the dot products.

    The cosines are those of `columns`, which are at `places` of the working set.
    """
    n = columns.size
    v, image, step = np.empty(problem.y.size), np.empty(n), np.empty(n)
    rows, factor = by_rows(problem, columns, norms), restrict(preconditioner, places)
    rest = x.copy()
    _precondition(factor, rest, step)
    direction = step.copy()
    for i in range(n):
        x[i] = 0.0
    fall, enough = inner(rest, step), _ACCURACY**2 * inner(rest, rest)
    n_iterations = 0
    while n_iterations < _MOST_ITERATIONS and inner(rest, rest) > enough:
        if rows.starts.size > 0:
            multiply_twice(rows, direction, image)
        else:
            _multiply_by_columns(problem, columns, norms, direction, v, image)
        for i in range(n):
            image[i] += ridge * direction[i]
        length = fall / inner(image, direction)
        for i in range(n):
            x[i] += length * direction[i]
            rest[i] -= length * image[i]
        _precondition(factor, rest, step)
        last, fall = fall, inner(rest, step)
        for i in range(n):
            direction[i] = step[i] + fall / last * direction[i]
        n_iterations += 1
    return 2 * n * n_iterations


@kernel
def inner(u: Vector, v: Vector) -> float:
    """Return u'v."""
    total = 0.0
    for i in range(u.size):
        total += u[i] * v[i]
    return total


@kernel
def _precondition(factor: SparseRows, rest: Vector, step: Vector) -> None:
    """Replace `step` by L'L times the rest."""
    if factor.starts.size > 0:
        multiply_twice(factor, rest, step)
    else:
        for i in range(rest.size):
            step[i] = rest[i]


@kernel
def _multiply_by_columns(
    problem: Problem, columns: Indices, norms: Vector, d: Vector, v: Vector, image: Vector
) -> None:
    """Replace `image` by the cosines of `columns` times d; v is room for a sum of columns."""
    for i in range(v.size):
        v[i] = 0.0
    for i in range(columns.size):
        add_column(problem.X, columns[i], d[i] / norms[i], v)
    center(problem.X, v)
    for i in range(columns.size):
        image[i] = dot_column(problem.X, columns[i], v) / norms[i]

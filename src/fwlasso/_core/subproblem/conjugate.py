"""Newton's step without a factor, by conjugate gradients: for more active columns than a Gram has room for.

With C the cosines of the free columns, D the ridges of their costs at length one, and L'L near the inverse of C:

1. (C + D + ridge) x = (c - lean(a)) / ||z|| is solved by conjugate gradients with L'L; C x is U'(U x), or goes by rows;
2. d = x / ||z|| is limited as in `newton`; where no part of it lets the objective fall, a larger ridge is tried;
3. a <- a + d, r <- r - X d; on with 1. while dependent columns leave.
"""

import numpy as np

from ..columns import Matrix, Vector
from ..costs import curvatures
from ..jit import kernel
from ..sweeps import Indices
from ..threads import Workers
from .copies import Copies, entries_of, rank_bound
from .descent import SubIterate, correlate, free_places
from .newton import limit_step, right_side
from .preconditioner import Preconditioner, are_rows_full
from .products import Products
from .rows import SparseRows, by_rows, cut_rows, multiply_twice, no_rows

# A solution is as exact as this, relative to the right-hand side, or what so many iterations make of it.
_ACCURACY, _MOST_ITERATIONS = 1e-1, 60
# Ridges on the cosines: each one where a step with the one before leads nowhere. Of columns that are nearly dependent
# the steps are long and cancel, but for those of them that are held at zero.
_RIDGES = (1e-7, 1e-3, 1e-2, 1e-1)


def newton_without_factor(
    copies: Copies, iterate: SubIterate, preconditioner: Preconditioner, active: Indices, lam: float, workers: Workers
) -> int:
    """Take a Newton step on the active columns, see `newton`, more if they are dependent; return the dot products."""
    n_dependent = max(0, active.size - rank_bound(copies))
    n_dots = 0
    for _ in range(1 + n_dependent):  # the dependent leave one by one
        aim, norms = right_side(copies, iterate, active, lam)
        # To put columns by rows takes as long as some ten iterations: it pays where a preconditioner may.
        is_full = are_rows_full(copies.y.size - 1, entries_of(copies, active))
        rows = no_rows() if is_full else by_rows(copies, active, 0, active.size)
        factor = preconditioner.factor(copies, active, rows)
        ridges = curvatures(copies.cost, lam, active) / copies.norms2[active]
        equations = Equations(Products(copies, active, workers), norms, ridges, rows, factor, workers)
        n_flips, dots = _take_step(copies, iterate, active, lam, aim, equations)
        n_dots += dots
        active = free_places(copies.cost, iterate, active)
        if n_flips == 0 or n_dependent == 0 or active.size == 0:
            break
        correlate(copies, iterate, active)
    return n_dots


def _take_step(
    copies: Copies, iterate: SubIterate, active: Indices, lam: float, aim: Vector, equations: "Equations"
) -> tuple[int, int]:
    """Take a step; return how many signs would have changed, and the dot products."""
    are_dependent = active.size > rank_bound(copies)
    n_flips, n_dots = -1, 0
    for ridge in _RIDGES:
        x, n_iterations = equations.solve(aim, ridge)
        n_dots += 2 * active.size * (n_iterations + 1)
        step = x / equations.norms
        if not np.isfinite(step).all():
            continue
        n_flips = limit_step(copies, iterate, active, step, lam, are_dependent or ridge == _RIDGES[-1])
        if n_flips >= 0:
            iterate.coefs[active] += step
            iterate.residual[:] -= equations.products.combine(step)
            break
    return n_flips, n_dots


class Equations:
    """(cosines + ridges + ridge) d = x for some columns, by rows or none, with a preconditioner L'L."""

    def __init__(
        self, products: Products, norms: Vector, ridges: Vector, rows: SparseRows, factor: SparseRows, workers: Workers
    ) -> None:
        self.products = products
        self.norms = norms
        self._ridges = ridges  # those of the cost, on columns of unit norm
        self._rows = rows
        self._factor = factor
        self._cuts = cut_rows(rows)
        self._workers = workers

    def solve(self, aim: Vector, ridge: float) -> tuple[Vector, int]:
        """Return the solution for a right-hand side, as far as some iterations go, and their number."""
        x, rest = np.zeros(aim.size), aim.copy()
        direction = _precondition(self._factor, rest)
        fall = float(rest @ direction)
        enough = _ACCURACY**2 * float(aim @ aim)
        n_iterations = 0
        while n_iterations < _MOST_ITERATIONS and float(rest @ rest) > enough:
            fall = _advance(self._factor, self._multiply(direction), ridge, fall, x, rest, direction)
            n_iterations += 1
        return x, n_iterations

    def _multiply(self, d: Vector) -> Matrix:
        """Return the cosines times d, as rows that are to be added up."""
        if self._rows.starts.size > 0:
            parts = np.array(self._workers.map(lambda lo, hi: multiply_twice(self._rows, d, lo, hi), self._cuts))
        else:
            parts = self.products.correlate(self.products.combine(d / self.norms))[np.newaxis] / self.norms
        return np.vstack([parts, self._ridges * d]) if self._ridges.any() else parts


@kernel
def _advance(
    factor: SparseRows, parts: Matrix, ridge: float, fall: float, x: Vector, rest: Vector, direction: Vector
) -> float:
    """Make an iteration of conjugate gradients, given the image of the direction in parts; return the next `fall`."""
    image = ridge * direction
    curvature = 0.0
    for part in parts:
        for i in range(x.size):
            image[i] += part[i]
    for i in range(x.size):
        curvature += image[i] * direction[i]
    length = fall / curvature
    for i in range(x.size):
        x[i] += length * direction[i]
        rest[i] -= length * image[i]
    step = _precondition(factor, rest)
    after = 0.0
    for i in range(x.size):
        after += step[i] * rest[i]
    for i in range(x.size):
        direction[i] = step[i] + after / fall * direction[i]
    return after


@kernel
def _precondition(factor: SparseRows, rest: Vector) -> Vector:
    """Return L'L times the rest; no rows of L are the identity."""
    if factor.starts.size == 0:
        return rest.copy()
    return multiply_twice(factor, rest, 0, factor.starts.size - 1)

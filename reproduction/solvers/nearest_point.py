"""The constrained Lasso as a nearest point: Wolfe's method (1976), as GeoLasso (Zhou and others, 2015) goes about it.

q = X a with ||a||_1 <= delta is a point of the polytope with the vertices +-delta z_j; the best one is nearest to y.
A corral is a set of vertices with positive weights that add up to one. A major cycle takes in the vertex that is
farthest along the residual: p dot products. Minor cycles go towards the nearest point of the corral's affine hull, and
drop the vertices whose weights become zero on the way, until all weights of that point are positive.
"""

import numpy as np
from numpy.typing import NDArray

from fwlasso._core.columns import Vector, add_column, dot_column
from fwlasso._core.iterate import Iterate, at, objective
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import L1Ball, Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.samples import center
from fwlasso.problem.certificate import estimate_gap
from fwlasso.problem.points import burst_steps
from fwlasso.solvers.correlations import correlations, largest
from fwlasso.solvers.protocol import Advance, Burst
from fwlasso.status import Status

# Steps of one burst, however small the data.
_BURST_STEPS = 100


class Corral:
    """Vertices sign_k z_k, their weights and inner products. Radii change, these products do not."""

    def __init__(self) -> None:
        self.columns = np.empty(0, np.int64)
        self.signs = self.weights = np.empty(0)
        self._products = np.empty((0, 0))

    def take(self, problem: Problem, column: int, sign: float, weight: float) -> int:
        """Take in a vertex, unless it is there; return how many dot products that took.

        At a new radius the farthest one may be: twice the same would leave its weights to rounding.
        """
        if ((self.columns == column) & (self.signs == sign)).any():
            return 0
        n = self.columns.size
        self.columns = np.append(self.columns, column)
        self.signs, self.weights = np.append(self.signs, sign), np.append(self.weights, weight)
        grown = np.empty((n + 1, n + 1))
        grown[:n, :n] = self._products
        grown[n] = grown[:, n] = sign * self.signs * _products(problem, column, self.columns)
        self._products = grown
        return n + 1

    def settle(self, problem: Problem, radius: float) -> None:
        """Go to the nearest point of the affine hull, dropping vertices on the way: at most all but one."""
        for _ in range(self.columns.size):
            target = self._nearest(problem, radius)
            blocked = target <= 0.0
            if not blocked.any():
                self.weights = target
                return
            way = self.weights[blocked] / np.maximum(self.weights[blocked] - target[blocked], 1e-300)
            self.weights = self.weights + way.min() * (target - self.weights)
            first = np.flatnonzero(blocked)[np.argmin(way)]
            kept = self.weights > 0.0
            kept[first] = False
            self._keep(kept)

    def _nearest(self, problem: Problem, radius: float) -> Vector:
        """Return the weights w of the point of the hull that is nearest to y: 1/2 w'H w - b'w is least for 1'w = 1."""
        n = self.columns.size
        equations = np.ones((n + 1, n + 1))
        equations[:n, :n] = radius * self._products
        equations[n, n] = 0.0
        wanted = np.append(self.signs * problem.xty[self.columns], 1.0)
        try:
            found = np.linalg.solve(equations, wanted)
        except np.linalg.LinAlgError:  # vertices that depend on each other: any nearest point does
            found = np.linalg.lstsq(equations, wanted)[0]
        return np.asarray(found[:n])

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        self.columns, self.signs, self.weights = self.columns[kept], self.signs[kept], self.weights[kept]
        self.weights /= self.weights.sum()
        self._products = self._products[np.ix_(kept, kept)]

    def point(self, problem: Problem, radius: float) -> Iterate:
        """Return the point as an iterate; opposite vertices of a column become one coefficient."""
        columns, place = np.unique(self.columns, return_inverse=True)
        coefs = np.zeros(columns.size)
        np.add.at(coefs, place, radius * self.signs * self.weights)
        return at(problem, columns, coefs)


class NearestPoint:
    """Wolfe's method. A step is a major cycle: p dot products, and some for each vertex of the corral."""

    def __init__(self) -> None:
        self._corral = Corral()
        self._last: Iterate | None = None  # as it was returned
        self._penalty: Penalty | None = None

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p."""
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Go through major cycles until a stopping rule holds; the gap is that before the last of them."""
        problem, penalty, stopping, max_steps, workers = burst
        assert isinstance(penalty, L1Ball)
        n_dots = 0 if self._last is not None and iterate.fitted is self._last.fitted else self._start(problem, iterate)
        status = None
        n_steps, taken = burst_steps(problem.nbytes, max_steps, _BURST_STEPS), 0
        while status is None and taken < n_steps:
            taken += 1
            corrs, n_read = correlations(problem, iterate, workers)
            gap = estimate_gap(problem, penalty, iterate, largest(corrs))
            n_dots += n_read
            if gap <= stopping.gap:
                status = Status.CERTIFIED
                break
            j = int(np.argmax(np.abs(corrs)))
            n_dots += self._corral.take(problem, j, float(np.sign(corrs[j])) or 1.0, 0.0)
            self._corral.settle(problem, penalty.radius)
            new = self._corral.point(problem, penalty.radius)
            n_dots += new.n_active
            is_new_point, self._penalty = penalty != self._penalty, penalty
            if not is_new_point and objective(problem, new) >= objective(problem, iterate):
                status = Status.SETTLED  # what is left is rounding
                break
            change = _change(iterate, new)
            iterate = new
            if change <= stopping.change:
                status = Status.SETTLED
        self._last = iterate
        return Advance(iterate, taken, n_dots, gap, status)

    def _start(self, problem: Problem, iterate: Iterate) -> int:
        """Make a corral of the active columns of another point, on the surface of the ball."""
        self._corral = Corral()
        columns, coefs = iterate.coefs()
        return sum(
            self._corral.take(problem, int(j), float(np.sign(a)), abs(float(a)) / iterate.l1)
            for j, a in zip(columns, coefs, strict=True)
        )


def _change(one: Iterate, other: Iterate) -> float:
    """Return the largest difference of a coefficient."""
    (at_one, a), (at_other, b) = one.coefs(), other.coefs()
    columns, place = np.unique(np.concatenate([at_one, at_other]), return_inverse=True)
    return float(np.abs(np.bincount(place, np.concatenate([a, -b]), columns.size)).max(initial=0.0))


def _products(problem: Problem, j: int, columns: NDArray[np.int64]) -> Vector:
    """Return z_j'z_k for some columns k."""
    column = np.zeros(problem.y.size)
    _add(problem, j, column)
    center(problem.samples, column)
    return np.asarray(_dots(problem, column, columns))


@kernel
def _add(problem: Problem, j: int, out: Vector) -> None:
    add_column(problem.X, j, 1.0, out)


@kernel
def _dots(problem: Problem, v: Vector, columns: NDArray[np.int64]) -> Vector:
    out = np.empty(columns.size)
    for k in range(columns.size):
        out[k] = dot_column(problem.X, columns[k], v)
    return out

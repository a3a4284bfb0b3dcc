"""Block-coordinate Frank-Wolfe on a product of simplices (Lacoste-Julien, Jaggi, Schmidt and Pletscher, 2013)."""

import math

import numpy as np
from numpy.typing import NDArray

from .._core import iterate as iterates
from .._core.columns import Vector, add_column, dot_column
from .._core.draws import below
from .._core.iterate import Iterate, correlation
from .._core.jit import kernel
from .._core.penalties import ROUNDING
from .._core.problem import Problem
from ..problem.points import burst_steps
from .protocol import Advance, Burst
from .sample_size import SampleSize, columns_to_draw

Indices = NDArray[np.int64]

# Steps of one burst, however small the data.
_BURST_STEPS = 10_000


class BlockFrankWolfe:
    """Frank-Wolfe on a product of simplices, one of them in a step.

    Parameters
    ----------
    sizes : columns of every simplex
    sample_size : rule for the number of vertices that a step looks at, told the size of the largest simplex; None: all
    seed : of the draws
    """

    def __init__(self, sizes: Indices, sample_size: SampleSize | None, seed: int) -> None:
        self._bounds = np.append(0, np.cumsum(sizes))
        self._largest = int(sizes.max())
        self._sample_size = sample_size
        self._order = np.arange(self._bounds[-1])  # the columns of every simplex, shuffled by every draw
        self._state = np.array([seed], np.uint64)

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return how many vertices a step looks at, at most: fewer than there are."""
        if self._sample_size is None:
            return self._largest
        return columns_to_draw(self._sample_size, self._largest, iterate.n_active)

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take a burst of steps, at most `max_steps`."""
        problem, _, _, max_steps, _ = burst
        n_sampled = self.columns_per_step(problem, iterate)
        n_steps = burst_steps(problem.nbytes // problem.xty.size * n_sampled, max_steps, _BURST_STEPS)
        columns, coefs = iterate.coefs()
        u = np.zeros(problem.xty.size)
        u[columns] = coefs
        iterate = iterates.at(problem, columns, coefs)  # not scaled
        n_dots = _burst(problem, iterate, u, self._bounds, self._order, self._state, n_sampled, n_steps)
        columns = np.flatnonzero(u)
        return Advance(iterates.at(problem, columns, u[columns]), n_steps, n_dots, math.inf, None)


@kernel
def _burst(
    problem: Problem,
    iterate: Iterate,
    u: Vector,
    bounds: Indices,
    order: Indices,
    state: NDArray[np.uint64],
    n_sampled: int,
    n_steps: int,
) -> int:
    """Take steps in u and in the fitted values of `iterate`, which is not scaled; return the number of dot products.

    With q_b = sum u_k z_k over a simplex and d = z_j - q_b, the slope along d is corr_j - sum u_k corr_k, and the step
    min(1, slope / d'd).
    """
    fitted, part = iterate.fitted, np.zeros(iterate.fitted.size)
    n_dots = 0
    for _ in range(n_steps):
        b = below(state, bounds.size - 1)
        lo, hi = bounds[b], bounds[b + 1]
        j, corr = lo, -np.inf
        for k in range(lo, min(hi, lo + n_sampled)):
            drawn = k + below(state, hi - k)
            order[k], order[drawn] = order[drawn], order[k]
            each = correlation(problem, iterate, order[k])
            if each > corr:
                j, corr = order[k], each
            n_dots += 1
        part[:] = 0.0
        here = 0.0
        for k in range(lo, hi):
            if u[k] != 0.0:
                add_column(problem.X, k, u[k], part)
                here += u[k] * problem.xty[k]
        length2 = problem.norms2[j] - 2.0 * dot_column(problem.X, j, part)
        for i in range(part.size):
            here -= part[i] * fitted[i]
            length2 += part[i] * part[i]
        n_dots += 1
        slope = corr - here
        if not slope > ROUNDING * (abs(corr) + abs(here)):
            continue
        step = min(1.0, slope / length2) if length2 > 0.0 else 1.0
        for i in range(part.size):
            fitted[i] -= step * part[i]
        add_column(problem.X, j, step, fitted)
        for k in range(lo, hi):
            u[k] *= 1.0 - step
        u[j] += step
    return n_dots

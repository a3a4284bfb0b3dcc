"""Stochastic coordinate descent for the penalized Lasso (Shalev-Shwartz and Tewari, 2011).

A coordinate is drawn at random, with replacement, and the objective is minimised along it.
"""

import numpy as np
from numpy.typing import NDArray

from fwlasso._core.columns import Vector, dot_column, samples
from fwlasso._core.draws import below
from fwlasso._core.iterate import Iterate, minimise_along, refresh
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import ROUNDING, Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.samples import center
from fwlasso.problem.certificate import estimate_gap
from fwlasso.solvers.correlations import correlations, largest
from fwlasso.solvers.protocol import Advance, Burst
from fwlasso.status import Status

from .points import spread

# The gap is looked at after this many epochs: a look costs as much as an epoch.
_EPOCHS = 5
# Without a gap after this many epochs that change nothing, there is nothing to change: e^-20 is the chance that a
# coordinate was not drawn.
_MAX_IDLE = 20


class StochasticDescent:
    """Coordinate descent at random. A step is an epoch of p draws, p dot products.

    By the change rule a point is done when no coordinate of an epoch was changed by more than the threshold. On the
    way to a gap all columns are read after every few epochs: p dot products, and one for every active column.
    """

    def __init__(self, seed: int) -> None:
        self._state = np.array([seed], np.uint64)
        self._last: Iterate | None = None  # as it was returned
        self._coefs = np.empty(0)  # its coefficients, all p of them
        self._n_idle = 0  # epochs in a row without a change

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p, by the count: the gap it tells is over all columns, or not known and infinite."""
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Go through an epoch, or through some epochs and then correlate all columns if a gap is asked for."""
        problem, penalty, stopping, max_steps, workers = burst
        p = problem.xty.size
        if iterate is not self._last:
            self._coefs, self._n_idle = spread(problem, iterate), 0
            iterate = iterate._replace(fitted=iterate.scale * iterate.fitted, scale=1.0)
        on_gap = stopping.gap >= 0.0
        n_epochs = min(max_steps, _EPOCHS) if on_gap else 1
        for _ in range(n_epochs):
            change = _epoch(problem, penalty, self._coefs, iterate.fitted, self._state)
            self._n_idle = self._n_idle + 1 if change == 0.0 else 0
        n_dots = n_epochs * p
        iterate = self._point(problem, iterate.fitted)
        gap, status = np.inf, None
        if on_gap:
            iterate = refresh(problem, iterate)
            corrs, n_read = correlations(problem, iterate, workers)
            n_dots += iterate.n_active + n_read
            gap = estimate_gap(problem, penalty, iterate, largest(corrs))
        if gap <= stopping.gap:
            status = Status.CERTIFIED
        elif change <= stopping.change or self._n_idle >= _MAX_IDLE:
            status = Status.SETTLED
        self._last = iterate
        return Advance(iterate, n_epochs, n_dots, gap, status)

    def _point(self, problem: Problem, fitted: Vector) -> Iterate:
        active = np.flatnonzero(self._coefs)
        weights = self._coefs[active]
        qq, qy = float(fitted[:-1] @ fitted[:-1]), float(weights @ problem.xty[active])
        return Iterate(active, weights, fitted, active.size, 1.0, qq, qy, float(np.abs(weights).sum()), 0)


@kernel
def _epoch(problem: Problem, penalty: Penalty, coefs: Vector, fitted: Vector, state: NDArray[np.uint64]) -> float:
    """Minimise along p coordinates drawn with replacement, in place; return the largest change of a coefficient.

    The constant part of centred columns is taken out of the fitted values at the end.
    """
    change = 0.0
    largest = 0.0
    for _ in range(coefs.size):
        j = below(state, coefs.size)
        if problem.norms2[j] > 0.0:
            corr = problem.xty[j] - dot_column(problem.X, j, fitted)
            new = minimise_along(problem, j, coefs[j], corr, penalty, fitted)
            change = max(change, abs(new - coefs[j]))
            largest = max(largest, abs(new))
            coefs[j] = new
    center(samples(problem.X), fitted)
    return change if change > ROUNDING * largest else 0.0  # what is left is rounding

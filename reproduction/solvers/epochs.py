"""Stochastic methods whose step is an epoch: as many draws as there are columns, or samples."""

from abc import ABC, abstractmethod

import numpy as np

from fwlasso._core.columns import Vector
from fwlasso._core.iterate import Iterate, refresh
from fwlasso._core.problem import Problem
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


class Epochs(ABC):
    """Goes through epochs.

    By the change rule a point is done when no coefficient of an epoch was changed by more than the threshold. On the
    way to a gap all columns are read after every few epochs: p dot products, and one for every active column.
    """

    products: int  # of X with a vector, in an epoch: p dot products each

    def __init__(self, seed: int) -> None:
        self.state = np.array([seed], np.uint64)  # of the draws
        self.coefs = np.empty(0)  # all p of them
        self.n_epochs = 0  # on this point
        self._last: Iterate | None = None  # as it was returned
        self._n_idle = 0  # epochs in a row without a change

    @abstractmethod
    def epoch(self, burst: Burst, fitted: Vector) -> float:
        """Change coefficients and fitted values in place; return the largest change of a coefficient."""

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p, by the count: the gap it tells is over all columns, or not known and infinite."""
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Go through an epoch, or through some epochs and then correlate all columns if a gap is asked for."""
        problem, penalty, stopping, max_steps, workers = burst
        if iterate is not self._last:
            self.coefs, self.n_epochs, self._n_idle = spread(problem, iterate), 0, 0
            iterate = iterate._replace(fitted=iterate.scale * iterate.fitted, scale=1.0)
        on_gap = stopping.gap >= 0.0
        n_epochs = min(max_steps, _EPOCHS) if on_gap else 1
        for _ in range(n_epochs):
            change = self.epoch(burst, iterate.fitted)
            self.n_epochs += 1
            self._n_idle = self._n_idle + 1 if change == 0.0 else 0
        n_dots = n_epochs * self.products * problem.xty.size
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
        active = np.flatnonzero(self.coefs)
        weights = self.coefs[active]
        qq, qy = float(fitted[:-1] @ fitted[:-1]), float(weights @ problem.xty[active])
        return Iterate(active, weights, fitted, active.size, 1.0, qq, qy, float(np.abs(weights).sum()), 0)

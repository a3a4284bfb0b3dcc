"""Stochastic coordinate descent for the penalized Lasso (Shalev-Shwartz and Tewari, 2011).

A coordinate is drawn at random, with replacement, and the objective is minimised along it.
"""

import numpy as np
from numpy.typing import NDArray

from fwlasso._core.columns import Vector, dot_column, samples
from fwlasso._core.draws import below
from fwlasso._core.iterate import minimise_along
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import ROUNDING
from fwlasso._core.problem import Problem
from fwlasso._core.samples import center
from fwlasso.solvers.protocol import Burst

from .epochs import Epochs


class StochasticDescent(Epochs):
    """Coordinate descent at random. A step is an epoch of p draws, p dot products."""

    products = 1

    def epoch(self, burst: Burst, fitted: Vector) -> float:
        """Minimise along p coordinates."""
        return float(_epoch(burst.problem, burst.penalty.lam, self.coefs, fitted, self.state))


@kernel
def _epoch(problem: Problem, lam: float, coefs: Vector, fitted: Vector, state: NDArray[np.uint64]) -> float:
    """Minimise along p coordinates drawn with replacement, in place; return the largest change of a coefficient.

    The constant part of centred columns is taken out of the fitted values at the end.
    """
    change = 0.0
    largest = 0.0
    for _ in range(coefs.size):
        j = below(state, coefs.size)
        if problem.norms2[j] > 0.0:
            corr = problem.xty[j] - dot_column(problem.X, j, fitted)
            new = minimise_along(problem, j, coefs[j], corr, lam, fitted)
            change = max(change, abs(new - coefs[j]))
            largest = max(largest, abs(new))
            coefs[j] = new
    center(samples(problem.X), fitted)
    return change if change > ROUNDING * largest else 0.0  # what is left is rounding

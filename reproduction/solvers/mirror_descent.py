"""Stochastic mirror descent made sparse, for the penalized Lasso: SMIDAS (Shalev-Shwartz and Tewari, 2011), and SGD.

A step draws a sample i. With r_i = y_i - x_i'a, a dual vector t moves to t + eta r_i x_i, all its entries are moved
towards zero by eta lambda / m, and a follows from it by the gradient of 1/2 ||t||_q^2:

    a_j = sign(t_j) |t_j|^(q - 1) / ||t||_q^(q - 2)

For q = 2 this is a = t: stochastic gradient descent with truncated steps (Langford, Li and Zhang, 2009). SMIDAS has
q = 2 ln p. The k-th epoch of a point has eta = 1 / (sqrt(k) (q - 1) max_i ||x_i||_q^2), as long as steps may be.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fwlasso._core.columns import Matrix, Vector, column_entries, column_entry, column_shift
from fwlasso._core.costs import soft_threshold
from fwlasso._core.draws import below
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import L1
from fwlasso._core.problem import Problem
from fwlasso.solvers.protocol import Burst

from .epochs import Epochs
from .points import fitted_values


class MirrorDescent(Epochs):
    """Mirror descent over samples. A step is an epoch of m draws.

    An epoch costs p dot products for the r_i, p for the steps, which go over all columns, and p for X a at its end.
    """

    products = 3

    def __init__(self, seed: int, *, is_euclidean: bool) -> None:
        super().__init__(seed)
        self._is_euclidean = is_euclidean
        self._rows: Matrix | None = None  # a copy of X
        self._power, self._longest = 2, 0.0  # q, and the largest ||x_i||_q^2
        self._dual = np.empty(0)

    def epoch(self, burst: Burst, fitted: Vector) -> float:
        """Take a step for each of m samples."""
        problem, penalty = burst.problem, burst.penalty
        assert isinstance(penalty, L1)
        m, p = problem.shape
        if self._rows is None:
            if not self._is_euclidean:
                self._power = max(2, math.ceil(2.0 * math.log(p)))
            self._rows = _rows(problem, np.empty((m, p)))
            self._longest = max(float(np.linalg.norm(row, self._power)) ** 2 for row in self._rows) or 1.0
        if self.n_epochs == 0:  # a new point: the gradient of 1/2 ||a||_q'^2 with 1/q + 1/q' = 1
            norm = float(np.linalg.norm(self.coefs, self._power / (self._power - 1.0)))
            with np.errstate(divide="ignore", invalid="ignore"):
                root = norm * (np.abs(self.coefs) / norm) ** (1.0 / (self._power - 1.0))
            self._dual = np.where(self.coefs == 0.0, 0.0, np.sign(self.coefs) * root)
        rate = 1.0 / (math.sqrt(self.n_epochs + 1.0) * (self._power - 1.0) * self._longest)
        before = self.coefs.copy()
        _epoch(self._rows, problem.y, self._dual, self.coefs, self.state, rate, penalty.lam / m, self._power)
        fitted[:] = fitted_values(problem, self.coefs, burst.workers)
        return float(np.abs(self.coefs - before).max(initial=0.0))


@kernel
def _rows(problem: Problem, out: Matrix) -> Matrix:
    """Fill the values of all columns, one row for every sample."""
    X = problem.X
    for j in range(out.shape[1]):
        shift = column_shift(X, j)
        out[:, j] = -shift
        for k in range(column_entries(X, j)):
            i, value = column_entry(X, j, k)
            out[i, j] = value - shift
    return out


@kernel
def _epoch(
    rows: Matrix,
    y: Vector,
    dual: Vector,
    coefs: Vector,
    state: NDArray[np.uint64],
    rate: float,
    threshold: float,
    power: int,
) -> None:
    """Take a step for each of m samples drawn with replacement, in place."""
    m, p = rows.shape
    for _ in range(m):
        i = below(state, m)
        r = y[i]
        for j in range(p):
            r -= rows[i, j] * coefs[j]
        largest = 0.0
        for j in range(p):
            dual[j] = soft_threshold(dual[j] + rate * r * rows[i, j], rate * threshold)
            largest = max(largest, abs(dual[j]))
        inverse = 1.0 / largest if largest > 0.0 else 0.0
        total = 0.0  # (||t||_q / largest)^q: powers of t itself may be out of range
        for j in range(p):
            coefs[j] = (abs(dual[j]) * inverse) ** (power - 1)
            total += coefs[j] * abs(dual[j]) * inverse
        scale = largest * max(total, 1.0) ** ((2.0 - power) / power)
        for j in range(p):
            coefs[j] *= scale if dual[j] > 0.0 else -scale

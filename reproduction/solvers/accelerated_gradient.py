"""Accelerated gradient descent for both forms (Beck and Teboulle's FISTA, as SLEP has it for the Lasso).

From v = a + beta (a - a') with the point a' before a, a step goes to the proximal point of v + X'(y - X v) / L:
soft-thresholded for the penalty, projected for the ball. L grows until ||X (a - v)||^2 <= L ||a - v||^2. SLEP searches
it anew for every point of a path. Ours keeps it, and starts momentum again if it leads uphill (O'Donoghue and Candes,
2015).

X'q of the last two points is kept, so that X'(y - X v) is a sum of known vectors and every step makes one pass over
all columns: at the new point, where it gives the duality gap, too.
"""

from functools import singledispatch
from typing import Final, NamedTuple

import numpy as np

from fwlasso._core.columns import Vector
from fwlasso._core.iterate import Iterate
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import L1, ROUNDING, L1Ball, Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.problem.certificate import estimate_gap
from fwlasso.problem.points import burst_steps
from fwlasso.solvers.correlations import correlations, largest
from fwlasso.solvers.protocol import Advance, Burst
from fwlasso.status import Status

from .points import fitted_values, spread
from .projection import ball_threshold, shrink

# Steps of one burst, however small the data.
_BURST_STEPS = 100


class Manner(NamedTuple):
    """What implementations do differently."""

    keeps_lipschitz: bool  # along the path, from the largest ||z_j||^2 on; else L starts from 1 for every point
    jumps: bool  # an L that fails becomes ||X (a - v)||^2 / ||a - v||^2 if that is more than twice as much
    first_momentum: float  # t, of which beta follows: from 0 the second step has none yet, from 1 it has some
    restarts: bool  # momentum starts again if it leads uphill
    start_products: int  # of X with a vector, before the first step of a point


OURS: Final = Manner(keeps_lipschitz=True, jumps=False, first_momentum=1.0, restarts=True, start_products=0)
#: What explains the published dot products of SLEP (Liu, Ji and Ye, 2009) best, for columns with a mean square of one:
#: 4.2 p and 4.4 p a step of the penalized form on Pyrim and Triazines, where 4.3 p and 4.5 p are published.
SLEP: Final = Manner(keeps_lipschitz=False, jumps=True, first_momentum=0.0, restarts=False, start_products=1)


class Point(NamedTuple):
    """A point with all that a step needs to know of it."""

    coefs: Vector  # a, all p of them
    fitted: Vector  # q = X a
    xtq: Vector  # X'q

    def scaled(self, factor: float) -> "Point":
        """Return factor a."""
        return self if factor == 1.0 else Point(*(factor * part for part in self))


class AcceleratedGradient:
    """Accelerated proximal gradient, or projected gradient on the ball.

    Dot products are counted as the paper does for SLEP, by products of the matrix with a vector: p for X'q, which
    a = 0 does not need, and p for X a, though columns without a coefficient are left out of the sum. Every L that is
    tried is another X a.
    """

    def __init__(self, manner: Manner = OURS) -> None:
        self._manner = manner
        self._lipschitz = 0.0
        self._penalty: Penalty | None = None
        self._last: Iterate | None = None  # as it was returned
        self._now = self._before = Point(np.empty(0), np.empty(0), np.empty(0))
        self._momentum = 0.0

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return p."""
        return problem.xty.size

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take steps until a stopping rule holds, at most `max_steps` and at most a burst of them."""
        problem, penalty, stopping, max_steps, workers = burst
        n_dots = 0
        if iterate is not self._last or penalty != self._penalty:
            self._now, n_dots = self._start(problem, iterate, workers)
            self._before, self._momentum, self._penalty = self._now, self._manner.first_momentum, penalty
            if not self._manner.keeps_lipschitz:
                self._lipschitz = 1.0
        self._lipschitz = self._lipschitz or float(problem.norms2.max(initial=0.0)) or 1.0
        n_steps = burst_steps(problem.nbytes, max_steps, _BURST_STEPS)
        taken = 0
        status = None
        while status is None and taken < n_steps:
            taken += 1
            change, dots = self._step(problem, penalty, workers)
            n_dots += dots
            iterate = _iterate(problem, self._now)
            gap = estimate_gap(problem, penalty, iterate, largest(problem.xty - self._now.xtq))
            if gap <= stopping.gap:
                status = Status.CERTIFIED
            elif change <= max(stopping.change, 0.0):
                status = Status.SETTLED
        self._last = iterate
        return Advance(iterate, taken, n_dots, gap, status)

    def _start(self, problem: Problem, iterate: Iterate, workers: Workers) -> tuple[Point, int]:
        """Return the point `iterate`, and the dot products it took: ours none if it is a multiple of the last one."""
        if iterate.l1 > 0.0 and self._last is not None and iterate.fitted is self._last.fitted:
            return self._now.scaled(iterate.scale), self._manner.start_products * problem.xty.size
        corrs, n_dots = correlations(problem, iterate, workers)
        return Point(spread(problem, iterate), iterate.scale * iterate.fitted, problem.xty - corrs), n_dots

    def _step(self, problem: Problem, penalty: Penalty, workers: Workers) -> tuple[float, int]:
        """Take a step; return the largest change of a coefficient and the number of dot products."""
        now, before = self._now, self._before
        momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        beta = (self._momentum - 1.0) / momentum
        # L need not be more than the sum of all z_j'z_j: beyond it a test that fails is one of rounding.
        enough = float(problem.norms2.sum())
        n_dots = 0
        while True:
            coefs = np.empty(now.coefs.size)
            _descend(problem.xty, now, before, beta, self._lipschitz, coefs)
            _move_to_proximal_point(penalty, coefs, self._lipschitz)
            fitted = fitted_values(problem, coefs, workers)
            n_dots += coefs.size
            length2, change, uphill = _compare(coefs, now.coefs, before.coefs, beta)
            image = (fitted - now.fitted - beta * (now.fitted - before.fitted))[:-1]
            image2 = float(image @ image)
            if length2 == 0.0 or image2 <= self._lipschitz * length2 * (1.0 + 1e-12) or self._lipschitz >= enough:
                break
            self._lipschitz = max(2.0 * self._lipschitz, image2 / length2 if self._manner.jumps else 0.0)
        point = Point(coefs, fitted, np.zeros(coefs.size))
        corrs, n_read = correlations(problem, _iterate(problem, point), workers)
        self._now, self._before = point._replace(xtq=problem.xty - corrs), now
        self._momentum = 1.0 if uphill > 0.0 and self._manner.restarts else momentum
        return change, n_dots + n_read


@singledispatch
def _move_to_proximal_point(penalty: Penalty, coefs: Vector, lipschitz: float) -> None:
    """Move the coefficients towards zero, by the penalty or to the ball."""


@_move_to_proximal_point.register
def _(penalty: L1, coefs: Vector, lipschitz: float) -> None:
    shrink(coefs, penalty.lam / lipschitz)


@_move_to_proximal_point.register
def _(penalty: L1Ball, coefs: Vector, _lipschitz: float) -> None:
    shrink(coefs, float(ball_threshold(np.abs(coefs), penalty.radius)))
    l1 = float(np.abs(coefs).sum())
    if l1 > penalty.radius:  # a small radius is lost in the rounding of large coefficients
        coefs *= penalty.radius / l1


def _iterate(problem: Problem, point: Point) -> Iterate:
    """Return the point as an iterate: S = a'X'q and F = a'X'y."""
    active = np.flatnonzero(point.coefs)
    weights = point.coefs[active]
    qq, qy = float(weights @ point.xtq[active]), float(weights @ problem.xty[active])
    return Iterate(active, weights, point.fitted, active.size, 1.0, max(qq, 0.0), qy, float(np.abs(weights).sum()), 0)


@kernel
def _descend(xty: Vector, now: Point, before: Point, beta: float, lipschitz: float, out: Vector) -> None:
    """Fill v + X'(y - X v) / L for v = a + beta (a - a')."""
    for j in range(out.size):
        v = now.coefs[j] + beta * (now.coefs[j] - before.coefs[j])
        xtq = now.xtq[j] + beta * (now.xtq[j] - before.xtq[j])
        out[j] = v + (xty[j] - xtq) / lipschitz


@kernel
def _compare(new: Vector, now: Vector, before: Vector, beta: float) -> tuple[float, float, float]:
    """Return ||new - v||^2, the largest change from `now`, and (v - new)'(new - now)."""
    length2 = change = uphill = 0.0
    largest_coef = 0.0
    for j in range(new.size):
        v = now[j] + beta * (now[j] - before[j])
        length2 += (new[j] - v) ** 2
        change = max(change, abs(new[j] - now[j]))
        uphill += (v - new[j]) * (new[j] - now[j])
        largest_coef = max(largest_coef, abs(new[j]))
    if change <= ROUNDING * largest_coef:  # nothing but rounding
        change = 0.0
    return length2, change, uphill

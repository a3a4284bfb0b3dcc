"""Frank-Wolfe with away steps and pairwise steps on the ball (Guelat and Marcotte; Lacoste-Julien and Jaggi, 2015).

A point is a mixture of atoms: the vertex radius sign(a_j) e_j with mass |a_j| / radius for every active column, and
the origin with the mass that is left. So the list of active columns is all there is to keep. Mass goes to the vertex
with the largest correlation, or to the origin if no sign that is allowed has one; an away step takes it from the atom
with the least one and gives it to all others, a pairwise step gives it to that vertex alone. A step that takes all the
mass of an atom drops it. With away steps there are no more drops than atoms that have come in: at least half of the
steps are good ones, and the objective falls linearly. A pairwise step may swap one atom for another, which that count
does not bound: it mostly is as fast, but what is proved of it is weak.

The vertex may be the best of a sample of columns; atoms are looked at in full. To go away if that promises more than
the *sampled* vertex does keeps a linear rate in expectation, with kappa/p in it: see docs/method/convergence.md.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from .._core.columns import Vector, add_column, samples
from .._core.costs import Cost, curvature, has_ridge, pull, strongest
from .._core.draws import Sampler, draw, make_sampler
from .._core.iterate import Iterate, correlation, less_ridge, less_ridge_at, move, norm2_with_ridge
from .._core.jit import kernel
from .._core.oracle import parallel_scan
from .._core.penalties import ROUNDING, L1Ball
from .._core.problem import Problem
from .._core.samples import center, norm2
from ..problem.certificate import estimate_gap
from ..problem.points import burst_steps
from ..status import Status
from .correlations import correlations
from .protocol import Advance, Burst
from .sample_size import SampleSize, columns_to_draw

# Steps of one burst, however small the data.
_BURST_STEPS = 100
# Less mass than this at the origin is rounding.
_NO_MASS = 1e-12


class Atom(NamedTuple):
    """A vertex d e_column, or the origin: column -1 and d 0."""

    column: int
    d: float  # radius sign
    value: float  # d z_column'(y - q)
    mass: float


class Direction(NamedTuple):
    """a <- shrink a + push e_column."""

    column: int  # -1: no descent
    shrink: float
    push: float
    is_cut: bool  # an atom has no more mass to give


class Move(NamedTuple):
    """What a step did."""

    iterate: Iterate
    change: float  # largest change of a coefficient; negative: no descent, and nothing was changed
    is_cut: bool  # shorter than the line search asked for: an atom has left
    n_dots: int


#: Goes on from a point with known correlations towards a column, the one with the largest of them.
TakeStep: TypeAlias = Callable[[Problem, L1Ball, Iterate, Vector, int], Move]


class AwayFrankWolfe:
    """Frank-Wolfe that can also go back: a step looks at the active columns, and at all others or a sample of them.

    Parameters
    ----------
    take_step : `away_step` or `pairwise_step`
    sample_size : rule for the number of columns that the vertex is chosen from; None: all of them
    block_size : neighbouring columns drawn together; None: single ones, whose draws are independent
    seed : of the draws
    """

    def __init__(
        self,
        take_step: TakeStep,
        sample_size: SampleSize | None = None,
        block_size: int | None = None,
        seed: int = 0,
    ) -> None:
        self._take_step = take_step
        self._sample_size, self._block_size, self._seed = sample_size, block_size or 1, seed
        self._sampler: Sampler | None = None
        self._corrs = np.empty(0)  # of a sample: those of its best column and of the active ones, by column
        self._penalty: L1Ball | None = None  # of the last burst
        self._n_idle = 0  # its draws in a row without descent, up to its end

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return the number of columns that the next vertex is chosen from."""
        p = problem.xty.size
        return p if self._sample_size is None else columns_to_draw(self._sample_size, p, iterate.n_active)

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take steps until a stopping rule holds, at most `max_steps`, at most a burst, and all from as many columns.

        A step that drops an atom is shorter than it would be, and does not count as the small step that ends a point.
        Nor does a draw without descent: draws then go round, until all columns were looked at.
        """
        problem, penalty, stopping, max_steps, _ = burst
        p, n_sampled = problem.xty.size, self.columns_per_step(problem, iterate)
        n_steps = burst_steps(problem.nbytes * n_sampled // p, max_steps, _BURST_STEPS)
        iterate = iterate.with_room(n_steps)
        n_round = 1 if n_sampled == p else 1 + math.ceil(p / n_sampled)
        n_idle = self._n_idle if penalty == self._penalty else 0
        n_dots = taken = 0
        status = None
        while status is None and taken < n_steps and self.columns_per_step(problem, iterate) == n_sampled:
            taken += 1
            corrs, best, n_read = self._correlate(burst, iterate, n_sampled, n_idle)
            n_dots += n_read
            gap = estimate_gap(problem, penalty, iterate, pull(problem.cost, best, corrs[best]))
            if gap <= stopping.gap:
                status = Status.CERTIFIED
                break
            iterate, change, is_cut, dots = self._take_step(problem, penalty, iterate, corrs, best)
            n_dots += dots
            n_idle = n_idle + 1 if change <= 0.0 and not is_cut else 0
            if n_idle >= min(n_round, stopping.max_idle):
                status = Status.SETTLED if n_idle >= n_round else Status.STALLED
            elif n_idle == 0 and change <= stopping.change and not is_cut:
                status = Status.SETTLED
        self._penalty, self._n_idle = penalty, n_idle
        return Advance(iterate, taken, n_dots, gap, status)

    def _correlate(self, burst: Burst, iterate: Iterate, n_sampled: int, n_idle: int) -> tuple[Vector, int, int]:
        """Return z_j'(y - q) less its ridge of all columns, or of the best of a sample and the active ones, by column.

        And that with the largest pull of them, and how many dot products it took.
        """
        problem, p = burst.problem, burst.problem.xty.size
        if n_sampled == p:
            corrs, n_dots = correlations(problem, iterate, burst.workers)
            return corrs, int(strongest(problem.cost, corrs)), n_dots
        if self._sampler is None:
            self._sampler, self._corrs = make_sampler(p, min(self._block_size, p), self._seed), np.empty(p)
        n_blocks = draw(self._sampler, n_sampled, n_idle)
        n_bytes = problem.nbytes * n_sampled // p
        best, corr = parallel_scan(problem, iterate, self._sampler, n_blocks, n_bytes, burst.workers)
        _correlate_active(problem, iterate, self._corrs)
        self._corrs[best] = corr
        return self._corrs, best, n_sampled + iterate.n_active


def away_step(problem: Problem, penalty: L1Ball, iterate: Iterate, corrs: Vector, best: int) -> Move:
    """Go towards the vertex of column `best` or away from the worst atom, whichever promises more.

    a <- (1 - step) a + step vertex, or a <- (1 + step) a - step atom.
    """
    moments = problem.xty, problem.norms2, problem.cost
    column, shrink, push, is_cut = _away_direction(*moments, penalty, iterate, corrs, best)
    if column < 0:
        return Move(iterate, -1.0, False, 0)
    iterate, change = move(problem, iterate, column, corrs[column], shrink, push)
    if is_cut and push != 0.0:  # not at the origin, which is no column
        iterate = _without(iterate, column)
    return Move(iterate, change, is_cut, 0)


def pairwise_step(problem: Problem, penalty: L1Ball, iterate: Iterate, corrs: Vector, best: int) -> Move:
    """Move mass from the worst atom to the vertex of column `best`: one dot product more than its choice takes."""
    atom = _worst_atom(penalty, iterate, corrs)
    d = _vertex(problem.cost, penalty, best, corrs[best])
    descent = d * corrs[best] - atom.value
    if descent <= ROUNDING * (abs(d * corrs[best]) + abs(iterate.qy) + iterate.qq):
        return Move(iterate, -1.0, False, 0)
    step = min(atom.mass, _exact_step(descent, _distance2_between(problem, best, d, atom)))
    is_cut = step == atom.mass
    iterate, change = move(problem, iterate, best, corrs[best], 1.0, step * d)
    if atom.column < 0:
        return Move(iterate, change, is_cut, 0)
    corr = less_ridge(problem, iterate, atom.column, correlation(problem, iterate, atom.column))
    iterate, other = move(problem, iterate, atom.column, corr, 1.0, -step * atom.d)
    if atom.column == best:  # from one sign to the other
        return Move(iterate, change + other, False, 1)
    if is_cut:
        iterate = _without(iterate, atom.column)
    return Move(iterate, max(change, other), is_cut, 1)


@kernel
def _correlate_active(problem: Problem, iterate: Iterate, out: Vector) -> None:
    for k in range(iterate.n_active):
        out[iterate.active[k]] = less_ridge_at(problem, iterate, k, correlation(problem, iterate, iterate.active[k]))


@kernel
def _vertex(cost: Cost, penalty: L1Ball, column: int, corr: float) -> float:
    """Return d of the best vertex d e_column: 0 where nothing is better than the origin."""
    return float(0.0 if pull(cost, column, corr) == 0.0 else penalty.radius * np.sign(corr))


@kernel
def _away_direction(
    xty: Vector, norms2: Vector, cost: Cost, penalty: L1Ball, iterate: Iterate, corrs: Vector, best: int
) -> Direction:
    """Choose between the vertex and the worst atom, and search the line; ||q - d z||^2 = S - 2 d z'q + d^2 z'z."""
    atom = _worst_atom(penalty, iterate, corrs)
    here = iterate.qy - iterate.qq  # a'X'(y - q)
    d = _vertex(cost, penalty, best, corrs[best])
    towards, away = d * corrs[best] - here, here - atom.value
    if max(towards, away) <= ROUNDING * (abs(d * corrs[best]) + abs(iterate.qy) + iterate.qq):
        return Direction(-1, 1.0, 0.0, False)
    if towards >= away:
        own = norm2_with_ridge(cost, norms2, best)
        length2 = iterate.qq - 2.0 * d * (xty[best] - corrs[best]) + d * d * own
        step = min(1.0, _exact_step(towards, length2))
        return Direction(best, 1.0 - step, step * d, False)
    most = atom.mass / (1.0 - atom.mass) if atom.mass < 1.0 else np.inf
    column, length2 = best, iterate.qq
    if atom.column >= 0:
        column = atom.column
        own = norm2_with_ridge(cost, norms2, column)
        length2 += -2.0 * atom.d * (xty[column] - corrs[column]) + atom.d * atom.d * own
    step = min(most, _exact_step(away, length2))
    return Direction(column, 1.0 + step, -step * atom.d, step == most)


@kernel
def _worst_atom(penalty: L1Ball, iterate: Iterate, corrs: Vector) -> Atom:
    """Return the atom of the mixture with the least d z'(y - q); that of the origin is 0."""
    rest = 1.0 - iterate.l1 / penalty.radius if penalty.radius > 0.0 else 1.0
    worst = Atom(-1, 0.0, 0.0 if rest > _NO_MASS else np.inf, rest)
    for k in range(iterate.n_active):
        j = int(iterate.active[k])
        d = penalty.radius if iterate.unscaled[k] > 0.0 else -penalty.radius
        if d * corrs[j] < worst.value:
            worst = Atom(j, d, d * corrs[j], iterate.scale * abs(iterate.unscaled[k]) / penalty.radius)
    return worst


@kernel
def _distance2_between(problem: Problem, column: int, d: float, atom: Atom) -> float:
    """Return ||d z_column - atom.d z_atom||^2, with the rows of a ridge."""
    difference = np.zeros(problem.y.size)
    add_column(problem.X, column, d, difference)
    if atom.column >= 0:
        add_column(problem.X, atom.column, -atom.d, difference)
    center(samples(problem.X), difference)
    length2 = norm2(samples(problem.X), difference)
    if has_ridge(problem.cost):
        own = d - atom.d if atom.column == column else d
        length2 += curvature(problem.cost, 0.0, column) * own * own
        if atom.column >= 0 and atom.column != column:
            length2 += curvature(problem.cost, 0.0, atom.column) * atom.d * atom.d
    return float(length2)


@kernel
def _exact_step(slope: float, length2: float) -> float:
    """Return the length of the exact line search; infinite where the loss does not change along the direction."""
    return slope / length2 if length2 > 0.0 else np.inf


@kernel
def _without(iterate: Iterate, column: int) -> Iterate:
    """Take a column out of the list, whose coefficient is zero but for rounding."""
    active, unscaled, n = iterate.active, iterate.unscaled, iterate.n_active
    for k in range(n):
        if active[k] == column:
            for i in range(k, n - 1):
                active[i] = active[i + 1]
                unscaled[i] = unscaled[i + 1]
            n -= 1
            break
    return Iterate(active, unscaled, iterate.fitted, n, iterate.scale, iterate.qq, iterate.qy, iterate.l1, iterate.age)

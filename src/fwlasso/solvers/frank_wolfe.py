"""Frank-Wolfe for the Lasso: deterministic (Algorithm 1) and randomized (Algorithm 2), the same code.

The deterministic method is the randomized one with a sample of all columns.
"""

import math
from numbers import Integral
from typing import NamedTuple

import numpy as np

from .._core.draws import Sampler, all_columns, default_block_size, draw, make_sampler
from .._core.iterate import Iterate, move, rescale, sums_at
from .._core.jit import kernel
from .._core.losses import Squared
from .._core.objective import duality_gap
from .._core.oracle import parallel_scan, scan, scan_active
from .._core.penalties import Penalty, quadratic_step
from .._core.problem import Problem
from .._core.threads import n_chunks
from ..problem.points import burst_steps
from ..status import Status
from .protocol import Advance, Burst, Stopping
from .sample_size import SampleSize

# Steps of one burst, however small the data.
_BURST_STEPS = 1000


class Variant(NamedTuple):
    """What the paper leaves open, or does otherwise: numbers, since kernels know no flags."""

    always_scaled: bool  # the warm start is put on the sphere ||a||_1 = radius, even if the objective rises
    most_looked_at: int  # active columns, looked at if the sample shows no descent and there are no more than so many
    longest_round: (
        int  # draws in a row without descent that go round; 0: all draws are independent, and a step of zero ends
    )
    counts_like_paper: bool  # dot products are kappa (steps + 1) a point, and z_j'y is not counted


_ANY = np.iinfo(np.int64).max
#: By the name that users give: ours, and Algorithm 2 of the paper as it is written.
VARIANTS = {"default": Variant(False, _ANY, _ANY, False), "paper": Variant(True, 0, 0, True)}


class StepInfo(NamedTuple):
    """What a step tells of itself."""

    change: float  # largest change of a coefficient
    gap: float  # duality gap before the step, over the columns looked at
    n_dots: int
    n_idle: int  # draws in a row without descent
    done: bool


class FrankWolfe:
    """Frank-Wolfe with a sampled oracle.

    Parameters
    ----------
    sample_size : rule for the number of columns a step looks at; None: all of them
    block_size : neighbouring columns drawn together; None: chosen by the sample size
    seed : of the draws
    variant : ours, or the paper's
    """

    def __init__(
        self,
        sample_size: SampleSize | None,
        block_size: int | None,
        seed: int,
        variant: Variant = VARIANTS["default"],
    ) -> None:
        self._sample_size = sample_size
        self._block_size = block_size
        self._seed = seed
        self._variant = variant
        self._sampler: Sampler | None = None
        self._bytes_per_column = 0
        self._penalty: Penalty | None = None  # of the last burst
        self._n_idle = 0  # its draws without descent, up to its end

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return the number of columns that the next step looks at."""
        p = problem.xty.size
        if self._sample_size is None:
            return p
        n_sampled = self._sample_size(p, iterate.n_active)
        if not isinstance(n_sampled, Integral) or n_sampled < 1:
            raise ValueError(f"sample_size: the rule gave {n_sampled!r}, not a number of columns of at least 1")
        return min(int(n_sampled), p)

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take steps until a stopping rule holds, at most `max_steps` and at most a burst of them."""
        problem, penalty, stopping, max_steps, workers = burst
        n_sampled = self.columns_per_step(problem, iterate)
        if self._sampler is None:
            self._sampler = self._make_sampler(problem, n_sampled)
            self._bytes_per_column = problem.nbytes // problem.xty.size
        n_bytes = self._bytes_per_column * n_sampled
        n_steps = burst_steps(n_bytes, max_steps, _BURST_STEPS)
        iterate = iterate.with_room(n_steps)
        variant, is_new = self._variant, penalty != self._penalty
        n_idle = 0 if is_new else self._n_idle
        if is_new and variant.always_scaled and iterate.l1 > 0.0:
            iterate = rescale(iterate, penalty.radius / iterate.l1)
        # The first draw without descent begins a round, and the draws of a round look at every column.
        n_round = 1 + math.ceil(problem.xty.size / n_sampled) if n_sampled < problem.xty.size else 1
        # Independent draws prove nothing together: a step of zero is a small step, or none at all.
        max_idle = n_round if variant.longest_round > 0 else 1 if stopping.change >= 0.0 else _ANY
        stopping = stopping._replace(max_idle=min(stopping.max_idle, max_idle))
        if n_chunks(n_bytes) == 1:
            iterate, step, n_steps, n_dots = _burst(
                problem, penalty, iterate, self._sampler, n_sampled, stopping, variant, n_idle, n_steps
            )
        else:
            step, n_dots = StepInfo(np.inf, np.inf, 0, n_idle, False), 0
            for taken in range(1, n_steps + 1):
                n_blocks = draw(self._sampler, n_sampled, min(step.n_idle, variant.longest_round))
                j, corr = parallel_scan(problem, iterate, self._sampler, n_blocks, n_bytes, workers)
                iterate, step = take_step(problem, penalty, iterate, j, corr, step.n_idle, stopping, variant)
                n_dots += n_sampled + step.n_dots
                if step.done:
                    n_steps = taken
                    break
        self._penalty, self._n_idle = penalty, step.n_idle
        if variant.counts_like_paper:
            n_dots = n_sampled * (n_steps + is_new)
        status = None
        if step.done:
            # Where no column of all brings descent, there is nothing to change: settled.
            stalled = 0 < step.n_idle < n_round
            status = Status.CERTIFIED if step.gap <= stopping.gap else Status.STALLED if stalled else Status.SETTLED
        return Advance(iterate, n_steps, n_dots, step.gap, status)

    def _make_sampler(self, problem: Problem, n_sampled: int) -> Sampler:
        if self._sample_size is None:
            return all_columns(problem.X)
        p = problem.xty.size
        is_blocked = self._variant.longest_round > 0
        block_size = self._block_size or (default_block_size(n_sampled) if is_blocked else 1)
        return make_sampler(p, min(block_size, p), self._seed)


@kernel
def _burst(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    sampler: Sampler,
    n_sampled: int,
    stopping: Stopping,
    variant: Variant,
    n_idle: int,
    n_steps: int,
) -> tuple[Iterate, StepInfo, int, int]:
    """Take up to `n_steps` steps, after `n_idle` draws without descent.

    Return the point, the last step, the number of steps and that of dot products.
    """
    step = StepInfo(np.inf, np.inf, 0, n_idle, False)
    n_dots = 0
    taken = 0
    while taken < n_steps and not step.done:
        n_blocks = draw(sampler, n_sampled, min(step.n_idle, variant.longest_round))
        j, corr = scan(problem, iterate, sampler, 0, n_blocks)
        iterate, step = take_step(problem, penalty, iterate, j, corr, step.n_idle, stopping, variant)
        n_dots += n_sampled + step.n_dots
        taken += 1
    return iterate, step, taken, n_dots


@kernel
def take_step(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    j: int,
    corr: float,
    n_idle: int,
    stopping: Stopping,
    variant: Variant,
) -> tuple[Iterate, StepInfo]:
    """Step towards column j, the best of the sample with z_j'(y - q) = corr.

    Where it promises no descent (its gap is negative: the sample has no better vertex than where we stand), the
    active columns are looked at: they do, unless they are optimal among themselves. A draw without descent
    changes nothing, and its change of zero does not count as the small step that ends a point.
    """
    n_dots = 0
    shrink, push = _search(problem, penalty, iterate, j, corr)
    if shrink == 1.0 and push == 0.0 and 0 < iterate.n_active <= variant.most_looked_at:
        active_j, active_corr = scan_active(problem, iterate)
        n_dots = iterate.n_active
        if not abs(active_corr) <= abs(corr):
            j, corr = active_j, active_corr
            shrink, push = _search(problem, penalty, iterate, j, corr)
    gap = duality_gap(Squared(), penalty, sums_at(problem.yy, iterate), abs(corr))
    if gap <= stopping.gap:
        return iterate, StepInfo(0.0, gap, n_dots, n_idle, True)
    if shrink == 1.0 and push == 0.0:
        return iterate, StepInfo(0.0, gap, n_dots, n_idle + 1, n_idle + 1 >= stopping.max_idle)
    iterate, change = move(problem, iterate, j, corr, shrink, push)
    return iterate, StepInfo(change, gap, n_dots, 0, change <= stopping.change)


@kernel
def _search(problem: Problem, penalty: Penalty, iterate: Iterate, j: int, corr: float) -> tuple[float, float]:
    """Return the best shrink and push towards column j; (1, 0), no descent, where anything is not a number."""
    sums = sums_at(problem.yy, iterate)
    shrink, push = quadratic_step(penalty, sums, corr, problem.xty[j], problem.norms2[j])
    return (shrink, push) if np.isfinite(sums.qq + sums.qy + sums.l1 + corr + shrink + push) else (1.0, 0.0)

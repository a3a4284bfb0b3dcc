"""Frank-Wolfe for the Lasso: deterministic (Algorithm 1) and randomized (Algorithm 2), the same code.

The deterministic method is the randomized one with a sample of all columns. The correlations of all columns need not be
computed by the residual, though: they are kept, by the inner products with the columns that were stepped to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.costs import Cost, Plain, curvature, pull
from .._core.draws import Sampler, all_columns, default_block_size, draw, make_sampler, round_length
from .._core.iterate import Iterate, StepInfo, less_ridge, move, refresh, rescale, steepest_ridge, sums_at
from .._core.jit import INLINE, by_type, kernel
from .._core.oracle import parallel_scan, scan, scan_active
from .._core.penalties import Penalty, Sums, quadratic_gap, quadratic_step
from .._core.problem import Problem
from .._core.threads import n_chunks
from ..problem.points import BURST_BYTES, burst_steps
from ..status import Status
from .covariances import ActiveCovariates, Products
from .protocol import Advance, Burst, Stopping
from .sample_size import SampleSize, columns_to_draw

# Steps of one burst, however small the data.
_BURST_STEPS = 1000
# What a step reads of a column whose correlation is kept: z_j'y, z_j'q and z_j'z_k.
_PRODUCT_BYTES = 24


class Variant(NamedTuple):
    """What the paper leaves open, or does otherwise: numbers, since kernels know no flags."""

    always_scaled: bool  # the warm start is put on the sphere ||a||_1 = radius, even if the objective rises
    most_looked_at: int  # active columns, looked at if the sample shows no descent and there are no more than so many
    longest_round: int  # draws in a row without descent that go round; 0: all are independent, and a zero step ends
    counts_like_paper: bool  # dot products are kappa (steps + 1) a point, and z_j'y is not counted
    covariance_bytes: int  # what X'z_j of columns may take that were stepped to, if all are looked at; 0: by residuals


_ANY = np.iinfo(np.int64).max
#: By the name that users give: ours, and Algorithm 2 of the paper as it is written.
VARIANTS = {"default": Variant(False, _ANY, _ANY, False, 256 << 20), "paper": Variant(True, 0, 0, True, 0)}


class Sizes(NamedTuple):
    """How many columns a step looks at."""

    of_active: NDArray[np.int64]  # by the number of active features; 0: the rule was not asked yet
    fewest: int  # and most: a burst ends before a step that looks at fewer, or more
    most: int


_BEFORE = StepInfo(np.inf, np.inf, 0, 0, False, shrink=1.0, push=0.0)  # there was none yet


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
        self._sizes = np.zeros(0, np.int64)  # what the rule said: see `Sizes`
        self._covariates: ActiveCovariates | None = None
        self._bytes_per_column = 0
        self._penalty: Penalty | None = None  # of the last burst
        self._n_idle = 0  # its draws without descent, up to its end

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return the number of columns that the next step looks at."""
        n_active, p = iterate.n_active, problem.xty.size
        if iterate.active.size >= self._sizes.size:  # a step may add a column to those that have room
            self._sizes = np.concatenate([self._sizes, np.zeros(iterate.active.size + 1, np.int64)])
        if self._sizes[n_active] == 0:
            rule = self._sample_size
            self._sizes[n_active] = p if rule is None else columns_to_draw(rule, p, n_active)
        return int(self._sizes[n_active])

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take steps until a stopping rule holds, at most `max_steps` and at most a burst of them.

        A burst ends before a step that looks at more columns than its first one did; and where that looks at all,
        before one that looks at fewer: the gap of a burst is over all columns, or it is not.
        """
        problem, penalty, stopping, max_steps, _ = burst
        n_first = self.columns_per_step(problem, iterate)
        if self._sampler is None:
            self._sampler = self._make_sampler(problem, n_first)
            self._bytes_per_column = problem.nbytes // problem.xty.size
            keeps = self._sample_size is None and self._variant.covariance_bytes > 0
            if keeps and self._bytes_per_column > _PRODUCT_BYTES:  # else to keep them reads as much as to compute them
                self._covariates = ActiveCovariates(problem, self._variant.covariance_bytes)
        n_bytes = _PRODUCT_BYTES if self._covariates is not None else self._bytes_per_column
        n_steps = burst_steps(n_bytes * n_first, max_steps, _BURST_STEPS)
        iterate = iterate.with_room(n_steps)
        variant, is_new = self._variant, penalty != self._penalty
        if is_new and variant.always_scaled and iterate.l1 > 0.0:
            iterate = rescale(iterate, penalty.radius / iterate.l1)
        if variant.longest_round == 0 and stopping.change >= 0.0:  # a step of zero is a small step
            stopping = stopping._replace(max_idle=1)
        take_steps = self._steps_by_residuals if self._covariates is None else self._steps_by_covariates
        rest = burst._replace(stopping=stopping, max_steps=n_steps)
        iterate, step, taken, n_dots = take_steps(rest, iterate, 0 if is_new else self._n_idle)
        self._penalty, self._n_idle = penalty, step.n_idle
        if variant.always_scaled:  # the objective may have fallen far, and what is left of its recursion is rounding
            iterate = refresh(problem, iterate)
        if variant.counts_like_paper and is_new:
            n_dots += n_first
        status = None
        if step.done:
            # Where no column of all brings descent, there is nothing to change: settled.
            is_part = 0 < step.n_idle < round_length(problem.xty.size, self.columns_per_step(problem, iterate))
            idle = Status.ZERO_STEP if variant.longest_round == 0 else Status.STALLED
            status = Status.CERTIFIED if step.gap <= stopping.gap else idle if is_part else Status.SETTLED
        return Advance(iterate, taken, n_dots, step.gap, status)

    def _steps_by_covariates(self, burst: Burst, iterate: Iterate, n_idle: int) -> tuple[Iterate, StepInfo, int, int]:
        """Take up to `max_steps` steps by the correlations that are kept, or fewer if new columns take many passes.

        Return the point, the last step, the number of steps and that of dot products.
        """
        problem, penalty, stopping, max_steps, workers = burst
        covariates = self._covariates
        assert covariates is not None
        variant = self._variant._replace(most_looked_at=0)  # active columns are among those that were looked at
        step, taken, n_dots = _BEFORE._replace(n_idle=n_idle), 0, 0
        while taken < max_steps and not step.done and (taken == 0 or n_dots * self._bytes_per_column < BURST_BYTES):
            products, dots = covariates.at(problem, iterate, workers)
            iterate, step, more, new = _burst_by_covariates(
                problem, penalty, iterate, products, stopping, variant, step.n_idle, max_steps - taken
            )
            covariates.leave(iterate)
            if new >= 0:
                dots += covariates.take_in(problem, new, workers)
            taken, n_dots = taken + more, n_dots + dots
        return iterate, step, taken, n_dots

    def _steps_by_residuals(self, burst: Burst, iterate: Iterate, n_idle: int) -> tuple[Iterate, StepInfo, int, int]:
        """Take up to `max_steps` steps by dot products of the columns that are looked at; return as above."""
        problem, max_steps = burst.problem, burst.max_steps
        most = self.columns_per_step(problem, iterate)
        fewest = most if most == problem.xty.size else 1
        step, taken, n_dots = _BEFORE._replace(n_idle=n_idle), 0, 0
        while taken < max_steps and not step.done and fewest <= self.columns_per_step(problem, iterate) <= most:
            rest = burst._replace(max_steps=max_steps - taken)
            iterate, step, more, dots = self._take_steps(rest, iterate, step.n_idle, fewest)
            taken, n_dots = taken + more, n_dots + dots
        return iterate, step, taken, n_dots

    def _take_steps(
        self, burst: Burst, iterate: Iterate, n_idle: int, fewest: int
    ) -> tuple[Iterate, StepInfo, int, int]:
        """Take one step on threads, or up to `max_steps` that look at so few columns that threads would not pay."""
        problem, penalty, stopping, max_steps, workers = burst
        n_sampled, sampler, variant = self.columns_per_step(problem, iterate), self._sampler, self._variant
        assert sampler is not None
        n_bytes = self._bytes_per_column * n_sampled
        if n_chunks(n_bytes) == 1:
            sizes = Sizes(self._sizes, fewest, n_sampled)
            taken: tuple[Iterate, StepInfo, int, int] = _burst(
                problem, penalty, iterate, sampler, sizes, stopping, variant, n_idle, max_steps
            )
            return taken
        n_blocks = draw(sampler, n_sampled, min(n_idle, variant.longest_round))
        j, corr = parallel_scan(problem, iterate, sampler, n_blocks, n_bytes, workers)
        iterate, step = take_step(problem, penalty, iterate, j, corr, n_sampled, n_idle, stopping, variant)
        return iterate, step, 1, n_sampled + step.n_dots

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
    sizes: Sizes,
    stopping: Stopping,
    variant: Variant,
    n_idle: int,
    n_steps: int,
) -> tuple[Iterate, StepInfo, int, int]:
    """Take up to `n_steps` steps of these sizes, after `n_idle` draws without descent.

    Return the point, the last step, the number of steps and that of dot products.
    """
    step = StepInfo(np.inf, np.inf, 0, n_idle, False, 1.0, 0.0)
    n_dots = 0
    taken = 0
    n_sampled = sizes.of_active[iterate.n_active]
    while taken < n_steps and not step.done and sizes.fewest <= n_sampled <= sizes.most:
        n_blocks = draw(sampler, n_sampled, min(step.n_idle, variant.longest_round))
        j, corr = scan(problem, iterate, sampler, 0, n_blocks)
        iterate, step = take_step(problem, penalty, iterate, j, corr, n_sampled, step.n_idle, stopping, variant)
        n_dots += n_sampled + step.n_dots
        taken += 1
        n_sampled = sizes.of_active[iterate.n_active]
    return iterate, step, taken, n_dots


@kernel
def _burst_by_covariates(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    products: Products,
    stopping: Stopping,
    variant: Variant,
    n_idle: int,
    n_steps: int,
) -> tuple[Iterate, StepInfo, int, int]:
    """Take up to `n_steps` steps, until one goes to a column j whose X'z_j is not known.

    X'q becomes shrink X'q + push X'z_j. Return the point, the last step, the number of steps and j, or -1.
    """
    step = StepInfo(np.inf, np.inf, 0, n_idle, False, 1.0, 0.0)
    at_point, taken = products.at_point, 0
    while taken < n_steps and not step.done:
        j, corr, largest, further = 0, 0.0, 0.0, steepest_ridge(problem, iterate)
        for i in range(at_point.size):
            other = problem.xty[i] - iterate.scale * at_point[i]
            if further > 0.0 and not abs(other) + further <= largest:
                other = less_ridge(problem, iterate, i, other)
            if not pull(problem.cost, i, other) <= largest:  # what is not a number is the largest
                j, corr, largest = i, other, pull(problem.cost, i, other)
        row, before = products.row_of[j], iterate.scale
        if row < 0:
            return iterate, step, taken, j
        iterate, step = take_step(problem, penalty, iterate, j, corr, at_point.size, step.n_idle, stopping, variant)
        taken += 1
        if step.shrink != 1.0 or step.push != 0.0:
            kept, push = before * step.shrink / iterate.scale, step.push / iterate.scale
            for i in range(at_point.size):
                at_point[i] = kept * at_point[i] + push * products.rows[row, i]
    return iterate, step, taken, -1


@kernel
def take_step(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    j: int,
    corr: float,
    n_sampled: int,
    n_idle: int,
    stopping: Stopping,
    variant: Variant,
) -> tuple[Iterate, StepInfo]:
    """Step towards column j, the best of a sample: `corr` is z_j'(y - q) less its ridge; `n_idle` draws had no descent.

    Where it promises no descent (its gap is negative: the sample has no better vertex than where we stand), the
    active columns are looked at: they do, unless they are optimal among themselves. A draw without descent
    changes nothing, and its change of zero does not count as the small step that ends a point; a round of them does, if
    draws go round.
    """
    n_dots = 0
    shrink, push = _search(problem, penalty, iterate, j, corr)
    if shrink == 1.0 and push == 0.0 and 0 < iterate.n_active <= variant.most_looked_at:
        active_j, active_corr = scan_active(problem, iterate)
        n_dots = iterate.n_active
        if not pull(problem.cost, active_j, active_corr) <= pull(problem.cost, j, corr):
            j, corr = active_j, active_corr
            shrink, push = _search(problem, penalty, iterate, j, corr)
    gap = quadratic_gap(penalty, sums_at(problem.yy, iterate), pull(problem.cost, j, corr))
    if gap <= stopping.gap:
        return iterate, StepInfo(0.0, gap, n_dots, n_idle, True, 1.0, 0.0)
    if shrink == 1.0 and push == 0.0:
        n_round = round_length(problem.xty.size, n_sampled)
        is_round = n_round <= variant.longest_round and n_idle + 1 >= n_round
        done = is_round or n_idle + 1 >= stopping.max_idle
        return iterate, StepInfo(0.0, gap, n_dots, n_idle + 1, done, 1.0, 0.0)
    iterate, change = move(problem, iterate, j, corr, shrink, push)
    return iterate, StepInfo(change, gap, n_dots, 0, change <= stopping.change, shrink, push)


@kernel
def _search(problem: Problem, penalty: Penalty, iterate: Iterate, j: int, corr: float) -> tuple[float, float]:
    """Return the best shrink and push towards column j; (1, 0), no descent, where anything is not a number.

    The vertex of a column that is zero is as good as the origin, which leaves it out of the model.
    """
    sums = sums_at(problem.yy, iterate)
    shrink, push = _step_towards(problem.cost, penalty, sums, j, corr, problem.xty[j], problem.norms2[j])
    push = push if corr != 0.0 or problem.norms2[j] > 0.0 else 0.0
    return (shrink, push) if np.isfinite(sums.qq + sums.qy + sums.l1 + corr + shrink + push) else (1.0, 0.0)


@by_type
def _step_towards(
    cost: Cost, penalty: Penalty, sums: Sums, j: int, corr: float, xty: float, norm2: float
) -> tuple[float, float]:
    """Return the best shrink and push towards z_j with the row of its ridge, or towards the origin if none pulls."""


@_step_towards.register(Plain, INLINE)
def _(cost, penalty, sums, j, corr, xty, norm2):
    return quadratic_step(penalty, sums, corr, xty, norm2)


@_step_towards.otherwise
def _(cost, penalty, sums, j, corr, xty, norm2):
    if pull(cost, j, corr) == 0.0:
        shrink, _ = quadratic_step(penalty, sums, 0.0, 0.0, 0.0)
        return shrink, 0.0
    return quadratic_step(penalty, sums, corr, xty, norm2 + curvature(cost, 0.0, j))

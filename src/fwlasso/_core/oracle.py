"""The linear oracle of the l1 ball: the column with the largest pull, among those drawn.

That is the one most correlated with the residual, unless its sign is not allowed; a ridge takes its share off.
"""

import numpy as np

from .costs import pull
from .draws import Sampler
from .iterate import Iterate, correlation, less_ridge, less_ridge_at, steepest_ridge
from .jit import kernel
from .problem import Problem
from .threads import Workers, even_cuts


@kernel
def scan(problem: Problem, iterate: Iterate, sampler: Sampler, lo: int, hi: int) -> tuple[int, float]:
    """Return (j, z_j'(y - q) less its ridge) of the largest pull over the blocks lo..hi of the last draw.

    It is the first of equals. Where one is not a number, it is that one: no maximum may hide it. The list of active
    columns is looked at for those alone that may be the best.
    """
    p, further = problem.xty.size, steepest_ridge(problem, iterate)
    best, best_corr, largest = int(sampler.starts[lo]), 0.0, 0.0
    for k in range(lo, hi):
        start = int(sampler.starts[k])
        for position in range(start, start + sampler.lengths[k]):
            j = position if position < p else position - p
            corr = correlation(problem, iterate, j)
            if further > 0.0 and not abs(corr) + further <= largest:
                corr = less_ridge(problem, iterate, j, corr)
            if not pull(problem.cost, j, corr) <= largest:
                best, best_corr, largest = j, corr, pull(problem.cost, j, corr)
                if np.isnan(corr):  # nothing is larger
                    return best, best_corr
    return best, best_corr


@kernel
def scan_active(problem: Problem, iterate: Iterate) -> tuple[int, float]:
    """Return (j, z_j'(y - q) less its ridge) of largest pull over the active columns. There must be one."""
    best, best_corr, largest = int(iterate.active[0]), 0.0, 0.0
    for k in range(iterate.n_active):
        corr = less_ridge_at(problem, iterate, k, correlation(problem, iterate, iterate.active[k]))
        strength = pull(problem.cost, iterate.active[k], corr)
        if not strength <= largest:
            best, best_corr, largest = int(iterate.active[k]), corr, strength
            if np.isnan(corr):
                break
    return best, best_corr


def parallel_scan(
    problem: Problem, iterate: Iterate, sampler: Sampler, n_blocks: int, n_bytes: int, workers: Workers
) -> tuple[int, float]:
    """Return what `scan` returns for all blocks, on threads."""
    found = workers.map(lambda lo, hi: scan(problem, iterate, sampler, lo, hi), even_cuts(n_blocks, n_bytes))
    pulls = [pull(problem.cost, j, corr) for j, corr in found]
    return found[int(np.argmax(pulls))]  # the first that is not a number, if there is one

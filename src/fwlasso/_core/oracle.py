"""The linear oracle of the l1 ball: the column most correlated with the residual, among those drawn."""

import numpy as np

from .draws import Sampler
from .iterate import Iterate, correlation
from .jit import kernel
from .problem import Problem
from .threads import Workers, even_cuts


@kernel
def scan(problem: Problem, iterate: Iterate, sampler: Sampler, lo: int, hi: int) -> tuple[int, float]:
    """Return (j, z_j'(y - q)) of largest modulus over the blocks lo..hi of the last draw; the first of equals.

    Where one is not a number, it is that one: no maximum may hide it.
    """
    p = problem.xty.size
    best, best_corr, largest = int(sampler.starts[lo]), 0.0, 0.0
    for k in range(lo, hi):
        start = int(sampler.starts[k])
        for position in range(start, start + sampler.lengths[k]):
            j = position if position < p else position - p
            corr = correlation(problem, iterate, j)
            if not abs(corr) <= largest:
                best, best_corr, largest = j, corr, abs(corr)
                if np.isnan(corr):  # nothing is larger
                    return best, best_corr
    return best, best_corr


@kernel
def scan_active(problem: Problem, iterate: Iterate) -> tuple[int, float]:
    """Return (j, z_j'(y - q)) of largest modulus over the active columns. There must be one."""
    best, best_corr, largest = int(iterate.active[0]), 0.0, 0.0
    for k in range(iterate.n_active):
        corr = correlation(problem, iterate, iterate.active[k])
        if not abs(corr) <= largest:
            best, best_corr, largest = int(iterate.active[k]), corr, abs(corr)
            if np.isnan(corr):
                break
    return best, best_corr


def parallel_scan(
    problem: Problem, iterate: Iterate, sampler: Sampler, n_blocks: int, n_bytes: int, workers: Workers
) -> tuple[int, float]:
    """Return what `scan` returns for all blocks, on threads."""
    found = workers.map(lambda lo, hi: scan(problem, iterate, sampler, lo, hi), even_cuts(n_blocks, n_bytes))
    return found[int(np.argmax([abs(corr) for _, corr in found]))]  # the first that is not a number, if there is one

"""The linear oracle of the l1 ball: the column most correlated with the residual, among those drawn."""

from ._jit import kernel
from .iterate import Iterate, correlation
from .parallel import Workers, even_cuts
from .problem import Problem
from .sampling import Sampler


@kernel
def scan(problem: Problem, iterate: Iterate, sampler: Sampler, lo: int, hi: int) -> tuple[int, float]:
    """Return (j, z_j'(y - q)) of largest modulus over the blocks lo..hi of the last draw; the first of equals."""
    p = problem.xty.size
    best, best_corr, largest = -1, 0.0, -1.0
    for k in range(lo, hi):
        start = int(sampler.starts[k])
        for position in range(start, start + sampler.lengths[k]):
            j = position if position < p else position - p
            corr = correlation(problem, iterate, j)
            if abs(corr) > largest:
                best, best_corr, largest = j, corr, abs(corr)
    return best, best_corr


@kernel
def scan_active(problem: Problem, iterate: Iterate) -> tuple[int, float]:
    """Return (j, z_j'(y - q)) of largest modulus over the active columns. There must be one."""
    best, best_corr, largest = -1, 0.0, -1.0
    for k in range(iterate.n_active):
        corr = correlation(problem, iterate, iterate.active[k])
        if abs(corr) > largest:
            best, best_corr, largest = int(iterate.active[k]), corr, abs(corr)
    return best, best_corr


def parallel_scan(
    problem: Problem, iterate: Iterate, sampler: Sampler, n_blocks: int, n_bytes: int, workers: Workers
) -> tuple[int, float]:
    """Return what `scan` returns for all blocks, on threads."""
    found = workers.run(lambda lo, hi: scan(problem, iterate, sampler, lo, hi), even_cuts(n_blocks, n_bytes))
    return max(found, key=lambda vertex: abs(vertex[1]))

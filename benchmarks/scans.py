"""Scans against the bandwidth of the machine: dense against numpy's sum, sparse against scipy's product."""

import numpy as np
import scipy.sparse as sp

from fwlasso.columns import as_design
from fwlasso.iterate import zero
from fwlasso.oracle import parallel_scan
from fwlasso.parallel import Workers, even_cuts
from fwlasso.problem import Problem, build_problem
from fwlasso.sampling import all_columns

from .measure import Results, best_seconds


def run(results: Results) -> None:
    results.section("Scans")
    _dense(results)
    _sparse(results)


def _scan_seconds(problem: Problem, workers: Workers) -> float:
    sampler, iterate = all_columns(problem.X), zero(problem)
    n_blocks = sampler.starts.size
    return best_seconds(lambda: parallel_scan(problem, iterate, sampler, n_blocks, problem.nbytes, workers), 9)


def _dense(results: Results) -> None:
    rng = np.random.default_rng(0)
    m, p = 500, 150_000
    X = np.asfortranarray(rng.standard_normal((p, m)).T)
    for n_threads in (1, 2):
        with Workers(n_threads) as workers:
            problem = build_problem(as_design(X), rng.standard_normal(m), True, True, workers)
            scan = _scan_seconds(problem, workers)
            cuts = even_cuts(p, X.nbytes)
            total = best_seconds(lambda: workers.run(lambda lo, hi: float(X[:, lo:hi].sum()), cuts), 9)  # noqa: B023
        share = total / scan
        what = f"dense scan of 600 MB on {n_threads} threads"
        results.add(what, X.nbytes / scan / 1e9, "GB/s")
        results.add(f"{what}: share of the bandwidth of a sum", share, "", ">= 0.8", share >= 0.8)


def _sparse(results: Results) -> None:
    rng = np.random.default_rng(0)
    m, p, nnz = 50_000, 20_000, 10_000_000
    X = sp.random_array((m, p), density=nnz / (m * p), format="csc", rng=rng)
    r = rng.standard_normal(m)
    transposed = X.T
    scipy_seconds = best_seconds(lambda: transposed @ r, 9)
    scan = {}
    for n_threads in (1, 2):
        with Workers(n_threads) as workers:
            scan[n_threads] = _scan_seconds(build_problem(as_design(X), r, True, True, workers), workers)
    results.add("scipy's X.T @ r, 1e7 nonzeros, m = 50,000, one thread", 1e3 * scipy_seconds, "ms")
    one, two = scipy_seconds / scan[1], scan[1] / scan[2]
    results.add("sparse scan, one thread, against scipy", one, "times", ">= 1", one >= 1.0)
    results.add("sparse scan, two threads against one", two, "times", ">= 1.7", two >= 1.7)

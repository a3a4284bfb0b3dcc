"""Scans against the bandwidth of the machine: dense against numpy's sum, sparse against scipy's product."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from fwlasso._core.draws import all_columns
from fwlasso._core.iterate import zero
from fwlasso._core.oracle import parallel_scan
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers, even_cuts
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem

from .measure import Results, best_seconds


def run(results: Results) -> None:
    results.section("Scans")
    with Workers(1) as one, Workers(2) as two:
        _dense(results, {"one thread": one, "two threads": two})
        _sparse(results, one, two)


def _scan(problem: Problem, workers: Workers) -> Callable[[], object]:
    """Return a full scan of the oracle, on the threads of `workers`."""
    sampler, iterate = all_columns(problem.X), zero(problem)
    return lambda: parallel_scan(problem, iterate, sampler, sampler.starts.size, problem.nbytes, workers)


def _dense(results: Results, pools: dict[str, Workers]) -> None:
    rng = np.random.default_rng(0)
    m, p = 500, 150_000
    X = np.asfortranarray(rng.standard_normal((p, m)).T)
    problem = build_problem(as_design(X), rng.standard_normal(m), True, True, pools["two threads"])
    cuts = even_cuts(p, X.nbytes)
    for name, workers in pools.items():

        def total(workers: Workers = workers) -> object:
            return workers.map(lambda lo, hi: float(X[:, lo:hi].sum()), cuts)

        seconds = best_seconds(15, scan=_scan(problem, workers), sum=total)
        share = seconds["sum"] / seconds["scan"]
        results.add(f"dense scan of 600 MB, {name}", X.nbytes / seconds["scan"] / 1e9, "GB/s")
        results.add(f"dense scan, {name}: share of the bandwidth of a sum", share, "", ">= 0.8", share >= 0.8)


def _sparse(results: Results, one: Workers, two: Workers) -> None:
    rng = np.random.default_rng(0)
    m, p, nnz = 50_000, 20_000, 10_000_000
    X = sp.random_array((m, p), density=nnz / (m * p), format="csc", rng=rng)
    r = rng.standard_normal(m)
    transposed = X.T
    problem = build_problem(as_design(X), r, True, True, two)
    seconds = best_seconds(25, scipy=lambda: transposed @ r, one=_scan(problem, one), two=_scan(problem, two))
    results.add("scipy's X.T @ r, 1e7 nonzeros, m = 50,000, one thread", 1e3 * seconds["scipy"], "ms")
    for name, least in (("one", 1.0), ("two", 1.7)):
        ratio = seconds["scipy"] / seconds[name]
        results.add(f"sparse scan, threads: {name}, against scipy", ratio, "times", f">= {least:g}", ratio >= least)

"""The paper's Pyrim experiment: counts beside the published ones, and speed beside R's glmnet."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwlasso import lasso_path
from fwlasso.datasets import product_features, read_table

from .measure import Results, ball_gaps, best_seconds, penalty_gaps
from .peers import glmnet

# Published for 1, 2 and 3 %: iterations and dot products; active features are at most 10 % above 27.6.
PUBLISHED = {0.01: (277, 7.61e5), 0.02: (280, 1.53e6), 0.03: (277, 2.28e6)}
MOST_ACTIVE = 30.4
SEEDS = range(10)


def load(data: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Pyrim with all products up to order five, in column-major order."""
    table = read_table(data / "pyrim_scale.svm")
    return product_features(table.X.toarray(), order=5), table.y


def run(results: Results, data: Path) -> None:
    results.section("Pyrim, product features of order 5, in the paper's units")
    X, y = load(data)
    exact = lasso_path(X, y, standardize=True, solver="cd", alphas=20, stop="gap", tol=1e-6, max_iter=10**6)
    radii = exact.radii[-1] * np.geomspace(0.01, 1.0, 100)
    results.add("largest radius, ||a||_1 at a hundredth of the largest penalty", radii[-1])
    units: dict[str, Any] = {"radii": radii, "standardize": True, "stop": "paper", "tol": 1e-3, "certify": False}

    for share, (iterations, dot_products) in PUBLISHED.items():
        paths = [lasso_path(X, y, sample_size=share, block_size=1, random_state=s, **units) for s in SEEDS]
        counted = float(np.mean([path.counters.iterations.sum() for path in paths]))
        dots = float(np.mean([path.counters.dot_products for path in paths]))
        active = float(np.mean([path.n_active.mean() for path in paths]))
        name = f"{share:.0%} of single columns, mean of 10 seeds"
        _within(results, f"{name}: iterations", counted, iterations)
        _within(results, f"{name}: dot products", dots, dot_products)
        results.add(f"{name}: active features", active, "", f"<= {MOST_ACTIVE}", active <= MOST_ACTIVE)

    def solve(block_size: int | None, **more: Any) -> None:
        for seed in SEEDS:
            lasso_path(X, y, sample_size=0.01, block_size=block_size, random_state=seed, **{**units, **more})

    def solver_seconds(block_size: int | None) -> float:
        paths = [lasso_path(X, y, sample_size=0.01, block_size=block_size, random_state=s, **units) for s in SEEDS]
        return float(np.mean([path.counters.seconds["solve"] for path in paths]))

    single, blocks = (best_seconds(lambda b=b: solve(b)) / len(SEEDS) for b in (1, None))  # type: ignore[misc]
    single_solve, blocks_solve = (min(solver_seconds(b) for _ in range(5)) for b in (1, None))
    results.add("1 %, single columns: whole call, mean of 10 seeds", 1e3 * single, "ms")
    results.add("1 %, blocks: whole call, mean of 10 seeds", 1e3 * blocks, "ms")
    results.add(
        "1 %, blocks: whole call with certificates", 1e2 * best_seconds(lambda: solve(None, certify=True)), "ms"
    )
    results.add("1 %, blocks: the solver alone", 1e3 * blocks_solve, "ms")
    ratio = single_solve / blocks_solve
    results.add("blocks against single columns, the solver alone", ratio, "times", ">= 5", ratio >= 5.0)
    results.add("blocks against single columns, whole call", single / blocks, "times")

    gaps = {
        block: float(np.median([_median_gap(X, y, radii, block, seed, units) for seed in SEEDS])) for block in (1, None)
    }
    results.add("1 %, single columns: median gap, recomputed", gaps[1])
    results.add("1 %, blocks: median gap, recomputed", gaps[None], "", f"<= {gaps[1]:.3g}", gaps[None] <= gaps[1])

    if not glmnet.available():
        print("    R with glmnet is not installed: no comparison (Debian: apt-get install r-cran-glmnet)")
        return
    peer = glmnet.path(X, y, thresh=1e-7, repeats=3)
    peer_gaps = penalty_gaps(X, y, peer.coefs, peer.alphas)
    results.add("R glmnet, thresh 1e-7", peer.seconds, "s")
    results.add("R glmnet: largest gap, recomputed", float(peer_gaps.max()))
    speed = peer.seconds / blocks
    results.add("1 %, blocks, whole call, against R glmnet", speed, "times", ">= 50", speed >= 50.0)


def _within(results: Results, what: str, measured: float, published: float) -> None:
    asked = f"{published:g} +- 25 %"
    results.add(what, measured, "", asked, abs(measured / published - 1.0) <= 0.25)


def _median_gap(X: Any, y: Any, radii: Any, block_size: int | None, seed: int, units: dict[str, Any]) -> float:
    path = lasso_path(X, y, sample_size=0.01, block_size=block_size, random_state=seed, **units)
    return float(np.median(ball_gaps(X, y, path.coefs.toarray(), radii)))

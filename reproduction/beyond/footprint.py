"""One path on made data of a given width, in a process of its own: its time, its passes and its peak memory.

``python -m reproduction.beyond.footprint 100000 certified 1`` prints them as JSON, for one thread; 0: for all.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path
from fwlasso.problem.grid import log_grid
from fwlasso.solvers.sample_size import QuantileRule
from fwlasso.warmup import warm_up

from ..study import Record

#: What is measured: a label and the arguments of `lasso_path`.
METHODS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "sfw-share": ("FW, 1 % of the columns", {"solver": "sfw", "sample_size": 0.01}),
    "sfw-fixed": ("FW, 194 columns", {"solver": "sfw", "sample_size": QuantileRule()}),
    "certified": ("certified path", {"solver": "certified"}),
}
N_SAMPLES, N_NONZERO, N_RELEVANT = 1000, 20, 20
EPS = 0.1  # of the grids: the models are far from interpolating y, as they are in practice
N_RUNS: Final = 3  # of a path, with other seeds
_STATUS = Path("/proc/self/status")
_FORGET_PEAK = Path("/proc/self/clear_refs")


def measured_apart(p: int, method: str, n_threads: int | None = None) -> Record:
    """Return `measure(p, method, n_threads)` of a new process."""
    # With a low and fixed threshold malloc takes arrays from the system and gives them back: none hides in its pool.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(p), method, str(n_threads or 0)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a path on {p:,} columns by {method} failed: {done.stderr.strip()}")
    record: Record = json.loads(done.stdout)
    return record


def measure(p: int, method: str, n_threads: int | None = None) -> Record:
    """Return what a path of 100 radii on `p` columns costs; memory is None where the system does not tell it.

    Seconds are those of setup and solver, the median of the runs and their range: neither of the grid nor of the gaps
    that are computed afterwards. All else is of the first run.
    """
    _, options = METHODS[method]
    warm_up(sparse=[True], dtypes=[np.float32], solvers=["certified", options["solver"]])
    X, y = wide_problem(p)
    largest = lasso_path(X, y, alphas=1, eps=EPS, standardize=True).radii[0]
    before = _resident_then_forget_peak()
    given = {"radii": log_grid(EPS * largest, largest, 100), "standardize": True, "n_threads": n_threads, **options}
    path = lasso_path(X, y, random_state=0, **given)
    peak = _status("VmHWM")
    paths = [path, *(lasso_path(X, y, random_state=seed, **given) for seed in range(1, N_RUNS))]
    seconds = [path.counters.seconds for path in paths]
    iterations = [int(path.counters.iterations.sum()) for path in paths]
    times = [of_run["setup"] + of_run["solve"] for of_run in seconds]
    step_times = [of_run["solve"] / n_steps for of_run, n_steps in zip(seconds, iterations, strict=True)]
    return {
        "p": p,
        "method": method,
        "bytes": X.data.nbytes + X.indices.nbytes + X.indptr.nbytes,
        "extra_bytes": None if before is None or peak is None else peak - before,
        "iterations": iterations[0],
        "seconds": statistics.median(times),
        "seconds_per_step": statistics.median(step_times),
        "runs": {"seconds": times, "seconds_per_step": step_times},
        "passes": path.counters.passes,
        "median_gap": float(np.median(path.gaps)),
        "n_active": int(path.n_active[-1]),
    }


def wide_problem(p: int) -> tuple[sp.csc_array, Vector]:
    """Return a CSC matrix of float32 with the same number of entries in every column, and a noisy sum of a few."""
    rng = np.random.default_rng(p)
    stride = N_SAMPLES // N_NONZERO  # one entry in each of as many runs of rows: sorted, and no row twice
    rows = rng.integers(0, stride, (p, N_NONZERO), dtype=np.int32)
    rows += np.arange(0, N_NONZERO * stride, stride, dtype=np.int32)
    indptr = np.arange(0, p * N_NONZERO + 1, N_NONZERO, dtype=np.int32)
    values = rng.standard_normal(p * N_NONZERO, dtype=np.float32)
    X = sp.csc_array((values, rows.reshape(-1), indptr), shape=(N_SAMPLES, p))
    relevant = rng.choice(p, N_RELEVANT, replace=False)
    signal = X[:, relevant] @ rng.choice([-1.0, 1.0], N_RELEVANT)
    return X, signal + 0.5 * signal.std() * rng.standard_normal(N_SAMPLES)


def _resident_then_forget_peak() -> int | None:
    """Return the memory in use, in bytes, and let the system forget the peak so far; None where it cannot."""
    try:
        _FORGET_PEAK.write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _status(name: str) -> int | None:
    """Return a line of Linux's status of this process, in bytes."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), None)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) or None)))

"""What a new process pays: the import, the first path with a warm cache, and with a cold one."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .measure import Results

_FIRST_PATH = """
import time, numpy as np, fwlasso
rng = np.random.default_rng(0)
X, y = np.asfortranarray(rng.standard_normal((50, 500))), rng.standard_normal(50)
started = time.perf_counter()
fwlasso.lasso_path(X, y, random_state=0)
first = time.perf_counter() - started
started = time.perf_counter()
fwlasso.lasso_path(X, y, random_state=0)
print(first - (time.perf_counter() - started))
"""
_IMPORT = "import time; started = time.perf_counter(); import {}; print(time.perf_counter() - started)"


def run(results: Results) -> None:
    results.section("Start-up")
    ours, sklearn = (
        min(_seconds(_IMPORT.format(module)) for _ in range(7)) for module in ("fwlasso", "sklearn.linear_model")
    )
    results.add("import fwlasso", ours, "s")
    ratio = ours / sklearn
    results.add("import fwlasso against sklearn.linear_model", ratio, "times", "<= 1.3", ratio <= 1.3)
    with TemporaryDirectory() as cache:
        cold = _seconds(_FIRST_PATH, cache)
        n_signatures = sum(1 for _ in Path(cache).rglob("*.nbc"))
        warm = min(_seconds(_FIRST_PATH, cache) for _ in range(3))
    results.add("first path, cold cache: overhead", cold, "s", "< 15", cold < 15.0)
    results.add("compiled signatures of the first path", n_signatures)
    results.add("first path in a new process, warm cache: overhead", warm, "s", "< 1", warm < 1.0)


def _seconds(code: str, cache: str | None = None) -> float:
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)

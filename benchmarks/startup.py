"""What a new process pays: the import, and the first path, with a warm cache and with a cold one.

python -m benchmarks.startup --before ../before
"""

import argparse
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .certified import at_most
from .checkout import HERE
from .measure import Results

# Prints the seconds that the first path takes beyond the second: by the clock, and of the processor, which other
# processes disturb less.
_FIRST_PATH = """
import time, numpy as np, scipy.sparse as sp, fwlasso
rng = np.random.default_rng(0)
X, y = np.asfortranarray(rng.standard_normal({shape})), rng.standard_normal({shape}[0])
X = {store}(X)
def now():
    return np.array([time.perf_counter(), time.process_time()])
started = now()
fwlasso.lasso_path(X, y, random_state=0)
first = now()
fwlasso.lasso_path(X, y, random_state=0)
print(*(2 * first - started - now()))
"""
_WIDE, _TALL = "(50, 500)", "(500, 50)"
_STORES = {"dense": "np.asfortranarray", "CSC": "sp.csc_array", "float32": "np.float32"}
_IMPORT = "import time; started = time.perf_counter(); import {}; print(time.perf_counter() - started)"


def run(results: Results, before: Path | None = None) -> None:
    results.section("Start-up")
    ours, sklearn = (
        min(_run(_IMPORT.format(module))[0] for _ in range(7)) for module in ("fwlasso", "sklearn.linear_model")
    )
    results.add("import fwlasso", ours, "s")
    ratio = ours / sklearn
    results.add("import fwlasso against sklearn.linear_model", ratio, "times", "<= 1.3", ratio <= 1.3)
    for shape, *kinds in ((_WIDE, "dense", "CSC", "float32"), (_WIDE, "CSC", "dense"), (_TALL, "dense", "CSC")):
        _cold(results, shape, kinds, before)


def _cold(results: Results, shape: str, kinds: list[str], before: Path | None) -> None:
    """Measure the first path with nothing compiled, with all of it compiled, and those of further kinds of data."""
    bound = math.inf  # the cold start of the checkout before
    for which, folder in (("before", before), ("ours", HERE)):
        if folder is None:
            continue
        with TemporaryDirectory() as cache:
            for kind in kinds:
                cold, cpu = _first_path(shape, kind, cache, folder)
                n_signatures = sum(1 for _ in Path(cache).rglob("*.nbc"))
                line = f"{which}, first path, {kind}, {shape}{'' if kind == kinds[0] else f', after {kinds[0]}'}"
                results.add(f"{line}: cold cache, overhead", cold, "s")
                most = 5.0 if kind != kinds[0] else None if math.isinf(bound) else bound
                at_most(results, f"{line}: the same, of the processor", cpu, most, "s")
                results.add(f"{line}: compiled signatures in the cache", n_signatures)
                if kind == kinds[0]:
                    bound = cpu
            warm = min(_first_path(shape, kinds[0], cache, folder)[0] for _ in range(3))
        results.add(f"{which}, first path, {kinds[0]}, {shape}: warm cache, overhead", warm, "s", "< 1", warm < 1.0)


def _first_path(shape: str, store: str, cache: str, folder: Path) -> list[float]:
    return _run(_FIRST_PATH.format(shape=shape, store=_STORES[store]), cache, folder)


def _run(code: str, cache: str | None = None, folder: Path = HERE) -> list[float]:
    """Return the numbers that a program prints, in a process on the sources of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve() / "src")}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    """Run this part on its own, and keep the figures in startup.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to be measured too")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for startup.json")
    given = parser.parse_args()
    results = Results()
    run(results, given.before)
    results.write(given.out, "startup")


if __name__ == "__main__":
    main()

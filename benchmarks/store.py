"""A store on the disk: how fast it opens, and how little memory its conversion and a certified path take.

Every part is a process of its own. RssAnon is memory that is not a copy of a file: pages of the store are not in it.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from .measure import Results

_COMMON = """
import os, sys, threading, time, numpy as np, fwlasso
from fwlasso.datasets import convert, open_store
folder, n_columns = sys.argv[1], int(sys.argv[2])
def anonymous():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("RssAnon"))
def peak_beyond_now(action):
    before, largest, done = anonymous(), [], threading.Event()
    def look():
        while not done.wait(0.005):
            largest.append(anonymous())
    looker = threading.Thread(target=look)
    looker.start()
    started = time.perf_counter()
    result = action()
    seconds = time.perf_counter() - started
    done.set()
    looker.join()
    return result, seconds, max([before, *largest]) - before
def forget(file):  # the system's copy of it in memory
    number = os.open(file, os.O_RDONLY)
    os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(number)
"""

# A file to convert, written in blocks; y is made of twenty of its columns.
_CONVERT = """
m, rng = 1000, np.random.default_rng(0)
X = np.lib.format.open_memmap(folder + "/X.npy", "w+", np.float64, (m, n_columns), fortran_order=True)
for lo in range(0, n_columns, 1000):
    X[:, lo:lo + 1000] = rng.standard_normal((min(1000, n_columns - lo), m)).T
np.save(folder + "/y.npy", X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(m))
X.flush()
del X
_, seconds, peak = peak_beyond_now(lambda: convert(folder + "/X.npy", folder + "/store"))
print(seconds, peak)
"""

_OPEN = """
forget(folder + "/store/X.npy")
open_store(folder + "/store")  # the first time, code is loaded, too
started = time.perf_counter()
open_store(folder + "/store")
print(time.perf_counter() - started)
"""

_PATH = """
in_memory, cold = sys.argv[3] == "memory", sys.argv[3] == "cold"
fwlasso.warm_up(sparse=[False])
store = open_store(folder + "/store")
X = np.array(store.X, order="F") if in_memory else store.X
if cold:
    forget(folder + "/store/X.npy")
path, seconds, peak = peak_beyond_now(lambda: fwlasso.lasso_path(X, store.y, eps=0.1))
assert path.settings["conversion"] is None
np.save(folder + f"/{sys.argv[3]}.npy", np.concatenate([path.coefs.data, path.gaps, path.intercepts]))
print(seconds, peak, path.gaps.max(), path.counters.passes)
"""


def run(results: Results, gigabytes: float) -> None:
    results.section(f"Store of {gigabytes:g} GB")
    n_columns = max(1000, round(gigabytes * 1e9 / 8000))
    size = 8000.0 * n_columns
    with TemporaryDirectory() as folder:

        def child(code: str, *arguments: str) -> list[float]:
            # With a low and fixed threshold malloc gives arrays back to the system: none hides in its pool.
            environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
            program = [sys.executable, "-c", _COMMON + code, folder, str(n_columns), *arguments]
            return [float(number) for number in subprocess.check_output(program, env=environment, text=True).split()]

        seconds, anonymous = child(_CONVERT)
        results.add("npy to store, checksums and fsync included", size / seconds / 1e6, "MB/s")
        results.add("conversion: peak of RssAnon", 100 * anonymous / size, "% of it", "", None)
        (seconds,) = child(_OPEN)
        results.add("opening", 1e3 * seconds, "ms", "< 50", seconds < 0.05)
        for state in ("cold", "warm", "memory"):
            seconds, anonymous, gap, passes = child(_PATH, state)
            what = {"cold": "not in the page cache", "warm": "in the page cache", "memory": "as an array"}[state]
            results.add(f"certified path, 100 points, {passes:.0f} passes, {what}", seconds, "s")
            results.add(f"  its largest gap, {what}", gap, "", "<= 1e-4", gap <= 1e-4)
            if state != "memory":
                share = anonymous / size
                results.add(f"  its peak of RssAnon, {what}", 100 * share, "% of it", "< 10", share < 0.1)
        same = child(
            'print(float(all(np.array_equal(np.load(f"{folder}/{name}.npy"), np.load(folder + "/memory.npy")) '
            'for name in ("cold", "warm"))))'
        )
        results.add("the same bits as from an array in memory", same[0], "", "1", same[0] == 1.0)

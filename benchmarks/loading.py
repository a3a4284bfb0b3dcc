"""Reading LIBSVM files against scikit-learn, plain and packed by gzip: the same matrix, time and peak memory."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from fwlasso.datasets import load_libsvm

from .measure import Results, best_seconds

_P = 1_000_000  # columns
_ROWS = 3_000  # that are drawn; the file repeats them
_MOST = 400  # entries of a row

_PEAK = """
import sys
from fwlasso.datasets import load_libsvm
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))
load_libsvm(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
X, y = load_libsvm(sys.argv[2])
print((status("VmHWM") - before) * 1024 / (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes))
"""


def run(results: Results, megabytes: int) -> None:
    results.section("Loading")
    with TemporaryDirectory() as folder:
        plain, packed, small = (Path(folder, name) for name in ("data.svm", "data.svm.gz", "small.svm"))
        _write(plain, packed, megabytes)
        small.write_text("1 1:2\n")
        load_libsvm(small)  # compiles
        for name, file, least in (("plain", plain, 10.0), ("gzip", packed, 3.0)):
            _compare(results, f"LIBSVM, {megabytes} MB of text, {name}", file, least)
            done = subprocess.run(
                [sys.executable, "-c", _PEAK, small, file], check=True, capture_output=True, text=True
            )
            share = float(done.stdout)
            results.add(f"LIBSVM, {name}: peak memory against the matrix", share, "times", "< 2.7", share < 2.7)


def _write(plain: Path, packed: Path, megabytes: int) -> None:
    """Write rows with eight digits a value and columns of very different lengths, over and over, to both files."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(_ROWS):
        indices = np.unique((_P * rng.random(rng.integers(1, _MOST)) ** 3).astype(np.int64)) + 1
        values = rng.lognormal(size=indices.size)
        lines.append(" ".join([f"{rng.normal():.8g}", *map("{}:{:.8g}".format, indices.tolist(), values.tolist())]))
    block = ("\n".join(lines) + "\n").encode()
    with plain.open("wb") as text, gzip.open(packed, "wb", compresslevel=6) as archive:
        for _ in range(megabytes * 1_000_000 // len(block)):
            text.write(block)
            archive.write(block)


def _compare(results: Results, what: str, file: Path, least: float) -> None:
    found: dict[str, Any] = {}

    def keep(name: str, load: Callable[[Path], Any]) -> Callable[[], None]:
        return lambda: found.update({name: load(file)})

    seconds = best_seconds(2, ours=keep("ours", load_libsvm), theirs=keep("theirs", load_svmlight_file))
    (X, y), (theirs, their_y) = found["ours"], found["theirs"]
    results.add(f"{what}: ours", seconds["ours"], "s")
    results.add(f"{what}: scikit-learn's", seconds["theirs"], "s")
    ratio = seconds["theirs"] / seconds["ours"]
    results.add(f"{what}: against scikit-learn", ratio, "times", f">= {least:g}", ratio >= least)
    theirs = theirs.tocsc()
    same = all(np.array_equal(getattr(X, name), getattr(theirs, name)) for name in ("data", "indices", "indptr"))
    is_same = same and np.array_equal(y, their_y) and X.shape == theirs.shape
    results.add(f"{what}: the same matrix", float(is_same), "", "1", is_same)

"""A certified path on packed genotypes against the same numbers as float64 in memory: time, memory, difference."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwlasso import lasso_path
from fwlasso.bed import Genotypes
from fwlasso.datasets import open_bed
from fwlasso.result import LassoPath

from .measure import Results, best_seconds

N_SAMPLES = 2000
_N_CAUSAL, _MISSING = 50, 0.01
_ROUNDS = 2
_BLOCK = 5000  # variants that are generated, or decoded, together
_EXACT: dict[str, Any] = {"eps": 0.1, "tol": 1e-12}  # of the paths that are compared number by number


def run(results: Results, n_variants: int) -> None:
    results.section("Genotypes")
    with TemporaryDirectory(prefix="fwlasso-bench-") as folder:
        file = Path(folder, "cohort.bed")
        _generate(file, n_variants)
        peak: dict[str, float] = {}
        exact: dict[str, Any] = {}
        for kind in ("packed", "float64"):
            out = Path(folder, f"{kind}.npz")
            command = [sys.executable, "-m", "benchmarks.genotypes", kind, str(file), str(out)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            peak[kind], gap, passes, n_active, *seconds = map(float, done.stdout.split())
            exact[kind] = LassoPath.load(out).scaled_coefs
            results.add(f"{N_SAMPLES:,} x {n_variants:,}, {kind}: peak memory, data included", peak[kind] / 1e6, "MB")
            results.add(f"{kind}: passes over the data", passes)
            results.add(f"{kind}: active features at the end", n_active)
            results.add(f"{kind}: largest gap", gap, "", "<= 1e-4", gap <= 1e-4)
    packed_seconds, dense_seconds = seconds
    results.add("packed: path", packed_seconds, "s")
    results.add("float64: path", dense_seconds, "s")
    ratio = dense_seconds / packed_seconds
    results.add("time of float64 over packed", ratio, "times", ">= 1", ratio >= 1.0)
    ratio = peak["float64"] / peak["packed"]
    results.add("memory of float64 over packed", ratio, "times", ">= 20", ratio >= 20.0)
    difference = float(abs(exact["packed"] - exact["float64"]).max() / abs(exact["float64"]).max())
    what = f"eps={_EXACT['eps']}, tol={_EXACT['tol']}: difference of coefficients, relative to the largest"
    results.add(what, difference, "", "<= 1e-9", difference <= 1e-9)


def _generate(file: Path, n_variants: int) -> None:
    """Write genotypes at allele frequencies from 1 to 50 per cent, and a phenotype half explained by some."""
    rng = np.random.default_rng(0)
    causal = set(rng.choice(n_variants, min(_N_CAUSAL, n_variants), replace=False).tolist())
    score = np.zeros(N_SAMPLES)
    with file.open("wb") as stream:
        stream.write(b"\x6c\x1b\x01")
        for lo in range(0, n_variants, _BLOCK):
            shape = (min(_BLOCK, n_variants - lo), N_SAMPLES)
            frequencies = np.rint(256 * rng.uniform(0.01, 0.5, shape[0])).astype(np.uint8)[:, None]
            alleles = rng.integers(0, 256, (2, *shape), np.uint8) < frequencies
            copies = alleles[0].view(np.uint8) + alleles[1].view(np.uint8)
            for j in causal & set(range(lo, lo + shape[0])):
                score += rng.standard_normal() * (copies[j - lo] - copies[j - lo].mean()) / copies[j - lo].std()
            codes = np.array([0b11, 0b10, 0b00], np.uint8)[copies]
            codes[rng.integers(0, 256, shape, np.uint8) < round(256 * _MISSING)] = 0b01
            fours = codes.reshape(shape[0], -1, 4)
            stream.write(np.bitwise_or.reduce(fours << np.array([0, 2, 4, 6], np.uint8), axis=2).tobytes())
    y = score + score.std() * rng.standard_normal(N_SAMPLES)
    file.with_suffix(".bim").write_text("".join(f"1\trs{j}\t0\t{j}\tA\tC\n" for j in range(n_variants)))
    file.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 {value:.9g}\n" for i, value in enumerate(y)))


def _decode(file: Path, n_variants: int) -> NDArray[np.float64]:
    """Return the genotypes as float64 in column-major order, missing calls the mean of their column."""
    n_bytes = N_SAMPLES // 4
    columns = np.empty((n_variants, N_SAMPLES))
    for lo in range(0, n_variants, _BLOCK):
        part = columns[lo : lo + _BLOCK]
        packed = np.fromfile(file, np.uint8, len(part) * n_bytes, offset=3 + lo * n_bytes)
        codes = (packed[:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        np.take(np.array([2.0, np.nan, 1.0, 0.0]), codes.reshape(part.shape), out=part, mode="clip")
        missing = np.isnan(part)
        part[missing] = 0.0
        n_missing = missing.sum(axis=1)
        part[missing] = np.repeat(part.sum(axis=1) / (N_SAMPLES - n_missing), n_missing)
    return columns.T


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def _measure(kind: str, file: Path, out: Path) -> None:
    """Print the bytes at the peak of reading and solving, and what the path is like; keep an exact one.

    With both matrices at hand, print the seconds of paths on them, in turns, too.
    """
    rng = np.random.default_rng(0)
    small = Genotypes(rng.integers(0, 256, (60, 10), np.uint8), 40)
    X: Any
    for X in (small, small @ np.eye(60)):
        lasso_path(X, rng.standard_normal(40), standardize=True)  # compiles
    Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    bed = open_bed(file)
    X = bed.X if kind == "packed" else _decode(file, bed.X.shape[1])
    path = lasso_path(X, bed.phenotype, standardize=True)
    print(_memory("VmHWM") - before, path.gaps.max(), path.counters.passes, path.n_active[-1])
    lasso_path(X, bed.phenotype, standardize=True, **_EXACT).save(out)
    if kind == "float64":
        seconds = best_seconds(
            _ROUNDS,
            packed=lambda: lasso_path(bed.X, bed.phenotype, standardize=True),
            float64=lambda: lasso_path(X, bed.phenotype, standardize=True),
        )
        print(seconds["packed"], seconds["float64"])


if __name__ == "__main__":
    _measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))

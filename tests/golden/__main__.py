"""Write what the package computes, or compare it with what was written: nothing may differ."""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fwlasso import Choice, Counters, CrossValidation, LassoPath, Stability, Status, __file__

from .cases import cases
from .kept import Arrays, differences, read, write

#: What is kept of a result: all but seconds, versions and texts.
PARTS = {
    LassoPath: "alphas radii coefs scaled_coefs intercepts gaps r2 n_active statuses ending counters settings",
    Counters: "iterations dot_products passes",
    CrossValidation: "path choice fold_paths",
    Choice: "point scores fold_scores standard_errors blend coef intercept radius r2",
    Stability: "path frequencies n_subsamples mean_selected",
}
SETTINGS = ("seed", "route", "eps", "tol", "stop", "in_segments")


def flat(found: Any) -> Arrays:
    """Return the arrays of a result by name."""
    if type(found) in PARTS:
        parts = {name: getattr(found, name) for name in PARTS[type(found)].split()}
    elif isinstance(found, dict):
        parts = {name: found.get(name) for name in SETTINGS}
    elif isinstance(found, list | tuple) and not any(isinstance(part, Status | str) for part in found):
        parts = {str(k): part for k, part in enumerate(found)}
    elif hasattr(found, "toarray"):
        return {"": found.toarray()}
    else:
        is_plain = isinstance(found, np.ndarray | int | float)
        return {"": np.asarray(found if is_plain else str(found))}
    return {f"{name}.{inner}".strip("."): array for name, part in parts.items() for inner, array in flat(part).items()}


def run(case: Callable[[], Any]) -> Arrays:
    """Return the results of a case, with what it warned of, or the error that it ended with."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = flat(case())
        except Exception as error:  # a result, too, and it must not end the other cases
            found = {"error": np.asarray(repr(error))}
    names = sorted(it.category.__name__ for it in said if issubclass(it.category, UserWarning))
    return {**found, "warnings": np.asarray(" ".join(names))}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="FILE", help="keep the results of this code, an npz file")
    what.add_argument("--check", metavar="FILE", help="compare them with those in a file")
    parser.add_argument("--rtol", type=float, default=0.0, help="what floats may differ by, relative to their array")
    parser.add_argument("--threads", type=int, help="of every case; it must not matter")
    args = parser.parse_args()
    start = time.perf_counter()
    found = {name: run(case) for name, case in cases(args.threads)}
    print(f"{len(found)} cases in {time.perf_counter() - start:.0f} s by {__file__}")
    failed = [f"{name}: {arrays['error']}" for name, arrays in found.items() if "error" in arrays]
    print("\n".join([*failed, f"{len(failed)} of them failed"]))
    if args.write:
        write(args.write, found)
        return int(len(failed) > 0)
    counts = Counter({"same bits": 0, "same to 1e-12": 0, "different": 0})
    n_bad = 0
    for case, apart in differences(read(args.check), found).items():
        worst = max(apart.values(), default=0.0)
        counts["same bits" if worst == 0.0 else "same to 1e-12" if worst <= 1e-12 else "different"] += 1
        n_bad += worst > args.rtol
        if apart:
            print(f"{case}: " + ", ".join(f"{name} {by:.1e}" for name, by in apart.items()))
    print(f"{counts.total()} cases: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return int(n_bad > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Run the benchmarks, print what was asked beside what was measured, and keep it in bench-results/."""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import (
    before_after,
    beyond,
    certified,
    choosing,
    classifying,
    genotypes,
    loading,
    memory,
    pyrim,
    ratios,
    scans,
    shapes,
    startup,
    store,
)
from .equal import NAMES
from .measure import Results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("FWLASSO_DATA"), help="folder of the real data sets")
    parts = [
        "startup",
        "scans",
        "memory",
        "loading",
        "store",
        "genotypes",
        "pyrim",
        "certified",
        "choosing",
        "classifying",
        "ratios",
        "shapes",
        "beyond",
        "before",
    ]
    parser.add_argument("--only", choices=parts, help="run one part")
    parser.add_argument("--megabytes", type=int, default=1000, help="of the part loading: the size of its file")
    parser.add_argument(
        "--problem",
        default="",
        help="of the parts certified, choosing, classifying, ratios, shapes, beyond and before: problems whose names "
        "begin so",
    )
    parser.add_argument(
        "--peers",
        default=",".join(NAMES),
        help="of the same parts: names with commas between",
    )
    parser.add_argument("--store-gb", type=float, default=4.0, help="of the part store: size of the data")
    parser.add_argument("--variants", type=int, default=500_000, help="of the part genotypes: columns of the matrix")
    parser.add_argument("--rounds", type=int, default=9, help="of the part before: turns, of which the best counts")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for results.json")
    arguments = parser.parse_args()
    data = None if arguments.data is None else Path(arguments.data)
    names = [name for name in arguments.peers.split(",") if name]
    results = Results()
    alone: dict[str, Callable[[Results], None]] = {"startup": startup.run, "scans": scans.run, "memory": memory.run}
    alone["ratios"] = partial(ratios.run, prefix=arguments.problem)
    alone["classifying"] = partial(classifying.run, data=data, prefix=arguments.problem)
    for name, part in (alone | {"beyond": partial(beyond.run, chosen=arguments.problem)}).items():
        if arguments.only in (None, name):
            part(results)
    if arguments.only in (None, "loading"):
        loading.run(results, arguments.megabytes)
    if arguments.only in (None, "store"):
        store.run(results, arguments.store_gb)
    if arguments.only in (None, "genotypes"):
        genotypes.run(results, arguments.variants)
    if arguments.only in (None, "pyrim"):
        if data is None:
            print("\nPyrim: left out, no data folder (set FWLASSO_DATA or give --data)")
        else:
            pyrim.run(results, data)
    if arguments.only in (None, "certified"):
        certified.run(results, data, arguments.problem, names)
    if arguments.only in (None, "choosing"):
        choosing.run(results, data, arguments.problem, [name for name in names if name in ("celer", "sklearn")])
    if arguments.only in (None, "shapes"):
        shapes.run(results, arguments.problem, names, shapes.Settings())
    if arguments.only in (None, "before"):
        before_after.run(results, data, arguments.problem, arguments.rounds)
    results.write(arguments.out)
    missed = sum(line["holds"] is False for line in results.lines)
    print(f"\n{missed} of {sum(line['holds'] is not None for line in results.lines)} figures are not as asked")
    return 0


if __name__ == "__main__":
    sys.exit(main())

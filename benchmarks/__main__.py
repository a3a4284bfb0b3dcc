"""Run the benchmarks, print what was asked beside what was measured, and keep it in bench-results/."""

import argparse
import os
import sys
from pathlib import Path

from . import memory, pyrim, scans, startup
from .measure import Results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("FWLASSO_DATA"), help="folder of the real data sets")
    parser.add_argument("--only", choices=["startup", "scans", "memory", "pyrim"], help="run one part")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for results.json")
    arguments = parser.parse_args()
    results = Results()
    for name, part in (("startup", startup.run), ("scans", scans.run), ("memory", memory.run)):
        if arguments.only in (None, name):
            part(results)
    if arguments.only in (None, "pyrim"):
        if arguments.data is None:
            print("\nPyrim: left out, no data folder (set FWLASSO_DATA or give --data)")
        else:
            pyrim.run(results, Path(arguments.data))
    results.write(arguments.out)
    missed = sum(line["holds"] is False for line in results.lines)
    print(f"\n{missed} of {sum(line['holds'] is not None for line in results.lines)} figures are not as asked")
    return 0


if __name__ == "__main__":
    sys.exit(main())

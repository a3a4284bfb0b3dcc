"""One checkout against another, in turns: how many times as fast paths are after a change as before it.

python -m benchmarks.before_after ../before --data folder
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent.parent
# What is solved, beside the certified path at 1e-4 and 1e-6: a solver, on a set.
_OTHERS: dict[str, dict[str, object]] = {"pyrim": {"solver": "sfw", "radii": 100, "random_state": 0}}
PROBLEMS = ("synthetic-10000-32", "synthetic-50000-158", "pyrim", "dorothea", "news20", "e2006-tfidf-standin")
# Reads a problem's name, then a line for every run; answers with its seconds and passes.
_SERVE = """
import json, sys, time, warnings
from pathlib import Path
import fwlasso
from benchmarks.problems import SOURCES
warnings.simplefilter("ignore")
folder = sys.argv[1] and Path(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "problem" in asked:
        problem = SOURCES[asked["problem"]].problem(folder)
        print(json.dumps(fwlasso.__file__), flush=True)
        continue
    started = time.perf_counter()
    path = fwlasso.lasso_path(problem.X, problem.y, standardize=problem.standardize, eps=problem.eps, **asked)
    print(json.dumps([time.perf_counter() - started, path.counters.passes]), flush=True)
"""


class Checkout:
    """A process that runs the code of a checkout."""

    def __init__(self, folder: Path, data: str) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
        command = [sys.executable, "-P", "-c", _SERVE, data]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, cwd=folder, stdin=pipe, stdout=pipe, text=True)

    def ask(self, **what: object) -> list[float]:
        """Return what the process answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        answer: list[float] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Print a line for every problem and setting."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description=__doc__)
    parser.add_argument("before", type=Path, help="a checkout of the code before")
    parser.add_argument("--data", default=os.environ.get("FWLASSO_DATA", ""), help="folder of the real data sets")
    parser.add_argument("--problem", default="", help="problems whose names begin so")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    for name in PROBLEMS:
        if not name.startswith(arguments.problem):
            continue
        both = [Checkout(folder.resolve(), arguments.data) for folder in (arguments.before, _HERE)]
        for checkout in both:
            checkout.ask(problem=name)
        settings: list[dict[str, object]] = [{"tol": 1e-4}, {"tol": 1e-6}]
        for setting in settings + ([_OTHERS[name]] if name in _OTHERS else []):
            runs = [[checkout.ask(**setting) for checkout in both] for _ in range(1 + arguments.rounds)][1:]
            before, after = (min(run[k][0] for run in runs) for k in (0, 1))
            passes = " -> ".join(f"{run[1]:.1f}" for run in runs[0])
            print(
                f"{name:<22} {setting!s:<32.32} before {before:8.4f} s, after {after:8.4f} s: "
                f"{before / after:5.2f} times as fast; passes {passes}",
                flush=True,
            )
        for checkout in both:
            checkout.close()


if __name__ == "__main__":
    main()

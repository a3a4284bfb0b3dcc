"""One checkout against another, in turns: how many times as fast paths are after a change as before it.

python -m benchmarks.before_after ../before --data folder
"""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path

from .checkout import HERE, Checkout

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
        program = ["-c", _SERVE, arguments.data]
        with ExitStack() as stack:
            both = [stack.enter_context(Checkout(folder, program)) for folder in (arguments.before, HERE)]
            _compare(name, both, arguments.rounds)


def _compare(name: str, both: list[Checkout], rounds: int) -> None:
    for checkout in both:
        checkout.ask(problem=name)
    settings: list[dict[str, object]] = [{"tol": 1e-4}, {"tol": 1e-6}]
    for setting in settings + ([_OTHERS[name]] if name in _OTHERS else []):
        runs = [[checkout.ask(**setting) for checkout in both] for _ in range(1 + rounds)][1:]
        before, after = (min(run[k][0] for run in runs) for k in (0, 1))
        passes = " -> ".join(f"{run[1]:.1f}" for run in runs[0])
        print(
            f"{name:<22} {setting!s:<32.32} before {before:8.4f} s, after {after:8.4f} s: "
            f"{before / after:5.2f} times as fast; passes {passes}",
            flush=True,
        )


if __name__ == "__main__":
    main()

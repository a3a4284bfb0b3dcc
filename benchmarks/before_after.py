"""Paths of the tree beside those of named commits, in turns: slower by steps that each look like noise is slower.

What counts is the time of the processor, of all threads together: others on the machine change it little. Seconds on
the clock stand beside it.

python -m benchmarks --only before --data folder
"""

import pickle
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkout import HERE, Checkout
from .measure import Results
from .problems import SHAPES, SOURCES, Source

Setting = dict[str, Any]
_CERTIFIED: tuple[Setting, ...] = ({"tol": 1e-4}, {"tol": 1e-6})
_SFW: Setting = {"solver": "sfw", "radii": 100, "random_state": 0}


class Asked(NamedTuple):
    """At least so many times as fast as a commit, for every setting."""

    commit: str
    times: float
    settings: tuple[Setting, ...] = _CERTIFIED


# The fastest commits that there were, on wide data and on tall: the one before is never what counts.
_WIDE, _TALL = "ef902ab", "44e7b98"
ASKED = {
    **dict.fromkeys(
        ("synthetic-10000-32", "synthetic-50000-158", "dorothea", "news20", "e2006-tfidf-standin"), Asked(_WIDE, 0.98)
    ),
    "pyrim": Asked(_WIDE, 0.98, (*_CERTIFIED, _SFW)),
    "text-51000": Asked(_WIDE, 1.25),
    **dict.fromkeys(("50000x300", "10000x1000", "1000x1000", "442x64"), Asked(_TALL, 0.97)),
}
# Reads a file of X, y and settings, then a line for every run; answers with its seconds, of the processor and
# on the clock, passes and largest gap.
_SERVE = """
import json, pickle, sys, time, warnings
import fwlasso
warnings.simplefilter("ignore")
X, y, settings = pickle.load(open(sys.argv[1], "rb"))
for line in sys.stdin:
    asked, seconds = json.loads(line), []
    for _ in range(asked.pop("calls")):
        started = time.process_time(), time.perf_counter()
        path = fwlasso.lasso_path(X, y, **settings, **asked)
        seconds.append((time.process_time() - started[0], time.perf_counter() - started[1]))
    print(json.dumps([*map(min, zip(*seconds)), path.counters.passes, float(path.gaps.max())]), flush=True)
"""
_SECONDS_OF_A_TURN = 0.3


def run(results: Results, data: Path | None, problem: str, rounds: int) -> None:
    """Measure all problems whose names begin so, on one thread and on two."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees: dict[str, Path] = {}
        for name, source in (SOURCES | SHAPES).items():
            if name not in ASKED or not name.startswith(problem) or (source.is_real and data is None):
                continue
            commit = ASKED[name].commit
            if commit not in trees:
                trees[commit] = stack.enter_context(_tree_of(commit, folder / commit))
            _compare(results, name, _written(source, data, folder / "problem"), trees[commit], rounds)


@contextmanager
def _tree_of(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out for the time of the context."""
    git = ["git", "-C", str(HERE), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def _written(source: Source, data: Path | None, file: Path) -> Path:
    X, y, standardize, eps, _ = source.problem(data)
    with file.open("wb") as stream:
        pickle.dump((X, y, {"standardize": standardize, "eps": eps}), stream, protocol=5)
    return file


def _compare(results: Results, name: str, file: Path, before: Path, rounds: int) -> None:
    commit, times, settings = ASKED[name]
    results.section(f"{name}, beside commit {commit}")
    with ExitStack() as stack:
        both = [stack.enter_context(Checkout(tree, ["-c", _SERVE, str(file)])) for tree in (before, HERE)]
        for n_threads in (1, 2):
            for setting in settings:
                asked = setting | {"n_threads": n_threads, "calls": 1}
                first = max(checkout.ask(**asked)[0] for checkout in both for _ in range(2))  # the first may compile
                asked["calls"] = max(1, int(_SECONDS_OF_A_TURN / first))
                runs = np.array([[checkout.ask(**asked) for checkout in both] for _ in range(rounds)])
                ((old, old_clock), (new, clock)), (passes, gap) = runs[:, :, :2].min(axis=0), runs[0, 1, 2:]
                what = ", ".join(f"{key} {value}" for key, value in setting.items() if key != "random_state")
                line = f"{what}, {n_threads} threads: {old:.4f} s -> {new:.4f} s, {passes:.1f} passes, gap {gap:.1e}"
                results.add(f"{line}, on the clock", old_clock / clock, "times")
                results.add(line, old / new, "times", f">= {times:g}", bool(old / new >= times))

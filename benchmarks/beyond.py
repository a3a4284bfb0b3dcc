"""What is asked beside the Lasso costs little more than the Lasso: paths of one problem in turns, to equal gaps."""

from functools import partial
from typing import Any

import numpy as np

from .certified import at_most
from .measure import Results, best_seconds
from .problems import SHAPES, SOURCES, Problem

PROBLEMS = {
    name: (SOURCES | SHAPES)[name] for name in ("synthetic-10000-100", "synthetic-50000-500", "50000x300", "442x64")
}
_GAPS = (1e-4, 1e-6)
_MOST = 1.2  # of the time of the plain path
_TURNS = 7


def asked(problem: Problem) -> dict[str, dict[str, Any]]:
    """Return what each path is asked for."""
    (m, p), rng = problem.X.shape, np.random.default_rng(0)
    return {
        "plain": {},
        "weighted": {"sample_weight": rng.uniform(0.5, 2.0, m)},
        "positive": {"positive": True},
        "factored": {"penalty_factor": rng.uniform(0.5, 2.0, p)},
    }


def run(results: Results, chosen: str = "") -> None:
    """Run the problems whose names begin with `chosen`."""
    for name, source in PROBLEMS.items():
        if name.startswith(chosen):
            _problem(results, name, source.problem(None))


def _problem(results: Results, name: str, problem: Problem) -> None:
    results.section(f"{name}: beside the Lasso")
    for gap in _GAPS:
        paths = {what: partial(problem.path, tol=gap, **terms) for what, terms in asked(problem).items()}
        worst = max(float(path().gaps.max()) for path in paths.values())  # compiles what was not compiled yet
        at_most(results, f"{name}, gap {gap:.0e}: largest gap, as claimed", worst, gap)
        seconds = best_seconds(_TURNS, **paths)
        plain = seconds.pop("plain")
        results.add(f"{name}, gap {gap:.0e}: plain", plain, "s")
        for what, own in seconds.items():
            at_most(results, f"{name}, gap {gap:.0e}: {what} over plain", own / plain, _MOST, "times")

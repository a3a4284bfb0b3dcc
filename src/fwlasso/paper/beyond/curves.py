"""Paths of methods on the paper's sets, kept as curves: what the parts on gaps and on sparsity are made of."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...columns import Vector
from ...datasets import PAPER_SETS
from ..measuring import measure
from ..methods import Method
from ..sets import Loaded, load
from ..study import Record, Setup, Task

#: Runs of a random method are as many as asked for, but no more than this: what they show varies little.
MOST_SEEDS: Final = 5
#: The sets of these parts: a path takes seconds on each of them.
SETS: Final = tuple(name for name in PAPER_SETS if not name.startswith("e2006"))


def sets_of(setup: Setup) -> list[str]:
    """Return the sets that are asked for and that these parts look at."""
    return [name for name in setup.sets if name in SETS]


def seeds_of(setup: Setup, method: Method) -> range:
    """Return the seeds of a method: one run of what is not random."""
    return range(min(setup.n_seeds, MOST_SEEDS) if method.is_random else 1)


def path_tasks(
    part: str, setup: Setup, name: str, method: Method, prepare: Callable[[Loaded], Loaded] = lambda loaded: loaded
) -> list[Task]:
    """Return the runs of a method on a set; `prepare` may give the set another grid."""

    def run(seed: int) -> Record:
        loaded = load(name, setup.data, setup.n_threads)
        return measure(prepare(loaded), method, seed, setup.n_threads)

    settings: dict[str, Any] = {"grid": method.grid, **method.settings}
    return [
        Task(f"{part}/{name}/{method.key}/{seed}", _seconds(name, method), lambda seed=seed: run(seed), settings)  # type: ignore[misc]
        for seed in seeds_of(setup, method)
    ]


def _seconds(name: str, method: Method) -> float:
    """Return the expected time of a path and its gaps: by the size of the set and by what the method reads of it."""
    _, m, _, p = PAPER_SETS[name]
    share = {"sfw": 1.0, "corrective": 2.0}.get(method.settings.get("solver", ""), 5.0)
    return 0.3 + share * 2e-8 * m * p


def runs_of(records: Mapping[str, Record], part: str, name: str, method: str) -> list[Record]:
    """Return the records of a method on a set, one per seed; those of runs that were not possible are left out."""
    prefix = f"{part}/{name}/{method}/"
    return [record for key, record in records.items() if key.startswith(prefix) and "missing" not in record]


def curve(runs: list[Record], field: str) -> Vector:
    """Return the mean over the runs of what is known of every point."""
    return np.asarray(np.mean(values(runs, field), axis=0))


def values(runs: list[Record], field: str) -> Vector:
    """Return what is known of every point as one row per run; what was not finite is NaN."""
    return np.array([run[field] for run in runs], dtype=np.float64)

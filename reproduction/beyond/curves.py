"""Paths of methods on the paper's sets, kept as curves: what the parts on gaps and on sparsity are made of.

A path that several parts look at has one key, and so one record.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np

from fwlasso._core.columns import Vector

from ..measuring import measure
from ..methods import METHODS, Method
from ..sets import LARGE, STUDY_SETS, Loaded, load
from ..study import Record, Setup, Task

#: The sets of these parts: a path takes seconds on each of them.
SETS: Final = tuple(name for name in STUDY_SETS if not name.startswith("e2006"))
# Passes over the data, or as much work, that a path takes by solver: on product features, and on synthetic sets, where
# the paper's rule is strict in the units of y.
_PASSES = {"sfw": (20, 500), "certified": (60, 60)}
_OTHER_PASSES = (120, 450)
_SECONDS_PER_ENTRY = 1e-9  # of a pass


def sets_of(setup: Setup) -> list[str]:
    """Return the sets that are asked for and that these parts look at."""
    return [name for name in setup.sets if name in SETS]


def path_tasks(
    setup: Setup, name: str, method: Method, prepare: Callable[[Loaded], Loaded] | None = None
) -> list[Task]:
    """Return the runs of a method on a set; `prepare` may give the set another grid."""
    _, m, _, p = STUDY_SETS[name]
    passes = _PASSES.get(method.settings["solver"], _OTHER_PASSES)[name not in LARGE]
    seconds = 0.5 + passes * _SECONDS_PER_ENTRY * m * p
    n_runs = setup.n_seeds if method.is_random else 1
    return [
        Task(
            f"{_prefix(name, method)}{seed}",
            seconds,
            partial(_run, setup, name, method, seed, prepare),
            method.settings,
        )
        for seed in range(n_runs)
    ]


def _run(setup: Setup, name: str, method: Method, seed: int, prepare: Callable[[Loaded], Loaded] | None) -> Record:
    loaded = load(name, setup.data, setup.n_threads)
    return measure(prepare(loaded) if prepare else loaded, method, seed, setup.n_threads)


def _prefix(name: str, method: Method) -> str:
    """Return the start of the keys of a method on a set: those of the part on the large sets where it has them."""
    part = "large" if name in LARGE and METHODS.get(method.key) is method else "curves"
    return f"{part}/{name}/{method.key}/"


def runs_of(records: Mapping[str, Record], name: str, method: Method) -> list[Record]:
    """Return the records of a method on a set, one per seed; those of runs that were not possible are left out."""
    prefix = _prefix(name, method)
    return [record for key, record in records.items() if key.startswith(prefix) and "missing" not in record]


def curve(runs: list[Record], field: str) -> Vector:
    """Return the mean over the runs of what is known of every point."""
    return np.asarray(np.mean(values(runs, field), axis=0))


def values(runs: list[Record], field: str) -> Vector:
    """Return what is known of every point as one row per run; what was not finite is NaN."""
    return np.array([run[field] for run in runs], dtype=np.float64)

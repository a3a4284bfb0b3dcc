"""The elastic net in its constrained form, by the paper's own steps: the extension that section 6 names.

The ridge makes columns longer by rows of their own, which no step forms: docs/guide/solvers.md has the formula.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from ..intervals import of_mean
from ..measuring import run
from ..methods import CERTIFIED_GAP, METHODS, Method
from ..sets import STUDY_SETS, load
from ..study import Findings, Part, Record, Setup, Table, Task
from ..summary import mean_of
from ..text import number, power
from ..units import N_POINTS
from .curves import sets_of

_NAME: Final = "elastic-net"
#: In the paper's units, where the loss has the curvature 1 along every column.
_RIDGE: Final = 0.1
_SECONDS: Final = 10.0  # of a path, roughly
_KEYS: Final = ("sfw-1", "certified-radii")


def _method(key: str) -> Method:
    known = METHODS[key]
    return known._replace(settings={**known.settings, "ridge": _RIDGE})


def tasks(setup: Setup) -> list[Task]:
    """Return one path for every set, method and seed."""
    return [
        Task(
            f"{_NAME}/{name}/{key}/{seed}",
            _SECONDS,
            partial(_run, setup, name, key, seed),
            _method(key).settings,
        )
        for name in sets_of(setup)
        for key in _KEYS
        for seed in range(setup.n_seeds if METHODS[key].is_random else 1)
    ]


def _run(setup: Setup, name: str, key: str, seed: int) -> Record:
    path = run(load(name, setup.data, setup.n_threads), _method(key), seed, setup.n_threads, certify=True).path
    return {
        "gap": float(path.gaps.mean()),
        "largest_gap": float(path.gaps.max()),
        "n_active": float(path.n_active.mean()),
        "r2": float(path.r2.mean()),
        "dot_products": float(path.counters.dot_products),
    }


def show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a row for every set and method."""
    rows = []
    for name in sets_of(setup):
        for key in _KEYS:
            runs = [record for own, record in records.items() if own.startswith(f"{_NAME}/{name}/{key}/")]
            if runs:
                means = {field: of_mean(mean_of([one[field] for one in runs])) for field in runs[0]}
                cells = [means["gap"].text(power), means["largest_gap"].text(power), means["n_active"].text()]
                cells += [means["r2"].text(), means["dot_products"].text(power)]
                rows.append((STUDY_SETS[name].title, METHODS[key].label, f"{len(runs)}", *cells))
    if not rows:
        return Findings([], [], [])
    header = (
        "set", "method", "runs", "mean gap", "largest gap", "active features", "R2", "dot products",
    )  # fmt: skip
    note = (
        f"min 1/2 ||y - X a||^2 + {number(_RIDGE)}/2 ||a||^2 over the paper's grid of {N_POINTS} l1 norms. Gaps are "
        "relative to 1/2 ||y||^2, and proved with the ridge over all columns; the certified path was asked for "
        f"{power(CERTIFIED_GAP)}. Means over the points of a path."
    )
    said = (
        "The paper calls the elastic net a straightforward extension of its method. Algorithm 2 takes the same draws "
        "for it and as many dot products a step; the table has its gaps beside those of solutions."
    )
    return Findings([Table(_NAME, "Elastic net over the l1 ball", header, rows, note)], [], [said])


PART = Part(_NAME, "The elastic net, which the paper names as an extension", tasks, show, makes=("tables",))

"""The data of the study: sizes beside the published ones, and what is real."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import scipy.sparse as sp

from . import published
from .data.paper_sets import PAPER_SETS
from .sets import LARGE, load
from .study import Findings, Part, Record, Setup, Table, Task
from .text import number


def data_task(setup: Setup, name: str) -> Task:
    """Return the task that looks at a data set; parts share its record."""
    return Task(f"data/{name}", 5.0, partial(_look, setup, name))


def _look(setup: Setup, name: str) -> Record:
    data, _, grids = load(name, setup.data, setup.n_threads)
    n_stored = data.X.nnz if sp.issparse(data.X) else np.count_nonzero(data.X)
    return {
        "title": data.title,
        "is_standin": bool(data.is_standin),
        "n_train": int(data.X.shape[0]),
        "n_test": 0 if data.y_test is None else int(data.y_test.size),
        "n_features": int(data.X.shape[1]),
        "n_nonzero": int(n_stored),
        "variance": float(np.var(data.y)),
        "largest_radius": float(grids.radii[-1]),
        "largest_alpha": float(grids.alphas[0]),
    }


def _tasks(setup: Setup) -> list[Task]:
    return [data_task(setup, name) for name in setup.sets]


def _show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    rows, data = [], []
    for name in setup.sets:
        record = records.get(f"data/{name}")
        if record is None:
            continue
        size = PAPER_SETS[name]
        counts = [("n_train", size.m), ("n_test", size.n_test), ("n_features", size.p)]
        cells = [_beside(record[what], theirs) for what, theirs in counts]
        kind = "stand-in" if record["is_standin"] else "real" if name in LARGE else "made, as in the paper"
        shares = published.SHARES.get(name)
        kappas = "-" if shares is None else ", ".join(f"{kappa:,}" for kappa in shares)
        nonzero, radius = f"{record['n_nonzero']:,}", number(record["largest_radius"])
        rows.append((record["title"], kind, *cells, nonzero, kappas, radius))
        data.append({"set": name, "kind": kind, **record})
    header = ("data set", "kind", "m", "t", "p", "nonzeros", "columns per step, 1, 2, 3 %", "largest l1 norm")
    note = (
        "m samples, t test samples, p features. Where a size is not the published one, that is in brackets. The "
        "largest l1 norm is that of the solution for a hundredth of the largest penalty, where both grids end."
    )
    return Findings([Table("data", "Data sets", header, rows, note, data)] if rows else [], [], [])


def _beside(ours: int, theirs: int) -> str:
    return f"{ours:,}" if ours == theirs else f"{ours:,} ({theirs:,})"


PART = Part("data", "Data", _tasks, _show, makes=("tables",))

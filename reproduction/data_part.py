"""The data of the study: sizes beside the published ones, and what is real."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import scipy.sparse as sp

from fwlasso.solvers.sample_size import FractionOfColumns

from .data.paper_sets import NOISE
from .data.sparse_sets import SPARSE_SETS
from .methods import SHARES
from .sets import STUDY_SETS, SYNTHETIC, files_of, load, sha256_of
from .study import Findings, Part, Record, Setup, Table, Task
from .text import number, share
from .units import EPS


def data_task(setup: Setup, name: str) -> Task:
    """Return the task that looks at a data set; parts share its record."""
    return Task(f"data/{name}", 5.0, partial(_look, setup, name))


def _look(setup: Setup, name: str) -> Record:
    data, _, grids = load(name, setup.data, setup.n_threads)
    n_stored = data.X.nnz if sp.issparse(data.X) else np.count_nonzero(data.X)
    files = files_of(name, setup.data) or ()
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
        "files": [{"file": file.name, "bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in files],
    }


def _tasks(setup: Setup) -> list[Task]:
    return [data_task(setup, name) for name in setup.sets]


def _show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    known = {name: records[f"data/{name}"] for name in setup.sets if f"data/{name}" in records}
    tables = [table for table in (_sizes(known), _files(known)) if table.rows]
    return Findings(tables, [], [_KINDS[kind] for kind in _KINDS if kind in map(_kind, known, known.values())])


#: What a set is, and what is to be known of it.
_KINDS = {
    "made": (
        "Synthetic sets are made by `make_regression`, as the paper's are. Their noise is ours, a standard deviation "
        f"of {NOISE:g}, since the paper does not tell it; results are over several draws of the data."
    ),
    "real": (
        "Pyrim and Triazines are the paper's: all products of the scaled columns up to order 5 and 4, the constant "
        "included."
    ),
    "real, not the paper's": (
        "Dorothea and News20 are real sparse sets under the paper's protocol in place of E2006, with y as it is given "
        "(a class as a number). A sixth of the samples is held out. The paper has no figures of them."
    ),
    "stand-in": (
        "A stand-in is a matrix that is made to the size, the number of nonzeros and Zipf's law of column lengths of "
        "the real set, with a response of our own. It counts for time, memory and dot products alone; the published "
        "seconds stand beside its own, and no other figure does."
    ),
}


def _kind(name: str, record: Record) -> str:
    if record["is_standin"]:
        return "stand-in"
    return "made" if name in SYNTHETIC else "real, not the paper's" if name in SPARSE_SETS else "real"


def _sizes(known: Mapping[str, Record]) -> Table:
    rows, data = [], []
    for name, record in known.items():
        size = STUDY_SETS[name]
        counts = [("n_train", size.m), ("n_test", size.n_test), ("n_features", size.p)]
        cells = [_beside(record[what], theirs) for what, theirs in counts]
        kappas = ", ".join(f"{FractionOfColumns(part)(record['n_features'], 0):,}" for part in SHARES)
        nonzero, radius = f"{record['n_nonzero']:,}", number(record["largest_radius"])
        rows.append((record["title"], _kind(name, record), *cells, nonzero, kappas, radius))
        data.append({"set": name, "kind": _kind(name, record), **record})
    parts = ", ".join(share(part) for part in SHARES)
    header = ("data set", "kind", "m", "t", "p", "nonzeros", f"columns per step, {parts}", "largest l1 norm")
    note = (
        "m samples, t test samples, p features. Where a size is not the published one, that is in brackets. The "
        f"largest l1 norm is that of the solution for {EPS:g} of the largest penalty, where both grids end."
    )
    return Table("data", "Data sets", header, rows, note, data)


def _files(known: Mapping[str, Record]) -> Table:
    rows = [
        (record["title"], file["file"], f"{file['bytes']:,}", f"`{file['sha256']}`")
        for record in known.values()
        for file in record["files"]
    ]
    return Table("files", "Files that were read", ("data set", "file", "bytes", "SHA-256"), rows)


def _beside(ours: int, theirs: int) -> str:
    return f"{ours:,}" if ours == theirs else f"{ours:,} ({theirs:,})"


PART = Part("data", "Data", _tasks, _show, makes=("tables",))

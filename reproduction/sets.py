"""The data sets of a study: which are at hand, what they were made from, and one of them in memory at a time."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.accuracy import Moments, moments
from fwlasso._core.columns import Vector

from .data.paper_sets import PAPER_SETS, PaperSet, fetch_paper_set
from .data.places import data_folder, find_libsvm
from .data.sparse_sets import SPARSE_SETS, files_of_sparse, read_sparse_set
from .units import Grids, paper_grids

#: All sets of the study: the paper's eight, and two real sparse ones.
STUDY_SETS: Final = {**PAPER_SETS, **SPARSE_SETS}
SYNTHETIC: Final = tuple(name for name in PAPER_SETS if name.startswith("synthetic"))
LARGE: Final = tuple(name for name in STUDY_SETS if not name.startswith("synthetic"))
#: The headline of the paper: four million variables. It is measured in every study, on a stand-in where need be.
HEADLINE: Final = "e2006-log1p"
#: The files that a set is read from, without their endings.
FILES: Final[dict[str, tuple[str, ...]]] = {
    "pyrim": ("pyrim_scale",),
    "triazines": ("triazines_scale",),
    "e2006-tfidf": ("E2006.train", "E2006.test"),
    "e2006-log1p": ("log1p.E2006.train", "log1p.E2006.test"),
    **{name: files_of_sparse(name) for name in SPARSE_SETS},
}


def files_of(name: str, folder: Path | None) -> list[Path] | None:
    """Return the files of a set, none for one that is made; None where one of them is not at hand."""
    found = [find_libsvm(data_folder(folder), stem) for stem in FILES.get(name, ())]
    files = [file for file in found if file is not None]
    return files if len(files) == len(found) else None


def sets_at_hand(folder: Path | None) -> tuple[str, ...]:
    """Return the sets that are made here, and those whose files are in the folder."""
    return tuple(name for name in STUDY_SETS if files_of(name, folder) is not None)


@lru_cache(maxsize=32)
def print_of_files(name: str, folder: Path | None) -> str:
    """Return what tells the data of a set from others of its name: a digest of its files, or that it is made."""
    files = files_of(name, folder)
    if files is None:
        return "stand-in"
    return " ".join(sha256_of(file) for file in files) or "made"


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Loaded(NamedTuple):
    """A data set in memory, and what every method needs to know of it."""

    data: PaperSet
    moments: Moments
    grids: Grids

    def mse(self, X: Any, y: Vector, coefs: Any, intercepts: Vector) -> Vector:
        """Return the mean square error of every point on (X, y)."""
        fitted = X @ coefs
        fitted = fitted.toarray() if sp.issparse(fitted) else fitted
        return np.asarray(((y[:, None] - fitted - intercepts) ** 2).mean(axis=0))


@lru_cache(maxsize=1)
def load(name: str, folder: Path | None, n_threads: int | None, draw: int = 0) -> Loaded:
    """Return a set, its moments and its grids; the last one is kept in memory. Sets that are made have many draws."""
    if name in SPARSE_SETS:
        data = read_sparse_set(name, data_folder(folder))
    else:
        data = fetch_paper_set(name, folder, download=False, random_state=draw or None)
    return Loaded(data, moments(data.X), paper_grids(data.X, data.y, n_threads=n_threads))

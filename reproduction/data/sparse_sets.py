"""Two real sparse sets that are not the paper's, for its protocol: E2006, its sparse sets, cannot always be had."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp

from .paper_sets import PaperSet, PaperSetSize

#: A sixth of the samples is held out for testing, as many as in E2006.
SPARSE_SETS: Mapping[str, PaperSetSize] = MappingProxyType(
    {
        "dorothea": PaperSetSize("Dorothea", 667, 133, 88_119),
        "news20": PaperSetSize("News20", 13_280, 2_655, 62_061),
    }
)


def files_of_sparse(name: str) -> tuple[str, str]:
    """Return the files of a set, in the data folder: X as scipy keeps it, and y, used as it is given."""
    return f"{name}/X.npz", f"{name}/y.npy"


def read_sparse_set(name: str, folder: Path) -> PaperSet:
    """Read a set; the samples held out are always the same."""
    at_X, at_y = (folder / file for file in files_of_sparse(name))
    X, y = sp.csr_array(sp.load_npz(at_X), dtype=np.float64), np.load(at_y).astype(np.float64)
    title, m, n_test, p = SPARSE_SETS[name]
    if X.shape != (m + n_test, p) or y.shape != (m + n_test,):
        raise ValueError(f"{at_X}: expected {m + n_test:,} samples of {p:,} features, found {X.shape} and {y.shape}")
    mixed = np.random.default_rng(0).permutation(y.size)
    test, train = np.sort(mixed[:n_test]), np.sort(mixed[n_test:])
    return PaperSet(name, title, sp.csc_array(X[train]), y[train], sp.csc_array(X[test]), y[test], None, False)

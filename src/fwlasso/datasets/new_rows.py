"""Reading further rows for a model that is there: with its number of features, and with or without a response."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .arrow_files import read_features
from .files import LIBSVM, ending_of, naming, read_table, response_beside
from .libsvm import load_libsvm
from .plink import open_bed


class NewRows(NamedTuple):
    """Rows to predict: a matrix, the response if it is known, and the names of the columns if they have any."""

    X: Any
    y: NDArray[np.float64] | None
    feature_names: tuple[str, ...] | None = None


def read_new_rows(file: str | Path, target: str | None, n_features: int | None) -> NewRows:
    """Read rows for a model of `n_features`.

    Without a `target`, all columns of csv and parquet are features, and arrays and matrices need no response; what a
    file has of it in any case (LIBSVM, stores, the y of an npz, the phenotypes of a bed) is read. LIBSVM files may end
    with a smaller index than that of the last feature.
    """
    file = Path(file)
    if file.is_dir():
        return NewRows(*read_table(file, target)[:3])
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    ending = ending_of(file)
    with naming(file):
        if ending in LIBSVM and target is None:
            X, y = load_libsvm(file, n_features)
            return NewRows(X, y)
        if target is None and ending in (".csv", ".parquet"):
            X, names = read_features(file)
            return NewRows(X, None, names)
        if target is None and ending in (".npy", ".npz", ".mtx"):
            return _read_matrix(file, ending)
        if ending == ".bed":
            bed = open_bed(file)
            known = bed.phenotype is not None and not np.isnan(bed.phenotype).any()
            y = response_beside(file, target) if target is not None else bed.phenotype if known else None
            return NewRows(bed.X, y, bed.feature_names)
    return NewRows(*read_table(file, target)[:3])


def _read_matrix(file: Path, ending: str) -> NewRows:
    if ending == ".npy":
        return NewRows(np.load(file, mmap_mode="r", allow_pickle=False), None)
    if ending == ".mtx":
        from scipy.io import mmread

        return NewRows(sp.csc_array(mmread(file)), None)
    if not zipfile.is_zipfile(file):  # numpy leaves such a file open
        raise ValueError(f"{file}: not an npz file")
    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            return NewRows(arrays["X"], arrays.get("y"))
        if "format" not in arrays:
            raise ValueError(f"{file}: expected an array X, or a matrix written by scipy.sparse.save_npz")
    return NewRows(sp.load_npz(file), None)

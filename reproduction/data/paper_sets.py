"""The eight data sets of Frandi et al. (2015), by name."""

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_regression
from sklearn.utils import check_random_state

from fwlasso._core.columns import Vector
from fwlasso._core.notices import warn_of_doubt
from fwlasso.data.progress import ProgressCallback
from fwlasso.data.table import Table
from fwlasso.datasets import load_libsvm, product_features

from . import standins
from .download import UnreachableError, verify
from .download import download as download_file
from .places import data_folder, find_libsvm

_HOME = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression/"
#: Standard deviation of the noise of synthetic sets, whose coefficients are uniform between 0 and 100.
NOISE = 1.0


class PaperSet(NamedTuple):
    """A data set of the paper: dense in column-major order, or CSC."""

    name: str
    title: str  # says so where it is a stand-in
    X: Any
    y: Vector
    X_test: Any  # None where there is no test set
    y_test: Vector | None
    relevant: NDArray[np.int64] | None  # features of the true model, where the set is made from one
    is_standin: bool  # made to the size of the real set, because its files are not at hand


class PaperSetSize(NamedTuple):
    """How large a data set of the paper is."""

    title: str
    m: int
    n_test: int
    p: int


PAPER_SETS: Mapping[str, PaperSetSize] = MappingProxyType(
    {
        "synthetic-10000-32": PaperSetSize("Synthetic-10000 (32 relevant)", 200, 200, 10_000),
        "synthetic-10000-100": PaperSetSize("Synthetic-10000 (100 relevant)", 200, 200, 10_000),
        "synthetic-50000-158": PaperSetSize("Synthetic-50000 (158 relevant)", 200, 200, 50_000),
        "synthetic-50000-500": PaperSetSize("Synthetic-50000 (500 relevant)", 200, 200, 50_000),
        "pyrim": PaperSetSize("Pyrim", 74, 0, 201_376),
        "triazines": PaperSetSize("Triazines", 186, 0, 635_376),
        "e2006-tfidf": PaperSetSize("E2006-tfidf", 16_087, 3_308, 150_360),
        "e2006-log1p": PaperSetSize("E2006-log1p", 16_087, 3_308, 4_272_227),
    }
)

_N_RELEVANT = {name: int(name.rpartition("-")[2]) for name in PAPER_SETS if name.startswith("synthetic")}
_PRODUCTS = {"pyrim": ("pyrim_scale", 27, 5), "triazines": ("triazines_scale", 60, 4)}  # file, columns, order
_E2006 = {"e2006-tfidf": "E2006", "e2006-log1p": "log1p.E2006"}  # files without .train and .test
_STANDINS = {"e2006-tfidf": (standins.tfidf, standins.TFIDF), "e2006-log1p": (standins.log1p, standins.LOG1P)}


def fetch_paper_set(
    name: str,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    random_state: int | None = None,
    progress: ProgressCallback | None = None,
) -> PaperSet:
    """Return a data set of the paper: made, read from a file, or downloaded first.

    Synthetic sets are made. Pyrim and Triazines are all products of the columns of ``pyrim_scale`` and
    ``triazines_scale`` up to order 5 and 4. E2006 is read from ``E2006.train`` and ``E2006.test``, or from
    ``log1p.E2006.train`` and ``log1p.E2006.test``. Files may have the ending ``.svm`` or ``.txt`` and be packed
    (``.bz2``, ``.xz``, ``.gz``). Those that are not in the folder are downloaded from the LIBSVM data site.

    Where the files of E2006 are not there and the site cannot be reached, a stand-in is made: a matrix of the same size
    and law of column lengths. `is_standin` and the title say so, and a warning says why.

    The true digests of these files are not known here. The first download is trusted, if it is as long
    as the server says. Its SHA-256 is kept beside the file and checked whenever the file is read.

    Parameters
    ----------
    name : str
        One of `PAPER_SETS`.
    folder : path, optional
        Where files are looked for and downloaded to. By default the folder that the environment variable FWLASSO_DATA
        names, else ``~/fwlasso_data``.
    download : bool
        Whether files that are missing may be downloaded.
    random_state : int, optional
        Seed of sets that are made; by default 0, and 2006 for stand-ins.
    progress : callable, optional
        Called with a `Step`, in bytes, while a file is downloaded.

    Returns
    -------
    PaperSet

    Raises
    ------
    FileNotFoundError
        The files of Pyrim or Triazines, or one of the two of E2006, are missing and may not be downloaded.
    DownloadError
        They could not be downloaded. What has come is kept, and the next call takes it up.
    DamagedFileError
        A file is not the one that was downloaded first.

    Examples
    --------
    >>> data = fetch_paper_set("synthetic-10000-32")
    >>> data.X.shape, data.X_test.shape, data.relevant.size
    ((200, 10000), (200, 10000), 32)
    """
    if name not in PAPER_SETS:
        raise ValueError(f"name must be one of {', '.join(PAPER_SETS)}, got {name!r}")
    if random_state is not None and not (isinstance(random_state, Integral) and 0 <= random_state < 2**32):
        raise ValueError(f"random_state must be an integer from 0 to 2^32 - 1, got {random_state!r}")
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be callable, got {progress!r}")
    files = _Files(data_folder(folder), download, progress)
    if name in _N_RELEVANT:
        return _synthetic(name, 0 if random_state is None else random_state)
    if name in _PRODUCTS:
        return _products(name, files)
    return _e2006(name, files, 2006 if random_state is None else random_state)


class _Files(NamedTuple):
    """Where files are, and whether and how they may be downloaded."""

    folder: Path
    may_download: bool
    progress: ProgressCallback | None

    def get(self, stem: str, packing: str = "") -> Path:
        """Return a file of the folder; one that was downloaded is checked first."""
        found = find_libsvm(self.folder, stem)
        if found is not None:
            verify(found)
            return found
        url, file = f"{_HOME}{stem}{packing}", self.folder / (stem + packing)
        if not self.may_download:
            raise FileNotFoundError(f"there is no {stem} in the folder {self.folder}; put {url} there")
        download_file(url, file, progress=self.progress)
        return file


def _synthetic(name: str, seed: int) -> PaperSet:
    """Draw the training set as make_regression does with this seed, then test rows of the same model.

    Drawing 400 rows at once would give other training data: all rows are drawn before the model is, and mixed at the
    end. Rows of make_regression are independent standard normals, so further rows are too.
    """
    title, m, n_test, p = PAPER_SETS[name]
    rng = check_random_state(seed)
    X, y, model = make_regression(m, p, n_informative=_N_RELEVANT[name], noise=NOISE, coef=True, random_state=rng)
    X_test = rng.standard_normal((n_test, p))
    y_test = X_test @ model + rng.normal(scale=NOISE, size=n_test)
    relevant = np.flatnonzero(model)
    return PaperSet(name, title, np.asfortranarray(X), y, np.asfortranarray(X_test), y_test, relevant, False)


def _products(name: str, files: _Files) -> PaperSet:
    stem, n_columns, order = _PRODUCTS[name]
    size = PAPER_SETS[name]
    table = _read(files.get(stem), size.m, n_columns)
    X = product_features(table.X.toarray(), order)
    return PaperSet(name, size.title, X, table.y, None, None, None, False)


def _e2006(name: str, files: _Files, seed: int) -> PaperSet:
    stem, (title, m, n_test, p) = _E2006[name], PAPER_SETS[name]
    try:
        train_file = files.get(f"{stem}.train", ".bz2")
    except (FileNotFoundError, UnreachableError) as error:
        if find_libsvm(files.folder, f"{stem}.test") is not None:
            raise  # half of the real set is there: its user does not want another one
        if files.may_download:
            warn_of_doubt(f"a stand-in is used for {title}: {error}")
        make, size = _STANDINS[name]
        return PaperSet(name, f"{title} (stand-in)", *make(size, seed), None, True)
    test_file = files.get(f"{stem}.test", ".bz2")  # before the long reading
    train, test = _read(train_file, m, p), _read(test_file, n_test, p)
    return PaperSet(name, title, train.X, train.y, test.X, test.y, None, False)


def _read(file: Path, n_rows: int, n_columns: int) -> Table:
    try:
        table = Table(*load_libsvm(file, n_columns, zero_based=False))
        if table.y.size != n_rows:
            raise ValueError(f"{file}: expected {n_rows:,} rows, found {table.y.size:,}")
    except ValueError as error:
        raise ValueError(f"{error}. To download the file again, delete it and {file.name}.sha256") from error
    return table

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

from .files import read_libsvm
from .places import data_folder, find_libsvm
from .products import product_features

_HOME = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression/"
_NOISE = 1.0  # standard deviation; coefficients are uniform between 0 and 100

Vector = NDArray[np.float64]


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
        "synthetic-10000-32": PaperSetSize("Synthetic-10000, 32 relevant features", 200, 200, 10_000),
        "synthetic-10000-100": PaperSetSize("Synthetic-10000, 100 relevant features", 200, 200, 10_000),
        "synthetic-50000-158": PaperSetSize("Synthetic-50000, 158 relevant features", 200, 200, 50_000),
        "synthetic-50000-500": PaperSetSize("Synthetic-50000, 500 relevant features", 200, 200, 50_000),
        "pyrim": PaperSetSize("Pyrim", 74, 0, 201_376),
        "triazines": PaperSetSize("Triazines", 186, 0, 635_376),
        "e2006-tfidf": PaperSetSize("E2006-tfidf", 16_087, 3_308, 150_360),
        "e2006-log1p": PaperSetSize("E2006-log1p", 16_087, 3_308, 4_272_227),
    }
)

_N_RELEVANT = {name: int(name.rpartition("-")[2]) for name in PAPER_SETS if name.startswith("synthetic")}
_PRODUCTS = {"pyrim": ("pyrim_scale", 27, 5), "triazines": ("triazines_scale", 60, 4)}  # file, columns, order


def fetch_paper_set(
    name: str, folder: str | Path | None = None, *, download: bool = True, seed: int | None = None
) -> PaperSet:
    """Return a data set of the paper.

    Examples
    --------
    >>> data = fetch_paper_set("synthetic-10000-32")
    >>> data.X.shape, data.X_test.shape, data.relevant.size
    ((200, 10000), (200, 10000), 32)
    """
    if name not in PAPER_SETS:
        raise ValueError(f"name must be one of {', '.join(PAPER_SETS)}, got {name!r}")
    if seed is not None and not (isinstance(seed, Integral) and 0 <= seed < 2**32):
        raise ValueError(f"seed must be an integer from 0 to 2^32 - 1, got {seed!r}")
    if name in _N_RELEVANT:
        return _synthetic(name, 0 if seed is None else seed)
    return _products(name, data_folder(folder))


def _synthetic(name: str, seed: int) -> PaperSet:
    """Draw the training set as make_regression does with this seed, then test rows of the same model.

    Drawing 400 rows at once would give other training data: all rows are drawn before the model is, and mixed at the
    end. Rows of make_regression are independent standard normals, so further rows are too.
    """
    title, m, n_test, p = PAPER_SETS[name]
    rng = check_random_state(seed)
    X, y, model = make_regression(m, p, n_informative=_N_RELEVANT[name], noise=_NOISE, coef=True, random_state=rng)
    X_test = rng.standard_normal((n_test, p))
    y_test = X_test @ model + rng.normal(scale=_NOISE, size=n_test)
    relevant = np.flatnonzero(model)
    return PaperSet(name, title, np.asfortranarray(X), y, np.asfortranarray(X_test), y_test, relevant, False)


def _products(name: str, folder: Path) -> PaperSet:
    stem, n_columns, order = _PRODUCTS[name]
    file = find_libsvm(folder, stem)
    if file is None:
        raise FileNotFoundError(f"there is no {stem} in {folder}; get it from {_HOME}{stem}")
    table = read_libsvm(file, n_columns)
    X = product_features(table.X.toarray(), order)
    return PaperSet(name, PAPER_SETS[name].title, X, table.y, None, None, None, False)

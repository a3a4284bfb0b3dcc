"""X is used where it lies: never copied, never densified, never changed."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import STORAGES
from fwlasso import lasso_path
from fwlasso.data.design import as_design
from fwlasso.solvers.registry import SOLVERS
from programs import MEMORY, run_measured

pytestmark = pytest.mark.long


MEASURE = (
    MEMORY
    + """
import sys
import numpy as np, scipy.sparse as sp, fwlasso

def dense(m, p, order):
    X = np.empty((m, p), order=order)
    rng.standard_normal(out=X.T if order == "F" else X)
    return X

def sparse(m, p):  # 21 entries in a column, at increasing rows
    stride = m // 21
    data = rng.standard_normal(21 * p)
    indices = rng.integers(0, stride, 21 * p, dtype=np.int32).reshape(p, 21)
    indices += np.arange(0, 21 * stride, stride, dtype=np.int32)
    return sp.csc_array((data, indices.reshape(-1), np.arange(0, 21 * p + 1, 21, dtype=np.int32)), shape=(m, p))

def nbytes(X):
    return sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if sp.issparse(X) else X.nbytes

rng = np.random.default_rng(0)
make, tiny, large = {
    "dense": (lambda m, p: dense(m, p, "F"), (20, 50), (500, 62_500)),
    "row-major": (lambda m, p: dense(m, p, "C"), (20, 50), (500, 62_500)),
    "sparse": (sparse, (42, 50), (2100, 976_000)),
}[sys.argv[1]]

options = {
    "certified": {"alphas": 10},
    "sfw": {"radii": [0.05, 0.1, 0.2], "solver": "sfw"},
    "cv": {"alphas": 10, "cv": 5},
}[sys.argv[2]]

def path(m, p, **more):
    X, y = make(m, p), rng.standard_normal(m)
    settings = {"standardize": True, "certify": True, "random_state": 0, **options, **more}
    solve = fwlasso.lasso_cv if "cv" in settings else fwlasso.lasso_path
    found, peak = with_peak(lambda: solve(X, y, **settings))
    path = getattr(found, "path", found)
    assert np.isfinite(path.gaps).all()
    assert path.n_active[-1] > 0
    return peak / nbytes(X), nbytes(X)

path(*tiny, eps=1e-2)  # compiles, whatever is needed where many are active
print(*path(*large, eps=0.6))
"""
)


def peak_share(kind, solver):
    """Return the memory that a path needs at its peak on top of X, as a share of the size of X."""
    share, size = run_measured(MEASURE, kind, solver)
    assert 240e6 < size < 260e6
    return share


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("solver", "share"), [("certified", 0.25), ("sfw", 0.15), ("cv", 0.25)])
def test_peak_memory_is_a_small_share_of_the_data(kind, solver, share):
    assert peak_share(kind, solver) < share


@pytest.mark.compiled
def test_the_measurement_sees_a_copy():
    assert 0.9 < peak_share("row-major", "sfw") < 1.15  # to column-major order, once


def some_values(dtype=np.float64):
    rng = np.random.default_rng(0)
    return np.asfortranarray(rng.standard_normal((20, 30)) * (rng.random((20, 30)) < 0.7), dtype=dtype)


def parts(X):
    """Return the arrays of a user's matrix, by name."""
    return {n: getattr(X, n) for n in ("data", "indices", "indptr")} if sp.issparse(X) else {"values": X.T}


def frozen(X):
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X


def mapped(X, folder):
    """Return X in files that are mapped for reading only."""
    files = {}
    for name, array in parts(X).items():
        np.save(folder / f"{name}.npy", array)
        files[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    if not sp.issparse(X):
        return files["values"].T
    for name, array in files.items():
        setattr(X, name, array)
    return X


MAKERS = {
    **{f"dense {dtype}": lambda _, dtype=dtype: some_values(dtype) for dtype in ("float64", "float32")},
    "dense read-only": lambda _: frozen(some_values()),
    "dense memory map": lambda folder: mapped(some_values(), folder),
    "dense part": lambda _: some_values()[:, 5:25],
    **{f"sparse {dtype}": lambda _, dtype=dtype: sp.csc_array(some_values(dtype)) for dtype in ("float64", "float32")},
    "sparse matrix": lambda _: sp.csc_matrix(some_values()),
    "sparse read-only": lambda _: frozen(sp.csc_array(some_values())),
    "sparse memory map": lambda folder: mapped(sp.csc_array(some_values()), folder),
    "sparse int64": lambda _: STORAGES["csc64-int64"](some_values()),
}


@pytest.fixture(params=MAKERS)
def X(request, tmp_path):
    return MAKERS[request.param](tmp_path)


def test_design_is_memory_of_the_user(X):
    design = as_design(X)
    assert design.conversion is None
    for name, array in parts(X).items():
        used = getattr(design.columns, name)
        assert np.shares_memory(used, array)
        assert (used.ctypes.data, used.shape, used.dtype) == (array.ctypes.data, array.shape, array.dtype)
        assert not used.flags.writeable


def state(X):
    """Return all there is to know of the user's arrays, for comparison."""
    return {
        name: (hashlib.sha256(a.tobytes(order="A")).hexdigest(), a.ctypes.data, a.dtype, a.strides, a.flags.writeable)
        for name, a in parts(X).items()
    }


@pytest.mark.parametrize("solver", ["certified", "sfw"])
def test_path_leaves_x_and_y_as_they_were(X, solver):
    y = np.random.default_rng(1).standard_normal(20)
    before = state(X), state(y)
    grid = {SOLVERS[solver].grids[-1]: [0.1, 0.2]}
    path = lasso_path(X, y, solver=solver, standardize=True, random_state=0, **grid)
    assert path.settings["conversion"] is None
    assert (state(X), state(y)) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("copy", [False, True])
def test_a_frame_of_one_block_is_not_copied(dtype, copy):
    values = some_values(dtype)
    frame = pd.DataFrame(values, copy=copy)
    design = as_design(frame)
    assert design.conversion is None
    assert design.feature_names == tuple(map(str, range(30)))
    assert np.shares_memory(design.columns.values, frame[29].to_numpy())
    assert np.shares_memory(design.columns.values, values) is not copy


def test_a_path_leaves_a_frame_as_it_was():
    frame = pd.DataFrame(some_values())
    before = frame.copy(deep=True)
    lasso_path(frame, np.arange(20.0), radii=[0.1], random_state=0)
    pd.testing.assert_frame_equal(frame, before)
    frame.iloc[0, 0] = 5.0  # still the user's to write to
    assert frame.iloc[0, 0] == 5.0

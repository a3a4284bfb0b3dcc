"""Arrays and frames whose numbers are not in memory are refused by name, and written to a store block by block."""

import h5py
import numpy as np
import pytest

from fwlasso import Lasso, LassoCV, LinearModel, lasso_cv, lasso_path, stability_selection
from fwlasso.datasets import Table, product_features, write_store

M, P = 30, 8
X = np.asfortranarray(np.random.default_rng(0).standard_normal((M, P)))
Y = X[:, 0] - X[:, 1]


class Array:
    """What there is of dask's arrays and xarray's; it counts what is asked of its numbers."""

    dtype = X.dtype

    def __init__(self, values=X, graph=(), chunks=((10, 10, 10), (P,))):
        self.values, self.graph, self.chunks, self.blocks = values, graph, chunks, []
        self.shape, self.nbytes = values.shape, values.nbytes

    def __dask_graph__(self):
        return self.graph

    def __getitem__(self, places):
        self.blocks.append(self.values[places].shape)
        return self.values[places]

    def __array__(self, dtype=None, copy=None):
        self.blocks.append(self.shape)
        return np.array(self.values, dtype)

    def __len__(self):
        return len(self.values)

    def compute(self):
        return self.values


class Frame:
    """A frame of dask's, of a number of rows that is not known."""

    __module__ = "dask.dataframe.dask_expr._collection"
    columns = ("a", "b")
    shape = (None, 2)

    def compute(self):
        return X[:, :2]


PATH = lasso_path(X, Y, alphas=5)
MODEL = LinearModel.from_path(PATH, 3)
LASSO = Lasso(0.1).fit(X, Y)
USES = {
    "lasso_path": lambda lazy: lasso_path(lazy, Y),
    "in a table": lambda lazy: lasso_path(Table(lazy, Y)),
    "lasso_cv": lambda lazy: lasso_cv(lazy, Y),
    "stability_selection": lambda lazy: stability_selection(lazy, Y),
    "Lasso.fit": lambda lazy: Lasso().fit(lazy, Y),
    "Lasso.predict": LASSO.predict,
    "Lasso.score": lambda lazy: LASSO.score(lazy, Y),
    "Lasso.path": lambda lazy: Lasso.path(lazy, Y),
    "LassoCV": lambda lazy: LassoCV().fit(lazy, Y),
    "path.predict": PATH.predict,
    "path.predict of a table": lambda lazy: PATH.predict(Table(lazy, Y)),
    "path.score": lambda lazy: PATH.score(lazy, Y),
    "LinearModel.predict": MODEL.predict,
    "product_features": lambda lazy: product_features(lazy, 2),
}


@pytest.mark.parametrize("use", USES)
def test_lazy_arrays_are_refused_with_their_size_and_what_to_do(use):
    lazy = Array()
    remedy = r"give X\.compute\(\) if it fits; else fwlasso\.datasets\.write_store\(folder, X, y\) makes a store, block"
    with pytest.raises(ValueError, match=rf"^X \(Array of test_lazy, {X.nbytes:,} bytes\) is not in memory: {remedy}"):
        USES[use](lazy)
    assert lazy.blocks == []


@pytest.mark.parametrize("use", [name for name in USES if "table" not in name])
def test_lazy_frames_are_refused(use):
    with pytest.raises(
        ValueError, match=r"^X \(Frame of dask\) is not in memory: .* fwlasso\.datasets\.convert makes a"
    ):
        USES[use](Frame())


def test_lazy_responses_and_validation_sets_are_refused():
    y = Array(Y)
    with pytest.raises(
        ValueError, match=rf"^y \(Array of test_lazy, {Y.nbytes} bytes\) is not in memory: give y.compute"
    ):
        lasso_path(X, y)
    with pytest.raises(ValueError, match=r"^y \(Array"):
        PATH.score(X, y)
    for pair in ((X, y), (Array(), Y)):
        with pytest.raises(ValueError, match=r"^validation \(Array of test_lazy"):
            lasso_cv(None, None, validation=pair)  # before X is looked at
    assert y.blocks == []


def test_datasets_of_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        X_there, y_there = file.create_dataset("X", data=X), file.create_dataset("y", data=Y)
        with pytest.raises(ValueError, match=rf"^X \(Dataset of h5py, {X.nbytes:,} bytes\) is not .* give X\[:\] if"):
            lasso_path(X_there, Y)
        with pytest.raises(ValueError, match=r"^y \(Dataset of h5py"):
            lasso_path(X, y_there)


def test_what_has_no_graph_is_in_memory():  # such as xarray's arrays of numpy's
    np.testing.assert_array_equal(lasso_path(Array(graph=None), Y, alphas=5).coefs.toarray(), PATH.coefs.toarray())


@pytest.mark.parametrize("chunks", [None, ((10, 10, 10), (P,)), ((M,), (4, 4)), (10, P), (M, 4)])
def test_a_store_is_written_block_by_block(tmp_path, monkeypatch, chunks):
    monkeypatch.setattr("fwlasso.datasets.fill.BLOCK_BYTES", 6 * 8 * P)
    lazy = Array(chunks=chunks)
    store = write_store(tmp_path / "store", lazy, Y)
    np.testing.assert_array_equal(store.X, X)
    assert len(lazy.blocks) > 1
    by_rows = chunks is None or np.ravel(chunks[0])[0] < M
    assert {shape[1 if by_rows else 0] for shape in lazy.blocks} == {P if by_rows else M}


def test_a_store_is_written_of_a_dataset(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        store = write_store(tmp_path / "store", file.create_dataset("X", data=X, chunks=(M, 2)), Y)
    np.testing.assert_array_equal(store.X, X)

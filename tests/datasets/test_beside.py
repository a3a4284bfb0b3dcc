"""Weights and offsets of samples: read from every kind of file beside the response, kept by stores, used by paths."""

import re

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from file_cases import FILES, NAMED, M, P, X, Y, dense, target_of
from fwlasso import LinearModel, lasso_path, sum_table
from fwlasso.data.store import MANIFEST
from fwlasso.datasets import Table, convert, open_store, read_table, verify_store, write_store
from fwlasso.datasets.new_rows import Features, read_new_rows
from fwlasso.datasets.source import Wanted
from fwlasso.report.describe import describe
from run_cases import assert_same_bits

_RNG = np.random.default_rng(8)
WEIGHTS, OFFSET = _RNG.integers(0, 4, M).astype(np.float64), np.round(_RNG.standard_normal(M), 3)
BOTH = {"sample_weight": WEIGHTS, "offset": OFFSET}
TABLES = ("table.csv", "table.tsv", "packed.csv.xz", "table.parquet")


def write(folder, name):
    """Write a file with weights and offset in it, if it can have them, else beside it; return the file and names."""
    file = folder / name
    FILES[name](file)
    if name in TABLES:  # between the features and behind the response
        table = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file, sep=None, engine="python")
        table.insert(3, "w", WEIGHTS)
        table["o"] = OFFSET
        sep = {"sep": "\t"} if file.suffix == ".tsv" else {}
        table.to_parquet(file) if file.suffix == ".parquet" else table.to_csv(file, index=False, **sep)
        return file, {"weights": "w", "offset": "o"}
    if file.suffix == ".h5ad":
        with h5py.File(file, "a") as group:
            group["obs"]["w"], group["obs"]["o"] = WEIGHTS, OFFSET
        return file, {"weights": "w", "offset": "o"}
    np.save(folder / "o.npy", OFFSET)
    if name == "F.npz":
        np.savez(file, X=X, y=Y, w=WEIGHTS)
        return file, {"weights": "w", "offset": "o.npy"}
    np.savetxt(folder / "w.txt", WEIGHTS)
    return file, {"weights": "w.txt", "offset": "o.npy"}


def assert_same_numbers(found, rows=slice(None)):
    np.testing.assert_array_equal(dense(found.X), X[rows])
    for name, values in {"y": Y, **BOTH}.items():
        np.testing.assert_array_equal(getattr(found, name), values[rows])


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_has_weights_and_an_offset(tmp_path, name):
    file, asked = write(tmp_path, name)
    target = target_of(file)
    assert_same_numbers(read_table(file, target, **asked))
    assert_same_numbers(convert(file, tmp_path / "made", target=target, rows=slice(2, 20), **asked), slice(2, 20))
    _, _, names, _, first_index, *_ = read_table(file, target, **asked)
    assert (names is None) == (name not in NAMED)
    model = Features(P, names, first_index)
    rows = read_new_rows(file, Wanted(needs_response=False, offset=asked["offset"]), model)
    np.testing.assert_array_equal(rows.offset, OFFSET)
    assert name in TABLES or dense(rows.X).shape == X.shape  # a model without names takes all columns but the offset


def test_paths_and_predictions_use_what_a_container_has(tmp_path):
    given = np.asfortranarray(X)
    store = write_store(tmp_path / "store", given, Y, **BOTH)
    verify_store(store.folder)
    asked = {"alphas": 7, "random_state": 0}
    expected = lasso_path(given, Y, **BOTH, **asked)
    path = lasso_path(store, **asked)
    assert path.has_offset
    assert_same_bits(path, expected)
    assert_same_bits(lasso_path(Table(given, Y, **BOTH), **asked), expected)
    unweighted = lasso_path(given, Y, offset=OFFSET, **asked)
    np.testing.assert_array_equal(
        lasso_path(store, sample_weight=np.ones(M), **asked).coefs.data, unweighted.coefs.data
    )
    model = LinearModel.from_path(path, -1)
    np.testing.assert_array_equal(model.predict(store), model.predict(given, offset=OFFSET))
    assert not np.array_equal(model.predict(store), model.predict(store, offset=np.zeros(M)))


def test_a_store_of_the_first_version_is_opened(tmp_path):
    store = write_store(tmp_path / "store", X, Y)
    manifest = store.folder / MANIFEST
    manifest.write_text(re.sub('"version": [0-9]+', '"version": 1', manifest.read_text()))
    opened = open_store(store.folder)
    assert (opened.sample_weight, opened.offset) == (None, None)
    np.testing.assert_array_equal(opened.y, Y)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("m", [300, 2500])
def test_sums_have_the_weights_and_the_offset_of_a_table(tmp_path, kind, m, rng):
    values, weights, offset = rng.standard_normal((m, 6)), rng.integers(0, 5, m) / 4.0, 3.0 + rng.standard_normal(m)
    y = offset + values[:, 0] + rng.standard_normal(m)
    table = pd.DataFrame(np.column_stack([values, offset, weights, y]), columns=[*"abcdef", "o", "w", "y"])
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=700)
    summed = sum_table(tmp_path / f"t.{kind}", weights="w", offset="o")
    assert summed.shape == (np.count_nonzero(weights), 6)
    asked = {"alphas": 20, "tol": 1e-9, "solver": "gram"}
    path, expected = lasso_path(summed, **asked), lasso_path(values, y, sample_weight=weights, offset=offset, **asked)
    np.testing.assert_allclose(path.alphas, expected.alphas, rtol=1e-13)
    np.testing.assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=1e-9)
    assert (path.has_offset, path.terms) == (True, expected.terms)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        sum_table(tmp_path / f"t.{kind}", weights="a", offset="o")


def test_cells_without_a_value(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,w,o,y\n1,1,0,1\n2,,0,2\n3,1,NA,3\n4,2,0.5,5\n")
    with pytest.raises(ValueError, match="row 3, column 'w': there is no value"):
        read_table(file, weights="w", offset="o", impute="mean")
    with pytest.warns(UserWarning, match=r"2 of 4 rows are left out: they have no value of 'w' \(1\), 'o' \(1\)"):
        table = read_table(file, weights="w", offset="o", drop_missing=True)
    assert (table.sample_weight.tolist(), table.offset.tolist()) == ([1.0, 2.0], [0.0, 0.5])


REFUSED = {
    "no column": ({"weights": "x"}, "there is no column 'x'"),
    "the response": ({"target": "y", "weights": "y"}, "response, weights and offset must be different columns"),
    "both": ({"weights": "w", "offset": "w"}, "must be different columns"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_columns_of_a_table_are_refused(tmp_path, what):
    file, _ = write(tmp_path, "table.csv")
    asked, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        read_table(file, **asked)


def test_other_wrong_ones_are_refused(tmp_path):
    write(tmp_path, "F.npy")
    with pytest.raises(FileNotFoundError, match=r"none\.npy: no such file; it should hold the weights for F\.npy"):
        read_table(tmp_path / "F.npy", weights="none.npy")
    np.savetxt(tmp_path / "w.txt", WEIGHTS[1:])
    with pytest.raises(ValueError, match=f"sample_weight must be one number for each of the {M} samples"):
        lasso_path(read_table(tmp_path / "F.npy", weights="w.txt"))
    with pytest.raises(ValueError, match=f"sample_weight must be one number for each of the {M} samples"):
        convert(tmp_path / "F.npy", tmp_path / "made", weights="w.txt")
    write_store(tmp_path / "store", X, Y, offset=OFFSET)
    with pytest.raises(ValueError, match=r"store is a store that contains what 'o\.npy' is asked for"):
        read_table(tmp_path / "store", offset="o.npy")
    FILES["one.svm"](tmp_path / "one.svm")
    with pytest.raises(ValueError, match="fwlasso convert makes a store with them"):
        sum_table(tmp_path / "one.svm", weights="w.txt")


def test_weights_are_described():
    found = describe(Table(sp.csc_array(X), Y, **BOTH))
    assert (found.weights, found.n_left_out, found.has_offset) == ((1.0, 3.0), np.count_nonzero(WEIGHTS == 0.0), True)

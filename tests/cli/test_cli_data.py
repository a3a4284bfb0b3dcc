"""The commands about data: convert, info and verify, and a path on a store."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from cli_cases import X as VALUES
from cli_cases import Y, call, call_json, plain, write_csv, write_npy, write_svm
from fwlasso.cli.show import Detail, steps_of
from fwlasso.datasets import Step, open_store, write_store


@pytest.mark.parametrize(("name", "write"), [("a.csv", write_csv), ("a.svm", write_svm), ("a.npy", write_npy)])
def test_path_on_a_store_is_that_on_the_file(tmp_path, name, write):
    file = write(tmp_path / name)
    result = call("convert", file, tmp_path / "store")
    assert "is written: 30 samples, 8 features" in plain(result.stdout)
    assert "checksums" in plain(result.stderr)
    assert "100%" in plain(result.stderr)
    first, second = (call_json("path", data, "--alphas", 10) for data in (file, tmp_path / "store"))
    assert first["points"] == second["points"]
    first, second = (call("path", data, "--alphas", 3) for data in (file, tmp_path / "store"))
    assert re.findall("largest.*", plain(first.stdout)) != []
    assert plain(first.stdout).split("iterations")[0] == plain(second.stdout).split("iterations")[0]


def test_convert_as_json(tmp_path):
    file = write_csv(tmp_path / "a.csv")
    options = ("--columns", "f3,f0", "--rows", "5:20", "--dtype", "float32", "--target", "y")
    result = call("convert", file, tmp_path / "store", *options, "--json")
    assert json.loads(result.stdout) == {
        "store": str(tmp_path / "store"),
        "n_samples": 15,
        "n_features": 2,
        "n_entries": 30,
        "kind": "dense",
        "dtype": "float32",
        "first_index": None,
        "notices": [],
    }
    assert result.stderr == ""
    made = open_store(tmp_path / "store")
    assert made.feature_names == ("f3", "f0")
    np.testing.assert_array_equal(made.X, VALUES[5:20][:, [3, 0]])


@pytest.mark.parametrize(
    ("text", "columns"),
    [("1,3", [1, 3]), ("-1", [7]), (":3", [0, 1, 2]), ("::-4", [7, 3]), ("f2", [2]), ("f2,f1", [2, 1])],
)
def test_selections(tmp_path, text, columns):
    call("convert", write_csv(tmp_path / "a.csv"), tmp_path / "store", f"--columns={text}", "--quiet")
    np.testing.assert_array_equal(open_store(tmp_path / "store").X, VALUES[:, columns])


def test_verify(tmp_path):
    store = tmp_path / "store"
    for arguments in (("convert", write_csv(tmp_path / "a.csv"), store), ("verify", store)):
        assert call(*arguments, "--quiet").output == ""
    text = plain(call("verify", store).stdout)
    assert "store is unchanged: 30 samples, 8 features, dense, float64" in text
    assert call_json("verify", store)["n_entries"] == 240


@pytest.mark.parametrize("make", [np.asfortranarray, sp.csc_array])
def test_info(tmp_path, make):
    values = np.column_stack([VALUES, VALUES[:, 0], -VALUES[:, 1], np.ones(30), np.zeros(30)])
    write_store(tmp_path / "store", make(values), Y)
    is_sparse = make is sp.csc_array
    found = call_json("info", tmp_path / "store")
    expected = {
        "n_samples": 30,
        "n_features": 12,
        "n_copies": 2,
        "n_constant": 2,
        "conversion": None,
        "dtype": "float64",
        "kind": "csc" if is_sparse else "dense",
        "n_entries": np.count_nonzero(values) if is_sparse else values.size,
    }
    assert expected.items() <= found.items()
    assert found["lengths"]["0"] == 1 if is_sparse else found["lengths"] == {"30": 12}
    text = plain(call("info", tmp_path / "store").stdout)
    assert "constant columns 2" in text
    assert "copies of other columns 2" in text


def test_a_bar_without_a_total_is_shown(capsys):
    with steps_of(Detail()) as tell:
        tell(Step("downloading [this]", 5, None))
        tell(Step("downloading [this]", 7, 10))
    assert re.search(r"downloading \[this\] 70%", plain(capsys.readouterr().err))

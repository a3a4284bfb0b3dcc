"""Indices of LIBSVM text: other files of the same data are read as the first one was, and never shifted by a column."""

import contextlib
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from cli_cases import BAD_INPUT, COMPLETE, call, call_json, plain, write_csv
from fwlasso import LassoPath, LinearModel, lasso_path
from fwlasso.data.sealed import seal
from fwlasso.datasets import convert, open_store, read_table

M, P = 60, 8
rng = np.random.default_rng(3)
X = rng.integers(-8, 9, (2 * M, P)) / 4.0
X[M:, 0] = 0.0  # the first feature is not in the new rows
Y = X @ [3.0, -2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5] + 0.01 * rng.standard_normal(2 * M)
NEW, NEW_Y = X[M:], Y[M:]
GRID = ("--alphas", 15, "--eps", 0.01, "--tol", 1e-9)


def write(file, values, y, first_index):
    dump_svmlight_file(sp.csr_array(values), y, str(file), zero_based=first_index == 0)
    return file


def write_more(file):
    """The new rows, one-based, with two features that no other file has, in three entries."""
    lines = write(file, NEW, NEW_Y, 1).read_text().splitlines()
    lines[0] += " 9:2 11:7"
    lines[1] += " 9:1"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs on the same data, of files that count from 0 and from 1."""
    folder = tmp_path_factory.mktemp("base")
    for first in (0, 1):
        write(folder / f"train{first}.svm", X[:M], Y[:M], first)
        write(folder / f"new{first}.svm", NEW, NEW_Y, first)
        with contextlib.chdir(folder):
            validation = "--validation", f"new{first}.svm"
            call("cv", f"train{first}.svm", *validation, "--alphas", 15, "--quiet", "--out", f"run{first}")
    write_more(folder / "more.svm")
    np.savez(folder / "arrays.npz", X=X[:M], y=Y[:M])
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("first", [0, 1])
def test_new_rows_are_read_as_those_of_the_model(here, first):
    model = LinearModel.load(f"run{first}/model.json")
    assert model.first_index == LassoPath.load(f"run{first}/path.npz").first_index == first
    for which in ((), ("--point", 12)):
        found = call_json("predict", f"run{first}", f"new{first}.svm", *which)
        assert found["r2"] > 0.99
    np.testing.assert_allclose(
        call_json("predict", f"run{first}", f"new{first}.svm")["predictions"], model.predict(NEW)
    )


def test_validation_is_read_as_the_data(here):
    choices = [call_json("cv", f"train{k}.svm", "--validation", f"new{k}.svm", *GRID)["choice"] for k in (0, 1)]
    errors = np.mean(
        (lasso_path(X[:M], Y[:M], alphas=15, eps=0.01, tol=1e-9).predict(NEW) - NEW_Y[:, np.newaxis]) ** 2, axis=0
    )
    for choice in choices:
        np.testing.assert_allclose(choice["scores"], errors, rtol=1e-3)
    record = call_json("path", "train0.svm", "--test", "new0.svm", *GRID)
    np.testing.assert_allclose(record["choice"]["scores"], errors, rtol=1e-3)


def test_a_store_knows_what_its_file_counted_from(here, tmp_path):
    call("convert", "train0.svm", tmp_path / "store", "--quiet")
    assert open_store(tmp_path / "store").first_index == 0
    call("cv", tmp_path / "store", "--validation", "new0.svm", "--alphas", 15, "--quiet", "--out", tmp_path / "run")
    assert call_json("predict", tmp_path / "run", "new0.svm")["r2"] > 0.99
    convert("new0.svm", tmp_path / "other", zero_based=False)
    with pytest.raises(ValueError, match="X counts its features from 1, but the data of the model count from 0"):
        LinearModel.load(tmp_path / "run" / "model.json").predict(read_table(tmp_path / "other"))


def test_an_index_zero_for_a_model_that_counts_from_one_is_an_error(here, call_main):
    for arguments in (("predict", "run1", "train0.svm"), ("cv", "train1.svm", "--validation", "train0.svm")):
        exit_code, stdout, stderr = call_main(*arguments)
        assert (exit_code, stdout) == (BAD_INPUT, "")
        assert "train0.svm:1:" in stderr
        assert "expected an index of at least 1, found '0:" in stderr
        assert "if only this file counts from 0, fwlasso predict --zero-based reads it" in stderr
    assert call_json("predict", "run1", "train0.svm", "--zero-based") == call_json("predict", "run1", "train1.svm")
    assert "fit again" not in call_main("predict", "run1", "train0.svm", "--one-based")[2]


def test_what_cannot_be_known_is_an_error_that_names_the_options(here, tmp_path, call_main):
    call("cv", "arrays.npz", "--rule", "bic", "--alphas", 15, "--quiet", "--out", tmp_path / "run")
    exit_code, _, stderr = call_main("predict", tmp_path / "run", "new1.svm")
    assert exit_code == BAD_INPUT
    assert "new1.svm: there is no index 0" in stderr
    assert "--zero-based or --one-based" in stderr
    expected = LinearModel.load(tmp_path / "run" / "model.json").predict(NEW)
    for arguments in (("new1.svm", "--one-based"), ("new0.svm", "--zero-based")):
        np.testing.assert_allclose(call_json("predict", tmp_path / "run", *arguments)["predictions"], expected)
    assert call_json("predict", tmp_path / "run", "train0.svm")["r2"] > 0.99  # which has an index 0
    # A model of other data is not to be told what of the file it does not know.
    exit_code, _, stderr = call_main("predict", tmp_path / "run", "more.svm", "--one-based")
    assert (exit_code, stderr) == (BAD_INPUT, "fwlasso: more.svm: X has 11 features, the model was fitted with 8")


def test_more_features_are_ignored_and_counted(here):
    expected = LinearModel.load("run1/model.json").predict(NEW)
    told = call("predict", "run1", "more.svm")
    np.testing.assert_allclose(np.array(told.stdout.splitlines()[1:], float), expected)
    assert "2 features unknown to the model are ignored" in plain(told.stderr)
    told = call("cv", "train1.svm", "--validation", "more.svm", "--alphas", 5)
    assert "2 features unknown to the model are ignored" in plain(told.stderr)
    with pytest.warns(UserWarning, match="2 features unknown to the model are ignored"):
        np.testing.assert_allclose(LinearModel.load("run1/model.json").predict(read_table("more.svm")), expected)


def test_options_tell_what_the_indices_count_from(here, tmp_path):
    """Rows without the first feature: only the user knows that there is one."""
    for command, more in (("path", ("--alphas", 5)), ("info", ())):
        for option, p in (("--zero-based", P), ("--one-based", P - 1)):
            record = call_json(command, "new0.svm", option, *more)
            assert record.get("n_features", p) == p
    call("convert", "new0.svm", tmp_path / "store", "--zero-based", "--quiet")
    assert open_store(tmp_path / "store").shape == (M, P)
    assert read_table("new0.svm", zero_based=True).X.shape == (M, P)


@pytest.mark.parametrize("first", [0, 1])
def test_names_count_as_the_file_does(here, first):
    names = [str(j + first) for j in (0, 1, 4)]
    text = plain(call("path", f"train{first}.svm", "--alphas", 15).stdout)
    assert all(f" {name} {sign}" in text for name, sign in zip(names, "+-+", strict=True))
    page = (here / f"run{first}" / "report.html").read_text(encoding="utf-8")
    assert f"<tr><td>{names[0]}</td><td>{names[0]}</td><td" in page
    assert f'"name":"{names[1]}","index":{names[1]}' in page


def test_tables_in_memory_are_compared(here):
    path = lasso_path(read_table("train0.svm"), alphas=15)
    model = LinearModel.from_path(path, 12)
    assert path.first_index == model.first_index == LinearModel.from_json(model.to_json()).first_index == 0
    with pytest.raises(ValueError, match=r"count from 0: read it with zero_based=True"):
        model.predict(read_table("new0.svm"))
    table = read_table("new0.svm", zero_based=True)
    np.testing.assert_allclose(model.predict(table), path.predict(NEW, point=12))
    with pytest.raises(ValueError, match="first_index is neither 0 nor 1"):
        LinearModel.from_json(seal({**json.loads(model.to_json()), "first_index": 7}))


@pytest.mark.parametrize("command", ["path", "cv"])
@pytest.mark.parametrize("change", ["first_index was 0, and is 1", "target was y, and is z"])
def test_a_run_goes_on_only_with_data_of_the_same_origin(here, tmp_path, call_main, command, change):
    """The same numbers with another base or name of the response would leave a run that tells what was."""
    files = ["train0.svm", "train1.svm"]
    if "target" in change:
        files = [write_csv(tmp_path / "y.csv"), tmp_path / "z.csv"]
        files[1].write_text(files[0].read_text().replace(",y\n", ",z\n"))
    folds = ("--folds", 2) if command == "cv" else ()
    arguments = ("--alphas", 5, *folds, "--quiet", "--out", tmp_path / "run")
    call(command, files[0], *arguments)
    assert call_main(command, files[0], *arguments, "--resume")[0] == COMPLETE
    exit_code, stdout, stderr = call_main(command, files[1], *arguments, "--resume")
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert f"holds another run: the data have changed: {change}" in stderr


def test_what_is_told_of_the_base_is_told_by_all_and_in_json(here, tmp_path):
    told = "indices count from 1, since none of them is 0; --zero-based counts from 0"
    for arguments in (
        ("path", "new0.svm", "--alphas", 3),
        ("info", "new0.svm"),
        ("convert", "new0.svm", tmp_path / "s"),
    ):
        assert told in plain(call(*arguments).stderr)
        assert call_json(*arguments)["notices"] == [told]
        assert call_json(*arguments, "--one-based")["notices"] == []
    assert "indices count" not in plain(call("path", "train0.svm", "--alphas", 3).stderr)
    call("convert", "train0.svm", tmp_path / "zero", "--quiet")
    for store, first in (("s", 1), ("zero", 0)):
        assert f"indices count from {first} " in plain(call("info", tmp_path / store).stdout)
        for command in ("info", "verify"):
            record = call_json(command, tmp_path / store)
            assert (record["first_index"], record["notices"]) == (first, [])

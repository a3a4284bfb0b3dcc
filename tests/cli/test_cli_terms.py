"""Weights, an offset and terms of columns on the command line: they are those of the library, in every command."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from cli_cases import BAD_INPUT, NAMES, M, X, Y, call, call_json, plain, predictions
from fwlasso import LassoPath, LinearModel, lasso_cv, lasso_path
from fwlasso.cli.names import at_places, numbers_in
from fwlasso.options import Options
from run_cases import assert_same_bits

_RNG = np.random.default_rng(3)
WEIGHTS, OFFSET = _RNG.integers(0, 3, M) / 2.0, np.round(_RNG.standard_normal(M), 2)
BOTH = {"sample_weight": WEIGHTS, "offset": OFFSET}
#: By file, how both are asked for.
ASKED = {"table.csv": ["--weights", "w", "--offset", "o"], "data.svm": ["--weights", "w.txt", "--offset", "o.npy"]}
ASKED["made"] = []


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A table with weights and an offset, the same numbers as LIBSVM text with files beside it, and a store of them."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(X, columns=NAMES).assign(y=Y, w=WEIGHTS, o=OFFSET).to_csv("table.csv", index=False)
    dump_svmlight_file(X, Y, "data.svm", zero_based=False)
    np.savetxt("w.txt", WEIGHTS)
    np.save("o.npy", OFFSET)
    call("convert", "table.csv", "made", *ASKED["table.csv"], "--quiet")


@pytest.mark.parametrize("file", ASKED)
def test_weights_and_offset_of_a_path(file, call_main):
    call("path", file, "--alphas", 9, "--tol", 1e-9, *ASKED[file], "--quiet", "--out", "out")
    path = LassoPath.load("out/path.npz")
    if file == "table.csv":
        dense = np.asfortranarray(X)
        expected = lasso_path(
            dense, Y, **BOTH, alphas=9, tol=1e-9, checkpoint="again", random_state=0, feature_names=NAMES
        )
        for one in (path, expected):
            one.settings.update(conversion=None, target=None)
        assert_same_bits(path, expected)
    np.testing.assert_allclose(
        path.coefs.toarray(), lasso_path(X, Y, **BOTH, alphas=9, tol=1e-9).coefs.toarray(), atol=1e-4
    )
    predicted = path.predict(X, offset=OFFSET)
    record = call_json("path", file, *ASKED[file], "--alphas", 9, "--tol", 1e-9, "--validation", file)
    errors = np.average((predicted - Y[:, None]) ** 2, axis=0, weights=WEIGHTS)
    np.testing.assert_allclose([point["validation_mse"] for point in record["points"]], errors, rtol=1e-6)
    np.testing.assert_allclose(
        predictions("out", file, "--point", 5, "--quiet", *ASKED[file][2:]), predicted[:, 4], rtol=1e-12
    )
    assert call_json("info", file, *ASKED[file])["weights"] == [0.5, 1.0]
    if file == "made":  # which has weights, too
        scores = call_json("predict", "out", "made", "--point", 5)
        assert scores["rmse"] ** 2 == pytest.approx(errors[4], rel=1e-9)
    else:
        code, _, line = call_main("predict", "out", file, "--point", 5)
        assert (code, line[:57]) == (BAD_INPUT, "fwlasso: --offset: the model was fitted with an offset: g")


FAULTS = {
    "--weights f0": "fwlasso: --weights must be >= 0",
    "--weights none": "table.csv: there is no column 'none'",
    "--lower x": "fwlasso: --lower must be a number, or NAME=NUMBER with commas between them, got 'x'",
    "--penalty-factor f0=2,f1": "fwlasso: --penalty-factor must be a number, or NAME=NUMBER",
    "--unpenalized none": "fwlasso: --unpenalized: no column is called 'none', or matches it",
    "--lower 1": "fwlasso: --lower must be <= 0, so that zero is allowed",
    "--max-active 0": "fwlasso: --max-active must be an integer >= 1",
    "--l1-ratio 0": "fwlasso: --l1-ratio must be a number in (0, 1]",
}


@pytest.mark.parametrize("command", ["path", "cv"])
@pytest.mark.parametrize("options", FAULTS)
def test_faults_name_the_flag(options, command, call_main):
    code, out, line = call_main(command, "table.csv", "--target", "y", *options.split())
    assert (code, out) == (BAD_INPUT, "")
    assert FAULTS[options] in line


def test_an_offset_that_the_model_does_not_have_is_refused(call_main):
    call("path", "data.svm", "--alphas", 3, "--quiet", "--out", "out")
    ended = call_main("predict", "out", "data.svm", "--point", 2, "--offset", "o.npy")
    assert ended == (BAD_INPUT, "", "fwlasso: --offset: the model was fitted without an offset")


def test_numbers_by_name_are_read_from_text():
    text = 'age=2,"body mass, index"=0.5,gene*=inf,a=b=-1'
    numbers = {"age": 2.0, "body mass, index": 0.5, "gene*": math.inf, "a=b": -1.0}
    with pytest.raises(ValueError, match="lower must be a number"):
        numbers_in("lower", "")
    assert numbers_in("penalty_factor", text.replace('"body mass, index"=0.5', '"body mass, index=0.5"')) == numbers
    assert (numbers_in("upper", "3"), numbers_in("upper", None)) == (3.0, None)


@pytest.mark.parametrize(("first_index", "place"), [(1, 2), (0, 3), (None, 3)])
def test_columns_without_names_are_called_as_their_file_does(first_index, place):
    options = at_places(Options(penalty_factor={"3": 2.0}, unpenalized=["3"], lower=-1.0), first_index)
    assert (options.penalty_factor, options.unpenalized, options.lower) == ({place: 2.0}, [place], -1.0)
    assert at_places(Options(), first_index) == Options()


TERMS = {
    "--penalty-factor f0=2,f[1-3]=inf": (
        {"penalty_factor": {"f0": 2.0, "f[1-3]": math.inf}},
        "penalty factors from 1 to 2; excluded columns (3 columns: 'f1', 'f2', 'f3')",
    ),
    "--unpenalized f1,f5": ({"unpenalized": ["f1", "f5"]}, "no penalty on 'f1', 'f5'"),
    "--lower -0.5 --upper f0=1": ({"lower": -0.5, "upper": {"f0": 1.0}}, "bounds on 8 coefficients"),
    "--positive": ({"positive": True}, "nonnegative coefficients"),
    "--l1-ratio 0.5": ({"l1_ratio": 0.5}, "an elastic net penalty (l1_ratio 0.5)"),
    "--ridge 0.1 --max-active 3": ({"ridge": 0.1, "max_active": 3}, "a ridge penalty of 0.1"),
}


@pytest.mark.parametrize("options", TERMS)
def test_terms_of_columns_are_those_of_the_library(options, call_main):
    asked, words = TERMS[options]
    given = ["path", "table.csv", "--target", "y", "--exclude", "w,o", *options.split(), "--alphas", 9, "--out", "out"]
    shown = call(*given).stdout
    assert f"the problem has {words}" in plain(shown)
    path = LassoPath.load("out/path.npz")
    expected = lasso_path(
        np.asfortranarray(X), Y, **asked, alphas=9, checkpoint="again", random_state=0, feature_names=NAMES
    )
    assert path.terms == expected.terms
    for one in (path, expected):
        one.settings.update(conversion=None, target=None)
    assert_same_bits(path, expected)
    model = LinearModel.from_path(path, -1)
    assert LinearModel.from_json(model.to_json()).about["terms"] == path.terms
    # Another run in the folder is refused by name; the same one is there.
    name = next(iter(asked))
    changed = {"max_active": "2", "lower": "-0.25", "unpenalized": "f1", "penalty_factor": "f0=3"}.get(name, "0.75")
    flag = f"--{name.replace('_', '-')}"
    if name != "positive":
        code, _, line = call_main(*given, flag, changed, "--resume")
        assert (code, "out holds another run" in line, name in line) == (BAD_INPUT, True, True)
    assert "it is complete: nothing to do" in call(*given, "--resume").stderr


def test_files_without_names_have_terms_by_number():
    record = call_json("path", "data.svm", "--penalty-factor", "3=inf", "--unpenalized", "1", "--alphas", 5)
    assert record["settings"]["excluded"] == "2"  # from 0, as in Python
    assert record["settings"]["unpenalized_columns"] == [0]


def test_changed_weights_are_another_run(call_main):
    given = ["path", "data.svm", "--alphas", 3, "--quiet", "--out", "out"]
    call(*given, *ASKED["data.svm"])
    np.savetxt("w.txt", WEIGHTS[::-1])
    code, _, line = call_main(*given, *ASKED["data.svm"], "--resume")
    assert (code, "sample weights" in line) == (BAD_INPUT, True)
    code, _, line = call_main(*given, "--resume")
    assert (code, "out holds another run" in line) == (BAD_INPUT, True)


@pytest.mark.parametrize("file", ASKED)
def test_cross_validation_has_weights_and_an_offset(file):
    given = ["cv", file, *ASKED[file], "--alphas", 9, "--folds", 3]
    found = lasso_cv(X, Y, **BOTH, alphas=9, cv=3)
    np.testing.assert_allclose(scores_of(call_json(*given)), found.choice.scores, rtol=1e-4)
    held_out = lasso_cv(X, Y, **BOTH, alphas=9, validation=(X, Y, WEIGHTS, OFFSET))
    record = call_json("cv", file, *ASKED[file], "--alphas", 9, "--validation", file)
    np.testing.assert_allclose(scores_of(record), held_out.choice.scores, rtol=1e-4)


def scores_of(record):
    return [point["mean_squared_error"] for point in record["points"]]


def test_several_ratios_are_chosen_among_and_resumed(call_main):
    ratios = ["--l1-ratio", "0.3,1"]
    given = ["cv", "table.csv", *ASKED["table.csv"], "--alphas", 9, "--folds", 3, *ratios, "--out", "out"]
    record = call_json(*given)
    found = lasso_cv(X, Y, **BOTH, alphas=9, cv=3, l1_ratio=[0.3, 1.0])
    assert record["settings"]["l1_ratio"] == found.l1_ratio
    np.testing.assert_allclose(scores_of(record), found.choice.scores, rtol=1e-4)
    assert {file.name for file in Path("out").iterdir()} > {"l1_ratio-0.3", "l1_ratio-1.0", "model.json", "report.html"}
    code, _, line = call_main(*given)
    assert (code, "out holds a complete run: --resume continues it" in line) == (BAD_INPUT, True)
    assert scores_of(call_json(*given, "--resume", "--rule", "1se")) == scores_of(record)
    assert call_json("predict", "out", "table.csv", "--offset", "o", "--target", "y")["r2"] > 0.9
    np.savetxt("w.txt", WEIGHTS)
    call(*given, "--overwrite", "--quiet")
    call("cv", "table.csv", *ASKED["table.csv"], "--alphas", 4, "--folds", 3, "--overwrite", "--out", "out", "--quiet")
    assert not Path("out/l1_ratio-1.0/settings.json").exists()
    code, _, line = call_main("cv", "table.csv", "--l1-ratio", "0.3,x")
    assert (code, "Invalid value for '--l1-ratio'" in line) == (BAD_INPUT, True)
    code, _, line = call_main("cv", "table.csv", "--l1-ratio", "0.3,0.3")
    assert (code, line[:51]) == (BAD_INPUT, "fwlasso: --l1-ratio must be a number, or some numbe")

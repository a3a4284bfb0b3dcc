"""Tables with empty cells on the command line, from a path to predictions; and the code of a tolerance not met."""

import numpy as np
import pandas as pd
import pytest

from cli_cases import BAD_INPUT, COMPLETE, INCOMPLETE, call, call_json, plain
from fwlasso import LassoPath, LinearModel
from fwlasso.cli import read
from fwlasso.cli.ending import EXIT_UNMET

M = 153


def air_quality():
    """Columns and gaps as in R's data set of that name."""
    rng = np.random.default_rng(3)
    temp, wind, sun = rng.integers(57, 98, M), np.round(rng.uniform(1.7, 20.7, M), 1), rng.integers(7, 335, M)
    ozone = np.maximum(1, 1.6 * (temp - 60) - 2 * wind + 0.05 * sun + 20 + 10 * rng.standard_normal(M)).astype(int)
    frame = pd.DataFrame({"Ozone": ozone, "Solar.R": sun, "Wind": wind, "Temp": temp}).astype(object)
    frame.loc[rng.choice(M, 37, replace=False), "Ozone"] = "NA"
    frame.loc[rng.choice(M, 7, replace=False), "Solar.R"] = "NA"
    return frame


FRAME = air_quality()
NUMBERS = FRAME.apply(pd.to_numeric, errors="coerce")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("air.csv", index=False)
    FRAME.drop(columns="Ozone").to_csv("new.csv", index=False)
    return "air.csv"


@pytest.mark.parametrize("command", ["path", "cv", "info", "convert"])
def test_a_gap_is_told_with_its_remedies(file, call_main, command):
    exit_code, _, stderr = call_main(command, file, *(["store"] if command == "convert" else []), "--target", "Ozone")
    assert exit_code == BAD_INPUT
    assert (
        "column 'Solar.R': there is no value ('NA'); fill it, leave out such rows with --drop-missing, give" in stderr
    )


@pytest.mark.parametrize("command", [["path"], ["path", "--solver", "gram"], ["cv"]])
def test_rows_are_left_out(file, command):
    record = call_json(command[0], file, *command[1:], "--target", "Ozone", "--alphas", 5, "--drop-missing")
    whole = NUMBERS.dropna()
    assert record["settings"]["n_samples"] == len(whole)
    lost = f"{M - len(whole)} of {M} rows are left out: they have no value of 'Solar.R' (7), 'Ozone' (37)"
    assert [text for text in record["notices"] if "left out" in text] == [f"air.csv: {lost}"]


@pytest.mark.parametrize("command", [["path", "--validation", "air.csv"], ["cv"], ["cv", "--validation", "air.csv"]])
def test_from_gaps_to_predictions(file, command):
    call(command[0], file, *command[1:], "--target", "Ozone", "--impute", "mean", "--quiet", "--out", "run")
    model = LinearModel.load("run/model.json")
    answered = NUMBERS.dropna(subset="Ozone")
    means = answered.drop(columns="Ozone").mean()
    assert dict(zip(model.feature_names, model.means, strict=True)) == pytest.approx(
        means[list(model.feature_names)].to_dict()
    )
    expected = model.predict(NUMBERS.drop(columns="Ozone").fillna(means))
    for arguments in (("new.csv",), ("air.csv", "--target", "Ozone"), ("new.csv", "--point", 100)):
        record = call_json("predict", "run", *arguments)
        assert any(
            "7 cells without a value stand at the means in the data of the model: 'Solar.R' (7)" in text
            for text in record["notices"]
        )
        if "--point" not in arguments:
            np.testing.assert_allclose(record["predictions"], expected, rtol=1e-12)
    record = call_json("predict", "run", "air.csv", "--target", "Ozone")
    known = NUMBERS["Ozone"].notna().to_numpy()
    error = np.mean((expected - NUMBERS["Ozone"])[known] ** 2)
    np.testing.assert_allclose(record["rmse"], np.sqrt(error), rtol=1e-12)
    assert any("scores cover the 116 of 153 samples" in text for text in record["notices"])


def test_held_out_rows_with_gaps_are_left_out(file):
    arguments = ("path", file, "--target", "Ozone", "--alphas", 5, "--drop-missing", "--validation", "air.csv")
    record = call_json(*arguments)
    assert sum("left out" in text for text in record["notices"]) == 2  # of the data, and of those held out
    np.testing.assert_allclose(record["points"][-1]["validation_r2"], record["points"][-1]["r2"])


def test_a_store_keeps_the_means(file):
    call("convert", file, "store", "--target", "Ozone", "--impute", "mean", "--quiet")
    call("cv", "store", "--quiet", "--out", "run")
    assert len(call_json("predict", "run", "new.csv")["predictions"]) == M


def test_a_model_without_features_predicts_rows_with_gaps(file):
    call("path", file, "--target", "Ozone", "--impute", "mean", "--alphas", 5, "--quiet", "--out", "run")
    LassoPath.load("run/path.npz")[0].save("empty.json")
    for arguments in (("empty.json",), ("run", "--point", 1)):
        predicted = call_json("predict", arguments[0], "new.csv", *arguments[1:])["predictions"]
        np.testing.assert_allclose(predicted, np.full(M, NUMBERS["Ozone"].mean()), rtol=1e-12)


def test_a_model_without_means_says_how_it_gets_them(file, call_main):
    call("cv", file, "--target", "Ozone", "--drop-missing", "--quiet", "--out", "run")
    exit_code, _, stderr = call_main("predict", "run", "new.csv")
    assert exit_code == BAD_INPUT
    assert "column 'Solar.R': there is no value ('NA'); fill it: a model that was fitted with --impute mean" in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("air.csv", "--impute", "median"), "--impute must be mean or None, got 'median'"),
        (("air.csv", "--impute", "mean", "--drop-missing"), "give drop_missing or impute, not both"),
        (("rows.svm", "--drop-missing"), "--drop-missing is of tables (csv, tsv, parquet), and not of rows.svm"),
        (("rows.svm", "--impute", "mean"), "--impute is of tables (csv, tsv, parquet), and not of rows.svm"),
        (("text.csv",), "row 2, column 'kind': expected a number, found 'red'; convert the column to numbers (of cat"),
    ],
)
def test_what_is_wrong_is_named(file, tmp_path, call_main, arguments, message):
    (tmp_path / "rows.svm").write_text("1 1:2\n2 1:3\n")
    (tmp_path / "text.csv").write_text("kind,y\nred,1\n")
    exit_code, _, stderr = call_main("path", *arguments)
    assert exit_code == BAD_INPUT
    assert message in stderr


def test_a_large_file_is_not_imputed_in_memory(file, monkeypatch, call_main):
    monkeypatch.setattr(read, "LARGE_FILE", 0.0)
    exit_code, _, stderr = call_main("path", file, "--target", "Ozone", "--impute", "mean")
    assert exit_code == BAD_INPUT
    assert stderr.startswith(
        "fwlasso: --impute: air.csv is large beside the memory, and would be read once: fwlasso conv"
    )
    record = call_json("path", file, "--target", "Ozone", "--drop-missing", "--alphas", 3)
    assert record["settings"]["n_samples"] == len(NUMBERS.dropna())


# Exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["path", "cv"])
def test_a_tolerance_that_is_not_met_has_a_code(table, tmp_path, command):
    out = tmp_path / "out"
    arguments = (command, table, "--alphas", 5, "--tol", 0, "--out", out)
    result = call(*arguments, exit_code=EXIT_UNMET)
    assert "did not meet stop='gap', tol=0" in plain(result.stderr)
    assert (out / "report.html").exists()
    call(*arguments, "--resume", exit_code=EXIT_UNMET)  # the same answer, if there is nothing to do
    call(command, table, "--alphas", 5, "--tol", 1e-4, exit_code=COMPLETE)
    call(command, table, "--alphas", 5, "--tol", 0, "--time-limit", 1e-9, exit_code=INCOMPLETE)


def test_every_exit_code_is_in_the_help_and_in_the_table():
    shown = plain(call("path", "--help").stdout)
    for code in ("0 the path is complete", "2 bad input", "3 the path ended", "4 the path is complete", "130", "143"):
        assert code in shown

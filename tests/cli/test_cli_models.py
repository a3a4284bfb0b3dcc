"""The commands predict and report, and held-out data: --validation."""

import numpy as np
import pytest

from cli_cases import INCOMPLETE, NAMES, SAVED, M, P, X, Y, call, call_json, plain, predictions, write_csv, write_svm
from fwlasso import LassoPath, LinearModel
from fwlasso.datasets import write_store
from sealed_cases import plain_record


def test_test_data_choose_a_point(run):
    record = call_json("path", "table.csv", "--validation", "test.csv", "--alphas", 20)
    path = LassoPath.load(run / "path.npz")
    errors = np.mean((path.predict(X) - (Y + 0.25)[:, None]) ** 2, axis=0)
    np.testing.assert_allclose([point["validation_mse"] for point in record["points"]], errors, rtol=1e-10)
    np.testing.assert_allclose(
        [point["validation_r2"] for point in record["points"]], path.score(X, Y + 0.25), rtol=1e-10
    )
    choice = record["choice"]
    assert choice["point"] == int(np.argmin(errors))
    assert (choice["rule"], choice["criterion"]) == ("min", "mean squared error on test.csv")
    assert choice["fold_scores"] is None
    text = plain(call("path", "table.csv", "--validation", "test.csv", "--alphas", 20).stdout)
    assert f" {choice['point'] + 1} * " in text
    assert f"at point {choice['point'] + 1}, chosen by the rule min" in text
    assert "validation r2" in text
    assert sorted(file.name for file in run.iterdir()) == sorted([*SAVED, "choice.json", "model.json"])
    assert plain_record(run / "choice.json") == choice  # a folder changes no bit
    saved = LassoPath.load(run / "path.npz")
    model = LinearModel.load(run / "model.json")
    np.testing.assert_array_equal(model.dense_coef(), saved.coef(choice["point"]))
    assert set(model.feature_names) <= set(NAMES)


def test_complete_run_can_be_scored_on_other_data(run):
    write_csv(run.parent / "other.csv", y=Y - 3.0)
    arguments = ("path", "table.csv", "--alphas", 20, "--quiet", "--out", "run", "--resume")
    before = plain_record(run / "choice.json")
    call(*arguments)
    assert plain_record(run / "choice.json") == before
    call(*arguments, "--validation", "other.csv")
    assert plain_record(run / "choice.json")["criterion"] == "mean squared error on other.csv"


def test_choice_of_a_shorter_path_goes(run):
    arguments = ("path", "table.csv", "--quiet", "--out", "new")
    call(*arguments, "--validation", "test.csv", "--time-limit", 1e-9, exit_code=INCOMPLETE)
    assert (run.parent / "new" / "choice.json").exists()
    call(*arguments, "--resume")
    assert not (run.parent / "new" / "choice.json").exists()
    assert not (run.parent / "new" / "model.json").exists()
    call("report", "new", "--quiet")


def write_kinds(folder):
    """The same rows with and without a response and names; test_convert.py has files of every kind."""
    rows = [",".join(line) for line in [NAMES[::-1], *X[:, ::-1].astype(str).tolist()]]
    (folder / "order.csv").write_text("\n".join(rows) + "\n")
    np.save(folder / "bare.npy", X)
    write_svm(folder / "rows.svm")
    write_store(folder / "rows.store", X, Y, feature_names=NAMES)


def test_rows_are_predicted_by_models_of_every_kind(run):
    write_kinds(run.parent)
    model = LinearModel.load(run / "model.json")
    for kind, told in (("order.csv", set()), ("bare.npy", set()), ("rows.svm", {"r2"}), ("rows.store", {"r2"})):
        np.testing.assert_allclose(predictions("run", kind), model.predict(X), rtol=1e-12)
        assert set(call_json("predict", "run", kind)) & {"r2"} == told
    path = LassoPath.load(run / "path.npz")
    path[9].save("model.json")
    for arguments in (
        ("model.json", "bare.npy"),
        ("run", "bare.npy", "--point", "10"),
        ("run/path.npz", "bare.npy", "--point", "10"),
        ("run", "bare.npy", "--alpha", repr(float(path.alphas[9]))),
    ):
        np.testing.assert_allclose(predictions(*arguments), path[9].predict(X), rtol=1e-9, err_msg=str(arguments))


def test_scores_are_told_where_the_response_is_known(run):
    expected = LinearModel.load(run / "model.json").predict(X)
    record = call_json("predict", "run", "table.csv", "--target", "y")
    np.testing.assert_allclose(record["rmse"], np.sqrt(np.mean((Y - expected) ** 2)), rtol=1e-12)
    np.testing.assert_allclose(record["r2"], 1 - np.sum((Y - expected) ** 2) / np.sum((Y - Y.mean()) ** 2))
    result = call("predict", "run", "table.csv", "--target", "y", "--out", "p.csv")
    assert f"30 predictions of y in p.csv: r2 {record['r2']:.6g}, rmse {record['rmse']:.6g}" in plain(result.stdout)
    text = (run.parent / "p.csv").read_text().splitlines()
    assert text[0] == "prediction"
    np.testing.assert_array_equal(np.array(text[1:], dtype=np.float64), record["predictions"])
    aside = call("predict", "run", "table.csv", "--target", "y").stderr
    assert f"rmse {record['rmse']:.6g}" in plain(aside)
    assert call("predict", "run", "table.csv", "--out", "p.csv", "--quiet").output == ""


def test_report_is_made_again(run):
    (run / "report.html").unlink()
    assert "run/report.html" in call("report", "run").stdout
    assert "Lasso path: run" in (run / "report.html").read_text()
    call("report", "run/path.npz", "--out", "other.html", "--title", "Prices <2026>", "--quiet")
    assert "Prices &lt;2026&gt;" in (run.parent / "other.html").read_text()


def test_report_is_told_the_choice(run, monkeypatch):
    given = []
    monkeypatch.setattr("fwlasso.cli.model.write_report", lambda *arguments: given.append(arguments[3]))
    call("report", "run")
    call("report", "run/path.npz")
    assert given[0].record() == plain_record(run / "choice.json")
    np.testing.assert_array_equal(given[0].coef.toarray()[:, 0], LinearModel.load(run / "model.json").dense_coef())
    assert given[1] is None


def test_the_response_is_named_wherever_something_is_told(run, tmp_path):
    shown = call("cv", "table.csv", "--alphas", 5, "--out", "chosen")
    assert "response 'y'" in plain(shown.stdout.splitlines()[0])
    assert "response is 'y', the last column" in plain(shown.stderr)
    assert f"table.csv: {M} samples, {P} features, response 'y'" in plain(shown.stderr)
    assert "Response: y. 5 models" in (tmp_path / "chosen" / "report.html").read_text(encoding="utf-8")
    for arguments in (("cv", "table.csv", "--alphas", 5), ("predict", "chosen", "table.csv")):
        assert call_json(*arguments)["response"] == "y"
    another = call("path", "table.csv", "--target", "f3", "--alphas", 5)
    assert "response 'f3'" in another.stdout.splitlines()[0]
    assert "the last column" not in another.stderr


@pytest.mark.parametrize("command", ["path", "cv", "path --solver gram"])
def test_a_last_column_that_is_constant_is_told_to_be_the_response(command, tmp_path, monkeypatch):
    rows = [f"{k % 7},{k % 5},2015" for k in range(30)]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("\n".join(["a,b,year", *rows]) + "\n")
    notices = call_json(*command.split(), "t.csv", "--alphas", 3)["notices"]
    assert [text for text in notices if "'year'" in text] == [
        "t.csv: the response is 'year', the last column; --target names another of a, b, year",
        "The response 'year' is constant: there is nothing to explain, and all models are empty.",
    ]

"""The commands predict and report, and held-out data: --validation."""

import numpy as np
import pytest
import scipy.sparse as sp

from attack.storages import pack
from cli_cases import (
    INCOMPLETE,
    NAMES,
    SAVED,
    M,
    P,
    X,
    Y,
    call,
    call_json,
    plain,
    predictions,
    write_csv,
    write_svm,
)
from fwlasso import LassoPath, LinearModel
from fwlasso.datasets import write_store
from sealed_cases import plain_record

# Held-out data -----------------------------------------------------------------------------------------------


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


def test_libsvm_test_data_may_end_early(tmp_path):
    write_svm(tmp_path / "train.svm")
    (tmp_path / "test.svm").write_text("1.5 1:2\n-1 2:1 3:0.5\n")
    arguments = ("path", tmp_path / "train.svm", "--validation", tmp_path / "test.svm", "--alphas", 4)
    record = call_json(*arguments, "--out", tmp_path / "run")
    rows = np.zeros((2, P))
    rows[0, 1], rows[1, 2], rows[1, 3] = 2.0, 1.0, 0.5  # the training file counts from 0
    errors = np.mean((LassoPath.load(tmp_path / "run" / "path.npz").predict(rows) - [[1.5], [-1.0]]) ** 2, axis=0)
    np.testing.assert_allclose([point["validation_mse"] for point in record["points"]], errors, rtol=1e-9)


# Predictions -------------------------------------------------------------------------------------------------


def write_kinds(folder):
    """The same rows with and without a response and names; test_convert.py has files of every kind."""
    (folder / "bare.csv").write_text("\n".join(",".join(line) for line in [NAMES, *X.astype(str).tolist()]) + "\n")
    rows = [",".join(line) for line in [NAMES[::-1], *X[:, ::-1].astype(str).tolist()]]
    (folder / "order.csv").write_text("\n".join(rows) + "\n")
    write_svm(folder / "rows.svm")
    np.save(folder / "bare.npy", X)
    sp.save_npz(folder / "sparse.npz", sp.csr_array(X))
    write_store(folder / "rows.store", X, Y, feature_names=NAMES)


KINDS = {
    "bare.csv": False,
    "order.csv": False,
    "rows.svm": True,
    "bare.npy": False,
    "sparse.npz": False,
    "rows.store": True,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_predicted(run, kind):
    write_kinds(run.parent)
    model = LinearModel.load(run / "model.json")
    np.testing.assert_allclose(predictions("run", kind), model.predict(X), rtol=1e-12)
    record = call_json("predict", "run", kind)
    assert set(record) == {"response", "predictions", "notices"} | ({"r2", "rmse"} if KINDS[kind] else set())


def test_genotypes_are_predicted(tmp_path):
    values = np.random.default_rng(0).integers(0, 3, (20, 5)).astype(np.float64)
    y = values[:, 2] + np.arange(20) / 10
    (tmp_path / "a.bed").write_bytes(b"\x6c\x1b\x01" + pack(values).tobytes())
    (tmp_path / "a.bim").write_text("".join(f"1 rs{j} 0 {j} A G\n" for j in range(5)))
    (tmp_path / "a.fam").write_text("".join(f"F{i} I{i} 0 0 0 {y[i]}\n" for i in range(20)))
    call("path", tmp_path / "a.bed", "--alphas", 5, "--quiet", "--out", tmp_path / "run")
    found = call_json("predict", tmp_path / "run", tmp_path / "a.bed", "--point", 4)
    path = LassoPath.load(tmp_path / "run" / "path.npz")
    np.testing.assert_allclose(found["predictions"], path.predict(values, point=3), rtol=1e-12)
    assert found["r2"] > 0.0


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


def test_models_of_every_kind_predict(run):
    path = LassoPath.load(run / "path.npz")
    model = LinearModel.from_path(path, 9)
    model.save("model.json")
    write_kinds(run.parent)
    ours = model.predict(X)
    for arguments in (
        ("model.json", "bare.csv"),
        ("run", "bare.npy", "--point", "10"),
        ("run/path.npz", "bare.npy", "--point", "10"),
        ("run", "bare.npy", "--alpha", repr(float(path.alphas[9]))),
    ):
        np.testing.assert_allclose(predictions(*arguments), ours, rtol=1e-9, err_msg=str(arguments))


# Reports -----------------------------------------------------------------------------------------------------


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


def test_the_response_is_named_first_wherever_something_is_told(run, tmp_path):
    shown = call("cv", "table.csv", "--alphas", 5, "--out", "chosen")
    assert "response 'y'" in plain(shown.stdout.splitlines()[0])
    assert "response is 'y', the last column" in plain(shown.stderr)
    assert f"table.csv: {M} samples, {P} features, response 'y'" in plain(shown.stderr)
    page = (tmp_path / "chosen" / "report.html").read_text(encoding="utf-8")
    assert '<p class="lede">Response: y. 5 models' in page
    assert '<tr><th scope="row">response</th><td>y</td></tr>' in page
    for arguments in (("cv", "table.csv", "--alphas", 5), ("predict", "chosen", "table.csv")):
        record = call_json(*arguments)
        assert next(iter(record)) == "response"
        assert record["response"] == "y"
    assert "30 predictions of y" in call("predict", "chosen", "table.csv").stderr
    another = call("path", "table.csv", "--target", "f3", "--alphas", 5)
    assert "response 'f3'" in another.stdout.splitlines()[0]
    assert "the last column" not in another.stderr

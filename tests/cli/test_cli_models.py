"""The commands predict, report and cv, and held-out data: --validation."""

import contextlib
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import test_cli
from attack.storages import pack
from fwlasso import LassoPath, LinearModel, lasso_path
from fwlasso.datasets import write_store
from sealed_cases import plain_record
from test_cli import BAD_INPUT, COMPLETE, INCOMPLETE, KEPT, NAMES, X, Y, call, call_json, plain, write_csv, write_svm

call_main = test_cli.call_main
_wide_and_colourless = test_cli._wide_and_colourless
M, P = X.shape


@pytest.fixture(scope="module")
def folder_of_a_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with contextlib.chdir(folder):
        write_csv(folder / "table.csv")
        write_csv(folder / "test.csv", y=Y + 0.25)
        call("path", "table.csv", "--validation", "test.csv", "--alphas", 20, "--quiet", "--out", "run")
    return folder


@pytest.fixture
def run(folder_of_a_run, tmp_path, monkeypatch):
    """A copy of a run with a chosen model, in the present folder, and its files."""
    shutil.copytree(folder_of_a_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


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
    assert sorted(file.name for file in run.iterdir()) == sorted([*KEPT, "choice.json", "model.json"])
    assert plain_record(run / "choice.json") == choice  # a folder changes no bit
    kept = LassoPath.load(run / "path.npz")
    model = LinearModel.load(run / "model.json")
    np.testing.assert_array_equal(model.dense_coef(), kept.coef(choice["point"]))
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
    call(
        "path",
        "table.csv",
        "--validation",
        "test.csv",
        "--time-limit",
        1e-9,
        "--quiet",
        "--out",
        "new",
        exit_code=INCOMPLETE,
    )
    assert (run.parent / "new" / "choice.json").exists()
    call("path", "table.csv", "--quiet", "--out", "new", "--resume")
    assert not (run.parent / "new" / "choice.json").exists()
    assert not (run.parent / "new" / "model.json").exists()
    call("report", "new", "--quiet")


def test_chosen_point_is_marked(run):
    text = call("path", "table.csv", "--validation", "test.csv", "--alphas", 60).stdout
    chosen = call_json("path", "table.csv", "--validation", "test.csv", "--alphas", 60)["choice"]["point"]
    assert f" {chosen + 1} * " in text
    assert f"at point {chosen + 1}, chosen by the rule min" in plain(text)
    assert "validation r2" in text


def test_verbose_shows_all_points(run):
    text = call("path", "table.csv", "--alphas", 30, "--verbose").stdout
    for point in range(1, 31):
        assert re.search(rf"^ +{point} .*certified", text, re.MULTILINE)
    assert "solver=certified" in plain(text)


def test_libsvm_test_data_may_end_early(tmp_path):
    write_svm(tmp_path / "train.svm")
    (tmp_path / "test.svm").write_text("1.5 1:2\n-1 2:1 3:0.5\n")
    arguments = ("path", tmp_path / "train.svm", "--validation", tmp_path / "test.svm", "--alphas", 4)
    record = call_json(*arguments, "--out", tmp_path / "run")
    rows = np.zeros((2, P))
    rows[0, 1], rows[1, 2], rows[1, 3] = 2.0, 1.0, 0.5  # the training file counts from 0
    errors = np.mean((LassoPath.load(tmp_path / "run" / "path.npz").predict(rows) - [[1.5], [-1.0]]) ** 2, axis=0)
    np.testing.assert_allclose([point["validation_mse"] for point in record["points"]], errors, rtol=1e-9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"f0,y\n1,2\n", "there is no column 'f1'"),
        (b"f0,f1,f2,f3,f4,f5,f6,f7,z\n1,2,3,4,5,6,7,8,9\n", "there is no column 'y'"),
        (b"f0,f1,f2,f3,f4,f5,f6,f7,y\n1,2,3,4,5,6,7,8,x\n", "row 2, column 'y': expected a number, found 'x'"),
        (None, "no such file"),
    ],
)
def test_test_data_that_do_not_fit_end_with_a_line(run, call_main, content, message):
    if content is not None:
        (run.parent / "other.csv").write_bytes(content)
    exit_code, stdout, stderr = call_main("path", "table.csv", "--validation", "other.csv", "--out", "new")
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert message in stderr
    assert not (run.parent / "new").exists()


# Predictions -------------------------------------------------------------------------------------------------


def predictions(*arguments):
    header, *rows = call("predict", *arguments).stdout.splitlines()
    assert header == "prediction"
    return np.array(rows, dtype=np.float64)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nothing table.csv", "nothing: no such model"),
        ("run nothing.csv", "nothing.csv: no such file"),
        ("run table.xls", "table.xls: the ending"),
        ("plain table.csv", "plain holds a path of 5 models, and none was chosen: give --point or --alpha"),
        ("empty table.csv", "empty: no such run, or nothing is solved in it yet: there is no path.npz"),
        ("run table.csv --point 0", "--point must be from 1 to 20, got 0"),
        ("run table.csv --point 21", "--point must be from 1 to 20, got 21"),
        ("run table.csv --point x", "--point"),
        ("run table.csv --alpha 1e9", "outside the path"),
        ("run table.csv --point 1 --alpha 1", "--point or --alpha, not both"),
        ("run/model.json table.csv --point 1", "holds one model"),
        ("run table.csv --target zz", "there is no column 'zz'"),
        ("run few.csv", "few.csv: there is no column"),
        ("run few.npy", "few.npy: X has 3 features, the model was fitted with 8"),
        ("bad.json table.csv", "bad.json: not a fwlasso-model"),
        ("bad.onnx table.csv", "bad.onnx: a model in ONNX is for other programs: in Python, onnxruntime"),
        (
            "bad.pkl table.csv",
            "bad.pkl: a pickle runs any code that is in it, and is not opened here: in Python",
        ),
        ("bad.npz table.csv --point 1", "bad.npz: not a fwlasso-path"),
        ("table.csv table.csv", "a model is a run, or ends in"),
        ("broken table.csv", "model.json: not a fwlasso-model"),
        ("run table.csv --out no/p.csv", "no/"),
        ("run", "Missing argument 'DATA'"),
    ],
)
def test_bad_prediction_ends_with_a_line(run, call_main, arguments, message):
    folder = run.parent
    call("path", "table.csv", "--alphas", 5, "--quiet", "--out", "plain")
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "model.json").write_text("{}")
    (folder / "few.csv").write_text("f1,f2,f3\n1,2,3\n")
    np.save(folder / "few.npy", X[:, :3])
    for name in ("bad.json", "bad.onnx", "bad.pkl", "bad.npz", "table.xls"):
        (folder / name).write_bytes(b"bad")
    exit_code, stdout, stderr = call_main("predict", *arguments.split())
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert stderr.startswith("fwlasso: ")
    assert message in stderr


def test_full_disk_ends_with_a_line(run, call_main, monkeypatch):
    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fwlasso.datasets.compressed.replacing", full)
    exit_code, _, stderr = call_main("path", "table.csv", "--quiet", "--out", "full")
    assert exit_code == BAD_INPUT
    assert stderr == "fwlasso: [Errno 28] No space left on device"


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nothing", "nothing: no such run"),
        ("table.csv", "table.csv: not a fwlasso-path"),
        ("run --out no/r.html", "no/r.html"),
        ("torn", "choice.json: not a fwlasso-choice"),
        ("other", "choice.json: it does not belong to the path"),
    ],
)
def test_bad_report_ends_with_a_line(run, call_main, arguments, message):
    for name, text in (("torn", "{"), ("other", (run / "choice.json").read_text())):
        call("path", "table.csv", "--alphas", 5, "--quiet", "--out", name)
        (run.parent / name / "choice.json").write_text(text)
        (run.parent / name / "model.json").write_text((run / "model.json").read_text())
    exit_code, stdout, stderr = call_main("report", *arguments.split())
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert message in stderr


def test_report_of_a_run_without_a_path_tells_what_helps(run, call_main):
    (run / "path.npz").unlink()  # as of a process that was killed
    lasso_path(np.eye(4), np.arange(4.0), alphas=3, checkpoint="kept")
    for folder in ("run", "kept"):
        exit_code, stdout, stderr = call_main("report", folder)
        assert (exit_code, stdout) == (BAD_INPUT, "")
        assert stderr.startswith(f"fwlasso: {folder}: the run in it is complete, and has no path.npz yet")
        assert "with --resume or, where lasso_path(checkpoint=...)" in " ".join(stderr.split())


# Help and completion -----------------------------------------------------------------------------------------

COMMANDS = ("path", "cv", "predict", "report", "convert", "info", "verify", "demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_codes(command):
    text = plain(call(command, "--help").stdout)
    assert "For example: fwlasso " + command in text
    assert "Exit codes: 0 " in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [("fwlasso p", {"path", "predict"}), ("fwlasso path --solver a", {"afw"})],
)
def test_shell_completion(line, expected):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_FWLASSO_COMPLETE": "complete_bash"}
    program = "import sys; sys.argv[0] = 'fwlasso'; from fwlasso.cli.app import app; app(prog_name='fwlasso')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False, env={**os.environ, **words}
    )
    assert set(done.stdout.split()) == expected, done.stderr


def test_completion_script_is_shown():
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fwlasso", "--show-completion", "bash"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert done.returncode == COMPLETE, done.stderr
    assert "COMP_WORDS" in done.stdout


@pytest.mark.parametrize("n_signs", [40, 60, 80])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_digit_of_a_table_is_cut_off(run, monkeypatch, n_signs, is_terminal):
    monkeypatch.setenv("COLUMNS", str(n_signs))
    monkeypatch.setenv("TTY_COMPATIBLE", str(int(is_terminal)))
    arguments = ("path", "table.csv", "--validation", "test.csv", "--alphas", 7)
    text = re.sub(r"\x1b\[[0-9;]*m", "", call(*arguments).stdout)
    assert "…" not in text
    rows = [line.split() for line in text.replace(" *", "").splitlines() if re.match(r" +\d+ ", line)]
    for row, point in zip(rows, call_json(*arguments)["points"], strict=True):
        assert row[-2:] == [f"{point[name]:.4g}" for name in ("validation_mse", "validation_r2")]
        assert is_terminal or len(row) == 10


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

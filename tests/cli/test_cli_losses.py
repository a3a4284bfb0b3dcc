"""Classes and counts on the command line."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from fwlasso import LassoPath, LinearModel
from fwlasso.cli.app import app


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def files(rng, tmp_path):
    X = rng.standard_normal((60, 20))
    y = (rng.random(60) < 1.0 / (1.0 + np.exp(-X[:, :3] @ [2.0, -1.0, 1.0]))).astype(int)
    dump_svmlight_file(X[:40], y[:40], str(tmp_path / "train.svm"))
    dump_svmlight_file(X[40:], y[40:], str(tmp_path / "test.svm"))
    return tmp_path / "train.svm", tmp_path / "test.svm", X, y


def test_a_classifier_from_a_file_to_its_predictions(files, tmp_path):
    train, test, X, y = files
    out = tmp_path / "run"
    run("path", train, "--loss", "logistic", "--alphas", 6, "--eps", 0.3, "--validation", test, "--out", out, "-q")
    path, model = LassoPath.load(out / "path.npz"), LinearModel.load(out / "model.json")
    assert (path.loss, path.classes, model.classes) == ("logistic", (0.0, 1.0), (0.0, 1.0))
    told = json.loads(run("predict", out, test, "--json"))
    np.testing.assert_allclose(told["probabilities"], model.predict_proba(X[40:])[:, 1], atol=1e-6)
    assert (told["predictions"], told["classes"]) == (model.predict(X[40:]).tolist(), [0, 1])
    assert told["accuracy"] == pytest.approx(np.mean(model.predict(X[40:]) == y[40:]))
    assert {"d2", "deviance", "auc", "log_loss"} <= told.keys()
    head, first, *_ = run("predict", out, test).splitlines()
    assert (head, first.split(",")[0]) == ("prediction,probability", str(told["predictions"][0]))
    page = (out / "report.html").read_text()
    assert "Deviance explained" in page
    assert "half the null deviance" in page
    assert "<h2>ROC curve</h2>" in page


def test_two_values_without_a_loss_get_a_hint(files):
    train = files[0]
    assert "--loss logistic is" in run("path", train, "--alphas", 2)
    told = run("path", train, "--loss", "logistic", "--alphas", 2)
    assert "not classification" not in told
    assert "D2" in told
    assert "R2" not in told
    assert "(odds ratio " in told


def test_a_run_keeps_the_pictures_of_its_choice(files, tmp_path):
    out = tmp_path / "run"
    grid = "--alphas", 5, "--eps", 0.3, "--l1-ratio", "0.5,0.9"
    asked = "--loss", "logistic", "--scoring", "roc_auc", "--folds", 3, "--shuffle", *grid
    assert "classes 0 and 1: coefficients are of the odds of 1" in run("cv", files[0], *asked, "--out", out)
    page = (out / "report.html").read_text()
    assert page.count("<h2>ROC curve</h2>") == page.count("<h2>Calibration</h2>") == 1
    (out / "report.html").unlink()
    run("report", out)
    assert (out / "report.html").read_text().split("<h2>")[1:] == page.split("<h2>")[1:]
    choice = json.loads((out / "choice.json").read_text())
    assert (choice["criterion"], choice["pictures"][0]["title"]) == ("roc_auc", "ROC curve")

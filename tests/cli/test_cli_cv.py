"""The command ``fwlasso cv``: what it saves and goes on with."""

import dataclasses

import numpy as np
import pytest
from sklearn.model_selection import KFold

from cli_cases import INCOMPLETE, NAMES, X, Y, call, call_json, plain, predictions, write_csv
from fwlasso import LassoCV, LassoPath, LinearModel, Status, lasso_cv
from fwlasso.selection.cross_validation import cross_validate
from sealed_cases import plain_record


@pytest.fixture
def asked(monkeypatch):
    """What `cross_validate` is asked for."""
    settings = {}

    def note(X, y, options, selection):
        settings.update(vars(options[0]) | vars(selection))
        return cross_validate(X, y, options, selection)

    monkeypatch.setattr("fwlasso.cli.cv.cross_validate", note)
    return settings


def test_cv_keeps_path_choice_model_and_report(run, asked):
    options = ("--rule", "1se", "--folds", 3, "--relax", "--alphas", 10, "--standardize", "--out", "chosen")
    text = plain(call("cv", "table.csv", *options, "--seed", 7, "--threads", 1).stdout)
    expected = {"cv": 3, "rule": "1se", "relax": True, "validation": None, "alphas": 10, "standardize": True}
    expected |= {"fit_intercept": True, "random_state": 7, "n_threads": 1, "tol": None}
    assert {name: asked[name] for name in expected} == expected
    folder = run.parent / "chosen"
    results = ["choice.json", "model.json", "path.npz", "path.png", "report.html"]
    assert sorted(file.name for file in folder.iterdir()) == [*results, "segments", "settings.json", "subsets"]
    assert sorted(fold.name for fold in (folder / "subsets").iterdir()) == ["1", "2", "3"]
    choice = plain_record(folder / "choice.json")
    assert choice["rule"] == "1se"
    score = choice["scores"][choice["point"]]
    assert f"mean squared error: {score:.6g} at point {choice['point'] + 1}, chosen by the rule 1se" in text
    path = LassoPath.load(folder / "path.npz")
    assert path.feature_names == NAMES
    model = lasso_cv(X, Y, cv=3, rule="1se", relax=True, alphas=10, standardize=True).choice
    np.testing.assert_allclose(
        predictions("chosen", "table.csv"), X @ model.coef.toarray().ravel() + model.intercept, rtol=1e-9
    )


def test_cv_with_held_out_data(run, asked):
    call("cv", "table.csv", "--alphas", 5, "--quiet", "--validation", "test.csv")
    held_out_x, held_out_y, *_ = asked["validation"]
    np.testing.assert_array_equal(held_out_x, X)
    np.testing.assert_array_equal(held_out_y, Y + 0.25)
    call("cv", "table.csv", "--alphas", 5, "--quiet", "--validation", 0.25)
    assert asked["validation"] == 0.25


def held_out(pairs):
    return [test.tolist() for _, test in pairs]


def test_folds_that_are_drawn(run, asked):
    order = np.argsort(Y)
    write_csv(run.parent / "sorted.csv", x=X[order], y=Y[order])
    assert "--shuffle" in plain(call("cv", "sorted.csv", "--alphas", 5).stderr)
    assert any("--shuffle" in notice for notice in call_json("cv", "sorted.csv", "--alphas", 5)["notices"])
    quiet = ("cv", "sorted.csv", "--alphas", 5, "--folds", 3)
    assert "Neighbouring" not in plain(call(*quiet, "--shuffle", "--seed", 4).stderr)
    assert held_out(asked["cv"]) == held_out(KFold(3, shuffle=True, random_state=4).split(X))
    for more in ((), ("--shuffle",)):
        call(*quiet, "--stratify", *more, "--quiet")
        for rows in held_out(asked["cv"]):  # of three neighbours in the order of the responses, each fold has one
            assert [row // 3 for row in rows] == list(range(10))
    (run.parent / "labels.txt").write_text("\n".join("abcde"[k % 5] for k in range(len(Y))) + "\n")
    for more in ((), ("--shuffle",), ("--stratify",)):
        call(*quiet, "--groups", "labels.txt", *more, "--quiet")
        found = held_out(asked["cv"])
        assert sorted(k for rows in found for k in rows) == list(range(len(Y)))
        assert sum(len({k % 5 for k in rows}) for rows in found) == 5  # none is in two folds


def test_cv_that_ends_early_keeps_what_it_has(run, monkeypatch):
    def without_last_fold(X, y, options, selection):
        found = cross_validate(X, y, options, selection)
        last = dataclasses.replace(found.fold_paths[-1], ending=Status.TIMED_OUT)
        return dataclasses.replace(found, fold_paths=(*found.fold_paths[:-1], last))

    monkeypatch.setattr("fwlasso.cli.cv.cross_validate", without_last_fold)
    result = call("cv", "table.csv", "--alphas", 5, "--out", "early", exit_code=INCOMPLETE)
    assert "chosen from the solved points" in plain(result.stderr)
    assert (run.parent / "early" / "model.json").is_file()


@pytest.mark.parametrize(
    "options",
    ["--folds 3 --rule 1se", "--rule bic", "--relax --standardize", "--validation 0.25", "--validation test.csv"],
)
def test_cv_as_it_is(run, options):
    call("cv", "table.csv", "--alphas", 10, *options.split(), "--quiet", "--out", "chosen")
    model = LinearModel.load(run.parent / "chosen" / "model.json")
    np.testing.assert_allclose(predictions("chosen", "table.csv"), model.predict(X), rtol=1e-12)
    choice = plain_record(run.parent / "chosen" / "choice.json")
    assert (len(choice["scores"]), choice["rule"]) == (
        10,
        "bic" if "bic" in options else "1se" if "1se" in options else "min",
    )
    call("report", "chosen", "--quiet")
    record = call_json("cv", "table.csv", "--alphas", 10, *options.split())
    (column,) = [name for name in record["points"][0] if name == choice["criterion"].replace(" ", "_")]
    assert [point[column] for point in record["points"]] == choice["scores"]
    assert record["choice"].items() <= choice.items()  # a folder changes no bit


def test_cv_overwrites_when_told(run):
    call("cv", "table.csv", "--alphas", 5, "--quiet", "--out", "run", "--overwrite")
    assert len(LassoPath.load(run / "path.npz")) == 5
    call("path", "table.csv", "--alphas", 6, "--quiet", "--out", "run", "--overwrite")
    assert not (run / "subsets").exists()
    assert not (run / "model.json").exists()


def test_cv_goes_on_with_a_path_and_chooses_again(run):
    call("path", "table.csv", "--alphas", 10, "--quiet", "--out", "begun")
    segments = {file: file.stat().st_mtime_ns for file in (run.parent / "begun" / "segments").iterdir()}
    points = []
    for rule in ("min", "1se"):
        record = call_json("cv", "table.csv", "--alphas", 10, "--rule", rule, "--out", "begun", "--resume")
        points.append(record["choice"]["point"])
        kept = plain_record(run.parent / "begun" / "choice.json")
        assert (kept["rule"], kept["point"]) == (rule, points[-1])
    assert points[1] <= points[0]
    assert {file: file.stat().st_mtime_ns for file in segments} == segments


def test_a_refitted_model_has_the_same_numbers_everywhere(run):
    options = ("table.csv", "--relax", "--folds", 3, "--alphas", 10, "--standardize")
    text = call("cv", *options, "--out", "chosen").stdout
    record = call_json("cv", *options, "--out", "chosen", "--resume")
    folder = run.parent / "chosen"
    choice = plain_record(folder / "choice.json")
    assert choice["blend"] < 1.0
    assert record["choice"].items() <= choice.items()
    model, path = LinearModel.load(folder / "model.json"), LassoPath.load(folder / "path.npz")
    scaled = model.coefs * np.sqrt(((X - X.mean(axis=0)) ** 2).mean(axis=0))[model.indices]
    r2 = 1.0 - ((Y - model.predict(X)) ** 2).sum() / ((Y - Y.mean()) ** 2).sum()
    assert abs(r2 - path.r2[choice["point"]]) > 1e-4  # another model than that of the path
    assert (choice["r2"], choice["radius"]) == pytest.approx((r2, np.abs(scaled).sum()), rel=1e-9)
    point = record["points"][choice["point"]]
    expected = {"r2": choice["r2"], "radius": choice["radius"], "n_active": len(model.coefs), "gap": None}
    assert {name: point[name] for name in expected} == expected
    assert call_json("predict", "chosen", "table.csv", "--target", "y")["r2"] == pytest.approx(choice["r2"], rel=1e-9)
    (row,) = [line.split() for line in text.splitlines() if line.split()[1:2] == ["*"]]
    assert [row[2], *row[4:7]] == [f"{choice['radius']:.4g}", str(len(model.coefs)), f"{choice['r2']:.4f}", "-"]
    assert f"mean squared error (blend {choice['blend']:g})" in text
    strongest = [f"{NAMES[model.indices[k]]} {scaled[k]:+.3g}" for k in np.argsort(-np.abs(scaled))[:5]]
    assert f"largest scaled coefficients of the chosen model: {', '.join(strongest)}" in text
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<dd>{choice['r2']:.3f}</dd><dd class=note>l1 norm {choice['radius']:.4g}</dd>" in page
    assert f"<td>{choice['radius']:.4g}</td>" in page
    assert LassoCV(relax=True, cv=3, alphas=10, standardize=True).fit(X, Y).radius_ == pytest.approx(choice["radius"])

"""The report as a file: what scripts are told, and the call. What is shown is for a browser: test_report_page.py."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import AdaptiveRule, CrossValidation, Lasso, LassoCV, LinearModel, Status, lasso_cv, lasso_path
from fwlasso.report import write_report
from fwlasso.report.call import call_text
from made_paths import M, P, choose, make_data, solve, synthetic_path


@pytest.fixture(scope="module")
def path():
    return solve()


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    """Programs of runs make folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("made")))


@pytest.fixture
def report(tmp_path):
    def read(path, **options):
        write_report(path, tmp_path / "report.html", **options)
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return read


def data_of(page):
    """What the scripts of the page are told."""
    (text,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.mark.parametrize("name", ["\udc80", "\x00", "\u2028", "</script>", "<!--"])
def test_names_that_are_no_text_do_no_harm(report, path, name):
    page = report(replace(path, feature_names=(name,) * P), title=name)
    assert data_of(page)["traces"][0]["name"] == name


@pytest.mark.long
@pytest.mark.parametrize(("p", "n_points", "n_active"), [(635_376, 100, 2_500), (20_000, 1_000, 1_500)])
def test_report_of_a_large_path_is_small(report, rng, p, n_points, n_active):
    path = synthetic_path(p, n_points, n_active, rng)
    page = report(path, choice=choose(path, 60))
    data = data_of(page)
    assert len(page) < 5e6
    assert 100 < len(data["traces"]) <= 2_000
    assert data["everActive"] == n_active
    strength = np.sort(np.abs(path.scaled_coefs).max(axis=1).toarray())[::-1]
    weakest = np.abs(data["traces"][-1]["values"]).max()
    assert weakest == pytest.approx(strength[len(data["traces"]) - 1], rel=1e-6)


def test_no_matplotlib_is_needed(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = sys.modules['pandas'] = None\n"
        "import numpy as np, fwlasso, fwlasso.report\n"
        "path = fwlasso.lasso_path(np.eye(4), np.arange(4.0), alphas=3)\n"
        f"fwlasso.report.write_report(path, {str(tmp_path / 'report.html')!r})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert "</html>" in (tmp_path / "report.html").read_text()


def test_chosen_feature_that_was_never_active_has_no_scaled_coefficient(report, path):
    strange = sp.csc_array(([1.5], ([P - 1], [0])), shape=(P, 1))
    early = replace(path, **{name: getattr(path, name)[:, :2] for name in ("coefs", "scaled_coefs")})
    assert P - 1 not in early.coefs.indices
    short = replace(early, statuses=path.statuses[:2], **{k: getattr(path, k)[:2] for k in ("gaps", "r2", "radii")})
    page = report(short, choice=replace(choose(short, 1, blend=0.0), coef=strange))
    assert f'<tr><td>{P - 1}</td><td>{P - 1}</td><td data-full="1.5">1.5</td><td>-</td></tr>' in page


def test_the_choice_of_another_path_is_refused(report, path):
    few = replace(choose(path, 3), coef=path.coefs[:-1, [3]])
    others = few, choose(solve(radii=6), 3), choose(solve(y=np.arange(float(M))), 3), replace(choose(path, 3), point=2)
    for other in others:
        with pytest.raises(ValueError, match=r"^choice must be that of a point of this path"):
            report(path, choice=other)


def test_what_holds_a_path_and_a_choice_stands_for_both(report, path):
    X, y = make_data()
    estimator = LassoCV(alphas=9, rule="bic", eps=None)
    with pytest.raises(TypeError, match=r"^path must be a LassoPath, the result of lasso_cv or a fitted LassoCV, got"):
        report(estimator)
    found = lasso_cv(X, y, alphas=9, rule="bic")
    pages = report(found.path, choice=found.choice), report(found), report(found.path, choice=found)
    pages += (report(found, choice=found.choice), report(estimator.fit(X, y)))
    assert [data_of(page)["scores"] for page in pages] == [data_of(pages[0])["scores"]] * 5
    assert data_of(pages[0])["home"]["chosen"]
    for wrong in (found.choice, Lasso(), "path.npz", None):
        with pytest.raises(TypeError, match=rf"^path must be .*, got {type(wrong).__name__}"):
            report(wrong)
    with pytest.raises(TypeError, match=r"^choice must be .*, got int"):
        report(path, choice=3)
    with pytest.raises(ValueError, match=r"^choice must be that of a point of this path"):
        report(path, choice=CrossValidation(found.path, found.choice))


@pytest.mark.parametrize(("n_folds", "name"), [(5, "cross-validated r2"), (1, "held-out r2")])
def test_r2_of_the_choice_is_told_from_that_of_the_fit(report, path, n_folds, name):
    choice = choose(path, 2)
    scored = replace(choice, criterion="r2", greater_is_better=True, fold_scores=choice.fold_scores[:, :n_folds])
    page = report(path, choice=scored)
    assert data_of(page)["scores"]["criterion"] == name
    assert f'<th scope="col">{name}</th>' in page


def test_compiling_is_not_solving(report, path):
    compiled = replace(path, counters=replace(path.counters, seconds={"setup": 0.25, "compile": 12.0, "solve": 0.5}))
    page = report(compiled)
    assert "<dt>Solving time</dt><dd>0.75 s</dd>" in page
    assert "compiling, once, took another 12 s" in page
    assert "0.750 s, 12.0 s compiling>" in repr(compiled)
    assert "compiling" not in repr(replace(compiled, counters=replace(path.counters, seconds={"solve": 0.5})))


def test_certified_is_said_in_plain_words(report, path):
    proof = "certified: it is proved, over all features, that no other coefficients improve the objective"
    assert f"Every model is {proof}" in report(path)
    assert f"6 of 7 are {proof}" in report(replace(path, statuses=(Status.STALLED, *path.statuses[1:])))
    assert "certified:" not in report(solve(solver="sfw", stop="change", certify=False))


WORDS = {
    "": {},
    "sample weights; an offset": {"is_weighted": True, "has_offset": True},
    "an elastic net penalty (l1_ratio 0.5)": {"l1_ratio": 0.5},
    "a ridge penalty of 0.25; penalty factors from 0.5 to 3": {"ridge": 0.25, "factors": "0.5 to 3"},
    "no penalty on 'a1', 'a3'": {"unpenalized_columns": [1, 3], "unpenalized": "['a1', 'a3']"},
    "excluded columns (2 columns: 'a1', 'a2')": {"excluded": "2 columns: 'a1', 'a2'"},
    "nonnegative coefficients": {"n_bounded": 12, "positive": True},
    "bounds on 1,200 coefficients": {"n_bounded": 1200, "lower": -1.0},
}


@pytest.mark.parametrize("words", WORDS)
def test_what_is_beside_the_lasso_is_told_in_words(report, path, words):
    names = tuple(f"a{j}" for j in range(P))
    page = unescape(report(replace(path, settings=path.settings | WORDS[words], feature_names=names)))
    assert (f" The problem has {words}. " in page) == bool(words)
    assert (f'<tr><th scope="row">problem</th><td>{words}</td></tr>' in page) == bool(words)
    left = "the variation of the response that the columns without a penalty leave"
    assert (f"% of {left}, and R² is the share of that." in page) == ("no penalty" in words)
    assert page.count("relative to ½ ‖y‖².") == 2 * ("no penalty" not in words)
    assert page.count(f"relative to {left}.") == 2 * ("no penalty" in words)
    assert "relative to half the null deviance." in unescape(
        report(replace(path, settings=path.settings | {"loss": "poisson"}))
    )


GEOMETRIC = np.geomspace(2.0, 0.01, 9)
CALLS = {
    "radii": {},
    "alphas": {"alphas": 9, "radii": None, "eps": 0.2, "standardize": True, "tol": 1e-7},
    "values": {"radii": [0.5, 1.0, 3.0], "fit_intercept": False},
    "from zero": {"radii": [0.0, 1.0, 3.0]},
    "one": {"radii": None, "alphas": [0.2]},
    "geometric": {"radii": None, "alphas": GEOMETRIC},
    "nearly so": {"radii": None, "alphas": GEOMETRIC * (1.0 + 1e-15)},
    "draws": {"solver": "sfw", "sample_size": 5, "block_size": 1, "random_state": 7},
    "draws, away steps": {"solver": "afw", "sample_size": 5, "random_state": 7},
    "draws, alphas": {"solver": "sfw", "radii": None, "alphas": 4, "random_state": np.int64(3)},
    "the paper's": {"solver": "fw", "variant": "paper"},
    "draws, segments": {"solver": "sfw", "sample_size": 4, "random_state": 3, "checkpoint": "run"},
    "change": {"solver": "cd", "radii": None, "alphas": 4, "stop": "change", "certify": False},
    "segments": {"radii": None, "alphas": 4, "checkpoint": "run"},
    "factors": {
        "radii": None,
        "alphas": 4,
        "penalty_factor": {3: 2.5, 5: np.inf},
        "unpenalized": (1,),
        "max_active": 6,
    },
    "bounds": {"radii": None, "alphas": 4, "lower": -1.5, "upper": {0: 2.0, 3: np.inf}, "l1_ratio": 0.5},
    "bounds by column": {"radii": None, "alphas": 4, "lower": np.linspace(-3.0, 0.0, M)[:P], "positive": False},
    "ridge, signs": {"ridge": 0.25, "positive": True},
    "weights and an offset": {"sample_weight": np.arange(M) % 3.0, "offset": np.linspace(0.0, 1.0, M)},
}


@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        ({"solver": "sfw", "sample_size": AdaptiveRule(at_least=9, at_most=0.1)}, f"9 of {P}"),
        ({"solver": "sfw"}, f"{P} of {P}"),
        ({"solver": "afw", "sample_size": 0.5}, f"{P // 2} of {P}"),
        ({"solver": "afw"}, None),
        ({}, None),
    ],
)
def test_how_many_columns_a_step_looks_at_is_a_number(report, settings, columns):
    """A share has a least number of columns, and a rule is only a formula."""
    page = unescape(report(solve(radii=2, random_state=0, **settings)))
    assert ("columns of the first step" in page) == (columns is not None)
    assert columns is None or f"<td>{columns}</td>" in page


@pytest.mark.parametrize("case", CALLS)
def test_call_computes_the_same_path_again(report, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    path = solve(**CALLS[case])
    text = call_text(path)
    assert text in unescape(report(path))
    names = dict(zip("Xy", make_data(), strict=True)) | CALLS[case]
    exec(text, names)
    again = names["path"]
    np.testing.assert_array_equal(names["model"].dense_coef(), again.coef(-1))
    np.testing.assert_allclose(again.coefs.toarray(), path.coefs.toarray(), rtol=1e-9, atol=1e-9)
    assert again.statuses == path.statuses
    different = dict.fromkeys(("seed", "eps", "random_state"))
    assert again.settings | different == path.settings | different
    assert {file.name for file in tmp_path.iterdir()} <= {"report.html", "run"}  # the folder of a call is another


@pytest.mark.parametrize(
    "settings",
    [{"relax": True}, {"relax": True, "standardize": True, "checkpoint": "run"}, {"rule": "1se", "checkpoint": "run"}],
)
@pytest.mark.filterwarnings("ignore:The mean squared error is best at the last point")
def test_call_gives_the_chosen_model_again(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_data()
    y = y + 3.0 * np.random.default_rng(2).standard_normal(M)
    found = lasso_cv(X, y, alphas=9, random_state=0, **settings)
    assert (found.choice.blend < 1.0) == ("relax" in settings)
    names = {"X": X, "y": y}
    exec(call_text(found.path, found.choice), names)
    model = LinearModel.from_choice(found.choice)
    np.testing.assert_allclose(names["model"].dense_coef(), model.dense_coef(), rtol=1e-9)
    assert names["model"].intercept == pytest.approx(model.intercept, rel=1e-9)


@pytest.mark.parametrize("grid", ["alphas", "radii"])
@pytest.mark.filterwarnings("ignore:The path has 56 of 100 points")
def test_call_gives_the_model_of_a_path_that_was_ended_early(rng, grid):
    X = np.asfortranarray(rng.standard_normal((80, 300)))
    y = X[:, :5] @ [3.0, -2.0, 1.0, 1.0, -1.0] + rng.standard_normal(80)
    path = lasso_path(X, y, **{grid: 100}, callback=lambda now: now.done and now.point == 55)
    names = {"X": X, "y": y}
    exec(call_text(path), names)
    np.testing.assert_array_equal(names["model"].dense_coef(), path.coef(-1))
    assert (len(path), len(names["path"]), path.settings["points"]) == (56, 100, 100)


def test_what_cannot_be_made_again_is_told_of_or_left_out():
    told = "# The columns were drawn without a seed"
    for solver in ("sfw", "certified"):
        text = call_text(solve(solver=solver, random_state=None))
        assert (told in text) == (solver == "sfw")
        compile(text, "call", "exec")
    text = call_text(solve(solver="sfw", sample_size=lambda p, n_active: 5))
    assert told not in text
    assert "sample_size" not in text
    compile(text, "call", "exec")

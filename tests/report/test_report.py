"""The text of the report; what is shown of it, and how it is steered, is for a browser: test_report_page.py."""

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import CrossValidation, Lasso, LassoCV, LinearModel, Status, lasso_cv, lasso_path
from fwlasso.report import write_report
from fwlasso.report.call import call_text
from fwlasso.report.page import point_rows
from made_paths import M, P, choose, make_data, solve, synthetic_path

VOID = {"meta", "br", "hr", "img", "input", "link"}
NASTY = ("<b>&", "</td></tr></table>", "--><script>alert(1)</script>", "\"quoted\" & 'so'", "&amp;", "größe")


@pytest.fixture(scope="module")
def path():
    return solve()


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    """Programs of runs make folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("made")))


class Page(HTMLParser):
    """Tags must be closed in order; cells of tables, in full, and texts are collected."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.tables, self.texts = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.full = dict(attrs).get("data-full")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += self.full or data
        elif self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.fixture
def report(tmp_path):
    def read(path, **options):
        write_report(path, tmp_path / "report.html", **options)
        return Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    return read


def tables_of(page):
    """The summary as a dict, the features of the model and the points as rows without their header."""
    features, points, summary = page.tables
    return dict(summary), features[1:], points[1:]


def data_of(page):
    """What the scripts of the page are told."""
    (text,) = [text for text in page.texts["script"] if text.startswith("{")]
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_tables_tell_what_was_done(report, path):
    page = report(path)
    summary, _, points = tables_of(page)
    assert [tuple(row) for row in points] == point_rows(path, range(7))
    for k, row in enumerate(points):
        numbers = [path.radii[k], path.alphas[k], path.n_active[k], path.r2[k], path.gaps[k]]
        assert [float(cell) for cell in row[1:6]] == pytest.approx(numbers, rel=0.06, abs=1e-4)
        assert (row[0], row[6:]) == (str(k + 1), [str(path.counters.iterations[k]), path.statuses[k].value])
    expected = {
        "data": f"{M} samples, {P} features",
        "path": "7 points; complete",
        "points": path.summary_of_statuses(),
        "iterations": f"{path.counters.iterations.sum():,}",
        "dot products": f"{path.counters.dot_products:,}",
        "features ever active": str(np.unique(path.coefs.indices).size),
        "solver": "certified",
    }
    assert expected.items() <= summary.items()
    assert float(summary["largest gap"]) == pytest.approx(path.gaps.max(), rel=0.01)
    assert list(path.counters.seconds) == [part.split()[0] for part in summary["seconds"].split(", ")]
    for setting in ("solver=certified", "stop=gap", "tol=0.0001", f"seed={path.settings['seed']}"):
        assert setting in summary["settings"].split(", ")
    summary, _, _ = tables_of(report(replace(path, ending=Status.TIMED_OUT)))
    assert Status.TIMED_OUT.sentence in summary["path"]


def test_missing_gaps_and_scores_are_dashes(report, path):
    gaps, choice = np.full(7, 0.125), choose(path, 2)
    gaps[2] = np.nan
    page = report(replace(path, gaps=gaps), choice=replace(choice, scores=np.append(choice.scores[:-1], np.nan)))
    summary, _, points = tables_of(page)
    is_missing = [k == 2 for k in range(7)]
    assert [row[page.tables[1][0].index("gap")] == "-" for row in points] == is_missing
    assert [gap is None for gap in data_of(page)["points"]["gap"]] == is_missing
    assert float(summary["largest gap"]) == 0.125
    column = page.tables[1][0].index("mean squared error")
    assert [row[column] for row in points] == [*(f"{score:.4g}" for score in choice.scores[:-1]), "-"]
    assert [value is None for value in data_of(page)["scores"]["means"]] == [k == 6 for k in range(7)]
    page = report(replace(path, gaps=np.full(7, np.nan)))
    assert tables_of(page)[0]["largest gap"] == "not computed"


def test_names_title_and_settings_are_escaped(report, path):
    named = replace(path, feature_names=NASTY + tuple(f"x{j}" for j in range(P - len(NASTY))))
    page = report(replace(named, settings={**path.settings, "note": NASTY[1]}), title=NASTY[2])
    assert {row[0] for row in tables_of(page)[1]} >= set(NASTY)
    assert "b" not in page.tags
    assert page.tags.count("script") == 2
    assert {trace["name"] for trace in data_of(page)["traces"]} >= set(NASTY)
    assert page.texts["title"] == page.texts["h1"] == [NASTY[2]]
    assert f"note={NASTY[1]}" in tables_of(page)[0]["settings"]


@pytest.mark.parametrize("name", ["\udc80", "\x00", "\u2028"])
def test_names_that_are_no_text_do_no_harm(report, path, name):
    page = report(replace(path, feature_names=(name,) * P), title=name)
    assert len(tables_of(page)[1]) == path.n_active[-1]
    assert data_of(page)["traces"][0]["name"] == name


@pytest.mark.parametrize(("p", "n_points", "n_active"), [(635_376, 100, 2_500), (20_000, 1_000, 1_500)])
def test_report_of_a_large_path_is_small_and_has_all_digits_of_the_model(report, tmp_path, rng, p, n_points, n_active):
    path = synthetic_path(p, n_points, n_active, rng)
    page = report(path, choice=choose(path, 60))
    assert (tmp_path / "report.html").stat().st_size < 5e6
    data = data_of(page)
    n_traces = len(data["traces"])
    assert 100 < n_traces <= 2_000
    assert data["everActive"] == n_active
    strength = np.sort(np.abs(path.scaled_coefs).max(axis=1).toarray())[::-1]
    assert abs(max(data["traces"][-1]["values"], key=abs)) == pytest.approx(strength[n_traces - 1], rel=1e-6)
    _, rows, _ = tables_of(page)
    for column, coefs in ((2, path.coefs), (3, path.scaled_coefs)):
        found = {int(row[1]): float(row[column]) for row in rows}
        assert found == {j: coefs[j, 60] for j in coefs[:, [60]].indices}


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
    _, rows, _ = tables_of(report(short, choice=replace(choose(short, 1, blend=0.0), coef=strange)))
    assert rows == [[str(P - 1), str(P - 1), "1.5", "-"]]


def test_the_choice_of_another_path_is_refused(report, path):
    few = replace(choose(path, 3), coef=path.coefs[:-1, [3]])
    others = few, choose(solve(radii=6), 3), choose(solve(y=np.arange(float(M))), 3), replace(choose(path, 3), point=2)
    for other in others:
        with pytest.raises(ValueError, match=r"^choice must be that of a point of this path"):
            report(path, choice=other)


def test_what_holds_a_path_and_a_choice_stands_for_both(report, path):
    X, y = make_data()
    estimator = LassoCV(alphas=9, rule="bic")
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


# What the scripts are told --------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [True, False])
def test_scores_are_told(report, path, folds):
    choice = choose(path, 2, folds=folds)
    page = report(path, choice=choice)
    scores = data_of(page)["scores"]
    np.testing.assert_allclose(scores["means"], choice.scores, rtol=1e-6)
    if folds:
        np.testing.assert_allclose(scores["errors"], choice.standard_errors, rtol=1e-6)
        np.testing.assert_allclose(scores["folds"], choice.fold_scores.T, rtol=1e-6)
    else:
        assert (scores["errors"], scores["folds"]) == (None, [])
    assert tables_of(page)[0]["choice"] == f"point 3 by 1se ({choice.criterion})"
    assert ("Mean squared error" if folds else "bic") in page.texts["h2"]
    head, *rows = page.tables[1]
    column = head.index(choice.criterion)
    assert [row[column] for row in rows] == [f"{score:.4g}" for score in choice.scores]


@pytest.mark.parametrize(("n_folds", "name"), [(5, "cross-validated r2"), (1, "held-out r2")])
def test_r2_of_the_choice_is_told_from_that_of_the_fit(report, path, n_folds, name):
    choice = choose(path, 2)
    scored = replace(choice, criterion="r2", greater_is_better=True, fold_scores=choice.fold_scores[:, :n_folds])
    page = report(path, choice=scored)
    assert data_of(page)["scores"]["criterion"] == name
    assert page.tables[1][0][4:6] == ["R²", name]
    assert f"{name[0].upper()}{name[1:]}" in page.texts["h2"]


# The call -------------------------------------------------------------------------------------------------------


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
    "draws, alphas": {"solver": "sfw", "radii": None, "alphas": 4, "random_state": np.int64(3)},
    "draws, segments": {"solver": "sfw", "sample_size": 4, "random_state": 3, "checkpoint": "run"},
    "change": {"solver": "cd", "radii": None, "alphas": 4, "stop": "change", "certify": False},
    "segments": {"radii": None, "alphas": 4, "checkpoint": "run"},
}


@pytest.mark.parametrize("case", CALLS)
def test_call_computes_the_same_path_again(report, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    path = solve(**CALLS[case])
    (text,) = report(path).texts["pre"]
    assert text == call_text(path)
    names = dict(zip("Xy", make_data(), strict=True))
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

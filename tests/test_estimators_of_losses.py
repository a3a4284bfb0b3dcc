"""Estimators of classes and counts."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwlasso import (
    LinearModel,
    LogisticLasso,
    LogisticLassoCV,
    PoissonLasso,
    PoissonLassoCV,
    StabilitySelector,
    lasso_cv,
    lasso_path,
    stability_selection,
)
from fwlasso.report import write_report
from fwlasso.selection.pictures import read_pictures


# Some of the data of the checks are sorted by their response, or noise, or separable.
@pytest.mark.filterwarnings("ignore:Neighbouring responses are very similar", "ignore:The mean deviance is best")
@parametrize_with_checks(
    [LogisticLasso(), LogisticLassoCV(cv=3, alphas=20), PoissonLasso(), PoissonLassoCV(cv=3, alphas=20)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def classes(rng):
    X = rng.standard_normal((80, 30))
    chance = 1.0 / (1.0 + np.exp(-X[:, :3] @ [2.0, -1.5, 1.0]))
    return X, np.where(rng.random(80) < chance, "b", "a")


@pytest.fixture
def counts(rng):
    X = rng.standard_normal((80, 30))
    return X, rng.poisson(np.exp(0.5 * X[:, :3] @ [1.0, -1.0, 0.5])).astype(float)


@pytest.mark.filterwarnings("ignore:The mean deviance is best at the last point")
def test_pictures_are_of_held_out_samples(classes, counts, tmp_path):
    X, y = classes
    w = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    folds = list(StratifiedKFold(4).split(X, y))
    found = lasso_cv(X, y, loss="logistic", alphas=6, eps=0.1, cv=folds, sample_weight=w)
    point, areas, chances = found.choice.point, [], np.empty(y.size)
    for (_, rows), path in zip(folds, found.fold_paths, strict=True):
        chances[rows] = path.predict(X[rows], point, kind="mean")
        areas.append(roc_auc_score(y[rows], chances[rows], sample_weight=w[rows]))
    roc, calibration = found.choice.pictures
    spread = f"{np.mean(areas):.3f}, the mean of 4 folds from {min(areas):.3f} to {max(areas):.3f}."
    assert roc.note == f"Area under the curve {spread}"
    assert [line.kind for line in roc.lines] == ["fold"] * 4 + ["line"]
    dots = calibration.lines[-1]
    group = np.searchsorted(np.quantile(chances, np.arange(0.1, 0.95, 0.1)), chances)
    shares = [np.average(values[group == 9], weights=w[group == 9]) for values in (chances, y == "b")]
    assert (dots.x[-1], dots.y[-1]) == pytest.approx(tuple(shares), rel=1e-4)
    write_report(found, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('<figure class="chart"><svg role="img"') == 2
    assert all(text in page for text in (roc.note, "share of b", "odds ratio", "coefficients are of the odds of b"))
    assert read_pictures(json.loads(json.dumps(found.choice.record()["pictures"]))) == found.choice.pictures
    own = lasso_cv(X, y, loss="logistic", alphas=6, eps=0.1, validation=(X[:30], y[:30]))
    area = roc_auc_score(y[:30], own.predict(X[:30], kind="link"))
    assert own.choice.pictures[0].note == f"Area under the curve {area:.3f}."
    singles = lasso_cv(X, y, loss="logistic", alphas=4, eps=0.1, cv=LeaveOneOut())
    assert [line.kind for line in singles.choice.pictures[0].lines] == ["line"]
    (rates,) = lasso_cv(*counts, loss="poisson", alphas=4, eps=0.1).choice.pictures
    assert rates.x_label == "predicted rate"


@pytest.mark.parametrize(("loss", "ratio"), [("logistic", "odds_ratio"), ("poisson", "rate_ratio")])
def test_ratios_stand_beside_coefficients(loss, ratio, classes, counts):
    path = lasso_path(*(classes if loss == "logistic" else counts), loss=loss, alphas=3, eps=0.3)
    for frame in (path.to_frame("coefs"), path[-1].to_frame()):
        np.testing.assert_array_equal(frame[ratio], np.exp(frame["coef"]))


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 2.0, "b": 0.5}])
def test_c_and_class_weights_are_scikit_learns(class_weight, classes):
    X, y = classes
    w = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    settings = {"C": 0.3, "class_weight": class_weight, "max_iter": 100_000}
    ours = LogisticLasso(tol=1e-10, **settings).fit(X, y, sample_weight=None if class_weight == "balanced" else w)
    reference = LogisticRegression(l1_ratio=1.0, solver="saga", tol=1e-10, **settings)
    reference.fit(X, y, sample_weight=None if class_weight == "balanced" else w)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
    np.testing.assert_allclose(ours.predict_log_proba(X), reference.predict_log_proba(X), atol=1e-3)
    assert pytest.approx(0.3) == ours.C_
    again = LogisticLasso(alpha=ours.alpha_, class_weight=class_weight, tol=1e-10)
    np.testing.assert_array_equal(again.fit(X, y, None if class_weight == "balanced" else w).coef_, ours.coef_)


def test_they_live_in_the_scikit_learn_world(classes):
    X, y = classes
    pipeline = make_pipeline(StandardScaler(), LogisticLasso())
    assert cross_val_score(pipeline, X, y, scoring="roc_auc").mean() > 0.7
    found = GridSearchCV(pipeline, {"logisticlasso__C": [0.1, 1.0]}, scoring="neg_log_loss").fit(X, y)
    assert found.best_params_["logisticlasso__C"] in (0.1, 1.0)
    three = np.where(X[:, 4] > 0.5, "c", y)
    assert OneVsRestClassifier(LogisticLasso()).fit(X, three).predict(X).shape == (80,)
    with pytest.raises(ValueError, match=r"Only binary .* take OneVsRestClassifier\(LogisticLasso\(\)\)"):
        LogisticLasso().fit(X, three)
    with pytest.raises(ValueError, match="the data contains only one class: 'a'"):
        LogisticLasso().fit(X[y == "a"], y[y == "a"])
    frame = pd.DataFrame({"age": X[:, 0], "city": three})
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(sparse_output=True), ["city"]))
    mixed = make_pipeline(columns, CalibratedClassifierCV(LogisticLasso(), cv=3)).fit(frame, y)
    np.testing.assert_allclose(mixed.predict_proba(frame).sum(axis=1), 1.0)
    model = LinearModel.from_estimator(pipeline[-1].fit(X, y))
    np.testing.assert_array_equal(model.predict(X), pipeline[-1].predict(X))
    assert pipeline[-1].sparse_coef_.shape == (1, 30)


def test_predictions_of_classes_are_labels_and_probabilities_are_asked_for(classes):
    X, y = classes
    found, alphas = lasso_cv(X, y, loss="logistic", alphas=6, eps=0.1, cv=3), [0.1, 0.2]
    model = LogisticLasso(alpha=found.alpha, tol=1e-6).fit(X, y)
    chances = found.path.predict(X, found.choice.point, kind="mean")
    for it in (found, found.model, found.path[found.choice.point]):
        np.testing.assert_array_equal(it.predict(X), np.where(chances > 0.5, "b", "a"))
        np.testing.assert_allclose(it.predict(X, kind="mean"), chances, rtol=1e-12)
        np.testing.assert_allclose(it.predict(X, kind="link"), np.log(chances / (1.0 - chances)), rtol=1e-9)
    for it in (found, found.path):
        np.testing.assert_array_equal(it.predict(X, alpha=alphas), found.path.predict(X, alpha=alphas, kind="class"))
    np.testing.assert_array_equal(model.predict(X), found.predict(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], chances, atol=1e-3)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'type': here it is kind='mean'"):
        found.predict(X, type="response")


@pytest.mark.parametrize("scoring", [None, "roc_auc", "neg_log_loss", "accuracy"])
def test_scores_of_folds_are_those_of_fits(scoring, classes):
    X, y = classes
    folds = list(StratifiedKFold(4).split(X, y))
    model = LogisticLassoCV(alphas=8, cv=folds, scoring=scoring, tol=1e-9).fit(sp.csc_array(X), y)
    scores = model.choice_.fold_scores
    for k, (train, test) in enumerate(folds):
        path = lasso_path(X[train], y[train], loss="logistic", alphas=model.alphas_, tol=1e-9)
        for point in (3, 7):
            chances, truth = path.predict(X[test], point, kind="mean"), y[test] == "b"
            expected = {
                None: 2.0 * log_loss(truth, chances),
                "roc_auc": roc_auc_score(truth, chances),
                "neg_log_loss": -log_loss(truth, chances),
                "accuracy": np.mean((chances > 0.5) == truth),
            }[scoring]
            assert scores[point, k] == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert hasattr(model, "deviance_path_") == (scoring is None)
    assert pytest.approx(1.0 / (model.alpha_ * 80)) == model.C_


def test_counts_are_scored_by_their_deviance(counts):
    X, y = counts
    offset = np.linspace(-0.5, 0.5, y.size)
    model = PoissonLassoCV(alphas=6, eps=0.1, cv=3, tol=1e-9).fit(X, y, offset=offset)
    rows = np.arange(27)
    rest = np.setdiff1d(np.arange(80), rows)
    path = lasso_path(X[rest], y[rest], loss="poisson", alphas=model.alphas_, offset=offset[rest], tol=1e-9)
    for point in (1, 5):
        expected = mean_poisson_deviance(y[rows], path.predict(X[rows], point, offset=offset[rows]))
        assert model.deviance_path_[point, 0] == pytest.approx(expected, rel=1e-3)
    plain = PoissonLasso(alpha=0.05).fit(X, y)
    assert plain.score(X, y) == pytest.approx(lasso_path(X, y, loss="poisson", alphas=[0.05]).r2[0])


def test_criteria_are_of_the_deviance(classes):
    X, y = classes
    found = lasso_cv(X, y, loss="logistic", alphas=10, rule="bic")
    chances = found.path.predict(X, kind="mean")
    deviances = [2.0 * log_loss(y == "b", it, normalize=False) for it in chances.T]
    expected = np.array(deviances) + np.log(80) * found.path.n_active
    np.testing.assert_allclose(found.choice.scores, expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:The mean deviance is best at the last point")
def test_validation_sets_and_subsamples_have_both_classes(classes):
    X, y = classes
    y = np.where(np.arange(80) < 8, "b", "a")
    found = lasso_cv(X, y, loss="logistic", alphas=5, eps=0.3, validation=0.25, random_state=0)
    assert np.isfinite(found.choice.scores).all()
    own = lasso_cv(X, y, loss="logistic", alphas=5, eps=0.3, validation=(X[4:40], y[4:40]))
    expected = 2.0 * log_loss(y[4:40] == "b", own.path.predict(X[4:40], point=3, kind="mean"))
    assert own.choice.scores[3] == pytest.approx(expected)
    stable = stability_selection(X, y, loss="logistic", alphas=5, n_subsamples=4, random_state=0)
    assert stable.frequencies.shape == (30, 5)
    selector = StabilitySelector(loss="logistic", alphas=5, eps=0.3, n_subsamples=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(selector.stability_.path.classes, ["a", "b"])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"cv": [(np.arange(40), np.arange(40, 80))]}, "cv: the samples to fit in fold 1 have the one class 'a'"),
        ({"relax": True}, "relax: refits are least squares"),
        ({"scoring": "nonsense"}, "scoring"),
    ],
)
def test_what_folds_cannot_do_is_refused(keywords, message, classes):
    X, y = classes
    with pytest.raises(ValueError, match=message):
        lasso_cv(X, np.sort(y) if "cv" in keywords else y, loss="logistic", alphas=5, **keywords)


def test_estimators_have_the_terms_of_a_path(classes, counts):
    X, y = classes
    ours = LogisticLasso(C=0.5, l1_ratio=0.4, tol=1e-10).fit(X, y)
    reference = LogisticRegression(C=0.5, l1_ratio=0.4, solver="saga", tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-5)
    terms = {"lower": -0.05, "upper": 0.1, "penalty_factor": {5: np.inf}}
    for model, data in ((LogisticLasso(C=1.0, **terms), classes), (PoissonLasso(0.02, **terms), counts)):
        coef = np.ravel(model.fit(*data).coef_)
        assert (coef.min(), coef.max(), coef[5]) == (-0.05, 0.1, 0.0)
    free = PoissonLasso(alpha=1e3, unpenalized=[4]).fit(*counts)
    assert np.flatnonzero(free.coef_).tolist() == [4]
    chosen = LogisticLassoCV(l1_ratio=[0.5, 1.0], alphas=5, eps=0.1, cv=3).fit(X, y)
    assert (chosen.alphas_.shape, chosen.deviance_path_.shape) == ((2, 5), (2, 5, 3))
    assert np.abs(LogisticLasso(radius=0.7).fit(X, y).coef_).sum() == pytest.approx(0.7, rel=1e-4)


def test_a_grid_of_cs_is_one_of_alphas(classes):
    X, y = classes
    w = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    model = LogisticLassoCV(Cs=[0.1, 1.0, 0.3], cv=3).fit(X, y, w)
    np.testing.assert_allclose(model.alphas_ * w.sum(), [10.0, 1.0 / 0.3, 1.0])
    assert model.C_ in (pytest.approx(it) for it in (0.1, 0.3, 1.0))
    assert LogisticLassoCV(Cs=4, cv=3, eps=0.1).fit(X, y).alphas_.size == 4
    with pytest.raises(ValueError, match="give Cs or alphas, not both"):
        LogisticLassoCV(Cs=4, alphas=4).fit(X, y)
    with pytest.warns(UserWarning, match=r"C=0\.5 has no effect, as alpha=0\.1 is given"):
        LogisticLasso(0.5, alpha=0.1).fit(X, y)


@pytest.mark.parametrize(
    ("bad", "message"),
    [({"C": 0.0}, "C must be a number > 0"), ({"C": "1"}, "C must be"), ({"alpha": -1.0}, "alpha must be")],
)
def test_bad_parameters_are_named(bad, message, classes):
    with pytest.raises(ValueError, match=message):
        LogisticLasso(**bad).fit(*classes)


def test_a_fit_goes_on_from_the_last(classes):
    X, y = classes
    model = LogisticLasso(0.3, warm_start=True, tol=1e-8).fit(X, y)
    first = model.coef_.copy()
    assert model.fit(X, y).n_iter_[0] <= 2
    np.testing.assert_allclose(model.coef_, first, atol=1e-3)

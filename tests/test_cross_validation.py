"""The choice of a model, against scikit-learn's LassoCV and against folds that are solved one by one."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV as ReferenceCV
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import STORAGES, held, random_values
from fwlasso import LassoCV, Status, convoy, lasso_cv, lasso_path, subsets
from fwlasso.datasets import Table, load_diabetes_products


def sparse_problem(rng):
    X = sp.random_array((80, 300), density=0.1, format="csc", rng=rng)
    return X, X[:, :4] @ np.array([3.0, -2.0, 1.0, 0.5]) + 0.1 * rng.standard_normal(80)


def dense_problem(rng, m=60, p=150, rho=0.0):
    X = rng.standard_normal((m, p)) + rho * rng.standard_normal((m, 1))
    return X, X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + rng.standard_normal(m) + 7.0


def diabetes(_rng):
    X, y, _ = load_diabetes_products(2)
    return np.asfortranarray(X / np.abs(X).max(axis=0)), y


PROBLEMS = {
    "wide": dense_problem,
    "tall": lambda rng: dense_problem(rng, 200, 20),
    "correlated": lambda rng: dense_problem(rng, 80, 100, rho=1.0),
    "sparse": sparse_problem,
    "diabetes": diabetes,
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_choice_and_scores_are_those_of_scikit_learn(name, rng):
    X, y = PROBLEMS[name](rng)
    cv = KFold(5, shuffle=True, random_state=0)
    ours = LassoCV(cv=cv, alphas=40, tol=1e-11).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reference = ReferenceCV(cv=cv, alphas=ours.alphas_, tol=1e-12, max_iter=100_000).fit(X, y)
    assert ours.alpha_ == pytest.approx(reference.alpha_, rel=1e-12)
    scale = reference.mse_path_.max()
    np.testing.assert_allclose(ours.mse_path_, reference.mse_path_, atol=1e-6 * scale)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), atol=1e-4 * np.abs(y).max())
    assert ours.dual_gap_ <= 1e-11


def test_the_grid_is_that_of_scikit_learn(rng):
    X, y = dense_problem(rng)
    ours = LassoCV(alphas=30, eps=1e-2).fit(X, y)
    reference = ReferenceCV(eps=1e-2, **{"n_alphas": 30} if sklearn.__version__ < "1.7" else {"alphas": 30}).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, reference.alphas_, rtol=1e-10)


def test_folds_are_paths_of_their_samples(storage, rng):
    values = held(storage, random_values(rng, 50, 40))
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(50)
    cv = KFold(3)
    found = lasso_cv(STORAGES[storage](values), y, cv=cv, alphas=10, tol=1e-10, standardize=True)
    assert len(found.fold_paths) == 3
    for k, (train, test) in enumerate(cv.split(values)):
        alone = lasso_path(values[train], y[train], alphas=found.path.alphas, tol=1e-10, standardize=True)
        np.testing.assert_allclose(found.fold_paths[k].r2, alone.r2, atol=1e-9)
        errors = ((alone.predict(values[test]) - y[test][:, None]) ** 2).mean(axis=0)
        np.testing.assert_allclose(found.choice.fold_scores[:, k], errors, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("grid", [{"alphas": 15}, {"radii": 15}, {"radii": [0.5, 2.0, 5.0]}])
def test_the_grid_of_the_path_is_that_of_the_folds(grid, rng):
    found = lasso_cv(*dense_problem(rng), **grid)
    (name,) = grid
    for path in found.fold_paths:
        np.testing.assert_allclose(getattr(path, name), getattr(found.path, name))


@pytest.mark.parametrize("solver", ["sfw", "cd", "apg-ball"])
def test_other_solvers(solver, rng):
    found = lasso_cv(*dense_problem(rng), solver=solver, stop="gap", tol=1e-3, random_state=0)
    assert found.choice.fold_scores.shape == (100, 5)
    assert {0, 1} <= set(found.choice.coef.indices.tolist())


def spy(function, calls):
    """Return a function that notes its calls."""

    def noted(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return noted


def test_the_number_of_threads_and_of_paths_side_by_side_changes_no_bit(rng, monkeypatch):
    X, y = np.asfortranarray(rng.standard_normal((60, 30_000))), rng.standard_normal(60)  # large enough for threads
    monkeypatch.setattr(convoy, "_FEWEST_CHUNKS", 2)
    joined = []
    monkeypatch.setattr(convoy.Convoy, "join", spy(convoy.Convoy.join, joined))
    y += X[:, :5].sum(axis=1)

    def solve(n_threads, share):
        monkeypatch.setattr(subsets, "_MOST_OF_X", share)
        return lasso_cv(X, y, n_threads=n_threads, alphas=20, eps=0.2)

    first = solve(1, 0.0)
    assert not joined
    for n_threads, share in ((2, 0.0), (2, 10.0), (3, 0.2), (8, 10.0)):
        again = solve(n_threads, share)
        assert joined
        assert again.choice.point == first.choice.point
        np.testing.assert_array_equal(again.choice.fold_scores, first.choice.fold_scores)
        for one, other in zip(first.fold_paths, again.fold_paths, strict=True):
            np.testing.assert_array_equal(one.coefs.toarray(), other.coefs.toarray())
            np.testing.assert_array_equal(one.gaps, other.gaps)


# Rules -------------------------------------------------------------------------------------------------------


def test_one_standard_error_chooses_the_sparsest_model_within_it(rng):
    data = dense_problem(rng)
    best, sparser = lasso_cv(*data).choice, lasso_cv(*data, rule="1se").choice
    limit = best.scores[best.point] + best.standard_errors[best.point]
    assert sparser.point < best.point
    assert sparser.scores[sparser.point] <= limit
    assert (sparser.scores[: sparser.point] > limit).all()
    np.testing.assert_allclose(best.standard_errors, best.fold_scores.std(axis=1, ddof=1) / np.sqrt(5))
    np.testing.assert_allclose(best.scores, best.fold_scores.mean(axis=1))
    assert best.point == np.argmin(best.scores)


@pytest.mark.parametrize("rule", ["aic", "bic", "ebic"])
def test_information_criteria(rule, rng):
    X, y = dense_problem(rng, 100, 30)
    found = lasso_cv(X, y, rule=rule)
    assert found.fold_paths == ()
    path, choice = found.path, found.choice
    rss = ((y[:, None] - path.predict(X)) ** 2).sum(axis=0)
    per_parameter = {"aic": 2.0, "bic": np.log(100)}.get(rule, np.log(100))
    expected = 100 * np.log(rss / 100) + per_parameter * path.n_active
    if rule == "ebic":
        choose = [np.log(np.arange(30 - k + 1, 31)).sum() - np.log(np.arange(1, k + 1)).sum() for k in path.n_active]
        expected += 2 * np.array(choose)
    np.testing.assert_allclose(choice.scores - choice.scores[0], expected - expected[0], atol=1e-6)
    assert choice.point == np.argmin(expected)
    assert choice.fold_scores is None
    assert {0, 1, 2} <= set(choice.coef.indices.tolist())


def test_information_criteria_pass_over_models_without_residuals(rng):
    X, y = dense_problem(rng, 30, 400)
    choice = lasso_cv(X, y, rule="aic", eps=1e-4).choice
    assert np.isinf(choice.scores[-1])
    assert choice.coef.nnz <= 15


def test_a_function_chooses(rng):
    def third(path, scores):
        assert scores.shape == (len(path), 5)
        return 3

    choice = lasso_cv(*dense_problem(rng), rule=third).choice
    assert (choice.rule, choice.point) == ("third", 3)


@pytest.mark.parametrize("point", [-1, 100])
def test_a_function_must_choose_a_point_of_the_path(point, rng):
    with pytest.raises(ValueError, match="rule must be a function that returns a point below 100"):
        lasso_cv(*dense_problem(rng), rule=lambda *_: point)


# Splitters and scorers ---------------------------------------------------------------------------------------


def test_groups_reach_the_splitter(rng):
    X, y = dense_problem(rng)
    groups = np.repeat(np.arange(12), 5)
    cv = GroupKFold(4)
    with_groups = lasso_cv(X, y, cv=cv, groups=groups)
    as_pairs = lasso_cv(X, y, cv=list(cv.split(X, y, groups)))
    np.testing.assert_array_equal(with_groups.choice.fold_scores, as_pairs.choice.fold_scores)
    model = LassoCV(cv=cv).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.mse_path_, as_pairs.choice.fold_scores)


def test_samples_may_be_in_no_fold_and_folds_of_different_sizes(rng):
    X, y = dense_problem(rng)
    found = lasso_cv(X, y, cv=TimeSeriesSplit(4))
    assert [path.settings["n_samples"] for path in found.fold_paths] == [12, 24, 36, 48]
    assert lasso_cv(X, y, cv=ShuffleSplit(3, test_size=7, random_state=1)).choice.fold_scores.shape == (100, 3)


SCORERS = {
    "r2": (r2_score, 1.0),
    "neg_mean_absolute_error": (mean_absolute_error, -1.0),
    make_scorer(mean_squared_error, greater_is_better=False): (mean_squared_error, -1.0),
}


@pytest.mark.parametrize("scoring", SCORERS, ids=str)
def test_scorers_of_scikit_learn(scoring, rng):
    X, y = dense_problem(rng)
    found = lasso_cv(X, y, scoring=scoring, cv=KFold(4))
    metric, sign = SCORERS[scoring]
    for k, (_, test) in enumerate(KFold(4).split(X)):
        predicted = found.fold_paths[k].predict(X[test])
        np.testing.assert_allclose(
            found.choice.fold_scores[:, k], [sign * metric(y[test], column) for column in predicted.T], atol=1e-9
        )
    assert found.choice.greater_is_better
    assert found.choice.point == np.argmax(found.choice.scores)
    assert not hasattr(LassoCV(scoring=scoring).fit(X, y), "mse_path_")


def test_a_scorer_of_the_users_own_gets_the_rows(rng):
    X, y = dense_problem(rng)

    def score(estimator, rows, truth):
        assert rows.shape == (12, X.shape[1])
        return -np.abs(estimator.predict(rows) - truth).max()

    choice = lasso_cv(X, y, scoring=score).choice
    assert lasso_cv(Table(X, y, None), scoring=score).choice.point == choice.point
    assert choice.criterion == "score"
    assert choice.scores.max() == choice.scores[choice.point]


def test_metadata_is_routed_to_splitter_and_scorer(rng):
    X, y = dense_problem(rng)
    groups, weights = np.repeat(np.arange(12), 5), rng.random(60)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(mean_squared_error, greater_is_better=False).set_score_request(sample_weight=True)
        model = LassoCV(cv=GroupKFold(4), scoring=scorer, alphas=10)
        model.fit(X, y, groups=groups, sample_weight=weights)
    (_, test) = next(GroupKFold(4).split(X, y, groups))
    predicted = model.fold_paths_[0].predict(X[test])
    expected = [-mean_squared_error(y[test], column, sample_weight=weights[test]) for column in predicted.T]
    np.testing.assert_allclose(model.choice_.fold_scores[:, 0], expected)


def test_metadata_needs_routing(rng):
    with pytest.raises(ValueError, match="sample_weight: metadata is passed where enable_metadata_routing is set"):
        LassoCV().fit(*dense_problem(rng), sample_weight=np.ones(60))


# Samples that validate ---------------------------------------------------------------------------------------


def test_a_fraction_of_the_samples_validates(rng):
    X, y = dense_problem(rng)
    found = lasso_cv(X, y, validation=0.25, random_state=3)
    ((_, test),) = ShuffleSplit(1, test_size=0.25, random_state=3).split(X)
    assert test.size == 15
    errors = ((found.fold_paths[0].predict(X[test]) - y[test][:, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(found.choice.scores, errors)
    assert found.choice.standard_errors is None


def test_other_samples_validate(rng):
    X, y = dense_problem(rng, 100)
    found = lasso_cv(X[:60], y[:60], validation=(X[60:], y[60:]))
    errors = ((found.path.predict(X[60:]) - y[60:][:, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(found.choice.scores, errors)
    assert found.fold_paths == ()


# Relaxed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_relaxed_models_are_blends_with_least_squares(fit_intercept, rng):
    X, y = dense_problem(rng)
    y -= 7.0
    cv = KFold(4)
    found = lasso_cv(X, y, relax=[0.0], cv=cv, fit_intercept=fit_intercept, alphas=20, eps=0.1)
    choice = found.choice
    assert choice.blend == 0.0
    for k, (train, test) in enumerate(cv.split(X)):
        fold = found.fold_paths[k]
        for point in range(20):
            used = np.flatnonzero(fold.coef(point))
            if 0 < used.size < train.size - 1:
                refit = LinearRegression(fit_intercept=fit_intercept).fit(X[train][:, used], y[train])
                error = ((refit.predict(X[test][:, used]) - y[test]) ** 2).mean()
                assert choice.fold_scores[point, k] == pytest.approx(error, rel=1e-6)
    used = choice.coef.indices
    assert used.size > 2
    refit = LinearRegression(fit_intercept=fit_intercept).fit(X[:, used], y)
    np.testing.assert_allclose(choice.coef.data, refit.coef_, rtol=1e-8)
    assert choice.intercept == pytest.approx(refit.intercept_, abs=1e-8)


def test_relaxing_is_chosen_where_it_helps(rng):
    X, y = dense_problem(rng, 100, 300)
    y = X[:, :3] @ [10.0, -10.0, 10.0] + 0.1 * rng.standard_normal(100)
    plain, relaxed = lasso_cv(X, y).choice, lasso_cv(X, y, relax=True).choice
    assert relaxed.blend < 1.0
    assert relaxed.scores[relaxed.point] < plain.scores[plain.point]
    assert relaxed.coef.indices.tolist() == [0, 1, 2]
    np.testing.assert_allclose(LassoCV(relax=True).fit(X, y).coef_, relaxed.coef.toarray()[:, 0])


def test_a_blend_lies_between(rng):
    X, y = dense_problem(rng)
    half, lasso, squares = (lasso_cv(X, y, relax=[b], rule=lambda *_: 20).choice for b in (0.5, 1.0, 0.0))
    np.testing.assert_allclose(half.coef.toarray(), 0.5 * lasso.coef.toarray() + 0.5 * squares.coef.toarray())
    assert half.intercept == pytest.approx(0.5 * lasso.intercept + 0.5 * squares.intercept)


def test_supports_of_dependent_columns_are_refitted(rng):
    X, y = dense_problem(rng, 60, 10)
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] - X[:, 0]])
    choice = lasso_cv(X, y, relax=[0.0], eps=1e-3).choice
    refit = LinearRegression().fit(X[:, choice.coef.indices], y)
    predicted = X @ choice.coef.toarray()[:, 0] + choice.intercept
    np.testing.assert_allclose(predicted, refit.predict(X[:, choice.coef.indices]), atol=1e-6)


# Endings and bad input ---------------------------------------------------------------------------------------


def test_the_callback_counts_all_points_and_is_called_by_one_at_a_time(rng):
    busy, seen = threading.Lock(), []

    def watch(now):
        assert busy.acquire(blocking=False)
        seen.append(now)
        busy.release()

    lasso_cv(*dense_problem(rng), alphas=10, cv=3, callback=watch)
    done = [now.point for now in seen if now.done]
    assert done == list(range(40))
    assert {now.n_points for now in seen} == {40}


def test_what_was_solved_in_every_fold_is_kept_when_the_callback_stops(rng):
    with pytest.warns(ConvergenceWarning, match="points"):
        found = lasso_cv(*dense_problem(rng), alphas=10, cv=3, n_threads=1, callback=lambda now: now.point >= 24)
    assert found.ending is Status.STOPPED
    assert len(found.path) == len(found.fold_paths[0]) == 10
    assert found.choice.fold_scores.shape == (min(len(path) for path in found.fold_paths), 3)
    assert len(found.fold_paths[2]) == 1
    assert found.choice.point < len(found.choice.scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "best"}, "rule must be one of min, 1se, aic, bic, ebic or a function"),
        ({"relax": [0.5, 2.0]}, "relax must be True, False or numbers from 0 to 1"),
        ({"relax": "yes"}, "relax must be"),
        ({"validation": 1.5}, "validation must be a fraction"),
        ({"validation": 0.5, "cv": 3}, "give cv or validation, not both"),
        ({"rule": "bic", "cv": 3}, "cv: rule='bic' looks at no other samples"),
        ({"rule": "aic", "relax": True}, "relax: rule='aic' looks at no other samples"),
        ({"rule": "1se", "validation": 0.5}, "1se"),
        ({"scoring": "nothing"}, "scoring"),
        ({"scoring": 3}, "scoring"),
        ({"cv": 100}, "n_splits=100"),
        ({"cv": []}, "cv must be folds"),
        ({"alphas": 0}, "alphas"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_bad_arguments_are_named(settings, message, rng):
    with pytest.raises(ValueError, match=message):
        lasso_cv(*dense_problem(rng), **settings)


def test_unknown_options_are_refused(rng):
    with pytest.raises(TypeError, match="unexpected keyword argument 'lambdas'"):
        lasso_cv(*dense_problem(rng), lambdas=3)


def test_scores_that_are_no_numbers_are_refused(rng):
    with pytest.raises(ValueError, match="scoring: the score is not a number"):
        lasso_cv(*dense_problem(rng), scoring=lambda *_: np.nan)


# The estimator -----------------------------------------------------------------------------------------------


def test_attributes_of_the_estimator(rng):
    X, y = dense_problem(rng)
    model = LassoCV(standardize=True, rule="1se").fit(pd.DataFrame(X).add_prefix("x"), y)
    point = model.choice_.point
    assert model.alpha_ == model.path_.alphas[point]
    assert model.radius_ == model.path_.radii[point]
    np.testing.assert_array_equal(model.coef_, model.path_.coef(point))
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)
    assert len(model.fold_paths_) == 5
    assert model.feature_names_in_[0] == "x0"
    assert model.path_.feature_names[0] == "x0"


def test_it_works_in_a_pipeline(rng):
    X, y = dense_problem(rng)
    assert make_pipeline(StandardScaler(), LassoCV(rule="1se")).fit(X, y).score(X, y) > 0.7

"""Which samples are held out, and by which rule a point is chosen."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, ShuffleSplit, TimeSeriesSplit

from conftest import dense_problem
from fwlasso import LassoCV, lasso_cv


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


def test_groups_reach_the_splitter(rng):
    X, y = dense_problem(rng)
    groups = np.repeat(np.arange(12), 5)
    cv = GroupKFold(4)
    with_groups = lasso_cv(X, y, cv=cv, groups=groups)
    as_pairs = lasso_cv(X, y, cv=list(cv.split(X, y, groups)))
    np.testing.assert_array_equal(with_groups.choice.fold_scores, as_pairs.choice.fold_scores)
    model = LassoCV(cv=cv, eps=None).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.mse_path_, as_pairs.choice.fold_scores)


def test_samples_may_be_in_no_fold_and_folds_of_different_sizes(rng):
    X, y = dense_problem(rng)
    found = lasso_cv(X, y, cv=TimeSeriesSplit(4))
    assert [path.settings["n_samples"] for path in found.fold_paths] == [12, 24, 36, 48]
    assert lasso_cv(X, y, cv=ShuffleSplit(3, test_size=7, random_state=1)).choice.fold_scores.shape == (100, 3)


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


def test_repeated_rows_that_are_held_out_count_as_often(rng):
    X, y = dense_problem(rng)
    train, test = np.arange(40), np.r_[40:60, 41, 41, -1]
    for scoring in (None, "neg_mean_squared_error"):
        found = lasso_cv(X, y, cv=[(train, test)], scoring=scoring, alphas=10, rule=lambda *_: 5)
        errors = ((found.fold_paths[0].predict(X[test]) - y[test][:, None]) ** 2).mean(axis=0)
        np.testing.assert_allclose(np.abs(found.choice.fold_scores[:, 0]), errors)


@pytest.mark.parametrize("shape", [(80, 5), (30, 60)])
@pytest.mark.parametrize("select", [lambda _: slice(None), np.arange, lambda m: np.ones(m, np.bool_)])
def test_a_split_may_fit_and_score_on_all_rows(select, shape, rng):
    X, y = dense_problem(rng, *shape)
    some = np.arange(0, shape[0], 2), np.arange(1, shape[0], 2)
    found = lasso_cv(X, y, cv=[(select(shape[0]), select(shape[0])), some], alphas=10, rule=lambda *_: 5)
    np.testing.assert_allclose(found.fold_paths[0].coefs.toarray(), found.path.coefs.toarray(), atol=1e-9)
    errors = ((found.path.predict(X) - y[:, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(found.choice.fold_scores[:, 0], errors)


@pytest.mark.parametrize("rows", [[0, 60], [0.5], np.ones(61, np.bool_), np.zeros((2, 2), int), 3])
def test_rows_that_are_not_there_are_refused(rows, rng):
    X, y = dense_problem(rng)
    for split in ((rows, [1]), ([1], rows)):
        with pytest.raises(ValueError, match="cv must"):
            lasso_cv(X, y, cv=[split])

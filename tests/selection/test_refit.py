"""Relaxed models: blends with least squares on the same features."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from attack.refits import REFIT, judge_refits
from conftest import STORAGES, dense_problem, random_values
from fwlasso import LassoCV, lasso_cv


def relaxed(X, y, values, **settings):
    """Return what is chosen among refits, all of which are least squares on their supports."""
    found = lasso_cv(X, y, **REFIT, **{"alphas": 10, "cv": 2, "tol": 1e-4} | settings)
    assert judge_refits(found, values, y) == ()
    assert found.path.n_active.max() > 3
    return found


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


@pytest.mark.filterwarnings("ignore:The mean squared error is best at the last point")
def test_relaxing_is_chosen_where_it_helps(rng):
    X, y = dense_problem(rng, 100, 300)
    y = X[:, :3] @ [10.0, -10.0, 10.0] + 0.1 * rng.standard_normal(100)
    plain, relaxed = lasso_cv(X, y).choice, lasso_cv(X, y, relax=True).choice
    assert relaxed.blend < 1.0
    assert relaxed.scores[relaxed.point] < plain.scores[plain.point]
    assert relaxed.coef.indices.tolist() == [0, 1, 2]
    np.testing.assert_allclose(LassoCV(relax=True).fit(X, y).coef_, relaxed.coef.toarray()[:, 0])


@pytest.mark.parametrize("blend", [0.0, 0.5])
def test_shares_are_of_what_columns_without_a_penalty_leave(blend, rng):
    X, y = dense_problem(rng, 60, 10)
    X[:, 0] += y  # explains much by itself
    found = lasso_cv(X, 1e3 * y, unpenalized=[0], relax=[blend], alphas=10, rule=lambda *_: 5, solver="gram")
    null = LinearRegression().fit(X[:, :1], 1e3 * y).predict(X[:, :1])
    left, rest = (((1e3 * y - predicted) ** 2).sum() for predicted in (null, found.predict(X)))
    assert found.choice.r2 == pytest.approx(1.0 - rest / left, abs=1e-9)
    assert 0.0 < found.choice.r2 < 0.99


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


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
@pytest.mark.parametrize("shape", [(80, 6), (40, 60)])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("offset", [1e3, 3e7, 1e12])
def test_columns_far_from_zero_are_refitted_as_columns_about_zero(offset, standardize, shape, storage, rng):
    X, y = dense_problem(rng, *shape)
    values = X + offset * rng.uniform(1.0, 2.0, shape[1])
    found = relaxed(STORAGES[storage](values), y, values, standardize=standardize)
    rows = np.arange(shape[0] // 2)  # that the second fold is fitted on
    used = found.fold_paths[1].coefs[:, [5]].indices
    assert used.size > 0
    Z = values[:, used] - values[rows][:, used].mean(axis=0)
    refit = LinearRegression().fit(Z[rows], y[rows])
    error = ((refit.predict(np.delete(Z, rows, axis=0)) - np.delete(y, rows)) ** 2).mean()
    assert found.choice.fold_scores[5, 1] == pytest.approx(error, rel=max(1e-8, 1e-14 * offset))


def test_columns_and_responses_of_any_size_are_refitted(rng):
    X, y = dense_problem(rng, 60, 6)
    for x_scale, y_scale in ((1e-170, 1.0), (1.0, 1e-100), (1e120, 1e-60)):
        relaxed(X * x_scale, y * y_scale, X * x_scale, standardize=True)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("storage", STORAGES)
def test_refits_of_every_storage(storage, fit_intercept, rng):
    values = rng.binomial(2, 0.3, (60, 12)).astype(float) if storage == "bed" else random_values(rng, 60, 12)
    y = values[:, :4] @ [3.0, -2.0, 1.0, 2.0] + rng.standard_normal(60) + 3.0
    relaxed(STORAGES[storage](values), y, values, fit_intercept=fit_intercept)


@pytest.mark.filterwarnings("ignore:.* did not meet stop='gap'")  # the others are refitted
@pytest.mark.parametrize("shape", [(60, 8), (30, 50)])
@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8])
def test_supports_of_columns_that_nearly_depend_on_each_other_are_refitted(distance, shape, rng):
    X, _ = dense_problem(rng, *shape)
    X[:, 1] = X[:, 0] + distance * X[:, 1]
    y = X[:, :4] @ [3.0, 2.0, 1.0, 2.0] + 0.1 * rng.standard_normal(shape[0])
    y += (X[:, 1] - X[:, 0]) / distance  # matters in the direction that is nearly lost
    found = relaxed(X, y, X, eps=1e-2 * distance, alphas=20)
    assert any({0, 1} <= set(found.path.coefs[:, [k]].indices.tolist()) for k in range(20))


@pytest.mark.filterwarnings("ignore:The response is constant")  # of one sample
@pytest.mark.parametrize("m", [1, 2, 3])
def test_points_without_features_or_samples_to_spare_keep_their_models(m, rng, monkeypatch):
    def of_some(factor, right, **settings):
        assert right.size > 0  # of nothing, scipy has failed
        return solve(factor, right, **settings)

    solve = scipy.linalg.cho_solve
    monkeypatch.setattr(scipy.linalg, "cho_solve", of_some)
    X, y = rng.standard_normal((m, 4)), rng.standard_normal(m)
    found = lasso_cv(X, y, relax=True, rule=lambda *_: 0, alphas=3, validation=(X, y))
    assert found.choice.intercept == pytest.approx(y.mean())

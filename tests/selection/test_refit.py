"""Relaxed models: blends with least squares on the same features."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from conftest import dense_problem
from fwlasso import LassoCV, lasso_cv


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

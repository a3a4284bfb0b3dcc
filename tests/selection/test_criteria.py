"""Information criteria, against their formulas."""

import numpy as np
import pytest

from conftest import dense_problem
from fwlasso import LassoPath, lasso_cv
from fwlasso.selection.criteria import information


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


@pytest.mark.parametrize("ends", [{"upper": 0.5}, {"upper": np.where(np.arange(12) == 0, 0.5, np.inf), "lower": -0.4}])
@pytest.mark.parametrize("standardize", [False, True])
def test_coefficients_at_bounds_are_no_degrees_of_freedom(ends, standardize, rng, tmp_path):
    X, y = dense_problem(rng, 60, 12)
    found = lasso_cv(X, y, rule="bic", standardize=standardize, **ends)
    path, coefs = found.path, found.path.coefs.toarray()
    is_held = np.isclose(coefs.T, ends["upper"], rtol=1e-12) | np.isclose(coefs.T, ends.get("lower", -1.0), rtol=1e-12)
    n_free = path.n_active - is_held.sum(axis=1)
    assert is_held[-1].any()
    assert n_free[-1] > 0
    np.testing.assert_allclose(found.choice.scores, 60 * np.log(1 - path.r2) + np.log(60) * n_free, rtol=1e-12)
    path.save(tmp_path / "path")
    np.testing.assert_array_equal(information(LassoPath.load(tmp_path / "path"), "bic"), found.choice.scores)

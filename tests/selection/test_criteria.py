"""Information criteria, against their formulas."""

import numpy as np
import pytest

from conftest import dense_problem
from fwlasso import lasso_cv


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

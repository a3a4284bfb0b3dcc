"""The adaptive Lasso: the second path has the penalty factors that the first one gives."""

import numpy as np
import pandas as pd
import pytest

from fwlasso import adaptive_lasso, lasso_cv
from fwlasso.checkpoints.folder import read_checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:The .* is best at the last point")


def make(rng):
    X = rng.standard_normal((80, 30)) * np.r_[10.0, 0.1, np.ones(28)]
    return X, X[:, :4] @ [0.3, 20.0, 1.0, -0.5] + rng.standard_normal(80) + 2.0


@pytest.mark.parametrize("gamma", [1.0, 0.5, 2])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("more", [{"rule": "min", "cv": 3}, {"rule": "1se", "relax": [0.0]}, {"rule": "bic"}])
def test_factors_are_powers_of_the_first_coefficients(more, standardize, gamma, rng):
    X, y = make(rng)
    asked = {"alphas": 20, "eps": 1e-3, "standardize": standardize, **more}
    first = lasso_cv(X, y, **asked)
    sizes = np.abs(first.choice.coef.toarray()[:, 0]) * (X.std(axis=0) if standardize else 1.0)
    with np.errstate(divide="ignore"):
        expected = lasso_cv(X, y, **asked, penalty_factor=(sizes.max() / sizes) ** gamma)
    found = adaptive_lasso(X, y, gamma=gamma, **asked)
    assert 1 < expected.choice.coef.nnz <= first.choice.coef.nnz
    np.testing.assert_allclose(found.choice.coef.toarray(), expected.choice.coef.toarray(), atol=1e-4)
    assert found.choice.point == expected.choice.point


def test_factors_that_are_given_multiply_and_columns_may_have_none(tmp_path, rng):
    X, y = make(rng)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    asked = {
        "rule": "ebic",
        "alphas": 20,
        "eps": 1e-3,
        "solver": "gram",
        "standardize": True,
        "sample_weight": rng.random(80),
    }
    terms = {"penalty_factor": {"f0": 3.0, "f1": np.inf}, "unpenalized": ["f7"]}
    found = adaptive_lasso(frame, y, checkpoint=tmp_path, **asked, **terms)
    first = lasso_cv(frame, y, **asked, **terms)
    w = asked["sample_weight"] / asked["sample_weight"].sum()
    sizes = np.abs(first.choice.coef.toarray()[:, 0]) * np.sqrt(w @ (X - w @ X) ** 2)
    with np.errstate(divide="ignore"):
        factors = sizes.max() / sizes
    factors[0] *= 3.0
    factors[7] = 0.0
    expected = lasso_cv(frame, y, **asked, penalty_factor=factors)
    np.testing.assert_allclose(found.choice.coef.toarray(), expected.choice.coef.toarray(), atol=1e-4)
    assert found.path.coefs[[7]].count_nonzero() == len(found.path)
    assert not found.path.coefs[[1]].count_nonzero()
    assert all(read_checkpoint(tmp_path / name).is_complete for name in ("first", "second"))
    again = adaptive_lasso(frame, y, checkpoint=tmp_path, **asked, **terms)
    np.testing.assert_array_equal(again.choice.coef.toarray(), found.choice.coef.toarray())


def test_a_first_model_without_features_is_the_last(rng):
    X, y = make(rng)
    with pytest.warns(UserWarning, match="The first model has no features"):
        found = adaptive_lasso(X, y, alphas=[1e3, 1e2])
    assert found.choice.coef.nnz == 0


@pytest.mark.parametrize("gamma", [0.0, -1, np.inf, np.nan, "1", None])
def test_a_power_that_is_none_is_refused_by_name(gamma):
    with pytest.raises(ValueError, match="gamma must be a number > 0, got"):
        adaptive_lasso(np.eye(3), np.arange(3.0), gamma=gamma)
    with pytest.raises(TypeError, match=r"adaptive_lasso\(\) got an unexpected keyword argument 'lambda': here it is"):
        adaptive_lasso(np.eye(3), np.arange(3.0), **{"lambda": 1.0})

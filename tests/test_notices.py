"""What is warned of is told on the user's line."""

import warnings

import numpy as np
import pytest

from fwlasso import Lasso, lasso_cv, lasso_path


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: lasso_path(X, y, tol=1e-12, max_iter=1, alphas=2),
        lambda X, y: lasso_cv(X, y, tol=1e-12, max_iter=1, alphas=2, cv=2),
        lambda X, y: Lasso(alpha=0.01, tol=1e-12, max_iter=1).fit(X, y),
    ],
)
def test_warning_is_told_on_the_line_of_the_user(call):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(X, y)
    assert any("did not meet" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}

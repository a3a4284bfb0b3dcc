"""What is warned of is told on the user's line."""

import warnings

import numpy as np
import pytest

from fwlasso import Lasso, LassoCV, lasso_cv, lasso_path, stability_selection, sum_table
from fwlasso.datasets import Table


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


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: lasso_path(X, y, alphas=3),
        lambda X, y: lasso_path(X, y, radii=[1.0], solver="sfw", random_state=0),
        lambda X, y: lasso_cv(X, y, alphas=3),
        lambda X, y: LassoCV(alphas=3, solver="working-set").fit(X, y),
        lambda X, y: Lasso().fit(X, y),
        lambda X, y: stability_selection(X, y, alphas=3, n_subsamples=2, random_state=0),
    ],
)
@pytest.mark.parametrize("value", [0.0, 0.1, -1.7e9])
def test_a_constant_response_is_told_once(call, value, rng):
    X = rng.standard_normal((20, 4))
    with pytest.warns(UserWarning, match="^The response is constant: .* all models are empty") as caught:
        call(X, np.full(20, value))
    assert [warning.filename for warning in caught] == [__file__]


def test_a_constant_response_is_told_by_its_name(rng, tmp_path):
    X, y = rng.standard_normal((20, 4)), np.full(20, 3.5)
    with pytest.warns(UserWarning, match="The response 'price' is constant"):
        lasso_path(Table(X, y, tuple("abcd"), target="price"), alphas=3)
    rows = [",".join(f"{value:.3f}" for value in row) for row in np.column_stack([X, y])]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,price", *rows]) + "\n")
    with pytest.warns(UserWarning, match="The response 'price' is constant"):
        lasso_path(sum_table(tmp_path / "t.csv", "price"), alphas=3)


@pytest.mark.parametrize("shape", [(20, 4), (5, 30)])
def test_columns_that_do_not_vary_are_told_once(shape, rng):
    for settings, value in (({}, 2.0), ({"fit_intercept": False}, 0.0)):
        with pytest.warns(UserWarning, match="^No column of X is correlated with the response") as caught:
            lasso_path(np.full(shape, value), rng.standard_normal(shape[0]), alphas=3, **settings)
        assert len(caught) == 1

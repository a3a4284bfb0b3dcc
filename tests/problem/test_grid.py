import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwlasso import LassoCV, lasso_cv, lasso_path, stability_selection
from fwlasso.problem.grid import log_grid

X = np.asfortranarray(np.random.default_rng(0).standard_normal((40, 60)))
Y = X[:, 0] - X[:, 1] + X[:, 2]


def test_a_logarithmic_grid():
    np.testing.assert_allclose(log_grid(0.01, 1.0, 3), [0.01, 0.1, 1.0])
    np.testing.assert_array_equal(log_grid(0.01, 1.0, 1), [1.0])


@pytest.mark.parametrize("x", [X, np.asfortranarray(X[:, :5])], ids=["wide", "tall"])
def test_m_alpha_may_be_beyond_float64(x):
    shares = np.array([2.0, 0.5, 0.1])
    plain = lasso_path(x, Y, alphas=shares)
    large = lasso_path(x, Y * 2.0**1020, alphas=shares * 2.0**1020)  # 40 alpha is more than 2^1024
    np.testing.assert_array_equal(large.n_active, plain.n_active)
    np.testing.assert_array_equal(large.coefs.toarray(), plain.coefs.toarray() * 2.0**1020)


@pytest.mark.parametrize("solver", ["certified", "cd"])
def test_the_largest_alpha_is_one_like_any_other(solver):
    path = lasso_path(X, Y, solver=solver, alphas=[1e308])
    assert (path.n_active.tolist(), path.radii.tolist()) == ([0], [0.0])  # and no warning from inside


def test_the_largest_radius_has_no_finite_gap():
    with pytest.warns(ConvergenceWarning, match="1 of 1 points did not meet stop='gap'") as warned:
        lasso_path(X, Y, solver="afw", radii=[1e308])
    assert len(warned) == 1


@pytest.mark.parametrize("eps", [0.998, 0.9999, 1.0 - 2.0**-53])
@pytest.mark.parametrize("function", [lasso_path, lasso_cv, lambda X, y, **given: LassoCV(**given).fit(X, y)])
def test_radii_without_an_end_are_refused_before_any_work(function, eps):
    with pytest.raises(ValueError, match=r"eps must be below 0\.998 for an automatic grid of radii, or give radii"):
        function(None, None, radii=5, eps=eps)
    assert len(lasso_path(X, Y, radii=3, eps=0.99)) == len(lasso_path(X, Y, alphas=3, eps=eps)) == 3


def test_radii_where_no_column_is_correlated_with_y():
    x = np.asfortranarray(np.tile(np.repeat([1.0, -1.0], 8), (300, 1)).T * (1.0 + np.arange(300) / 300))
    y = np.tile([1.0, -1.0], 8) / 3.0 + 1e-17
    y[0] += 1e-16
    with pytest.raises(ValueError, match=r"radii: no end was found .* no column of X is correlated with y beyond"):
        lasso_path(x, y, radii=3)


@pytest.mark.parametrize("x", [X, np.asfortranarray(X[:, :5])], ids=["wide", "tall"])
def test_what_numpy_does_with_tiny_numbers_is_not_for_the_user_to_set(x):
    y = Y * 1e-310
    expected = lasso_path(x, y, alphas=4)
    with np.errstate(all="raise"):
        found = lasso_path(x, y, alphas=4)
        found.predict(x)
        found.score(x, y)
        lasso_cv(x, y, alphas=4)
        LassoCV(alphas=4).fit(x, y).predict(x)
        stability_selection(x, y, alphas=4, n_subsamples=2, random_state=0)
    np.testing.assert_array_equal(found.coefs.toarray(), expected.coefs.toarray())

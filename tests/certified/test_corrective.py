"""The certified path against an independent judge: plain numpy in long double, on formed columns, over all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from conftest import STORAGES, UNITS, held, random_values
from fwlasso import Status, lasso_path
from fwlasso._core.penalties import L1
from fwlasso.datasets import load_diabetes_products
from judge import exact, forms_of, gap_of_residual, judge, recomputed_gap


@pytest.mark.parametrize("grid", [{"alphas": 12, "eps": 1e-3}, {"radii": 12}, {"radii": [0.0, 0.2, 0.8, 1.6, 50.0]}])
def test_certificates_hold_for_every_storage_and_unit(storage, units, grid, data):
    values, y = data
    fit_intercept, standardize = UNITS[units]
    values = held(storage, values)
    path = lasso_path(
        STORAGES[storage](values), y, fit_intercept=fit_intercept, standardize=standardize, tol=1e-6, **grid
    )
    assert set(path.statuses) == {Status.CERTIFIED}
    assert judge(path, values, y).max() <= 1e-6


def test_a_claim_is_about_the_coefficients_that_are_returned(data):
    """The judge is not fooled: other coefficients have other gaps."""
    values, y = data
    path = lasso_path(values, y, alphas=[0.1], tol=1e-8)
    given = exact(values, y, True, False)
    a = path.coef(0).astype(np.longdouble)
    assert recomputed_gap(given, L1(np.longdouble(3.0)), a) <= 1e-8
    a[np.flatnonzero(a)[0]] *= 1.01
    assert recomputed_gap(given, L1(np.longdouble(3.0)), a) > 1e-7


# Along the grid ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", UNITS)
def test_the_path_over_radii_is_the_path_over_alphas_at_its_norms(units, data):
    values, y = data
    fit_intercept, standardize = UNITS[units]
    options = {"tol": 1e-10, "fit_intercept": fit_intercept, "standardize": standardize}
    over_alphas = lasso_path(values, y, alphas=10, **options)
    over_radii = lasso_path(values, y, radii=over_alphas.radii, **options)
    scale = np.linalg.norm(y)
    np.testing.assert_allclose(over_radii.predict(values), over_alphas.predict(values), rtol=0, atol=1e-4 * scale)
    np.testing.assert_allclose(over_radii.alphas[1:], over_alphas.alphas[1:], rtol=1e-3)


@pytest.mark.parametrize(("wrap", "standardize"), [(np.asfortranarray, True), (sp.csc_array, False)])
@pytest.mark.parametrize("grid", [{"alphas": 10, "eps": 1e-3}, {"radii": 10}])
def test_the_coefficient_of_copies_is_on_the_first_of_them(wrap, standardize, grid, rng):
    values = random_values(rng, 40, 12)
    y = values[:, :5] @ [2.0, -1.0, 0.5, 1.0, -1.0] + 0.3 * rng.standard_normal(40)
    order = rng.permutation(np.repeat(np.arange(12), 4))
    X = values[:, order] * rng.choice([-1.0, 1.0], order.size)
    path = lasso_path(wrap(X), y, tol=1e-8, standardize=standardize, **grid)
    judge(path, X, y)
    _, firsts = np.unique(order, return_index=True)
    used = np.unique(path.coefs.indices)
    assert used.size > 5
    assert np.isin(used, firsts).all()


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(4))
def test_the_coefficient_of_copies_is_on_the_first_of_them_however_many_come_up_at_once(seed):
    """Thousands of equal correlations: where only some of them are looked at, the first must be among those."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((50, 30))
    y = values[:, :5] @ [3.0, 2.8, -2.9, 2.7, 2.6] + 0.05 * rng.standard_normal(50)
    order = rng.permutation(np.repeat(np.arange(30), 400))
    X = np.asfortranarray(values[:, order] * rng.choice([-1.0, 1.0], order.size))
    path = lasso_path(X, y, alphas=10, tol=1e-6)
    assert path.gaps.max() <= 1e-6
    _, firsts = np.unique(order, return_index=True)
    assert np.isin(np.unique(path.coefs.indices), firsts).all()


@pytest.mark.parametrize("name", ["alphas", "radii"])
def test_an_end_before_the_first_point_returns_zero_with_its_gap(name, data):
    values, y = data
    grid = [0.2, 0.1] if name == "alphas" else [1.0, 2.0]
    with pytest.warns(ConvergenceWarning, match="The path has 1 of 2 points"):
        path = lasso_path(values, y, callback=lambda progress: True, tol=1e-7, **{name: grid})
    assert path.statuses == (Status.STOPPED,)
    assert path.n_active.tolist() == [0]
    assert path.gaps[0] == pytest.approx(
        float(gap_of_residual(exact(values, y, True, False), forms_of(path)[0], np.zeros(40)))
    )


def test_a_limit_on_iterations_is_named(data):
    values, y = data
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        path = lasso_path(values, y, alphas=[0.01], tol=1e-10, max_iter=1)
    assert path.statuses == (Status.MAX_ITER,)
    given = exact(values, y, True, False)
    gap = recomputed_gap(given, forms_of(path)[0], path.coef(0).astype(np.longdouble))
    assert path.gaps[0] == pytest.approx(float(gap), rel=1e-6)


def test_rounds_without_progress_are_not_taken_for_rounding_too_early():
    """Products of few features: twenty rounds without progress ended the last point at a gap of 0.17."""
    data = load_diabetes_products(3)
    path = lasso_path(data.X, data.y, standardize=True)
    assert (path.settings["eps"], path.summary_of_statuses()) == (1e-4, "100 certified")

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import Case, formed, make_case
from fwlasso.design import as_design
from fwlasso.parallel import Workers
from fwlasso.problem import as_response, build_problem, rank_bound


def test_one_pass_tells_products_and_norms(case: Case):
    problem = case.problem
    np.testing.assert_allclose(problem.xty, case.Z.T @ case.y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(problem.norms2, (case.Z**2).sum(axis=0), rtol=1e-9, atol=1e-12)
    assert problem.yy == pytest.approx(case.y @ case.y)
    assert problem.lambda_max == pytest.approx(np.abs(case.Z.T @ case.y).max())
    assert problem.shape == case.Z.shape


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1 / 3])
def test_constant_columns_become_zero_columns(value, rng):
    values = np.column_stack([np.full(7, value), rng.standard_normal(7)])
    problem = make_case(values, rng.standard_normal(7), units="standardized").problem
    assert problem.norms2[0] == problem.xty[0] == 0.0
    assert problem.norms2[1] == pytest.approx(7.0)


def test_coefficients_go_back_to_the_units_of_the_user(case: Case, rng):
    active = np.array([1, 5, 6])
    weights = rng.standard_normal(3)
    coefs, (intercept, without) = case.problem.to_user_units(np.array([0, 3, 3]), active, weights)
    assert without == case.problem.y_mean
    raw = case.problem.X.columns if hasattr(case.problem.X, "columns") else case.problem.X
    dense = formed(raw)
    expected = case.Z[:, active] @ weights + case.problem.y_mean
    np.testing.assert_allclose(dense[:, active] @ coefs + intercept, expected, rtol=1e-9, atol=1e-9)


def test_coefficients_come_back_from_the_units_of_the_user(case: Case, rng):
    active = np.array([1, 5, 6, 33])
    weights = rng.standard_normal(4)
    coefs = np.zeros(40)
    coefs[active], _ = case.problem.to_user_units(np.array([0, 4]), active, weights)
    indices, back = case.problem.from_user_units(coefs)
    np.testing.assert_array_equal(indices, active)
    np.testing.assert_allclose(back, weights, rtol=1e-15)


def test_no_coefficients_come_back_as_none(case: Case):
    indices, weights = case.problem.from_user_units(np.zeros(40))
    assert indices.size == weights.size == 0
    assert np.issubdtype(indices.dtype, np.integer)


@pytest.mark.parametrize("units", ["centred", "standardized"])
def test_coefficients_of_constant_columns_do_not_come_back(units, rng):
    values = np.column_stack([rng.standard_normal(7), np.full(7, 3.0), rng.standard_normal(7)])
    problem = make_case(values, rng.standard_normal(7), units=units).problem
    indices, weights = problem.from_user_units(np.array([2.0, 5.0, -1.0]))
    np.testing.assert_array_equal(indices, [0, 2])
    np.testing.assert_allclose(problem.to_user_units(np.array([0, 2]), indices, weights)[0], [2.0, -1.0], rtol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("wrap", [np.asfortranarray, sp.csc_array])
def test_nan_infinity_and_overflow_in_x_are_found_in_the_first_pass(bad, wrap):
    values = np.ones((3, 4))
    values[1, 2] = bad
    with pytest.raises(ValueError, match=r"X contains NaN, infinity.* in column 2$"):
        build_problem(as_design(wrap(values)), np.arange(3.0), True, False, Workers(1))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
        ([1.0, np.inf, 2.0], "y contains NaN"),
        (np.ones((3, 2)), "y should be a 1d array"),
        (["a", "b", "c"], "convert string|y"),
    ],
)
def test_bad_responses_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        as_response(y, 3)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_kept", [10, 7])
def test_no_more_columns_are_independent_than_the_rank_bound(rng, fit_intercept, n_kept):
    X = np.asfortranarray(rng.standard_normal((10, 20)))
    kept = None if n_kept == 10 else np.arange(10) < n_kept
    with Workers(1) as workers:
        problem = build_problem(as_design(X), rng.standard_normal(10), fit_intercept, False, workers, kept)
    rows = X[:n_kept] - fit_intercept * X[:n_kept].mean(axis=0)
    assert rank_bound(problem) == np.linalg.matrix_rank(rows) == n_kept - fit_intercept

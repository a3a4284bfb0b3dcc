"""Problems that are one another's: weights and repetition, factors and scaled columns, a ridge and rows below."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fwlasso import LassoPath, lasso_path

SOLVERS = ["gram", "working-set"]
M, P = 40, 15


def path_of(X: np.ndarray, y: np.ndarray, **settings: Any) -> LassoPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where float64 does not tell such gaps
        return lasso_path(np.asfortranarray(X), y, **{"alphas": 6, "eps": 1e-2, "tol": 1e-16} | settings)


def assert_same(found: LassoPath, expected: LassoPath) -> None:
    """The same bits."""
    np.testing.assert_array_equal(found.coefs.toarray(), expected.coefs.toarray())
    for name in ("alphas", "radii", "intercepts", "gaps", "r2"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.statuses == expected.statuses


def assert_near(found: Any, expected: Any, rel: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=rel, atol=rel * np.abs(expected).max())


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((M, P)) * 10.0 ** rng.uniform(-0.5, 0.5, P) + rng.standard_normal(P)
    return X, X[:, :4] @ [2.0, -1.5, 1.0, 0.5] + rng.standard_normal(M) + 2.0


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


@pytest.mark.parametrize("standardize", [False, True])
def test_what_is_no_term_changes_no_bit(problem, solver, standardize):
    X, y = problem
    settings = {"solver": solver, "standardize": standardize}
    plain = path_of(X, y, **settings)
    for none in (
        {"sample_weight": np.ones(M)},
        {"offset": np.zeros(M)},
        {"l1_ratio": 1.0, "ridge": 0.0},
        {"lower": -np.inf, "upper": np.full(P, np.inf)},
        {"penalty_factor": np.ones(P)},
        {"penalty_factor": {3: 1.0}},
        {"unpenalized": []},
    ):
        assert_same(path_of(X, y, **none, **settings), plain)


def test_factors_of_powers_of_two_are_scaled_columns(problem, solver, rng):
    X, y = problem
    v = 2.0 ** rng.integers(-3, 4, P)
    scaled = path_of(X / v, y, solver=solver)
    found = path_of(X, y, solver=solver, penalty_factor=v)
    np.testing.assert_array_equal(found.coefs.toarray(), scaled.coefs.toarray() / v[:, None])
    for name in ("alphas", "radii", "gaps"):
        np.testing.assert_array_equal(getattr(found, name), getattr(scaled, name))


def test_an_infinite_factor_removes_a_column(problem, solver):
    X, y = problem
    for terms in ({}, {"positive": True}, {"l1_ratio": 0.5}):
        best = int(abs(path_of(X, y, solver=solver).coefs).sum(axis=1).argmax())
        found = path_of(X, y, solver=solver, penalty_factor={best: np.inf}, **terms)
        others = np.arange(P) != best
        removed = path_of(X[:, others], y, solver=solver, alphas=found.alphas, **terms)
        assert not found.coefs.toarray()[best].any()
        np.testing.assert_array_equal(found.coefs.toarray()[others] != 0.0, removed.coefs.toarray() != 0.0)
        assert_near(found.coefs.toarray()[others], removed.coefs.toarray())
        assert_near(found.intercepts, removed.intercepts)


def test_a_column_of_ones_without_a_penalty_is_an_intercept(problem, solver):
    X, y = problem
    for terms in ({}, {"l1_ratio": 0.5}, {"upper": {1: 0.3}}):
        expected = path_of(X, y, solver=solver, **terms)
        ones, settings = np.column_stack([X, np.ones(M)]), {"solver": solver, "fit_intercept": False}
        found = path_of(ones, y, alphas=expected.alphas, unpenalized=[P], **settings, **terms)
        assert_near(found.coefs.toarray()[:P], expected.coefs.toarray())
        assert_near(found.coefs.toarray()[P], expected.intercepts)


def test_columns_without_a_penalty_are_taken_out_of_all_others(problem, solver):
    X, y = problem
    some, others = np.array([1, 6]), np.setdiff1d(np.arange(P), [1, 6])
    basis, _ = np.linalg.qr(X[:, some])
    Z, q = X[:, others] - basis @ (basis.T @ X[:, others]), y - basis @ (basis.T @ y)
    for terms in ({}, {"l1_ratio": 0.5}, {"ridge": 0.1}):
        expected = path_of(Z, q, solver=solver, fit_intercept=False, **terms)
        settings = {"solver": solver, "fit_intercept": False, "alphas": expected.alphas}
        found = path_of(X, y, unpenalized=some.tolist(), **settings, **terms).coefs.toarray()
        assert_near(found[others], expected.coefs.toarray(), 1e-9 if solver == "gram" else 1e-6)
        rest = y[:, None] - X[:, others] @ found[others]
        assert_near(found[some], np.linalg.lstsq(X[:, some], rest, rcond=None)[0])


def test_bounds_beyond_all_coefficients_are_none(problem, solver):
    X, y = problem
    plain = path_of(X, y, solver=solver)
    assert_near(path_of(X, y, solver=solver, lower=-1e300, upper=1e300).coefs.toarray(), plain.coefs.toarray(), 1e-6)
    one = path_of(X, y, solver=solver, positive=True)
    other = path_of(X, y, solver=solver, lower=0.0, alphas=one.alphas)
    assert_near(other.coefs.toarray(), one.coefs.toarray(), 1e-6)


def test_nonnegative_coefficients_of_columns_with_both_signs_are_the_lasso(problem, solver):
    X, y = problem
    plain = path_of(X, y, solver=solver)
    for grid in ("alphas", "radii"):
        both = path_of(
            np.hstack([X, -X]), y, solver=solver, positive=True, **{"alphas": None, grid: getattr(plain, grid)}
        )
        coefs = both.coefs.toarray()
        assert (coefs >= 0.0).all()
        assert_near(coefs[:P] - coefs[P:], plain.coefs.toarray(), 1e-6)


@pytest.mark.parametrize(
    "terms", [{}, {"l1_ratio": 0.5}, {"ridge": 0.02}, {"positive": True}, {"lower": -0.1, "upper": 0.4}]
)
def test_orthonormal_columns_have_a_closed_form(solver, terms, rng):
    Z, _ = np.linalg.qr(rng.standard_normal((M, P)))
    y, v = rng.standard_normal(M), rng.uniform(0.5, 2.0, P)
    c, ratio = Z.T @ y / M, terms.get("l1_ratio", 1.0)
    alphas = np.abs(c).max() / ratio * np.array([0.8, 0.3, 0.05])
    found = path_of(Z, y, solver=solver, fit_intercept=False, alphas=alphas, penalty_factor=v, **terms)
    low, high = (0.0 if terms.get("positive") else terms.get("lower", -np.inf)), terms.get("upper", np.inf)
    for alpha, b in zip(alphas, found.coefs.toarray().T, strict=True):
        soft = np.sign(c) * np.maximum(np.abs(c) - alpha * ratio * v, 0.0)
        bent = 1.0 / M + v * (alpha * (1.0 - ratio) + terms.get("ridge", 0.0))
        assert_near(b, np.clip(soft / bent, low, high))


def test_copies_share_under_a_ridge(problem, solver):
    """And are worth one column with the penalty of one and a share of the ridge."""
    X, y = problem
    X = np.column_stack([X, X[:, 0], -X[:, 0]])
    for terms in ({"l1_ratio": 0.7}, {"ridge": 0.1}):
        b = path_of(X, y, solver=solver, **terms).coefs.toarray()
        assert b[0].any()
        assert_near(b[P], b[0])
        assert_near(b[P + 1], -b[0])


def test_a_ridge_is_rows_below(problem, solver):
    X, y = problem
    ridge = 0.3
    below = np.vstack([X, np.sqrt(ridge * M) * np.eye(P)])
    settings = {"solver": solver, "fit_intercept": False}
    found = path_of(X, y, ridge=ridge, **settings)
    expected = path_of(below, np.append(y, np.zeros(P)), alphas=found.alphas * M / (M + P), **settings)
    assert_near(found.coefs.toarray(), expected.coefs.toarray())


@pytest.mark.parametrize("terms", [{"l1_ratio": 0.5}, {"l1_ratio": 0.9, "positive": True}, {"upper": 0.2}])
def test_a_point_does_not_depend_on_its_path(problem, solver, terms):
    X, y = problem
    path = path_of(X, y, solver=solver, **terms)
    for alpha, b in zip(path.alphas, path.coefs.toarray().T, strict=True):
        assert_near(path_of(X, y, solver=solver, alphas=[alpha], **terms).coefs.toarray()[:, 0], b, 1e-8)


@pytest.mark.parametrize("terms", [{}, {"l1_ratio": 0.5}, {"positive": True}, {"unpenalized": [2]}])
def test_whole_weights_repeat_zero_removes_and_their_size_has_no_say(problem, solver, terms, rng):
    X, y = problem
    times = rng.integers(0, 4, M)
    repeated = path_of(np.repeat(X, times, axis=0), np.repeat(y, times), solver=solver, **terms)
    for weights in (times, 7.0 * times):
        found = path_of(X, y, solver=solver, alphas=repeated.alphas, sample_weight=weights, **terms)
        assert_near(found.coefs.toarray(), repeated.coefs.toarray(), 1e-10)
        assert_near(found.intercepts, repeated.intercepts, 1e-10)
        assert_near(found.r2, repeated.r2, 1e-10)


@pytest.mark.parametrize("terms", [{}, {"unpenalized": [2]}, {"l1_ratio": 0.5}])
@pytest.mark.parametrize("below", [1e-15, 1e-12, 1e-8])
def test_a_path_may_begin_just_below_its_first_column(problem, solver, terms, below):
    X, y = problem
    path = path_of(X, y, solver=solver, tol=1e-9, **terms)
    found = path_of(X, y, solver=solver, tol=1e-9, alphas=path.alphas * (1.0 - below), **terms)
    assert {status.value for status in found.statuses} == {"certified"}
    assert_near(found.coefs.toarray(), path.coefs.toarray(), 1e-4)

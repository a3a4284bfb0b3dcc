"""Factors, bounds and ridges of columns: what is asked in one way equals what is asked in another."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from conftest import UNITS, random_values
from fwlasso import LassoPath, Status, lasso_path

INF = np.inf
SHAPES = [(30, 12), (16, 28)]
STORED = {"dense": np.asfortranarray, "sparse": sp.csc_array}
routes = pytest.mark.parametrize("route", ["gram", "working-set"])


def solve(X: Any, y: np.ndarray, route: str, **options: Any) -> LassoPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        given = {} if options.keys() & {"alphas", "radii"} else {"alphas": 5}
        return lasso_path(X, y, solver=route, n_threads=1, **{"tol": 1e-12, **given, **options})


def made(rng: np.random.Generator, m: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    values = random_values(rng, m, p) * 10.0 ** rng.uniform(-0.5, 0.5, p)
    return values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 3.0


def assert_same(path: LassoPath, other: LassoPath, atol: float = 0.0, times: Any = 1.0) -> None:
    """Compare with a path whose coefficients, by column, are so many times those of the other."""
    found, expected = path.coefs.toarray(), other.coefs.toarray() * np.reshape(times, (-1, 1))
    if atol == 0.0:
        np.testing.assert_array_equal(path.gaps, other.gaps)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol * np.abs(expected).max())
    for name in ("alphas", "radii", "r2", "intercepts"):
        mine, its = getattr(path, name), getattr(other, name)
        np.testing.assert_allclose(mine, its, rtol=0, atol=atol * max(1.0, np.abs(its).max()), err_msg=name)


@routes
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("units", UNITS)
def test_terms_that_ask_for_nothing_are_the_lasso_to_the_bit(route, stored, units, rng):
    fit_intercept, standardize = UNITS[units]
    settings = {"fit_intercept": fit_intercept, "standardize": standardize}
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        plain = solve(STORED[stored](values), y, route, **settings)
        for asked in (
            {"penalty_factor": np.ones(p)},
            {"lower": -INF, "upper": np.full(p, INF)},
            {"l1_ratio": 1, "ridge": 0.0, "positive": False},
        ):
            assert_same(solve(STORED[stored](values), y, route, **settings, **asked), plain)


@routes
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_factors_of_powers_of_two_are_scaled_columns_to_the_bit(route, stored, grid, rng):
    for (m, p), fit_intercept in zip(SHAPES, (True, False), strict=True):
        values, y = made(rng, m, p)
        v = 2.0 ** rng.integers(-3, 4, p)
        for asked in ({}, {"positive": True}):
            settings = {"fit_intercept": fit_intercept, grid: 5, **asked}
            path = solve(STORED[stored](values), y, route, penalty_factor=v, **settings)
            assert_same(path, solve(STORED[stored](values / v), y, route, **settings), times=1.0 / v)


@routes
@pytest.mark.parametrize("units", UNITS)
def test_a_column_of_an_infinite_factor_is_not_there(route, units, rng):
    fit_intercept, standardize = UNITS[units]
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        out = np.arange(p) % 3 == 0  # the best one among them
        settings = {"fit_intercept": fit_intercept, "standardize": standardize, "l1_ratio": 0.9}
        path = solve(np.asfortranarray(values), y, route, penalty_factor=np.where(out, INF, 1.0), **settings)
        assert not path.coefs.toarray()[out].any()
        other = solve(np.asfortranarray(values[:, ~out]), y, route, **settings, alphas=path.alphas)
        there = path.coefs.toarray()[~out]
        np.testing.assert_array_equal(there != 0.0, other.coefs.toarray() != 0.0)
        np.testing.assert_allclose(there, other.coefs.toarray(), rtol=0, atol=1e-9 * np.abs(there).max())


@routes
def test_any_factors_are_those_of_the_penalty(route, rng):
    # In units of v_j b_j it is the Lasso, a ridge and bounds in their own.
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        v, top = rng.uniform(0.3, 3.0, p), rng.uniform(0.0, 1.0, p)
        settings = {"fit_intercept": False, "penalty_factor": v, "upper": top}
        path = solve(np.asfortranarray(values), y, route, **settings)
        assert (path.coefs.toarray() <= top[:, None]).all()
        other = solve(np.asfortranarray(values / v), y, route, fit_intercept=False, upper=top * v, alphas=path.alphas)
        assert_same(path, other, 1e-9, times=1.0 / v)
        np.testing.assert_allclose(path.radii, np.abs(path.coefs.toarray()).T @ v, rtol=1e-12)


@routes
def test_a_positive_lasso_of_both_signs_is_the_lasso(route, some_units, rng):
    fit_intercept, standardize = UNITS[some_units]
    settings = {"fit_intercept": fit_intercept, "standardize": standardize}
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        plain = solve(np.asfortranarray(values), y, route, **settings)
        both = np.asfortranarray(np.hstack([values, -values]))
        for asked in ({"positive": True}, {"lower": 0.0}, {"lower": 0.0, "upper": 1e300}):
            path = solve(both, y, route, **settings, **asked, alphas=plain.alphas)
            coefs = path.coefs.toarray()
            assert (coefs >= 0.0).all()
            np.testing.assert_allclose(coefs[:p] - coefs[p:], plain.coefs.toarray(), rtol=0, atol=1e-5)
            np.testing.assert_allclose(path.r2, plain.r2, rtol=0, atol=1e-11)


@routes
def test_a_fixed_ridge_is_a_lasso_with_rows_below(route, rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        below = np.sqrt(m * 0.3) * np.eye(p)
        for grid in ("alphas", "radii"):
            path = solve(np.asfortranarray(values), y, route, fit_intercept=False, ridge=0.3, **{grid: 5})
            rows, response = np.vstack([values, below]), np.append(y, np.zeros(p))
            scale = (m + p) / m if grid == "radii" else m / (m + p)
            asked = {grid: path.radii if grid == "radii" else scale * path.alphas}
            other = solve(np.asfortranarray(rows), response, route, fit_intercept=False, **asked)
            found, expected = path.coefs.toarray(), other.coefs.toarray()
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
            if grid == "radii":  # the penalty that leads to it is told as well
                np.testing.assert_allclose(path.alphas, scale * other.alphas, rtol=1e-4)


@routes
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_copies_share_a_coefficient_under_a_ridge(route, grid, rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        copied = np.asfortranarray(np.hstack([values, values[:, :2], values[:, :2]]))
        ridge = {"ridge": 0.1} if grid == "radii" else {"l1_ratio": 0.7}
        path = solve(copied, y, route, **{grid: 5}, **ridge)
        coefs = path.coefs.toarray()
        for j in range(2):
            copies = coefs[[j, p + j, p + 2 + j]]
            np.testing.assert_allclose(copies, np.tile(copies.mean(axis=0), (3, 1)), rtol=0, atol=1e-5)
        assert coefs[0, -1] != 0.0


@routes
def test_orthonormal_columns_have_a_closed_form(route, rng):
    m, p = 40, 10
    Z = np.linalg.qr(rng.standard_normal((m, p)))[0]
    y = Z @ rng.standard_normal(p) * 3.0 + 0.1 * rng.standard_normal(m)
    v, top, l1_ratio = rng.uniform(0.5, 2.0, p), rng.uniform(0.5, 3.0, p), 0.6
    settings = {"penalty_factor": v, "lower": -0.5 * top, "upper": top, "l1_ratio": l1_ratio, "fit_intercept": False}
    path = solve(np.asfortranarray(Z), y, route, **settings)
    c = Z.T @ y
    for k, alpha in enumerate(path.alphas):
        lam, mu = m * alpha * l1_ratio * v, m * alpha * (1.0 - l1_ratio) * v
        b = np.clip(np.sign(c) * np.maximum(np.abs(c) - lam, 0.0) / (1.0 + mu), -0.5 * top, top)
        np.testing.assert_allclose(path.coefs.toarray()[:, k], b, rtol=0, atol=1e-6)


@routes
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_objectives_are_those_of_scikit_learn(route, positive, l1_ratio, rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        w = rng.uniform(0.1, 3.0, m)
        X = np.asfortranarray(values)
        path = solve(X, y, route, sample_weight=w, positive=positive, l1_ratio=l1_ratio, alphas=4, eps=0.05)
        assert set(path.statuses) == {Status.CERTIFIED}

        def objective(coef: np.ndarray, intercept: float, alpha: float, v: np.ndarray, w: np.ndarray) -> float:
            r = v[:, 0] - v[:, 1:] @ coef - intercept
            return float(w @ r**2 / (2 * w.sum()) + alpha * (
                l1_ratio * np.abs(coef).sum() + 0.5 * (1.0 - l1_ratio) * coef @ coef
            ))  # fmt: skip

        data = np.column_stack([y, values])
        for k, alpha in enumerate(path.alphas[1:], 1):
            model = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, positive=positive, tol=1e-14, max_iter=200_000)
            model.fit(X, y, sample_weight=w)
            theirs = objective(model.coef_, model.intercept_, alpha, data, w)
            ours = objective(path.coefs.toarray()[:, k], path.intercepts[k], alpha, data, w)
            assert ours == pytest.approx(theirs, rel=1e-11)
        # A path at a ratio is single fits.
        single = solve(X, y, route, sample_weight=w, positive=positive, l1_ratio=l1_ratio, alphas=path.alphas[2:3])
        np.testing.assert_allclose(single.coefs.toarray()[:, 0], path.coefs.toarray()[:, 2], rtol=0, atol=1e-5)


@routes
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_where_nothing_is_positive_the_empty_model_is_proved(route, grid, rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        centred = values - values.mean(axis=0)
        X = np.asfortranarray(-values * np.sign(centred.T @ (y - y.mean())))
        with pytest.warns(UserWarning, match="all models are empty"):
            path = solve(X, y, route, positive=True, **{grid: np.array([0.5, 0.1, 0.0])})
        assert not path.coefs.nnz
        assert set(path.statuses) == {Status.CERTIFIED}
        np.testing.assert_allclose(path.gaps, 0.0, atol=1e-14)


def test_least_squares_with_a_ridge_or_within_bounds_has_a_proof(rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        path = solve(np.asfortranarray(values), y, "gram", lower=-0.3, upper=0.2, alphas=[0.1, 0.0], tol=1e-7)
        assert set(path.statuses) == {Status.CERTIFIED}
        ridge = solve(np.asfortranarray(values), y, "gram", ridge=0.5, alphas=[0.1, 0.0], tol=1e-7)
        assert set(ridge.statuses) == {Status.CERTIFIED}
        Z, v = values - values.mean(axis=0), y - y.mean()
        expected = np.linalg.solve(Z.T @ Z + m * 0.5 * np.eye(p), Z.T @ v)
        np.testing.assert_allclose(ridge.coefs.toarray()[:, 1], expected, rtol=0, atol=2e-3)

"""Factors, bounds and ridges of columns: what else is told of their paths; see test_identities.py."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from attack.duality import General
from attack.options import free_and_dependent
from conftest import random_values
from fwlasso import LassoPath, Status, lasso_path
from fwlasso.options import Options
from fwlasso.path import solve_path
from judge import exact, forms_of, judge, moved, recomputed_gap, untold, wide

SHAPES = [(30, 12), (16, 28)]
KINDS = [General(lower=-0.2, upper=0.5), General(positive=True), General(l1_ratio=0.6), General(ridge=0.2)]
each_kind = pytest.mark.parametrize("asked", KINDS, ids=lambda asked: str(asked.keywords()))
routes = pytest.mark.parametrize("route", ["gram", "working-set"])


def solve(X: Any, y: np.ndarray, route: str, **options: Any) -> LassoPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        given = {} if options.keys() & {"alphas", "radii"} else {"alphas": 5}
        return lasso_path(X, y, solver=route, n_threads=1, **{"tol": 1e-12, **given, **options})


def made(rng: np.random.Generator, m: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    values = random_values(rng, m, p) * 10.0 ** rng.uniform(-0.5, 0.5, p)
    return values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 3.0


def assert_same(path: LassoPath, other: LassoPath, atol: float, times: Any) -> None:
    """Compare with a path whose coefficients, by column, are so many times those of the other."""
    found, expected = path.coefs.toarray(), other.coefs.toarray() * np.reshape(times, (-1, 1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol * np.abs(expected).max())
    for name in ("alphas", "radii", "r2", "intercepts"):
        mine, its = getattr(path, name), getattr(other, name)
        np.testing.assert_allclose(mine, its, rtol=0, atol=atol * max(1.0, np.abs(its).max()), err_msg=name)


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
        assert_same(path, other, 1e-9, 1.0 / v)
        np.testing.assert_allclose(path.radii, np.abs(path.coefs.toarray()).T @ v, rtol=1e-12)


@routes
def test_a_radius_with_a_ridge_tells_its_penalty(route, rng):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        rows, response = np.vstack([values, np.sqrt(m * 0.3) * np.eye(p)]), np.append(y, np.zeros(p))
        path = solve(np.asfortranarray(values), y, route, fit_intercept=False, ridge=0.3, radii=5)
        other = solve(np.asfortranarray(rows), response, route, fit_intercept=False, radii=path.radii)
        np.testing.assert_allclose(path.coefs.toarray(), other.coefs.toarray(), rtol=0, atol=1e-6)
        np.testing.assert_allclose(path.alphas, (m + p) / m * other.alphas, rtol=1e-4)


@routes
@each_kind
def test_starts_and_segments_are_those_of_the_problem(route, asked, rng, tmp_path):
    for m, p in SHAPES:
        values, y = made(rng, m, p)
        X, settings = np.asfortranarray(values), {"solver": route, "tol": 1e-8, "n_threads": 1, **asked.keywords()}
        folder = tmp_path / str(m)
        path = lasso_path(X, y, alphas=7, checkpoint=folder, random_state=0, **settings)
        judge(path, values, y, asked)
        with pytest.raises(ValueError, match="holds another run"):
            lasso_path(
                X, y, alphas=7, checkpoint=folder, random_state=0, **{**settings, "positive": not asked.positive}
            )
        coefs = path.coefs.toarray()
        for start in (coefs[:, 3], 3.0 * coefs[:, 6] + 0.1, -coefs[:, 5]):  # the solution, and outside of all bounds
            judge(solve_path(X, y, Options(alphas=path.alphas[3:4], **settings), start), values, y, asked)


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


@routes
def test_nearly_dependent_columns_without_a_penalty_claim_no_more_than_is_true(route):
    for grid in ("alphas", "radii"):
        for number in range(50, 58):
            data = free_and_dependent(np.random.default_rng([number, 1]))
            path = solve(np.asfortranarray(data.X), data.y, route, **{grid: 4, "tol": 1e-6, **data.asked.keywords()})
            given = exact(data.X, data.y, True, False, data.asked)
            for k, penalty in enumerate(forms_of(path, data.asked)):
                a = wide(path.scaled_coefs.toarray()[:, k])
                slack = untold(given, penalty, a) + moved(given, penalty, a)
                assert path.gaps[k] >= recomputed_gap(given, penalty, a) - slack


@each_kind
def test_columns_without_room_are_solved_in_place(asked, rng, monkeypatch):
    monkeypatch.setattr("fwlasso.certified.copier.MOST_BYTES", 0)
    values, y = made(rng, 16, 28)
    free = {"unpenalized": [1], **asked.keywords()}
    if not asked.positive and asked.lower is None:
        with pytest.warns(UserWarning, match="on the data in place"):
            path = lasso_path(np.asfortranarray(values), y, solver="working-set", alphas=4, **free)
        judge(path, values, y, asked._replace(penalty_factor=(np.arange(28) != 1).astype(float)))
    if asked.ridge:
        with pytest.raises(MemoryError, match="do not fit"):
            lasso_path(np.asfortranarray(values), y, solver="working-set", radii=[0.5, 1.0], **free)
    for grid in ("alphas", "radii"):
        if grid == "alphas" or asked.positive or asked.ridge:
            with pytest.warns(UserWarning, match="on the data in place"):
                path = lasso_path(np.asfortranarray(values), y, solver="working-set", **{grid: 4}, **asked.keywords())
            judge(path, values, y, asked)

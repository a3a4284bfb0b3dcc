"""Samples with weights: a part of the samples against a matrix that has no others, whole numbers against copies."""

import numpy as np
import pytest

from conftest import STORAGES, UNITS, held, plain_columns, random_values
from fwlasso import lasso_path
from fwlasso._core.columns import add_column, dot_column, shape
from fwlasso._core.jit import kernel
from fwlasso._core.samples import center, sample_vector, weight_vector
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.options import Options
from fwlasso.path import solve, solve_context
from fwlasso.problem.build import build_problem
from fwlasso.result import LassoPath
from fwlasso.solvers.registry import SOLVERS


@pytest.fixture
def kept(rng):
    kept = rng.random(40) < 0.7
    kept[[0, -1]] = False, True
    return kept


def make_data(storage, rng):
    values = held(storage, random_values(rng, 40, 50))
    return values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(40) + 3.0


@kernel
def _dot(X, j, v):
    return dot_column(X, j, v)


@kernel
def _add(X, j, a, v):
    add_column(X, j, a, v)


def test_the_problem_is_that_of_the_samples_alone(storage, units, kept, rng):
    values, y = make_data(storage, rng)
    fit_intercept, standardize = UNITS[units]
    problem = build_problem(as_design(STORAGES[storage](values)), y, fit_intercept, standardize, Workers(1), kept)
    Z = plain_columns(values[kept], fit_intercept, standardize)
    response = y[kept] - y[kept].mean() if fit_intercept else y[kept]
    assert problem.shape == (kept.sum(), 50)
    assert shape(problem.X) == problem.shape
    np.testing.assert_array_equal(weight_vector(problem.samples), kept)
    scale = np.abs(Z).max()
    np.testing.assert_allclose(problem.y[:-1][kept], response, atol=1e-12)
    assert not problem.y[:-1][~kept].any()
    np.testing.assert_allclose(problem.norms2, (Z**2).sum(axis=0), rtol=1e-10, atol=1e-12 * scale**2)
    np.testing.assert_allclose(problem.xty, Z.T @ response, rtol=1e-9, atol=1e-9 * scale)
    v = sample_vector(np.where(kept, rng.standard_normal(40), 0.0))
    for j in range(50):
        assert _dot(problem.X, j, v) == pytest.approx(Z[:, j] @ v[:-1][kept], abs=1e-9 * scale)
    total = np.zeros(41)
    _add(problem.X, 3, 2.0, total)
    _add(problem.X, 7, -1.0, total)
    center(problem.samples, total)
    np.testing.assert_allclose(total[:-1][kept], 2.0 * Z[:, 3] - Z[:, 7], atol=1e-9 * scale)
    assert not total[:-1][~kept].any()


def masked_path(X, y, kept, **settings) -> LassoPath:
    options = Options(**{"stop": "gap", "max_iter": 100_000, "n_threads": 1, **settings})
    with solve_context(X, y, options) as context:
        units = options.fit_intercept, options.standardize
        problem = build_problem(context.data.design, context.data.response, *units, context.workers, kept)
        return solve(*context.begin(), problem)


def test_the_certified_path_is_that_of_the_samples_alone(some_storage, some_units, kept, rng):
    values, y = make_data(some_storage, rng)
    fit_intercept, standardize = UNITS[some_units]
    settings = {"tol": 1e-10, "fit_intercept": fit_intercept, "standardize": standardize, "alphas": 12}
    path = masked_path(STORAGES[some_storage](values), y, kept, **settings)
    alone = lasso_path(np.asfortranarray(values[kept]), y[kept], **settings)
    np.testing.assert_allclose(path.alphas, alone.alphas, rtol=1e-9)
    scale = np.abs(alone.predict(values)).max()
    np.testing.assert_allclose(
        values @ path.coefs + path.intercepts, values @ alone.coefs + alone.intercepts, atol=2e-5 * scale
    )
    np.testing.assert_allclose(path.r2, alone.r2, atol=1e-9)
    assert path.settings["n_samples"] == kept.sum()


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_keeps_to_the_samples(solver, rng, kept):
    values = random_values(rng, 40, 50)
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(40) + 3.0
    grid = {SOLVERS[solver].grids[0]: [0.5, 0.2]}
    settings = {"solver": solver, "tol": 1e-7, "stop": "gap", "max_iter": 100_000, "random_state": 0, **grid}
    path = masked_path(np.asfortranarray(values), y, kept, **settings)
    alone = lasso_path(np.asfortranarray(values[kept]), y[kept], **settings)
    np.testing.assert_allclose(path.r2, alone.r2, atol=2e-7)
    np.testing.assert_allclose(path.coefs.toarray(), alone.coefs.toarray(), atol=2e-3)
    # The samples that were left out have no say.
    other = np.where(kept[:, None], values, 7.0)
    again = masked_path(np.asfortranarray(other), np.where(kept, y, -5.0), kept, **settings)
    np.testing.assert_array_equal(again.coefs.toarray(), path.coefs.toarray())

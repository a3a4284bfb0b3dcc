"""Columns without a penalty, on both routes: attacked, judged, and equal to what they stand for."""

import warnings

import numpy as np
import pytest

from attack.duality import General
from fwlasso import LassoPath, Status, lasso_path
from judge import judge

#: Of tall data the second goes to columns with what inner products do not prove.
ROUTES = ["working-set", "certified"]
M, P = 40, 12


def path_of(X: np.ndarray, y: np.ndarray, asked: General, **settings) -> LassoPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return lasso_path(np.asfortranarray(X), y, **{"alphas": 5, "eps": 0.03, **settings}, **asked.keywords())


def nearly_dependent(rng, X, free):
    X[:, free[1]] = X[:, free[0]] + 1e-5 * X[:, free[1]]


def far_from_zero(rng, X, free):
    X += 1e9


def of_many_scales(rng, X, free):
    X *= 10.0 ** rng.uniform(-5.0, 5.0, X.shape[1])


def copied_by_others(rng, X, free):
    others = np.setdiff1d(np.arange(X.shape[1]), free)
    X[:, others[0]], X[:, others[1]] = X[:, free[0]], 2.0 * X[:, free[1]] + X[:, free[0]]


def left_out_where_they_vary(rng, X, free):
    X[:, free[0]] *= np.arange(len(X)) < 4
    return np.where(np.arange(len(X)) < 4, 0.0, 1.0)


ATTACKS = [nearly_dependent, far_from_zero, of_many_scales, copied_by_others, left_out_where_they_vary]
COSTS = [{}, {"positive": True}, {"l1_ratio": 0.5}, {"lower": 0.1, "upper": 0.2}]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("route", ROUTES)
def test_attacks_certify_what_is_true(route, attack):
    statuses = []
    for number in range(8):
        rng = np.random.default_rng(number)
        free, X = rng.choice(P, 3, replace=False), rng.standard_normal((M, P))
        weights, v = attack(rng, X, free), np.ones(P)
        v[free] = 0.0
        y = X[:, :4] @ np.array([1.0, -2.0, 0.5, 1.0]) / X.std() + rng.standard_normal(M)
        own = {name: np.where(v > 0.0, -s, -np.inf) if name == "lower" else s for name, s in COSTS[number % 4].items()}
        if "upper" in own:
            own["upper"] = np.where(v > 0.0, own["upper"], np.inf)
        if own.pop("positive", False):
            own["lower"] = np.where(v > 0.0, 0.0, -np.inf)
        asked = General(sample_weight=weights, penalty_factor=v, **own)
        tol, standardize = (1e-4, 1e-6, 1e-9)[number % 3], number % 2 == 0
        path = path_of(X, y, asked, tol=tol, solver=route, standardize=standardize)
        judge(path, X, y, asked)
        statuses += path.statuses
    assert {Status.CERTIFIED} <= set(statuses) <= {Status.CERTIFIED, Status.PRECISION}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("n_free", [P - 1, M - 3])
def test_nearly_all_columns_or_nearly_all_samples_are_taken(route, n_free):
    rng = np.random.default_rng(n_free)
    p = max(P, n_free + 5)
    X, y, v = rng.standard_normal((M, p)), rng.standard_normal(M), np.ones(p)
    v[rng.choice(p, n_free, replace=False)] = 0.0
    asked = General(penalty_factor=v)
    for tol in (1e-4, 1e-9):
        path = path_of(X, y, asked, tol=tol, solver=route)
        judge(path, X, y, asked)
        assert set(path.statuses) == {Status.CERTIFIED}


@pytest.mark.parametrize("route", ROUTES)
def test_radii_count_columns_with_a_penalty_alone(route, rng):
    X, v = rng.standard_normal((M, P)), np.ones(P)
    y, asked = X @ rng.standard_normal(P), General(penalty_factor=v)
    v[:3] = 0.0
    path = path_of(X, y, asked, alphas=None, eps=None, radii=[0.0, 0.5, 2.0, 100.0], tol=1e-8, solver=route)
    judge(path, X, y, asked)
    np.testing.assert_allclose(np.abs(path.coefs.toarray()[3:]).sum(axis=0)[:3], [0.0, 0.5, 2.0], rtol=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_they_are_what_residuals_of_all_others_are(route, rng):
    X, v = rng.standard_normal((M, P)), np.ones(P)
    y = X[:, :5] @ [3.0, -1.0, 2.0, 1.0, 0.5] + rng.standard_normal(M)
    v[:2] = 0.0
    path = path_of(X, y, General(penalty_factor=v), tol=1e-14, solver=route)
    U = np.column_stack([np.ones(M), X[:, :2]])
    others, response = (values - U @ np.linalg.lstsq(U, values)[0] for values in (X[:, 2:], y))
    plain = path_of(others, response, General(), alphas=path.alphas, eps=None, tol=1e-14, solver=route)
    np.testing.assert_allclose(path.coefs.toarray()[2:], plain.coefs.toarray(), atol=1e-9)
    fits = np.linalg.lstsq(U, y[:, None] - X[:, 2:] @ plain.coefs.toarray())[0]
    np.testing.assert_allclose(path.coefs.toarray()[:2], fits[1:], atol=1e-9)
    np.testing.assert_allclose(path.intercepts, fits[0], atol=1e-9)
    np.testing.assert_allclose(path.r2, plain.r2, atol=1e-12)  # of what the null model leaves


@pytest.mark.parametrize("route", ROUTES)
def test_a_column_of_ones_is_an_intercept(route, rng):
    X, v = rng.standard_normal((M, P)) + 3.0, np.ones(P + 1)
    y = X[:, :3] @ [1.0, -2.0, 0.5] + 7.0 + rng.standard_normal(M)
    v[0] = 0.0
    settings = {"tol": 1e-14, "solver": route}
    ones = np.column_stack([np.ones(M), X])
    free = path_of(ones, y, General(penalty_factor=v), fit_intercept=False, **settings)
    plain = path_of(X, y, General(), alphas=free.alphas, eps=None, **settings)
    np.testing.assert_allclose(free.coefs.toarray()[1:], plain.coefs.toarray(), atol=1e-9)
    np.testing.assert_allclose(free.coefs.toarray()[0], plain.intercepts, atol=1e-9)
    np.testing.assert_allclose(path_of(X, y, General(), **settings).alphas, free.alphas, rtol=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_those_that_depend_on_others_are_left_out_and_named(route, rng):
    X, y = rng.standard_normal((M, P)), rng.standard_normal(M)
    X[:, 2] = X[:, 0] - 2.0 * X[:, 1]
    X[:, 3] = 5.0
    names = [f"x{j}" for j in range(P)]
    with pytest.warns(UserWarning, match=r"left out: column 'x[012]'\.$"):
        path = lasso_path(np.asfortranarray(X), y, alphas=5, unpenalized=["x[0-3]"], feature_names=names, solver=route)
    assert path.coefs[[3], :].nnz == 0
    assert sum(path.coefs[[j], :].nnz > 0 for j in range(3)) == 2
    assert set(path.statuses) == {Status.CERTIFIED}


@pytest.mark.parametrize("route", ROUTES)
def test_too_many_are_refused(route, rng):
    X, y = rng.standard_normal((8, 30)), rng.standard_normal(8)
    with pytest.raises(ValueError, match=r"unpenalized: 7 columns .* leave nothing of 8 samples"):
        path_of(X, y, General(), unpenalized=range(9), solver=route)
    with pytest.raises(ValueError, match=r"unpenalized: 1,001 columns"):
        path_of(rng.standard_normal((8, 1002)), y, General(), unpenalized=range(1001), solver=route)

"""Costs at the ends of what float64 holds, on a working set: every claim is true, and every path comes to its end."""

import numpy as np
import pytest

from attack.duality import General
from fwlasso import LassoPath, Status, lasso_path
from judge import judge

FEW_ROUNDS = 200


def path_of(X: np.ndarray, y: np.ndarray, asked: General, **settings) -> LassoPath:
    settings = {"alphas": 6, "eps": 0.03, "solver": "working-set", **settings}
    return lasso_path(np.asfortranarray(X), y, **settings, **asked.keywords())


def boxes(size: np.ndarray) -> General:
    return General(lower=-size, upper=size)


def resting_at_tiny_bounds(rng, X, y):
    p = X.shape[1]
    return X, y, boxes(np.where(np.arange(p) < 0.65 * p, 10.0 ** rng.uniform(-6, -2, p), np.inf))


def bounds_of_nothing(rng, X, y):
    return X, y, boxes(np.where(rng.random(X.shape[1]) < 0.8, 1e-300, np.inf))


def pulled_far_beyond_lambda(rng, X, y):
    return X, 1e3 * y, boxes(np.where(rng.random(X.shape[1]) < 0.5, 1e-3, np.inf))


def ridge_next_to_nothing(rng, X, y):
    return X, y, General(ridge=1e-12)


def copies_at_bounds(rng, X, y):
    half = X.shape[1] // 2
    X[:, half : 2 * half] = X[:, :half] * rng.choice([-1.0, 1.0], half)
    return X, y, boxes(np.where(rng.random(X.shape[1]) < 0.5, 0.05, np.inf))


def alike_and_bounded(rng, X, y):
    return 0.1 * X + rng.standard_normal((len(X), 1)), y, boxes(np.where(rng.random(X.shape[1]) < 0.6, 0.01, np.inf))


@pytest.mark.parametrize(
    "make",
    [
        resting_at_tiny_bounds,
        bounds_of_nothing,
        pulled_far_beyond_lambda,
        ridge_next_to_nothing,
        copies_at_bounds,
        alike_and_bounded,
    ],
)
def test_every_point_is_certified_and_every_claim_is_true(make):
    for number in range(6):
        rng = np.random.default_rng(number)
        m, p = (100, 400) if number == 0 else (30, 60)
        X = rng.standard_normal((m, p))
        y = X @ np.where(rng.random(p) < 0.3, rng.standard_normal(p), 0.0) + rng.standard_normal(m)
        X, y, asked = make(rng, X, y)
        path = path_of(X, y, asked, tol=(1e-4, 1e-9)[number % 2], max_iter=FEW_ROUNDS)
        judge(path, X, y, asked)
        assert set(path.statuses) == {Status.CERTIFIED}


def test_bounds_that_are_out_of_reach_are_none(rng):
    X = rng.standard_normal((30, 60))
    y = X[:, 0] + rng.standard_normal(30)
    far, plain = (path_of(X, y, asked, tol=1e-12) for asked in (boxes(np.full(60, 1e300)), General()))
    assert set(far.statuses) == {Status.CERTIFIED}
    judge(far, X, y, General())
    np.testing.assert_allclose(far.coefs.toarray(), plain.coefs.toarray(), atol=1e-5)

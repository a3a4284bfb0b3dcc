import numpy as np
import pytest

from conftest import Case, all_coefs, on_gap, solve_point
from fwlasso import lasso_path
from fwlasso._core.penalties import L1Ball
from fwlasso.status import Status
from judge import true_gap
from reproduction.solvers.nearest_point import NearestPoint

pytestmark = pytest.mark.usefixtures("baselines")


@pytest.mark.parametrize("radius", [0.3, 1.5])
def test_its_certificates_are_true(case: Case, radius):
    outcome = solve_point(case, NearestPoint(), L1Ball(radius), on_gap(case, 1e-9))
    assert outcome.status is Status.CERTIFIED
    a = all_coefs(outcome.iterate, 40)
    assert np.abs(a).sum() <= radius * (1 + 1e-12)
    assert true_gap(case.Z, case.y, L1Ball(radius), a) <= 2e-9 * 0.5 * case.problem.yy + 1e-12


@pytest.mark.parametrize("shape", [(60, 25), (20, 100)])
def test_it_is_the_certified_path_in_a_cycle_for_every_vertex(rng, shape):
    X = rng.standard_normal(shape)
    y = X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(shape[0])
    exact = lasso_path(X, y, radii=10, tol=1e-12)
    path = lasso_path(X, y, solver="wolfe", tol=1e-10, radii=exact.radii)
    assert path.gaps.max() <= 1e-10
    np.testing.assert_allclose(path.predict(X), exact.predict(X), atol=1e-4)
    assert path.counters.iterations.sum() <= 3 * sum(shape)  # a finite method, warm-started


def test_a_ball_that_does_not_bind_gives_least_squares(rng):
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    free = np.linalg.lstsq(X, y)[0]
    path = lasso_path(X, y, solver="wolfe", radii=[3.0 * np.abs(free).sum()], tol=1e-9, fit_intercept=False)
    np.testing.assert_allclose(path.coef(0), free, atol=1e-3)

"""What the baselines have in common: any number of threads, equal penalties, and a closed form where there is one."""

import numpy as np
import pytest

from conftest import Case
from fwlasso import lasso_path
from fwlasso._core.iterate import at, rescale
from fwlasso._core.threads import Workers
from reproduction.solvers import BASELINES
from reproduction.solvers.points import fitted_values, spread
from test_frank_wolfe import soft
from test_threads import bits, cut_finely, solve

#: Those that reach a small gap; steps over samples do not.
PRECISE = [name for name in BASELINES if name not in ("sgd", "smidas")]

pytestmark = pytest.mark.usefixtures("baselines")


def test_fitted_values_are_the_sum_of_the_columns(case: Case, rng):
    coefs = rng.standard_normal(40) * (rng.random(40) < 0.3)
    with Workers(1) as workers:
        fitted = fitted_values(case.problem, coefs, workers)
    np.testing.assert_allclose(fitted[:-1], case.Z @ coefs, atol=1e-10)
    assert fitted[-1] == 0.0
    active = np.flatnonzero(coefs)
    point = rescale(at(case.problem, active, coefs[active]), 2.0)
    np.testing.assert_array_equal(spread(case.problem, point), 2.0 * coefs)


@pytest.mark.compiled
@pytest.mark.parametrize("solver", PRECISE)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_same_bits_by_passes_on_threads(monkeypatch, kind, solver):
    cut_finely(monkeypatch, kind)
    first, *others = (bits(solve(kind, solver, "gap", n_threads=n_threads)) for n_threads in (1, 2, 4))
    assert all(other == first for other in others)


@pytest.mark.parametrize("solver", PRECISE)
def test_orthogonal_designs_have_a_closed_form(solver, rng):
    Q, _ = np.linalg.qr(rng.standard_normal((30, 12)))
    y = Q @ (10 * rng.standard_normal(12)) + rng.standard_normal(30)
    expected = soft(Q.T @ y, 3.0)
    (name,) = BASELINES[solver].grids
    grid = {name: [3.0 / 30 if name == "alphas" else np.abs(expected).sum()]}
    path = lasso_path(Q, y, solver=solver, tol=1e-10, fit_intercept=False, random_state=0, **grid)
    assert path.gaps[0] <= 1e-10
    # ||a - a*||^2 <= 2 gap: the objective is strongly convex with constant one.
    assert np.linalg.norm(path.coef(0) - expected) <= np.sqrt(path.gaps[0] * y @ y) + 1e-9


@pytest.mark.parametrize("solver", ["scd", "apg"])
@pytest.mark.parametrize("stop", ["gap", "change"])
def test_the_same_penalty_again_is_another_point(solver, stop, rng):
    """The warm start is scaled in between, however little: what is kept of the point before must follow."""
    X = rng.standard_normal((50, 100))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(50)
    path = lasso_path(X, y, alphas=[0.3, 0.3, 0.2, 0.2, 0.2], solver=solver, stop=stop, tol=1e-3, random_state=0)
    assert path.gaps.max() <= (1e-3 if stop == "gap" else 0.1)
    r2 = 1 - ((y[:, None] - path.predict(X)) ** 2).sum(axis=0) / ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(path.r2, r2, atol=1e-9)

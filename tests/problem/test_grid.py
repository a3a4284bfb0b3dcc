import ctypes
import platform
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from attack.judge import judge
from fwlasso import LassoCV, lasso_cv, lasso_path, stability_selection
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.problem.grid import log_grid, n_vanished, penalty_grid


@contextmanager
def flushed_to_zero():
    """Let this thread's processor take denormal numbers for zero, as libraries built with -ffast-math do."""
    libm, fenv = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
    libm.fegetenv(fenv)
    before = fenv[7]
    fenv[7] |= 0x8040  # of MXCSR
    libm.fesetenv(fenv)
    try:
        yield
    finally:
        fenv[7] = before
        libm.fesetenv(fenv)


X = np.asfortranarray(np.random.default_rng(0).standard_normal((40, 60)))
Y = X[:, 0] - X[:, 1] + X[:, 2]


def test_a_logarithmic_grid():
    np.testing.assert_allclose(log_grid(0.01, 1.0, 3), [0.01, 0.1, 1.0])
    np.testing.assert_array_equal(log_grid(0.01, 1.0, 1), [1.0])


@pytest.mark.parametrize("size", [1.0, 1e-120, 1e40])
def test_a_penalty_that_is_no_normal_number_is_zero(size, rng):
    """In the units of the solver it is tiny or zero beside X and y, whatever a processor does with such numbers."""
    X, y = np.asfortranarray(rng.standard_normal((20, 5))), size * rng.standard_normal(20)
    problem = build_problem(as_design(X), y, True, False, Workers(1))
    alphas = np.array([0.1 * size, 1e-310, 5e-324, 0.0])
    given = penalty_grid(problem, alphas, 1.0)
    assert given[0] > 0.0
    assert not ((given > 0.0) & (given < np.finfo(float).tiny)).any()
    n_lost = int((given[1:3] == 0.0).sum())
    assert n_vanished(problem, alphas) == n_lost
    assert n_lost == (0 if size == 1e-120 else 2)
    automatic = penalty_grid(problem, 400, 1e-320)
    assert automatic[-1] == 0.0
    assert not ((automatic > 0.0) & (automatic < np.finfo(float).tiny)).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_alphas_that_vanish_are_told_of(rng):
    X, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    with pytest.warns(
        UserWarning, match="^alphas: 2 of 4 are too small for float64 beside X and y: they are solved as 0"
    ):
        path = lasso_path(X, y, alphas=[0.1, 1e-310, 5e-324, 0.0])
    np.testing.assert_array_equal(path.alphas, [0.1, 1e-310, 5e-324, 0.0])
    np.testing.assert_array_equal(path.gaps[1:], path.gaps[-1])
    np.testing.assert_array_equal(path.coefs.toarray()[:, 1], path.coefs.toarray()[:, 3])


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="sets MXCSR by glibc")
@pytest.mark.parametrize("solver", ["gram", "working-set", "cd", "sfw"])
@pytest.mark.filterwarnings("ignore")
def test_a_processor_that_flushes_to_zero_makes_no_claim_false(solver, rng):
    values = np.asfortranarray(rng.standard_normal((12, 5)))
    y = values @ [1.0, 2.0, 0.0, 0.0, 0.0] + rng.standard_normal(12)
    lasso_path(values, y, alphas=2, solver=solver)  # compiles
    with flushed_to_zero():
        assert np.array([1e-310]) * 1.0 == 0.0
        path = lasso_path(values, y, alphas=[0.1, 1e-310, 5e-324], solver=solver, stop="gap", n_threads=1, max_iter=300)
    verdict = judge(path, values, values, y)
    assert verdict.faults == ()
    assert verdict.points == 3


@pytest.mark.parametrize("x", [X, np.asfortranarray(X[:, :5])], ids=["wide", "tall"])
def test_m_alpha_may_be_beyond_float64(x):
    shares = np.array([2.0, 0.5, 0.1])
    plain = lasso_path(x, Y, alphas=shares)
    large = lasso_path(x, Y * 2.0**1020, alphas=shares * 2.0**1020)  # 40 alpha is more than 2^1024
    np.testing.assert_array_equal(large.n_active, plain.n_active)
    np.testing.assert_array_equal(large.coefs.toarray(), plain.coefs.toarray() * 2.0**1020)


@pytest.mark.parametrize("solver", ["certified", "cd"])
def test_the_largest_alpha_is_one_like_any_other(solver):
    path = lasso_path(X, Y, solver=solver, alphas=[1e308])
    assert (path.n_active.tolist(), path.radii.tolist()) == ([0], [0.0])  # and no warning from inside


@pytest.mark.parametrize("solver", ["gram", "working-set", "afw"])
def test_the_gap_of_a_large_radius_grows_with_it(solver):
    y = Y * 1e9
    with pytest.warns(ConvergenceWarning, match="did not meet"):
        path = lasso_path(X, y, solver=solver, radii=[1e280, 1e299, 2e299], tol=0.0, fit_intercept=False)
    assert np.isfinite(path.gaps).all()
    assert path.gaps[2] == pytest.approx(2.0 * path.gaps[1])
    assert judge(path, X, X, y).faults == ()


def test_the_largest_radius_has_no_finite_gap():
    with pytest.warns(ConvergenceWarning, match="1 of 1 points did not meet stop='gap'") as warned:
        lasso_path(X, Y, solver="afw", radii=[1e308])
    assert len(warned) == 1


@pytest.mark.parametrize("eps", [0.998, 0.9999, 1.0 - 2.0**-53])
@pytest.mark.parametrize("function", [lasso_path, lasso_cv, lambda X, y, **given: LassoCV(**given).fit(X, y)])
def test_radii_without_an_end_are_refused_before_any_work(function, eps):
    with pytest.raises(ValueError, match=r"eps must be below 0\.998 for an automatic grid of radii, or give radii"):
        function(None, None, radii=5, eps=eps)
    assert len(lasso_path(X, Y, radii=3, eps=0.99)) == len(lasso_path(X, Y, alphas=3, eps=eps)) == 3


def test_radii_where_no_column_is_correlated_with_y():
    x = np.asfortranarray(np.tile(np.repeat([1.0, -1.0], 8), (300, 1)).T * (1.0 + np.arange(300) / 300))
    y = np.tile([1.0, -1.0], 8) / 3.0 + 1e-17
    y[0] += 1e-16
    with pytest.raises(ValueError, match=r"radii: no end was found .* no column of X is correlated with y beyond"):
        lasso_path(x, y, radii=3)


@pytest.mark.parametrize("x", [X, np.asfortranarray(X[:, :5])], ids=["wide", "tall"])
def test_what_numpy_does_with_tiny_numbers_is_not_for_the_user_to_set(x):
    y = Y * 1e-299
    expected = lasso_path(x, y, alphas=4)
    with np.errstate(all="raise"):
        found = lasso_path(x, y, alphas=4)
        found.predict(x)
        found.score(x, y)
        lasso_cv(x, y, alphas=4)
        LassoCV(alphas=4).fit(x, y).predict(x)
        stability_selection(x, y, alphas=4, n_subsamples=2, random_state=0)
    np.testing.assert_array_equal(found.coefs.toarray(), expected.coefs.toarray())

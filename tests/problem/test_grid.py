import ctypes
import platform
from contextlib import contextmanager

import numpy as np
import pytest

from attack.judge import judge
from fwlasso import lasso_path
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

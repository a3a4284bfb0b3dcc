"""skglm: the path of `AndersonCD`. It cannot centre sparse columns, and fits an intercept instead."""

# mypy: disable-error-code="import-not-found,import-untyped"

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
from skglm.datafits import Quadratic
from skglm.penalties import L1_plus_L2
from skglm.solvers import AndersonCD
from skglm.utils.jit_compilation import compiled_clone

from .handover import Given


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of the tolerance: the largest violation over the largest alpha."""
    p = given.X.shape[1]
    # Compiled ahead: the path initializes them before its solver compiles them, and would do so in plain Python.
    datafit, penalty = compiled_clone(Quadratic()), compiled_clone(L1_plus_L2(1.0, given.l1_ratio))

    def solve(tol: float) -> Any:
        cd = AndersonCD(tol=tol * given.alphas[0], max_iter=1000, fit_intercept=given.offset is not None)
        return cd.path(given.X, given.y, datafit, penalty, alphas=given.alphas)[1][:p]

    return solve


def coefs(found: Any) -> Any:
    """Return the coefficients, columns by points."""
    return sp.csc_array(found)

"""pycasso: its `Solver`, made and trained. It cannot centre sparse columns, and takes dense ones only."""

# mypy: disable-error-code="import-not-found,import-untyped"

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from pycasso import Solver

from .handover import Given


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of `prec`: the largest change of the objective by a step, over ||y||^2.

    It copies X row by row; given that order, the copy is a cheap one. Whether it keeps inner products is its choice.
    """
    if given.offset is not None or given.l1_ratio < 1.0:
        raise ValueError("pycasso takes dense columns only, and has no elastic net")
    X, n_points = np.ascontiguousarray(given.X), given.alphas.size
    settings: dict[str, Any] = {"useintercept": False, "standardize": False, "max_ite": 10**6}

    def solve(tol: float) -> Any:
        model = Solver(X, given.y, lambdas=given.alphas, prec=tol, **settings)
        model.train()
        return model.coef()["beta"], n_points

    return solve


def coefs(found: Any) -> Any:
    """Return the coefficients, columns by points. Where it ends early, the last ones stand for the rest."""
    beta, n_points = found
    return sp.csc_array(beta[np.minimum(np.arange(n_points), len(beta) - 1)].T)

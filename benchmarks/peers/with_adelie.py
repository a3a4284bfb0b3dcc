"""adelie: `grpnet` with every column a group. Its intercept centres the columns, dense and sparse."""

# mypy: disable-error-code="import-not-found,import-untyped"

import os
from collections.abc import Callable
from typing import Any

import adelie as ad
import numpy as np
import scipy.sparse as sp

from .handover import Given


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of adelie's `tol`. It may use all cores."""
    threads = len(os.sched_getaffinity(0))
    view = ad.matrix.dense if given.offset is None else ad.matrix.sparse
    X, glm = view(given.X, method="naive", n_threads=threads), ad.glm.gaussian(y=given.y)
    settings: dict[str, Any] = {
        "alpha": given.l1_ratio,
        "early_exit": False,
        "max_iters": 10**9,
        "progress_bar": False,
        "n_threads": threads,
    }

    def solve(tol: float) -> Any:
        return ad.grpnet(X, glm, lmda_path=given.alphas, tol=tol, intercept=given.offset is not None, **settings)

    return solve


def coefs(found: Any) -> Any:
    """Return the coefficients, columns by points."""
    assert np.all(np.diff(found.lmdas) < 0)
    return sp.csc_array(found.betas.T)

"""Compile ahead of time, so that the first path of a process starts at once."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .cross_validation import lasso_cv
from .path import lasso_path


def warm_up(
    *,
    sparse: Sequence[bool] = (False, True),
    dtypes: Sequence[Any] = (np.float64,),
    fit_intercept: bool = True,
    solvers: Sequence[str] = ("corrective",),
    folds: bool = False,
) -> None:
    """Compile the kernels for these kinds of data, or load them from the cache.

    Parameters
    ----------
    sparse : which storages: dense (False), sparse (True)
    dtypes : float64, float32 or both
    fit_intercept : whether paths will have an intercept or standardised columns
    solvers : names of solvers
    folds : for cross-validation, too

    Examples
    --------
    >>> from fwlasso import warm_up
    >>> warm_up(sparse=[False])
    """
    rng = np.random.default_rng(0)
    y = rng.standard_normal(8)
    for is_sparse in sparse:
        for dtype in dtypes:
            values = np.asfortranarray(rng.standard_normal((8, 16)), dtype=dtype)
            X = sp.csc_array(values) if is_sparse else values
            for solver in solvers:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    settings: dict[str, Any] = {"solver": solver, "fit_intercept": fit_intercept, "random_state": 0}
                    if folds:
                        lasso_cv(X, y, cv=2, **settings)
                    else:
                        lasso_path(X, y, **settings)

"""celer: `celer_path`, with pruning as in its estimator. It centres sparse columns by `X_offset`."""

# mypy: disable-error-code="import-not-found,import-untyped"

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from celer import celer_path

from .handover import Given


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of the tolerance: a bound of the gap over ||y||^2 / m."""
    units: dict[str, Any] = {"l1_ratio": given.l1_ratio}
    if given.offset is not None:
        units |= {"X_offset": given.offset, "X_scale": np.ones(given.offset.size)}

    def solve(tol: float) -> Any:
        return celer_path(given.X, given.y, "lasso", alphas=given.alphas, tol=tol, max_iter=100, prune=1, **units)

    return solve


def coefs(found: Any) -> Any:
    """Return the coefficients, columns by points."""
    return sp.csc_array(found[1])

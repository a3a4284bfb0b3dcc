"""scikit-learn: `enet_path`, which centres sparse columns by the `X_offset` that its estimators pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import enet_path

from .handover import Given


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of the tolerance: a bound of the gap over ||y||^2 / m."""
    units = {} if given.offset is None else {"X_offset": given.offset, "X_scale": np.ones(given.offset.size)}
    net = {"alphas": given.alphas, "l1_ratio": given.l1_ratio}
    settings: dict[str, Any] = net | {"precompute": False, "copy_X": False, "max_iter": 10**6}
    return lambda tol: enet_path(given.X, given.y, tol=tol, **settings, **units)


def coefs(found: Any) -> Any:
    """Return the coefficients, columns by points."""
    return sp.csc_array(found[1])

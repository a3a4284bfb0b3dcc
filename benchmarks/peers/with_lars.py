"""scikit-learn's LARS: `lars_path` with method "lasso". It has no tolerance.

Its knots are interpolated to the penalties. It cannot centre sparse columns, and takes dense ones only.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import lars_path

from .handover import Given


class Knots(NamedTuple):
    """The exact path: linear in alpha between its knots."""

    alphas: NDArray[np.float64]  # descending
    coefs: NDArray[np.float64]  # columns by knots
    wanted: NDArray[np.float64]  # the penalties asked for


def solver(given: Given) -> Callable[[float], Knots]:
    """Return the call to be timed; its tolerance changes nothing."""
    if given.offset is not None or given.l1_ratio < 1.0:
        raise ValueError("LARS takes dense columns only, and has no elastic net")

    def solve(_: float) -> Knots:
        # On a copy: it swaps columns in place, and may be called again.
        knots, _active, coefs = lars_path(given.X, given.y, method="lasso", alpha_min=given.alphas[-1])
        return Knots(knots, coefs, given.alphas)

    return solve


def coefs(found: Knots) -> Any:
    """Return the coefficients, columns by points."""
    active = np.flatnonzero(found.coefs.any(axis=1))
    wanted, knots = -found.wanted, -found.alphas  # ascending
    values = np.array([np.interp(wanted, knots, of_column) for of_column in found.coefs[active]])
    where = sp.csc_array(
        (np.ones(active.size), (active, np.arange(active.size))), shape=(found.coefs.shape[0], active.size)
    )
    return where @ sp.csc_array(values.reshape(active.size, found.wanted.size))

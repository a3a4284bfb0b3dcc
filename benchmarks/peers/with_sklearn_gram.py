"""scikit-learn: `enet_path` with `precompute=True`. Making the Gram matrix is part of the call."""

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import enet_path

from .handover import Given
from .with_sklearn import coefs

__all__ = ["coefs", "solver"]

_MOST_COLUMNS = 5_000  # 200 MB of Gram matrix


def solver(given: Given) -> Callable[[float], Any]:
    """Return the call to be timed, a function of the tolerance: a bound of the gap over ||y||^2 / m."""
    p = given.X.shape[1]
    if given.offset is not None or p > _MOST_COLUMNS:
        raise ValueError(f"a Gram matrix is made of dense columns only, and of at most {_MOST_COLUMNS:,}: not of {p:,}")
    net = {"alphas": given.alphas, "l1_ratio": given.l1_ratio}
    settings: dict[str, Any] = net | {"precompute": True, "copy_X": False, "max_iter": 10**6}
    return lambda tol: enet_path(given.X, given.y, tol=tol, **settings)

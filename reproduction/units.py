"""The paper's units and grids.

The paper has columns u_j, centred and of unit norm, and y centred and divided by sqrt(m). The package's standardised
columns are z_j = sqrt(m) u_j. Since Z a - y = sqrt(m) (U a - y / sqrt(m)), both have the same coefficients: with
``standardize=True`` and y as it is, l1 norms and changes of coefficients are the paper's numbers.
"""

import warnings
from typing import Any, Final, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path
from fwlasso.problem.grid import log_grid
from fwlasso.result import LassoPath

#: Points of a path.
N_POINTS: Final = 100
#: lambda_min = lambda_max / 100, delta_min = delta_max / 100.
EPS: Final = 0.01
#: The arguments of `lasso_path` that give the paper's units and its stopping rule: no coefficient changes by 1e-3.
UNITS: Final[dict[str, Any]] = {"standardize": True}
STOPPING: Final[dict[str, Any]] = {"stop": "paper", "tol": 1e-3}
#: Relative duality gap of the solution that ends the grid of radii.
GRID_GAP: Final = 1e-8


class Grids(NamedTuple):
    """The two grids of a data set, from the sparsest model on."""

    alphas: Vector  # from lambda_max / m down to EPS times that, for penalized methods
    radii: Vector  # from EPS delta_max to delta_max = ||a(EPS lambda_max)||_1, for constrained methods


def paper_grids(X: Any, y: Any, n_points: int = N_POINTS, n_threads: int | None = None) -> Grids:
    """Return the paper's grids: both end at the same solution, that of a hundredth of the largest penalty.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((50, 200)))
    >>> alphas, radii = paper_grids(X, X[:, 0] + 0.1 * rng.standard_normal(50), n_points=5)
    >>> round(float(alphas[0] / alphas[-1])), round(float(radii[-1] / radii[0]))
    (100, 100)
    """
    exact = nearly_exact(X, y, alphas=n_points, eps=EPS, tol=GRID_GAP, n_threads=n_threads)
    return Grids(exact.alphas, log_grid(EPS * exact.radii[-1], exact.radii[-1], n_points))


def nearly_exact(X: Any, y: Any, **settings: Any) -> LassoPath:
    """Return the certified path in the paper's units; rounding may keep points of large data above a gap so small."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(X, y, **UNITS, **settings)

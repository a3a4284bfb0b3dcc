"""Grids of the path: penalties from the largest on, or radii from the smallest on, both from sparse to dense."""

from numbers import Integral
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.transform import Units, in_user_units
from ..data.checks import check, check_kind

#: Accuracy of the solution at eps lambda_max that ends an automatic grid of radii, relative to 1/2 ||y||^2.
RADIUS_GAP = 1e-6
#: That of the empty model is (1 - eps)^2: from here on it may be taken for the solution, and the end for zero.
MOST_EPS_OF_RADII = 1.0 - 2.0 * RADIUS_GAP**0.5
#: Stands for all numbers beyond float64.
LARGEST = float(np.finfo(np.float64).max)
# A ball that is smaller has room for no coefficient that float64 holds exactly: it is one point.
_LEAST_RADIUS = 1e-290
# What a proved gap may be of radius times correlation, with all that it adds for rounding.
_MORE_THAN_ROUNDING = 16.0
_MOST_POINTS = 10**9
# What is smaller is no normal number, and zero to a processor that flushes such numbers.
_LEAST_PENALTY = float(np.finfo(np.float64).tiny)


class Scaled(Protocol):
    """What a grid needs of a problem."""

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the samples."""

    @property
    def l1_ratio(self) -> float:
        """Lambda is alpha times the total weight times that."""

    @property
    def null_loss(self) -> float:
        """1/2 ||y||^2, the loss of the model without features."""

    @property
    def lambda_max(self) -> float:
        """The smallest penalty with a zero solution."""

    @property
    def largest(self) -> float:
        """At least the largest norm of a column."""

    @property
    def units(self) -> Units:
        """How the numbers of users follow from those of the solver."""


def log_grid(first: float, last: float, n_points: int) -> Vector:
    """Return `n_points` values on a logarithmic grid; a single one is the last."""
    if first <= 0.0:
        return np.zeros(n_points)
    grid = np.geomspace(first, last, n_points) if n_points > 1 else np.array([last])
    return np.asarray(grid, dtype=np.float64)


def as_grid(values: Any, name: str) -> int | Vector:
    """Return a grid argument as a count or as a sorted array of values, sparse models first."""
    wanted = f"{name} must be a number of points >= 1 or an array of values"
    if isinstance(values, Integral):
        if isinstance(values, bool) or values < 1:
            raise ValueError(f"{wanted}, got {values!r}")
        if int(values) > _MOST_POINTS:
            raise ValueError(f"{name}: {values} points are more than memory holds")
        return int(values)
    check_kind(name, values)
    try:
        given = np.atleast_1d(np.asarray(values))
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {values!r}") from None
    if given.dtype.kind not in "iuf":  # text that looks like a number is none
        raise ValueError(f"{wanted}, got {values!r}")
    grid = given.astype(np.float64)
    if grid.ndim != 1 or grid.size == 0 or not np.isfinite(grid).all() or (grid < 0.0).any():
        raise ValueError(f"{wanted}, finite and >= 0 in one dimension")
    if name == "radii":  # what is not a normal number has no digits to spare for coefficients
        grid[grid < np.finfo(np.float64).tiny] = 0.0
    ordered = np.sort(grid)
    return ordered[::-1].copy() if name == "alphas" else ordered


def penalty_grid(problem: Scaled, alphas: int | Vector, eps: float) -> Vector:
    """Return lambda = m alpha l1_ratio, m the total weight; automatic ones go from lambda_max to eps lambda_max.

    What is not a normal number in the units of the solver is zero: see `n_vanished`.
    """
    if isinstance(alphas, int):
        largest = problem.lambda_max  # a look at all columns
        values = log_grid(largest, eps * largest, alphas)
    else:
        digits, powers = np.frexp(alphas)  # m alpha may be beyond float64, where lambda in the solver's units is not
        values = _in_solver_units(
            problem.total_weight * problem.l1_ratio * digits, powers + problem.units.penalty_power
        )
    return np.where(values < _LEAST_PENALTY, 0.0, values)


def n_vanished(problem: Scaled, alphas: Vector) -> int:
    """Return how many alphas are not zero, but are for the solver; a processor may take them for zero as well."""
    return int(np.count_nonzero((alphas.view(np.int64) > 0) & (penalty_grid(problem, alphas, 1.0) == 0.0)))


def radius_grid(problem: Scaled, radii: Vector) -> Vector:
    """Return radii in the units of the solver; the largest are those whose gap, radius ||X'r||_inf, float64 holds."""
    values = _in_solver_units(radii, -problem.units.coef_power)
    most = LARGEST / max(1.0, _MORE_THAN_ROUNDING * problem.largest * (2.0 * problem.null_loss) ** 0.5)
    return np.where(values < _LEAST_RADIUS, 0.0, np.minimum(values, most))


def radius_excess(problem: Scaled, radii: int | Vector, values: Vector) -> Vector:
    """Return by how much a gap grows at most from the radius that was solved to the one that was asked for.

    These are one unless a radius is so large that its gap is beyond float64: then a gap is linear in the radius.
    """
    excess = np.ones(values.size)
    if not isinstance(radii, int):
        given = np.ldexp(radii.astype(np.longdouble), -problem.units.coef_power)
        is_beyond = given > np.maximum(values, 1.0)
        with np.errstate(over="ignore"):
            excess[is_beyond] = given[is_beyond] / values[is_beyond]
    return excess


def _in_solver_units(values: Vector, power: int | NDArray[np.int32]) -> Vector:
    """Return 2^power values; what is beyond float64 is beyond all solutions, and the largest number is, too."""
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(values, power), LARGEST)


def user_values(problem: Scaled, grid_name: str, values: Vector) -> Vector:
    """Return alphas or radii as users have them, given penalties lambda or radii as the solver has them."""
    if grid_name == "alphas":
        return in_user_units(values / (problem.total_weight * problem.l1_ratio), -problem.units.penalty_power)
    return in_user_units(values, problem.units.coef_power)


def null_objective(problem: Scaled) -> float | None:
    """Return 1/(2m) ||y||^2 as users have y, the objective of the empty model; None if it is beyond float64."""
    with np.errstate(over="ignore", under="ignore"):
        found = float(np.ldexp(problem.null_loss / problem.total_weight, -2 * problem.units.y_power))
    return found if found <= LARGEST else None


def interpolation(name: str, grid: Vector, asked: Any) -> sp.csc_array:
    """Return the shares of the points of a grid, in columns, that make what is asked for: a value, or several."""
    values = np.atleast_1d(np.asarray(asked))
    are_numbers = values.ndim == 1 and values.dtype.kind in "iuf" and values.size > 0
    check(name, asked, are_numbers, "a number or a list of numbers")
    order = np.argsort(grid, kind="stable")
    known = grid[order]
    first, last = known[0] - 4.0 * np.spacing(known[0]), known[-1] + 4.0 * np.spacing(known[-1])
    outside = values[~((first <= values) & (values <= last))]
    if outside.size:
        raise ValueError(f"{name}={float(outside[0])} is outside the path, [{known[0]:.6g}, {known[-1]:.6g}]")
    values = np.clip(values, known[0], known[-1])
    right = np.clip(np.searchsorted(known, values), min(1, known.size - 1), known.size - 1)
    left = np.maximum(right - 1, 0)
    width = known[right] - known[left]
    share = np.divide(values - known[left], width, out=np.ones(values.size), where=width > 0.0)
    places = order[np.concatenate([left, right])], np.tile(np.arange(values.size), 2)
    return sp.csc_array((np.concatenate([1.0 - share, share]), places), shape=(grid.size, values.size))

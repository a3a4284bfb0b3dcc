"""Straight lines through measured points: exponents of growth and rates of convergence."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fwlasso._core.columns import Vector


class Fit(NamedTuple):
    """A least squares line."""

    slope: float
    r2: float  # share of the variation that the line explains


def power_law(x: ArrayLike, y: ArrayLike) -> Fit:
    """Fit log y = slope log x + constant: y grows like x to the power of the slope.

    Examples
    --------
    >>> round(power_law([1.0, 10.0, 100.0], [2.0, 200.0, 20_000.0]).slope, 6)
    2.0
    """
    return _line(np.log(x), np.log(y))


def exponential_law(x: ArrayLike, y: ArrayLike) -> Fit:
    """Fit log y = slope x + constant: y changes by the factor exp(slope) with every unit of x.

    Examples
    --------
    >>> round(float(np.exp(exponential_law([0.0, 1.0, 2.0], [8.0, 4.0, 2.0]).slope)), 6)
    0.5
    """
    return _line(np.asarray(x, dtype=np.float64), np.log(y))


def _line(x: Vector, y: Vector) -> Fit:
    slope, intercept = np.polyfit(x, y, 1)
    variation = float(np.sum((y - y.mean()) ** 2))
    left = float(np.sum((y - slope * x - intercept) ** 2))
    return Fit(float(slope), 1.0 - left / variation if variation > 0.0 else 1.0)

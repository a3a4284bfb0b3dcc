"""95 % intervals of what is compared: a deviation from a published mean, and a ratio of two means."""

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy import stats

from . import published
from .summary import Mean
from .text import number

_LEVEL = 0.975


class Interval(NamedTuple):
    """A value and its 95 % interval, which is the value alone where nothing varies or one run is known."""

    value: float
    low: float
    high: float

    def lies(self, low: float, high: float) -> tuple[bool, bool]:
        """Tell whether the value lies between two thresholds, and whether all of the interval says the same.

        Examples
        --------
        >>> Interval(0.08, 0.05, 0.11).lies(-0.1, 0.1)
        (True, False)
        """
        within = low <= self.value <= high
        same = (low <= self.low and self.high <= high) if within else (self.high < low or self.low > high)
        return within, same

    def text(self, form: Callable[[float], str] = number) -> str:
        """Return the value with its interval in brackets.

        Examples
        --------
        >>> Interval(2.0, 1.5, 2.5).text(), Interval(2.0, 2.0, 2.0).text()
        ('2.00 [1.50, 2.50]', '2.00')
        """
        known = f" [{form(self.low)}, {form(self.high)}]" if self.high > self.low else ""
        return form(self.value) + known


def of_mean(mean: Mean) -> Interval:
    """Return the mean of some runs with its interval, by Student's t."""
    return Interval(mean.value, mean.value - mean.half_width, mean.value + mean.half_width)


def deviation(ours: Mean, theirs: float) -> Interval:
    """Return ours / theirs - 1, where theirs is a mean of ten runs as well, assumed to vary as ours do.

    Examples
    --------
    >>> deviation(Mean(90.0, 0.0), 100.0).text()
    '-0.100'
    """
    value = ours.value / theirs - 1.0
    if ours.n_runs < 2:
        return Interval(value, value, value)
    error = ours.deviation * math.sqrt(1.0 / ours.n_runs + 1.0 / published.N_RUNS) / theirs
    half = float(stats.t.ppf(_LEVEL, ours.n_runs - 1)) * error
    return Interval(value, value - half, value + half)


def ratio(above: Mean, below: Mean) -> Interval:
    """Return the ratio of two means, its interval on the scale of logarithms, by Welch's degrees of freedom.

    Examples
    --------
    >>> ratio(Mean(6.0, 0.3, 10), Mean(2.0, 0.1, 10)).text()
    '3.00 [2.86, 3.14]'
    """
    value = above.value / below.value
    parts = [((mean.deviation / mean.value) ** 2 / mean.n_runs, mean.n_runs) for mean in (above, below)]
    variance = sum(part for part, _ in parts)
    if variance == 0.0:
        return Interval(value, value, value)
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in parts if part > 0.0)
    factor = math.exp(float(stats.t.ppf(_LEVEL, freedom)) * math.sqrt(variance))
    return Interval(value, value / factor, value * factor)

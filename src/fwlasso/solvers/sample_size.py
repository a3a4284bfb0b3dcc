"""How many columns a step looks at, and which.

The sample-size rules are those of the paper; each is a small object called with the number of columns p and
the number of active features. `draw` takes blocks of neighbouring columns at a random rotation: every column
has the same chance of being looked at. Single columns are drawn afresh for every step, as in the paper, whose
expectation lemma asks for equal chances given the history. Larger blocks go round, and nearly every column is looked at
once before any is looked at again: steps are then not independent, but the columns that matter are found sooner.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from ..data.checks import ask


class SampleSize(Protocol):
    """A rule for the number of columns a step looks at: a function of the two numbers and of nothing else."""

    def __call__(self, p: int, n_active: int) -> int:
        """Return a number of columns between 1 and p, given p and the number of active features."""


@dataclass(frozen=True)
class FixedSize:
    """A number of columns: min(count, p).

    Examples
    --------
    >>> FixedSize(500)(p=10_000, n_active=0)
    500
    """

    count: int

    def __post_init__(self) -> None:
        _require(self.count >= 1, "count", self.count, "at least 1")

    def __call__(self, p: int, n_active: int) -> int:
        return min(self.count, p)


@dataclass(frozen=True)
class FractionOfColumns:
    """A share of the columns, rounded up: max(ceil(share p), at_least), at most p.

    Examples
    --------
    >>> FractionOfColumns(0.01)(p=201_376, n_active=0)
    2014
    """

    share: float
    at_least: int = 1

    def __post_init__(self) -> None:
        _require(0.0 < self.share <= 1.0, "share", self.share, "in (0, 1]")

    def __call__(self, p: int, n_active: int) -> int:
        return min(max(math.ceil(self.share * p), self.at_least), p)


@dataclass(frozen=True)
class QuantileRule:
    """The best of the sample is among the top `quantile` of all columns with probability `confidence`.

    kappa = ceil(ln(1 - confidence) / ln(1 - quantile)), whatever p is: 194 columns by default, or all of fewer.

    Examples
    --------
    >>> rule = QuantileRule(quantile=0.02, confidence=0.98)
    >>> [rule(p, n_active=0) for p in (1_000_000, 500, 100)]
    [194, 194, 100]
    """

    quantile: float = 0.02
    confidence: float = 0.98

    def __post_init__(self) -> None:
        _require(0.0 < self.quantile < 1.0, "quantile", self.quantile, "in (0, 1)")
        _require(0.0 < self.confidence < 1.0, "confidence", self.confidence, "in (0, 1)")

    def __call__(self, p: int, n_active: int) -> int:
        return min(_log_ratio(self.confidence, self.quantile), p)


@dataclass(frozen=True)
class SparsityRule:
    """The sample contains one of `n_relevant` columns with probability `confidence`.

    The smallest kappa with P(miss) = prod_{i < s} (1 - kappa / (p - i)) <= 1 - confidence. The paper's formula
    ln(1 - confidence) / ln(1 - s/p) is an upper bound of it; its published sizes are those of the product.

    Examples
    --------
    >>> SparsityRule(n_relevant=121)(p=10_000, n_active=0)
    372
    """

    n_relevant: int
    confidence: float = 0.99

    def __post_init__(self) -> None:
        _require(self.n_relevant >= 1, "n_relevant", self.n_relevant, "at least 1")
        _require(0.0 < self.confidence < 1.0, "confidence", self.confidence, "in (0, 1)")

    def __call__(self, p: int, n_active: int) -> int:
        if self.n_relevant >= p:
            return 1
        others = p - np.arange(self.n_relevant, dtype=np.float64)
        too_few, enough = 0, min(_log_ratio(self.confidence, self.n_relevant / p), p - self.n_relevant + 1)
        while enough - too_few > 1:  # bisection: at most log2(p) rounds
            middle = (too_few + enough) // 2
            if np.log1p(-middle / others).sum() <= math.log1p(-self.confidence):
                enough = middle
            else:
                too_few = middle
        return enough


@dataclass(frozen=True)
class AdaptiveRule:
    """Large samples while the solution is sparse, smaller ones as it fills up.

    kappa = ceil(ln(1 - confidence) / ln(1 - s/p)) with s the number of active features that the step starts with:
    the sample then contains one of s columns with probability `confidence`. At most `at_most` p, but never below
    `at_least`: at least 194 columns by default, which is more than 10 % of fewer than 1,940, or all of fewer than 194.

    Examples
    --------
    >>> rule = AdaptiveRule()
    >>> [rule(p=100_000, n_active=s) for s in (0, 10, 100, 10_000)]
    [10000, 10000, 4603, 194]
    >>> [rule(p=500, n_active=s) for s in (0, 100)]
    [194, 194]
    """

    confidence: float = 0.99
    at_least: int = 194
    at_most: float = 0.1

    def __post_init__(self) -> None:
        _require(0.0 < self.confidence < 1.0, "confidence", self.confidence, "in (0, 1)")
        _require(self.at_least >= 1, "at_least", self.at_least, "at least 1")
        _require(0.0 < self.at_most <= 1.0, "at_most", self.at_most, "in (0, 1]")

    def __call__(self, p: int, n_active: int) -> int:
        most = max(1, math.ceil(self.at_most * p))
        wanted = _log_ratio(self.confidence, n_active / p) if 0 < n_active < p else (1 if n_active else most)
        return min(max(min(wanted, most), self.at_least), p)


def _require(valid: bool, name: str, value: Any, what: str) -> None:
    if not valid:
        raise ValueError(f"{name} must be {what}, got {value!r}")


def _log_ratio(confidence: float, share: float) -> int:
    return math.ceil(math.log1p(-confidence) / math.log1p(-share))


def columns_to_draw(rule: SampleSize, p: int, n_active: int) -> int:
    """Return what a rule says of p columns, at most p, or raise a ValueError if it says no such thing."""
    n_sampled = ask("sample_size", rule, p, n_active)
    if not isinstance(n_sampled, Integral) or n_sampled < 1:
        raise ValueError(f"sample_size: the rule gave {n_sampled!r}, not a number of columns of at least 1")
    return min(int(n_sampled), p)


def fewest_columns(rule: SampleSize, p: int) -> int | None:
    """Return the fewest of p columns that a rule ever asks for: none of ours grows with the active features.

    None for a function of users: it is not known.
    """
    ours = FixedSize | FractionOfColumns | QuantileRule | SparsityRule | AdaptiveRule
    return columns_to_draw(rule, p, p) if isinstance(rule, ours) else None


#: 1 % of the columns as in the paper, but never fewer than the quantile rule asks for.
DEFAULT_SAMPLE_SIZE = FractionOfColumns(0.01, at_least=194)
ALL_COLUMNS = FractionOfColumns(1.0)


def as_sample_size(sample_size: Any, default: SampleSize = DEFAULT_SAMPLE_SIZE) -> SampleSize:
    """Turn a count, a share, a rule or None (the default) into a rule, or raise a ValueError that names it."""
    if sample_size is None:
        return default
    if isinstance(sample_size, Integral) and not isinstance(sample_size, bool) and int(sample_size) >= 1:
        return FixedSize(int(sample_size))
    if isinstance(sample_size, Real) and not isinstance(sample_size, Integral) and 0.0 < float(sample_size) <= 1.0:
        return FractionOfColumns(float(sample_size))
    if callable(sample_size):
        rule: SampleSize = sample_size
        return rule
    raise ValueError(
        "sample_size must be a number of columns >= 1, a share in (0, 1], a rule such as QuantileRule() or None, "
        f"got {sample_size!r}"
    )

"""How many columns a step looks at, and which.

The sample-size rules are those of the paper; each is a small object called with the number of columns p and
the number of active features. `draw` takes blocks of neighbouring columns at a random rotation: every column
has the same chance of being looked at. Single columns are drawn anew for every step, as in the paper, whose
expectation lemma asks for equal chances given the history. Larger blocks go round, and every column is looked at once
before any is looked at again: steps are then not independent, but the columns that matter are found sooner.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel
from .columns import Columns, cut_columns, shape


class SampleSize(Protocol):
    """A rule for the number of columns a step looks at."""

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

    kappa = ceil(ln(1 - confidence) / ln(1 - quantile)), whatever p is.

    Examples
    --------
    >>> QuantileRule(quantile=0.02, confidence=0.98)(p=1_000_000, n_active=0)
    194
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

    kappa = ceil(ln(1 - confidence) / ln(1 - s/p)) with s the number of active features so far: the sample then
    contains one of s columns with probability `confidence`. Never below `at_least`, never above `at_most` p.

    Examples
    --------
    >>> rule = AdaptiveRule()
    >>> [rule(p=100_000, n_active=s) for s in (0, 10, 100, 10_000)]
    [20000, 20000, 4603, 194]
    """

    confidence: float = 0.99
    at_least: int = 194
    at_most: float = 0.2

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


#: 1 % of the columns as in the paper, but never fewer than the quantile rule asks for.
DEFAULT_SAMPLE_SIZE = FractionOfColumns(0.01, at_least=194)


def as_sample_size(sample_size: Any) -> SampleSize:
    """Turn a count, a share, a rule or None (the default) into a rule, or raise a ValueError that names it."""
    if sample_size is None:
        return DEFAULT_SAMPLE_SIZE
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


# Drawing -----------------------------------------------------------------------------------------------------


class Sampler(NamedTuple):
    """The blocks of columns and the state of their shuffle. An empty `order` means: always everything."""

    order: NDArray[Any]  # blocks, shuffled a little further by every draw
    round: NDArray[np.int64]  # how many blocks of `order` are taken, how much of the last is left, and the rotation
    starts: NDArray[np.int64]  # first column of every block of the last draw
    lengths: NDArray[np.int64]  # their lengths; a block goes round from the last column to the first
    state: NDArray[np.uint64]
    block_size: int
    n_columns: int


def make_sampler(p: int, block_size: int, seed: int) -> Sampler:
    """Return a sampler of blocks of `block_size` neighbouring columns; 1 is sampling without replacement."""
    n_blocks = -(-p // block_size)
    return Sampler(
        np.arange(n_blocks, dtype=np.int32 if n_blocks <= np.iinfo(np.int32).max else np.int64),
        np.array([0, 0, -1]),
        np.empty(n_blocks + 1, np.int64),  # the first block of a draw may come again: its end, and then its beginning
        np.empty(n_blocks + 1, np.int64),
        np.array([seed], np.uint64),
        block_size,
        p,
    )


def all_columns(X: Columns) -> Sampler:
    """Return the sampler that always draws everything, in blocks of about equal work."""
    cuts = np.array(cut_columns(X), np.int64)
    _, p = shape(X)
    return Sampler(np.empty(0, np.int32), np.zeros(3, np.int64), cuts[:-1], np.diff(cuts), np.zeros(1, np.uint64), 1, p)


def default_block_size(n_sampled: int) -> int:
    """Return a block size that reads memory in a row, and still spreads a sample over sixteen blocks or more."""
    return max(1, min(128, n_sampled // 16))


@kernel
def draw(sampler: Sampler, n_sampled: int, n_idle: int) -> int:
    """Draw `n_sampled` distinct columns into `starts` and `lengths`; return the number of blocks.

    The circle of columns, turned by a random angle, is cut into blocks. A round takes them without replacement, and
    what a draw leaves of its last block is the beginning of the next draw: a round looks at every column once. Where it
    ends within a draw, the next round begins with blocks that this draw has not taken. A round of single columns is
    over after every draw that brought descent. After the first of `n_idle` draws in a row that did not, a round begins:
    its draws look at all columns while nothing changes.
    """
    order, starts, lengths = sampler.order, sampler.starts, sampler.lengths
    if order.size == 0:
        return starts.size
    p, size = sampler.n_columns, sampler.block_size
    taken, rest, offset = sampler.round[0], sampler.round[1], sampler.round[2]
    if n_idle == 1 or (n_idle == 0 and size == 1):
        taken = rest = 0
    if offset < 0:
        offset = below(sampler.state, p)
    n_left, n_free = n_sampled, order.size
    k = 0
    while n_left > 0:
        if rest == 0:
            if taken == order.size:
                taken, n_free = 0, order.size - k  # the last k blocks are of this draw
            # Where all that is left is the beginning of a block whose end was the first of this draw: order[n_free].
            other = taken + below(sampler.state, n_free - taken)
            block = order[other]
            order[other] = order[taken]
            order[taken] = block
            taken += 1
            rest = min(size, p - int(block) * size)
        end = min(int(order[taken - 1] + 1) * size, p)
        length = min(rest, n_left)
        starts[k] = (end - rest + offset) % p
        lengths[k] = length
        rest -= length
        n_left -= length
        k += 1
    sampler.round[0], sampler.round[1], sampler.round[2] = taken, rest, offset
    return k


_GAMMA, _MIX_1, _MIX_2 = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@kernel
def below(state: NDArray[np.uint64], n: int) -> int:
    """Return a uniform integer in [0, n), by splitmix64."""
    state[0] += _GAMMA
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return int(np.float64(z >> np.uint64(11)) * 2.0**-53 * n)

"""Random columns, drawn without replacement in blocks of neighbours."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, column_chunks, shape
from .jit import kernel

_GAMMA, _MIX_1, _MIX_2 = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


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
        order=np.arange(n_blocks, dtype=np.int32 if n_blocks <= np.iinfo(np.int32).max else np.int64),
        round=np.array([0, 0, -1]),
        starts=np.empty(
            n_blocks + 1, np.int64
        ),  # the first block of a draw may come again: its end, then its beginning
        lengths=np.empty(n_blocks + 1, np.int64),
        state=np.array([seed], np.uint64),
        block_size=block_size,
        n_columns=p,
    )


def all_columns(X: Columns) -> Sampler:
    """Return the sampler that always draws everything, in blocks of about equal work."""
    cuts = np.array(column_chunks(X), np.int64)
    _, p = shape(X)
    return Sampler(
        order=np.empty(0, np.int32),
        round=np.zeros(3, np.int64),
        starts=cuts[:-1],
        lengths=np.diff(cuts),
        state=np.zeros(1, np.uint64),
        block_size=1,
        n_columns=p,
    )


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


@kernel
def round_length(p: int, n_sampled: int) -> int:
    """Return how many draws in a row without descent have looked at all columns: the first begins a round."""
    return 1 if n_sampled == p else 1 + -(-p // n_sampled)


@kernel
def below(state: NDArray[np.uint64], n: int) -> int:
    """Return a uniform integer in [0, n), by splitmix64."""
    state[0] += _GAMMA
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return int(np.float64(z >> np.uint64(11)) * 2.0**-53 * n)

"""A solved point of the path, and what solvers share."""

from typing import NamedTuple

from .._core.iterate import Iterate
from ..status import Status

#: Bytes of columns read in one burst: some milliseconds, after which time, callback and Ctrl-C are looked at.
BURST_BYTES = 1 << 27


def burst_steps(n_bytes: int, max_steps: int, n_most: int) -> int:
    """Return how many steps that read `n_bytes` each make a burst: at least one, at most `n_most`."""
    return max(1, min(max_steps, n_most, BURST_BYTES // max(1, n_bytes)))


#: A gap of no more than so many times its rounding is as small as float64 lets it become; else a method has stalled.
MOSTLY_ROUNDING = 10.0


class Outcome(NamedTuple):
    """How the work on a point ended."""

    iterate: Iterate
    status: Status
    n_iter: int
    n_dots: int
    gap: float  # over the columns looked at last
    n_priced: int  # columns looked at, those of a working set left out

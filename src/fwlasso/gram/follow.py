"""The path on moments: bursts of compiled work; the clock, the keyboard and the callback are looked at between them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.gram_path import Answer, Limits, advance, make_walk
from .._core.gram_targets import Penalties, Radii, Targets
from .._core.moments import Matrix, Moments, Vector, gamma
from ..status import Status

#: Operations between two looks: a tenth of a second or less.
_BURST = 5e8
# The smallest penalty that is solved, as a share of the largest: it answers lambda = 0, or radii beyond all solutions.
_SMALLEST, _SMALLEST_RADIAL, _LARGEST_FLOOR, _SHARE_OF_GAP = 1e-9, 1e-15, 1e-3, 0.3
#: A gap up to so many times what rounding adds to it is as small as rounding lets it become.
TIMES_ROUNDING = 10.0


class GramPath(NamedTuple):
    """The points of a path, and what they took."""

    coefs: Matrix  # a row for every point
    l1: Vector
    qy: Vector  # q'y, q = Z b
    qq: Vector  # q'q
    gaps: Vector
    roundings: Vector  # how much of a gap is rounding
    n_rounds: NDArray[np.int64]
    statuses: tuple[Status, ...]
    ending: Status | None  # what ended the path before its last point
    n_nodes: int
    n_descents: int  # nodes that took the primal active set


def lam_targets(moments: Moments, lams: Vector) -> Penalties:
    """Return decreasing penalties as the points of a path; zero is answered by one that is close to it."""
    smallest = float(lams[lams > 0.0].min(initial=np.inf))
    return Penalties(lams, min(smallest, _SMALLEST * _lambda_max(moments)))


def radius_targets(moments: Moments, values: Vector, goal: float) -> Radii:
    """Return increasing radii as the points of a path.

    Of a solution for lam, lam * radius bounds the gap for every radius beyond its norm. There is nothing to solve below
    the rounding of correlations.
    """
    lambda_max = _lambda_max(moments)
    rounding = gamma(moments.n_ops + 8.0) * moments.y_norm * float(moments.norms.max(initial=0.0))
    floor = min(max(rounding, _SMALLEST_RADIAL * lambda_max), _LARGEST_FLOOR * lambda_max)
    return Radii(values, max(floor, _SHARE_OF_GAP * goal / values[-1] if values[-1] > 0.0 else 0.0))


def _lambda_max(moments: Moments) -> float:
    return float(np.abs(moments.xty).max(initial=0.0))


def follow_gram(
    moments: Moments,
    targets: Targets,
    goal: float,
    max_rounds: int,
    look: Callable[[int], Status | None],
    left_out: NDArray[np.bool_] | None = None,
) -> GramPath:
    """Solve points from sparse to dense to duality gaps of at most `goal`.

    `look` is told between bursts how many points are solved, and may name what ends the path. Columns that are
    `left_out` never become active; gaps are over all columns.
    """
    walk = make_walk(moments, targets.values.size, _count_zeros(moments, targets))
    if left_out is not None:
        walk.work.factor.scale[left_out] = 0.0
    limits, standing = Limits(goal, max_rounds), walk.standing[0]
    ending = None
    while ending is None and standing.n_done < targets.values.size:
        advance(targets, moments, walk, limits, _BURST)
        ending = look(int(standing.n_done))
    n = int(standing.n_done)
    answers = walk.answers[:n].view(np.ndarray)
    done = {name: answers[name].copy() for name in Answer.names or ()}
    return GramPath(
        walk.coefs[:n], done["l1"], done["qy"], done["qq"], done["gap"], done["rounding"], done["n_rounds"],
        _statuses(done["gap"], done["rounding"], done["is_limited"], goal),
        ending if n < targets.values.size else None, int(standing.n_nodes), int(standing.n_descents),
    )  # fmt: skip


def _count_zeros(moments: Moments, targets: Targets) -> int:
    """Return how many points are zero."""
    lambda_max = _lambda_max(moments)
    is_zero = targets.values >= lambda_max if isinstance(targets, Penalties) else targets.values == 0.0
    return targets.values.size if lambda_max == 0.0 else int(is_zero.sum())


def _statuses(gaps: Vector, roundings: Vector, is_limited: NDArray[np.int64], goal: float) -> tuple[Status, ...]:
    """Name how the work on every point ended."""
    names = (Status.CERTIFIED, Status.PRECISION, Status.MAX_ITER, Status.STALLED)
    is_precise = (gaps <= TIMES_ROUNDING * roundings) & np.isfinite(gaps)
    which = np.select([gaps <= goal, is_precise, is_limited != 0], [0, 1, 2], 3)
    return tuple(names[k] for k in which.tolist())

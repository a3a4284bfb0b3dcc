"""The path on moments: bursts of compiled work; the clock, the keyboard and the callback are looked at between them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.compress import compress_rows
from .._core.costs import largest_pull
from .._core.gram_path import Limits, Walk, advance, make_walk
from .._core.gram_targets import Targets
from .._core.moments import Moments, Vector, gamma
from .._core.penalties import Penalty
from .._core.targets import floor_of
from ..problem.points import MOSTLY_ROUNDING, Indices
from ..status import Status

#: Operations between two looks: a tenth of a second or less.
_BURST = 5e8
# Of coefficients of points that are held dense at a time: a window on the path. What leaves it is compressed.
_ROW_BYTES, _FEWEST_ROWS = 1 << 25, 128
# The fraction of the gap asked for that radii beyond all solutions may have.
_BEYOND = 0.3

PackedRows = tuple[Vector, NDArray[np.int32], NDArray[np.int32]]


class GramPath(NamedTuple):
    """The points of a path, and what they took."""

    indptr: Indices  # the parts of a CSC matrix with a column for every point
    columns: Indices
    coefs: Vector
    answers: NDArray[Any]  # an `Answer` for every point
    statuses: tuple[Status, ...]
    ending: Status | None  # what ended the path before its last point
    n_nodes: int
    n_descents: int  # nodes that took the primal active set


def targets_of(penalties: Sequence[Penalty], moments: Moments, goal: float) -> Targets:
    """Return the points of a path from sparse to dense."""
    values = np.array([penalty[0] for penalty in penalties])
    lambda_max = float(largest_pull(moments.cost, moments.xty))
    rounding = gamma(moments.n_ops + 8.0) * moments.y_norm * moments.norms.max(initial=0.0)
    return Targets(penalties[0], values, floor_of(penalties[0], values, lambda_max, rounding, _BEYOND * goal))


def rows_held(p: int) -> int:
    """Return how many rows of p numbers are held at a time."""
    return max(_FEWEST_ROWS, _ROW_BYTES // (8 * max(1, p)))


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
    n_points, p = targets.values.size, moments.xty.size
    walk = make_walk(moments, n_points, rows_held(p))
    parts: list[PackedRows] = []
    if left_out is not None:
        walk.work.factor.scale[left_out] = 0.0
    limits, standing = Limits(goal, max_rounds), walk.standing[0]
    ending, n = None, 0
    while ending is None and n < n_points:
        advance(targets, moments, walk, limits, _BURST)
        n = int(standing.n_done)
        if n < n_points and len(walk.coefs) // 2 < n - standing.n_taken:
            parts.append(_take_rows(walk))
        ending = look(n)
    values, columns, sizes = zip(*parts, _take_rows(walk), strict=True)
    done = walk.answers[:n].view(np.ndarray)
    statuses = statuses_of(done["gap"], done["rounding"], done["is_limited"], goal)
    n_nodes, n_descents = int(standing.n_nodes), int(standing.n_descents)
    return GramPath(
        indptr=np.cumsum(np.concatenate([[0], *sizes])),
        columns=np.concatenate(columns, dtype=np.int64),
        coefs=np.concatenate(values),
        answers=done,
        statuses=statuses,
        ending=ending if n < n_points else None,
        n_nodes=n_nodes,
        n_descents=n_descents,
    )


def _take_rows(walk: Walk) -> PackedRows:
    """Return the rows of points that are solved, compressed: their values, columns and sizes. They are free then."""
    standing = walk.standing[0]
    n_done = standing.n_done
    values, columns, bounds = compress_rows(walk.coefs[: n_done - standing.n_taken])
    standing.n_taken = n_done
    return values, columns, np.diff(bounds)


def statuses_of(gaps: Vector, roundings: Vector, is_limited: Any, goal: float) -> tuple[Status, ...]:
    """Name how the work on every point ended."""
    names = (Status.CERTIFIED, Status.PRECISION, Status.MAX_ITER, Status.STALLED)
    is_precise = (gaps <= MOSTLY_ROUNDING * roundings) & np.isfinite(gaps)
    which = np.select([gaps <= goal, is_precise, is_limited != 0], [0, 1, 2], 3)
    return tuple(names[k] for k in which.tolist())

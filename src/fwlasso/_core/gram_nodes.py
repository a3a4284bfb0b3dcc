"""A node: the Lasso for one penalty on a Gram matrix, a round at a time.

Block principal pivoting: solve on the active set, then exchange every coefficient of a wrong sign and every column
whose correlation exceeds the penalty, all at once. Where that cycles, the primal active set takes over: a step from b
that is cut where the first coefficient becomes zero; else the column with the largest correlation comes. Both compute g
from b in every round, so that an inexact factor costs rounds and no accuracy.

A coefficient that is not free rests, at zero or at a bound; a ridge of the cost is added to the diagonal. In steps:

1. the factor of G_FF + diag(mu), F the free columns, is brought to F;
2. pivoting starts at b = rest, g = c - G b, else at b: x solves (G_FF + diag(mu)) x = g_F - lean(b)_F;
3. b_F <- b_F + x, g = c - G b; a point within its bounds is judged by its gap;
4. free coefficients that left their piece rest at its end, those at rest that g pulls off are free: back to 1.

Pivoting passes through points outside of their bounds, which have no gap.
"""

from typing import Any, NamedTuple

import numpy as np

from .cholesky import Factor, Indices, clear, set_columns, solve
from .costs import Cost, bounds, curvature, exchange, is_plain, lean, piece, settle
from .gaps import gap_at, magnitude_of, terms_of
from .jit import inner_kernel
from .moments import Moments, Vector
from .penalties import L1

#: What comes next on a node; nothing from `SOLVED` on.
PIVOT, REFINE, DESCEND, SOLVED, STUCK = 0, 1, 2, 3, 4
#: A column comes if |g_j| is above lam by more than rounding: the copy of an active one does not.
ABOVE = 1.0 + 1e-13
# A gap is as small as rounding lets it become if all else is such a fraction of it. How much larger a point may become.
_BELOW_ROUNDING, _LARGER = 0.1, 10.0
# What stands for the gap of a point that is outside of its bounds: no reason to start again, as infinity is.
_OUTSIDE = 1e300
# Rounds in which nothing need improve: of pivoting and refining, and per column of descending.
_PATIENCE, _PATIENCE_PER_COLUMN = 3, 2
# Rounds on a node at most: so many, and so many per column. Steps that are not finite, at most.
_MOST, _MOST_PER_COLUMN, _MOST_FAILURES = 100, 20, 2

#: How the work on a node stands.
NodeState = np.dtype(
    [
        ("next", np.int64),
        ("n_rounds", np.int64),
        ("n_failures", np.int64),  # steps that were not finite
        ("fewest", np.int64),  # wrong columns in a round
        ("least", np.float64),  # gap
        ("idle", np.int64),  # rounds since one of them fell
        ("has_descended", np.int64),
    ],
    align=True,
)


class Workspace(NamedTuple):
    """What solving a node changes beside the node itself."""

    factor: Factor
    sign: Vector  # by column: of the piece that its coefficient is to be on, zero at rest
    rest: Vector  # by column: where a coefficient rests
    x: Vector  # by row of the factor: a step
    state: Any  # a recarray of one NodeState


class Node(NamedTuple):
    """A penalty and its point; another point to descend from."""

    lam: float
    b: Vector
    g: Vector  # Z'(y - Z b)
    start_b: Vector
    start_g: Vector
    start_magnitude: float  # B of `gaps`


@inner_kernel
def begin(work: Workspace) -> None:
    """Begin a node whose signs are predicted; its b and g are a point, whatever it be."""
    at = work.state[0]
    at.next, at.n_rounds, at.n_failures, at.has_descended = PIVOT, 0, 0, 0
    at.fewest, at.least, at.idle = work.sign.size + 1, np.inf, 0


@inner_kernel
def advance_node(moments: Moments, work: Workspace, node: Node, goal: float) -> float:
    """Make a round on a node that is not solved; return how many operations it took, roughly."""
    at, p = work.state[0], node.b.size
    if at.n_rounds == 0 and not is_plain(moments.cost):
        _add_ridge(moments, work.factor, node.lam)
    operations = set_columns(moments.gram, work.factor, work.sign)
    n = float(work.factor.size[0])
    at.n_rounds += 1
    if at.next == PIVOT:
        _go_to_rest(moments, work, node)
    if not _find_step(moments.cost, work, node):
        _start_again(moments.cost, work, node)
    elif at.next == DESCEND:
        _descend(moments, work, node, goal)
    else:
        _pivot(moments, work, node, goal)
    if at.n_rounds >= _MOST + _MOST_PER_COLUMN * p and at.next != SOLVED:
        at.next = STUCK
    return operations + n * (2.0 * n + 2.0 * p) + 20.0 * p


@inner_kernel
def give_up(moments: Moments, node: Node) -> None:
    """End a node that is not solved as it is, or at its start if that has the smaller gap."""
    start = Node(node.lam, node.start_b, node.start_g, node.b, node.g, node.start_magnitude)
    if not _judge(moments, node, 0.0)[0] <= _judge(moments, start, 0.0)[0]:
        for j in range(node.b.size):
            node.b[j], node.g[j] = node.start_b[j], node.start_g[j]


@inner_kernel
def _add_ridge(moments: Moments, factor: Factor, lam: float) -> None:
    """Let the factor be that of cosines of columns with rows sqrt(mu_j) e_j below them, for this lambda."""
    changes = False
    for j in range(factor.scale.size):
        if factor.scale[j] > 0.0:
            scale = 1.0 / np.sqrt(moments.gram[j, j] + curvature(moments.cost, lam, j))
            changes = changes or scale != factor.scale[j]
            factor.scale[j] = scale
    if changes:
        clear(factor)


@inner_kernel
def _go_to_rest(moments: Moments, work: Workspace, node: Node) -> None:
    """Set b to zero where it is to be free, and to its rest elsewhere."""
    for j in range(node.b.size):
        node.b[j] = 0.0 if work.sign[j] != 0.0 else work.rest[j]
    n = work.factor.size[0]
    correlate(moments, work.factor.order, n, _list_resting(moments.cost, work, node.b), node.b, node.g)


@inner_kernel
def _list_resting(cost: Cost, work: Workspace, b: Vector) -> int:
    """List coefficients that rest at a bound behind the rows of the factor; return how many columns are listed."""
    n = int(work.factor.size[0])
    if not is_plain(cost):
        for j in range(b.size):
            if work.sign[j] == 0.0 and b[j] != 0.0:
                work.factor.order[n] = j
                n += 1
    return n


@inner_kernel
def _find_step(cost: Cost, work: Workspace, node: Node) -> bool:
    """Solve (G_FF + diag(mu)) x = g_F - lean(b)_F; return whether the solution is finite."""
    order, scale, x = work.factor.order, work.factor.scale, work.x
    n = work.factor.size[0]
    for k in range(n):
        j = order[k]
        x[k] = (node.g[j] - lean(cost, node.lam, j, work.sign[j], node.b[j])) * scale[j]
    solve(work.factor.upper, n, x)
    total = 0.0
    for k in range(n):
        x[k] *= scale[order[k]]
        total += abs(x[k])
    return bool(np.isfinite(total))


@inner_kernel
def correlate(moments: Moments, order: Indices, first: int, n: int, b: Vector, g: Vector) -> None:
    """Fill g = c - G b, where b is zero but for the columns order[first:n]."""
    gram, p = moments.gram, np.uintp(g.size)
    for i in range(p):
        g[i] = moments.xty[i]
    k = first
    while k + 3 < n:
        j0, j1, j2, j3 = order[k], order[k + 1], order[k + 2], order[k + 3]
        b0, b1, b2, b3 = b[j0], b[j1], b[j2], b[j3]
        r, s, t, u = gram[j0], gram[j1], gram[j2], gram[j3]
        for i in range(p):
            g[i] -= b0 * r[i] + b1 * s[i] + b2 * t[i] + b3 * u[i]
        k += 4
    for last in range(k, n):
        b0, r = b[order[last]], gram[order[last]]
        for i in range(p):
            g[i] -= b0 * r[i]


@inner_kernel
def _judge(moments: Moments, node: Node, goal: float) -> tuple[float, bool]:
    """Return a bound of the gap, and whether it will do: as little is asked for, or can be told from rounding.

    The rounding of a point that is far larger than the last one is no excuse: other points may have less of it.
    """
    magnitude, k, _ = magnitude_of(moments, node.b)
    if not (is_plain(moments.cost) or _is_inside(moments.cost, node.b)):
        return _OUTSIDE, False
    terms = terms_of(moments, node.b, node.g, magnitude, k)
    lam = node.lam
    gap, rounding = gap_at(moments.cost, L1(lam), lam, lam, moments, node.b, node.g, terms)
    can_be_less = magnitude > _LARGER * node.start_magnitude
    return gap, gap <= goal if can_be_less else gap - rounding <= max(goal, _BELOW_ROUNDING * rounding)


@inner_kernel
def _is_inside(cost: Cost, b: Vector) -> bool:
    """Tell whether all coefficients are within their bounds; numbers that are not finite are left to the gap."""
    for j in range(b.size):
        low, high = bounds(cost, j)
        if b[j] < low or b[j] > high:
            return False
    return True


@inner_kernel
def _move(moments: Moments, work: Workspace, node: Node, t: float, left: int, end: float) -> None:
    """Go along the step by t of its length, where column `left`, if it is one, ends at `end`; compute g from b."""
    order, n = work.factor.order, work.factor.size[0]
    for k in range(n):
        node.b[order[k]] += t * work.x[k]
    if left >= 0:
        node.b[left] = end
    correlate(moments, order, 0, _list_resting(moments.cost, work, node.b), node.b, node.g)


@inner_kernel
def _pivot(moments: Moments, work: Workspace, node: Node, goal: float) -> None:
    """Take the step, from rest or to refine b, and exchange all that are wrong."""
    at, b, g, lam = work.state[0], node.b, node.g, node.lam
    _move(moments, work, node, 1.0, -1, 0.0)
    gap, will_do = _judge(moments, node, goal)
    if will_do:
        at.next = SOLVED
        return
    if not gap < np.inf:
        _start_again(moments.cost, work, node)
        return
    n_wrong = 0
    for j in range(b.size):
        if work.factor.scale[j] > 0.0:
            sign, work.rest[j] = exchange(moments.cost, lam, j, work.sign[j], work.rest[j], b[j], g[j], ABOVE)
            n_wrong += sign != work.sign[j]
            work.sign[j] = sign
    at.next = PIVOT if n_wrong > 0 else REFINE
    at.idle = 0 if n_wrong < at.fewest or (n_wrong == 0 and gap < 0.5 * at.least) else at.idle + 1
    at.fewest, at.least = min(at.fewest, n_wrong), min(at.least, gap)
    if at.idle > _PATIENCE:
        _begin_to_descend(moments.cost, work, node)


@inner_kernel
def _start_again(cost: Cost, work: Workspace, node: Node) -> None:
    """Forget a factor that leads nowhere; where that does not help, the last finite point stands."""
    at = work.state[0]
    clear(work.factor)
    at.n_failures += 1
    if at.next != DESCEND:
        _begin_to_descend(cost, work, node)
    elif at.n_failures > _MOST_FAILURES:
        at.next = STUCK


@inner_kernel
def _begin_to_descend(cost: Cost, work: Workspace, node: Node) -> None:
    at = work.state[0]
    at.next, at.has_descended, at.least, at.idle = DESCEND, 1, np.inf, 0
    for j in range(node.b.size):
        node.b[j], node.g[j] = node.start_b[j], node.start_g[j]
        if work.factor.scale[j] > 0.0:
            work.sign[j], work.rest[j] = settle(cost, j, node.b[j])


@inner_kernel
def _descend(moments: Moments, work: Workspace, node: Node, goal: float) -> None:
    """Take the step up to where the first coefficient leaves its piece, to rest; where none does, one comes."""
    at, b, g, order, x = work.state[0], node.b, node.g, work.factor.order, work.x
    t, left, end = 1.0, -1, 0.0
    for k in range(work.factor.size[0]):
        j = order[k]
        low, high = piece(moments.cost, j, work.sign[j])
        limit = high if x[k] > 0.0 else low
        if abs(limit - b[j]) < t * abs(x[k]):
            t, left, end = abs((limit - b[j]) / x[k]), j, limit
    _move(moments, work, node, t, left, end)
    if left >= 0:
        work.sign[left], work.rest[left] = 0.0, end
    if left >= 0 and t > 0.0:
        return
    gap, will_do = _judge(moments, node, goal)
    at.idle = 0 if gap < 0.9 * at.least else at.idle + 1
    at.least = min(at.least, gap)
    comes, most, came = -1, 0.0, 0.0
    for j in range(b.size):
        if work.sign[j] == 0.0 and j != left and work.factor.scale[j] > 0.0:
            sign, _ = exchange(moments.cost, node.lam, j, 0.0, work.rest[j], b[j], g[j], ABOVE)
            excess = abs(g[j] - lean(moments.cost, node.lam, j, sign, b[j])) if sign != 0.0 else 0.0
            if excess > most:
                comes, most, came = j, excess, sign
    if comes >= 0:
        work.sign[comes] = came
    if will_do:
        at.next = SOLVED
    elif at.idle > (_PATIENCE if comes < 0 and left < 0 else _PATIENCE_PER_COLUMN * b.size):
        at.next = STUCK

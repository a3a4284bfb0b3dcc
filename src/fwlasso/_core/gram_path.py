"""The certified path on a Gram matrix: nodes are solved, and the points between two nodes are mixed where that does.

Between nodes b and g = Z'(y - Z b) are linear, so that a mix has exact products with all columns, and a gap costs O(p).
Nodes come from left to right, from large penalties to small ones. A stack holds those to the right of the last one. In
steps:

1. the null model answers the points from lambda_max on, and is the last node;
2. a node is begun for the point some way ahead, with signs from the line through the last two nodes: see `gram_nodes`;
3. the points up to the node on top are mixed, b = (1 - t) b_left + t b_top and g likewise; each has its gap;
4. where a gap is too large, a node for the point in the middle of these comes on top: on with 3.;
5. else the points are answered, and the node on top is the last one: on with 3. while there are others, else with 2.
   How far ahead follows from the largest gap of a mix, which is quadratic in the distance.

A point is for a lambda or for a radius: `gram_targets` says where between two nodes it is, which lambda to solve for
it, and what its gap is. `advance` returns after some work, and goes on where it was.
"""

from typing import Any, NamedTuple

import numpy as np

from .cholesky import make_factor
from .costs import Cost, bounds, exchange, is_plain, lean, settle, slope
from .gaps import ROUND_UP, magnitude_of, terms_of
from .gram_nodes import ABOVE, SOLVED, STUCK, Node, NodeState, Workspace, advance_node, begin, give_up
from .gram_targets import About, Nodes, Targets, claim_at, lam_ahead, lam_between, position_of
from .jit import inner_kernel, kernel, part_of_kernel
from .moments import Matrix, Moments, NullModel, Vector, gamma, null_model
from .targets import fraction_inside, is_zero

# The fraction of the gap asked for that nodes are solved to.
_NODE = 0.1
# Points to go ahead: at first, and at most; by what that is multiplied, for mixes to have such a fraction of the gap.
_FIRST_STRIDE, _LONGEST_STRIDE, _SHORTER, _LONGER, _AIM = 3.0, 25.0, 0.4, 1.5, 0.6
# Nodes on the stack at most, and between two others; penalties that differ by less, relatively, have none between.
_DEPTH, _NARROWEST, _MOST_BETWEEN = 40, 1e-12, 200
# Rows that are free before a node goes ahead, where points come after it that have none.
_ROOM = 64
# A column that may be active between two nodes has at least such a fraction of the penalty.
_NEAR = 0.98

#: How the work on a path stands.
Standing = np.dtype(
    [
        ("n_done", np.int64),  # points that are solved
        ("n_taken", np.int64),  # those among them whose rows are free for others
        ("is_full", np.int64),  # more points are to be answered by the nodes on the stack than there are rows
        ("depth", np.int64),  # nodes on the stack: the one on top is worked on, all others are solved
        ("stride", np.float64),
        ("n_rounds", np.int64),  # since the last point
        ("n_spent", np.float64),  # rounds that points have not paid for: each pays for as many as it may take
        ("n_owed", np.int64),  # points that these are for
        ("n_between", np.int64),  # nodes since the last one that went ahead
        ("n_nodes", np.int64),
        ("n_descents", np.int64),  # nodes that pivoting did not solve
    ],
    align=True,
)


#: What is known of a point.
Answer = np.dtype(
    [
        ("l1", np.float64),
        ("qy", np.float64),  # q'y
        ("qq", np.float64),  # q'q
        ("gap", np.float64),
        ("rounding", np.float64),  # how much of the gap is
        ("n_rounds", np.int64),
        ("is_limited", np.int64),
    ],
    align=True,
)


class Walk(NamedTuple):
    """All that changes along a path."""

    work: Workspace
    nodes: Nodes
    null: NullModel
    coefs: Matrix  # a row for every point, or for so many of them at a time
    answers: Any  # a recarray of Answer
    g: Vector  # of a mix
    standing: Any  # a recarray of one Standing


class Limits(NamedTuple):
    """What is asked of a point: a gap, in so many rounds."""

    gap: float
    max_rounds: int


def make_walk(moments: Moments, n_points: int, n_rows: int | None = None) -> Walk:
    """Return the beginning of a path; so many of its points are held at a time, or all."""
    p, n_slots = moments.xty.size, _DEPTH + 2
    factor, state = make_factor(moments.gram, moments.norms), np.recarray(1, NodeState)
    work = Workspace(factor, np.zeros(p), np.zeros(p), np.empty(p), state)
    nodes = Nodes(np.arange(n_slots), np.recarray(n_slots, About), np.empty((n_slots, p)), np.empty((n_slots, p)))
    # Above its lambda the null model is the solution, and the correlations do not change.
    null = null_model(moments)
    n_active, more = np.count_nonzero(null.coefs), float(moments.norms @ np.abs(null.coefs))
    magnitude = (moments.y_norm + more) * (1.0 + gamma(n_active + 4.0)) if more else moments.y_norm
    for slot in range(2):
        nodes.about[slot] = ((2.0 - slot) * null.lam, 0.0, magnitude, n_active, 0)
        nodes.b[slot], nodes.g[slot] = null.coefs, null.corrs
    standing = np.recarray(1, Standing)
    standing[0] = (0, 0, 0, 0, _FIRST_STRIDE, 0, 0.0, 1, 0, 0, 0)
    rows = np.empty((n_points if n_rows is None else min(n_points, max(n_rows, 2 * _ROOM)), p))
    answers = np.recarray(n_points, Answer)
    return Walk(work, nodes, null, rows, answers, g=np.empty(p), standing=standing)


@kernel
def advance(targets: Targets, moments: Moments, walk: Walk, limits: Limits, budget: float) -> None:
    """Go on with a path until all points are solved, rows are full, or about `budget` operations are made.

    Full rows are to be taken elsewhere, up to `n_done`, and counted as taken.
    """
    at, nodes, now = walk.standing[0], walk.nodes, walk.work.state[0]
    n_points, lambda_max = targets.values.size, nodes.about[nodes.slots[1]].lam  # until there is another node
    while at.n_nodes == 0 and at.n_done < n_points and is_zero(targets.penalty, targets.values[at.n_done], lambda_max):
        if _n_free(walk) == 0:
            return
        _answer(targets, moments, walk, at.n_done, nodes.slots[1], 0.0)
        at.n_done += 1
    spent = 0.0
    if at.is_full:
        spent += _settle(targets, moments, walk, limits)
    while at.n_done < n_points and spent < budget and not at.is_full:
        if at.depth == 0:
            if _n_free(walk) < min(_ROOM, n_points - at.n_done):
                return
            _go_ahead(targets, moments.cost, walk)
        left, top = nodes.slots[1], nodes.slots[1 + at.depth]
        about = nodes.about[top]
        node = Node(about.lam, nodes.b[top], nodes.g[top], nodes.b[left], nodes.g[left], nodes.about[left].magnitude)
        # What answers radii beyond its norm has a larger gap for these: it is solved as well as rounding allows.
        goal = _NODE * limits.gap if node.lam > targets.floor else 0.0
        spent += advance_node(moments, walk.work, node, goal)
        about.is_limited = now.next < SOLVED and _is_spent(at, now.n_rounds, limits)
        if about.is_limited or now.next == STUCK:
            give_up(moments, node)
        if about.is_limited or now.next >= SOLVED:
            about.magnitude, about.n_active, about.l1 = magnitude_of(moments, node.b)
            at.n_rounds += now.n_rounds
            at.n_spent += now.n_rounds
            at.n_nodes += 1
            at.n_descents += now.has_descended
            spent += _settle(targets, moments, walk, limits)


@part_of_kernel
def _n_free(walk: Walk) -> int:
    """Return how many rows are free."""
    at = walk.standing[0]
    n_rows: int = walk.coefs.shape[0] - at.n_done + at.n_taken
    return n_rows


@part_of_kernel
def _is_spent(at: Any, n_more: int, limits: Limits) -> bool:
    """Tell whether the points that nodes are on the way to have had their rounds."""
    return bool(at.n_spent + n_more >= float(at.n_owed) * limits.max_rounds)


@inner_kernel
def _settle(targets: Targets, moments: Moments, walk: Walk, limits: Limits) -> float:
    """Answer the points up to the nodes on the stack, or begin another node where a mix fails; return operations."""
    at, slots = walk.standing[0], walk.nodes.slots
    operations, is_ahead = 0.0, at.depth == 1
    while at.depth > 0:
        n_points, middle, worst = _answer_all(targets, moments, walk, limits)
        operations += 20.0 * n_points * walk.g.size
        if is_ahead:
            change = np.sqrt(_AIM * limits.gap / worst) if worst > 0.0 else _LONGER
            stride = n_points * min(_LONGER, max(_SHORTER, change)) if n_points > 1 else 2.0
            at.stride = min(_LONGEST_STRIDE, max(1.0, stride))
            is_ahead = False
        if middle >= 0 and not _is_spent(at, 0, limits) and _go_between(targets, moments.cost, walk, middle):
            at.is_full = 0
            break
        if n_points > 0:
            walk.answers[at.n_done].n_rounds = at.n_rounds
            at.n_rounds = 0
            at.n_spent = max(0.0, at.n_spent - float(n_points) * limits.max_rounds)
            at.n_owed = max(1, at.n_owed - n_points)
            at.n_done += n_points
        if at.is_full:
            break
        top = 1 + at.depth
        slots[0], slots[1], slots[top] = slots[1], slots[top], slots[0]
        at.depth -= 1
    return operations


@inner_kernel
def _answer_all(targets: Targets, moments: Moments, walk: Walk, limits: Limits) -> tuple[int, int, float]:
    """Answer the points up to the node on top, and those that it was to reach if no rounds are left for them.

    Return how many there are, the one in the middle of those whose mix fails, or -1, and the largest gap of a mix.
    """
    at, nodes = walk.standing[0], walk.nodes
    left, right = nodes.slots[1], nodes.slots[1 + at.depth]
    first, last, worst, k, goal = -1, -1, 0.0, at.n_done, limits.gap
    is_spent = _is_spent(at, 0, limits)
    n_most = at.n_done + _n_free(walk)
    at.is_full = 0
    while k < targets.values.size:
        t = position_of(targets, k, nodes, left, right)
        if t > 1.0:
            if not (is_spent and at.depth == 1 and k < at.n_done + at.n_owed):
                break
            t = 1.0
        if k == n_most:
            at.is_full = 1
            break
        gap, rounding = _answer(targets, moments, walk, k, right, max(t, 0.0))
        walk.answers[k].is_limited |= is_spent
        if t < 1.0:
            worst = max(worst, gap)
            if gap > goal and gap - rounding > max(_NODE * goal, rounding):
                first, last = k if first < 0 else first, k
        k += 1
    return k - at.n_done, (first + last) // 2, worst


@inner_kernel
def _answer(targets: Targets, moments: Moments, walk: Walk, k: int, right: int, t: float) -> tuple[float, float]:
    """Fill point k with (1 - t) left + t right; return its gap, and how much of that is rounding."""
    nodes, answer = walk.nodes, walk.answers[k]
    slot, b = nodes.slots[1], walk.coefs[k - walk.standing[0].n_taken]
    n_active = _mix(nodes, slot, right, t, b, walk.g)
    if not is_plain(moments.cost):
        _clip(moments.cost, b)
    first, second = nodes.about[slot], nodes.about[right]
    magnitude = ((1.0 - t) * first.magnitude + t * second.magnitude) * ROUND_UP
    n_most = max(n_active, first.n_active, second.n_active)
    terms = terms_of(moments, b, walk.g, magnitude, n_most)
    fraction = fraction_inside(targets.penalty, targets.values[k], terms.l1)
    if fraction < 1.0:  # a mix with the null model; its magnitude is no larger
        for j in range(b.size):
            b[j] = fraction * b[j] + (1.0 - fraction) * walk.null.coefs[j]
            walk.g[j] = fraction * walk.g[j] + (1.0 - fraction) * walk.null.corrs[j]
        terms = terms_of(moments, b, walk.g, magnitude, n_most + 4.0)
    answer.l1, answer.qy, answer.qq = terms.l1, terms.qy, terms.qy - terms.qr
    lam = (1.0 - t) * first.lam + t * second.lam
    answer.gap, answer.rounding = claim_at(targets, k, lam, moments, b, walk.g, terms)
    answer.n_rounds, answer.is_limited = 0, first.is_limited | second.is_limited
    return answer.gap, answer.rounding


@inner_kernel
def _mix(nodes: Nodes, left: int, right: int, t: float, b: Vector, g: Vector) -> float:
    """Fill b and g with (1 - t) left + t right; return how many coefficients are not zero."""
    s, n_active = 1.0 - t, 0.0
    left_b, left_g, right_b, right_g = nodes.b[left], nodes.g[left], nodes.b[right], nodes.g[right]
    for j in range(b.size):
        b[j] = s * left_b[j] + t * right_b[j]
        g[j] = s * left_g[j] + t * right_g[j]
        n_active += 1.0 if b[j] != 0.0 else 0.0
    return n_active


@inner_kernel
def _predict(cost: Cost, work: Workspace, j: int, lam: float, b: float, ahead: float, corr: float, near: float) -> None:
    """Set the sign and the rest of a coefficient that was b and is to be `ahead`, where z_j'r is to be `corr`.

    One that is free stays so if its correlation is above a fraction `near` of lambda.
    """
    sign = rest = 0.0
    if work.factor.scale[j] > 0.0:
        sign, rest = settle(cost, j, b)
        kink = lam * slope(cost, j) * sign
        if sign != 0.0 and kink != 0.0 and abs(corr - (lean(cost, lam, j, sign, b) - kink)) <= near * lam:
            sign, rest = 0.0, 0.0
        else:
            sign, rest = exchange(cost, lam, j, sign, rest, ahead, corr, ABOVE)
    work.sign[j], work.rest[j] = sign, rest


@inner_kernel
def _clip(cost: Cost, b: Vector) -> None:
    """Bring a mix of coefficients that rest at bounds back to these, from which a rounding may have led it."""
    for j in range(b.size):
        low, high = bounds(cost, j)
        b[j] = min(max(b[j], low), high)


@inner_kernel
def _go_ahead(targets: Targets, cost: Cost, walk: Walk) -> None:
    """Begin a node to the right of the last one, from the line through the last two."""
    at, nodes, work = walk.standing[0], walk.nodes, walk.work
    before, left, top = nodes.slots[0], nodes.slots[1], nodes.slots[2]
    aim = min(at.n_done + int(at.stride), targets.values.size) - 1
    lam = lam_ahead(targets.penalty, targets, aim, nodes, before, left)
    t = (nodes.about[left].lam - lam) / (nodes.about[before].lam - nodes.about[left].lam)
    _mix(nodes, before, left, 1.0 + t, nodes.b[top], nodes.g[top])
    for j in range(work.sign.size):
        _predict(cost, work, j, lam, nodes.b[left, j], nodes.b[top, j], nodes.g[top, j], -1.0)
        nodes.b[top, j], nodes.g[top, j] = nodes.b[left, j], nodes.g[left, j]
    nodes.about[top].lam = lam
    at.depth, at.n_between, at.n_owed = 1, 0, aim + 1 - at.n_done
    begin(work)


@inner_kernel
def _go_between(targets: Targets, cost: Cost, walk: Walk, k: int) -> bool:
    """Begin a node for point k between the last one and the one on top; return whether there is room for it."""
    at, nodes, work = walk.standing[0], walk.nodes, walk.work
    left, right = nodes.slots[1], nodes.slots[1 + at.depth]
    lam = lam_between(targets.penalty, targets, k, nodes, left, right)
    is_full = at.depth == _DEPTH or at.n_between == _MOST_BETWEEN
    if is_full or not nodes.about[left].lam - nodes.about[right].lam > _NARROWEST * lam:
        return False
    top = nodes.slots[2 + at.depth]
    t = (nodes.about[left].lam - lam) / (nodes.about[left].lam - nodes.about[right].lam)
    _mix(nodes, left, right, t, nodes.b[top], nodes.g[top])
    for j in range(work.sign.size):
        _predict(cost, work, j, lam, nodes.b[top, j], nodes.b[top, j], nodes.g[top, j], _NEAR)
        nodes.b[top, j], nodes.g[top, j] = nodes.b[left, j], nodes.g[left, j]
    nodes.about[top].lam = lam
    at.depth += 1
    at.n_between += 1
    begin(work)
    return True

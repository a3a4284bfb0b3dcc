"""The path driver: knots from sparse to dense, everything between them by interpolation where that is certified.

Up to the next knot the path is solved on a working set that is predicted to hold all columns that matter, at as many
penalties as it takes to interpolate between them. Then all columns are priced, in one pass over the data, unless the
lazy oracle leaves few of them. What is solved again after that, because a column outside the working set did matter, is
certified by the lazy oracle.

The penalized problem is what is solved, for radii, too: a point of the constrained path is an interpolation between
two solutions of the penalized problem, certified in its own form.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from .._core.columns import Vector
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1, L1Ball, Penalty
from .._core.problem import Problem
from .._core.subproblem.copies import Indices
from .._core.threads import Workers, lazy, one_blas_thread
from ..problem.certificate import Evidence, prove, proved_gap
from ..problem.points import MOSTLY_ROUNDING, Guess, Solution, SolvedPath, SolvedPoint, Tell, solved_path
from ..status import Status
from .copier import NoRoom
from .duplicates import Duplicates
from .nodes import Node, Span, Start, extend, make_span, start_between, zero_node
from .references import Anchors, Reach, Reference, first_reference, make_reach, near_columns
from .suspects import price_suspects
from .working_set import WorkingSet

# Shares of the gap asked for: to solve to on the working set, to accept a node with, to interpolate with.
_SOLVE, _ACCEPT, _MIX = 0.5, 0.65, 0.85
# And to accept a guess with, where it is all that is asked for: what was a solution is none the worse for another look.
_ACCEPT_GUESS = 0.999
# Distances on a logarithmic scale of penalties: between knots, and between nodes at first.
_STRIDE, _FIRST_STEP = 0.4, 0.1
# Steps are stretched up to this to reach a knot; where one was too long, a node in its middle is what it costs.
_STRETCH = 1.4
# They do not become shorter than this: nodes in the middle do the rest.
_SHORTEST_STEP = 1e-6
# A node is solved again with more columns at most so often; bisections between two nodes.
_MAX_ROUNDS, _MAX_DEPTH = 50, 40
# Columns predicted to be this close to the penalty are worked with, at most so many or so many times the active ones.
_NEAR, _MOST_PREDICTED, _TIMES_ACTIVE = 0.93, 1000, 6
# After a knot that missed one they may be farther away by so much, down to this: solving again costs more than pricing.
_FARTHER, _FARTHEST = 0.04, 0.85
# At first, where correlations with y tell enough, a knot is priced without a pass over the data: where the lazy oracle
# leaves no more than this share of all columns. Later knots are too far apart for that.
_FEW_TO_PRICE = 0.04
# All nodes are priced with their knot where the lazy oracle would leave more than this share of all columns.
_MANY_SUSPECTS = 0.02
# The next stride is longer after a knot that left fewer, and hardly a node to solve again; but not too long. Where all
# nodes are priced, it is if there are not so many times more active columns: of many new ones some are not predicted.
_FEW_SUSPECTS, _LONGER, _LONGEST_STRIDE, _MANY_MORE = 0.005, 1.25, 0.8, 1.3
# The smallest penalty that is solved, as a share of the largest: it answers alpha = 0, or radii beyond all solutions.
_SMALLEST, _SMALLEST_RADIAL, _LARGEST_FLOOR = 1e-9, 1e-15, 1e-3
# A norm of so many radii is outside of the ball, and not only by rounding.
_OUTSIDE = 1.0 + 1e-13

_NO_COLUMNS = np.empty(0, np.int64)


class PathEnded(Exception):  # noqa: N818
    """The clock, the keyboard or the callback ended the path."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


def follow(
    problem: Problem,
    penalties: Sequence[Penalty],
    goal: float,
    max_iter: int,
    workers: Workers,
    tell: Tell,
    guess: Guess | None = None,
) -> SolvedPath:
    """Solve points from sparse to dense to duality gaps of at most `goal`.

    With a `guess` of its solution, the first point is solved at once. Where the columns that matter have no room, it
    raises `NoRoom` with the points that are solved.
    """
    path = _Follower(problem, penalties, goal, max_iter, workers, tell)
    try:
        with one_blas_thread():
            path.run(guess)
    except NoRoom as full:
        full.points = path.points
        raise
    except PathEnded as ended:
        if len(path.points) < len(penalties):  # else it was asked for after the last point
            return solved_path(path.points or [path.first_guess(ended.status)], ended.status)
    return solved_path(path.points)


class _Follower:
    """Follows one path."""

    def __init__(
        self, problem: Problem, penalties: Sequence[Penalty], goal: float, max_iter: int, workers: Workers, tell: Tell
    ) -> None:
        self._problem = problem
        self._penalties = penalties
        self._goal = goal
        self._max_iter = max_iter
        self._workers = workers
        self._tell = tell
        self._work = WorkingSet(problem, workers)
        self._duplicates = Duplicates(problem)
        self._members = _NO_COLUMNS  # places in the working set
        self._last = zero_node(problem)
        self._step = _FIRST_STEP
        self._near = _NEAR
        self._floor = 0.0
        self._accept = _ACCEPT
        self._price_together = self._was_easy = False
        self._limited = Status.STALLED  # why a node was not solved to its goal, when one was not
        self._n_rounds = self._n_dots = self._n_priced = 0  # since the last point
        self.points: list[SolvedPoint] = []

    def run(self, guess: Guess | None) -> None:
        """Fill `points`; raises PathEnded."""
        problem = self._problem
        left, behind = self._last, None
        while self._rest and _is_zero(self._rest[0], problem):
            self._emit(left.solution(problem), left.known)
        if not self._rest:
            return
        floor = self._floor = self._smallest_penalty()
        stops = np.array([max(penalty.lam, floor) for penalty in self._rest[::-1] if isinstance(penalty, L1)])
        reference, before = first_reference(problem), None
        anchor = left.residual
        stride = _STRIDE
        while self._rest and left.lam > floor:
            self._work.next_stride()
            n_done = len(self.points)
            nodes = self._solve_guess(guess)
            guess = None
            if not nodes:
                end = _next_penalty(stops, left.lam, stride, floor)
                predicted = self._predict(reference, before, end, _TIMES_ACTIVE * left.columns.size)
                self._members = self._work.together(self._work.places(predicted), self._work.places(left.columns))
                nodes = self._solve_to(end, behind, left, stops)
            anchors = Anchors(self._reach, reference, anchor)
            bounds = [math.inf] * len(nodes)
            if before is not None or anchors.share_of_suspects(nodes) > _FEW_TO_PRICE:
                priced = nodes if self._price_together else nodes[-1:]
                anchor = nodes[-1].residual
                before = reference  # the one before is let go of first: p numbers
                reference, largest = anchors.add(problem, priced, self._workers)
                self._n_priced += problem.xty.size
                bounds[-largest.size :] = largest.tolist()
            nodes = self._certify(anchors, nodes, bounds)
            self._accept = _ACCEPT
            for a, b in itertools.pairwise([left, *nodes]):
                span = make_span(a, b)
                inside = self._between(span, 0, anchors)
                pairs = itertools.pairwise([a, *inside, b])
                for part in (make_span(*pair) for pair in pairs) if inside else [span]:
                    while self._rest and 0.0 < (share := part.share(self._rest[0])) <= 1.0:
                        self._emit(*part.mix(problem, share))
            is_calm = not self._price_together or nodes[-1].columns.size < _MANY_MORE * left.columns.size
            behind, left = [left, *nodes][-2:]
            if len(self.points) == n_done:
                stride *= 2.0  # there was nothing to answer
            else:
                stride = min(_LONGER * stride, _LONGEST_STRIDE) if self._was_easy and is_calm else _STRIDE
        while self._rest:
            self._emit_end(left)

    def _emit_end(self, last: Node) -> None:
        """Answer a point by the last node, or by what of it is inside of the ball, where it was not solved well."""
        penalty = self._rest[0]
        if isinstance(penalty, L1Ball) and last.known.l1 > penalty.radius * _OUTSIDE:
            self._emit(*make_span(zero_node(self._problem), last).mix(self._problem, penalty.radius / last.known.l1))
        else:
            self._emit(last.solution(self._problem), last.known)

    def first_guess(self, ending: Status) -> SolvedPoint:
        """Return the zero solution for the first point: there is always an answer."""
        zero = zero_node(self._problem)
        gap = proved_gap(self._problem, self._penalties[0], zero.known)
        counts = self._n_rounds, self._n_dots, self._n_priced
        return SolvedPoint(zero.solution(self._problem), ending, gap, *counts)

    @lazy
    def _reach(self) -> Reach:
        """How far columns reach; not asked for where every point is zero."""
        return make_reach(self._problem)

    @property
    def _rest(self) -> Sequence[Penalty]:
        return self._penalties[len(self.points) :]

    def _smallest_penalty(self) -> float:
        """Return the smallest penalty that is solved.

        For radii beyond the norm of all solutions, delta lambda bounds the gap of a solution for lambda.
        """
        last, lambda_max = self._rest[-1], self._problem.lambda_max
        if isinstance(last, L1Ball):
            # Below the rounding of correlations there is nothing to solve, but for data that are all rounding.
            rounding = gamma(4 * self._problem.shape[0]) * self._problem.largest * math.sqrt(self._problem.yy)
            smallest = min(max(rounding, _SMALLEST_RADIAL * lambda_max), _LARGEST_FLOOR * lambda_max)
            return max(smallest, 0.5 * _ACCEPT * self._goal / last.radius)
        return last.lam or _SMALLEST * lambda_max

    def _radius(self, weight: float) -> float:
        """Return the radius that a node answers for, beside its own norm; negative on a path over penalties.

        The last node answers radii beyond all solutions.
        """
        last = self._penalties[-1]
        if not isinstance(last, L1Ball):
            return -1.0
        return last.radius if weight == self._floor else 0.0

    def _node_gap(self, node: Node) -> float:
        """Return the gap that a node must be certified with; on a path over radii that of both forms."""
        gap, radius = proved_gap(self._problem, L1(node.lam), node.known), self._radius(node.lam)
        if radius < 0.0:
            return gap
        return max(gap, proved_gap(self._problem, L1Ball(max(radius, node.known.l1)), node.known))

    def _emit(self, solution: Solution, known: Evidence) -> None:
        point = len(self.points)
        gap = proved_gap(self._problem, self._penalties[point], known)
        if gap <= self._goal:
            status = Status.CERTIFIED
        elif gap <= MOSTLY_ROUNDING * prove(self._problem, self._penalties[point], known).rounding:
            status = Status.PRECISION
        else:
            status = Status.STALLED if self._limited is Status.PRECISION else self._limited
        solved = SolvedPoint(solution, status, gap, self._n_rounds, self._n_dots, self._n_priced)
        self._n_rounds = self._n_dots = self._n_priced = 0
        self.points.append(solved)
        self._look(point, solution.columns.size, solved.n_iter, gap, done=True)

    def _look(self, point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> None:
        ending = self._tell(point, n_active, n_iter, gap, done=done)
        if ending is not None:
            raise PathEnded(ending)

    def _predict(self, reference: Reference, before: Reference | None, weight: float, n_most: int) -> Indices:
        """Return the columns that are likely to matter down to `weight`."""
        # Above lambda_max the solution is zero, and the correlations do not change.
        before = before or Reference(2.0 * reference.weight, reference.ratios / np.float32(2.0))
        found, ratios = near_columns(reference, before, weight, self._near)
        n_most = max(_MOST_PREDICTED, n_most)
        if found.size > n_most:  # copies of a column have the same ratio, and come or go together
            found = found[ratios >= np.partition(ratios, -n_most)[-n_most]]
        return self._duplicates.distinct(found)

    def _solve_guess(self, guess: Guess | None) -> list[Node]:
        """Solve the first point on the columns of a guess, if there is a use for it."""
        if guess is None or guess[0].size == 0:
            return []
        penalty = self._penalties[0]
        start = Start(*guess)
        self._members = self._work.start_at(start)
        weight = penalty.lam if isinstance(penalty, L1) else self._work.penalty(self._members)
        if not self._floor <= weight < self._problem.lambda_max:
            return []
        if len(self._penalties) == 1:  # nothing is interpolated from it
            self._accept = _ACCEPT_GUESS
        return [self._solve(start, weight, self._accept)]

    def _solve_to(self, end: float, behind: Node | None, left: Node, stops: Vector) -> list[Node]:
        """Solve on the working set from `left` on, at as many penalties as it takes to interpolate, to `end`.

        The node `behind` it, if there is one, is extrapolated from.
        """
        nodes = [left]
        while (last := nodes[-1]).lam > end:
            distance = math.log(last.lam / end)
            n_steps = math.ceil(distance / (_STRETCH * self._step))
            weight = _next_penalty(stops, last.lam, distance / n_steps, end) if n_steps > 1 else end
            node = self._solve(extend(self._problem, behind, last, weight), weight)
            nodes += self._between(make_span(last, node), 0, None)
            nodes.append(node)
            behind = last
        return nodes[1:]

    def _solve(self, start: Start, weight: float, accuracy: float = _SOLVE) -> Node:
        """Solve on the working set from some coefficients."""
        self._members = self._work.together(self._members, self._work.start_at(start))
        point, last = len(self.points), self._last.columns.size
        solved = self._work.solve(
            self._members, weight, self._radius(weight), accuracy * self._goal, self._max_iter,
            lambda n_rounds, gap: self._look(point, last, self._n_rounds + n_rounds, gap, done=False),
        )  # fmt: skip
        self._n_rounds += solved.n_rounds
        self._n_dots += solved.n_dots
        if solved.status is not Status.CERTIFIED:
            self._limited = solved.status
        self._last = self._work.node(self._members, weight)
        self._look(point, self._last.columns.size, self._n_rounds, solved.gap, done=False)
        return self._last

    def _between(self, span: Span, depth: int, anchors: Anchors | None) -> list[Node]:
        """Solve between two nodes where interpolation does not do; certify what is solved, if there are anchors."""
        shares, gaps = self._inside(span)
        if depth == 0 and anchors is None:  # the error of interpolation is about quadratic in the distance
            worst = max(gaps, default=0.0)
            distance = math.log(span.left.lam / span.right.lam)
            longest = distance * max(0.4, math.sqrt(0.4 * self._goal / worst)) if worst > 0.0 else math.inf
            self._step = max(_SHORTEST_STEP, min(longest, 2.0 * self._step, _LONGEST_STRIDE))
        limit = self._goal * (_MIX if anchors is None else 1.0)
        open_shares = [share for share, gap in zip(shares, gaps, strict=True) if gap > limit]
        if not open_shares or depth == _MAX_DEPTH:
            return []
        share = open_shares[len(open_shares) // 2]
        weight = span.lam(share)
        if isinstance(self._penalties[-1], L1Ball) and depth % 2 == 1:  # the secant may creep along one side of a kink
            weight = math.sqrt(span.left.lam * span.right.lam)
        node = self._solve(start_between(self._problem, span.left, span.right, share), weight)
        if anchors is not None:
            (node,) = self._certify(anchors, [node], [math.inf])
        return [
            *self._between(make_span(span.left, node), depth + 1, anchors),
            node,
            *self._between(make_span(node, span.right), depth + 1, anchors),
        ]

    def _inside(self, span: Span) -> tuple[list[float], list[float]]:
        """Return where the points inside a span are, and the gaps of their interpolations."""
        shares, gaps = [], []
        for penalty in self._rest:
            share = span.share(penalty)
            if share >= 1.0:
                break
            if share > 0.0:
                shares.append(share)
                gaps.append(span.gap(self._problem, penalty, share))
        return shares, gaps

    def _certify(self, anchors: Anchors, nodes: Sequence[Node], bounds: Sequence[float]) -> list[Node]:
        """Bring all nodes to the gap asked for over all columns, given their largest correlations where known."""
        nodes = [node.bounded_by(bound) for node, bound in zip(nodes, bounds, strict=True)]
        violators = _NO_COLUMNS
        n_most = n_solved = 0
        unknown = [k for k, bound in enumerate(bounds) if bound == math.inf]
        if unknown:
            violators, n_most = self._price(anchors, nodes, unknown)
        for _ in range(_MAX_ROUNDS):
            still_open = [k for k, node in enumerate(nodes) if self._node_gap(node) > self._accept * self._goal]
            if not still_open:
                break
            if n_solved == 0:
                violators = np.union1d(violators, anchors.violators())
            members = self._work.together(self._members, self._work.places(self._duplicates.distinct(violators)))
            if n_solved > 0 and members.size == self._members.size:
                break  # these are worked with: the gap is as it is
            self._members = members
            for k in still_open:
                nodes[k] = self._solve(Start(nodes[k].columns, nodes[k].coefs, nodes[k].residual), nodes[k].lam)
            n_solved += len(still_open)
            violators, n_suspects = self._price(anchors, nodes, still_open)
            n_most = max(n_most, n_suspects)
        if n_solved > 0:
            self._near = max(_FARTHEST, self._near - _FARTHER)
        if anchors.are_one:  # below it there are more suspects than there would be between two
            n_most = 0
        p = self._problem.xty.size
        self._price_together |= n_most > _MANY_SUSPECTS * p
        self._was_easy = n_most < _FEW_SUSPECTS * p and n_solved <= (0 if self._price_together else 1)
        return nodes

    def _price(self, anchors: Anchors, nodes: list[Node], which: Sequence[int]) -> tuple[Indices, int]:
        """Bound the correlations of some nodes over all columns, by pricing the suspects.

        Return the columns with |z_j'r| > lambda at one of them, and the number of suspects.
        """
        found = price_suspects(self._problem, anchors, [nodes[k] for k in which], self._workers)
        for k, largest in zip(which, found.largest, strict=True):
            nodes[k] = nodes[k].bounded_by(largest)
        self._n_priced += found.n_priced
        self._n_dots += found.n_dots
        return found.violators, found.n_suspects


def _is_zero(penalty: Penalty, problem: Problem) -> bool:
    """Tell whether a = 0 is the solution."""
    if isinstance(penalty, L1Ball):
        return penalty.radius == 0.0 or problem.lambda_max == 0.0
    return bool(penalty.lam >= problem.lambda_max)


def _next_penalty(stops: Vector, weight: float, step: float, least: float) -> float:
    """Return the penalty about `step` below `weight` on a logarithmic scale: one of `stops`, if one is on the way."""
    aim = max(least, weight * math.exp(-step))
    on_the_way = stops[np.searchsorted(stops, aim * (1.0 - 1e-9)) : np.searchsorted(stops, weight)]
    return float(on_the_way[0]) if on_the_way.size else aim

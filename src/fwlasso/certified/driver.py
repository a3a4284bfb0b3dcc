"""The path driver: strides from sparse to dense, and all points in them by interpolation if that is certified.

Up to the end of a stride the path is solved on a working set that is predicted to have all columns that matter, at as
many penalties as it takes to interpolate between them. Then all columns are read, in one pass over the data, unless the
lazy oracle leaves few of them. What is solved again after that, because a column outside the working set did matter, is
certified by the lazy oracle.

The penalized problem is what is solved, for radii, too: a point of the constrained path is an interpolation between
two solutions of the penalized problem, certified in its own form.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.columns import Vector
from .._core.losses import is_quadratic
from .._core.penalties import Penalty
from .._core.problem import Problem
from .._core.sweeps import Indices
from .._core.targets import fraction_inside, is_zero
from .._core.threads import Workers, one_blas_thread
from ..monitor import PathEnded
from ..problem.passes import ColumnPass, LocalPass
from ..problem.points import MOSTLY_ROUNDING, Guess, Solution, SolvedPath, SolvedPoint, Tell, solved_path
from ..status import Status
from .copier import NoRoom
from .duplicates import Duplicates
from .nodes import Node, Span, Start, extend, make_span, start_between, zero_node
from .objectives import Objective, make_objective
from .screening import Screening
from .targets import Targets, make_targets
from .tuning import Pace, Survived, Tuning
from .working_set import WorkingSet

_TUNING = Tuning()
# Columns with indices: to read these is most of the work, whatever is multiplied by them. So longer strides pay.
_OF_SPARSE = Tuning(more_residuals=0.1, stride=0.5)


class Request(NamedTuple):
    """What a path is asked for, and by whom."""

    targets: Targets
    goal: float  # the duality gap
    max_iter: int  # rounds on the working set per point
    tell: Tell
    polish: bool  # every point is a node


def follow(
    problem: Problem,
    penalties: Sequence[Penalty],
    goal: float,
    max_iter: int,
    workers: Workers,
    tell: Tell,
    *,
    guess: Guess | None = None,
    polish: bool = False,
    columns: ColumnPass | None = None,
    tuning: Tuning | None = None,
) -> SolvedPath:
    """Solve points from sparse to dense to duality gaps of at most `goal`.

    With a `guess` of its solution, the first point is solved at once. For other losses than least squares points that
    are interpolated are proved by dual points that only this knows; `polish` solves every one, over alphas, and proves
    it by its coefficients. If the columns that matter have no room, it
    raises `NoRoom` with the points that are solved. Columns are read by a pass of their own, if one is given: of the
    problem nothing is used then that is as long as they are many.
    """
    columns = LocalPass(problem, workers) if columns is None else columns
    if tuning is None:
        is_sparse = columns.summary.n_entries < columns.summary.n_columns * (problem.y.size - 1)
        tuning = _OF_SPARSE if is_sparse and is_quadratic(problem.loss) else _TUNING
    targets = make_targets(penalties)
    objective = make_objective(problem, columns)
    path = CertifiedPath(
        objective, columns, Request(targets, goal, max_iter, tell, polish and targets.are_nodes), workers, tuning
    )
    try:
        with one_blas_thread():
            path.solve(guess)
    except NoRoom as full:
        full.points = path.points
        raise
    except PathEnded as ended:
        if len(path.points) < len(penalties):  # else it was asked for after the last point
            return solved_path(path.points or [path.zero_point(ended.status)], ended.status)
    return solved_path(path.points)


class CertifiedPath:
    """One path: where it stands, and the steps that take it on."""

    def __init__(
        self, objective: Objective, columns: ColumnPass, asked: Request, workers: Workers, tuning: Tuning
    ) -> None:
        self.points: list[SolvedPoint] = []
        self._objective = objective
        self._columns = columns
        self._asked = asked
        self._tuning = tuning
        self._targets = asked.targets
        is_squared = is_quadratic(objective.problem.loss)
        self._follows = columns if is_squared else None  # what residuals follow coefficients by
        self._pace = Pace(
            tuning, columns.summary.n_columns, math.sqrt if is_squared else lambda ratio: ratio ** (1.0 / 3.0)
        )
        self._working_set = WorkingSet(objective, columns, workers, polish=asked.polish)
        self._duplicates = Duplicates(columns)
        self._members = np.empty(0, np.int64)  # places in the working set
        self._zero = self._left = zero_node(objective, columns)
        self._n_active = 0  # of the node solved last
        self._screening: Screening  # if there is more than the zero solution
        self._behind: Node | None = None  # the node before `_left`, to extrapolate from
        self._floor = 0.0
        self._accept = tuning.accept
        self._limited = Status.STALLED  # why a node was not solved to its goal, when one was not
        self._n_rounds = self._n_dots = 0  # since the last point
        self._n_reached = 0  # points up to the nodes
        self._spent = 0, 0  # rounds and nodes that points have not paid for: each pays for as many as it may take
        self._n_read = 0, 0  # up to the last point, columns and entries

    def solve(self, guess: Guess | None) -> None:
        """Fill `points`, stride by stride; raises PathEnded.

        A stride goes down from the end of the last one, `_left`:

        1. predict the columns that will matter down to its end;
        2. solve on them, at penalties close enough to interpolate between;
        3. read all columns once; take in those that were missed, and solve again;
        4. emit the points between the nodes, and adapt how far the next stride goes.
        """
        zero = self._zero
        while self._pending and is_zero(self._pending[0], self._pending[0][0], zero.lam):
            self._emit(self._objective.solution(zero.columns, zero.coefs, zero.known), zero.known)
        if not self._pending:
            return
        problem = self._objective.problem
        self._floor = self._targets.lowest_lam(problem, self._zero.lam, self._asked.goal, self._tuning)
        self._grid_lams = self._targets.grid_lams(self._floor)
        self._screening = Screening(self._columns, self._zero, problem.n_samples)
        while self._pending and self._left.lam > self._floor:
            n_before = len(self.points)
            if self._node_gap(self._left) <= self._asked.goal:
                self._limited = Status.STALLED
            self._working_set.next_stride()
            nodes = self._solve_guess(guess) or self._solve_to(self._predict())  # 1. and 2.
            nodes = self._certify(nodes, self._read(nodes))  # 3.
            guess, self._accept = None, self._tuning.accept
            self._emit_up_to(nodes)  # 4.
            if self._pending and self._is_spent:  # on the way to the next point
                self._emit_beyond(nodes[-1])
            self._pace.learn_stride(len(self.points) - n_before, self._left.columns.size, nodes[-1].columns.size)
            self._behind, self._left = [self._left, *nodes][-2:]
        while self._pending:
            self._emit_beyond(self._left)

    @property
    def _pending(self) -> Sequence[Penalty]:
        return self._targets.penalties[len(self.points) :]

    @property
    def _left_to_spend(self) -> tuple[int, int]:
        """How many rounds and nodes there are for the points that nodes have reached, or for the next one."""
        (n_rounds, n_nodes), n_points = self._spent, max(1, self._n_reached - len(self.points))
        return n_points * self._asked.max_iter - n_rounds, n_points * self._tuning.most_nodes - n_nodes

    @property
    def _is_spent(self) -> bool:
        return min(self._left_to_spend) <= 0

    # 1. Prediction -----------------------------------------------------------------------------------------------

    def _predict(self) -> float:
        """Make members of the columns that are likely to matter down to the end of a stride; return where that is."""
        left, tuning = self._left, self._tuning
        end = self._next_lam(left.lam, self._pace.stride, self._floor)
        found, ratios = self._columns.near(end, self._pace.closeness)
        n_most = max(tuning.most_predicted, tuning.times_active * left.columns.size)
        if found.size > n_most:  # copies of a column have the same ratio, and come or go together
            found = found[ratios >= np.partition(ratios, -n_most)[-n_most]]
        working_set, distinct = self._working_set, self._duplicates.distinct(found)
        self._members = working_set.together(working_set.places(distinct), working_set.places(left.columns))
        return end

    def _next_lam(self, lam: float, step: float, least: float) -> float:
        """Return the penalty about `step` below another: that of a point, if one is on the way."""
        aim = max(least, lam * math.exp(-step))
        grid = self._grid_lams
        on_the_way = grid[np.searchsorted(grid, aim * (1.0 - 1e-9)) : np.searchsorted(grid, lam)]
        return float(on_the_way[0]) if on_the_way.size else aim

    # 2. Solutions on the working set -----------------------------------------------------------------------------

    def _solve_guess(self, guess: Guess | None) -> list[Node]:
        """Solve the first point on the columns of a guess, if there is a use for it."""
        if guess is None or guess[0].size == 0:
            return []
        start = Start(*guess)
        self._members = self._working_set.start_at(start)
        lam = self._targets.first_lam(lambda: self._working_set.subproblem.lam(self._members))
        if not self._floor <= lam < self._zero.lam:
            return []
        if len(self._targets.penalties) == 1:  # nothing is interpolated from it
            self._accept = self._tuning.accept_guess
        return [self._solve(start, lam, self._accept)]

    def _solve_to(self, end: float) -> list[Node]:
        """Solve at as many penalties as it takes to interpolate, to the end of a stride."""
        nodes, behind = [self._left], self._behind
        while (last := nodes[-1]).lam > end and not (len(nodes) > 1 and self._is_spent):
            distance = math.log(last.lam / end)
            n_steps = 1 if self._asked.polish else math.ceil(distance / (self._tuning.stretch * self._pace.step))
            lam = self._next_lam(last.lam, distance / n_steps, end) if n_steps > 1 else end
            node = self._solve(extend(self._follows, behind, last, lam), lam, self._tuning.solve)
            nodes += [*self._between(make_span(self._objective, last, node), 0, certify=False), node]
            behind = last
        return nodes[1:]

    def _solve(self, start: Start, lam: float, accuracy: float) -> Node:
        """Solve on the working set from some coefficients."""
        working_set, point, n_active = self._working_set, len(self.points), self._n_active
        self._members = working_set.together(self._members, working_set.start_at(start))

        def look(n_rounds: int, gap: float) -> None:
            self._look(point, n_active, self._n_rounds + n_rounds, gap)

        n_most = max(0, min(self._asked.max_iter, self._left_to_spend[0]))
        aim = working_set.aim(lam, self._radius(lam), accuracy * self._asked.goal, n_most)
        status, solved = working_set.solve(self._members, aim, look)
        self._n_rounds += solved.n_rounds
        self._n_dots += solved.n_dots
        self._spent = self._spent[0] + solved.n_rounds, self._spent[1] + 1
        if status is not Status.CERTIFIED:
            self._limited = status
        node = working_set.node(self._members, lam)
        self._n_active = node.columns.size
        while self._n_reached < len(self._targets.penalties) and self._targets.is_reached(
            self._targets.penalties[self._n_reached], node
        ):
            self._n_reached += 1
        if self._left_to_spend[0] <= 0:
            self._limited = Status.MAX_ITER
        self._look(point, node.columns.size, self._n_rounds, solved.gap)
        return node

    def _between(self, span: Span, depth: int, *, certify: bool) -> list[Node]:
        """Solve between two nodes if interpolation does not do, after the pass to what is certified."""
        goal, tuning, polish = self._asked.goal, self._tuning, self._asked.polish
        inside = self._inside(span)
        if not certify and not polish and self._follows is None:  # a gap is the work of some numbers by sample: few do
            inside = inside[len(inside) // 4 :: max(1, len(inside) // 3)]
        gaps = [math.inf if polish else span.gap(penalty, t) for t, penalty in inside]
        if depth == 0 and not (certify or polish):
            # Where a node could not be solved, no shorter step mends that.
            are_solved = max(self._node_gap(span.left), self._node_gap(span.right)) <= goal
            worst = max(gaps, default=0.0) if are_solved else 0.0
            self._pace.learn_step(math.log(span.left.lam / span.right.lam), worst, goal)
        limit = goal if certify else tuning.mix * goal
        still_open = [
            (t, penalty)
            for (t, penalty), gap in zip(inside, gaps, strict=True)
            if polish or (gap > limit and not span.is_rounding(penalty, t, gap, goal))
        ]
        if not still_open or depth == tuning.max_depth or self._is_spent:
            return []
        t, penalty = still_open[len(still_open) // 2]
        start = start_between(self._follows, span.left, span.right, t)
        lam = penalty.lam if polish else self._targets.split(span, t, depth)
        node = self._solve(start, lam, tuning.solve)
        if certify:
            (node,) = self._certify([node], [None])
        return [
            *self._between(make_span(self._objective, span.left, node), depth + 1, certify=certify),
            node,
            *self._between(make_span(self._objective, node, span.right), depth + 1, certify=certify),
        ]

    def _inside(self, span: Span) -> list[tuple[float, Penalty]]:
        """Return where the points inside a span are, and their penalties."""
        found = []
        for penalty in self._pending:
            t = self._targets.position(span, penalty)
            if t >= 1.0:
                break
            if t > 0.0:
                found.append((t, penalty))
        return found

    # 3. Certificates over all columns ----------------------------------------------------------------------------

    def _read(self, nodes: Sequence[Node]) -> list[Vector | None]:
        """Read all columns, unless few survive; return what bounds the correlations, None if unknown."""
        screening = self._screening
        screening.restart()
        bounds: list[Vector | None] = [None] * len(nodes)
        part, tuning = self._columns.fraction, self._tuning
        if screening.has_read or tuning.cost(part(screening.survivors(nodes)), len(nodes)) > tuning.few_to_read:
            which = _evenly(range(len(nodes)), self._pace.n_anchors)
            for k, bound in zip(which, screening.correlate([nodes[k] for k in which]), strict=True):
                bounds[k] = bound
        return bounds

    def _certify(self, nodes: Sequence[Node], bounds: Sequence[Vector | None]) -> list[Node]:
        """Bring all nodes to the gap asked for over all columns, given bounds of their correlations."""
        pairs = zip(nodes, bounds, strict=True)
        nodes = [node if bound is None else node.bounded_by(bound) for node, bound in pairs]
        unknown = [k for k, bound in enumerate(bounds) if bound is None]
        violators, survived = self._bound(nodes, unknown)
        n_solved = 0
        for _ in range(self._tuning.max_rounds):
            still_open = [k for k, node in enumerate(nodes) if self._node_gap(node) > self._accept * self._asked.goal]
            if not still_open or self._is_spent:
                break
            if n_solved == 0:
                violators = np.append(violators, self._screening.violators())
            if not self._take_in(violators) and n_solved > 0:
                break  # these are worked with: the gap is as it is
            for k in still_open:
                start = Start(nodes[k].columns, nodes[k].coefs, nodes[k].residual)
                nodes[k] = self._solve(start, nodes[k].lam, self._tuning.solve)
            n_solved += len(still_open)
            violators, more = self._bound(nodes, still_open)
            survived = survived.with_more(more)
        # Below one anchor more survive than would between two.
        self._pace.learn_survivors(Survived() if len(self._screening.anchors) == 1 else survived, n_solved)
        return nodes

    def _take_in(self, columns: Indices) -> bool:
        """Make members of more columns; tell whether there is a new one."""
        places = self._working_set.places(self._duplicates.distinct(np.unique(columns)))
        before, self._members = self._members, self._working_set.together(self._members, places)
        return self._members.size > before.size

    def _bound(self, nodes: list[Node], which: Sequence[int]) -> tuple[Indices, Survived]:
        """Bound the correlations of some nodes over all columns.

        Survivors are read; where that would cost half as much as all columns for a few nodes, these become anchors, and
        fewer survive at the others. If that does not help, all nodes do. Return the columns with |z_j'r| > lambda at a
        node, and what survived.
        """
        screening, rest, survived, violators = self._screening, list(which), Survived(), [np.empty(0, np.int64)]
        while rest:
            some = [nodes[k] for k in rest]
            survivors = screening.survivors(some)
            cost = self._tuning.cost(self._columns.fraction(survivors), len(some))  # in passes by one residual
            n_fresh = len(rest) if survived.n_anchors else math.isqrt(len(rest))
            if 2.0 * cost > self._tuning.cost(1.0, n_fresh):
                read = _evenly(rest, n_fresh)
                tops = screening.correlate([nodes[k] for k in read])
                violators.append(screening.violators())
                survived = survived.with_more(Survived(survivors.size, cost, survived.n_anchors + n_fresh))
            else:
                survived = survived.with_more(Survived(survivors.size, cost))
                read = rest
                found = screening.correlate_some(survivors, some)
                tops = found.tops
                violators.append(found.violators)
                self._n_dots += survivors.size * len(some)
            for k, bound in zip(read, tops, strict=True):
                nodes[k] = nodes[k].bounded_by(bound)
            rest = [k for k in rest if k not in read]
        return np.concatenate(violators), survived

    def _node_gap(self, node: Node) -> float:
        """Return the gap that a node must be certified with."""
        return self._targets.gap(self._objective, node, self._radius(node.lam))

    def _radius(self, lam: float) -> float:
        """Return up to which radius a node answers; see Targets."""
        return self._targets.radius_owed(is_lowest=lam == self._floor)

    # 4. Points ---------------------------------------------------------------------------------------------------

    def _emit_up_to(self, nodes: Sequence[Node]) -> None:
        """Answer the points up to the last of some nodes; between two more are solved if interpolation does not do."""
        for left, right in itertools.pairwise([self._left, *nodes]):
            span = make_span(self._objective, left, right)
            parts = [span]
            if more := self._between(span, 0, certify=True):
                parts = [make_span(self._objective, *pair) for pair in itertools.pairwise([left, *more, right])]
            for part in parts:
                for penalty in self._pending:
                    t = self._targets.position(part, penalty)
                    if not 0.0 < t <= 1.0:
                        break
                    self._emit(*part.mix(t))

    def _emit_beyond(self, node: Node) -> None:
        """Answer a point beyond a node by what of it is allowed."""
        fraction = fraction_inside(self._pending[0], self._pending[0][0], node.known.l1)
        self._emit(*make_span(self._objective, self._zero, node).mix(fraction))

    def _emit(self, solution: Solution, known: Any) -> None:
        point, penalty, goal = len(self.points), self._targets.penalties[len(self.points)], self._asked.goal
        gap = self._objective.gap(penalty, known)
        if gap <= goal:
            status = Status.CERTIFIED
        elif gap <= MOSTLY_ROUNDING * self._objective.rounding(penalty, known):
            status = Status.PRECISION
        else:
            status = Status.STALLED if self._limited is Status.PRECISION else self._limited
        self.points.append(self._solved_point(solution, status, gap))
        most = self._asked.max_iter, self._tuning.most_nodes
        self._spent = max(0, self._spent[0] - most[0]), max(0, self._spent[1] - most[1])
        n_rounds, self._n_rounds, self._n_dots = self._n_rounds, 0, 0
        self._n_read = self._columns.n_read, self._columns.n_multiplied
        self._raise_if_ended(self._asked.tell(point, solution.columns.size, n_rounds, gap, done=True))

    def zero_point(self, ending: Status) -> SolvedPoint:
        """Return the zero solution for the first point: there is always an answer."""
        zero, penalty = self._zero, self._targets.penalties[0]
        solution = self._objective.solution(zero.columns, zero.coefs, zero.known)
        return self._solved_point(solution, ending, self._objective.gap(penalty, zero.known))

    def _solved_point(self, solution: Solution, status: Status, gap: float) -> SolvedPoint:
        columns, (n_read, n_multiplied) = self._columns, self._n_read
        counts = self._n_rounds, self._n_dots, columns.n_read - n_read, columns.n_multiplied - n_multiplied
        return SolvedPoint(solution, status, gap, *counts)

    def _look(self, point: int, n_active: int, n_rounds: int, gap: float) -> None:
        self._raise_if_ended(self._asked.tell(point, n_active, n_rounds, gap, done=False))

    @staticmethod
    def _raise_if_ended(ending: Status | None) -> None:
        if ending is not None:
            raise PathEnded(ending)


def _evenly(items: Sequence[int], n: int) -> Sequence[int]:
    """Return n of some items at most, evenly spaced and the last among them."""
    n = min(n, len(items))
    return [items[(k + 1) * len(items) // n - 1] for k in range(n)]

"""The penalized problem on a few columns: what is known of them, and the steps that are not left to compiled code."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..parallel import Workers
from ..problem import Problem
from ..solvers.run import BURST_BYTES
from ..status import Status
from .conjugate import newton_without_factor
from .descent import Work, active_places, add_response, are_known, price, refresh, totals
from .gram import empty_gram, factorize, with_cosines, with_places
from .newton import COSINES, FACTOR, NO_FACTOR
from .nodes import Node, Start
from .preconditioner import Preconditioner
from .products import Products
from .rounds import AFTER, CORRELATE, DONE, FINISH, PRICE, REFRESH, Rounds, Task, advance, first_round
from .rows import Indices


class Solved(NamedTuple):
    """How well the problem on the working set is solved."""

    status: Status
    gap: float  # over the working set
    n_rounds: int
    n_dots: int


#: Called between bursts with the rounds and the gap so far; ends the work by raising.
Look = Callable[[int, float], None]


class WorkingSet:
    """The columns that were ever looked at closely, their coefficients and the residual.

    A column keeps its place once it has one. What is worked on at a time is a list of places, the members.
    """

    def __init__(self, problem: Problem, workers: Workers) -> None:
        self._problem = problem
        self._workers = workers
        self._bytes_per_column = problem.nbytes / problem.xty.size
        self._place_of = np.full(problem.xty.size, -1, np.int32)
        self._n_places = 0
        self._gram = empty_gram()
        self._preconditioner = Preconditioner(problem, workers)
        self._work = Work(np.empty(0, np.int64), np.empty(0), np.empty(0), np.array(problem.y))
        self._knows_residual = True

    def places(self, columns: Indices) -> Indices:
        """Return the places of `columns`, new ones for those that have none."""
        places, new = _find_places(self._place_of, columns)
        if new.size:
            work = self._work
            n_all = self._n_places + new.size
            if n_all > work.columns.size:
                more = np.zeros(max(n_all, 2 * work.columns.size, 256) - work.columns.size)
                self._work = work = work._replace(
                    columns=np.concatenate([work.columns, more.astype(np.int64)]),
                    coefs=np.concatenate([work.coefs, more]),
                    corrs=np.concatenate([work.corrs, more]),
                )
                self._gram = with_places(self._gram, work.columns.size)
            places[new] = np.arange(self._n_places, n_all)
            work.columns[self._n_places : n_all] = columns[new]
            self._place_of[columns[new]] = places[new]
            self._n_places = n_all
        return places

    def together(self, *places: Indices) -> Indices:
        """Return the union of some lists of places, in the order of their columns: so they lie in memory."""
        is_in = np.zeros(self._n_places, np.bool_)
        for some in places:
            is_in[some] = True
        union = np.flatnonzero(is_in)
        return union[np.argsort(self._work.columns[union])]

    def start_at(self, start: Start) -> Indices:
        """Go to these coefficients; return their places."""
        places = self.places(start.columns)
        self._work.coefs[: self._n_places] = 0.0
        self._work.coefs[places] = start.coefs
        self._knows_residual = start.residual is not None
        if start.residual is not None:
            self._work.residual[:] = start.residual
        return places

    def solve(self, members: Indices, weight: float, radius: float, goal: float, max_rounds: int, look: Look) -> Solved:
        """Minimise over `members` from where we stand, until the gap over them is at most `goal`; see `appraise`."""
        task = Task(weight, radius, goal, max_rounds, int(BURST_BYTES / self._bytes_per_column))
        rounds = first_round(PRICE if self._knows_residual else REFRESH)
        self._knows_residual = True
        n_seen = 0
        while (rounds := advance(self._problem, self._work, self._gram, members, task, rounds)).step != DONE:
            asked, rounds = rounds.step, self.take(rounds, members, task)
            if asked == NO_FACTOR or rounds.n_dots - n_seen > task.n_dots_in_burst:
                n_seen = rounds.n_dots
                look(rounds.progress.n_rounds, rounds.progress.gap)
        n_rounds, gap = rounds.progress[:2]
        limit = Status.MAX_ITER if n_rounds >= max_rounds else Status.PRECISION
        return Solved(Status.CERTIFIED if gap <= goal else limit, gap, n_rounds, rounds.n_dots)

    def take(self, rounds: Rounds, members: Indices, task: Task) -> Rounds:
        """Take a step that compiled code does not."""
        problem, work, step = self._problem, self._work, rounds.step
        places = members if step == PRICE else rounds.plan.listed if step == CORRELATE else active_places(work, members)
        if step in (PRICE, CORRELATE):
            work.corrs[places] = self._products(places).correlate(work.residual)
        elif step in (REFRESH, FINISH):
            products, before = self._products(places), work.residual.copy()
            np.negative(products.combine(work.coefs[places]), out=work.residual)
            add_response(problem, work.residual)
            if step == FINISH and not are_known(problem, work, places, before, task.goal):
                work.corrs[places] = products.correlate(work.residual)
                rounds = rounds._replace(n_dots=rounds.n_dots + places.size)
        elif step == COSINES:
            self._gram = with_cosines(problem, self._gram, places, work.columns, self._workers)
        elif step == FACTOR:  # those that are likely to leave come last: rows before the first that leaves stay
            sizes = np.abs(work.coefs[places]) * np.sqrt(problem.norms2[work.columns[places]])
            factorize(self._gram, places[np.argsort(-sizes, kind="stable")])
        elif step == NO_FACTOR:
            n_dots = newton_without_factor(problem, work, self._preconditioner, places, task.weight, self._workers)
            rounds = rounds._replace(n_dots=rounds.n_dots + n_dots)
        return rounds._replace(step=AFTER[step])

    def _products(self, places: Indices) -> Products:
        return Products(self._problem, self._work.columns[places], self._workers)

    def penalty(self, members: Indices) -> float:
        """Return the penalty that the coefficients belong to, a'X'r / ||a||_1."""
        refresh(self._problem, self._work, members)
        price(self._problem, self._work, members, 0.0, -1.0)
        _, qr, l1, _ = totals(self._problem.xty, self._work, members, 0.0)
        return qr / l1

    def node(self, members: Indices, weight: float) -> Node:
        """Return where we stand after `solve` as a node."""
        work = self._work
        qy, qr, l1, largest = totals(self._problem.xty, work, members, weight)
        active = active_places(work, members)
        active = active[np.argsort(work.columns[active])]
        qq = max(0.0, qy - qr)
        return Node(weight, work.columns[active], work.coefs[active], work.residual.copy(), qq, qy, l1, largest)


@kernel
def _find_places(place_of: NDArray[np.int32], columns: Indices) -> tuple[Indices, Indices]:
    """Return the places of `columns`, -1 for those that have none, and where these are."""
    places, new = np.empty(columns.size, np.int64), np.empty(columns.size, np.int64)
    n_new = 0
    for i in range(columns.size):
        places[i] = place_of[columns[i]]
        if places[i] < 0:
            new[n_new] = i
            n_new += 1
    return places, new[:n_new]

"""The penalized problem on a few columns: what is known of them, and the steps that are not left to compiled code."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.jit import kernel
from .._core.problem import Problem
from .._core.subproblem.conjugate import newton_without_factor
from .._core.subproblem.copies import Copies, Indices, rank_bound
from .._core.subproblem.descent import (
    Work,
    active_places,
    add_response,
    are_known,
    listed_places,
    price,
    refresh,
    totals,
)
from .._core.subproblem.gram import empty_gram, factorize, forget, with_cosines, with_places
from .._core.subproblem.newton import COSINES, FACTOR, NO_FACTOR, newton_by_qr
from .._core.subproblem.preconditioner import Preconditioner
from .._core.subproblem.products import Products
from .._core.subproblem.rounds import (
    AFTER,
    BY_QR,
    CORRELATE,
    DONE,
    FINISH,
    PRICE,
    REFRESH,
    Rounds,
    Task,
    advance,
    first_round,
)
from .._core.threads import Workers
from ..problem.points import BURST_BYTES
from ..status import Status
from .copier import Copier, NoRoom
from .nodes import Node, Start, make_node


class Solved(NamedTuple):
    """How well the problem on the working set is solved."""

    status: Status
    gap: float  # over the working set
    n_rounds: int
    n_dots: int


# What is at most so many times its rounding cannot be made smaller.
_TIMES_ROUNDING = 10.0
# Columns that were asked for in so many strides before this one stay.
_KEPT_STRIDES = 2
#: Called between bursts with the rounds and the gap so far; ends the work by raising.
Look = Callable[[int, float], None]


class WorkingSet:
    """The columns that are looked at closely, as copies, their coefficients and the residual.

    A column keeps its place for as long as it is asked for, or was in one of the last strides. What is worked on at a
    time is a list of places, the members.
    """

    def __init__(self, problem: Problem, workers: Workers) -> None:
        self._problem = problem
        self._workers = workers
        self._bytes_per_column = problem.nbytes / problem.xty.size
        self._place_of = np.full(problem.xty.size, -1, np.int32)
        self._columns = np.empty(0, np.int64)  # by place; -1: it is free
        self._asked_in = np.empty(0, np.int64)  # by place: the last stride that it was asked for in
        self._stride = 0
        self._copier = Copier(problem, workers)
        self._gram = empty_gram(problem.y.size - 1)
        self._preconditioner = Preconditioner(workers)
        self._work = Work(np.empty(0), np.empty(0), np.array(problem.y))
        self._knows_residual = True

    @property
    def _copies(self) -> Copies:
        return self._copier.copies

    def places(self, columns: Indices) -> Indices:
        """Return the places of `columns`, new ones for those that have none; raises `NoRoom`."""
        places, new = _find_places(self._place_of, columns)
        if new.size:
            self._asked_in[places[places >= 0]] = self._stride
            places[new] = self._add(columns[new])
        self._asked_in[places] = self._stride
        return places

    def next_stride(self) -> None:
        """Forget the columns that were not asked for in the last two strides."""
        self._stride += 1
        self._drop_older(self._stride - _KEPT_STRIDES)

    def together(self, *places: Indices) -> Indices:
        """Return the union of some lists of places, as they lie in memory."""
        is_in = np.zeros(self._columns.size, np.bool_)
        for some in places:
            is_in[some] = True
        return np.flatnonzero(is_in)

    def _add(self, columns: Indices) -> Indices:
        """Copy columns to places of their own."""
        if not self._copier.fits(columns):
            self._drop_older(self._stride)
            if not self._copier.fits(columns):
                raise NoRoom(self._copier.most_bytes)
        free = np.flatnonzero(self._columns < 0)[: columns.size]
        places = np.append(free, np.arange(self._columns.size, self._columns.size + columns.size - free.size))
        self._copier.copy(columns, places)
        n_more = self._copier.room - self._columns.size
        if n_more > 0:
            more, work = np.full(n_more, -1, np.int64), self._work
            self._columns, self._asked_in = np.append(self._columns, more), np.append(self._asked_in, more)
            self._work = work._replace(
                coefs=np.append(work.coefs, np.zeros(n_more)), corrs=np.append(work.corrs, np.zeros(n_more))
            )
            self._gram = with_places(self._gram, self._copier.room)
        self._columns[places] = columns
        self._place_of[columns] = places
        return places

    def _drop_older(self, stride: int) -> None:
        """Forget the columns that were asked for last before a stride."""
        gone = np.flatnonzero((self._asked_in < stride) & (self._columns >= 0))
        if gone.size:
            self._place_of[self._columns[gone]] = -1
            self._columns[gone] = -1
            self._work.coefs[gone] = 0.0
            self._copier.drop(gone)
            forget(self._gram, gone)
            self._preconditioner.forget(gone)

    def start_at(self, start: Start) -> Indices:
        """Go to these coefficients; return their places."""
        places = self.places(start.columns)
        self._work.coefs[:] = 0.0
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
        while (rounds := advance(self._copies, self._work, self._gram, members, task, rounds)).step != DONE:
            asked, rounds = rounds.step, self.take(rounds, members, task)
            if asked == NO_FACTOR or rounds.n_dots - n_seen > task.n_dots_in_burst:
                n_seen = rounds.n_dots
                look(rounds.progress.n_rounds, rounds.progress.gap)
        n_rounds, gap = rounds.progress[:2]
        status = Status.CERTIFIED
        if not gap <= goal:
            is_rounding = self._is_rounding(gap, members, weight, radius)
            status = Status.MAX_ITER if n_rounds >= max_rounds else Status.PRECISION if is_rounding else Status.STALLED
        return Solved(status, gap, n_rounds, rounds.n_dots)

    def _is_rounding(self, gap: float, members: Indices, weight: float, radius: float) -> bool:
        """Tell whether the gap, or what violates the optimality conditions, is no more than some roundings.

        The residual is off by e, ||e|| <= gamma_{n+3} (||y|| + sum |a_k| ||z_k||) + 2 gamma_m ||r||, and correlations
        by 3 gamma_{m+3} ||z_k|| ||r||, besides what e does to them.
        """
        copies, work, u = self._copies, self._work, 2.0**-53
        active = active_places(work, members)
        m, n, coefs = copies.y.size - 1, active.size, np.abs(work.coefs[active])
        l1, reach = coefs.sum(), coefs @ np.sqrt(copies.norms2[active])
        longest, y = math.sqrt(copies.norms2[members].max(initial=0.0)), math.sqrt(copies.yy)
        r = math.sqrt(np.sum(work.residual[:-1] ** 2))
        e = u * ((n + 3) * (y + reach) + 2 * m * r)
        of_corrs = longest * (e + 3.0 * u * (m + 3) * r)
        of_gap = e * (r + 0.5 * e) + l1 * of_corrs + u * ((m + 4) * r * (2.0 * r + y) + n * weight * l1)
        if radius >= 0.0:
            of_gap += (max(radius, l1) + l1) * of_corrs
        _, violation = listed_places(rank_bound(copies), work, members, weight)
        return bool(gap <= _TIMES_ROUNDING * of_gap or violation <= _TIMES_ROUNDING * of_corrs)

    def take(self, rounds: Rounds, members: Indices, task: Task) -> Rounds:
        """Take a step that compiled code does not."""
        copies, work, step = self._copies, self._work, rounds.step
        places = members if step == PRICE else rounds.plan.listed if step == CORRELATE else active_places(work, members)
        if step in (PRICE, CORRELATE):
            work.corrs[places] = self._products(places).correlate(work.residual)
        elif step in (REFRESH, FINISH):
            products, before = self._products(places), work.residual.copy()
            np.negative(products.combine(work.coefs[places]), out=work.residual)
            add_response(copies, work.residual)
            if step == FINISH and not are_known(copies, work, places, before, task.goal):
                work.corrs[places] = products.correlate(work.residual)
                rounds = rounds._replace(n_dots=rounds.n_dots + places.size)
        elif step == COSINES:
            self._gram = with_cosines(copies, self._gram, places, self._workers)
        elif step == FACTOR:  # those that are likely to leave come last: rows before the first that leaves stay
            sizes = np.abs(work.coefs[places]) * np.sqrt(copies.norms2[places])
            factorize(self._gram, places[np.argsort(-sizes, kind="stable")])
        elif step == BY_QR:
            rounds = rounds._replace(n_dots=rounds.n_dots + newton_by_qr(copies, work, members, task.weight))
        elif step == NO_FACTOR:
            n_dots = newton_without_factor(copies, work, self._preconditioner, places, task.weight, self._workers)
            rounds = rounds._replace(n_dots=rounds.n_dots + n_dots)
        return rounds._replace(step=AFTER[step])

    def _products(self, places: Indices) -> Products:
        return Products(self._copies, places, self._workers)

    def penalty(self, members: Indices) -> float:
        """Return the penalty that the coefficients belong to, a'X'r / ||a||_1."""
        refresh(self._copies, self._work, members)
        price(self._copies, self._work, members, 0.0, -1.0)
        _, qr, l1, _ = totals(self._copies.xty, self._work, members, 0.0)
        return qr / l1

    def node(self, members: Indices, weight: float) -> Node:
        """Return where we stand after `solve` as a node."""
        work = self._work
        _, _, _, largest = totals(self._copies.xty, work, members, weight)
        active = active_places(work, members)
        active = active[np.argsort(self._columns[active])]
        columns, coefs = self._columns[active], work.coefs[active]
        return make_node(self._problem, weight, columns, coefs, work.residual.copy(), largest)


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

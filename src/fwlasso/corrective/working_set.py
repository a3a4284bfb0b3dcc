"""The penalized problem on a few columns: coordinate descent to find the signs, Newton's steps to finish."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..columns import Vector, column_entries
from ..parallel import Workers
from ..problem import Problem
from ..solvers.run import BURST_BYTES
from ..status import Status
from .conjugate import newton_without_factor
from .descent import EPOCHS, Work, active_places, appraise, correlate, descend, listed_places, price, refresh, totals
from .gram import LARGEST_GRAM, Gram, empty_gram, factorize, with_cosines, with_places
from .newton import COSINES, DONE, FACTOR, NO_FACTOR, newton
from .nodes import Node
from .preconditioner import are_rows_full, is_outdated, make_preconditioner, no_preconditioner
from .rows import Indices

# In so many rounds the objective must fall by this share of the gap, or the gap by half: else rounding is what is left.
_MAX_IDLE, _PROGRESS = 20, 1e-3
# What a Newton step without a factor costs, in epochs: with a copy of the columns and a preconditioner; without, where
# there are more entries in a row than pay for that.
_EPOCHS_PER_STEP, _EPOCHS_PER_PLAIN_STEP = 20.0, 3.0
# What the compiled loop asks for beside what a Newton step does: a look at the clock.
_LOOK = 4
# Epochs bring violations down to this share of what the goal allows, or to this share of what they were.
_ENOUGH, _SHARE = 0.7, 0.1


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
        self._preconditioner = no_preconditioner()
        self._work = Work(np.empty(0, np.int64), np.empty(0), np.empty(0), np.array(problem.y))

    def places(self, columns: Indices) -> Indices:
        """Return the places of `columns`, new ones for those that have none."""
        places = self._place_of[columns].astype(np.int64)
        new = np.flatnonzero(places < 0)
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
        """Return the union of some lists of places, in increasing order."""
        is_in = np.zeros(self._n_places, np.bool_)
        for some in places:
            is_in[some] = True
        return np.flatnonzero(is_in)

    def start_at(self, columns: Indices, coefs: Vector) -> Indices:
        """Go to these coefficients; return their places."""
        places = self.places(columns)
        self._work.coefs[: self._n_places] = 0.0
        self._work.coefs[places] = coefs
        return places

    def solve(self, members: Indices, weight: float, radius: float, goal: float, max_rounds: int, look: Look) -> Solved:
        """Minimise over `members` from where we stand, until the gap over them is at most `goal`; see `price`."""
        problem, work = self._problem, self._work
        n_dots_in_burst = int(BURST_BYTES / self._bytes_per_column)
        refresh(problem, work, members)
        rounds = Rounds(0, math.inf, math.inf, 0, False)
        n_dots = 0
        while True:
            asked, gap, rounds, dots = _solve(
                problem, work, self._gram, members, weight, radius, goal, n_dots_in_burst, rounds, max_rounds
            )
            n_dots += dots
            if asked == DONE:
                limit = Status.MAX_ITER if rounds.n >= max_rounds else Status.PRECISION
                return Solved(Status.CERTIFIED if gap <= goal else limit, gap, rounds.n, n_dots)
            active = active_places(work, members)
            if asked == COSINES:
                self._gram = with_cosines(problem, self._gram, active, work.columns, self._workers)
            elif asked == FACTOR:  # those that are likely to leave come last: rows before the first that leaves stay
                sizes = np.abs(work.coefs[active]) * np.sqrt(problem.norms2[work.columns[active]])
                factorize(self._gram, active[np.argsort(-sizes, kind="stable")])
            elif asked == NO_FACTOR:
                if is_outdated(self._preconditioner, active):
                    self._preconditioner = make_preconditioner(problem, active, work.columns, self._workers)
                n_dots += newton_without_factor(problem, work, self._preconditioner, active, weight, self._workers)
            if asked in (NO_FACTOR, _LOOK):
                look(rounds.n, gap)

    def penalty(self, members: Indices) -> float:
        """Return the penalty that the coefficients belong to, a'X'r / ||a||_1."""
        refresh(self._problem, self._work, members)
        price(self._problem, self._work, members, 0.0, -1.0)
        _, qr, l1, _ = totals(self._problem, self._work, members, 0.0)
        return qr / l1

    def node(self, members: Indices, weight: float) -> Node:
        """Return where we stand after `solve` as a node."""
        work = self._work
        qy, qr, l1, largest = totals(self._problem, work, members, weight)
        active = active_places(work, members)
        active = active[np.argsort(work.columns[active])]
        qq = max(0.0, qy - qr)
        return Node(weight, work.columns[active], work.coefs[active], work.residual.copy(), qq, qy, l1, largest)


class Rounds(NamedTuple):
    """Where the rounds on a problem are, kept over the calls of `_solve`."""

    n: int
    best: float  # objective
    least: float  # gap
    n_idle: int  # since one of them fell
    newton_next: bool


@kernel
def _solve(
    problem: Problem,
    work: Work,
    gram: Gram,
    members: Indices,
    weight: float,
    radius: float,
    goal: float,
    n_dots_in_burst: int,
    rounds: Rounds,
    max_rounds: int,
) -> tuple[int, float, Rounds, int]:
    """Take rounds of coordinate descent and Newton steps; return what is asked for, the gap, the rounds and dots."""
    n, best, least, n_idle, newton_next = rounds
    n_dots = 0
    gap = np.inf
    while True:
        if not newton_next:
            gap, objective = price(problem, work, members, weight, radius)
            n_dots += members.size
            n_idle += 1
            if objective < best - _PROGRESS * gap or gap < 0.5 * least:  # the gap bounds what there is to gain
                n_idle = 0
                best, least = min(best, objective), min(least, gap)
            if gap <= goal or n >= max_rounds or n_idle > _MAX_IDLE:
                refresh(problem, work, members)  # of columns that are not active no more will be used than this price
                active = active_places(work, members)
                correlate(problem, work, active)
                gap, _ = appraise(problem, work, members, weight, radius)
                return DONE, gap, Rounds(n, best, least, n_idle, False), n_dots + active.size
            newton_next, dots = _approach(problem, work, gram, members, weight, goal / gap)
            n_dots += dots
        if newton_next:
            asked, dots = newton(problem, work, gram, members, weight)
            n_dots += dots
            if asked in (COSINES, FACTOR):
                return asked, gap, Rounds(n, best, least, n_idle, True), n_dots
            newton_next = False
            if asked == NO_FACTOR:  # the step is taken elsewhere
                return asked, gap, Rounds(n + 1, best, least, n_idle, False), n_dots
        n += 1
        if n_dots > n_dots_in_burst:
            return _LOOK, gap, Rounds(n, best, least, n_idle, False), n_dots


@kernel
def _approach(
    problem: Problem, work: Work, gram: Gram, members: Indices, weight: float, share: float
) -> tuple[bool, int]:
    """Descend on the members that are active or should be; tell whether a Newton step is next, and the dot products.

    The gap is about proportional to the largest violation of the optimality conditions, and is to become a `share` of
    what it is. But where little is left of it, columns that are not listed may matter more. A Newton step is next where
    epochs would cost more. The correlations of all members must be known; those of the active columns are after it.
    """
    listed, violation = listed_places(problem, work, members, weight)
    enough = max(_ENOUGH * share, _SHARE) * violation
    n_affordable = _affordable_epochs(problem, work, gram, listed)
    # Epochs find the signs: not needed where no column should enter, if a Newton step costs less than they do.
    if n_affordable < EPOCHS and active_places(work, listed).size == listed.size:
        return True, 0
    n_epochs = n_dots = 0
    while listed.size > 0:
        epochs, violation, is_slow = descend(problem, work, listed, weight, enough, n_affordable - n_epochs)
        n_epochs += epochs
        n_dots += epochs * listed.size
        if violation <= enough:
            break
        if is_slow:
            correlate(problem, work, listed)
            return True, n_dots + listed.size
        listed = active_places(work, listed)
    return False, n_dots


@kernel
def _affordable_epochs(problem: Problem, work: Work, gram: Gram, listed: Indices) -> float:
    """Return for how many epochs coordinate descent costs no more than a Newton step, roughly.

    In nanoseconds: of an epoch, some per column and per entry; of Newton's step, the cosines of new columns and a
    factorization, or iterations that cost as much as epochs.
    """
    n = listed.size
    entries = n_new = 0
    for k in listed:
        entries += column_entries(problem.X, work.columns[k])
        n_new += gram.slot_of[k] < 0
    if n > LARGEST_GRAM:
        return _EPOCHS_PER_PLAIN_STEP if are_rows_full(problem, entries) else _EPOCHS_PER_STEP
    epoch = 30.0 * n + 2.0 * entries
    return 0.5 * (1e4 + n**3 / 60.0 + n_new * entries * 0.3) / max(epoch, 1.0)

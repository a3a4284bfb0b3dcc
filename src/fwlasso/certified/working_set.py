"""The penalized problem on a few columns: their copies, and who solves it on these, by the loss."""

import numpy as np

from .._core.costs import clip
from .._core.jit import kernel
from .._core.samples import from_root, to_root
from .._core.subproblem.descent import SubIterate, active_places, totals
from .._core.subproblem.rounds import Aim
from .._core.subproblem.solve import Look, Reached, Subproblem
from .._core.sweeps import Indices
from .._core.threads import Workers
from ..problem.certificate import altered
from ..problem.passes import ColumnPass
from ..problem.points import BURST_BYTES
from ..status import Status
from .convex import ConvexLoss
from .copier import Copier, NoRoom
from .newton import Newton
from .nodes import Node, Start
from .objectives import Objective

# Columns that were asked for in so many strides before this one stay.
_KEPT_STRIDES = 2
# As if asked for in all strides to come.
_FOR_EVER = np.iinfo(np.int64).max


class WorkingSet:
    """The columns that are looked at closely, as copies, their coefficients and the residual.

    A column keeps its place for as long as it is asked for, or was in one of the last strides. What is worked on at a
    time is a list of places, the members.
    """

    def __init__(self, objective: Objective, columns: ColumnPass, workers: Workers, *, polish: bool = False) -> None:
        problem, summary = objective.problem, columns.summary
        self._objective = objective
        self._source = columns
        self._samples = summary.samples
        self._n_dots_in_burst = int(BURST_BYTES / (summary.nbytes / summary.n_columns))
        self._columns = np.empty(0, np.int64)  # by place, as what follows; -1: it is free
        self._sizes = np.empty(0)  # of columns before they were centred
        self._asked_in = np.empty(0, np.int64)  # the last stride that it was asked for in
        self._in_use = np.empty(0, np.int64)  # the columns that have places, in increasing order, and these
        self._order = np.empty(0, np.int64)
        self._stride = 0
        self._copier = Copier(problem, summary, workers)
        start = SubIterate(np.empty(0), np.empty(0), self._copier.copies.y.copy())
        self.subproblem = Subproblem(self._copier.copies, start, workers)
        self._always = self.places(problem.null.columns)
        self._asked_in[self._always] = _FOR_EVER
        self.subproblem.free = problem.null._replace(columns=self._always)
        self._knows_residual = True
        self._newton: Newton | None = None
        if isinstance(objective, ConvexLoss):
            self._newton = Newton(objective, self.subproblem, workers, polish=polish)

    def places(self, columns: Indices) -> Indices:
        """Return the places of `columns`, new ones for those that have none; raises `NoRoom`."""
        places, new = _find_places(self._in_use, self._order, columns)
        if new.size:
            known = places[places >= 0]
            self._asked_in[known] = np.maximum(self._asked_in[known], self._stride)
            places[new] = self._add(columns[new])
        self._asked_in[places] = np.maximum(self._asked_in[places], self._stride)
        return places

    def next_stride(self) -> None:
        """Forget the columns that were not asked for in the last two strides."""
        self._stride += 1
        self._drop_older(self._stride - _KEPT_STRIDES)

    def together(self, *places: Indices) -> Indices:
        """Return the union of some lists of places, as they lie in memory, and of columns without a penalty."""
        is_in = np.zeros(self._columns.size, np.bool_)
        is_in[self._always] = True
        for some in places:
            is_in[some] = True
        return np.flatnonzero(is_in)

    def _add(self, columns: Indices) -> Indices:
        """Copy columns to places of their own."""
        taken = self._source.take(columns)
        if not self._copier.fits(taken):
            self._drop_older(self._stride)
            if not self._copier.fits(taken):
                raise NoRoom(self._copier.most_bytes)
        free = np.flatnonzero(self._columns < 0)[: columns.size]
        places = np.append(free, np.arange(self._columns.size, self._columns.size + columns.size - free.size))
        self._copier.copy(taken, places)
        if not np.isfinite(self._copier.copies.norms2[places]).all():
            raise altered()
        n_more = self._copier.room - self._columns.size
        if n_more > 0:
            more = np.full(n_more, -1, np.int64)
            self._columns, self._asked_in = np.append(self._columns, more), np.append(self._asked_in, more)
            self._sizes = np.append(self._sizes, np.zeros(n_more))
        self.subproblem.resize(self._copier.copies)
        self._columns[places] = columns
        self._sizes[places] = taken.sizes
        there = np.flatnonzero(self._columns >= 0)
        self._order = there[np.argsort(self._columns[there])]
        self._in_use = self._columns[self._order]
        return places

    def _drop_older(self, stride: int) -> None:
        """Forget the columns that were asked for last before a stride."""
        gone = np.flatnonzero((self._asked_in < stride) & (self._columns >= 0))
        if gone.size:
            self._columns[gone] = -1
            self._copier.drop(gone)
            self.subproblem.forget(gone)
            stay = self._columns[self._order] >= 0
            self._in_use, self._order = self._in_use[stay], self._order[stay]

    def start_at(self, start: Start) -> Indices:
        """Go to these coefficients; return their places."""
        places = self.places(start.columns)
        iterate = self.subproblem.iterate
        iterate.coefs[:] = 0.0
        iterate.coefs[places] = inside = clip(self._copier.copies.cost, places, start.coefs)
        self._knows_residual = start.residual is not None and (
            inside is start.coefs or np.array_equal(inside, start.coefs)
        )
        if start.residual is not None:
            iterate.residual[:] = to_root(self._samples, start.residual)
        return places

    def aim(self, lam: float, radius: float, goal: float, max_rounds: int) -> Aim:
        """Return what is asked of `solve`: a gap of at most `goal` over the members; see `gap_and_objective`."""
        return Aim(lam, radius, goal, max_rounds, self._n_dots_in_burst)

    def solve(self, members: Indices, aim: Aim, look: Look) -> tuple[Status, Reached]:
        """Minimise over `members` from where we stand; return how that ended, and how far it came."""
        solver = self.subproblem if self._newton is None else self._newton
        reached = solver.solve(members, aim, look, knows_residual=self._knows_residual)
        self._knows_residual = True
        status = Status.CERTIFIED
        if not reached.gap <= aim.goal:
            status = Status.STALLED
            if reached.n_rounds >= aim.max_rounds:
                status = Status.MAX_ITER
            elif self._newton is None and self.subproblem.is_rounding(reached.gap, members, aim):
                status = Status.PRECISION
        return status, reached

    def node(self, members: Indices, lam: float) -> Node:
        """Return where we stand after `solve` as a node."""
        iterate = self.subproblem.iterate
        _, _, _, max_corr = totals(self.subproblem.copies, iterate, members, lam)
        active = active_places(iterate, members)
        active = active[np.argsort(self._columns[active])]
        fit = from_root(self._samples, iterate.residual).copy() if self._newton is None else self._newton.fit
        return self._objective.node(
            lam, self._columns[active], iterate.coefs[active], self._sizes[active], fit, max_corr=max_corr
        )


@kernel
def _find_places(in_use: Indices, order: Indices, wanted: Indices) -> tuple[Indices, Indices]:
    """Return the places of the columns wanted, -1 for those that have none, and where these are.

    Both are mostly in order: from one to the next it is a few steps.
    """
    places, new = np.empty(wanted.size, np.int64), np.empty(wanted.size, np.int64)
    n_new = at = 0
    for i in range(wanted.size):
        while at < in_use.size and in_use[at] < wanted[i]:
            at += 1
        while at > 0 and in_use[at - 1] >= wanted[i]:
            at -= 1
        if at < in_use.size and in_use[at] == wanted[i]:
            places[i] = order[at]
        else:
            places[i] = -1
            new[n_new] = i
            n_new += 1
    return places, new[:n_new]

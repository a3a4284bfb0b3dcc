"""Least squares with a penalty on a few columns: the loop of rounds, and the steps that compiled code leaves to it."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..columns import Vector
from ..costs import curvatures, has_ridge
from ..problem import NullFit
from ..sweeps import Indices
from ..threads import Workers
from .conjugate import newton_without_factor
from .copies import Copies
from .descent import (
    SubIterate,
    active_places,
    add_response,
    are_known,
    correlate,
    free_places,
    listed_places,
    refresh,
    totals,
)
from .gram import empty_gram, factorize, forget, with_cosines, with_places
from .newton import COSINES, FACTOR, NO_FACTOR, newton_by_qr
from .preconditioner import Preconditioner
from .products import Products
from .rounds import AFTER, BY_QR, CORRELATE, CORRELATE_LISTED, DONE, FINISH, REFRESH, Aim, Rounds, advance, first_round

# What is at most so many times its rounding cannot be made smaller.
_TIMES_ROUNDING = 10.0
#: Called between bursts with the rounds and the gap so far; ends the work by raising.
Look = Callable[[int, float], None]


class Reached(NamedTuple):
    """How far a solution has come."""

    gap: float  # over the members
    n_rounds: int
    n_dots: int


class Subproblem:
    """The columns of a working set, what moves, and what is known of their products."""

    def __init__(self, copies: Copies, iterate: SubIterate, workers: Workers) -> None:
        self.copies = copies
        self.iterate = iterate
        self._gram = with_places(empty_gram(copies.y.size - 1), copies.starts.size)
        self._preconditioner = Preconditioner(workers)
        self._lam = 0.0  # that the factor has the ridge of
        self.free = NullFit()  # places of columns without a penalty
        self._workers = workers

    def resize(self, copies: Copies) -> None:
        """Go on with copies that may have more places."""
        self.copies = copies
        n_more = copies.starts.size - self.iterate.coefs.size
        if n_more > 0:
            coefs, corrs = (np.append(old, np.zeros(n_more)) for old in self.iterate[:2])
            self.iterate = self.iterate._replace(coefs=coefs, corrs=corrs)
            self._gram = with_places(self._gram, copies.starts.size)

    def forget(self, places: Indices) -> None:
        """Forget the products of some places, where other columns will be."""
        self.iterate.coefs[places] = 0.0
        forget(self._gram, places)
        self._preconditioner.forget(places)

    def solve(self, members: Indices, aim: Aim, look: Look, *, knows_residual: bool) -> Reached:
        """Minimise over `members` until the gap over them is small enough; see `gap_and_objective`."""
        if has_ridge(self.copies.cost) and aim.lam != self._lam:
            self._gram.row_of[:], self._gram.size[0], self._lam = -1, 0, aim.lam
        rounds = first_round(CORRELATE if knows_residual else REFRESH)
        n_seen = 0
        while (rounds := advance(self.copies, self.iterate, self._gram, members, aim, rounds)).step != DONE:
            asked, rounds = rounds.step, self.take(rounds, members, aim)
            if asked == NO_FACTOR or rounds.n_dots - n_seen > aim.n_dots_in_burst:
                n_seen = rounds.n_dots
                look(rounds.state.n_rounds, rounds.state.gap)
        return Reached(rounds.state.gap, rounds.state.n_rounds, rounds.n_dots)

    def is_rounding(self, gap: float, members: Indices, aim: Aim) -> bool:
        """Tell whether the gap, or what violates the optimality conditions, is no more than some roundings.

        The residual is off by e, ||e|| <= gamma_{n+3} (||y|| + sum |a_k| ||z_k||) + 2 gamma_m ||r||, and correlations
        by 3 gamma_{m+3} ||z_k|| ||r||, besides what e does to them.
        """
        copies, iterate, u = self.copies, self.iterate, 2.0**-53
        active = active_places(iterate, members)
        m, n, coefs = copies.y.size - 1, active.size, np.abs(iterate.coefs[active])
        l1, reach = coefs.sum(), coefs @ np.sqrt(copies.norms2[active])
        longest, y = math.sqrt(copies.norms2[members].max(initial=0.0)), math.sqrt(copies.yy)
        r = math.sqrt(np.sum(iterate.residual[:-1] ** 2))
        e = u * ((n + 3) * (y + reach) + 2 * m * r)
        of_corrs = longest * (e + 3.0 * u * (m + 3) * r)
        of_gap = e * (r + 0.5 * e) + l1 * of_corrs + u * ((m + 4) * r * (2.0 * r + y) + n * aim.lam * l1)
        if aim.radius >= 0.0:
            of_gap += (max(aim.radius, l1) + l1) * of_corrs
        _, violation = listed_places(copies, iterate, members, aim.lam)
        return bool(gap <= _TIMES_ROUNDING * of_gap or violation <= _TIMES_ROUNDING * of_corrs)

    def take(self, rounds: Rounds, members: Indices, aim: Aim) -> Rounds:
        """Take a step that compiled code does not."""
        copies, iterate, step = self.copies, self.iterate, rounds.step
        find = active_places if step in (REFRESH, FINISH) else partial(free_places, copies.cost)
        places = find(iterate, members)
        if step == CORRELATE:
            self._project()
        if step in (CORRELATE, CORRELATE_LISTED):
            self.correlate(members if step == CORRELATE else rounds.epochs.listed)
        elif step in (REFRESH, FINISH):
            before = iterate.residual.copy()
            np.negative(self.combine(places), out=iterate.residual)
            add_response(copies, iterate.residual)
            if step == FINISH and not are_known(copies, iterate, places, before, aim.goal):
                self.correlate(places)
                rounds = rounds._replace(n_dots=rounds.n_dots + places.size)
        elif step == COSINES:
            self._gram = with_cosines(copies, self._gram, places, self._workers)
        elif step == FACTOR:  # those that are likely to leave come last: rows before the first that leaves stay
            sizes = np.abs(iterate.coefs[places]) * np.sqrt(copies.norms2[places])
            factorize(copies, self._gram, places[np.argsort(-sizes, kind="stable")], aim.lam)
        elif step == BY_QR:
            rounds = rounds._replace(n_dots=rounds.n_dots + newton_by_qr(copies, iterate, members, aim.lam))
        elif step == NO_FACTOR:
            n_dots = newton_without_factor(copies, iterate, self._preconditioner, places, aim.lam, self._workers)
            rounds = rounds._replace(n_dots=rounds.n_dots + n_dots)
        return rounds._replace(step=AFTER[step])

    def lam(self, members: Indices) -> float:
        """Return the penalty that the coefficients belong to: (a'X'r - sum mu_j a_j^2) / ||a||_1."""
        refresh(self.copies, self.iterate, members)
        self._project()
        correlate(self.copies, self.iterate, members)
        _, qr, l1, _ = totals(self.copies, self.iterate, members, 0.0)
        squares = curvatures(self.copies.cost, 0.0, members) @ self.iterate.coefs[members] ** 2
        return float((qr - squares) / l1)

    def _project(self) -> None:
        """Minimise over columns without a penalty: the residual becomes orthogonal to them."""
        if self.free.columns.size == 0:
            return
        coefs, _, residual = self.iterate
        for _ in range(2):  # once more for rounding
            more, explained = self.free.explain(residual[:-1])
            coefs[self.free.columns] += more
            residual[:-1] -= explained
            residual[-1] -= explained @ self.copies.roots if self.copies.centred else 0.0

    def combine(self, places: Indices) -> Vector:
        """Return the sum of a_k z_k over some places, a sample vector."""
        return Products(self.copies, places, self._workers).combine(self.iterate.coefs[places])

    def correlate(self, places: Indices) -> None:
        """Compute the correlations of some places with the residual."""
        self.iterate.corrs[places] = Products(self.copies, places, self._workers).correlate(self.iterate.residual)

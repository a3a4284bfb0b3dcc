"""Newton's method for a loss that is no square: every turn is least squares in the metric of its curvatures."""

import itertools

import numpy as np

from .._core.columns import Vector
from .._core.penalties import L1
from .._core.subproblem.copies import Copies, weigh
from .._core.subproblem.descent import SubIterate, active_places, totals
from .._core.subproblem.rounds import Aim
from .._core.subproblem.solve import Look, Reached, Subproblem
from .._core.sweeps import Indices
from .._core.threads import Workers
from .objectives import ConvexLoss, Witness

# A turn is solved to this fraction of the gap before it; to this fraction of it again after every one that led nowhere.
_ACCURACY, _FURTHER = 1e-2, 1e-1
# Along a line the objective must fall by this fraction of its slope, up to this rounding; a step is halved so often.
_DESCENT, _ROUNDING, _HALVINGS = 1e-3, 1e-14, 40
# In so many turns the objective must fall by more than that, or the gap by half: else rounding is what is left.
_MAX_IDLE = 5


class Turns:
    """Minimises a convex loss on the copies of a working set, whose coefficients it moves.

    The residual that these have is that of the loss.
    """

    def __init__(self, objective: ConvexLoss, subproblem: Subproblem, workers: Workers) -> None:
        self._objective = objective
        self._subproblem = subproblem
        self._workers = workers
        self.eta, _ = objective.zero()
        self._intercept = float(self.eta[0])  # zero if there is none

    def solve(self, members: Indices, aim: Aim, look: Look) -> Reached:
        """Minimise over `members` from where we stand, until the gap over them is small enough."""
        copies = self._subproblem.copies
        n_rounds = n_dots = n_idle = 0
        least, falls = np.inf, True
        self.eta = self._intercept + self._subproblem.combine(active_places(self._subproblem.iterate, members))
        while True:
            gap = self._gap(members, aim.lam)
            n_dots += members.size
            n_idle = 0 if falls or gap < 0.5 * least else n_idle + 1
            least = min(gap, least)
            if gap <= aim.goal or n_rounds >= aim.max_rounds or n_idle > _MAX_IDLE:
                break
            look(n_rounds, gap)
            roots, response = self._objective.quadratic(self.eta)
            inner = self._weighted(weigh(copies, members, roots, response))
            enough = _ACCURACY * _FURTHER**n_idle * gap
            part = aim._replace(radius=-1.0, goal=enough, max_rounds=aim.max_rounds - n_rounds)
            reached = inner.solve(members, part, look, knows_residual=False)
            n_rounds, n_dots = n_rounds + max(1, reached.n_rounds), n_dots + reached.n_dots
            falls = self._move(members, inner.iterate.coefs, roots, response, aim.lam)
        return Reached(gap, n_rounds, n_dots)

    def _weighted(self, copies: Copies) -> Subproblem:
        coefs = self._subproblem.iterate.coefs.copy()
        return Subproblem(copies, SubIterate(coefs, np.zeros(coefs.size), np.zeros(copies.y.size)), self._workers)

    def _gap(self, members: Indices, lam: float) -> float:
        """Fill in the residual and the correlations; return the gap over the members."""
        iterate = self._subproblem.iterate
        iterate.residual[:] = self._objective.residual(self.eta)
        self._subproblem.correlate(members)
        _, _, l1, max_corr = totals(self._subproblem.copies, iterate, members, lam)
        return self._objective.gap(L1(lam), Witness(self.eta, iterate.residual, l1, 0.0, max_corr))

    def _move(self, members: Indices, coefs: Vector, roots: Vector, response: Vector, lam: float) -> bool:
        """Go towards other coefficients and their best intercept, as far as the objective falls; tell if it does."""
        subproblem, objective = self._subproblem, self._objective
        iterate = subproblem.iterate
        before, after = iterate.coefs[members], coefs[members]
        eta, intercept = self.eta, self._intercept
        value = objective.value(eta) + lam * np.abs(before).sum()
        iterate.coefs[members] = after
        fitted = subproblem.combine(active_places(iterate, members))
        best = float(np.average(response - fitted[:-1], weights=roots**2)) if objective.problem.centred else 0.0
        slope = lam * (np.abs(after).sum() - np.abs(before).sum())
        slope -= iterate.residual[:-1] @ (best + fitted - eta)[:-1]
        for t in itertools.islice((0.5**k for k in itertools.count()), _HALVINGS):
            iterate.coefs[members] = before + t * (after - before) if t < 1.0 else after
            self._intercept = intercept + t * (best - intercept)
            self.eta = self._intercept + subproblem.combine(active_places(iterate, members))
            now = iterate.coefs[members]
            fall = value - (objective.value(self.eta) + lam * np.abs(now).sum())
            if fall >= -_DESCENT * t * slope - _ROUNDING * value:
                return bool(fall > _ROUNDING * value)
        iterate.coefs[members], self.eta, self._intercept = before, eta, intercept
        return False

"""Newton's method for a loss that is no square, on the copies of a working set: a node in one or two steps."""

import math

import numpy as np

from .._core.columns import Vector
from .._core.losses import add_best_constant, curve, fill_slopes, has_diagonal, loss_value, reach
from .._core.moments import rounding_bound as gamma
from .._core.samples import from_root
from .._core.subproblem.copies import weigh
from .._core.subproblem.curved import Slopes, cost_of, entering, explained, minimise
from .._core.subproblem.descent import SubIterate
from .._core.subproblem.products import Products
from .._core.subproblem.rounds import Aim
from .._core.subproblem.solve import Look, Reached, Subproblem
from .._core.sweeps import Indices
from .._core.threads import Workers
from .convex import ConvexLoss

# A step is least squares to this fraction of the goal.
_INNER = 1e-2
# Beyond so many columns, or numbers of compressed ones, there are no inner products of all.
_MOST_COLUMNS, _MOST_NUMBERS = 1500, 4 << 20
# Columns that come at a time, beside twice those that are there.
_FEW = 64
# Curvatures are at least this fraction of the largest.
_LEAST_CURVATURE = 1e-16
# Where slopes are large and curvatures next to nothing rounding hides where descent is: they are raised, by steps.
_MORE = 100.0
# A start that is no use is halved, down to coefficients of this size.
_LEAST_COEF = 1e-3
# A constant is found to so many digits before a step, and for a point that is proved by its coefficients alone.
_ROUGH, _EXACT = 1e-3, 1e-9
# Steps that change curvatures by no more than this factor, as a logarithm, are known to descend.
_SHORT = 0.5
# What rounding hides of a descent; how often a step is halved; steps that bring the gap down by less than half.
_ROUNDING, _HALVINGS, _MAX_IDLE = 1e-14, 40, 6
# By so much of the goal a long step is to descend, if the gap does not fall.
_ENOUGH = 0.1


class Newton:
    """Minimises a convex loss on the copies of a working set, whose coefficients it moves.

    The residual that these have is the dual point: that of a step, theta - H d, which is exact for its columns, or for
    points that are proved by their coefficients the slopes of the loss.
    """

    def __init__(self, objective: ConvexLoss, subproblem: Subproblem, workers: Workers, *, polish: bool) -> None:
        self._objective, self._subproblem, self._workers, self._polish = objective, subproblem, workers, polish
        self._loss = objective.problem.loss
        self.fit, _ = objective.zero()
        roots = subproblem.copies.roots
        self._inverse = np.divide(1.0, roots, out=np.zeros(roots.size), where=roots > 0.0)
        self._descent = 0.0  # of the last step, if it was a long one
        self._steadied = 0.0  # curvatures are at least so many times the squares of slopes

    def solve(self, members: Indices, aim: Aim, look: Look, *, knows_residual: bool) -> Reached:
        """Minimise over `members` from where we stand, until the gap over them is small enough."""
        iterate, n_dots, n_rounds, n_idle = self._subproblem.iterate, members.size, 0, 0
        gap = least = np.inf
        self._look_again(_ROUGH)
        while not self._is_inside() and iterate.coefs.any():  # predicted from afar
            np.multiply(iterate.coefs, 0.5 if np.abs(iterate.coefs).max() > _LEAST_COEF else 0.0, out=iterate.coefs)
            self.fit, knows_residual = self._objective.zero()[0], False
            self._look_again(_ROUGH)
        self._steadied = 0.0
        if not knows_residual:
            self._take(self._residual())
        self._subproblem.correlate(members)
        while n_rounds < aim.max_rounds and n_idle <= _MAX_IDLE:
            places = self._chosen(members, aim.lam)
            theta = self._step(places, aim, look)
            n_rounds, n_dots, gap = n_rounds + 1, n_dots + places.size + members.size, np.inf
            if theta is not None and not self._polish:
                gap = self._judge(theta, members, aim.lam)
            if not gap < np.inf:
                gap = self._judge(self._residual(), members, aim.lam)
            look(n_rounds, gap)
            if gap <= aim.goal:
                break
            n_idle = 0 if gap < 0.5 * least or self._descent > _ENOUGH * aim.goal else n_idle + 1
            least = min(gap, least)
        self.fit = self.fit._replace(theta=from_root(self._objective.samples, iterate.residual).copy())
        return Reached(gap, n_rounds, n_dots)

    def _is_inside(self) -> bool:
        """Tell whether there are slopes, and curvatures that tell where to go."""
        slopes, total = self._at.sums
        return math.isfinite(slopes + total) and (total > 0.0 or not self._subproblem.copies.centred)

    def _look_again(self, enough: float) -> None:
        """Compute the linear predictor and the slopes at the coefficients, with their best constant, to some digits."""
        iterate, loss, constant = self._subproblem.iterate, self._loss, self.fit.intercept
        own = self._image(np.flatnonzero(iterate.coefs), iterate.coefs)
        if self._subproblem.copies.centred and enough < np.inf:
            constant += add_best_constant(loss, own + constant, enough)
        eta, theta, curvatures = np.empty(own.size + 1), np.empty(own.size), np.empty(own.size)
        np.add(own, constant, out=eta[:-1])
        eta[-1] = 0.0  # nobody asks for the sum of predictors
        self._at = Slopes(theta, curvatures, fill_slopes(loss, eta, theta, curvatures))
        self.fit = self.fit._replace(eta=eta, intercept=constant)

    def _image(self, places: Indices, coefs: Vector) -> Vector:
        """Return the sum of b_j z_j over some places, given the coefficients of all."""
        copies = self._subproblem.copies
        image: Vector = Products(copies, places, self._workers).combine(coefs[places])[:-1] * self._inverse
        return image

    def _residual(self) -> Vector:
        """Return the slopes less what the intercept and columns without a penalty explain: inside of the domain."""
        theta, curvatures, (slopes, total) = self._at
        if self._subproblem.free.columns.size:
            return self._without_free(theta, curvatures)
        return theta - curvatures * (slopes / total) if self._subproblem.copies.centred else theta

    def _without_free(self, theta: Vector, curvatures: Vector) -> Vector:
        """Take out of a dual point what columns without a penalty explain, in the metric of the curvatures."""
        copies, free = self._subproblem.copies, self._subproblem.free.columns
        products, of_all = Products(copies, free, self._workers), np.zeros(copies.norms2.size)
        for _ in range(2):  # once more for rounding
            at = Slopes(theta, curvatures, (float(theta.sum()), float(curvatures.sum())))
            of_all[free] = explained(copies, at, free, products.correlate(np.append(theta * self._inverse, at.sums[0])))
            d = self._image(free, of_all)
            theta = theta - curvatures * (d + self._constant(at, d))
        return theta

    def _constant(self, at: Slopes, d: Vector) -> float:
        """Return the step of the intercept beside one of d."""
        slopes, total = at.sums
        return (slopes - float(at.curvatures @ d)) / total if self._subproblem.copies.centred else 0.0

    def _take(self, theta: Vector) -> None:
        """Let this be the dual point."""
        residual = self._subproblem.iterate.residual
        np.multiply(theta, self._inverse, out=residual[:-1])
        residual[-1] = theta.sum()

    def _judge(self, theta: Vector, members: Indices, lam: float) -> float:
        """Return the gap over the members with this dual point."""
        self._take(theta)
        self._subproblem.correlate(members)
        return self._objective.gap_within(self._subproblem, members, lam, self.fit._replace(theta=theta))

    def _chosen(self, members: Indices, lam: float) -> Indices:
        """Return the places to minimise over: those that are free, and of those that are pulled off the strongest."""
        iterate, cost = self._subproblem.iterate, self._subproblem.copies.cost
        places = entering(cost, lam, members, iterate.coefs, iterate.corrs)
        is_new = iterate.coefs[places] == 0.0
        n_most = max(_FEW, 2 * int(np.count_nonzero(~is_new)))
        if np.count_nonzero(is_new) > n_most:
            pulls = np.where(is_new, np.abs(iterate.corrs[places]), np.inf)
            places = places[pulls >= np.partition(pulls, is_new.size - n_most - 1)[is_new.size - n_most - 1]]
        return places

    def _step(self, places: Indices, aim: Aim, look: Look) -> Vector | None:
        """Make a step; return its dual point, if it was made in full."""
        iterate, at = self._subproblem.iterate, self._at
        before = iterate.coefs.copy()
        after = self._minimise(places, aim, look)
        d = self._image(places, after - before)
        constant = self._constant(at, d)
        d += constant
        t = self._length(places, before[places], after[places], d, aim.lam)
        if t == 0.0:
            self._steadied = max(_MORE * self._steadied, gamma(2 * d.size) / aim.goal)
        iterate.coefs[places] = after[places] if t == 1.0 else (before + t * (after - before))[places]
        self.fit = self.fit._replace(intercept=self.fit.intercept + t * constant)
        self._look_again(_EXACT if self._polish else math.inf)
        if t < 1.0:
            return None
        theta = at.theta - at.curvatures * d
        return self._without_free(theta, at.curvatures) if self._subproblem.free.columns.size else theta

    def _minimise(self, places: Indices, aim: Aim, look: Look) -> Vector:
        """Return the coefficients that least squares in the metric of the curvatures has, by place."""
        subproblem, iterate, copies = self._subproblem, self._subproblem.iterate, self._subproblem.copies
        theta, curvatures, sums = self._at
        loss, at = self._loss, self._at
        if has_diagonal(loss):
            least = np.maximum(_LEAST_CURVATURE * curvatures.max(), self._steadied * theta * theta)
            at = Slopes(theta, np.maximum(curvatures, least), sums)
        coefs = iterate.coefs.copy()
        if places.size <= _MOST_COLUMNS and (copies.dense or places.size * theta.size <= _MOST_NUMBERS):
            self._take(theta)
            subproblem.correlate(places)
            goal = _INNER * aim.goal
            given = places, iterate.corrs[places], coefs[places]
            coefs[places], is_solved = minimise(copies, at, *given, lam=aim.lam, goal=goal, loss=loss)
            if is_solved:
                return coefs
        if not has_diagonal(loss):  # no more than the diagonal c - theta
            at = Slopes(theta, loss.weights * loss.y - theta, sums)
        roots, scale = at.roots(copies)
        response = self._image(places, iterate.coefs)  # without coefficients that rest at bounds elsewhere
        response += np.divide(theta, roots**2, out=np.zeros(theta.size), where=roots > 0.0)
        start = SubIterate(np.zeros(coefs.size), np.zeros(coefs.size), np.zeros(theta.size + 1))
        start.coefs[places] = coefs[places]
        inner = Subproblem(weigh(copies, places, roots, scale, response), start, self._workers)
        inner.solve(places, aim._replace(radius=-1.0, goal=_INNER * aim.goal), look, knows_residual=False)
        coefs[places] = inner.iterate.coefs[places]
        return coefs

    def _length(self, places: Indices, before: Vector, after: Vector, d: Vector, lam: float) -> float:
        """Return how much of a step to make: all of it if the objective falls, or as much as surely brings descent.

        With slope = theta'd less what the cost rises by, q = d'Hd and delta the reach of d, F(eta + t d) is at most
        F(eta) - t theta'd + q (e^(t delta) - t delta - 1) / delta^2.
        """
        loss, cost, eta = self._loss, self._subproblem.copies.cost, self.fit.eta[:-1]
        theta, curvatures, _ = self._at
        delta, self._descent = float(reach(loss, d)), 0.0
        if 0.0 < delta <= _SHORT:
            return 1.0
        own = cost_of(cost, lam, places, before)
        slope = float(theta @ d) - (cost_of(cost, lam, places, after) - own)
        if not slope > 0.0:
            return 1.0 if delta <= _SHORT else 0.0
        value = loss_value(loss, eta)
        most = value + own + _ROUNDING * (abs(value) + own)
        t, bent = 1.0, np.empty((1, d.size))
        for _ in range(_HALVINGS):
            if loss_value(loss, eta + t * d) + cost_of(cost, lam, places, before + t * (after - before)) <= most:
                break
            curve(loss, curvatures, d[np.newaxis], bent)
            proved = math.log1p(slope * delta / float(bent[0] @ d)) / delta if delta > 0.0 else 0.5
            t = min(0.5 * t, proved) if t < 1.0 else min(0.5, proved)
        self._descent = 0.5 * t * slope  # at least, about
        return t

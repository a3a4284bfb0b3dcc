"""Claims of points: gaps that are proved over all columns, for any cost of the coefficients.

Plain costs are those of certificate.py. For others, with r as it is stored, c_j = z_j'r, and any theta = s r,
0 <= s <= lam / H, the gap is a sum of terms that are not negative,

    G(s) = 1/2 ((1 - s) ||r|| + s eps + e)^2 + sum_A [cost_j(b_j) + cost*_j(s c_j) - s b_j c_j] + s V,

over the columns A with a coefficient, whose correlations are known one by one. Of all others are known: H, the largest
pull towards a side that is hard; M, the largest pull; V >= sum cost*_j(c_j), since cost*_j(s c) <= s cost*_j(c). Where
s M <= lam, V is zero. e bounds what the residual is off by, and blur what rounding adds to a correlation: both are
those of certificate.py. A point outside of its bounds has no gap.

A dual point is orthogonal to columns U without a penalty. They are projected out of r as it is stored, which e has in
it. To what rounding leaves of U'r the nearest such vector is at most

    eps = kappa (sum over U of ((|c_j| + E_j) / ||z_j||)^2)^(1/2)

from r, kappa being 1 / the least singular value of these columns at length one; it moves the other correlations by no
more than `largest` eps, which is added to their blur. Columns that are not read, but known to be at most lambda before
that, are so where s is at most lambda / (lambda + `largest` eps).

For another loss the first term of G(s) is F(eta) + F*(-s theta) + s theta'eta, and its rounding: `Predicted`.

For a radius, lam (radius - sum s_j |b_j|) is added, for any lam, and what the residual that coefficients have may be
off: e (radius + sum |b_j|) `largest` + e ||r||. We take the largest pull of c_j - mu_j b_j: V is zero
then, and G at s = 1 is at most the gap of Frank-Wolfe, radius times that pull less sum b_j (c_j - mu_j b_j).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._core.columns import Vector, correlations
from .._core.costs import (
    Cost,
    Indices,
    at_columns,
    bounds,
    clip,
    conjugate,
    curvatures,
    is_hard,
    is_plain,
    largest_pull,
    pull,
    slope,
    value,
)
from .._core.iterate import Iterate
from .._core.jit import by_type, kernel
from .._core.losses import Loss, fenchel
from .._core.moments import gamma as gamma_of
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1Ball, Penalty
from .._core.problem import Problem
from .._core.sweeps import sum_tops
from .._core.threads import Workers
from .certificate import Claim, corr_error, examine, max_correlations, prove, residual
from .passes import LocalPass, Probe, Taken
from .unpenalized import projected

_ROUND_DOWN = 1.0 - 1e-15


class Facts(NamedTuple):
    """What a gap follows from, beside the coefficients of the columns A and their correlations."""

    lam: float  # that of the penalty, or any for a radius
    rr: float  # r'r
    error: float  # e
    blur: float  # with `largest` eps
    eps: float
    hard: float  # H, with the blur
    most: float  # M, but for the blur
    over: float  # V
    tilt: float = 0.0  # `largest` eps relative to lambda, if there are columns that were not read

    @property
    def at_least(self) -> "Facts":
        """What may be left in truth: all numbers as much smaller as rounding leaves open."""
        hard = self.hard - 2.0 * self.blur if self.hard > 0.0 else 0.0
        return self._replace(error=0.0, eps=0.0, blur=-self.blur, hard=hard, tilt=0.0)

    def bounded_by(self, tops: Vector) -> "Facts":
        """Return it with other bounds of the columns without a coefficient, see `costs.take_in`."""
        return self._replace(hard=float(tops[0]), most=float(tops[1]), over=float(tops[2]))


def certify_iterates(
    problem: Problem, penalties: Sequence[Penalty], iterates: Sequence[Iterate], workers: Workers
) -> list[Claim]:
    """Return what is proved for some points, whose fitted values must be fresh, in one pass over the data."""
    residuals = [residual(problem, iterate) for iterate in iterates]
    if not is_plain(problem.cost):
        return _certify_separable(problem, penalties, iterates, residuals, workers)
    largest = max_correlations(problem.X, residuals, workers)
    claims = []
    for penalty, iterate, r, max_corr in zip(penalties, iterates, residuals, largest.tolist(), strict=True):
        columns, coefs = iterate.coefs()
        claims.append(prove(problem, penalty, examine(problem, problem.sizes(columns), coefs, r, max_corr)))
    return claims


def _certify_separable(
    problem: Problem,
    penalties: Sequence[Penalty],
    iterates: Sequence[Iterate],
    residuals: Sequence[Vector],
    workers: Workers,
) -> list[Claim]:
    points = [_look_at(problem, *pair) for pair in zip(iterates, residuals, strict=True)]
    probes = [
        Probe(point.residual, getattr(penalty, "lam", 1.0), point.columns, point.facts.blur)
        for penalty, point in zip(penalties, points, strict=True)
    ]
    everywhere = LocalPass(problem, workers)
    everywhere.begin(1.0, 1.0)
    found = zip(penalties, points, everywhere.insert(probes), strict=True)
    return [_claim_of(problem, penalty, point, tops) for penalty, point, tops in found]


def gap_of(problem: Problem, penalty: Penalty, iterate: Iterate, corrs: Vector) -> float:
    """Return the gap that follows from the correlations of all columns, which a solver goes by: no claim."""
    point = _look_at(problem, iterate, residual(problem, iterate))
    others = corrs.copy()
    others[point.columns] = 0.0
    tops = sum_tops(problem.cost, getattr(penalty, "lam", 1.0), others, point.facts.blur)
    return _claim_of(problem, penalty, point, tops).gap


class _Point(NamedTuple):
    """The columns A of a point, and what is known but for all others."""

    columns: Indices
    coefs: Vector
    residual: Vector
    corrs: Vector
    facts: Facts


def _look_at(problem: Problem, iterate: Iterate, r: Vector) -> _Point:
    columns, coefs = iterate.coefs()
    free = problem.null.columns
    taken = Taken(problem.X, free, problem.xty[free], problem.norms2[free], at_columns(problem.cost, free))
    r, facts, _ = look_at(problem, taken, coefs, problem.sizes(columns), r)
    return _Point(columns, coefs, r, correlations(problem.X, columns, r), facts)


def look_at(problem: Problem, free: Taken, coefs: Vector, sizes: Vector, r: Vector) -> tuple[Vector, Facts, float]:
    """Return a residual without what columns without a penalty explain of it, what is known of it, and y'r.

    Coefficients are those of the columns A, whose sizes are given; `free` are columns without a penalty.
    """
    r, lost = projected(problem, r)
    known = examine(problem, sizes, coefs, r, 0.0)
    if free.at.size:
        lost += gamma(free.at.size + 8) * (problem.y_size + float(sizes @ np.abs(coefs)))
    blur = corr_error(problem, known)
    eps = distance_of_dual(problem.cost, free, r, blur / (problem.largest or 1.0))
    blur += problem.largest * eps
    facts = Facts(math.nan, known.rr, known.error + lost, blur, eps, hard=0.0, most=0.0, over=0.0)
    return r, facts, known.yr


def _claim_of(problem: Problem, penalty: Penalty, point: _Point, tops: Vector) -> Claim:
    columns, coefs, _, corrs, facts = point
    if not np.array_equal(clip(problem.cost, columns, coefs), coefs):
        return Claim(math.inf, 0.0)
    own, facts = at_columns(problem.cost, columns), facts.bounded_by(tops)
    if isinstance(penalty, L1Ball):
        slopes = corrs - curvatures(problem.cost, 0.0, columns) * coefs
        lam = (max(facts.most, float(largest_pull(own, slopes))) + facts.blur) / _ROUND_DOWN
        return prove_at(problem, penalty, (own, coefs, corrs), facts._replace(lam=lam, over=0.0))
    return prove_at(problem, penalty, (own, coefs, corrs), facts._replace(lam=penalty.lam))


def distance_of_dual(cost: Cost, free: Taken, r: Vector, unit: float) -> float:
    """Return eps; rounding adds `unit` times their sizes to correlations of columns."""
    if free.at.size == 0:
        return 0.0
    shares = (np.abs(correlations(free.X, free.at, r)) + free.sizes * unit) / np.sqrt(free.norms2)
    return float(cost.kappa * math.sqrt(shares @ shares) * (1.0 + 1e-6))


#: The cost, the coefficients and the correlations of the columns A.
Active = tuple[Cost, Vector, Vector]


def prove_at(problem: Problem, penalty: Penalty, active: Active, facts: Facts, longest: float = 1.0) -> Claim:
    """Return the gap that is proved for a point, whose dual point is no more than `longest` r, and its rounding."""
    gap = gap_of_facts(problem, penalty, active, facts, longest)
    if gap == math.inf:
        return Claim(gap, 0.0)
    return Claim(gap, gap - min(gap, gap_of_facts(problem, penalty, active, facts.at_least, longest)))


def gap_of_facts(problem: Problem, penalty: Penalty, active: Active, facts: Facts, longest: float) -> float:
    """Return the gap that follows from facts, never below zero; infinite where one of them is not finite."""
    (cost, coefs, corrs), lam = active, facts.lam
    l1 = float(norm_of(cost, coefs))
    if not math.isfinite(sum(facts._replace(over=0.0)) + l1):
        return math.inf
    m, sign = problem.n_samples, 1.0 if facts.blur >= 0.0 else 0.0
    fit = Residual(math.sqrt(facts.rr) * (1.0 + gamma(m + 8)), facts.eps, facts.error)
    gap = least_gap(cost, fit, coefs, corrs, facts, longest / (1.0 + facts.tilt))
    if isinstance(penalty, L1Ball):
        gap += lam * (penalty.radius - l1) + sign * gamma(coefs.size + 8) * lam * (penalty.radius + l1)
        gap += facts.error * ((penalty.radius + float(np.sum(np.abs(coefs)))) * problem.largest + math.sqrt(facts.rr))
    # What the gap is relative to is rounded, too.
    n_ops = m + 2 * problem.null.columns.size + 24
    gap *= 1.0 + sign * gamma(n_ops) * (1.0 + problem.y_size / math.sqrt(2.0 * problem.null_loss))
    return max(0.0, float(gap)) if math.isfinite(gap) else math.inf


@kernel
def norm_of(cost: Cost, coefs: Vector) -> float:
    """Return the l1 norm of the coefficients that have a penalty."""
    total = 0.0
    for i in range(coefs.size):
        total += slope(cost, i) * abs(coefs[i])
    return total


class Residual(NamedTuple):
    """What the first term of G(s) is made of: at least ||r||, eps and e."""

    size: float
    eps: float
    error: float


class Predicted(NamedTuple):
    """The same of another loss: a linear predictor and a dual point, and what rounding may add."""

    loss: Loss
    eta: Vector
    theta: Vector
    error: float  # of eta, in the metric of the weights
    norm: float  # of theta
    moved: float  # what F* rises by at most where theta moves to where it is orthogonal to constants and U
    of_sums: float


@by_type
def misfit(fit: Residual | Predicted, s: float) -> float:
    """Return the first term of G(s)."""


@misfit.register(Residual)
def _(fit, s):
    return 0.5 * ((1.0 - s) * fit.size + s * fit.eps + fit.error) ** 2


@misfit.register(Predicted)
def _(fit, s):
    bracket, size, slopes2, top = fenchel(fit.loss, fit.eta, fit.theta, s)
    of_eta = (np.sqrt(slopes2) + s * fit.norm + top * fit.error) * fit.error
    return bracket + of_eta + fit.of_sums * size + s * fit.moved


@kernel
def least_gap(
    cost: Cost, fit: Residual | Predicted, coefs: Vector, corrs: Vector, facts: Facts, longest: float
) -> float:
    """Return G for the best of three s, `longest` at most; where blur is negative, correlations are as much smaller.

    s is as long as hard sides allow; as columns that do not rest at a bound do; and as all columns do.
    """
    lam, _, _, blur, _, hard, most, over, _ = facts
    free = largest = most = most + blur
    for i in range(coefs.size):
        low, high = bounds(cost, i)
        strength = pull(cost, i, corrs[i]) + blur
        largest = max(largest, strength)
        if coefs[i] != (high if corrs[i] > 0.0 else low):
            free = max(free, strength)
        if is_hard(cost, lam, i, corrs[i]):
            hard = max(hard, strength)
    off, best, last = abs(blur), np.inf, -1.0
    for which in range(3):
        top = hard if which == 0 else max(hard, free if which == 1 else largest)
        s = min(longest, lam / top * _ROUND_DOWN if top > lam * _ROUND_DOWN else 1.0)
        if s == last:  # there are no bounds, say
            continue
        last = s
        gap, terms = misfit(fit, s), 0.0
        for i in range(coefs.size):
            if slope(cost, i) > 0.0:
                own, inner = value(cost, lam, i, coefs[i]), s * coefs[i] * corrs[i]
                up, down = conjugate(cost, lam, i, s * (corrs[i] + off)), conjugate(cost, lam, i, s * (corrs[i] - off))
                dual = max(up, down) if blur >= 0.0 else min(up, down, conjugate(cost, lam, i, s * corrs[i]))
                gap += own + dual - inner + s * abs(coefs[i]) * blur
                terms += own + dual + abs(inner)
        if s * most > lam:
            gap += s * over
        if blur >= 0.0:
            gap += gamma_of(coefs.size + 16.0) * (terms + abs(gap))
        if not gap >= best:
            best = gap
    return best

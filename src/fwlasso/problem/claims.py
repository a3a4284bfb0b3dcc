"""Claims of points: gaps that are proved over all columns, for any cost of the coefficients.

Plain costs are those of certificate.py. For others, with r as it is stored, c_j = z_j'r, and any theta = s r,
0 <= s <= lam / H, the gap is a sum of terms that are not negative,

    G(s) = 1/2 ((1 - s) ||r|| + s eps + e)^2 + sum_A [cost_j(b_j) + cost*_j(s c_j) - s b_j c_j] + s V,

over the columns A with a coefficient, whose correlations are known one by one. Of all others are known: H, the largest
pull towards a side that is hard; M, the largest pull; V >= sum cost*_j(c_j), since cost*_j(s c) <= s cost*_j(c). Where
s M <= lam, V is zero. e bounds what the residual is off by, and blur what rounding adds to a correlation: both are
those of certificate.py. A point outside of its bounds has no gap.

A dual point is orthogonal to columns U without a penalty. The nearest such vector is at most

    eps = kappa (sum over U of ((|c_j| + blur) / ||z_j||)^2)^(1/2)

from r, kappa being 1 / the least singular value of these columns at length one; it moves the other correlations by no
more than `largest` eps, which is added to their blur.

For a radius, lam (radius - sum s_j |b_j|) is added, for any lam. We take the largest pull of c_j - mu_j b_j: V is zero
then, and G at s = 1 is at most the gap of Frank-Wolfe, radius times that pull less sum b_j (c_j - mu_j b_j).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._core.columns import Columns, Vector, dot_column
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
    unpenalized,
    value,
)
from .._core.iterate import Iterate
from .._core.jit import kernel
from .._core.moments import gamma as gamma_of
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1Ball, Penalty
from .._core.problem import Problem
from .._core.sweeps import sum_tops
from .._core.threads import Workers
from .certificate import Claim, corr_error, examine, max_correlations, prove, residual
from .passes import LocalPass, Probe

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
        Probe(r, getattr(penalty, "lam", 1.0), point.columns, point.facts.blur)
        for penalty, point, r in zip(penalties, points, residuals, strict=True)
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
    corrs: Vector
    facts: Facts


def _look_at(problem: Problem, iterate: Iterate, r: Vector) -> _Point:
    columns, coefs = iterate.coefs()
    known = examine(problem, problem.sizes(columns), coefs, r, 0.0)
    eps, blur = distance_of_dual(problem, r, corr_error(problem, known))
    facts = Facts(math.nan, known.rr, known.error, blur, eps, hard=0.0, most=0.0, over=0.0)
    return _Point(columns, coefs, correlations(problem.X, columns, r), facts)


def _claim_of(problem: Problem, penalty: Penalty, point: _Point, tops: Vector) -> Claim:
    columns, coefs, corrs, facts = point
    if not np.array_equal(clip(problem.cost, columns, coefs), coefs):
        return Claim(math.inf, 0.0)
    own, facts = at_columns(problem.cost, columns), facts.bounded_by(tops)
    if isinstance(penalty, L1Ball):
        slopes = corrs - curvatures(problem.cost, 0.0, columns) * coefs
        lam = (max(facts.most, float(largest_pull(own, slopes))) + facts.blur) / _ROUND_DOWN
        return prove_at(problem, penalty, own, (coefs, corrs), facts._replace(lam=lam, over=0.0))
    return prove_at(problem, penalty, own, (coefs, corrs), facts._replace(lam=penalty.lam))


def distance_of_dual(problem: Problem, r: Vector, blur: float) -> tuple[float, float]:
    """Return eps, and the blur of a vector that is orthogonal to columns without a penalty."""
    columns = unpenalized(problem.cost)
    columns = columns[problem.norms2[columns] > 0.0]
    if columns.size == 0:
        return 0.0, blur
    shares = (np.abs(correlations(problem.X, columns, r)) + blur) / np.sqrt(problem.norms2[columns])
    eps = problem.cost.kappa * math.sqrt(shares @ shares) * (1.0 + 1e-12)
    return eps, blur + problem.largest * eps


def prove_at(
    problem: Problem,
    penalty: Penalty,
    cost: Cost,
    known: tuple[Vector, Vector],
    facts: Facts,
    longest: float = 1.0,
) -> Claim:
    """Return the gap that is proved for a point, given the cost, the coefficients and the correlations of columns A.

    The dual point is no more than `longest` r.
    """
    (coefs, corrs), lam = known, facts.lam
    l1 = float(norm_of(cost, coefs))
    if not math.isfinite(sum(facts[:-1]) + l1):
        return Claim(math.inf, 0.0)
    m = problem.n_samples
    gap, plain = least_gap(cost, coefs, corrs, facts, longest, gamma(m + 8))
    if isinstance(penalty, L1Ball):
        rest = lam * (penalty.radius - l1)
        gap += rest + gamma(coefs.size + 8) * lam * (penalty.radius + l1)
        plain += rest
    # What the gap is relative to is rounded, too.
    gap *= 1.0 + gamma(m + 8) * (1.0 + problem.y_size / math.sqrt(2.0 * problem.null_loss))
    if not math.isfinite(gap):
        return Claim(math.inf, 0.0)
    return Claim(max(0.0, float(gap)), max(0.0, float(gap)) - max(0.0, float(plain)))


@kernel
def correlations(X: Columns, columns: Indices, residual: Vector) -> Vector:
    """Return z_j'r of some columns."""
    found = np.empty(columns.size)
    for i in range(columns.size):
        found[i] = dot_column(X, columns[i], residual)
    return found


@kernel
def norm_of(cost: Cost, coefs: Vector) -> float:
    """Return the l1 norm of the coefficients that have a penalty."""
    total = 0.0
    for i in range(coefs.size):
        total += slope(cost, i) * abs(coefs[i])
    return total


@kernel
def least_gap(
    cost: Cost, coefs: Vector, corrs: Vector, facts: Facts, longest: float, rounding: float
) -> tuple[float, float]:
    """Return G for the best of three s, `longest` at most, and what it would be without rounding.

    s is as long as hard sides allow; as columns that do not rest at a bound do; and as all columns do.
    """
    lam, rr, error, blur, eps, hard, most, over = facts
    free = largest = most = most + blur
    for i in range(coefs.size):
        low, high = bounds(cost, i)
        strength = pull(cost, i, corrs[i]) + blur
        largest = max(largest, strength)
        if coefs[i] != (high if corrs[i] > 0.0 else low):
            free = max(free, strength)
        if is_hard(cost, lam, i, corrs[i]):
            hard = max(hard, strength)
    size = np.sqrt(rr) * (1.0 + rounding)
    best = best_plain = np.inf
    for which in range(3):
        top = hard if which == 0 else max(hard, free if which == 1 else largest)
        s = min(longest, lam / top * _ROUND_DOWN if top > lam * _ROUND_DOWN else 1.0)
        gap, plain, terms = 0.5 * ((1.0 - s) * size + s * eps + error) ** 2, 0.5 * (1.0 - s) ** 2 * rr, 0.0
        for i in range(coefs.size):
            if slope(cost, i) > 0.0:
                own, inner = value(cost, lam, i, coefs[i]), s * coefs[i] * corrs[i]
                up, down = s * (corrs[i] + blur), s * (corrs[i] - blur)
                dual = max(conjugate(cost, lam, i, up), conjugate(cost, lam, i, down))
                gap += own + dual - inner + s * abs(coefs[i]) * blur
                plain += own + min(dual, conjugate(cost, lam, i, s * corrs[i])) - inner
                terms += own + dual + abs(inner)
        if s * most > lam:
            gap, plain = gap + s * over, plain + s * over
        gap += gamma_of(coefs.size + 16.0) * (terms + abs(gap))
        if not gap >= best:
            best, best_plain = gap, plain
    return best, best_plain

"""Duality gaps, with all that rounding may hide: every claim is a proof for the data.

A gap follows from one record, of residuals on the data (`problem/certificate`, `problem/claims`) and of inner products
(below) alike. With c_j = z_j'r up to E_j, and y'r, q'r and r'r up to their errors:

*Penalty.* 1/2 (1 + s^2) r'r + lam ||b||_1 - s y'r for the best s in [0, lam / max_j (|c_j| + E_j)].
*Ball.* radius max_j (|c_j| + E_j) - q'r; it holds for any b.
*Other costs.* For any s in [0, lam / H],

    G(s) = 1/2 ((1 - s) ||r|| + s eps + e)^2 + sum_A [cost_j(b_j) + cost*_j(s z_j'r) - s b_j z_j'r] + s V,

each conjugate at its larger value of both ends of s (c_j - E_j) .. s (c_j + E_j). A are columns whose correlations are
known one by one; H is the largest |c_j| + E_j towards a side that is hard, one with neither a bound nor a ridge; V is
the sum of cost*_j(|c_j| + E_j) over all columns but A. eps is the distance of r from vectors that are orthogonal to
columns without a penalty, e that from the residual of b. For a radius, lam (radius - sum s_j |b_j|) is added, for any
lam.

To each, its rounding times the terms of its formula is added. Nothing here may underflow.

*Inner products.* With N of `Moments.n_ops`, n_j of its norms, k coefficients that are not zero and the magnitude of a
point

    B(b) = ||y|| + sum_i n_i |b_i|,

the proof of docs/method/rounding.md has, for points and mixes,

    |g_j - z_j'r| <= E_j = gamma(N + k + 6) n_j B,
    y'r, q'r and r'r up to gamma(N + 2 k + 12) B^2.

All columns are A, r is that of b, and the rounding of a formula is gamma(k + 8).
"""

import math
from typing import NamedTuple

import numpy as np

from .costs import Cost, Plain, bounds, conjugate, is_hard, pull, slope, value
from .jit import INLINE, by_type, inner_kernel, kernel
from .moments import UNIT_ROUNDOFF, Moments, Vector, gamma
from .penalties import L1, ROUND_DOWN, L1Ball, Penalty, gap_of_products
from .separable import Separable

#: A factor that is worth a few roundings.
ROUND_UP = 1.0 + 8.0 * UNIT_ROUNDOFF


class GapTerms(NamedTuple):
    """All that the gap of a point b follows from, but for coefficients and correlations of columns A."""

    qy: float  # q'y, q = Z b
    qr: float  # q'r
    yr: float  # y'r
    rr: float  # r'r
    l1: float  # ||b||_1, of columns with a penalty
    largest: float  # M, the largest |c_j| as far as it is known; where costs differ, without A and with E_j
    bound: float  # H, the largest |c_j| + E_j; where costs differ, without A
    over: float  # V
    corr_error: float  # E_j is that times norms_j
    rr_error: float
    yr_error: float
    qr_error: float
    error: float  # e
    eps: float
    rounding: float  # relative, of a formula


@inner_kernel
def magnitude_of(moments: Moments, b: Vector) -> tuple[float, float, float]:
    """Return the magnitude B of a point, rounded up, how many coefficients are not zero, and their l1 norm."""
    magnitude, k, l1 = moments.y_norm, 0.0, 0.0
    for j in range(b.size):
        magnitude += moments.norms[j] * abs(b[j])
        k += 1.0 if b[j] != 0.0 else 0.0
        l1 += slope(moments.cost, j) * abs(b[j])
    return magnitude * (1.0 + gamma(k + 4.0)), k, l1


@inner_kernel
def terms_of(moments: Moments, b: Vector, g: Vector, magnitude: float, k: float) -> GapTerms:
    """Return the terms of a point of a magnitude at most `magnitude`, with at most k nonzero coefficients, or of a mix.

    A number in b or g that is not finite makes qr NaN, although it may escape the maxima.
    """
    xty, norms = moments.xty, moments.norms
    qy = qr = l1 = 0.0
    for j in range(b.size):
        qy += b[j] * xty[j]
        qr += b[j] * g[j]
        l1 += slope(moments.cost, j) * abs(b[j])
    rounding, own = gamma(moments.n_ops + k + 8.0) * magnitude, gamma(k + 8.0)
    largest = bound = 0.0
    for j in range(b.size):
        corr = abs(g[j])
        largest = max(largest, corr)
        bound = max(bound, corr + rounding * norms[j])
    error = gamma(moments.n_ops + 2.0 * k + 12.0) * magnitude * magnitude
    yr = moments.yy - qy
    return GapTerms(qy, qr, yr, yr - qr, l1, largest, bound, 0.0, rounding, error, error, error, 0.0, 0.0, own)


@by_type
def gap_at(
    cost: Cost, penalty: Penalty, size: float, lam: float, moments: Moments, b: Vector, g: Vector, terms: GapTerms
) -> tuple[float, float]:
    """Return a bound of the gap of b, never below zero, and how much of it is rounding.

    The penalty has this lambda, or this radius; then lam is that of b, about.
    """


@gap_at.register(Plain, INLINE)
def _(cost, penalty, size, lam, moments, b, g, terms):
    return plain_gap(penalty, size, terms)


@gap_at.register(Separable)
def _(cost, penalty, size, lam, moments, b, g, terms):
    eps = _distance_of_dual(moments, g, terms.corr_error)
    qy, qr, yr, rr, l1, _, _, _, corr_error, rr_error, yr_error, qr_error, error, _, own = terms
    every = GapTerms(qy, qr, yr, rr, l1, 0.0, 0.0, 0.0, corr_error + eps, rr_error, yr_error, qr_error, error, eps, own)
    kappa, rest, blur = beyond(penalty, size, lam, l1)
    gap, plain = separable_gap(cost, kappa, b, g, moments.norms, every, 1.0)
    return claim_of(penalty, plain + rest, gap + rest + own * blur)


@by_type
def beyond(penalty: Penalty, size: float, lam: float, l1: float) -> tuple[float, float, float]:
    """Return the lambda that G is taken at, what is added to it for a radius, and that without signs."""


@beyond.register(L1, INLINE)
def _(penalty, size, lam, l1):
    return size, 0.0, 0.0


@beyond.register(L1Ball, INLINE)
def _(penalty, size, lam, l1):
    return lam, lam * (size - l1), lam * (size + l1)


@by_type
def plain_gap(penalty: Penalty, size: float, terms: GapTerms) -> tuple[float, float]:
    """Return the same where costs are plain."""


@plain_gap.otherwise
def _(penalty, size, terms):
    plain, _ = gap_of_products(penalty, size, terms.rr, terms.yr, terms.qr, terms.l1, terms.largest)
    rr, yr, qr = terms.rr + terms.rr_error, terms.yr - terms.yr_error, terms.qr - terms.qr_error
    claim, sizes = gap_of_products(penalty, size, rr, yr, qr, terms.l1, terms.bound)
    return claim_of(penalty, plain, claim + terms.rounding * sizes)


@kernel
def separable_gap(
    cost: Cost, lam: float, b: Vector, c: Vector, norms: Vector, terms: GapTerms, longest: float
) -> tuple[float, float]:
    """Return a bound of G for the best of three dual points s r, `longest` at most, and G without rounding there.

    The three are as long as hard sides allow; as columns that do not rest at a bound do; and as all columns do. Where
    E is negative, correlations are as much smaller: what is left of a gap in truth.
    """
    error, size = terms.corr_error, np.sqrt(max(terms.rr + terms.rr_error, 0.0))
    hard, free = terms.bound, terms.largest
    most = free
    for j in range(b.size):
        low, high = bounds(cost, j)
        for side in range(2):
            sign, end = (1.0, high) if side == 0 else (-1.0, low)
            corr = sign * c[j] + error * norms[j]
            if corr > lam:
                strength = pull(cost, j, sign * corr)
                most = max(most, strength)
                if b[j] != end:
                    free = max(free, strength)
                if is_hard(cost, lam, j, sign * corr):
                    hard = max(hard, strength)
    best = best_plain = np.inf
    last = -1.0
    for which in range(3):
        top = hard if which == 0 else max(hard, free if which == 1 else most)
        s = min(longest, lam / top * ROUND_DOWN if top > lam * ROUND_DOWN else 1.0)
        if s != last:
            gap, plain = _gap_at_scale(s, lam, cost, b, c, norms, error)
            outside, over = (1.0 - s) * size + s * terms.eps + terms.error, 0.0
            if s * terms.largest > lam:
                over = s * terms.over
            gap += 0.5 * outside * outside * (1.0 + gamma(8.0)) + over
            if not gap >= best:
                best, best_plain = gap, plain + 0.5 * (1.0 - s) ** 2 * max(terms.rr, 0.0) + over
            last = s
    return best, best_plain


@inner_kernel
def _gap_at_scale(
    s: float, lam: float, cost: Cost, b: Vector, c: Vector, norms: Vector, error: float
) -> tuple[float, float]:
    """Return the sum of the brackets, with all rounding, and without."""
    total, plain, terms, n = 0.0, 0.0, 0.0, 0.0
    for j in range(b.size):
        off = error * norms[j]
        if slope(cost, j) == 0.0 or (b[j] == 0.0 and s * (abs(c[j]) + abs(off)) <= lam):
            continue
        own, inner = value(cost, lam, j, b[j]), s * b[j] * c[j]
        up, down = conjugate(cost, lam, j, s * (c[j] + off)), conjugate(cost, lam, j, s * (c[j] - off))
        middle = conjugate(cost, lam, j, s * c[j])
        dual = max(up, down) if error >= 0.0 else min(up, down, middle)
        total += (own + dual - inner) + s * abs(b[j]) * off
        plain += own + min(dual, middle) - inner
        terms += own + dual + abs(inner)
        n += 1.0
    return total + (gamma(n + 16.0) * (terms + abs(total)) if error >= 0.0 else 0.0), plain


@inner_kernel
def _distance_of_dual(moments: Moments, g: Vector, corr_error: float) -> float:
    """Return eps: how far r is from being orthogonal to the columns without a penalty."""
    cost, total = moments.cost, 0.0
    if cost.kappa == 0.0:
        return 0.0
    for j in range(g.size):
        if slope(cost, j) == 0.0 and moments.gram[j, j] > 0.0:
            total += (abs(g[j]) + corr_error * moments.norms[j]) ** 2 / moments.gram[j, j]
    return float(cost.kappa * np.sqrt(total) * (1.0 + 1e-12))


@by_type
def claim_of(penalty: Penalty, plain: float, claim: float) -> tuple[float, float]:
    """Return a bound of the gap that is never below zero, and how much of it is rounding, given G without any."""


@claim_of.otherwise
def _(penalty, plain, claim):
    if not math.isfinite(plain + claim):
        return math.inf, math.inf
    claim = max(0.0, claim)
    return claim, min(claim, max(0.0, claim - plain))

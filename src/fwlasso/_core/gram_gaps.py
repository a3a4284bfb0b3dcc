"""Duality gaps from inner products, with all that rounding may hide: every claim is a proof for the data.

With N of `Moments.n_ops`, n_j of its norms, k coefficients that are not zero and the magnitude of a point

    B(b) = ||y|| + sum_i n_i |b_i|,

the proof of docs/method/rounding.md has, for points and mixes,

    |g_j - z_j'r| <= E_j = gamma(N + k + 6) n_j B,
    y'r, q'r and r'r up to e = gamma(N + 2 k + 12) B^2.

*Penalty.* (1 + s^2) r'r / 2 + lam ||b||_1 - s y'r for the best s in [0, lam / max_j (|g_j| + E_j)], r'r and y'r off by
e. *Ball.* radius max_j (|g_j| + E_j) - q'r + e; it holds for any b. *Other costs.* For any s in [0, lam / H],

    G(s) = 1/2 ((1 - s) ||r|| + s eps)^2 + sum_j [cost_j(b_j) + cost*_j(s z_j'r) - s b_j z_j'r],

each conjugate at its larger value of both ends of s (g_j - E_j) .. s (g_j + E_j). H is the largest correlation, E_j
included, with a side that is hard: it has neither a bound nor a ridge. eps is the distance of r from vectors that are
orthogonal to columns without a penalty. For a radius, lam (radius - sum s_j |b_j|) is added, for any lam.

To each, gamma(k + 8) times the terms of its formula is added. Nothing here may underflow.
"""

from typing import NamedTuple

import numpy as np

from .costs import Cost, Plain, bounds, conjugate, is_hard, pull, slope, value
from .jit import by_type, inner_kernel, part_of_kernel
from .moments import UNIT_ROUNDOFF, Moments, Vector, gamma
from .separable import Separable

#: Factors that are worth a few roundings.
ROUND_UP, ROUND_DOWN = 1.0 + 8.0 * UNIT_ROUNDOFF, 1.0 - 8.0 * UNIT_ROUNDOFF


class Sums(NamedTuple):
    """All that a gap needs of a point b and its correlations g."""

    qy: float  # q'y, q = Z b
    qr: float  # q'r
    yr: float  # y'r
    rr: float  # r'r
    l1: float  # ||b||_1, of columns with a penalty
    largest: float  # max_j |g_j|
    bound: float  # max_j (|g_j| + E_j) >= max_j |z_j'r|
    corr_error: float  # E_j is that times norms_j
    rr_error: float  # at most e, as are the next two
    yr_error: float
    qr_error: float
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
def sums_of(moments: Moments, b: Vector, g: Vector, magnitude: float, k: float) -> Sums:
    """Return the sums of a point of a magnitude at most `magnitude`, with at most k nonzero coefficients, or of a mix.

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
    return Sums(qy, qr, yr, yr - qr, l1, largest, bound, rounding, error, error, error, own)


@by_type
def point_gap(cost: Cost, lam: float, moments: Moments, b: Vector, g: Vector, sums: Sums) -> tuple[float, float]:
    """Return a bound of the gap of b for lambda, never below zero, and how much of it is rounding."""


@by_type
def radius_gap(
    cost: Cost, radius: float, lam: float, moments: Moments, b: Vector, g: Vector, sums: Sums
) -> tuple[float, float]:
    """Return a bound of the gap of b for a radius, and how much of it is rounding; lam is that of b, about."""


@point_gap.register(Plain)
def _(cost, lam, moments, b, g, sums):
    return penalty_gap(lam, sums)


@radius_gap.register(Plain)
def _(cost, radius, lam, moments, b, g, sums):
    return ball_gap(radius, sums)


@point_gap.register(Separable)
def _(cost, lam, moments, b, g, sums):
    gap, plain = separable_gap(lam, moments, b, g, sums)
    return _claim(plain, gap)


@radius_gap.register(Separable)
def _(cost, radius, lam, moments, b, g, sums):
    gap, plain = separable_gap(lam, moments, b, g, sums)
    rest = lam * (radius - sums.l1)
    return _claim(plain + rest, gap + rest + sums.rounding * lam * (radius + sums.l1))


@inner_kernel
def separable_gap(lam: float, moments: Moments, b: Vector, g: Vector, sums: Sums) -> tuple[float, float]:
    """Return a bound of the gap for the best of three dual points s r, and what it would be without rounding.

    The three are as long as hard sides allow; as columns that do not rest at a bound do; and as all columns do.
    """
    cost, norms, eps = moments.cost, moments.norms, _distance_of_dual(moments, g, sums.corr_error)
    error, size = sums.corr_error + eps, np.sqrt(max(sums.rr + sums.rr_error, 0.0))
    hard = free = most = 0.0
    for j in range(b.size):
        low, high = bounds(cost, j)
        for side in range(2):
            sign, end = (1.0, high) if side == 0 else (-1.0, low)
            corr = sign * g[j] + error * norms[j]
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
        s = lam / top * ROUND_DOWN if top > lam * ROUND_DOWN else 1.0
        if s != last:
            gap, plain = _gap_at_scale(s, lam, moments, b, g, error)
            outside = (1.0 - s) * size + s * eps
            gap += 0.5 * outside * outside * (1.0 + gamma(8.0))
            if not gap >= best:
                best, best_plain = gap, plain + 0.5 * (1.0 - s) ** 2 * max(sums.rr, 0.0)
            last = s
    return best, best_plain


@inner_kernel
def _gap_at_scale(s: float, lam: float, moments: Moments, b: Vector, g: Vector, error: float) -> tuple[float, float]:
    """Return the sum of the brackets, with all rounding, and without."""
    cost, total, plain, terms, n = moments.cost, 0.0, 0.0, 0.0, 0.0
    for j in range(b.size):
        off = error * moments.norms[j]
        if slope(cost, j) == 0.0 or (b[j] == 0.0 and s * (abs(g[j]) + off) <= lam):
            continue
        own, inner = value(cost, lam, j, b[j]), s * b[j] * g[j]
        dual = max(conjugate(cost, lam, j, s * (g[j] + off)), conjugate(cost, lam, j, s * (g[j] - off)))
        total += (own + dual - inner) + s * abs(b[j]) * off
        plain += own + min(dual, conjugate(cost, lam, j, s * g[j])) - inner
        terms += own + dual + abs(inner)
        n += 1.0
    return total + gamma(n + 16.0) * (terms + abs(total)), plain


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


@inner_kernel
def penalty_gap(lam: float, sums: Sums) -> tuple[float, float]:
    """Return a bound of the duality gap of the penalized form, never below zero, and how much of it is rounding."""
    plain, _ = _penalty_gap(sums.rr, sums.yr, lam * sums.l1, lam, sums.largest)
    claim, terms = _penalty_gap(sums.rr + sums.rr_error, sums.yr - sums.yr_error, lam * sums.l1, lam, sums.bound)
    return _claim(plain, claim + sums.rounding * terms)


@inner_kernel
def ball_gap(radius: float, sums: Sums) -> tuple[float, float]:
    """Return a bound of the duality gap of the constrained form, never below zero, and how much of it is rounding."""
    most = radius * sums.bound * ROUND_UP
    claim = most - sums.qr + sums.qr_error + sums.rounding * (most + abs(sums.qr))
    return _claim(radius * sums.largest - sums.qr, claim)


@part_of_kernel
def _penalty_gap(rr: float, yr: float, penalty: float, lam: float, largest: float) -> tuple[float, float]:
    """Return the gap for the best feasible s, and the sum of its terms without their signs."""
    s = yr / rr if rr > 0.0 else 0.0
    if not s * largest <= lam * ROUND_DOWN:
        s = lam / largest * ROUND_DOWN
    s = 0.0 if s < 0.0 else s
    primal, dual = 0.5 * rr * (1.0 + s * s) + penalty, s * yr
    return primal - dual, primal + abs(dual)


@part_of_kernel
def _claim(plain: float, claim: float) -> tuple[float, float]:
    if not np.isfinite(plain + claim):
        return np.inf, np.inf
    claim = max(0.0, claim)
    return claim, min(claim, max(0.0, claim - plain))

"""The penalties: a NamedTuple of its parameter each, and functions of numbers.

With q = X a, l1 = ||a||_1 and r = y - q, for least squares:

- `L1`: min 1/2 ||y - X a||^2 + lam l1;
- `L1Ball`: min 1/2 ||y - X a||^2 subject to l1 <= radius.

A step of Frank-Wolfe is always a <- shrink a + push e_j. A ridge is rows below Z, see iterate.py: z and q have them,
and no formula knows of it. Where coefficients are nonnegative, `max_corr` is the largest z_j'r, or zero.

Another penalty is another NamedTuple that is registered with these functions, or with those of them that its solvers
call.
"""

from typing import Any, NamedTuple, TypeAlias

from .jit import INLINE, by_type


class L1(NamedTuple):
    """lam ||a||_1 is added to the objective."""

    lam: float


class L1Ball(NamedTuple):
    """||a||_1 <= radius."""

    radius: float


#: L1, L1Ball, or whatever is registered with the functions below.
Penalty: TypeAlias = Any


class Sums(NamedTuple):
    """What least squares is a function of: inner products of y and q = X a, and the l1 norm."""

    yy: float  # y'y
    qq: float  # q'q, with the rows of a ridge
    qy: float  # q'y
    l1: float  # ||a||_1


#: Descent below this fraction of the numbers it is the difference of is rounding error, not descent.
ROUNDING = 1e-14


#: A factor that is worth a few roundings.
ROUND_DOWN = 1.0 - 2.0**-50


@by_type
def gap_of_products(
    penalty: Penalty, size: float, rr: float, yr: float, qr: float, l1: float, max_corr: float
) -> tuple[float, float]:
    """Return the duality gap of least squares for the best multiple of r, and the sum of its terms without their signs.

    The penalty has this lambda or radius, and max_corr is at least ||X'r||_inf.
    """


@by_type
def quadratic_gap(penalty: Penalty, sums: Sums, max_corr: float) -> float:
    """Return that gap, not below zero by more than rounding."""


@quadratic_gap.otherwise
def _(penalty, sums, max_corr):
    yr, qr = sums.yy - sums.qy, sums.qy - sums.qq
    return gap_of_products(penalty, penalty[0], max(yr - qr, 0.0), yr, qr, sums.l1, max_corr)[0]


@by_type
def quadratic_step(penalty: Penalty, sums: Sums, corr: float, xty: float, norm2: float) -> tuple[float, float]:
    """Return the best (shrink, push) for least squares towards the column z with z'r = corr; (1, 0): no descent."""


@by_type
def warm_scale(penalty: Penalty, sums: Sums) -> float:
    """Return the s that makes s a the warm start: as far out as the objective falls, and inside the ball.

    It never shrinks a feasible point: a solution that is warm-started at itself stays where it is.
    """


# L1. For Frank-Wolfe, the ball is replaced by the cone ||a||_1 <= t with lam t in the objective. A step goes to
# rho a + tau sign(corr) e_j with the best rho, tau >= 0: it contains the Frank-Wolfe step for every radius. ---------


@gap_of_products.register(L1, INLINE)
def _(penalty, size, rr, yr, qr, l1, max_corr):
    # theta = s r is dual feasible for |s| <= lam / max_corr; the best such s is the clipped y'r / r'r.
    s = yr / rr if rr > 0.0 else 0.0
    if not s * max_corr <= size * ROUND_DOWN:
        s = size / max_corr * ROUND_DOWN
    s = 0.0 if s < 0.0 else s
    primal, dual = 0.5 * rr * (1.0 + s * s) + size * l1, s * yr
    return primal - dual, primal + abs(dual)


@quadratic_step.register(L1)
def _(penalty, sums, corr, xty, norm2):
    lam, qq, qy, l1 = penalty.lam, sums.qq, sums.qy, sums.l1
    sign = 1.0 if corr > 0 else -1.0
    slope_scale = qq - qy + lam * l1  # d objective / d rho at (1, 0)
    slope_push = lam - abs(corr)  # d objective / d tau at (1, 0)
    cross = sign * (xty - corr)  # sign z'q
    determinant = qq * norm2 - cross * cross
    if determinant > 1e-12 * qq * norm2:
        change = (cross * slope_push - norm2 * slope_scale) / determinant
        push = (cross * slope_scale - qq * slope_push) / determinant
        if change >= -1.0 and push >= 0.0:
            return 1.0 + change, push * sign
    # On the edge of the quadrant: tau = 0 or rho = 0, whichever lowers the objective more.
    along = max(0.0, qy - lam * l1)
    across = max(0.0, sign * xty - lam)
    gain_scale = along * along / qq if qq > 0.0 else 0.0
    gain_push = across * across / norm2 if norm2 > 0.0 else 0.0
    if gain_push > gain_scale:
        return 0.0, sign * across / norm2
    scale = along / qq if qq > 0.0 else 1.0
    return (1.0 if abs(scale - 1.0) <= ROUNDING else scale), 0.0


@warm_scale.register(L1)
def _(penalty, sums):
    return max(1.0, (sums.qy - penalty.lam * sums.l1) / sums.qq) if sums.qq > 0.0 else 1.0


# L1Ball: the vertex is d e_j with d = radius sign(corr). -------------------------------------------------------------


@gap_of_products.register(L1Ball, INLINE)
def _(penalty, size, rr, yr, qr, l1, max_corr):
    most = size * max_corr  # the Frank-Wolfe gap: radius max|corr| - a'X'r
    return most - qr, most + abs(qr)


@quadratic_step.register(L1Ball)
def _(penalty, sums, corr, xty, norm2):
    # gap / d and ||q - d z||^2 / d^2 instead of gap and curvature: a radius beyond 1e154 has no square.
    radius, qq, qy = penalty.radius, sums.qq, sums.qy
    inverse = 1.0 / radius if radius > 0.0 else 0.0
    sign = 1.0 if corr > 0 else -1.0
    gap = abs(corr) + inverse * (qq - qy)
    curvature = inverse * (inverse * qq - 2.0 * sign * (xty - corr)) + norm2
    if not (gap > ROUNDING * (abs(corr) + inverse * (qq + abs(qy))) and curvature > 0.0 and radius > 0.0):
        return 1.0, 0.0
    push = min(radius, gap / curvature)
    # A step of length one leaves nothing of a: radius (1 / radius) may be less than one.
    return (1.0 - push * inverse if push < radius else 0.0), push * sign


@warm_scale.register(L1Ball)
def _(penalty, sums):
    if sums.l1 > penalty.radius:
        return penalty.radius / sums.l1
    return max(1.0, min(sums.qy / sums.qq, penalty.radius / sums.l1)) if sums.qq > 0.0 else 1.0

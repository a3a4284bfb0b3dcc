"""The two forms of the Lasso, each a NamedTuple and three functions of a few scalars.

With q = X a, S = q'q, F = q'y, t = ||a||_1 and c_j = z_j'(y - q):

- `Ball`: min 1/2 ||y - X a||^2 subject to t <= radius;
- `Penalty`: min 1/2 ||y - X a||^2 + weight t.

A step is always a <- shrink a + push e_j. Another penalty (elastic net) is another NamedTuple here.
"""

from typing import NamedTuple, TypeAlias

from .jit import by_type, kernel


class Ball(NamedTuple):
    """The constrained form: ||a||_1 <= radius."""

    radius: float


class Penalty(NamedTuple):
    """The penalized form: weight ||a||_1 is added to the objective; weight is lambda."""

    weight: float


Form: TypeAlias = Ball | Penalty

#: Descent below this share of the numbers it is the difference of is rounding error, not descent.
ROUNDING = 1e-14


@kernel
def soft_threshold(x: float, threshold: float) -> float:
    """Return the minimiser of 1/2 (a - x)^2 + threshold |a|: x moved towards zero by `threshold`."""
    if x > threshold:
        return x - threshold
    return x + threshold if x < -threshold else 0.0


@by_type
def line_search(
    form: Form, qq: float, qy: float, l1: float, corr: float, xty: float, norm2: float
) -> tuple[float, float]:
    """Return the best (shrink, push) towards the column with correlation `corr` = z'(y - q); (1, 0): no descent."""


@by_type
def duality_gap(form: Form, yy: float, qq: float, qy: float, l1: float, max_corr: float) -> float:
    """Return the duality gap of a, for any max_corr >= ||X'(y - q)||_inf."""


@by_type
def best_scale(form: Form, qq: float, qy: float, l1: float) -> float:
    """Return the s that makes s a the warm start: as far out as the objective falls, and inside the ball.

    It never shrinks a feasible point: a solution that is warm-started at itself stays where it is.
    """


# Ball: the vertex is d e_j with d = radius sign(c); the Frank-Wolfe gap is radius max|c| - a'c = radius max|c| + S - F.


@line_search.register(Ball)
def _(form, qq, qy, l1, corr, xty, norm2):
    # gap / d and ||q - d z||^2 / d^2 instead of gap and curvature: a radius beyond 1e154 has no square.
    radius = form.radius
    share = 1.0 / radius if radius > 0.0 else 0.0
    sign = 1.0 if corr > 0 else -1.0
    gap = abs(corr) + share * (qq - qy)
    curvature = share * (share * qq - 2.0 * sign * (xty - corr)) + norm2
    if not (gap > ROUNDING * (abs(corr) + share * (qq + abs(qy))) and curvature > 0.0 and radius > 0.0):
        return 1.0, 0.0
    push = min(radius, gap / curvature)
    return 1.0 - push * share, push * sign


@duality_gap.register(Ball)
def _(form, yy, qq, qy, l1, max_corr):
    return form.radius * max_corr + qq - qy


@best_scale.register(Ball)
def _(form, qq, qy, l1):
    if l1 > form.radius:
        return form.radius / l1
    return max(1.0, min(qy / qq, form.radius / l1)) if qq > 0.0 else 1.0


# Penalty: the ball is replaced by the cone ||a||_1 <= t with weight t in the objective. A step goes to
# rho a + tau sign(c) e_j with the best rho, tau >= 0: it contains the Frank-Wolfe step for every radius.


@line_search.register(Penalty)
def _(form, qq, qy, l1, corr, xty, norm2):
    sign = 1.0 if corr > 0 else -1.0
    slope_scale = qq - qy + form.weight * l1  # d objective / d rho at (1, 0)
    slope_push = form.weight - abs(corr)  # d objective / d tau at (1, 0)
    cross = sign * (xty - corr)  # sign z'q
    determinant = qq * norm2 - cross * cross
    if determinant > 1e-12 * qq * norm2:
        change = (cross * slope_push - norm2 * slope_scale) / determinant
        push = (cross * slope_scale - qq * slope_push) / determinant
        if change >= -1.0 and push >= 0.0:
            return 1.0 + change, push * sign
    # On the edge of the quadrant: tau = 0 or rho = 0, whichever lowers the objective more.
    along = max(0.0, qy - form.weight * l1)
    across = max(0.0, sign * xty - form.weight)
    gain_scale = along * along / qq if qq > 0.0 else 0.0
    gain_push = across * across / norm2 if norm2 > 0.0 else 0.0
    if gain_push > gain_scale:
        return 0.0, sign * across / norm2
    scale = along / qq if qq > 0.0 else 1.0
    return (1.0 if abs(scale - 1.0) <= ROUNDING else scale), 0.0


@duality_gap.register(Penalty)
def _(form, yy, qq, qy, l1, max_corr):
    # theta = s r is dual feasible for |s| <= weight / max_corr; the best such s is the clipped y'r / r'r.
    rr = max(yy - 2.0 * qy + qq, 0.0)
    yr = yy - qy
    s = yr / rr if rr > 0.0 else 0.0
    if max_corr > 0.0:
        limit = form.weight / max_corr
        s = max(-limit, min(limit, s))
    return 0.5 * rr + form.weight * l1 - s * yr + 0.5 * s * s * rr


@best_scale.register(Penalty)
def _(form, qq, qy, l1):
    return max(1.0, (qy - form.weight * l1) / qq) if qq > 0.0 else 1.0

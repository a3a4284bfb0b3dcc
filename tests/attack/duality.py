"""The problem that is judged, and its duality gap: one text for long double and for fractions.

    minimise F(Z b) + sum_j cost_j(b_j),    cost_j(t) = lam s_j |t| + 1/2 mu_j t^2    on    l_j <= t <= u_j

over columns z_j = (f_j / v_j)(x_j - mean_j). For a dual vector theta with c = Z'theta, and c_j = 0 where s_j = 0, every
s with a finite conjugate proves the gap

    primal - dual = [F(Z b) + F*(-s theta) + s theta'Z b] + sum_j [cost_j(b_j) + cost*_j(s c_j) - s b_j c_j],

where cost*_j(c) is the largest c t - cost_j(t). No bracket is negative, and none is a difference of sums.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Number = Any  # a long double or a fraction
Numbers = np.ndarray  # of such numbers


class General(NamedTuple):
    """What is asked beyond a plain Lasso, by the names that users give it."""

    sample_weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    penalty_factor: np.ndarray | None = None  # v_j: infinite excludes a column, 0 leaves it without a penalty
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    positive: bool = False
    l1_ratio: float = 1.0
    ridge: float = 0.0

    def keywords(self) -> dict[str, Any]:
        """Return what `lasso_path` is given, without what is as in a plain Lasso."""
        asked = zip(self._fields, self, PLAIN, strict=True)
        return {name: own for name, own, plain in asked if isinstance(own, np.ndarray) or own != plain}

    def on(self, rows: Any) -> "General":
        """Return what is asked of some samples."""
        weights, offset = (None if own is None else own[rows] for own in self[:2])
        return self._replace(sample_weight=weights, offset=offset)

    def factors(self, p: int) -> np.ndarray:
        """Return v."""
        return np.ones(p) if self.penalty_factor is None else np.asarray(self.penalty_factor, float)

    def bounds(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        """Return l and u as users have them; an excluded column may have no coefficient."""
        lower = np.full(p, -np.inf) if self.lower is None else np.array(np.broadcast_to(self.lower, p), float)
        upper = np.full(p, np.inf) if self.upper is None else np.array(np.broadcast_to(self.upper, p), float)
        lower = np.maximum(lower, 0.0) if self.positive else lower
        excluded = np.isinf(self.factors(p))
        return np.where(excluded, 0.0, lower), np.where(excluded, 0.0, upper)


PLAIN = General()


class Cost(NamedTuple):
    """What columns cost, by column; lambda is told with every call."""

    slopes: np.ndarray  # s_j: False for columns without a penalty
    bent: Numbers  # r_j = 1 / v_j of mu_j = (fixed + share lambda) r_j
    lower: Numbers  # in units of z_j, as `upper`; infinite where there is no bound
    upper: Numbers
    fixed: Number
    share: Number

    def curvatures(self, lam: Number) -> Numbers:
        return (self.fixed + self.share * lam) * self.bent

    def values(self, b: Numbers, lam: Number) -> Numbers:
        return np.where(self.slopes, lam, 0) * abs(b) + self.curvatures(lam) * b * b / 2

    def l1(self, b: Numbers) -> Number:
        """Return the norm that a radius bounds: sum v_j |b_j| in the units of standardized columns."""
        return abs(b[self.slopes]).sum()

    def room(self, c: Numbers) -> Numbers:
        """Return how far from zero a coefficient may go to the side that it is pulled to."""
        return np.where(c > 0, self.upper, -self.lower)

    def is_soft(self, c: Numbers, lam: Number) -> np.ndarray:
        """Tell where a pull beyond lambda has a finite conjugate: there is a bound, or a ridge."""
        return self.slopes & ((self.curvatures(lam) > 0) | (self.room(c) < math.inf))

    def hardest(self, c: Numbers, lam: Number) -> Number:
        """Return H, the largest pull towards a side without a bound and a ridge."""
        return abs(c[~self.is_soft(c, lam)]).max(initial=0)

    def conjugates(self, c: Numbers, lam: Number) -> Numbers:
        """Return cost*_j(c_j); 0 where the side is hard, or s_j = 0, for `hardest` and theta see to these."""
        values, room = 0 * c, self.room(c)
        pulled = np.flatnonzero(self.is_soft(c, lam) & (room > 0))
        pulled = pulled[abs(c[pulled]) > lam]
        beyond, at, mu = abs(c[pulled]) - lam, room[pulled], self.curvatures(lam)[pulled]
        bent = mu > 0
        at[bent] = np.minimum(at[bent], beyond[bent] / mu[bent])
        values[pulled] = beyond * at - mu * at * at / 2
        return values

    def bends(self, c: Numbers, lam: Number) -> list[Number]:
        """Return every s at which a conjugate of s c begins to rise, or comes to a bound."""
        room = self.room(c)
        pulled = self.is_soft(c, lam) & (room > 0) & (c != 0)
        bounded = pulled & (room < math.inf)
        ends = (lam + self.curvatures(lam)[bounded] * room[bounded]) / abs(c[bounded])
        return [*(lam / abs(c[pulled])), *ends]

    def pick(self, some: np.ndarray) -> "Cost":
        return self._replace(**{name: getattr(self, name)[some] for name in self._fields[:4]})


def cost_of(asked: General, factors: Numbers, total: Number, wide: Callable[[np.ndarray], Numbers]) -> Cost:
    """Return the cost of columns; b_j = factors_j a_j, `total` is the sum of the weights, `wide` makes numbers."""
    v = asked.factors(factors.size)
    penalized = (v > 0.0) & (v < np.inf)
    bent = wide(np.where(penalized, v, 1.0))
    lower, upper = map(wide, asked.bounds(factors.size))
    for ends in (lower, upper):
        finite = abs(ends) < math.inf
        ends[finite] = ends[finite] / factors[finite]
    ratio, ridge = wide(np.array([asked.l1_ratio, asked.ridge]))
    return Cost(v > 0.0, np.where(penalized, 1 / bent, 0 * bent), lower, upper, total * ridge, (1 - ratio) / ratio)


class Ray(NamedTuple):
    """Coefficients, and multiples of a dual vector."""

    b: Numbers
    c: Numbers  # Z'theta; 0 where s_j = 0
    fenchel: Callable[[Number], Number]  # of s: F(Z b) + F*(-s theta) + s theta'Z b
    longest: Number  # the s with the least F*(-s theta)
    is_quadratic: bool = True  # F is


# Of places of a search, the last one is _FIBONACCI[-1].
_FIBONACCI = [1, 2]
while len(_FIBONACCI) < 88:
    _FIBONACCI.append(sum(_FIBONACCI[-2:]))


def golden_section(value: Callable[[Number], Number], first: Number, last: Number) -> Number:
    """Return where a convex function is least."""

    def at(place: int) -> tuple[Number, Number]:
        s = first + (last - first) * place / _FIBONACCI[-1]
        return value(s), s

    left, (low, high) = 0, map(at, _FIBONACCI[-3:-1])
    for short, long in reversed(list(pairwise(_FIBONACCI[:-2]))):
        if low[0] <= high[0]:
            low, high = at(left + short), low
        else:
            left += long
            low, high = high, at(left + long)
    return min(low, high)[1]


def vertex(value: Callable[[Number], Number], first: Number, last: Number) -> Number:
    """Return where a convex parabola is least."""
    at_first, at_middle, at_last = map(value, (first, (first + last) / 2, last))
    bend = at_first - 2 * at_middle + at_last
    if not bend > 0:
        return first if at_first < at_last else last
    return max(first, min(last, (first + last) / 2 + (last - first) * (at_first - at_last) / (4 * bend)))


def lowest(
    value: Callable[[Number], Number],
    bends: Sequence[Number],
    inside: Callable[[Callable[[Number], Number], Number, Number], Number],
) -> Number:
    """Return where a convex function is least between its first and last bend; `inside` looks beside the best one."""
    k = bisect_left(range(len(bends) - 1), True, key=lambda k: not value(bends[k + 1]) < value(bends[k]))
    beside = [inside(value, *pair) for pair in pairwise(bends[max(k - 1, 0) : k + 2])]
    return min([bends[k], *beside], key=value)


def longest_dual(cost: Cost, ray: Ray, lam: Number, off: Numbers | None = None) -> tuple[Number, list[Numbers]]:
    """Return the largest |s| that is of use, and the pulls, up to `off` from theirs, of the better sign."""
    c = ray.c if ray.longest >= 0 else -ray.c
    sides = [c] if off is None else [c + off, c - off]
    H = max(cost.hardest(side, lam) for side in sides)
    return min(abs(ray.longest), lam / H) if H > 0 else abs(ray.longest), sides


def least(gap: Callable[[Number], Number], bends: set[Number], ray: Ray) -> Number:
    if not ray.is_quadratic:  # bends that only rounding tells apart would look like a bottom
        ends = {min(bends), max(bends)}
        bends = ends | {b for a, b in pairwise(sorted(bends)) if b - a > 1e-9 * b}
    return gap(lowest(gap, sorted(bends), vertex if ray.is_quadratic else golden_section))


def penalized_gap(cost: Cost, ray: Ray, lam: Number, off: Numbers | None = None) -> Number:
    """Return the gap of the best s; if every c_j may be off by `off_j`, of the worst of these."""
    high, sides = longest_dual(cost, ray, lam, off)
    sign = 1 if ray.longest >= 0 else -1
    some = reduce(np.logical_or, (cost.conjugates(high * side, lam) > 0 for side in sides))
    known, fitted = cost.values(ray.b, lam).sum(), sign * (ray.b @ ray.c)
    cost, sides = cost.pick(some), [side[some] for side in sides]

    def gap(s: Number) -> Number:
        risen = reduce(np.maximum, (cost.conjugates(s * side, lam) for side in sides)).sum()
        return ray.fenchel(sign * s) + known + risen - s * fitted

    if not some.any():  # the longest s is the best
        return gap(high)
    inside = {s for side in sides for s in cost.bends(side, lam) if s < high}
    return least(gap, {0 * high, high, *inside}, ray)


def ball_gap(cost: Cost, ray: Ray, radius: Number) -> Number:
    """Return the gap over sum s_j |b_j| <= radius: that at lambda = kappa, plus kappa (radius - sum s_j |b_j|).

    Any kappa will do. Without a ridge the best is s H; with one, that which sum_j s_j |argmax of cost*_j| = radius has.
    Of all s the best is taken.
    """
    assert all(end in (0, math.inf) for end in (*-cost.lower, *cost.upper)), "a ball with bounds is no problem here"
    mu, fitted = cost.curvatures(0 * radius), ray.b @ ray.c
    if not (mu > 0).any():
        rise = radius * cost.hardest(ray.c, 0 * radius) - fitted
        return least(lambda s: ray.fenchel(s) + s * rise, {0 * radius, max(ray.longest, 0 * radius)}, ray)
    pulled = cost.slopes & (cost.room(ray.c) > 0) & (mu > 0)
    pulls, shares = abs(ray.c[pulled]), 1 / mu[pulled]
    order = np.argsort(-pulls)
    pulls, sums, shares = pulls[order], np.cumsum((pulls * shares)[order]), np.cumsum(shares[order])
    known, zero = (mu * ray.b * ray.b).sum() / 2, 0 * radius

    def gap(s: Number) -> Number:
        kappa = ((s * sums - radius) / shares).max(initial=0)
        return ray.fenchel(s) + known + kappa * radius + cost.conjugates(s * ray.c, kappa).sum() - s * fitted

    # Where kappa passes the next pull, and where it is zero.
    falls = sums - shares * np.append(pulls[1:], 0 * pulls[:1])
    bends = {s for s in radius / falls[falls > 0] if s < ray.longest}
    # Bends of a ridge next to nothing are closer to each other than long double tells: look at the residual itself.
    return min(least(gap, {*bends, zero, max(ray.longest, zero)}, ray), gap(1 + zero))


def dual_loss(cost: Cost, ray: Ray, lam: Number, off: Numbers, sizes: tuple[Number, Number, Number]) -> Number:
    """Bound what the dual objective loses if theta is off by a norm of d, and every c_j by `off_j`.

    `sizes` are d and the norms of the response and of theta.
    """
    d, y_size, size = sizes
    s = longest_dual(cost, ray, lam)[0]
    lost = penalized_gap(cost, ray, lam, off) - penalized_gap(cost, ray, lam)
    return lost + s * y_size * d + s * s * (size * d + d * d / 2)

"""Coordinate descent on a working set: what moves, how good it is, and epochs."""

from typing import NamedTuple

import numpy as np

from ..columns import Vector
from ..costs import (
    Cost,
    Plain,
    bounds,
    changes,
    conjugate,
    curvature,
    is_free,
    is_hard,
    lean,
    minimise_1d,
    pull,
    slope,
    strain,
    value,
)
from ..jit import by_type, kernel
from ..penalties import L1, Sums, quadratic_gap
from ..separable import Separable
from ..sweeps import Indices
from .copies import Copies, add, dot, rank_bound

#: Epochs before columns that became zero are left out; signs are known if one changes at most this fraction of them.
EPOCHS, _SETTLED = 5, 0.01
# So many columns may become active whatever the rank; of too many those stay on the list that violate by more than this
# fraction of the largest violation, again and again.
_FEW, _WORST = 4, 0.5
# What rounding may add to a gap, as a fraction of what is asked for.
_NEGLIGIBLE = 1e-3


class SubIterate(NamedTuple):
    """The coefficients by place, and the residual: what moves."""

    coefs: Vector
    corrs: Vector  # z_j'r
    residual: Vector  # r = y - X a, a sample vector


@kernel
def refresh(copies: Copies, iterate: SubIterate, members: Indices) -> None:
    """Compute the residual again."""
    residual = iterate.residual
    for i in range(residual.size):
        residual[i] = 0.0
    for k in members:
        if iterate.coefs[k] != 0.0:
            add(copies, k, -iterate.coefs[k], residual)
    add_response(copies, residual)


@kernel
def add_response(copies: Copies, residual: Vector) -> None:
    """Turn -X a into the residual; of centred data without a constant part.

    What rounding leaves of it, the sum, is kept in the last place: means of columns may be large.
    """
    m = residual.size - 1
    for i in range(m):
        residual[i] += copies.y[i]
    residual[m] = 0.0
    if copies.centred:
        total = 0.0
        for i in range(m):
            total += residual[i] * copies.roots[i]
        constant = total / copies.total
        for i in range(m):
            residual[i] -= constant * copies.roots[i]
            residual[m] += residual[i] * copies.roots[i]


@kernel
def are_known(copies: Copies, iterate: SubIterate, active: Indices, before: Vector, goal: float) -> bool:
    """Tell whether correlations with the residual `before` will do for the one now, that was computed again.

    z_j'r differs by ||z_j|| ||r - r_before|| at most, and so the gap by twice the sum of |a_j| times this.
    """
    m = before.size - 1
    constant = (before[m] - iterate.residual[m]) / copies.total
    reach = change2 = 0.0
    for i in range(m):
        change2 += (before[i] - iterate.residual[i] - constant * copies.roots[i]) ** 2
    for k in active:
        reach += abs(iterate.coefs[k]) * np.sqrt(copies.norms2[k])
    return bool(2.0 * reach * np.sqrt(change2) <= _NEGLIGIBLE * goal)


@kernel
def gap_and_objective(
    copies: Copies, iterate: SubIterate, members: Indices, lam: float, radius: float
) -> tuple[float, float]:
    """Return the gap over `members`, whose correlations are known, and the objective.

    q'q = q'y - q'r. Of the other columns no more will be known than that their pull is at most lambda, so that no
    smaller bound is used here. For a path over radii (`radius` is not negative) it is the larger one of the gaps of
    both forms: for the penalty, and for a ball of this radius or up to where we stand.
    """
    gap, objective = _gap_and_objective(copies.cost, copies, iterate, members, lam, radius)
    return 0.0 if gap < 0.0 else gap, objective  # what rounding leaves of a difference


@by_type
def _gap_and_objective(
    cost: Cost, copies: Copies, iterate: SubIterate, members: Indices, lam: float, radius: float
) -> tuple[float, float]:
    """Return them for a cost of this type."""


@_gap_and_objective.register(Plain)
def _(cost, copies, iterate, members, lam, radius):
    qy, qr, l1, largest = totals(copies, iterate, members, lam)
    gap = quadratic_gap(L1(lam), Sums(copies.yy, max(qy - qr, 0.0), qy, l1), largest)
    if radius >= 0.0:
        gap = max(gap, max(radius, l1) * largest - qr)
    return gap, 0.5 * (copies.yy - qy - qr) + lam * l1


@_gap_and_objective.register(Separable)
def _(cost, copies, iterate, members, lam, radius):
    # G(s) = 1/2 (1 - s)^2 r'r + sum [cost(a_j) + cost*(s c_j) - s a_j c_j], s <= lambda / H, for the best of three s:
    # as sides without bound and ridge allow, as columns that do not rest at a bound do, as all do.
    qy, qr, l1, largest = totals(copies, iterate, members, lam)
    rr, hard, free, total = max(copies.yy - qy - qr, 0.0), lam, lam, 0.0
    for k in members:
        a, corr = iterate.coefs[k], iterate.corrs[k]
        total += value(cost, lam, k, a)
        strength = pull(cost, k, corr)
        low, high = bounds(cost, k)
        if a != (high if corr > 0.0 else low):
            free = max(free, strength)
        if is_hard(cost, lam, k, corr):
            hard = max(hard, strength)
    gap, last = np.inf, -1.0
    for which in range(3):
        s = lam / (hard if which == 0 else max(hard, free) if which == 1 else largest)
        if s == last:  # there are no bounds, say
            continue
        last, brackets = s, 0.0
        for k in members:
            a, corr = iterate.coefs[k], iterate.corrs[k]
            if slope(cost, k) > 0.0 and (a != 0.0 or s * abs(corr) > lam):
                dual = 0.0 if s * pull(cost, k, corr) <= lam else conjugate(cost, lam, k, s * corr)
                brackets += value(cost, lam, k, a) + dual - s * a * corr
        gap = min(gap, 0.5 * (1.0 - s) ** 2 * rr + brackets)
    if radius >= 0.0:  # any lambda gives a gap of the ball
        gap += lam * max(0.0, radius - l1)
    return (np.inf if np.isnan(qr) else gap), 0.5 * rr + total


@kernel
def correlate(copies: Copies, iterate: SubIterate, places: Indices) -> None:
    """Compute the correlations of some places with the residual."""
    for k in places:
        iterate.corrs[k] = dot(copies, k, iterate.residual)


@kernel
def totals(copies: Copies, iterate: SubIterate, members: Indices, lam: float) -> tuple[float, float, float, float]:
    """Return q'y = sum a_j z_j'y, q'r = sum a_j z_j'r, ||a||_1 and the largest pull, from those of `members`.

    If one of the correlations is not a number, none of these is.
    """
    qy = qr = l1 = 0.0
    largest = lam
    xty, cost = copies.xty, copies.cost
    for k in members:
        a, size = iterate.coefs[k], pull(cost, k, iterate.corrs[k])
        if not size <= largest:
            largest = size
            if np.isnan(size):
                return size, size, size, size
        if a != 0.0:
            qy += a * xty[k]
            qr += a * iterate.corrs[k]
            l1 += slope(cost, k) * abs(a)
    return qy, qr, l1, largest


@kernel
def active_places(iterate: SubIterate, members: Indices) -> Indices:
    """Return the members with a nonzero coefficient."""
    active = np.empty(members.size, np.int64)
    n = 0
    for k in members:
        if iterate.coefs[k] != 0.0:
            active[n] = k
            n += 1
    return active[:n]


@kernel
def free_places(cost: Cost, iterate: SubIterate, members: Indices) -> Indices:
    """Return the members whose coefficients are free."""
    free = np.empty(members.size, np.int64)
    n = 0
    for k in members:
        if is_free(cost, k, iterate.coefs[k]):
            free[n] = k
            n += 1
    return free[:n]


@kernel
def violation_at(cost: Cost, lam: float, k: int, iterate: SubIterate) -> float:
    """Return how far a place violates the optimality conditions; not above zero if it does not."""
    a, corr = iterate.coefs[k], iterate.corrs[k]
    if is_free(cost, k, a):
        return float(abs(corr - lean(cost, lam, k, np.sign(a), a)))
    return float(strain(cost, lam, k, a, corr) - lam)


@kernel
def listed_places(copies: Copies, iterate: SubIterate, members: Indices, lam: float) -> tuple[Indices, float]:
    """Return the members that are free or should be, and the largest violation of the optimality conditions.

    Of more columns than can be independent those are taken that should be active most: the dependent ones
    would have to leave again, one by one.
    """
    cost, n_active, n_violate = copies.cost, 0, 0
    largest, violation = lam, 0.0
    for k in members:
        if is_free(cost, k, iterate.coefs[k]):
            n_active += 1
            violation = max(violation, violation_at(cost, lam, k, iterate))
        elif strain(cost, lam, k, iterate.coefs[k], iterate.corrs[k]) > lam:
            n_violate += 1
            largest = max(largest, strain(cost, lam, k, iterate.coefs[k], iterate.corrs[k]))
    n_most = max(n_active + _FEW, rank_bound(copies))
    least = lam
    listed = np.empty(n_active + n_violate, np.int64)
    while True:  # some sixty times at most: then nothing is between `least` and `largest`
        n = 0
        for k in members:
            size = strain(cost, lam, k, iterate.coefs[k], iterate.corrs[k])
            if is_free(cost, k, iterate.coefs[k]) or (size > lam and size >= least):
                listed[n] = k
                n += 1
        more = _WORST * (largest - least)
        if n <= n_most or least + more == least:
            return listed[:n], max(violation, largest - lam)
        least += more


@kernel
def descend(
    copies: Copies, iterate: SubIterate, listed: Indices, lam: float, enough: float, n_left: float
) -> tuple[int, float, bool]:
    """Take epochs of coordinate descent, until violations of optimality are small enough.

    They end early where hardly a sign changes, and more than `n_left` epochs would be needed at the rate of the last.
    Return the number of epochs, the largest violation that was met in the last one, and whether they ended so.
    """
    coefs, residual, cost = iterate.coefs, iterate.residual, copies.cost
    violation = np.inf
    for epoch in range(EPOCHS):
        n_flips = 0
        last, violation = violation, 0.0
        for k in listed:
            norm2 = copies.norms2[k]
            aim = coefs[k] * norm2 + dot(copies, k, residual)
            new = minimise_1d(cost, lam, k, aim, norm2)
            if new != coefs[k] and np.isfinite(aim):
                violation = max(violation, abs(new - coefs[k]) * (norm2 + curvature(cost, lam, k)))
                add(copies, k, coefs[k] - new, residual)
                n_flips += changes(cost, k, coefs[k], new)
                coefs[k] = new
        if violation <= enough:
            return epoch + 1, violation, False
        if epoch > 0 and n_flips <= _SETTLED * listed.size:
            n_more = np.log(violation / enough) / np.log(last / violation) if violation < last else np.inf
            if epoch + n_more >= n_left:
                return epoch + 1, violation, True
    return EPOCHS, violation, n_left <= EPOCHS

"""Coordinate descent on a working set: what moves, how good it is, and epochs."""

from typing import NamedTuple

import numpy as np

from ..columns import Vector
from ..jit import kernel
from ..losses import Squared
from ..objective import duality_gap
from ..penalties import L1, Sums, minimise_1d
from ..sweeps import Indices
from .copies import Copies, add, dot

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

    q'q = q'y - q'r. Of the other columns no more will be known than that |z_j'r| <= lambda, so that no smaller bound
    is used here. For a path over radii (`radius` is not negative) it is the larger one of the gaps of both forms: for
    the penalty, and for a ball of this radius or up to where we stand.
    """
    qy, qr, l1, largest = totals(copies.xty, iterate, members, lam)
    gap = duality_gap(Squared(), L1(lam), Sums(copies.yy, max(qy - qr, 0.0), qy, l1), largest)
    objective = 0.5 * (copies.yy - qy - qr) + lam * l1
    if radius >= 0.0:
        gap = max(gap, max(radius, l1) * largest - qr)
    return 0.0 if gap < 0.0 else gap, objective  # what rounding leaves of a difference


@kernel
def correlate(copies: Copies, iterate: SubIterate, places: Indices) -> None:
    """Compute the correlations of some places with the residual."""
    for k in places:
        iterate.corrs[k] = dot(copies, k, iterate.residual) - copies.bend * iterate.coefs[k]


@kernel
def totals(xty: Vector, iterate: SubIterate, members: Indices, lam: float) -> tuple[float, float, float, float]:
    """Return q'y = sum a_j z_j'y, q'r = sum a_j z_j'r, ||a||_1 and max(lambda, |z_j'r|), from those of `members`.

    If one of the correlations is not a number, none of these is.
    """
    qy = qr = l1 = 0.0
    largest = lam
    for k in members:
        a, size = iterate.coefs[k], abs(iterate.corrs[k])
        if not size <= largest:
            largest = size
            if np.isnan(size):
                return size, size, size, size
        if a != 0.0:
            qy += a * xty[k]
            qr += a * iterate.corrs[k]
            l1 += abs(a)
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
def listed_places(rank: int, iterate: SubIterate, members: Indices, lam: float) -> tuple[Indices, float]:
    """Return the members that are active or should be, and the largest violation of the optimality conditions.

    Of more columns than can be independent, `rank`, those are taken that should be active most: the dependent ones
    would have to leave again, one by one.
    """
    n_active = n_violate = 0
    largest, violation = lam, 0.0
    for k in members:
        if iterate.coefs[k] != 0.0:
            n_active += 1
            violation = max(violation, abs(iterate.corrs[k] - lam * np.sign(iterate.coefs[k])))
        elif abs(iterate.corrs[k]) > lam:
            n_violate += 1
            largest = max(largest, abs(iterate.corrs[k]))
    n_most = max(n_active + _FEW, rank)
    least = lam
    listed = np.empty(n_active + n_violate, np.int64)
    while True:  # some sixty times at most: then nothing is between `least` and `largest`
        n = 0
        for k in members:
            size = abs(iterate.corrs[k])
            if iterate.coefs[k] != 0.0 or (size > lam and size >= least):
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
    coefs, residual = iterate.coefs, iterate.residual
    violation = np.inf
    for epoch in range(EPOCHS):
        n_flips = 0
        last, violation = violation, 0.0
        for k in listed:
            norm2 = copies.norms2[k]
            aim = coefs[k] * norm2 + (dot(copies, k, residual) - copies.bend * coefs[k])
            new = minimise_1d(L1(lam), aim, norm2)
            if new != coefs[k] and np.isfinite(aim):
                violation = max(violation, abs(new - coefs[k]) * norm2)
                add(copies, k, coefs[k] - new, residual)
                n_flips += coefs[k] * new <= 0.0
                coefs[k] = new
        if violation <= enough:
            return epoch + 1, violation, False
        if epoch > 0 and n_flips <= _SETTLED * listed.size:
            n_more = np.log(violation / enough) / np.log(last / violation) if violation < last else np.inf
            if epoch + n_more >= n_left:
                return epoch + 1, violation, True
    return EPOCHS, violation, n_left <= EPOCHS

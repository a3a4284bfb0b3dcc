"""Coordinate descent on a working set: what moves, how good it is, and epochs with extrapolation."""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..columns import Matrix, Vector, add_column, center, column_entries, dot_column, holds, shape
from ..forms import Penalty, duality_gap, soft_threshold
from ..problem import Problem
from .rows import Indices

#: Epochs that are extrapolated; signs are known if an epoch changes no more than this share of them.
EPOCHS, _SETTLED = 5, 0.01
# So many columns may become active whatever the rank; of too many those stay on the list that violate by more than this
# share of the largest violation, again and again.
_FEW, _WORST = 4, 0.5
# What rounding may add to a gap, as a share of what is asked for.
_NEGLIGIBLE = 1e-3


class Work(NamedTuple):
    """The columns of the working set by place, their coefficients, and the residual: what moves."""

    columns: Indices
    coefs: Vector
    corrs: Vector  # z_j'r
    residual: Vector  # r = y - X a, a sample vector


@kernel
def refresh(problem: Problem, work: Work, members: Indices) -> None:
    """Compute the residual anew."""
    residual = work.residual
    for i in range(residual.size):
        residual[i] = 0.0
    for k in members:
        if work.coefs[k] != 0.0:
            add_column(problem.X, work.columns[k], -work.coefs[k], residual)
    add_response(problem, residual)


@kernel
def add_response(problem: Problem, residual: Vector) -> None:
    """Turn -X a into the residual; of centred data without a constant part.

    What rounding leaves of it, the sum, is kept in the last place: means of columns may be large.
    """
    m = residual.size - 1
    for i in range(m):
        residual[i] += problem.y[i]
    residual[m] = 0.0
    if problem.centred:
        total = 0.0
        for i in range(m):
            total += residual[i]
        constant = total / shape(problem.X)[0]
        for i in range(m):
            residual[i] -= constant * holds(problem.X, i)
            residual[m] += residual[i]


@kernel
def are_known(problem: Problem, work: Work, active: Indices, before: Vector, goal: float) -> bool:
    """Tell whether correlations with the residual `before` will do for the one now, that was computed anew.

    z_j'r differs by ||z_j|| ||r - r_before|| at most, and so the gap by twice the sum of |a_j| times this.
    """
    change = before - work.residual
    center(problem.X, change)
    reach = change2 = 0.0
    for x in change:
        change2 += x * x
    for k in active:
        reach += abs(work.coefs[k]) * np.sqrt(problem.norms2[work.columns[k]])
    return bool(2.0 * reach * np.sqrt(change2) <= _NEGLIGIBLE * goal)


@kernel
def price(problem: Problem, work: Work, members: Indices, weight: float, radius: float) -> tuple[float, float]:
    """Compute the correlations of `members`; return the gap over them and the objective."""
    correlate(problem, work, members)
    return appraise(problem.xty, problem.yy, work, members, weight, radius)


@kernel
def appraise(xty: Vector, yy: float, work: Work, members: Indices, weight: float, radius: float) -> tuple[float, float]:
    """Return the gap over `members`, whose correlations are known, and the objective.

    q'q = q'y - q'r. Of the other columns no more will be known than that |z_j'r| <= lambda, so that no smaller bound
    is used here. For a path over radii (`radius` is not negative) it is the larger one of the gaps of both forms: for
    the penalty, and for a ball of this radius or up to where we stand.
    """
    qy, qr, l1, largest = totals(xty, work, members, weight)
    gap = duality_gap(Penalty(weight), yy, max(qy - qr, 0.0), qy, l1, largest)
    objective = 0.5 * (yy - qy - qr) + weight * l1
    if radius >= 0.0:
        gap = max(gap, max(radius, l1) * largest - qr)
    return max(gap, 0.0), objective  # what rounding leaves of a difference


@kernel
def correlate(problem: Problem, work: Work, places: Indices) -> None:
    """Compute the correlations of some places with the residual."""
    for k in places:
        work.corrs[k] = dot_column(problem.X, work.columns[k], work.residual)


@kernel
def totals(xty: Vector, work: Work, members: Indices, weight: float) -> tuple[float, float, float, float]:
    """Return q'y = sum a_j z_j'y, q'r = sum a_j z_j'r, ||a||_1 and max(lambda, |z_j'r|), from priced `members`."""
    qy = qr = l1 = 0.0
    largest = weight
    for k in members:
        largest = max(largest, abs(work.corrs[k]))
        a = work.coefs[k]
        if a != 0.0:
            qy += a * xty[work.columns[k]]
            qr += a * work.corrs[k]
            l1 += abs(a)
    return qy, qr, l1, largest


@kernel
def entries_of(problem: Problem, work: Work, places: Indices) -> int:
    """Return how many entries the columns of some places have."""
    n_entries = 0
    for k in places:
        n_entries += column_entries(problem.X, work.columns[k])
    return n_entries


@kernel
def active_places(work: Work, members: Indices) -> Indices:
    """Return the members with a nonzero coefficient."""
    active = np.empty(members.size, np.int64)
    n = 0
    for k in members:
        if work.coefs[k] != 0.0:
            active[n] = k
            n += 1
    return active[:n]


@kernel
def listed_places(rank: int, work: Work, members: Indices, weight: float) -> tuple[Indices, float]:
    """Return the members that are active or should be, and the largest violation of the optimality conditions.

    Of more columns than can be independent, `rank`, those are taken that should be active most: the dependent ones
    would have to leave again, one by one.
    """
    n_active = n_violate = 0
    largest, violation = weight, 0.0
    for k in members:
        if work.coefs[k] != 0.0:
            n_active += 1
            violation = max(violation, abs(work.corrs[k] - weight * np.sign(work.coefs[k])))
        elif abs(work.corrs[k]) > weight:
            n_violate += 1
            largest = max(largest, abs(work.corrs[k]))
    n_most = max(n_active + _FEW, rank)
    least = weight
    listed = np.empty(n_active + n_violate, np.int64)
    while True:  # some sixty times at most: then nothing is between `least` and `largest`
        n = 0
        for k in members:
            size = abs(work.corrs[k])
            if work.coefs[k] != 0.0 or (size > weight and size >= least):
                listed[n] = k
                n += 1
        more = _WORST * (largest - least)
        if n <= n_most or least + more == least:
            return listed[:n], max(violation, largest - weight)
        least += more


@kernel
def descend(
    problem: Problem, work: Work, listed: Indices, weight: float, enough: float, n_left: float
) -> tuple[int, float, bool]:
    """Take epochs of coordinate descent and extrapolate them, until violations of optimality are small enough.

    They end early where hardly a sign changes, and more than `n_left` epochs would be needed at the rate of the last.
    Return the number of epochs, the largest violation that was met in the last one, and whether they ended so.
    """
    coefs, residual = work.coefs, work.residual
    past_coefs, past_residuals = np.empty((EPOCHS + 1, listed.size)), np.empty((EPOCHS + 1, residual.size))
    violation = np.inf
    for epoch in range(EPOCHS + 1):
        for i in range(listed.size):
            past_coefs[epoch, i] = coefs[listed[i]]
        for i in range(residual.size):
            past_residuals[epoch, i] = residual[i]
        if epoch == EPOCHS:
            break
        n_flips = 0
        last, violation = violation, 0.0
        for k in listed:
            j = work.columns[k]
            norm2 = problem.norms2[j]
            aim = coefs[k] * norm2 + dot_column(problem.X, j, residual)
            new = soft_threshold(aim, weight) / norm2
            if new != coefs[k]:
                violation = max(violation, abs(new - coefs[k]) * norm2)
                add_column(problem.X, j, coefs[k] - new, residual)
                n_flips += coefs[k] * new <= 0.0
                coefs[k] = new
        if violation <= enough:
            return epoch + 1, violation, False
        if epoch > 0 and n_flips <= _SETTLED * listed.size:
            n_more = np.log(violation / enough) / np.log(last / violation) if violation < last else np.inf
            if epoch + n_more >= n_left:
                return epoch + 1, violation, True
    _extrapolate(work, listed, weight, past_coefs, past_residuals)
    return EPOCHS, violation, n_left <= EPOCHS


@kernel
def _extrapolate(work: Work, listed: Indices, weight: float, past_coefs: Matrix, past_residuals: Matrix) -> None:
    """Go to the mix of past epochs whose last steps cancel best (Anderson), if the objective falls that way.

    The shares sum to one, so that the residuals are mixed alike.
    """
    n = listed.size
    shares = _anderson_shares(past_coefs)
    m = work.residual.size - 1
    change = 0.0
    mixed_coefs, mixed_residual = np.zeros(n), np.zeros(m + 1)
    for a in range(EPOCHS):
        share = shares[a]
        for i in range(n):
            mixed_coefs[i] += share * past_coefs[a + 1, i]
        for i in range(m + 1):
            mixed_residual[i] += share * past_residuals[a + 1, i]
    before, after = work.residual[m] / m, mixed_residual[m] / m
    for i in range(m):
        change += 0.5 * ((mixed_residual[i] - after) ** 2 - (work.residual[i] - before) ** 2)
    for i in range(n):
        change += weight * (abs(mixed_coefs[i]) - abs(work.coefs[listed[i]]))
    if change < 0.0:
        for i in range(n):
            work.coefs[listed[i]] = mixed_coefs[i]
        for i in range(m + 1):
            work.residual[i] = mixed_residual[i]


@kernel
def _anderson_shares(past: Matrix) -> Vector:
    """Return z / sum(z), (U'U + ridge) z = 1, for the steps u_k between the rows of `past`."""
    n = past.shape[0] - 1
    products, shares = np.empty((n, n)), np.ones(n)
    trace = 0.0
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for i in range(past.shape[1]):
                total += (past[a + 1, i] - past[a, i]) * (past[b + 1, i] - past[b, i])
            products[a, b] = products[b, a] = total
        trace += products[a, a]
    for a in range(n):
        products[a, a] += 1e-10 * trace
    # Gauss without pivots: the matrix is positive definite.
    for a in range(n):
        for b in range(a + 1, n):
            factor = products[b, a] / products[a, a]
            for c in range(a, n):
                products[b, c] -= factor * products[a, c]
            shares[b] -= factor * shares[a]
    for a in range(n - 1, -1, -1):
        for b in range(a + 1, n):
            shares[a] -= products[a, b] * shares[b]
        shares[a] /= products[a, a]
    total = 0.0
    for a in range(n):
        total += shares[a]
    for a in range(n):
        shares[a] /= total
    return shares

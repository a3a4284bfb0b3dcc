"""Newton's steps on the active columns of a working set.

With F the free columns, c = X'r and lean(a) the derivatives of their costs, lambda sign(a) for the Lasso:

1. the factor of the cosines of F, with diag(mu) and a small ridge, is brought to F: see `gram`;
2. d solves (G_FF + diag(mu)) d = c_F - lean(a)_F;
3. coefficients that a + d would take off their pieces are set to the ends of these; where the objective does not fall
   that way, d is halved until it does, at last up to the first end;
4. a <- a + d, r <- r - X d; on with 1. where a coefficient has come to an end.
"""

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..cholesky import solve
from ..columns import Matrix, Vector
from ..costs import curvatures, difference, is_free, lean, leans, piece
from ..jit import kernel
from ..sweeps import Indices
from .copies import Copies, add, center, entries_of, rank_bound
from .descent import SubIterate, correlate, free_places, refresh
from .gram import LARGEST_GRAM, Gram, append, delete, fill_cosines, rows_of_new, scatter, take_slots

#: What a step asks for, that compiled code does not do: cosines of new columns, a factorization, or all of it, where
#: there are too many columns for a factor.
NEWTON_DONE, COSINES, FACTOR, NO_FACTOR = 0, 1, 2, 3
# Steps in a row, with fewer columns each.
_STEPS = 6
# Cosines of new columns that take more products of entries than this are asked for: threads compute them.
_MANY_ENTRIES = 1_000_000
# Of a factor by QR: the root of its ridge, and how many numbers it may have.
_ROOT_OF_RIDGE, _MOST_NUMBERS = 1e-15, 1 << 22
# A step is halved down to this fraction of it before it is cut at the first zero.
_SHORTEST = 0.05


@kernel
def newton(copies: Copies, iterate: SubIterate, gram: Gram, members: Indices, lam: float) -> tuple[int, int]:
    """Take Newton steps on the free columns, as far as none leaves its piece or as the objective falls.

    With c = X_F'r a step goes to a + d, (G_FF + diag(mu)) d = c - lean(a), lambda sign(a) for the Lasso: the minimum
    where the pieces are right. The objective always falls at first. Coefficients that leave their pieces are set to the
    ends of these if the objective falls that way; else the step is shortened, at last to the first end. Dependent
    columns (G_FF singular up to the ridge) have a long step along which X a does not change and the l1 norm falls: one
    of them leaves.

    Return what is asked for, and the dot products. The correlations of the active columns must be those of r.
    """
    n_dots = n_steps = 0
    n_most = _STEPS + max(
        0, free_places(copies.cost, iterate, members).size - rank_bound(copies)
    )  # the dependent leave one by one
    while n_steps < n_most:
        n_steps += 1
        active = free_places(copies.cost, iterate, members)
        if active.size == 0:
            break
        if active.size > LARGEST_GRAM:
            return NO_FACTOR, n_dots
        asked = _prepare(copies, iterate, gram, active, lam)
        if asked != NEWTON_DONE:
            return asked, n_dots
        for row in range(active.size):
            active[row] = gram.place_of[row]
        step, norms = right_side(copies, iterate, active, lam)
        solve(gram.lower.T, gram.size[0], step)
        total = 0.0
        for i in range(active.size):
            step[i] /= norms[i]
            total += step[i]
        if not np.isfinite(total):  # a factor that is of no use is made again; descent goes on without it
            for row in range(gram.size[0]):
                gram.row_of[gram.place_of[row]] = -1
            gram.size[0] = 0
            break
        n_flips = limit_step(copies, iterate, active, step, lam, True)
        for i in range(active.size):
            add(copies, active[i], -step[i], iterate.residual)
            iterate.coefs[active[i]] += step[i]
        n_dots += 2 * active.size
        if n_flips == 0:
            break
        correlate(copies, iterate, free_places(copies.cost, iterate, active))
    return NEWTON_DONE, n_dots


def newton_by_qr(copies: Copies, iterate: SubIterate, members: Indices, lam: float) -> int:
    """Take Newton steps as `newton` does, with a factor of the columns and not of their products.

    With U = Q R, columns of unit norm and the ridge below them, a step is R^-1 (Q'r - R^-T lean): it suffers from the
    condition of the columns, where that of their cosines is the square of it. Return the dot products.
    """
    n_dots = 0
    for _ in range(_STEPS):
        active = free_places(copies.cost, iterate, members)
        n, m = active.size, copies.y.size - 1
        if not 0 < n * m <= _MOST_NUMBERS:
            break
        norms = np.sqrt(copies.norms2[active])
        unit = np.zeros((m + n, n), order="F")
        scatter_units(copies, active, unit.T)
        roots, signs = np.sqrt(curvatures(copies.cost, lam, active)), np.zeros(iterate.coefs.size)
        signs[active] = np.sign(iterate.coefs[active])
        unit[m + np.arange(n), np.arange(n)] = np.maximum(roots / norms, _ROOT_OF_RIDGE)
        Q, R = qr(unit, mode="economic", overwrite_a=True, check_finite=False)
        straight = leans(copies.cost, lam, active, iterate.coefs) - roots**2 * iterate.coefs[active]
        side = solve_triangular(R, straight / norms, trans="T", check_finite=False)
        aim = Q[:m].T @ iterate.residual[:m] - side
        if roots.any():
            aim -= Q[m:].T @ (roots * iterate.coefs[active])
        step = solve_triangular(R, aim, check_finite=False) / norms
        if not np.isfinite(step).all():
            break
        correlate(copies, iterate, active)
        n_flips = limit_step(copies, iterate, active, step, lam, True)
        iterate.coefs[active] += step
        refresh(copies, iterate, members)
        n_dots += (n + 3) * n
        if n_flips == 0:
            break
    return n_dots


@kernel
def scatter_units(copies: Copies, places: Indices, rows: Matrix) -> None:
    """Fill in z / ||z|| of some places, as rows of zeros that may be longer."""
    v = np.empty(copies.y.size)
    for i in range(places.size):
        scatter(copies, places[i], v)
        for sample in range(v.size - 1):
            rows[i, sample] = v[sample]


@kernel
def limit_step(
    copies: Copies, iterate: SubIterate, active: Indices, step: Vector, lam: float, at_any_rate: bool
) -> int:
    """Shorten a step that leads out of pieces, and let it end where these end; return how many would have been left.

    Unless it is to be taken `at_any_rate`, a step that leads nowhere, but to the first end, is not to be taken: -1.
    """
    n_flips = 0
    for i in range(active.size):
        a = iterate.coefs[active[i]]
        low, high = piece(copies.cost, active[i], a)
        n_flips += a + step[i] < low or a + step[i] > high
    if n_flips > 0 and not _shorten(copies, iterate, active, step, lam) and not at_any_rate:
        return -1
    for i in range(active.size):
        a = iterate.coefs[active[i]]
        low, high = piece(copies.cost, active[i], a)
        if a + step[i] <= low or a + step[i] >= high:
            step[i] = (low if step[i] < 0.0 else high) - a
    return n_flips


@kernel
def right_side(copies: Copies, iterate: SubIterate, active: Indices, lam: float) -> tuple[Vector, Vector]:
    """Return Newton's right-hand side for columns of unit norm, (c - lean(a)) / ||z||, and the norms."""
    n = active.size
    side, norms = np.empty(n), np.empty(n)
    for i in range(n):
        k = active[i]
        a = iterate.coefs[k]
        norms[i] = np.sqrt(copies.norms2[k])
        side[i] = (iterate.corrs[k] - lean(copies.cost, lam, k, np.sign(a), a)) / norms[i]
    return side, norms


@kernel
def _prepare(copies: Copies, iterate: SubIterate, gram: Gram, active: Indices, lam: float) -> int:
    """Bring the factor to the free columns, or ask for what it takes."""
    n_new = 0
    first = n_missing = int(np.int64(0))  # for a literal number numba would compile once more
    for k in active:
        n_new += gram.row_of[k] < 0
        n_missing += gram.slot_of[k] < 0
    if n_missing > 0:
        n_old = gram.size[1]
        n_products = n_missing * entries_of(copies, active)
        if n_old + n_missing > gram.places.size or n_products > _MANY_ENTRIES:
            return COSINES
        take_slots(copies, gram, active)
        fill_cosines(copies, gram, n_old, rows_of_new(copies, gram, n_old), first, gram.size[1])
    n_stay, n_gone, to_delete = _leaving(copies, iterate, gram)
    one_by_one, in_batch = 0.13 * n_new * active.size**2, _batch_time(gram.size[0] - n_gone, active.size)
    if _batch_time(n_stay, active.size) < to_delete + min(one_by_one, in_batch):
        return FACTOR
    for row in range(gram.size[0] - 1, n_stay - 1, -1):
        if not is_free(copies.cost, gram.place_of[row], iterate.coefs[gram.place_of[row]]):
            delete(gram, row)
    if in_batch < one_by_one:
        return FACTOR
    for k in active:
        if gram.row_of[k] < 0:
            append(copies, gram, k, lam)
    return NEWTON_DONE


# Times are in nanoseconds, roughly.


@kernel
def _leaving(copies: Copies, iterate: SubIterate, gram: Gram) -> tuple[int, int, float]:
    """Return how many rows of the factor are before the first that leaves, how many leave, and the time that takes."""
    n = gram.size[0]
    n_stay, n_gone, time = n, 0, 0.0
    for row in range(n - 1, -1, -1):
        if not is_free(copies.cost, gram.place_of[row], iterate.coefs[gram.place_of[row]]):
            n_stay, n_gone, time = row, n_gone + 1, time + 0.26 * n * (n - row)
    return n_stay, n_gone, time


@kernel
def _batch_time(n_stay: int, n: int) -> float:
    """Return the time to compute the rows of a factor from `n_stay` to n at once."""
    n_other = n - n_stay
    return 1e5 + n_other * (2.0 * n + 0.04 * (n_stay * n + n_other**2 / 3.0))


@kernel
def _shorten(copies: Copies, iterate: SubIterate, active: Indices, step: Vector, lam: float) -> bool:
    """Shorten a step that leads out of pieces, until the objective falls; at last to the first end of one.

    Tell whether it falls before that.
    """
    first, cut, last = -1, np.inf, 0.0
    for i in range(active.size):
        a = iterate.coefs[active[i]]
        low, high = piece(copies.cost, active[i], a)
        end = low if step[i] < 0.0 else high
        if (a + step[i] < low or a + step[i] > high) and (end - a) / step[i] < cut:
            first, cut, last = i, (end - a) / step[i], end
    # Along dependent columns X a hardly changes, and a step is as long as the ridge is small: no part of it will do.
    least = _SHORTEST if active.size <= rank_bound(copies) else 1.0
    factor = 1.0
    while factor > cut and factor > least:
        if _falls(copies, iterate, active, step, lam):
            return True
        factor *= 0.5
        for i in range(active.size):
            step[i] *= 0.5
    for i in range(active.size):
        step[i] *= cut / factor
    step[first] = last - iterate.coefs[active[first]]
    return False


@kernel
def _falls(copies: Copies, iterate: SubIterate, active: Indices, step: Vector, lam: float) -> bool:
    """Tell whether the objective falls after `step`, with the ends of pieces where it leaves them.

    It changes by 1/2 ||X d||^2 - c'd + cost(a + d) - cost(a).
    """
    v = np.zeros(iterate.residual.size)
    change = 0.0
    for i in range(active.size):
        k = active[i]
        a = iterate.coefs[k]
        low, high = piece(copies.cost, k, a)
        after = min(max(a + step[i], low), high)
        add(copies, k, after - a, v)
        change += difference(copies.cost, lam, k, a, after) - iterate.corrs[k] * (after - a)
    center(copies, v)
    for i in range(v.size):
        change += 0.5 * v[i] * v[i]
    return change < 0.0

"""Newton's steps on the active columns of a working set."""

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..columns import Matrix, Vector
from ..jit import kernel
from .copies import Copies, Indices, add, center, entries_of, rank_bound
from .descent import Work, active_places, correlate, refresh
from .gram import LARGEST_GRAM, Gram, append, delete, fill_cosines, rows_of_new, spread, substitute, take_slots

#: What a step asks for, that compiled code does not do: cosines of new columns, a factorization, or all of it, where
#: there are too many columns for a factor.
NEWTON_DONE, COSINES, FACTOR, NO_FACTOR = 0, 1, 2, 3
# Steps in a row, with fewer columns each.
_STEPS = 6
# Cosines of new columns that take more products of entries than this are asked for: threads compute them.
_MANY_ENTRIES = 1_000_000
# Of a factor by QR: the root of its ridge, and how many numbers it may have.
_ROOT_OF_RIDGE, _MOST_NUMBERS = 1e-15, 1 << 22
# A step is halved down to this share of it before it is cut at the first zero.
_SHORTEST = 0.05


@kernel
def newton(copies: Copies, work: Work, gram: Gram, members: Indices, weight: float) -> tuple[int, int]:
    """Take Newton steps on the active columns, as far as no sign changes or as the objective falls.

    With c = X_A'r a step goes to a + d, G_AA d = c - lambda sign(a): the minimum where the signs are right. The
    objective always falls at first. Where signs change, those coefficients are set to zero if the objective falls
    that way; else the step is shortened, at last to the first zero. Dependent columns (G_AA singular up to the
    ridge) have a long step along which X a does not change and the l1 norm falls: one of them leaves.

    Return what is asked for, and the dot products. The correlations of the active columns must be those of r.
    """
    n_dots = n_steps = 0
    n_most = _STEPS + max(0, active_places(work, members).size - rank_bound(copies))  # the dependent leave one by one
    while n_steps < n_most:
        n_steps += 1
        active = active_places(work, members)
        if active.size == 0:
            break
        if active.size > LARGEST_GRAM:
            return NO_FACTOR, n_dots
        asked = _prepare(copies, work, gram, active)
        if asked != NEWTON_DONE:
            return asked, n_dots
        for row in range(active.size):
            active[row] = gram.place_of[row]
        step, norms = right_side(copies.norms2, work, active, weight)
        substitute(gram, step)
        total = 0.0
        for i in range(active.size):
            step[i] /= norms[i]
            total += step[i]
        if not np.isfinite(total):  # a factor that is of no use is made anew; descent goes on without it
            for row in range(gram.size[0]):
                gram.row_of[gram.place_of[row]] = -1
            gram.size[0] = 0
            break
        n_flips = limit_step(copies, work, active, step, weight, True)
        for i in range(active.size):
            add(copies, active[i], -step[i], work.residual)
            work.coefs[active[i]] += step[i]
        n_dots += 2 * active.size
        if n_flips == 0:
            break
        correlate(copies, work, active_places(work, active))
    return NEWTON_DONE, n_dots


def newton_by_qr(copies: Copies, work: Work, members: Indices, weight: float) -> int:
    """Take Newton steps as `newton` does, with a factor of the columns and not of their products.

    With U = Q R, columns of unit norm and a ridge below them, a step is R^-1 (Q'r - R^-T lambda s): it suffers from the
    condition of the columns, where that of their cosines is the square of it. Return the dot products.
    """
    n_dots = 0
    for _ in range(_STEPS):
        active = active_places(work, members)
        n, m = active.size, copies.y.size - 1
        if not 0 < n * m <= _MOST_NUMBERS:
            break
        norms = np.sqrt(copies.norms2[active])
        unit = np.zeros((m + n, n), order="F")
        spread_units(copies, active, unit.T)
        unit[m + np.arange(n), np.arange(n)] = _ROOT_OF_RIDGE
        Q, R = qr(unit, mode="economic", overwrite_a=True, check_finite=False)
        side = solve_triangular(R, weight * np.sign(work.coefs[active]) / norms, trans="T", check_finite=False)
        step = solve_triangular(R, Q[:m].T @ work.residual[:m] - side, check_finite=False) / norms
        if not np.isfinite(step).all():
            break
        correlate(copies, work, active)
        n_flips = limit_step(copies, work, active, step, weight, True)
        work.coefs[active] += step
        refresh(copies, work, members)
        n_dots += (n + 3) * n
        if n_flips == 0:
            break
    return n_dots


@kernel
def spread_units(copies: Copies, places: Indices, rows: Matrix) -> None:
    """Fill in z / ||z|| of some places, as rows of zeros that may be longer."""
    v = np.empty(copies.y.size)
    for i in range(places.size):
        spread(copies, places[i], v)
        for sample in range(v.size - 1):
            rows[i, sample] = v[sample]


@kernel
def limit_step(copies: Copies, work: Work, active: Indices, step: Vector, weight: float, at_any_rate: bool) -> int:
    """Shorten a step along which signs change, and let it end at zero there; return how many would have changed.

    Unless it is to be taken `at_any_rate`, a step that leads nowhere, but to the first zero, is not to be taken: -1.
    """
    n_flips = 0
    for i in range(active.size):
        a = work.coefs[active[i]]
        n_flips += a * (a + step[i]) < 0.0
    if n_flips > 0 and not _shorten(copies, work, active, step, weight) and not at_any_rate:
        return -1
    for i in range(active.size):
        a = work.coefs[active[i]]
        if a * (a + step[i]) <= 0.0:
            step[i] = -a
    return n_flips


@kernel
def right_side(norms2: Vector, work: Work, active: Indices, weight: float) -> tuple[Vector, Vector]:
    """Return Newton's right-hand side for columns of unit norm, (c - lambda sign(a)) / ||z||, and the norms."""
    n = active.size
    side, norms = np.empty(n), np.empty(n)
    for i in range(n):
        k = active[i]
        norms[i] = np.sqrt(norms2[k])
        side[i] = (work.corrs[k] - weight * np.sign(work.coefs[k])) / norms[i]
    return side, norms


@kernel
def _prepare(copies: Copies, work: Work, gram: Gram, active: Indices) -> int:
    """Bring the factor to the active columns, or ask for what it takes."""
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
    n_stay, n_gone, to_delete = _leaving(work, gram)
    one_by_one, in_batch = 0.13 * n_new * active.size**2, _batch_time(gram.size[0] - n_gone, active.size)
    if _batch_time(n_stay, active.size) < to_delete + min(one_by_one, in_batch):
        return FACTOR
    for row in range(gram.size[0] - 1, n_stay - 1, -1):
        if work.coefs[gram.place_of[row]] == 0.0:
            delete(gram, row)
    if in_batch < one_by_one:
        return FACTOR
    for k in active:
        if gram.row_of[k] < 0:
            append(gram, k)
    return NEWTON_DONE


# Times are in nanoseconds, roughly.


@kernel
def _leaving(work: Work, gram: Gram) -> tuple[int, int, float]:
    """Return how many rows of the factor are before the first that leaves, how many leave, and the time that takes."""
    n = gram.size[0]
    n_stay, n_gone, time = n, 0, 0.0
    for row in range(n - 1, -1, -1):
        if work.coefs[gram.place_of[row]] == 0.0:
            n_stay, n_gone, time = row, n_gone + 1, time + 0.26 * n * (n - row)
    return n_stay, n_gone, time


@kernel
def _batch_time(n_stay: int, n: int) -> float:
    """Return the time to compute the rows of a factor from `n_stay` to n at once."""
    n_other = n - n_stay
    return 1e5 + n_other * (2.0 * n + 0.04 * (n_stay * n + n_other**2 / 3.0))


@kernel
def _shorten(copies: Copies, work: Work, active: Indices, step: Vector, weight: float) -> bool:
    """Shorten a step along which signs change, until the objective falls; at last to the first change.

    Tell whether it falls before that.
    """
    first, share = -1, np.inf
    for i in range(active.size):
        a = work.coefs[active[i]]
        if a * (a + step[i]) < 0.0 and -a / step[i] < share:
            first, share = i, -a / step[i]
    # Along dependent columns X a hardly changes, and a step is as long as the ridge is small: no share of it will do.
    least = _SHORTEST if active.size <= rank_bound(copies) else 1.0
    factor = 1.0
    while factor > share and factor > least:
        if _falls(copies, work, active, step, weight):
            return True
        factor *= 0.5
        for i in range(active.size):
            step[i] *= 0.5
    for i in range(active.size):
        step[i] *= share / factor
    step[first] = -work.coefs[active[first]]
    return False


@kernel
def _falls(copies: Copies, work: Work, active: Indices, step: Vector, weight: float) -> bool:
    """Tell whether the objective falls after `step`, with zero where the sign changes.

    It changes by 1/2 ||X d||^2 - c'd + lambda (||a + d||_1 - ||a||_1).
    """
    v = np.zeros(work.residual.size)
    change = 0.0
    for i in range(active.size):
        k = active[i]
        a = work.coefs[k]
        after = a + step[i] if a * (a + step[i]) > 0.0 else 0.0
        add(copies, k, after - a, v)
        change += weight * (abs(after) - abs(a)) - work.corrs[k] * (after - a)
    center(copies, v)
    for i in range(v.size):
        change += 0.5 * v[i] * v[i]
    return change < 0.0

"""Newton's steps on the active columns of a working set."""

import numpy as np

from .._jit import kernel
from ..columns import Vector, add_column, center
from ..problem import Problem, rank_bound
from .descent import Work, active_places, correlate, entries_of
from .gram import LARGEST_GRAM, Gram, append, delete, fill_cosines, rows_of_new, substitute, take_slots
from .rows import Indices

#: What a step asks for, that compiled code does not do: cosines of new columns, a factorization, or all of it, where
#: there are too many columns for a factor.
NEWTON_DONE, COSINES, FACTOR, NO_FACTOR = 0, 1, 2, 3
# Steps in a row, with fewer columns each.
_STEPS = 6
# Cosines of new columns that take more products of entries than this are asked for: threads compute them.
_MANY_ENTRIES = 1_000_000
# A step is halved down to this share of it before it is cut at the first zero.
_SHORTEST = 0.05


@kernel
def newton(problem: Problem, work: Work, gram: Gram, members: Indices, weight: float) -> tuple[int, int]:
    """Take Newton steps on the active columns, as far as no sign changes or as the objective falls.

    With c = X_A'r a step goes to a + d, G_AA d = c - lambda sign(a): the minimum where the signs are right. The
    objective always falls at first. Where signs change, those coefficients are set to zero if the objective falls
    that way; else the step is shortened, at last to the first zero. Dependent columns (G_AA singular up to the
    ridge) have a long step along which X a does not change and the l1 norm falls: one of them leaves.

    Return what is asked for, and the dot products. The correlations of the active columns must be those of r.
    """
    n_dots = n_steps = 0
    n_most = _STEPS + max(0, active_places(work, members).size - rank_bound(problem))  # the dependent leave one by one
    while n_steps < n_most:
        n_steps += 1
        active = active_places(work, members)
        if active.size == 0:
            break
        if active.size > LARGEST_GRAM:
            return NO_FACTOR, n_dots
        asked = _prepare(problem, work, gram, active)
        if asked != NEWTON_DONE:
            return asked, n_dots
        active = gram.place_of[: active.size].copy()
        step, norms = right_side(problem.norms2, work, active, weight)
        substitute(gram, step)
        step /= norms
        total = 0.0
        for change in step:
            total += change
        if not np.isfinite(total):  # a factor that is of no use is made anew; descent goes on without it
            for row in range(gram.size[0]):
                gram.row_of[gram.place_of[row]] = -1
            gram.size[0] = 0
            break
        n_flips = limit_step(problem, work, active, step, weight, True)
        for i in range(active.size):
            add_column(problem.X, work.columns[active[i]], -step[i], work.residual)
            work.coefs[active[i]] += step[i]
        n_dots += 2 * active.size
        if n_flips == 0:
            break
        correlate(problem, work, active_places(work, active))
    return NEWTON_DONE, n_dots


@kernel
def limit_step(problem: Problem, work: Work, active: Indices, step: Vector, weight: float, at_any_rate: bool) -> int:
    """Shorten a step along which signs change, and let it end at zero there; return how many would have changed.

    Unless it is to be taken `at_any_rate`, a step that leads nowhere, but to the first zero, is not to be taken: -1.
    """
    n_flips = 0
    for i in range(active.size):
        a = work.coefs[active[i]]
        n_flips += a * (a + step[i]) < 0.0
    if n_flips > 0 and not _shorten(problem, work, active, step, weight) and not at_any_rate:
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
        norms[i] = np.sqrt(norms2[work.columns[k]])
        side[i] = (work.corrs[k] - weight * np.sign(work.coefs[k])) / norms[i]
    return side, norms


@kernel
def _prepare(problem: Problem, work: Work, gram: Gram, active: Indices) -> int:
    """Bring the factor to the active columns, or ask for what it takes."""
    n_new = 0
    first = n_missing = int(np.int64(0))  # for a literal number numba would compile once more
    for k in active:
        n_new += gram.row_of[k] < 0
        n_missing += gram.slot_of[k] < 0
    if n_missing > 0:
        n_old = gram.size[1]
        n_products = n_missing * entries_of(problem, work, active)
        if n_old + n_missing > gram.column_of.size or n_products > _MANY_ENTRIES:
            return COSINES
        take_slots(gram, active, work.columns)
        fill_cosines(problem, gram, n_old, rows_of_new(problem, gram, n_old), first, gram.size[1])
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
def _shorten(problem: Problem, work: Work, active: Indices, step: Vector, weight: float) -> bool:
    """Shorten a step along which signs change, until the objective falls; at last to the first change.

    Tell whether it falls before that.
    """
    first, share = -1, np.inf
    for i in range(active.size):
        a = work.coefs[active[i]]
        if a * (a + step[i]) < 0.0 and -a / step[i] < share:
            first, share = i, -a / step[i]
    # Along dependent columns X a hardly changes, and a step is as long as the ridge is small: no share of it will do.
    least = _SHORTEST if active.size <= rank_bound(problem) else 1.0
    factor = 1.0
    while factor > share and factor > least:
        if _falls(problem, work, active, step, weight):
            return True
        factor *= 0.5
        for i in range(active.size):
            step[i] *= 0.5
    for i in range(active.size):
        step[i] *= share / factor
    step[first] = -work.coefs[active[first]]
    return False


@kernel
def _falls(problem: Problem, work: Work, active: Indices, step: Vector, weight: float) -> bool:
    """Tell whether the objective falls after `step`, with zero where the sign changes.

    It changes by 1/2 ||X d||^2 - c'd + lambda (||a + d||_1 - ||a||_1).
    """
    v = np.zeros(work.residual.size)
    change = 0.0
    for i in range(active.size):
        k = active[i]
        a = work.coefs[k]
        after = a + step[i] if a * (a + step[i]) > 0.0 else 0.0
        add_column(problem.X, work.columns[k], after - a, v)
        change += weight * (abs(after) - abs(a)) - work.corrs[k] * (after - a)
    center(problem.X, v)
    for i in range(v.size):
        change += 0.5 * v[i] * v[i]
    return change < 0.0

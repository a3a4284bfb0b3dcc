"""Newton's steps on the active columns of a working set."""

import numpy as np

from .._jit import kernel
from ..columns import Vector, add_column, center, column_entries, dot_column
from ..problem import Problem, rank_bound
from .conjugate import conjugate_gradients, inner
from .descent import Work, active_places
from .gram import LARGEST_GRAM, Gram, Indices, append, delete, fill_from_new, fill_from_old, substitute, take_slots
from .preconditioner import Preconditioner, is_outdated

#: What a step asks for, that compiled code does not do: cosines of new columns, a factorization, a preconditioner.
DONE, COSINES, FACTOR, PRECONDITIONER = 0, 1, 2, 3
# Steps in a row, with fewer columns each; without a factor, epochs of coordinate descent settle signs at less cost.
_STEPS, _STEPS_WITHOUT_FACTOR = 6, 1
# Up to so many changes a factor is changed column by column, and always if it has no more columns than this.
_FEW_CHANGES, _COLUMNS_PER_CHANGE, _FEW_COLUMNS = 5, 20, 64
# Cosines of new columns that take more products of entries than this are asked for: threads compute them.
_MANY_ENTRIES = 1_000_000
# Ridges on the cosines without a factor: each one where a step with the one before leads nowhere.
_RIDGES = (1e-7, 1e-3, 1e-2, 1e-1)
# A step is halved down to this share of it before it is cut at the first zero.
_SHORTEST = 0.05


@kernel
def newton(
    problem: Problem, work: Work, gram: Gram, preconditioner: Preconditioner, members: Indices, weight: float
) -> tuple[int, int]:
    """Take Newton steps on the active columns, as far as no sign changes or as the objective falls.

    With c = X_A'r a step goes to a + d, G_AA d = c - lambda sign(a): the minimum where the signs are right. The
    objective always falls at first. Where signs change, those coefficients are set to zero if the objective falls
    that way; else the step is shortened, at last to the first zero. Dependent columns (G_AA singular up to the
    ridge) have a long step along which X a does not change and the l1 norm falls: one of them leaves.

    Return what is asked for, and the dot products. The correlations of the active columns must be those of r.
    """
    n_dots = n_steps = 0
    n = active_places(work, members).size
    n_most = _STEPS if n <= LARGEST_GRAM else _STEPS_WITHOUT_FACTOR
    n_most += max(0, n - rank_bound(problem))  # dependent columns leave one by one
    while n_steps < n_most:
        n_steps += 1
        active = active_places(work, members)
        if active.size == 0:
            break
        if active.size <= LARGEST_GRAM:
            asked = _prepare(problem, work, gram, active)
            if asked != DONE:
                return asked, n_dots
            active = gram.place_of[: active.size].copy()
        elif is_outdated(preconditioner, active):
            return PRECONDITIONER, n_dots
        step, n_flips, dots = _step(problem, work, gram, preconditioner, active, weight)
        for i in range(active.size):
            k = active[i]
            a = work.coefs[k]
            new = a + step[i] if a * (a + step[i]) > 0.0 else 0.0
            add_column(problem.X, work.columns[k], a - new, work.residual)
            work.coefs[k] = new
        n_dots += dots + 2 * active.size
        if n_flips == 0:
            break
        for k in active:
            if work.coefs[k] != 0.0:
                work.corrs[k] = dot_column(problem.X, work.columns[k], work.residual)
    return DONE, n_dots


@kernel
def _step(
    problem: Problem, work: Work, gram: Gram, preconditioner: Preconditioner, active: Indices, weight: float
) -> tuple[Vector, int, int]:
    """Return Newton's step for `active`, shortened if signs change; how many would have; and the dot products.

    Without a factor, a step that leads nowhere is computed again with a larger ridge: of columns that are nearly
    dependent the steps are long and cancel, but for those that are held at zero.
    """
    n_dots = n_flips = 0
    step = np.empty(0)
    for ridge in _RIDGES:
        step, dots = _direction(problem, work, gram, preconditioner, active, weight, ridge)
        n_dots += dots
        n_flips = 0
        for i in range(active.size):
            a = work.coefs[active[i]]
            n_flips += a * (a + step[i]) < 0.0
        if n_flips == 0 or _shorten(problem, work, active, step, weight) or active.size <= LARGEST_GRAM:
            break
    return step, n_flips, n_dots


@kernel
def _direction(
    problem: Problem,
    work: Work,
    gram: Gram,
    preconditioner: Preconditioner,
    active: Indices,
    weight: float,
    ridge: float,
) -> tuple[Vector, int]:
    """Return Newton's step for `active`, which are the rows of the factor if there is one, and the dot products."""
    n = active.size
    norms, step = np.empty(n), np.empty(n)
    for i in range(n):
        k = active[i]
        norms[i] = np.sqrt(problem.norms2[work.columns[k]])
        step[i] = (work.corrs[k] - weight * np.sign(work.coefs[k])) / norms[i]
    n_dots = 0
    if n <= LARGEST_GRAM:
        substitute(gram, step)
    else:
        n_dots = conjugate_gradients(problem, preconditioner, active, work.columns[active], norms, ridge, step)
    for i in range(n):
        step[i] /= norms[i]
    return step, n_dots


@kernel
def _prepare(problem: Problem, work: Work, gram: Gram, active: Indices) -> int:
    """Bring the factor to the active columns, or ask for what it takes."""
    n_new = n_gone = n_entries = 0
    first = n_missing = int(np.int64(0))  # for a literal number numba would compile once more
    for k in active:
        n_new += gram.row_of[k] < 0
        n_missing += gram.slot_of[k] < 0
        n_entries += column_entries(problem.X, work.columns[k])
    if n_missing > 0:
        n_old = gram.size[1]
        if n_old + n_missing > gram.column_of.size or n_missing * n_entries > _MANY_ENTRIES:
            return COSINES
        take_slots(gram, active, work.columns)
        fill_from_new(problem, gram, n_old, first, n_missing)
        fill_from_old(problem, gram, n_old, first, gram.size[1])
    for row in range(gram.size[0]):
        n_gone += work.coefs[gram.place_of[row]] == 0.0
    if n_gone + n_new > _FEW_CHANGES + active.size // _COLUMNS_PER_CHANGE and active.size > _FEW_COLUMNS:
        return FACTOR
    for row in range(gram.size[0] - 1, -1, -1):
        if work.coefs[gram.place_of[row]] == 0.0:
            delete(gram, row)
    for k in active:
        if gram.row_of[k] < 0:
            append(gram, k)
    return DONE


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
    return change + 0.5 * inner(v, v) < 0.0

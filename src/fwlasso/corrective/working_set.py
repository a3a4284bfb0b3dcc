"""The penalized problem on a few columns: coordinate descent to find the signs, Newton's steps to finish."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..columns import Vector, add_column, column_entries, dot_column
from ..forms import Penalty, duality_gap
from ..parallel import Workers
from ..problem import Problem
from ..solvers.run import BURST_BYTES
from ..status import Status
from .gram import (
    LARGEST_GRAM,
    Gram,
    Indices,
    Matrix,
    append,
    delete,
    empty_gram,
    factorize,
    substitute,
    with_cosines,
    with_places,
)
from .nodes import Node

# Coordinate descent looks at its gap after this many epochs.
_EPOCHS = 5
_SETTLED = 0.01
# Newton steps in a row, with fewer columns each.
_NEWTON_STEPS = 6
# A factor is changed column by column up to this share of its columns, or up to so many columns in all.
_FEW_CHANGES, _FEW_COLUMNS = 1 / 24, 64
# The gap must halve in so many rounds, or rounding is what is left of it.
_MAX_IDLE = 12
_SHORTEST = 0.05
_FEW_VIOLATORS = (4, 0.1, 0.5)

# What the compiled loop asks for.
_DONE, _COSINES, _FACTOR, _LOOK = 0, 1, 2, 3
_CG_ITERATIONS, _CG_ACCURACY = 60, 1e-2
_NEWTON_NEXT = 1e9


class Solved(NamedTuple):
    """How well the problem on the working set is solved."""

    status: Status
    gap: float  # over the working set
    n_rounds: int
    n_dots: int


#: Called between bursts with the rounds and the gap so far; ends the work by raising.
Look = Callable[[int, float], None]


class Work(NamedTuple):
    """The columns of the working set by place, their coefficients, and the residual: what moves."""

    columns: Indices
    coefs: Vector
    corrs: Vector  # z_j'r
    residual: Vector  # r = y - X a, a sample vector


class WorkingSet:
    """The columns that were ever looked at closely, their coefficients and the residual.

    A column keeps its place once it has one. What is worked on at a time is a list of places, the members.
    """

    def __init__(self, problem: Problem, radial: bool, workers: Workers) -> None:
        self._problem = problem
        self._radial = float(radial)  # whether it works for a path over radii
        self._workers = workers
        self._bytes_per_column = problem.nbytes / problem.xty.size
        self._place_of = np.full(problem.xty.size, -1, np.int32)
        self._n_places = 0
        self._gram = empty_gram()
        self._work = Work(np.empty(0, np.int64), np.empty(0), np.empty(0), np.array(problem.y))

    def places(self, columns: Indices) -> Indices:
        """Return the places of `columns`, new ones for those that have none."""
        places = self._place_of[columns].astype(np.int64)
        new = np.flatnonzero(places < 0)
        if new.size:
            work = self._work
            n_all = self._n_places + new.size
            if n_all > work.columns.size:
                more = np.zeros(max(n_all, 2 * work.columns.size, 256) - work.columns.size)
                self._work = work = work._replace(
                    columns=np.concatenate([work.columns, more.astype(np.int64)]),
                    coefs=np.concatenate([work.coefs, more]),
                    corrs=np.concatenate([work.corrs, more]),
                )
                self._gram = with_places(self._gram, work.columns.size)
            places[new] = np.arange(self._n_places, n_all)
            work.columns[self._n_places : n_all] = columns[new]
            self._place_of[columns[new]] = places[new]
            self._n_places = n_all
        return places

    def start_at(self, columns: Indices, coefs: Vector) -> Indices:
        """Go to these coefficients; return their places."""
        places = self.places(columns)
        self._work.coefs[: self._n_places] = 0.0
        self._work.coefs[places] = coefs
        return places

    def solve(self, members: Indices, weight: float, goal: float, max_rounds: int, look: Look) -> Solved:
        """Minimise over `members` from where we stand, until the gap over them is at most `goal`."""
        problem, work = self._problem, self._work
        n_dots_in_burst = int(BURST_BYTES / self._bytes_per_column)
        rounds = Rounds(0, 0.0, math.inf, 0)
        n_dots = 0
        while True:
            asked, gap, rounds, dots = _solve(
                problem, work, self._gram, members, weight, self._radial, goal, n_dots_in_burst, rounds, max_rounds
            )
            n_dots += dots
            if asked == _DONE:
                limit = Status.MAX_ITER if rounds.n >= max_rounds else Status.PRECISION
                return Solved(Status.CERTIFIED if gap <= goal else limit, gap, rounds.n, n_dots)
            active = members[work.coefs[members] != 0.0]
            if asked == _COSINES:
                self._gram = with_cosines(problem, self._gram, active, work.columns, self._workers)
            elif asked == _FACTOR:
                factorize(self._gram, active)
            else:
                look(rounds.n, gap)

    def penalty(self, members: Indices) -> float:
        """Return the penalty that the coefficients belong to, a'X'r / ||a||_1."""
        work = self._work
        _refresh(self._problem, work, members)
        _price(self._problem, work, members, 0.0, 0.0)
        coefs = work.coefs[members]
        return float(coefs @ work.corrs[members] / np.abs(coefs).sum())

    def node(self, members: Indices, weight: float) -> Node:
        """Return where we stand after `solve` as a node."""
        work = self._work
        active = members[work.coefs[members] != 0.0]
        active = active[np.argsort(work.columns[active])]
        columns, coefs, corrs = work.columns[active], work.coefs[active], work.corrs[members]
        qy = float(coefs @ self._problem.xty[columns])
        qq = max(0.0, qy - float(coefs @ work.corrs[active]))
        largest = max(weight, float(corrs.max(initial=0.0)), -float(corrs.min(initial=0.0)))
        return Node(weight, columns, coefs, work.residual.copy(), qq, qy, float(np.abs(coefs).sum()), largest)

class Rounds(NamedTuple):
    """Where the rounds on a problem are, kept over the calls of `_solve`."""

    n: int
    n_epochs: float  # since the last Newton step
    best: float  # gap
    n_idle: int  # Newton steps since the gap was halved


@kernel
def _solve(
    problem: Problem,
    work: Work,
    gram: Gram,
    members: Indices,
    weight: float,
    radial: float,
    goal: float,
    n_dots_in_burst: int,
    rounds: Rounds,
    max_rounds: int,
) -> tuple[int, float, Rounds, int]:
    """Take rounds of coordinate descent and Newton steps; return what is asked for, the gap, the rounds and dots."""
    _refresh(problem, work, members)
    n, n_epochs, best, n_idle = rounds
    n_dots = 0
    gap = np.inf
    settled = False
    while True:
        last_gap = gap
        gap = _price(problem, work, members, weight, radial)
        n_dots += members.size
        if gap < 0.5 * best:
            n_idle = 0
            best = gap
        if gap <= goal or n >= max_rounds or n_idle > _MAX_IDLE:
            _refresh(problem, work, members)
            gap = _price(problem, work, members, weight, radial)
            return _DONE, gap, Rounds(n, n_epochs, best, n_idle), n_dots + members.size
        if n_dots > n_dots_in_burst:
            return _LOOK, gap, Rounds(n, n_epochs, best, n_idle), n_dots
        n_more = 0.0
        if settled and goal > 0.0:  # at the rate of the last epochs
            n_more = _EPOCHS * np.log(gap / goal) / np.log(last_gap / gap) if gap < last_gap else np.inf
        listed = _listed(work, members, weight)
        if n_epochs == 0.0 or n_epochs + n_more < _affordable_epochs(problem, work, gram, listed):
            n_flips = _descend(problem, work, listed, weight)
            settled = n_flips <= _SETTLED * listed.size
            n_epochs += _EPOCHS
            n_dots += _EPOCHS * listed.size
        else:
            asked, dots = _newton(problem, work, gram, members, weight)
            n_dots += dots
            if asked != _DONE:
                return asked, gap, Rounds(n, _NEWTON_NEXT, best, n_idle), n_dots
            n_epochs = 0.0
            settled = False
            n_idle += 1
        n += 1


@kernel
def _affordable_epochs(problem: Problem, work: Work, gram: Gram, listed: Indices) -> float:
    """Return for how many epochs coordinate descent costs no more than a Newton step, roughly.

    In nanoseconds: of an epoch, some per column and per entry; of Newton's step, the cosines of new columns and a
    factorization, or iterations that cost as much as epochs.
    """
    n = listed.size
    if n > LARGEST_GRAM:
        return _CG_ITERATIONS
    entries = n_new = 0
    for k in listed:
        entries += column_entries(problem.X, work.columns[k])
        n_new += gram.slot_of[k] < 0
    epoch = 30.0 * n + 2.0 * entries
    return 2.0 * (1e4 + n**3 / 60.0 + n_new * entries * 0.3) / max(epoch, 1.0)


@kernel
def _listed(work: Work, members: Indices, weight: float) -> Indices:
    """Return the members that are active or should be; of many that should, those that should most.

    Columns that violate are often correlated: with the worst of them active, the others cease to violate.
    """
    n_active = n_violate = 0
    largest = weight
    for k in members:
        if work.coefs[k] != 0.0:
            n_active += 1
        elif abs(work.corrs[k]) > weight:
            n_violate += 1
            largest = max(largest, abs(work.corrs[k]))
    least = weight
    if n_violate > max(_FEW_VIOLATORS[0], _FEW_VIOLATORS[1] * n_active):
        least += _FEW_VIOLATORS[2] * (largest - weight)
    listed = np.empty(n_active + n_violate, np.int64)
    n = 0
    for k in members:
        if work.coefs[k] != 0.0 or abs(work.corrs[k]) > least:
            listed[n] = k
            n += 1
    return listed[:n]


@kernel
def _price(problem: Problem, work: Work, members: Indices, weight: float, radial: float) -> float:
    """Compute the correlations of `members` and return the gap over them.

    q'y = sum a_j z_j'y and q'q = q'y - q'r = q'y - sum a_j z_j'r. For a path over radii (`radial` is one, not zero) it
    is the larger one of the gaps of both forms, for the penalty and for the norm of where we stand.
    """
    qy = qr = l1 = largest = 0.0
    for k in members:
        j = work.columns[k]
        corr = dot_column(problem.X, j, work.residual)
        work.corrs[k] = corr
        largest = max(largest, abs(corr))
        a = work.coefs[k]
        if a != 0.0:
            qy += a * problem.xty[j]
            qr += a * corr
            l1 += abs(a)
    gap = duality_gap(Penalty(weight), problem.yy, max(qy - qr, 0.0), qy, l1, largest)
    return max(gap, radial * (l1 * largest - qr))  # type: ignore[no-any-return]


@kernel
def _refresh(problem: Problem, work: Work, members: Indices) -> None:
    """Compute the residual anew; of centred data without a constant part.

    What rounding leaves of it, the sum, is kept in the last place: means of columns may be large.
    """
    residual = work.residual
    m = residual.size - 1
    for i in range(m + 1):
        residual[i] = 0.0
    for k in members:
        if work.coefs[k] != 0.0:
            add_column(problem.X, work.columns[k], -work.coefs[k], residual)
    for i in range(m):
        residual[i] += problem.y[i]
    residual[m] = 0.0
    if problem.centred:
        total = 0.0
        for i in range(m):
            total += residual[i]
        for i in range(m):
            residual[i] -= total / m
            residual[m] += residual[i]


@kernel
def _descend(problem: Problem, work: Work, listed: Indices, weight: float) -> int:
    """Take epochs of coordinate descent, then extrapolate them; return how many signs changed in the last epoch."""
    coefs, residual = work.coefs, work.residual
    past_coefs, past_residuals = np.empty((_EPOCHS + 1, listed.size)), np.empty((_EPOCHS + 1, residual.size))
    n_flips = 0
    for epoch in range(_EPOCHS + 1):
        for i in range(listed.size):
            past_coefs[epoch, i] = coefs[listed[i]]
        for i in range(residual.size):
            past_residuals[epoch, i] = residual[i]
        if epoch == _EPOCHS:
            break
        n_flips = 0
        for k in listed:
            j = work.columns[k]
            norm2 = problem.norms2[j]
            aim = coefs[k] * norm2 + dot_column(problem.X, j, residual)
            new = np.sign(aim) * max(abs(aim) - weight, 0.0) / norm2
            if new != coefs[k]:
                add_column(problem.X, j, coefs[k] - new, residual)
                n_flips += coefs[k] * new <= 0.0
                coefs[k] = new
    _extrapolate(work, listed, weight, past_coefs, past_residuals)
    return n_flips


@kernel
def _extrapolate(work: Work, listed: Indices, weight: float, past_coefs: Matrix, past_residuals: Matrix) -> None:
    """Go to the mix of past epochs whose last steps cancel best (Anderson), if the objective falls that way.

    With the steps u_k the mix is z / sum(z), U'U z = 1. It sums to one, so that the residuals are mixed alike.
    """
    n = listed.size
    products, mix = np.empty((_EPOCHS, _EPOCHS)), np.ones(_EPOCHS)
    trace = 0.0
    for a in range(_EPOCHS):
        for b in range(a + 1):
            total = 0.0
            for i in range(n):
                total += (past_coefs[a + 1, i] - past_coefs[a, i]) * (past_coefs[b + 1, i] - past_coefs[b, i])
            products[a, b] = products[b, a] = total
        trace += products[a, a]
    for a in range(_EPOCHS):
        products[a, a] += 1e-10 * trace
    # Gauss without pivots: the matrix is positive definite.
    for a in range(_EPOCHS):
        for b in range(a + 1, _EPOCHS):
            factor = products[b, a] / products[a, a]
            for c in range(a, _EPOCHS):
                products[b, c] -= factor * products[a, c]
            mix[b] -= factor * mix[a]
    total = 0.0
    for a in range(_EPOCHS - 1, -1, -1):
        for b in range(a + 1, _EPOCHS):
            mix[a] -= products[a, b] * mix[b]
        mix[a] /= products[a, a]
        total += mix[a]
    m = work.residual.size - 1
    change = 0.0
    mixed_coefs, mixed_residual = np.zeros(n), np.zeros(m + 1)
    for a in range(_EPOCHS):
        share = mix[a] / total
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
def _newton(problem: Problem, work: Work, gram: Gram, members: Indices, weight: float) -> tuple[int, int]:
    """Take Newton steps on the active columns, as far as no sign changes or as the objective falls.

    With c = X_A'r a step goes to a + d, G_AA d = c - lambda sign(a): the minimum where the signs are right. The
    objective always falls at first. Where signs change, those coefficients are set to zero if the objective falls
    that way; else the step ends at the first zero. Dependent columns (G_AA singular up to the ridge) have a
    long step along which X a does not change and the l1 norm falls: one of them leaves.
    """
    coefs, corrs = work.coefs, work.corrs
    n_dots = 0
    for _ in range(_NEWTON_STEPS):
        n_active = 0
        for k in members:
            if coefs[k] != 0.0:
                n_active += 1
        if n_active == 0:
            break
        if n_active <= LARGEST_GRAM:
            asked = _prepare(work, gram, members, n_active)
            if asked != _DONE:
                return asked, n_dots
            active = gram.place_of[:n_active].copy()
        else:
            active = np.empty(n_active, np.int64)
            n = 0
            for k in members:
                if coefs[k] != 0.0:
                    active[n] = k
                    n += 1
        step = np.empty(n_active)
        for i in range(n_active):
            k = active[i]
            step[i] = (corrs[k] - weight * np.sign(coefs[k])) / np.sqrt(problem.norms2[work.columns[k]])
        if n_active <= LARGEST_GRAM:
            substitute(gram, step)
        else:
            n_dots += _conjugate_gradients(problem, work, active, step)
        n_flips = 0
        for i in range(n_active):
            k = active[i]
            step[i] /= np.sqrt(problem.norms2[work.columns[k]])
            if coefs[k] * (coefs[k] + step[i]) < 0.0:
                n_flips += 1
        if n_flips > 0:
            _shorten(problem, work, active, step, weight)
        for i in range(n_active):
            k = active[i]
            a = coefs[k]
            new = a + step[i] if a * (a + step[i]) > 0.0 else 0.0
            add_column(problem.X, work.columns[k], a - new, work.residual)
            coefs[k] = new
        n_dots += 2 * n_active
        if n_flips == 0:
            break
        for k in active:
            if coefs[k] != 0.0:
                corrs[k] = dot_column(problem.X, work.columns[k], work.residual)
    return _DONE, n_dots


@kernel
def _prepare(work: Work, gram: Gram, members: Indices, n_active: int) -> int:
    """Bring the factor to the active columns, or ask for what it takes."""
    n_new = n_gone = 0
    for k in members:
        if work.coefs[k] != 0.0:
            if gram.slot_of[k] < 0:
                return _COSINES
            if gram.row_of[k] < 0:
                n_new += 1
    for row in range(gram.size[0]):
        if work.coefs[gram.place_of[row]] == 0.0:
            n_gone += 1
    if n_gone + n_new > _FEW_CHANGES * n_active and n_active > _FEW_COLUMNS:
        return _FACTOR
    for row in range(gram.size[0] - 1, -1, -1):
        if work.coefs[gram.place_of[row]] == 0.0:
            delete(gram, row)
    if n_new > 0:
        for k in members:
            if work.coefs[k] != 0.0 and gram.row_of[k] < 0:
                append(gram, k)
    return _DONE


@kernel
def _conjugate_gradients(problem: Problem, work: Work, active: Indices, x: Vector) -> int:
    """Replace x by the solution of (cosines + ridge) d = x, as far as some iterations go; return the dots."""
    n = active.size
    m = work.residual.size - 1
    v = np.empty(m + 1)
    rest = x.copy()
    direction = x.copy()
    image = np.empty(n)
    for i in range(n):
        x[i] = 0.0
    rr = first = 0.0
    for i in range(n):
        rr += rest[i] * rest[i]
    first = rr
    n_dots = 0
    for _ in range(_CG_ITERATIONS):
        if rr <= _CG_ACCURACY**2 * first:
            break
        for i in range(m + 1):
            v[i] = 0.0
        for i in range(n):
            j = work.columns[active[i]]
            add_column(problem.X, j, direction[i] / np.sqrt(problem.norms2[j]), v)
        constant = v[m] / m
        for i in range(m):
            v[i] -= constant
        v[m] = 0.0
        curvature = 0.0
        for i in range(n):
            j = work.columns[active[i]]
            image[i] = dot_column(problem.X, j, v) / np.sqrt(problem.norms2[j]) + 1e-7 * direction[i]
            curvature += image[i] * direction[i]
        n_dots += 2 * n
        a = rr / curvature
        new_rr = 0.0
        for i in range(n):
            x[i] += a * direction[i]
            rest[i] -= a * image[i]
            new_rr += rest[i] * rest[i]
        b = new_rr / rr
        rr = new_rr
        for i in range(n):
            direction[i] = rest[i] + b * direction[i]
    return n_dots


@kernel
def _shorten(problem: Problem, work: Work, active: Indices, step: Vector, weight: float) -> None:
    """Shorten a step along which signs change, until the objective falls; at last to the first change."""
    first, share = -1, np.inf
    for i in range(active.size):
        a = work.coefs[active[i]]
        if a * (a + step[i]) < 0.0 and -a / step[i] < share:
            first, share = i, -a / step[i]
    factor = 1.0
    while factor > share and factor > _SHORTEST:
        if _falls(problem, work, active, step, weight):
            return
        factor *= 0.5
        for i in range(active.size):
            step[i] *= 0.5
    for i in range(active.size):
        step[i] *= share / factor
    step[first] = -work.coefs[active[first]]


@kernel
def _falls(problem: Problem, work: Work, active: Indices, step: Vector, weight: float) -> bool:
    """Tell whether the objective falls after `step`, with zero where the sign changes.

    It changes by 1/2 ||X d||^2 - c'd + lambda (||a + d||_1 - ||a||_1).
    """
    m = work.residual.size - 1
    v = np.zeros(m + 1)
    change = 0.0
    for i in range(active.size):
        k = active[i]
        a = work.coefs[k]
        after = a + step[i] if a * (a + step[i]) > 0.0 else 0.0
        add_column(problem.X, work.columns[k], after - a, v)
        change += weight * (abs(after) - abs(a)) - work.corrs[k] * (after - a)
    constant = v[m] / m
    for i in range(m):
        change += 0.5 * (v[i] - constant) ** 2
    return change < 0.0

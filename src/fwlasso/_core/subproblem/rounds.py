"""Rounds on a working set: coordinate descent to find the signs, Newton's steps to finish.

In steps:

1. c_j = z_j'r for all members, r = y - X a; the gap and the objective follow;
2. where the gap is the one asked for, or all that is left is rounding: r is computed from a once more, and the gap;
3. epochs of coordinate descent over the columns that may move, a_j <- argmin of 1/2 ||z_j||^2 t^2 - rho t + cost_j(t)
   with rho = c_j + ||z_j||^2 a_j, until the largest violation is a fraction of what it was, or they cost as much as 4.;
4. Newton's steps on the free columns, see `newton`; on with 1.;
5. where rounds have led nowhere for long, the column with the largest violation enters alone; at last the factor is of
   columns and not of their products.

A round is a chain of steps. Compiled code takes those that are small; the others, for threads or for BLAS, it asks for
by returning before them.
"""

from typing import NamedTuple

import numpy as np

from ..costs import Cost, has_free_columns, is_free
from ..jit import kernel
from ..sweeps import Indices
from .copies import Copies, entries_of
from .descent import (
    EPOCHS,
    SubIterate,
    active_places,
    are_known,
    correlate,
    descend,
    free_places,
    gap_and_objective,
    listed_places,
    refresh,
    violation_at,
)
from .gram import LARGEST_GRAM, Gram
from .newton import COSINES, FACTOR, NEWTON_DONE, NO_FACTOR, newton
from .preconditioner import are_rows_full
from .products import MANY_ENTRIES

# Steps, beside those that Newton's steps ask for. A round goes from one CORRELATE to the next.
REFRESH, CORRELATE, BEGIN, DESCEND, ENTER, CORRELATE_LISTED, NEWTON, BY_QR, LOOK, FINISH, CERTIFY, DONE = range(10, 22)
# Those that threads take, where the members of the working set have many entries.
_LARGE = (CORRELATE, CORRELATE_LISTED, FINISH)
#: What comes after steps that are asked for.
AFTER = {
    REFRESH: CORRELATE,
    CORRELATE: BEGIN,
    CORRELATE_LISTED: NEWTON,
    COSINES: NEWTON,
    FACTOR: NEWTON,
    NO_FACTOR: CORRELATE,
    BY_QR: CORRELATE,
    LOOK: CORRELATE,
    FINISH: CERTIFY,
}
# In so many rounds the objective must fall by this fraction of the gap, or the gap by half: else rounding is left.
_MAX_IDLE, _PROGRESS = 100, 1e-3
# After so many idle rounds columns enter one by one; after more, Newton's equations are solved by an exacter factor.
_ONE_BY_ONE, _BY_QR = 5, 20
_UNIT = 2.0**-53
# What a Newton step without a factor costs, in epochs: with a copy of the columns and a preconditioner; without, where
# there are more entries in a row than pay for that.
_EPOCHS_PER_STEP, _EPOCHS_PER_PLAIN_STEP = 20.0, 3.0
# Epochs bring violations down to this fraction of what the goal allows, or to this fraction of what they were.
_ENOUGH, _FRACTION = 0.7, 0.1


class Aim(NamedTuple):
    """What is asked for: a gap over the members of a working set."""

    lam: float
    radius: float  # see `gap_and_objective`
    goal: float
    max_rounds: int
    n_dots_in_burst: int  # between looks at the clock


class RoundState(NamedTuple):
    """How far the rounds have come."""

    n_rounds: int
    gap: float
    best: float  # objective
    least: float  # gap
    n_idle: int  # rounds since one of them fell


class Epochs(NamedTuple):
    """What epochs are to do."""

    listed: Indices  # places they go over
    enough: float  # violation they end with
    n_left: float  # how many cost no more than a Newton step


class Rounds(NamedTuple):
    """Where the rounds are: the next step, and what it takes."""

    step: int
    n_dots: int
    state: RoundState
    epochs: Epochs


def first_round(step: int) -> Rounds:
    """Return where rounds start, with REFRESH or CORRELATE."""
    return Rounds(step, 0, RoundState(0, np.inf, np.inf, np.inf, 0), Epochs(np.empty(0, np.int64), 0.0, 0.0))


@kernel
def advance(copies: Copies, iterate: SubIterate, gram: Gram, members: Indices, aim: Aim, rounds: Rounds) -> Rounds:
    """Take steps to the end, or up to one that is to be taken elsewhere; return where that is."""
    step, n_dots, state, epochs = rounds
    lam = aim.lam
    # Columns without a penalty are projected out of the residual before it is correlated, by BLAS.
    elsewhere = entries_of(copies, members) >= MANY_ENTRIES or has_free_columns(copies.cost)
    while not (elsewhere and step in _LARGE):
        if step == CORRELATE and n_dots - rounds.n_dots > aim.n_dots_in_burst:
            step = LOOK
        elif step == CORRELATE:
            correlate(copies, iterate, members)
            step = BEGIN
        elif step == BEGIN:
            n_dots += members.size
            state, epochs, step = _begin_round(copies, iterate, gram, members, aim, state)
        elif step == DESCEND:
            listed, enough, n_left = epochs
            n_epochs, violation, is_slow = descend(copies, iterate, listed, lam, enough, n_left)
            epochs = Epochs(free_places(copies.cost, iterate, listed), enough, n_left - n_epochs)
            n_dots += n_epochs * listed.size + is_slow * epochs.listed.size
            step = (
                CORRELATE
                if violation <= enough or epochs.listed.size == 0
                else CORRELATE_LISTED
                if is_slow
                else DESCEND
            )
        elif step == ENTER:
            refresh(copies, iterate, members)
            descend(copies, iterate, epochs.listed, lam, 0.0, 0.0)
            epochs = Epochs(free_places(copies.cost, iterate, members), 0.0, 0.0)
            n_dots += 2 * epochs.listed.size
            step = CORRELATE_LISTED if state.n_idle <= _BY_QR else BY_QR
        elif step == CORRELATE_LISTED:
            correlate(copies, iterate, epochs.listed)
            step = NEWTON
        elif step == NEWTON:
            asked, dots = newton(copies, iterate, gram, members, lam)
            n_dots += dots
            step = CORRELATE if asked == NEWTON_DONE else asked
        elif step == FINISH:
            n_dots += _finish(copies, iterate, members, aim.goal)
            step = CERTIFY
        elif step == CERTIFY:
            n_rounds, _, best, least, n_idle = state
            gap, _ = gap_and_objective(copies, iterate, members, lam, aim.radius)
            state = RoundState(n_rounds, gap, best, least, n_idle)
            step = DONE
        else:
            break
    return Rounds(step, n_dots, state, epochs)


@kernel
def _begin_round(
    copies: Copies, iterate: SubIterate, gram: Gram, members: Indices, aim: Aim, state: RoundState
) -> tuple[RoundState, Epochs, int]:
    """Begin a round, given the correlations of the members: return how far we are, where epochs end, and the next step.

    The gap is about proportional to the largest violation of the optimality conditions, and is to become a fraction of
    what it is. But where little is left of it, columns that are not listed may matter more. A Newton step is next where
    epochs would cost more.
    """
    n, _, best, least, n_idle = state
    gap, objective = gap_and_objective(copies, iterate, members, aim.lam, aim.radius)
    if not objective <= copies.yy:  # twice that of a = 0, or not a number: what was computed is rounding
        for k in members:
            iterate.coefs[k] = 0.0
        refresh(copies, iterate, members)
        correlate(copies, iterate, members)
        gap, objective = gap_and_objective(copies, iterate, members, aim.lam, aim.radius)
        n_idle = _MAX_IDLE if n > 0 else n_idle  # it would come to this again
    rounding = _UNIT * (copies.yy + max(0.0, aim.radius) * aim.lam)  # of the numbers that a gap is the rest of
    n_idle += 1
    if objective < best - _PROGRESS * gap or gap < 0.5 * least:  # the gap bounds what there is to gain
        n_idle = 0
        best, least = min(best, objective), min(least, gap)
    if gap <= max(aim.goal, rounding) or n >= aim.max_rounds or n_idle > _MAX_IDLE:
        return RoundState(n, gap, best, least, n_idle), Epochs(members, 0.0, 0.0), FINISH
    if n_idle > _ONE_BY_ONE:
        return (
            RoundState(n + 1, gap, best, least, n_idle),
            Epochs(_worst(copies.cost, iterate, members, aim.lam), 0.0, 0.0),
            ENTER,
        )
    listed, violation = listed_places(copies, iterate, members, aim.lam)
    enough = max(_ENOUGH * aim.goal / gap, _FRACTION) * violation
    n_affordable = _affordable_epochs(copies, iterate, gram, listed)
    # Epochs find the signs: not needed where no column should enter, if a Newton step costs less than they do.
    step = (
        NEWTON if n_affordable < EPOCHS and free_places(copies.cost, iterate, listed).size == listed.size else DESCEND
    )
    return RoundState(n + 1, gap, best, least, n_idle), Epochs(listed, enough, n_affordable), step


@kernel
def _worst(cost: Cost, iterate: SubIterate, members: Indices, lam: float) -> Indices:
    """Return the place that violates the optimality conditions most, if it is one that is not free."""
    worst, violation = np.empty(0, np.int64), 0.0
    for k in members:
        size = violation_at(cost, lam, k, iterate)
        if size > violation:
            violation = size
            worst = np.empty(0 if is_free(cost, k, iterate.coefs[k]) else 1, np.int64)
            worst[:] = k
    return worst


@kernel
def _finish(copies: Copies, iterate: SubIterate, members: Indices, goal: float) -> int:
    """Compute the residual again, and the correlations of active columns if they differ; return the dot products.

    Of the other columns no more will be used than what their last correlation was.
    """
    before = iterate.residual.copy()
    refresh(copies, iterate, members)
    active = active_places(iterate, members)
    if are_known(copies, iterate, active, before, goal):
        return 0
    correlate(copies, iterate, active)
    return active.size


@kernel
def _affordable_epochs(copies: Copies, iterate: SubIterate, gram: Gram, listed: Indices) -> float:
    """Return for how many epochs coordinate descent costs no more than a Newton step, roughly.

    In nanoseconds: of an epoch, some per column and per entry; of Newton's step, the cosines of new columns and a
    factorization, or iterations that cost as much as epochs.
    """
    n, entries, n_new = listed.size, entries_of(copies, listed), 0
    for k in listed:
        n_new += gram.slot_of[k] < 0
    if n > LARGEST_GRAM:
        return _EPOCHS_PER_PLAIN_STEP if are_rows_full(copies.y.size - 1, entries) else _EPOCHS_PER_STEP
    epoch = 30.0 * n + 2.0 * entries
    return 0.5 * (1e4 + n**3 / 60.0 + n_new * entries * 0.3) / max(epoch, 1.0)

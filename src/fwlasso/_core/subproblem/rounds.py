"""Rounds on a working set: coordinate descent to find the signs, Newton's steps to finish.

A round is a chain of steps. Compiled code takes those that are small; the others, for threads or for BLAS, it asks for
by returning before them.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from .copies import Copies, Indices, entries_of, rank_bound
from .descent import EPOCHS, Work, active_places, appraise, are_known, correlate, descend, listed_places, refresh
from .gram import LARGEST_GRAM, Gram
from .newton import COSINES, FACTOR, NEWTON_DONE, NO_FACTOR, newton
from .preconditioner import are_rows_full
from .products import MANY_ENTRIES

# Steps, beside those that Newton's steps ask for. A round goes from one PRICE to the next.
REFRESH, PRICE, APPRAISE, DESCEND, ENTER, CORRELATE, NEWTON, BY_QR, LOOK, FINISH, CERTIFY, DONE = range(10, 22)
# Those that threads take, where the members of the working set have many entries.
_LARGE = (PRICE, CORRELATE, FINISH)
#: What comes after steps that are asked for.
AFTER = {
    REFRESH: PRICE,
    PRICE: APPRAISE,
    CORRELATE: NEWTON,
    COSINES: NEWTON,
    FACTOR: NEWTON,
    NO_FACTOR: PRICE,
    BY_QR: PRICE,
    LOOK: PRICE,
    FINISH: CERTIFY,
}
# In so many rounds the objective must fall by this share of the gap, or the gap by half: else rounding is what is left.
_MAX_IDLE, _PROGRESS = 100, 1e-3
# After so many idle rounds columns enter one by one; after more, Newton's equations are solved by an exacter factor.
_ONE_BY_ONE, _BY_QR = 5, 20
_UNIT = 2.0**-53
# What a Newton step without a factor costs, in epochs: with a copy of the columns and a preconditioner; without, where
# there are more entries in a row than pay for that.
_EPOCHS_PER_STEP, _EPOCHS_PER_PLAIN_STEP = 20.0, 3.0
# Epochs bring violations down to this share of what the goal allows, or to this share of what they were.
_ENOUGH, _SHARE = 0.7, 0.1


class Task(NamedTuple):
    """What is asked for: a gap over the members of a working set."""

    weight: float
    radius: float  # see `appraise`
    goal: float
    max_rounds: int
    n_dots_in_burst: int  # between looks at the clock


class Progress(NamedTuple):
    """How far the rounds have come."""

    n_rounds: int
    gap: float
    best: float  # objective
    least: float  # gap
    n_idle: int  # rounds since one of them fell


class Plan(NamedTuple):
    """What epochs are to do."""

    listed: Indices  # places they go over
    enough: float  # violation they end with
    n_left: float  # how many cost no more than a Newton step


class Rounds(NamedTuple):
    """Where the rounds are: the next step, and what it takes."""

    step: int
    n_dots: int
    progress: Progress
    plan: Plan


def first_round(step: int) -> Rounds:
    """Return where rounds start, with REFRESH or PRICE."""
    return Rounds(step, 0, Progress(0, np.inf, np.inf, np.inf, 0), Plan(np.empty(0, np.int64), 0.0, 0.0))


@kernel
def advance(copies: Copies, work: Work, gram: Gram, members: Indices, task: Task, rounds: Rounds) -> Rounds:
    """Take steps to the end, or up to one that is to be taken elsewhere; return where that is."""
    step, n_dots, progress, plan = rounds
    weight = task.weight
    on_threads = entries_of(copies, members) >= MANY_ENTRIES
    while not (on_threads and step in _LARGE):
        if step == PRICE and n_dots - rounds.n_dots > task.n_dots_in_burst:
            step = LOOK
        elif step == PRICE:
            correlate(copies, work, members)
            step = APPRAISE
        elif step == APPRAISE:
            n_dots += members.size
            progress, plan, step = _plan(copies, work, gram, members, task, progress)
        elif step == DESCEND:
            listed, enough, n_left = plan
            n_epochs, violation, is_slow = descend(copies, work, listed, weight, enough, n_left)
            plan = Plan(active_places(work, listed), enough, n_left - n_epochs)
            n_dots += n_epochs * listed.size + is_slow * plan.listed.size
            step = PRICE if violation <= enough or plan.listed.size == 0 else CORRELATE if is_slow else DESCEND
        elif step == ENTER:
            refresh(copies, work, members)
            descend(copies, work, plan.listed, weight, 0.0, 0.0)
            plan = Plan(active_places(work, members), 0.0, 0.0)
            n_dots += 2 * plan.listed.size
            step = CORRELATE if progress.n_idle <= _BY_QR else BY_QR
        elif step == CORRELATE:
            correlate(copies, work, plan.listed)
            step = NEWTON
        elif step == NEWTON:
            asked, dots = newton(copies, work, gram, members, weight)
            n_dots += dots
            step = PRICE if asked == NEWTON_DONE else asked
        elif step == FINISH:
            n_dots += _finish(copies, work, members, task.goal)
            step = CERTIFY
        elif step == CERTIFY:
            n_rounds, _, best, least, n_idle = progress
            gap, _ = appraise(copies, work, members, weight, task.radius)
            progress = Progress(n_rounds, gap, best, least, n_idle)
            step = DONE
        else:
            break
    return Rounds(step, n_dots, progress, plan)


@kernel
def _plan(
    copies: Copies, work: Work, gram: Gram, members: Indices, task: Task, progress: Progress
) -> tuple[Progress, Plan, int]:
    """Plan a round on priced members: return how far we are, where epochs end that are worth it, and the next step.

    The gap is about proportional to the largest violation of the optimality conditions, and is to become a share of
    what it is. But where little is left of it, columns that are not listed may matter more. A Newton step is next where
    epochs would cost more.
    """
    n, _, best, least, n_idle = progress
    gap, objective = appraise(copies, work, members, task.weight, task.radius)
    if not objective <= copies.yy:  # twice that of a = 0, or not a number: what was computed is rounding
        for k in members:
            work.coefs[k] = 0.0
        refresh(copies, work, members)
        correlate(copies, work, members)
        gap, objective = appraise(copies, work, members, task.weight, task.radius)
        n_idle = _MAX_IDLE if n > 0 else n_idle  # it would come to this again
    rounding = _UNIT * (copies.yy + max(0.0, task.radius) * task.weight)  # of the numbers that a gap is the rest of
    n_idle += 1
    if objective < best - _PROGRESS * gap or gap < 0.5 * least:  # the gap bounds what there is to gain
        n_idle = 0
        best, least = min(best, objective), min(least, gap)
    if gap <= max(task.goal, rounding) or n >= task.max_rounds or n_idle > _MAX_IDLE:
        return Progress(n, gap, best, least, n_idle), Plan(members, 0.0, 0.0), FINISH
    if n_idle > _ONE_BY_ONE:
        return Progress(n + 1, gap, best, least, n_idle), Plan(_worst(work, members, task.weight), 0.0, 0.0), ENTER
    listed, violation = listed_places(rank_bound(copies), work, members, task.weight)
    enough = max(_ENOUGH * task.goal / gap, _SHARE) * violation
    n_affordable = _affordable_epochs(copies, work, gram, listed)
    # Epochs find the signs: not needed where no column should enter, if a Newton step costs less than they do.
    step = NEWTON if n_affordable < EPOCHS and active_places(work, listed).size == listed.size else DESCEND
    return Progress(n + 1, gap, best, least, n_idle), Plan(listed, enough, n_affordable), step


@kernel
def _worst(work: Work, members: Indices, weight: float) -> Indices:
    """Return the place that violates the optimality conditions most, if it is one that is not active."""
    worst, violation = np.empty(0, np.int64), 0.0
    for k in members:
        if work.coefs[k] != 0.0:
            size = abs(work.corrs[k] - weight * np.sign(work.coefs[k]))
        else:
            size = abs(work.corrs[k]) - weight
        if size > violation:
            violation = size
            worst = np.empty(0 if work.coefs[k] != 0.0 else 1, np.int64)
            worst[:] = k
    return worst


@kernel
def _finish(copies: Copies, work: Work, members: Indices, goal: float) -> int:
    """Compute the residual anew, and the correlations of active columns if they differ; return the dot products.

    Of the other columns no more will be used than what their last price was.
    """
    before = work.residual.copy()
    refresh(copies, work, members)
    active = active_places(work, members)
    if are_known(copies, work, active, before, goal):
        return 0
    correlate(copies, work, active)
    return active.size


@kernel
def _affordable_epochs(copies: Copies, work: Work, gram: Gram, listed: Indices) -> float:
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

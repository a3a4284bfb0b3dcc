"""Parts of the engine for a problem, as the tests of what works on them want them."""

import numpy as np

from fwlasso._core.problem import Problem
from fwlasso._core.subproblem.copies import Copies
from fwlasso._core.subproblem.descent import SubIterate, correlate
from fwlasso._core.subproblem.descent import gap_and_objective as known_gap
from fwlasso._core.threads import Workers
from fwlasso.certified.copier import Copier
from fwlasso.certified.objectives import Objective, make_objective
from fwlasso.certified.working_set import WorkingSet
from fwlasso.problem.passes import LocalPass


def least_squares(problem: Problem) -> Objective:
    """Return least squares, whose columns are in memory."""
    return make_objective(problem, LocalPass(problem, Workers(1)))


def working_set(problem: Problem, workers: Workers) -> WorkingSet:
    """Return a working set of the columns in memory."""
    return WorkingSet(least_squares(problem), LocalPass(problem, workers), workers)


def make_copier(problem: Problem, workers: Workers) -> Copier:
    """Return a copier for the columns of a problem."""
    return Copier(problem, LocalPass(problem, workers).summary, workers)


def copied(problem: Problem, columns: np.ndarray | None = None) -> Copies:
    """Return the copies of `columns`, at the places 0, 1, 2, ...; by default of all."""
    columns = np.arange(problem.xty.size) if columns is None else np.asarray(columns, np.int64)
    with Workers(1) as workers:
        copier = make_copier(problem, workers)
        copier.copy(LocalPass(problem, workers).take(columns), np.arange(columns.size))
    return copier.copies


def gap_and_objective(copies: Copies, iterate: SubIterate, members: np.ndarray, lam: float) -> tuple[float, float]:
    """Return the gap over some places, whose correlations are computed first, and the objective."""
    correlate(copies, iterate, members)
    return known_gap(copies, iterate, members, lam, -1.0)

"""Copies of the columns of a problem, for the tests of what works on them."""

import numpy as np

from fwlasso._core.problem import Problem
from fwlasso._core.subproblem.copies import Copies
from fwlasso._core.threads import Workers
from fwlasso.certified.copier import Copier


def copied(problem: Problem, columns: np.ndarray | None = None) -> Copies:
    """Return the copies of `columns`, at the places 0, 1, 2, ...; by default of all."""
    columns = np.arange(problem.xty.size) if columns is None else np.asarray(columns, np.int64)
    with Workers(1) as workers:
        copier = Copier(problem, workers)
        copier.copy(columns, np.arange(columns.size))
    return copier.copies

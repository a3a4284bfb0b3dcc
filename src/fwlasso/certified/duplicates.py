"""Exact copies of columns, with either sign: only the first of them is worked with."""

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector, add_column, dot_column, samples
from .._core.jit import kernel
from .._core.problem import Problem
from .._core.samples import sample_vector, weight
from .._core.subproblem.copies import Indices


class Duplicates:
    """Finds copies among columns that come up, and remembers them.

    Copies have the same |z_j'y| to the last bit, since the same code computed it from the same numbers. Of those that
    have, the hash is their product with a fixed random vector. A match is verified number by number.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._probe = sample_vector(_restrict(problem, np.random.default_rng(0).standard_normal(problem.y.size - 1)))
        self._is_copy = np.zeros(problem.xty.size, np.bool_)

    def distinct(self, columns: Indices) -> Indices:
        """Return `columns` in increasing order, without zero columns and without copies of earlier ones.

        Copies are found if their original is among `columns`, too.
        """
        problem = self._problem
        columns = np.sort(columns[~self._is_copy[columns] & (problem.norms2[columns] > 0.0)])
        alike, _ = _ties(columns, np.abs(problem.xty[columns]))
        if alike.size == 0:
            return columns
        alike, follows = _ties(alike, _hashes(problem, self._probe, alike))
        self._is_copy[alike[_copies(problem, alike, follows)]] = True
        return columns[~self._is_copy[columns]]


def _ties(columns: Indices, hashes: Vector) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the columns whose hash others have, too, next to these and in their order, and which follow another."""
    order = np.argsort(hashes, kind="stable")
    follows = np.zeros(columns.size + 1, np.bool_)
    follows[1:-1] = hashes[order[1:]] == hashes[order[:-1]]
    tied = follows[:-1] | follows[1:]
    return columns[order[tied]], follows[:-1][tied]


@kernel
def _restrict(problem: Problem, values: Vector) -> Vector:
    """Return `values`, zero for samples that are not in the problem."""
    for i in range(values.size):
        values[i] *= weight(samples(problem.X), i)
    return values


@kernel
def _hashes(problem: Problem, probe: Vector, columns: Indices) -> Vector:
    """Return |z_j'w| for random w."""
    hashes = np.empty(columns.size)
    for k in range(columns.size):
        hashes[k] = abs(dot_column(problem.X, columns[k], probe))
    return hashes


@kernel
def _copies(problem: Problem, columns: Indices, follows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which columns are copies of the first of their hash, given which follow another of the same hash."""
    copies = np.zeros(columns.size, np.bool_)
    original, other = np.zeros(problem.y.size), np.zeros(problem.y.size)
    for k in range(columns.size):
        if not follows[k]:
            original[:] = 0.0
            add_column(problem.X, columns[k], 1.0, original)
            continue
        other[:] = 0.0
        add_column(problem.X, columns[k], 1.0, other)
        n_unequal = n_unopposed = 0
        for i in range(other.size):
            n_unequal += other[i] != original[i]
            n_unopposed += other[i] != -original[i]
        copies[k] = n_unequal == 0 or n_unopposed == 0
    return copies

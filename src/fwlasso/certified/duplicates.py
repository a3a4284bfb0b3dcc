"""Copies of columns: only the first of them is worked with."""

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, add_column, dot_column
from .._core.costs import Cost, has_ridge, is_plain
from .._core.jit import kernel
from .._core.samples import sample_vector, weight_vector
from .._core.sweeps import Indices
from ..problem.passes import ColumnPass, is_among


class Duplicates:
    """Finds copies among columns that come up, and remembers them.

    Copies have the same |z_j'y| to the last bit, since the same code computed it from the same numbers. Of those that
    have, the hash is their product with a fixed random vector. A match is verified number by number.
    """

    def __init__(self, columns: ColumnPass) -> None:
        weights = weight_vector(columns.summary.samples)
        self._columns = columns
        self._hash_vector = sample_vector(np.random.default_rng(0).standard_normal(weights.size) * weights)
        self._copies = np.empty(0, np.int64)

    def distinct(self, columns: Indices) -> Indices:
        """Return `columns` in increasing order, without zero columns and without copies of earlier ones.

        Copies are found if their original is among `columns`, too.
        """
        columns = self._without_copies(np.sort(columns))
        taken = self._columns.take(columns)
        there = np.flatnonzero(taken.norms2 > 0.0)
        for some, may_be_turned in _of_one_cost(taken.cost, there):
            alike, _ = _ties(some, np.abs(taken.xty[some]))
            if alike.size == 0:
                continue
            alike, follows = _ties(alike, _hashes(taken.X, taken.at[alike], self._hash_vector))
            is_copy = _copies(taken.X, taken.at[alike], follows, self._hash_vector.size, may_be_turned)
            self._copies = np.sort(np.append(self._copies, columns[alike[is_copy]]))
        return self._without_copies(columns[there])

    def _without_copies(self, columns: Indices) -> Indices:
        return columns[~is_among(columns, self._copies)]


def _of_one_cost(cost: Cost, columns: Indices) -> list[tuple[Indices, bool]]:
    """Return the columns of which copies can be left out, by their cost, and whether copies may be of the other sign.

    With a ridge copies share a coefficient, with bounds other than zero they add up.
    """
    if is_plain(cost):
        return [(columns, True)]
    if has_ridge(cost):
        return []
    lower, upper = cost.lower[columns], cost.upper[columns]
    sides = ((-np.inf, np.inf), (0.0, np.inf), (-np.inf, 0.0))
    is_penalized = cost.slopes[columns] > 0.0
    return [(columns[is_penalized & (lower == low) & (upper == high)], low < 0.0 < high) for low, high in sides]


def _ties(columns: Indices, hashes: Vector) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the columns whose hash others have, too, next to these and in their order, and which follow another."""
    order = np.argsort(hashes, kind="stable")
    follows = np.zeros(columns.size + 1, np.bool_)
    follows[1:-1] = hashes[order[1:]] == hashes[order[:-1]]
    tied = follows[:-1] | follows[1:]
    return columns[order[tied]], follows[:-1][tied]


@kernel
def _hashes(X: Columns, columns: Indices, vector: Vector) -> Vector:
    """Return |z_j'w| for random w."""
    hashes = np.empty(columns.size)
    for k in range(columns.size):
        hashes[k] = abs(dot_column(X, columns[k], vector))
    return hashes


@kernel
def _copies(X: Columns, columns: Indices, follows: NDArray[np.bool_], n: int, may_be_turned: bool) -> NDArray[np.bool_]:
    """Tell which columns are copies of the first of their hash, given which follow another of the same hash."""
    copies = np.zeros(columns.size, np.bool_)
    original, other = np.zeros(n), np.zeros(n)
    for k in range(columns.size):
        if not follows[k]:
            original[:] = 0.0
            add_column(X, columns[k], 1.0, original)
            continue
        other[:] = 0.0
        add_column(X, columns[k], 1.0, other)
        n_unequal = n_unopposed = 0
        for i in range(other.size):
            n_unequal += other[i] != original[i]
            n_unopposed += other[i] != -original[i]
        copies[k] = n_unequal == 0 or (may_be_turned and n_unopposed == 0)
    return copies

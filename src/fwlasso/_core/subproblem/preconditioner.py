"""A preconditioner for Newton's equations on many sparse columns: L'L, near the inverse of their cosines.

Columns that share most of their rows, words of the same texts say, take conjugate gradients many iterations to tell
apart. L is triangular and sparse. A row of it has one column and the few before it that are closest to it, and solves
the equations of these alone: with their cosines C C' it is the last row of the inverse of C. So it cannot fail. It is
kept along the path: where columns have come and gone, only their rows are made, and those that had the ones gone.
"""

from typing import NamedTuple

import numpy as np

from ..columns import Matrix, Vector
from ..jit import kernel
from ..sweeps import Indices
from ..threads import Workers, even_cuts
from .copies import Copies, count_entries
from .rows import SparseRows, no_rows

# Columns are close beyond this cosine; at most so many are taken, with a ridge.
_CLOSE, _MOST_CLOSE, _RIDGE = 0.15, 8, 1e-4
# They are looked for if that takes no more products than this for every entry.
_MOST_PRODUCTS = 50.0
# The time of a product is that to read so many bytes.
_BYTES_PER_PRODUCT = 20


class Rows(NamedTuple):
    """The rows of L, by place of the working set."""

    ranks: Indices  # columns come in this order, as they came; -1: not in it
    lengths: Indices
    names: Indices  # places
    values: Matrix


class Given(NamedTuple):
    """The active columns."""

    places: Indices
    norms: Vector
    rows: SparseRows  # the columns, divided by their norms


class Preconditioner:
    """L for some places of the working set: the active ones when it was last made."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._n_made = 0
        self._rows = _empty_rows(0)

    def forget(self, places: Indices) -> None:
        """Forget all rows, if one of these places is in them."""
        if (self._rows.ranks[places[places < self._rows.ranks.size]] >= 0).any():
            self._rows.ranks[:] = -1

    def factor(self, copies: Copies, active: Indices, rows: SparseRows) -> SparseRows:
        """Return L for the places `active`, whose columns by rows are `rows`; none: the identity.

        Those that are not in it yet come last, the ones with few entries first: it is those that are close to one
        another.
        """
        in_row = np.diff(rows.starts)
        n_products = float(in_row @ in_row)
        if not 0.0 < n_products <= _MOST_PRODUCTS * rows.values.size:
            return no_rows()
        if copies.norms2.size > self._rows.ranks.size:
            before, self._rows = self._rows, _empty_rows(copies.norms2.size)
            for old, room in zip(before, self._rows, strict=True):
                room[: len(old)] = old
        made, given = self._rows, Given(active, np.sqrt(copies.norms2[active]), rows)
        new, outdated = _find_outdated(made, active)
        new = new[np.argsort(count_entries(copies, active[new]), kind="stable")]
        made.ranks[active[new]] = np.arange(self._n_made, self._n_made + new.size)
        self._n_made += new.size
        todo = np.concatenate([outdated, new])
        cuts = even_cuts(todo.size, int(_BYTES_PER_PRODUCT * n_products * todo.size / active.size))
        self._workers.map(lambda lo, hi: _make_rows(copies, given, made, todo[lo:hi]), cuts)
        return _gather(made, active)


def _empty_rows(n_places: int) -> Rows:
    table = n_places, _MOST_CLOSE + 1
    return Rows(
        np.full(n_places, -1, np.int64), np.zeros(n_places, np.int64), np.zeros(table, np.int64), np.zeros(table)
    )


@kernel
def are_rows_full(n_rows: int, n_entries: int) -> bool:
    """Tell whether no preconditioner pays for columns with so many entries, wherever these are.

    n of them in m rows make n^2 / m products at least.
    """
    return n_entries > _MOST_PRODUCTS * n_rows


@kernel
def _find_outdated(made: Rows, active: Indices) -> tuple[Indices, Indices]:
    """Forget the places that are not active; return which of `active` are new, and whose rows have one that is gone."""
    is_active = np.zeros(made.ranks.size, np.bool_)
    for place in active:
        is_active[place] = True
    for place in range(is_active.size):
        if not is_active[place]:
            made.ranks[place] = -1
    new, outdated = np.empty(active.size, np.int64), np.empty(active.size, np.int64)
    n_new = n_outdated = 0
    for i in range(active.size):
        place = active[i]
        if made.ranks[place] < 0:
            new[n_new] = i
            n_new += 1
            continue
        for k in range(made.lengths[place]):
            if not is_active[made.names[place, k]]:
                outdated[n_outdated] = i
                n_outdated += 1
                break
    return new[:n_new], outdated[:n_outdated]


@kernel
def _gather(made: Rows, active: Indices) -> SparseRows:
    """Return the rows of `active` places, all of whose names are active; 16 bits do, as for the rows given."""
    n = active.size
    position_of, starts = np.empty(made.ranks.size, np.int64), np.zeros(n + 1, np.int64)
    for i in range(n):
        position_of[active[i]] = i
        starts[i + 1] = starts[i] + made.lengths[active[i]]
    columns, values = np.empty(starts[n], np.uint16), np.empty(starts[n])
    for i in range(n):
        for k in range(made.lengths[active[i]]):
            columns[starts[i] + k] = position_of[made.names[active[i], k]]
            values[starts[i] + k] = made.values[active[i], k]
    return SparseRows(starts, columns, values, np.zeros(n), np.ones(n))


@kernel
def _make_rows(copies: Copies, given: Given, made: Rows, todo: Indices) -> None:
    """Make the rows of L of some of the columns given; their ranks are known."""
    n, n_most = given.places.size, _MOST_CLOSE + 1
    ranks = made.ranks[given.places]
    products, seen, seen_by = np.empty(n), np.empty(n, np.int64), np.full(n, -1, np.int64)
    scattered = np.zeros(copies.y.size)
    close, cosines = np.empty(n_most, np.int64), np.empty((n_most, n_most))
    for i in todo:
        n_close = _find_close(copies, given, ranks, i, products, seen, seen_by, close[:_MOST_CLOSE])
        close[n_close] = i
        _fill_cosines(copies, given, close[: n_close + 1], scattered, cosines)
        place = given.places[i]
        _solve_last(cosines, made.values[place, : n_close + 1])
        for a in range(n_close + 1):
            made.names[place, a] = given.places[close[a]]
        made.lengths[place] = n_close + 1


@kernel
def _find_close(
    copies: Copies,
    given: Given,
    ranks: Indices,
    i: int,
    products: Vector,
    seen: Indices,
    seen_by: Indices,
    close: Indices,
) -> int:
    """Fill in which of the columns given, of smaller rank, are closest to the i-th of them; return how many."""
    total, rank, k, rows = copies.total, ranks[i], given.places[i], given.rows
    n_seen = 0
    for at in range(copies.starts[k], copies.stops[k]):
        row, value = copies.indices[at], copies.data[at] / given.norms[i]
        for e in range(rows.starts[row], rows.starts[row + 1]):
            other = rows.columns[e]
            if ranks[other] >= rank:
                continue
            if seen_by[other] != i:
                seen_by[other] = i
                products[other] = -total * rows.shifts[i] * rows.shifts[other]
                seen[n_seen] = other
                n_seen += 1
            products[other] += value * rows.values[e]
    n = 0
    for other in seen[:n_seen]:
        size = abs(products[other])
        if size <= _CLOSE or (n == close.size and size <= abs(products[close[n - 1]])):
            continue
        n = min(n + 1, close.size)
        at = n - 1
        while at > 0 and abs(products[close[at - 1]]) < size:
            close[at] = close[at - 1]
            at -= 1
        close[at] = other
    return n


@kernel
def _fill_cosines(copies: Copies, given: Given, chosen: Indices, scattered: Vector, cosines: Matrix) -> None:
    """Fill in the lower triangle of the cosines of some of the columns given; `scattered` is zero before and after."""
    total, shifts = copies.total, given.rows.shifts
    for a in range(chosen.size):
        first = given.places[chosen[a]]
        for e in range(copies.starts[first], copies.stops[first]):
            scattered[copies.indices[e]] = copies.data[e] / given.norms[chosen[a]]
        cosines[a, a] = 1.0 + _RIDGE
        for b in range(a + 1, chosen.size):
            other, product = given.places[chosen[b]], 0.0
            for e in range(copies.starts[other], copies.stops[other]):
                product += copies.data[e] * scattered[copies.indices[e]]
            cosines[b, a] = product / given.norms[chosen[b]] - total * shifts[chosen[a]] * shifts[chosen[b]]
        for e in range(copies.starts[first], copies.stops[first]):
            scattered[copies.indices[e]] = 0.0


@kernel
def _solve_last(cosines: Matrix, x: Vector) -> None:
    """Replace x by the last row of the inverse of C, cosines = C C': the solution of C'x = (0, .., 0, 1)."""
    n = x.size
    for k in range(n):
        for a in range(k):
            for i in range(k, n):
                cosines[i, k] -= cosines[i, a] * cosines[k, a]
        root = np.sqrt(max(cosines[k, k], _RIDGE))
        for i in range(k, n):
            cosines[i, k] /= root
        cosines[k, k] = root
    for k in range(n - 1, -1, -1):
        total = 1.0 if k == n - 1 else 0.0
        for i in range(k + 1, n):
            total -= cosines[i, k] * x[i]
        x[k] = total / cosines[k, k]

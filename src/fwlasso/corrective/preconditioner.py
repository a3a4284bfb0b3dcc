"""A preconditioner for Newton's equations on many sparse columns: L'L, near the inverse of their cosines.

Columns that share most of their rows, words of the same texts say, take conjugate gradients many iterations to tell
apart. L is triangular and sparse. A row of it has one column and the few before it that are closest to it, and solves
the equations of these alone: with their cosines C C' it is the last row of the inverse of C. So it cannot fail, and of
fewer columns it is what is left of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..columns import Columns, Matrix, Vector, column_entries, column_entry, count_entries, shape
from ..parallel import Workers, even_cuts
from ..problem import Problem
from .rows import MOST_COLUMNS, Indices, SparseRows, by_rows, no_rows

# Columns are close beyond this cosine; at most so many are taken, with a ridge.
_CLOSE, _MOST_CLOSE, _RIDGE = 0.15, 8, 1e-4
# They are looked for if that takes no more products than this for every entry.
_MOST_PRODUCTS = 50.0
# The time of a product is that to read so many bytes.
_BYTES_PER_PRODUCT = 20
# It is made anew if more than this share of the columns is not in it.
_MANY_NEW = 0.1


class Preconditioner(NamedTuple):
    """The rows of L for some places of the working set."""

    rank_of: Indices  # by place; -1: not in it
    rows: SparseRows  # by rank; none: the identity


def no_preconditioner() -> Preconditioner:
    """Return a preconditioner of no columns."""
    return Preconditioner(np.empty(0, np.int64), no_rows())


def make_preconditioner(problem: Problem, places: Indices, columns: Indices, workers: Workers) -> Preconditioner:
    """Return the preconditioner of `places`, whose columns are columns[places]; the identity where it would not pay.

    Columns with few entries come first: it is those that are close to one another.
    """
    rank_of = np.full(columns.size, -1, np.int64)
    rank_of[places] = np.arange(places.size)
    if are_rows_full(problem, count_entries(problem.X, columns[places]).sum()):
        return Preconditioner(rank_of, no_rows())
    entries, n_products = _count_entries(problem, columns[places])
    places = places[np.argsort(entries, kind="stable")]
    rank_of[places] = np.arange(places.size)
    if n_products > _MOST_PRODUCTS * entries.sum():
        return Preconditioner(rank_of, no_rows())
    chosen = columns[places]
    norms = np.sqrt(problem.norms2[chosen])
    given = by_rows(problem, chosen, norms)
    if given.starts.size == 0:
        return Preconditioner(rank_of, no_rows())
    cuts = even_cuts(places.size, int(_BYTES_PER_PRODUCT * n_products))
    made = workers.run(lambda lo, hi: _make_rows(problem, chosen, norms, given, lo, hi), cuts)
    lengths, names, values = map(np.concatenate, zip(*made, strict=True))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Preconditioner(rank_of, SparseRows(starts, names, values, np.zeros(places.size)))


@kernel
def are_rows_full(problem: Problem, n_entries: int) -> bool:
    """Tell whether no preconditioner pays for columns with so many entries, wherever these are.

    n of them in m rows make n^2 / m products at least.
    """
    return n_entries > _MOST_PRODUCTS * (problem.y.size - 1)


@kernel
def is_outdated(preconditioner: Preconditioner, places: Indices) -> bool:
    """Tell whether many of `places` are not in it."""
    n_new = 0
    for place in places:
        n_new += _rank(preconditioner, place) < 0
    return n_new > _MANY_NEW * places.size


@kernel
def restrict(preconditioner: Preconditioner, places: Indices) -> SparseRows:
    """Return the rows of L for `places`, those of the identity for the ones that are not in it; none if it is that."""
    n, rows = places.size, preconditioner.rows
    if rows.starts.size == 0 or n > MOST_COLUMNS:
        return no_rows()
    n_ranks, n_entries = rows.starts.size - 1, rows.columns.size + n
    position_of = np.full(n_ranks, -1, np.int64)
    starts, columns, values = np.zeros(n + 1, np.int64), np.empty(n_entries, np.uint16), np.empty(n_entries)
    row = at = 0
    for i in range(n):
        rank = _rank(preconditioner, places[i])
        if rank >= 0:
            position_of[rank] = i
        else:
            columns[at] = i
            values[at] = 1.0
            at += 1
            row += 1
            starts[row] = at
    for rank in range(n_ranks):
        if position_of[rank] >= 0:
            for k in range(rows.starts[rank], rows.starts[rank + 1]):
                i = position_of[rows.columns[k]]
                if i >= 0:
                    columns[at] = i
                    values[at] = rows.values[k]
                    at += 1
            row += 1
            starts[row] = at
    return SparseRows(starts, columns, values, np.zeros(n))


@kernel
def _rank(preconditioner: Preconditioner, place: int) -> int:
    """Return the rank of a place; -1 if it is not in it, as places are that did not exist when it was made."""
    rank_of = preconditioner.rank_of
    return int(rank_of[place]) if place < rank_of.size else -1


@kernel
def _count_entries(problem: Problem, columns: Indices) -> tuple[Indices, float]:
    """Return the entries of every column, and the products of two entries in the same row."""
    X, entries, by_row = problem.X, np.empty(columns.size, np.int64), np.zeros(problem.y.size)
    for i in range(columns.size):
        entries[i] = column_entries(X, columns[i])
        for k in range(entries[i]):
            row, _ = column_entry(X, columns[i], k)
            by_row[row] += 1.0
    n_products = 0.0
    for n in by_row:
        n_products += n * n
    return entries, n_products


@kernel
def _make_rows(
    problem: Problem, columns: Indices, norms: Vector, given: SparseRows, lo: int, hi: int
) -> tuple[Indices, NDArray[np.uint16], Vector]:
    """Return rows lo..hi of L for `columns`, which are `given` by rows: how many entries they have, and these."""
    X, n, n_most = problem.X, columns.size, (hi - lo) * (_MOST_CLOSE + 1)
    lengths, names, values = np.empty(hi - lo, np.int64), np.empty(n_most, np.uint16), np.empty(n_most)
    products, seen_by, spread = np.empty(n), np.full(n, -1, np.int64), np.zeros(problem.y.size)
    close, solution = np.empty(_MOST_CLOSE + 1, np.int64), np.empty(_MOST_CLOSE + 1)
    cosines = np.empty((_MOST_CLOSE + 1, _MOST_CLOSE + 1))
    at = 0
    for i in range(lo, hi):
        n_close = _find_close(X, columns[i], norms[i], i, given, products, seen_by, close[:_MOST_CLOSE])
        close[n_close] = i
        _fill_cosines(X, columns, norms, given.shifts, close[: n_close + 1], spread, cosines)
        _solve_last(cosines, solution[: n_close + 1])
        for a in range(n_close + 1):
            names[at + a] = close[a]
            values[at + a] = solution[a]
        lengths[i - lo] = n_close + 1
        at += n_close + 1
    return lengths, names[:at].copy(), values[:at].copy()


@kernel
def _find_close(
    X: Columns, j: int, norm: float, i: int, given: SparseRows, products: Vector, seen_by: Indices, close: Indices
) -> int:
    """Fill in those of the first i columns of `given` that are closest to column j, its i-th; return how many."""
    m = shape(X)[0]
    seen, n_seen = np.empty(i, np.int64), 0
    for k in range(column_entries(X, j)):
        row, value = column_entry(X, j, k)
        value /= norm
        for e in range(given.starts[row], given.starts[row + 1]):
            other = given.columns[e]
            if other >= i:
                break
            if seen_by[other] != i:
                seen_by[other] = i
                products[other] = -m * given.shifts[i] * given.shifts[other]
                seen[n_seen] = other
                n_seen += 1
            products[other] += value * given.values[e]
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
def _fill_cosines(
    X: Columns, columns: Indices, norms: Vector, shifts: Vector, chosen: Indices, spread: Vector, cosines: Matrix
) -> None:
    """Fill in the lower triangle of the cosines of columns[chosen]; `spread` is zero before and after."""
    m = shape(X)[0]
    for a in range(chosen.size):
        first = columns[chosen[a]]
        for k in range(column_entries(X, first)):
            row, value = column_entry(X, first, k)
            spread[row] = value / norms[chosen[a]]
        cosines[a, a] = 1.0 + _RIDGE
        for b in range(a + 1, chosen.size):
            total = 0.0
            for k in range(column_entries(X, columns[chosen[b]])):
                row, value = column_entry(X, columns[chosen[b]], k)
                total += value * spread[row]
            cosines[b, a] = total / norms[chosen[b]] - m * shifts[chosen[a]] * shifts[chosen[b]]
        for k in range(column_entries(X, first)):
            row, _ = column_entry(X, first, k)
            spread[row] = 0.0


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

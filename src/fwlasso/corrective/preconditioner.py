"""A preconditioner for Newton's equations on many sparse columns: L'L, near the inverse of their cosines.

Columns that share most of their rows, words of the same texts say, take conjugate gradients many iterations to tell
apart. L is triangular and sparse. A row of it has one column and the few before it that are closest to it, and solves
the equations of these alone: with their cosines C C' it is the last row of the inverse of C. So it cannot fail. It is
kept along the path: where columns have come and gone, only their rows are made, and those that had the ones gone.
"""

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from ..columns import Columns, Matrix, Vector, column_entries, column_entry, count_entries, shape
from ..parallel import Workers, even_cuts
from ..problem import Problem
from .rows import Indices, SparseRows, no_rows

# Columns are close beyond this cosine; at most so many are taken, with a ridge.
_CLOSE, _MOST_CLOSE, _RIDGE = 0.15, 8, 1e-4
# They are looked for if that takes no more products than this for every entry.
_MOST_PRODUCTS = 50.0
# The time of a product is that to read so many bytes.
_BYTES_PER_PRODUCT = 20


class Preconditioner:
    """The rows of L for some places of the working set: the active ones when it was last asked for."""

    def __init__(self, problem: Problem, workers: Workers) -> None:
        self._problem = problem
        self._workers = workers
        self._n_made = 0
        # By place: its rank in the order of columns (-1: not in it), and the places and values of its row.
        self._ranks = np.empty(0, np.int64)
        self._lengths = np.empty(0, np.int64)
        self._names = np.empty((0, _MOST_CLOSE + 1), np.int64)
        self._values = np.empty((0, _MOST_CLOSE + 1))

    def factor(self, active: Indices, columns: Indices, given: SparseRows) -> SparseRows:
        """Return L for the places `active`, whose columns are columns[active] and `given` by rows; none: the identity.

        Those that are not in it yet come last, the ones with few entries first: it is those that are close to one
        another.
        """
        in_row = np.diff(given.starts)
        n_products = float(in_row @ in_row)
        if not 0.0 < n_products <= _MOST_PRODUCTS * given.values.size:
            return no_rows()
        self._make_room(columns.size)
        new, outdated = _find_outdated(self._ranks, self._lengths, self._names, active)
        chosen = columns[active]
        new = new[np.argsort(count_entries(self._problem.X, chosen[new]), kind="stable")]
        self._ranks[active[new]] = np.arange(self._n_made, self._n_made + new.size)
        self._n_made += new.size
        todo = np.concatenate([outdated, new])
        cuts = even_cuts(todo.size, int(_BYTES_PER_PRODUCT * n_products * todo.size / active.size))
        rows = self._lengths, self._names, self._values
        ranks, norms = self._ranks[active], np.sqrt(self._problem.norms2[chosen])
        self._workers.run(
            lambda lo, hi: _make_rows(self._problem, active, chosen, norms, ranks, given, todo[lo:hi], *rows), cuts
        )
        return _gather(active, *rows)

    def _make_room(self, n_places: int) -> None:
        n_more = n_places - self._ranks.size
        if n_more > 0:
            self._ranks = np.concatenate([self._ranks, np.full(n_more, -1, np.int64)])
            self._lengths = np.concatenate([self._lengths, np.zeros(n_more, np.int64)])
            self._names = np.concatenate([self._names, np.zeros((n_more, self._names.shape[1]), np.int64)])
            self._values = np.concatenate([self._values, np.zeros((n_more, self._names.shape[1]))])


@kernel
def are_rows_full(problem: Problem, n_entries: int) -> bool:
    """Tell whether no preconditioner pays for columns with so many entries, wherever these are.

    n of them in m rows make n^2 / m products at least.
    """
    return n_entries > _MOST_PRODUCTS * (problem.y.size - 1)


@kernel
def _find_outdated(
    ranks: Indices, lengths: Indices, names: NDArray[np.int64], active: Indices
) -> tuple[Indices, Indices]:
    """Forget the places that are not active; return which of `active` are new, and which have one that is gone."""
    is_active = np.zeros(ranks.size, np.bool_)
    for place in active:
        is_active[place] = True
    for place in range(ranks.size):
        if not is_active[place]:
            ranks[place] = -1
    new, outdated = np.empty(active.size, np.int64), np.empty(active.size, np.int64)
    n_new = n_outdated = 0
    for i in range(active.size):
        place = active[i]
        if ranks[place] < 0:
            new[n_new] = i
            n_new += 1
            continue
        for k in range(lengths[place]):
            if not is_active[names[place, k]]:
                outdated[n_outdated] = i
                n_outdated += 1
                break
    return new[:n_new], outdated[:n_outdated]


@kernel
def _gather(active: Indices, lengths: Indices, names: NDArray[np.int64], values: Matrix) -> SparseRows:
    """Return the rows of `active` places."""
    n = active.size
    position_of = np.empty(lengths.size, np.int64)
    starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        position_of[active[i]] = i
        starts[i + 1] = starts[i] + lengths[active[i]]
    columns, entries = np.empty(starts[n], np.uint16), np.empty(starts[n])
    for i in range(n):
        for k in range(lengths[active[i]]):
            columns[starts[i] + k] = position_of[names[active[i], k]]
            entries[starts[i] + k] = values[active[i], k]
    return SparseRows(starts, columns, entries, np.zeros(n))


@kernel
def _make_rows(
    problem: Problem,
    active: Indices,
    columns: Indices,
    norms: Vector,
    ranks: Indices,
    given: SparseRows,
    todo: Indices,
    lengths: Indices,
    names: NDArray[np.int64],
    values: Matrix,
) -> None:
    """Make the rows of L for active[todo]; their columns, norms and ranks are those of `active`, `given` by rows."""
    X, n = problem.X, columns.size
    products, seen_by, spread = np.empty(n), np.full(n, -1, np.int64), np.zeros(problem.y.size)
    close, cosines = np.empty(_MOST_CLOSE + 1, np.int64), np.empty((_MOST_CLOSE + 1, _MOST_CLOSE + 1))
    for i in todo:
        n_close = _find_close(X, columns[i], norms[i], i, ranks, given, products, seen_by, close[:_MOST_CLOSE])
        close[n_close] = i
        _fill_cosines(X, columns, norms, given.shifts, close[: n_close + 1], spread, cosines)
        _solve_last(cosines, values[active[i], : n_close + 1])
        for a in range(n_close + 1):
            names[active[i], a] = active[close[a]]
        lengths[active[i]] = n_close + 1


@kernel
def _find_close(
    X: Columns,
    j: int,
    norm: float,
    i: int,
    ranks: Indices,
    given: SparseRows,
    products: Vector,
    seen_by: Indices,
    close: Indices,
) -> int:
    """Fill in those columns of `given` of smaller rank that are closest to column j, its i-th; return how many."""
    m, rank = shape(X)[0], ranks[i]
    seen, n_seen = np.empty(ranks.size, np.int64), 0
    for k in range(column_entries(X, j)):
        row, value = column_entry(X, j, k)
        value /= norm
        for e in range(given.starts[row], given.starts[row + 1]):
            other = given.columns[e]
            if ranks[other] >= rank:
                continue
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

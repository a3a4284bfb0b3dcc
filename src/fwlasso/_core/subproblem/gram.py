"""Newton's equations on the active columns: their cosines, kept along the path, and a factor of them.

Cosines z_i'z_j / (||z_i|| ||z_j||) instead of inner products: a factorization does not suffer from columns of
different scales. A small ridge on their diagonal gives dependent columns a long step that leads one of them to zero.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs

from ..columns import Matrix, Vector
from ..costs import curvature, curvatures
from ..jit import kernel, part_of_kernel
from ..sweeps import Indices
from ..threads import Workers, n_chunks
from .copies import Copies, add, center, dot, entries_of
from .rows import SparseRows, by_rows, no_rows

#: Cosines of at most this many columns are kept: 18 MB, and as much again for their factor.
LARGEST_GRAM = 1500
_RIDGE = 1e-12
# Sparse columns are put by rows where so many are new: of fewer, one after the other is multiplied with all others.
_FEWEST_ROWS = 4
# So many slots at least are multiplied with new ones at a time; a product of entries takes as long as to read a byte.
_FEWEST_IN_PRODUCT = 64

# In the loops below indices are unsigned: numba's test for negative ones would keep them from vector instructions.


class Gram(NamedTuple):
    """Cosines by slot, and their Cholesky factor by row, for some of the places of the working set."""

    slot_of: Indices  # by place; -1: no cosines
    places: Indices  # by slot
    units: Matrix  # by slot, then by sample: z / ||z|| of dense columns
    cosines: Matrix  # by slot
    row_of: Indices  # by place; -1: not in the factor
    place_of: Indices  # by row of the factor
    lower: Matrix  # the factor L, column-major
    size: Indices  # of two entries: rows of the factor, slots


def empty_gram(n_samples: int) -> Gram:
    """Return a Gram of no columns."""
    # Not of size zero: numba would take empty matrices to be of another layout, and compile everything twice.
    nothing, room = np.empty(0, np.int64), np.empty(2, np.int64)
    units, cosines, lower = np.empty((2, n_samples)), np.empty((2, 2)), np.empty((2, 2), order="F")
    rows = {"row_of": nothing, "place_of": room.copy(), "size": np.zeros(2, np.int64)}
    return Gram(nothing, room, units, cosines, lower=lower, **rows)


def with_places(gram: Gram, n_places: int) -> Gram:
    """Return `gram` with room for `n_places` places."""
    more = np.full(n_places - gram.slot_of.size, -1, np.int64)
    return gram._replace(slot_of=np.concatenate([gram.slot_of, more]), row_of=np.concatenate([gram.row_of, more]))


def with_cosines(copies: Copies, gram: Gram, places: Indices, workers: Workers) -> Gram:
    """Return `gram` with the cosines of `places`; others may be forgotten."""
    n_missing = int(np.count_nonzero(gram.slot_of[places] < 0))
    n_old = int(gram.size[1])
    if n_old + n_missing > LARGEST_GRAM:
        gram.slot_of[:] = -1
        n_missing, n_old = places.size, 0
        gram.size[1] = 0
    n_all = n_old + n_missing
    if n_all > gram.places.size:  # no power of two: such rows share few lines of the cache
        gram = _with_room(copies, gram, min(LARGEST_GRAM, max(264, n_all, 4 * gram.places.size + 8)))
    take_slots(copies, gram, places)
    n_pieces = max(1, min(n_chunks(n_missing * entries_of(copies, gram.places[:n_all])), n_all // _FEWEST_IN_PRODUCT))
    cuts = [k * n_all // n_pieces for k in range(n_pieces + 1)]
    if copies.dense:
        new = gram.units[n_old:n_all].T
        workers.map(lambda lo, hi: _put_cosines(gram, n_old, lo, gram.units[lo:hi] @ new), cuts)
    else:
        rows = rows_of_new(copies, gram, n_old)
        workers.map(lambda lo, hi: fill_cosines(copies, gram, n_old, rows, lo, hi), cuts)
    return gram


@kernel
def _put_cosines(gram: Gram, first: int, lo: int, products: Matrix) -> None:
    """Put in the cosines of slots from `lo` on with new ones from `first` on."""
    cosines = gram.cosines
    for a in range(products.shape[0]):
        slot = lo + a
        for b in range(max(0, slot + 1 - first), products.shape[1]):
            cosines[slot, first + b] = cosines[first + b, slot] = _cosine(products[a, b])
        if slot >= first:
            cosines[slot, slot] = 1.0 + _RIDGE


def _with_room(copies: Copies, gram: Gram, room: int) -> Gram:
    """Return `gram` with room for more slots, and for as many rows of the factor."""
    n_rows, n_slots = gram.size
    places, place_of = np.empty(room, np.int64), np.empty(room, np.int64)
    cosines, lower = np.empty((room, room)), np.zeros((room, room), order="F")
    places[:n_slots], place_of[:n_rows] = gram.places[:n_slots], gram.place_of[:n_rows]
    units = gram.units
    if copies.dense:
        units = np.empty((room, units.shape[1]))
        units[:n_slots] = gram.units[:n_slots]
    cosines[:n_slots, :n_slots] = gram.cosines[:n_slots, :n_slots]
    lower[:n_rows, :n_rows] = gram.lower[:n_rows, :n_rows]
    return gram._replace(places=places, units=units, cosines=cosines, place_of=place_of, lower=lower)


def forget(gram: Gram, places: Indices) -> None:
    """Forget the cosines of some places, and rows of the factor from the first that is one of theirs on."""
    gram.slot_of[places] = -1
    rows = gram.row_of[places]
    n_stay = int(rows[rows >= 0].min(initial=gram.size[0]))
    gram.row_of[gram.place_of[n_stay : gram.size[0]]] = -1
    gram.size[0] = n_stay


@kernel
def take_slots(copies: Copies, gram: Gram, places: Indices) -> None:
    """Give slots to those of `places` that have none; there must be room. Their cosines are to be filled in."""
    for k in places:
        if gram.slot_of[k] < 0:
            gram.slot_of[k] = gram.size[1]
            gram.places[gram.size[1]] = k
            if copies.dense:
                factor = 1.0 / np.sqrt(copies.norms2[k])
                for i in range(gram.units.shape[1]):
                    gram.units[gram.size[1], i] = factor * copies.rows[k, i]
            gram.size[1] += 1


def factorize(copies: Copies, gram: Gram, places: Indices, lam: float) -> None:
    """Bring the factor to `places` by LAPACK: rows before the first that is gone stay, all others are computed again.

    With L_1 of the rows that stay and cosines B between them and the others, whose cosines are S, the other rows of the
    factor are [W' C] with L_1 W = B and C C' = S - W'W. Where that fails, they are appended column by column.
    """
    n_stay, others = _split_rows(gram, places)
    lower, n = gram.lower, n_stay + others.size
    gram.row_of[gram.place_of[n_stay : gram.size[0]]] = -1
    gram.size[0] = n_stay
    if others.size == 0:
        return
    slots = gram.slot_of[others]
    rest = _gather(gram.cosines, slots, slots)
    rest[np.diag_indices(others.size)] += curvatures(copies.cost, lam, others) / copies.norms2[others]
    if n_stay > 0:
        W = _gather(gram.cosines, gram.slot_of[gram.place_of[:n_stay]], slots)
        W, _ = dtrtrs(lower[:, :n_stay], W, lower=1, overwrite_b=1)
        rest = dsyrk(-1.0, W, 1.0, rest, trans=1, lower=1, overwrite_c=1)
        lower[n_stay:n, :n_stay] = W.T
    rest, info = dpotrf(rest, lower=1, overwrite_a=1)
    if info == 0:
        lower[n_stay:n, n_stay:n] = rest
        gram.place_of[n_stay:n] = others
        gram.row_of[others] = np.arange(n_stay, n)
        gram.size[0] = n
    else:
        for place in others:
            append(copies, gram, place, lam)


@kernel
def _split_rows(gram: Gram, places: Indices) -> tuple[int, Indices]:
    """Return how many rows of the factor are before the first that is not of `places`, and the other places."""
    is_wanted = np.zeros(gram.row_of.size, np.bool_)
    for place in places:
        is_wanted[place] = True
    n_stay = 0
    while n_stay < gram.size[0] and is_wanted[gram.place_of[n_stay]]:
        is_wanted[gram.place_of[n_stay]] = False
        n_stay += 1
    others = np.empty(places.size - n_stay, np.int64)
    n = 0
    for place in places:
        if is_wanted[place]:
            others[n] = place
            n += 1
    return n_stay, others


@kernel
def rows_of_new(copies: Copies, gram: Gram, n_old: int) -> SparseRows:
    """Return the columns of slots from `n_old` on by rows, if that pays."""
    if gram.size[1] - n_old < _FEWEST_ROWS:
        return no_rows()
    return by_rows(copies, gram.places, n_old, gram.size[1])


@kernel
def fill_cosines(copies: Copies, gram: Gram, n_old: int, rows: SparseRows, lo: int, hi: int) -> None:
    """Fill the cosines of slots lo..hi with new ones, those from `n_old` on, that come after them.

    Columns by rows meet only where both have entries: the cosine is that of the columns in memory, less what centring
    takes off it. Otherwise a new column is scattered over a vector, and multiplied with all others.
    """
    total, n_all = copies.total, gram.size[1]
    places, cosines = gram.places, gram.cosines
    others = by_rows(copies, places, lo, hi) if rows.starts.size > 0 else no_rows()
    if others.starts.size > 0:
        products = _multiply(rows, others)
        for slot in range(lo, hi):
            for new in range(max(n_old, slot + 1), n_all):
                at, shift = new - n_old, others.shifts[slot - lo]
                cosines[slot, new] = cosines[new, slot] = _cosine(
                    products[at, slot - lo] - total * shift * rows.shifts[at]
                )
    else:
        v = np.empty(copies.y.size)
        for new in range(max(n_old, lo + 1), n_all):
            scatter(copies, places[new], v)
            for slot in range(lo, min(hi, new)):
                k = places[slot]
                cosines[slot, new] = cosines[new, slot] = _cosine(dot(copies, k, v) / np.sqrt(copies.norms2[k]))
    for slot in range(lo, hi):
        cosines[slot, slot] = 1.0 + _RIDGE


@part_of_kernel
def _cosine(x: float) -> float:
    """Return a number between -1 and 1: columns far from zero leave rounding errors that are larger than that."""
    return max(-1.0, min(1.0, x)) if x == x else 0.0  # noqa: PLR0124


@kernel
def _multiply(left: SparseRows, right: SparseRows) -> Matrix:
    """Return the products of the columns in memory: of those at the left with those at the right."""
    products = np.zeros((left.shifts.size, right.shifts.size))
    for row in range(left.starts.size - 1):
        start, stop = np.uintp(right.starts[row]), np.uintp(right.starts[row + 1])
        for at in range(np.uintp(left.starts[row]), np.uintp(left.starts[row + 1])):
            target, value = products[np.uintp(left.columns[at])], left.values[at]
            for k in range(start, stop):
                target[np.uintp(right.columns[k])] += value * right.values[k]
    return products


@kernel
def scatter(copies: Copies, k: int, v: Vector) -> None:
    """Fill v with z_k / ||z_k||, without a constant part."""
    for i in range(v.size):
        v[i] = 0.0
    add(copies, k, 1.0 / np.sqrt(copies.norms2[k]), v)
    center(copies, v)


def _gather(cosines: Matrix, rows: Indices, columns: Indices) -> Matrix:
    """Return the cosines of some slots with others, column-major."""
    return _gather_rows(cosines, columns, rows).T  # they are symmetric


@kernel
def _gather_rows(cosines: Matrix, rows: Indices, columns: Indices) -> Matrix:
    out = np.empty((rows.size, columns.size))
    for a in range(rows.size):
        row = cosines[rows[a]]
        for b in range(columns.size):
            out[a, b] = row[columns[b]]
    return out


@kernel
def append(copies: Copies, gram: Gram, place: int, lam: float) -> None:
    """Append a column to the factor: its new row w has L w' = cosines."""
    n, lower = gram.size[0], gram.lower
    row = gram.cosines[gram.slot_of[place]]
    w = np.empty(n)
    for k in range(n):
        w[k] = row[gram.slot_of[gram.place_of[k]]]
    length2 = 0.0
    for k in range(n):
        w[k] /= lower[k, k]
        a, column = w[k], np.uintp(k)
        for i in range(np.uintp(k + 1), np.uintp(n)):
            w[i] -= a * lower[i, column]
        length2 += a * a
    # A row of L has the length of its column, one. Of columns that depend on each other, rounding makes longer ones,
    # and these the next ones: their squares would overflow after some rows.
    rest = 1.0 + (_RIDGE + curvature(copies.cost, lam, place) / copies.norms2[place]) - length2
    factor = 1.0 if rest >= _RIDGE else 1.0 / np.sqrt(length2)
    for k in range(n):
        lower[n, k] = factor * w[k]
    lower[n, n] = np.sqrt(max(rest, _RIDGE))
    gram.place_of[n] = place
    gram.row_of[place] = n
    gram.size[0] = n + 1


@kernel
def delete(gram: Gram, gone: int) -> None:
    """Take row `gone` out of the factor: the block L below and right of it becomes that of L L' + l l'."""
    n, lower = gram.size[0], gram.lower
    rest = n - gone - 1
    v = np.empty(rest)
    for i in range(rest):
        v[i] = lower[gone + 1 + i, gone]
    first, one = np.uintp(gone), np.uintp(1)
    for k in range(first):
        for i in range(first, np.uintp(n - 1)):
            lower[i, k] = lower[i + one, k]
    for k in range(rest):
        old = lower[gone + 1 + k, gone + 1 + k]
        new = np.sqrt(old * old + v[k] * v[k])
        c, s = old / new, v[k] / new  # a rotation: it lets no error grow
        lower[gone + k, gone + k] = new
        column = np.uintp(gone + k)
        for i in range(np.uintp(k + 1), np.uintp(rest)):
            entry = lower[first + i + one, column + one]
            lower[first + i, column] = c * entry + s * v[i]
            v[i] = c * v[i] - s * entry
    gram.row_of[gram.place_of[gone]] = -1
    for k in range(gone, n - 1):
        gram.place_of[k] = gram.place_of[k + 1]
        gram.row_of[gram.place_of[k]] = k
    gram.size[0] = n - 1

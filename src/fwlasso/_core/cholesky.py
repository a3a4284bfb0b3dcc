"""The Cholesky factor of the cosines of an ordered set of columns: columns come in blocks, and leave by rotations.

Cosines z_i'z_j / (||z_i|| ||z_j||) instead of inner products: a factor does not suffer from columns of other scales. U
is kept by rows, so that every loop runs along one: what BLAS would do is done by `_subtract_products` at its speed, on
one thread, in the same order on every machine, and without a copy. A small ridge on the diagonal, in the factor only,
gives dependent columns a long step that leads one of them to zero.

The error of a cosine is some u rho_i rho_j, rho_j = n_j / ||z_j|| with the norms n_j of `Moments`, and random errors of
size one make a matrix of norm 2 sqrt(p). A ridge of 2 sqrt(p) u rho_j^2 and more keeps the cosines positive definite.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inner_kernel, part_of_kernel
from .moments import UNIT_ROUNDOFF, Matrix, Vector

Indices = NDArray[np.int64]

_RIDGE, _ROUNDING = 1e-13, 8.0 * UNIT_ROUNDOFF
# Rows that are computed together, a multiple of four.
_BLOCK = 16
# So few columns are appended one after the other.
_FEW = 8
# An operation of a rotation takes as long as so many of a block: it is bound by memory. So many are made at most.
_ROTATION, _MOST_ROTATED = 6.0, 64

# In inner loops indices are unsigned: numba's test for negative ones would keep them from vector instructions.


class Factor(NamedTuple):
    """U with U'U = cosines of some columns, with a ridge; make one with `make_factor`."""

    scale: Vector  # by column: 1 / ||z_j||
    ridge: Vector  # by column
    upper: Matrix  # U; what is below its diagonal means nothing
    order: Indices  # by row: its column
    row_of: Indices  # by column; -1: not in the factor
    kept: Indices  # rows that stay
    gone: Matrix  # rows that leave
    size: Indices  # of one entry: how many rows


def make_factor(gram: Matrix, norms: Vector) -> Factor:
    """Return a factor of no columns, with room for all; those without a length must never come."""
    p = len(gram)
    lengths2 = np.maximum(gram.diagonal(), 0.0)
    scale = np.divide(1.0, np.sqrt(lengths2), out=np.zeros(p), where=lengths2 > 0.0)
    ridge = _RIDGE + _ROUNDING * np.sqrt(p) * (norms * scale) ** 2
    # Eight numbers more than a row has: rows of a power of two share few lines of the cache.
    upper, gone = np.empty((p, p + 8)), np.empty((_MOST_ROTATED, p))
    order, kept, row_of = np.empty(p, np.int64), np.empty(p, np.int64), np.full(p, -1)
    rows = {"order": order, "row_of": row_of, "kept": kept, "size": np.zeros(1, np.int64)}
    return Factor(scale, ridge, upper, gone=gone, **rows)


@inner_kernel
def clear(factor: Factor) -> None:
    """Take out all columns."""
    factor.size[0] = 0
    for j in range(factor.row_of.size):
        factor.row_of[j] = -1


@inner_kernel
def set_columns(gram: Matrix, factor: Factor, sign: Vector) -> float:
    """Bring the factor to the columns whose sign is not zero; return how many operations that took.

    Those that leave are rotated out, or the rows from the first of them on are computed again: whatever costs less.
    """
    start, operations = _take_out(factor, sign)
    n_old = n = factor.size[0]
    for j in range(sign.size):
        if sign[j] != 0.0 and factor.row_of[j] < 0:
            factor.order[n], factor.row_of[j] = j, n
            n += 1
    factor.size[0] = n
    if start < n_old or n - n_old > _FEW:
        _fill_rows(gram, factor, start // _BLOCK * _BLOCK, n_old)
    else:
        for row in range(n_old, n):
            _append(gram, factor, row)
    return float(operations + (n - n_old) * float(n) * n)


@inner_kernel
def solve(upper: Matrix, n: int, x: Vector) -> None:
    """Replace the first n numbers of x, one for every row of U, by the solution of U'U x = x."""
    for k in range(n):
        row = upper[k]
        x[k] /= row[k]
        a = x[k]
        for i in range(np.uintp(k + 1), np.uintp(n)):
            x[i] -= a * row[i]
    for k in range(n - 1, -1, -1):
        row, total = upper[k], x[k]
        for i in range(np.uintp(k + 1), np.uintp(n)):
            total -= row[i] * x[i]
        x[k] = total / row[k]


@part_of_kernel
def _clip(x: float) -> float:
    """Return what a cosine, or an entry of a column of length one, can be; NaN stays."""
    return 1.0 if x > 1.0 else (-1.0 if x < -1.0 else x)


@inner_kernel
def _fill_rows(gram: Matrix, factor: Factor, start: int, first_new: int) -> None:
    """Compute the columns from `first_new` on, and all rows from `start` on, a multiple of the block.

    U_kj = (C_kj - sum_{q < k} U_qk U_qj) / U_kk, a block of rows at a time: first the sum over all blocks before.
    """
    n, order, scale = factor.size[0], factor.order, factor.scale
    for top in range(0, n, _BLOCK):
        end, left = min(top + _BLOCK, n), first_new if top < start else top
        for k in range(top, end):
            row, source, own = factor.upper[k], gram[order[k]], scale[order[k]]
            for j in range(np.uintp(left), np.uintp(n)):
                column = np.uintp(order[j])
                row[j] = _clip(source[column] * own * scale[column])
            if left <= k:
                row[k] = 1.0
        if left < n:
            _subtract_products(factor.upper, top, end, left, n)
            _eliminate(gram, factor, top, end, left)


@inner_kernel
def _subtract_products(upper: Matrix, top: int, end: int, left: int, right: int) -> None:
    """Subtract sum_{q < top} U_qk U_qj from U_kj, k in top..end and j in left..right; top is a multiple of four.

    Four rows by four q: of every number that is loaded, four products are made.
    """
    k = top
    while k + 3 < end:
        a, b, c, d = upper[k], upper[k + 1], upper[k + 2], upper[k + 3]
        for q in range(0, top, 4):
            r, s, t, u = upper[q], upper[q + 1], upper[q + 2], upper[q + 3]
            a0, a1, a2, a3 = r[k], s[k], t[k], u[k]
            b0, b1, b2, b3 = r[k + 1], s[k + 1], t[k + 1], u[k + 1]
            c0, c1, c2, c3 = r[k + 2], s[k + 2], t[k + 2], u[k + 2]
            d0, d1, d2, d3 = r[k + 3], s[k + 3], t[k + 3], u[k + 3]
            for j in range(np.uintp(left), np.uintp(right)):
                x0, x1, x2, x3 = r[j], s[j], t[j], u[j]
                a[j] -= a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                b[j] -= b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                c[j] -= c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                d[j] -= d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
        k += 4
    for last in range(k, end):
        a = upper[last]
        for q in range(0, top, 4):
            r, s, t, u = upper[q], upper[q + 1], upper[q + 2], upper[q + 3]
            a0, a1, a2, a3 = r[last], s[last], t[last], u[last]
            for j in range(np.uintp(left), np.uintp(right)):
                a[j] -= a0 * r[j] + a1 * s[j] + a2 * t[j] + a3 * u[j]


@inner_kernel
def _eliminate(gram: Matrix, factor: Factor, top: int, end: int, left: int) -> None:
    """Finish rows top..end from column `left` on, from which the products of all rows before were subtracted."""
    n, upper = factor.size[0], factor.upper
    for k in range(top, end):
        row = upper[k]
        if left <= k:
            rest, ridge = row[k], factor.ridge[factor.order[k]]
            if not _is_enough(rest, ridge):
                _shorten(gram, factor, k, 1.0 / np.sqrt(1.0 - rest))
                rest = 0.0
            row[k] = np.sqrt(rest + ridge)
        inverse = 1.0 / row[k]
        for j in range(np.uintp(max(left, k + 1)), np.uintp(n)):
            row[j] = _clip(row[j] * inverse)
        for i in range(k + 1, end):
            a, other = row[i], upper[i]
            for j in range(np.uintp(max(left, i)), np.uintp(n)):
                other[j] -= a * row[j]


@part_of_kernel
def _is_enough(rest: float, ridge: float) -> bool:
    """Return whether a pivot^2 of rest + ridge is no smaller than what the ridge is there for."""
    return rest >= -0.75 * ridge


@inner_kernel
def _shorten(gram: Matrix, factor: Factor, k: int, fraction: float) -> None:
    """Bring column k above its diagonal to length one, and what has been subtracted from row k to what it makes of it.

    A column of U has the length of the column it stands for, one. Of columns that depend on each other, rounding makes
    longer ones, and these the next ones: their squares would overflow after some rows.
    """
    row, source, factor_k = factor.upper[k], gram[factor.order[k]], factor.scale[factor.order[k]]
    for q in range(k):
        factor.upper[q, k] *= fraction
    for j in range(k + 1, factor.size[0]):
        column = factor.order[j]
        cosine = _clip(source[column] * factor_k * factor.scale[column])
        row[j] = cosine - fraction * (cosine - row[j])


@inner_kernel
def _append(gram: Matrix, factor: Factor, row: int) -> None:
    """Compute the last column of a factor of row + 1 rows: w with U'w = cosines."""
    upper, order, scale = factor.upper, factor.order, factor.scale
    source, own = gram[order[row]], scale[order[row]]
    w = upper[row]
    for k in range(row):
        w[k] = _clip(source[order[k]] * own * scale[order[k]])
    length2 = 0.0
    for k in range(row):
        other = upper[k]
        w[k] = _clip(w[k] / other[k])
        a = w[k]
        for i in range(np.uintp(k + 1), np.uintp(row)):
            w[i] -= a * other[i]
        length2 += a * a
    rest, ridge, fraction = 1.0 - length2, factor.ridge[order[row]], 1.0
    if not _is_enough(rest, ridge):  # see `_shorten`
        rest, fraction = 0.0, 1.0 / np.sqrt(length2)
    for k in range(row):
        upper[k, row] = fraction * w[k]
    upper[row, row] = np.sqrt(rest + ridge)


@inner_kernel
def _take_out(factor: Factor, sign: Vector) -> tuple[int, float]:
    """Take out the columns whose sign is zero; return the first row that must be computed again, and the operations."""
    upper, order, kept, n_old = factor.upper, factor.order, factor.kept, factor.size[0]
    n, first, rotations = np.int64(0), n_old, 0.0
    for row in range(n_old):
        j = order[row]
        if sign[j] != 0.0:
            kept[n], order[n], factor.row_of[j] = row, j, n
            n += 1
        else:
            factor.row_of[j] = -1
            first = min(first, row)
            rotations += 3.0 * _ROTATION * (n_old - row) * (n_old - row)
    if n == n_old:
        return n_old, 0.0
    factor.size[0] = n
    for k in range(first):
        line = upper[k]
        for i in range(np.uintp(first), np.uintp(n)):
            line[i] = line[np.uintp(kept[i])]
    tail = float(n - first)
    again = tail * tail * (first + tail / 3.0)
    if rotations > again or n_old - n > _MOST_ROTATED:
        return first, again
    _rotate(factor, n_old, first)
    return int(n), rotations


@inner_kernel
def _rotate(factor: Factor, n_old: int, first: int) -> None:
    """Take rows out, from `first` on: each that leaves is rotated into those behind it (Givens).

    A rotation lets no error grow. Rows are read once, however many leave.
    """
    n, upper, kept, n_gone = factor.size[0], factor.upper, factor.kept, 0
    for k in range(first, n_old):
        at = k - n_gone
        is_kept = at < n and kept[at] == k
        source = upper[k]
        target = upper[at] if is_kept else factor.gone[n_gone]
        for i in range(np.uintp(at), np.uintp(n)):
            target[i] = source[np.uintp(kept[i])]
        if not is_kept:
            n_gone += 1
            continue
        for g in range(n_gone):
            other = factor.gone[g]
            x, v = target[at], other[at]
            length = np.sqrt(x * x + v * v)
            c, s = x / length, v / length
            target[at] = length
            for i in range(np.uintp(at + 1), np.uintp(n)):
                x, v = target[i], other[i]
                target[i] = c * x + s * v
                other[i] = c * v - s * x

"""One pass over the rows: inner products of [1, X, y], from which every path on the Gram matrix starts.

Blocks of rows are cut by the data and added in order, so that the sums have the same bits for any number of threads.
NaN and infinity reach the diagonal: no pass looks for them.
"""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from .._core.columns import Columns, shape
from .._core.csc import Csc
from .._core.jit import kernel
from .._core.moments import Matrix, Vector
from .._core.samples import Samples, Unweighted, Weights, n_roundings, weight_vector
from .._core.threads import Workers, one_blas_thread, physical_memory
from ..data.frames import not_finite
from ..problem.route import n_threads_of_sums
from .blocks import Coordinates, Mask, Piece, Rows, add_in_order, choose_coordinates, cut_folds, read_block, some_rows
from .sparse_sums import is_sparse_enough, sum_sparse_rows

# Below so many multiplications the pass takes a fraction of a millisecond, and BLAS is not worth its limit.
_FEW_PRODUCTS = 1 << 23
# One with scales and one with other shifts may follow the first.
_MOST_PASSES = 3
# Columns that vary by less than this share of their squares are shifted again: the first rows were not like the others.
_NEAR = 2.0**-20
# A column with a sum of squares outside of these bounds is scaled ...
_SMALLEST_SQUARES, _LARGEST_SQUARES = 2.0**-800, 2.0**800
# ... by one of these, after which the squares of numbers of any size are inside.
_ENLARGE, _REDUCE = 2.0**600, 2.0**-600


class RowSums(NamedTuple):
    """Inner products of the columns of [1, X, y] over some rows, in their coordinates and in the metric of weights.

    |products_ij - exact| <= gamma(n_ops) sqrt(norms2_i norms2_j): rounding is relative to the squared norms of the
    columns over all rows that ever took part, those that were subtracted included.
    """

    products: Matrix
    coordinates: Coordinates
    norms2: Vector
    n_ops: int
    n_rows: int  # of which the weight is not zero
    is_weighted: bool = False  # else the total weight is the number of rows, without rounding

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the rows."""
        return float(self.products[0, 0])

    def plus(self, other: "RowSums") -> "RowSums":
        """Return the sums over the rows of both."""
        n_ops = max(self.n_ops, other.n_ops) + 1
        products, norms2 = self.products + other.products, self.norms2 + other.norms2
        return self._replace(products=products, norms2=norms2, n_ops=n_ops, n_rows=self.n_rows + other.n_rows)

    def minus(self, part: "RowSums") -> "RowSums":
        """Return the sums over the rows that are not in `part`; their error is relative to the norms over all rows."""
        n_ops = self.n_ops + part.n_ops + 1
        return self._replace(products=self.products - part.products, n_ops=n_ops, n_rows=self.n_rows - part.n_rows)


def row_sums(
    X: Columns,
    y: Vector,
    fit_intercept: bool,
    workers: Workers,
    fold_of: Rows | None = None,
    feature_names: tuple[str, ...] | None = None,
    *,
    samples: Samples | None = None,
) -> list[RowSums]:
    """Return the sums over all rows, or over the rows of every fold (`fold_of`), in the same coordinates.

    Rows of weight zero are not read, others are multiplied by the roots of their weights. Columns are shifted only if
    they will be centred. NaN or infinity in X is a ValueError that names the columns.
    """
    samples = Unweighted(y.size) if samples is None else samples
    n_folds = 1 if fold_of is None else int(fold_of.max()) + 1
    if not isinstance(samples, Unweighted):
        fold_of = np.where(weight_vector(samples) > 0.0, 0 if fold_of is None else fold_of, -1)
    may_shift = shiftable(X, fit_intercept)
    coordinates = first_coordinates(X, y, samples, may_shift)
    for _ in range(_MOST_PASSES):
        found, vanished = sums_in(coordinates, X, y, fold_of, samples, workers=workers, n_folds=n_folds)
        with np.errstate(all="ignore"):
            squares: Vector = np.sum([sums.norms2 for sums in found], axis=0)
            totals: Vector = np.sum([sums.products[0] for sums in found], axis=0)
        better = better_coordinates(coordinates, squares, totals, vanished, may_shift)
        if better is None:
            break
        coordinates = better
    refuse_infinite(squares, feature_names)
    return found


def shiftable(X: Columns, fit_intercept: bool) -> Mask:
    """Tell which columns of [1, X, y] may be shifted."""
    m, p = shape(X)
    may_shift = np.full(p + 2, fit_intercept)
    may_shift[0] = False
    if isinstance(X, Csc):  # where a number is absent, the mean is no more than sqrt(m) spreads
        may_shift[1:-1] &= np.diff(X.indptr) == m
    return may_shift


def first_coordinates(X: Columns, y: Vector, samples: Samples, may_shift: Mask) -> Coordinates:
    """Return the coordinates that some rows choose, none of weight zero."""
    rows = some_rows(y.size)
    if not isinstance(samples, Unweighted):
        there = np.flatnonzero(weight_vector(samples) > 0.0)
        rows = there[some_rows(there.size)]
    return choose_coordinates(X, y, rows, may_shift)


def sums_in(
    coordinates: Coordinates,
    X: Columns,
    y: Vector,
    fold_of: Rows | None,
    samples: Samples,
    *,
    workers: Workers,
    n_folds: int = 1,
) -> tuple[list[RowSums], Mask]:
    """Return the sums over the rows of every fold in given coordinates, and in which columns squares have vanished."""
    m, p = shape(X)
    products = [np.zeros((p + 2, p + 2)) for _ in range(n_folds)]
    vanished = np.zeros(p + 2, np.bool_)
    n_ops = _add_rows(X, y, coordinates, fold_of, samples, workers, products=products, vanished=vanished)
    n_rows = [m] if fold_of is None else np.bincount(fold_of[fold_of >= 0], minlength=n_folds).tolist()
    found = zip(products, n_rows, strict=True)
    is_weighted = isinstance(samples, Weights)
    return [RowSums(it, coordinates, it.diagonal().copy(), n_ops, n, is_weighted) for it, n in found], vanished


def refuse_infinite(squares: Vector, feature_names: tuple[str, ...] | None) -> None:
    """Raise a ValueError that names columns of X with sums of squares that are not finite, whatever their scales."""
    if not np.isfinite(squares[1:-1]).all():
        raise not_finite(feature_names, ~np.isfinite(squares[1:-1]))


def better_coordinates(
    coordinates: Coordinates, squares: Vector, totals: Vector, vanished: Mask, may_shift: Mask
) -> Coordinates | None:
    """Return coordinates that lose fewer digits, in the light of the sums that were computed in these; None if few.

    In columns that have `vanished` the square of a number that is not zero was zero.
    """
    shifts, scales = coordinates
    is_large = ~(squares <= _LARGEST_SQUARES)
    is_small = (squares < _SMALLEST_SQUARES) & ((squares > 0.0) | vanished)
    if ((is_large | is_small) & (scales == 1.0)).any():  # those that were scaled before have no finite squares
        return Coordinates(shifts, np.select([is_large, is_small], [_REDUCE, _ENLARGE], scales))
    with np.errstate(all="ignore"):
        is_far = may_shift & (totals**2 > (1.0 - _NEAR) * squares * squares[0]) & (squares > 0.0)
        nearer = shifts + totals / squares[0] / scales
    if not is_far.any():
        return None
    return Coordinates(np.where(is_far & np.isfinite(nearer), nearer, shifts), scales)


def _add_rows(
    X: Columns,
    y: Vector,
    coordinates: Coordinates,
    fold_of: Rows | None,
    samples: Samples,
    workers: Workers,
    *,
    products: list[Matrix],
    vanished: Mask,
) -> int:
    """Add all rows to the products of their folds; return how many roundings these have."""
    m, p = shape(X)
    is_small = m * (p + 2) ** 2 <= _FEW_PRODUCTS
    if isinstance(X, Csc) and not is_small and is_sparse_enough(int(X.indptr[-1]), m, p):
        for fold, sums in enumerate(products):
            kept = None if fold_of is None else fold_of == fold
            n_ops = sum_sparse_rows(X, y, coordinates, kept, samples, workers, products=sums, vanished=vanished)
        return n_ops + n_roundings(samples)
    pieces = [Piece(0, np.arange(m))] if is_small and fold_of is None else cut_folds(m, p, fold_of)
    most = max((piece.rows.size for piece in pieces), default=0)
    left = iter(pieces)
    workers = Workers(1) if is_small else workers  # to start a thread takes as long
    with nullcontext() if is_small else one_blas_thread():
        add_in_order(
            workers,
            min(len(pieces), n_threads_of_sums(p, physical_memory())),
            take=lambda _: next(left, None),
            compute=lambda piece, room: room.multiply(X, y, piece.rows, coordinates, samples),
            add=lambda piece, room: room.add_to(products[piece.fold], vanished),
            make_room=lambda: RowBlock(most, is_small=is_small),
        )
    # In a block, of all blocks, the shifts of both columns, and the weights.
    return most + len(pieces) + 2 + n_roundings(samples)


class RowBlock:
    """What a thread works on: the columns of [1, X, y] of some rows, and their products."""

    def __init__(self, n_rows: int, *, is_small: bool = False) -> None:
        self._n_rows, self._is_small = n_rows, is_small
        self.block = self.products = np.empty((0, 0))

    def multiply(self, X: Columns, y: Vector, rows: Rows, coordinates: Coordinates, samples: Samples) -> None:
        """Compute the products over some rows, none of weight zero."""
        n = coordinates.shifts.size
        if len(self.block) != n:
            self.block, self.products = np.empty((n, self._n_rows)), np.empty((n, n))
        block = self.block[:, : rows.size]
        block[0] = 1.0
        with np.errstate(all="ignore"):  # threads have their own; what is not finite is found on the diagonal
            coordinates.place(y[None, rows], block[-1:], slice(-1, None))
            values = read_block(X, rows, coordinates, self.block[1:-1])
            if isinstance(samples, Weights):  # never where the values lie, which may be X
                values = np.multiply(values, samples.roots[rows], out=block[1:-1])
                block[:: n - 1] *= samples.roots[rows]
            if self._is_small:
                block[1:-1] = values
                _multiply_small(self.block, rows.size, self.products)
            else:
                _multiply(values, block, self.products)
        zero = np.flatnonzero(self.products.diagonal()[1:-1] == 0.0)
        self._vanished = 1 + zero[values[zero].any(axis=1)] if zero.size else zero
        self._has_vanished_y = self.products[-1, -1] == 0.0 and block[-1].any()

    def add_to(self, products: Matrix, vanished: Mask) -> None:
        """Add the products, and note columns in which squares of numbers that are not zero were zero."""
        with np.errstate(all="ignore"):
            products += self.products
        vanished[self._vanished] = True
        vanished[-1] |= self._has_vanished_y


def _multiply(values: Matrix, block: Matrix, products: Matrix) -> None:
    """Compute the products of a block of [1, X, y], of which the `values` of X may lie elsewhere."""
    if np.may_share_memory(values, block):
        np.matmul(block, block.T, out=products)
        return
    np.matmul(values, values.T, out=products[1:-1, 1:-1])
    ends = block[:: len(block) - 1]
    products[:: len(block) - 1, :: len(block) - 1] = ends @ ends.T
    for k in (0, -1):
        products[k, 1:-1] = products[1:-1, k] = values @ block[k]


@kernel
def _multiply_small(block: Matrix, n: int, products: Matrix) -> None:
    """Compute the products of the first n numbers of all rows without BLAS, two by two: half of the loads."""
    last = block.shape[0] - 1
    for i in range(0, last + 1, 2):
        for j in range(0, i + 1, 2):
            next_i, next_j = min(i + 1, last), min(j + 1, last)
            both = first = second = neither = 0.0
            for r in range(n):
                both += block[i, r] * block[j, r]
                first += block[i, r] * block[next_j, r]
                second += block[next_i, r] * block[j, r]
                neither += block[next_i, r] * block[next_j, r]
            products[i, j] = products[j, i] = both
            products[i, next_j] = products[next_j, i] = first
            products[next_i, j] = products[j, next_i] = second
            products[next_i, next_j] = products[next_j, next_i] = neither

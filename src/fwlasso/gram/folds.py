"""Cross-validation on sums over rows: training sums, what is constant or copied in them, and held-out errors."""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np

from .._core.columns import Columns
from .._core.jit import kernel
from .._core.moments import Matrix, Vector, gamma
from .blocks import Mask, Rows, read_rows
from .centring import Centre
from .row_sums import RowSums

# Squares over all rows may be so many times those over the training rows: 30 times the norm.
_LARGEST_RATIO = 900.0
# Columns whose squared cosine is below this are no copies of each other; the others are looked at.
_LEAST_COSINE2 = 1.0 - 1e-9


def total_sums(folds: Sequence[RowSums]) -> RowSums:
    """Return the sums over the rows of all folds."""
    return functools.reduce(RowSums.plus, folds)


def training_sums(folds: Sequence[RowSums], total: RowSums, held_out: int) -> RowSums:
    """Return the sums over all rows but those of one fold.

    They are the difference to the total, whose rounding is relative to the total. Where one fold holds most rows, or
    nearly all of a column, the other folds are added up instead.
    """
    training = total.minus(folds[held_out])
    holds_most = 2 * folds[held_out].total_weight > total.total_weight
    if holds_most or (total.norms2 > _LARGEST_RATIO * training.products.diagonal()).any():
        others = [fold for k, fold in enumerate(folds) if k != held_out]
        return total_sums(others)
    return training


def constant_columns(X: Columns, y: Vector, sums: RowSums, rows: Rows, fit_intercept: bool) -> Mask:
    """Tell which columns of X, and whether y, are constant over some rows; without an intercept, which are zero.

    Only columns that vary by no more than the rounding of their sums of squares are looked at.
    """
    squares = sums.products.diagonal()[1:]
    if fit_intercept:
        squares = squares - sums.products[0, 1:] ** 2 / sums.products[0, 0]
    ones_ratio = np.sqrt(sums.norms2[0] / sums.products[0, 0])
    n_ops = (3.0 * ones_ratio + (ones_ratio**2 if sums.is_weighted else 0.0)) * sums.n_ops + 8.0
    constant = squares <= gamma(n_ops) * sums.norms2[1:]
    for j in np.flatnonzero(constant):
        column = y[rows] if j == constant.size - 1 else _column(X, int(j), rows)
        constant[j] = column.min() == column.max() and (fit_intercept or column[0] == 0.0)
    return constant


def copied_columns(X: Columns, gram: Matrix, rows: Rows, divisors: Vector | None = None) -> Mask:
    """Tell which columns of X are copies of others over some rows, with either sign.

    The one that is left is the first of those that are divided by the least number.
    """
    copies, seen = np.zeros(len(gram), np.bool_), set()
    alike = np.flatnonzero(_have_twins(gram))
    for j in alike if divisors is None else alike[np.argsort(divisors[alike], kind="stable")]:
        column = _column(X, int(j), rows)
        is_turned = column[np.argmax(column != 0.0)] < 0.0
        mark = hashlib.blake2b(((-column if is_turned else column) + 0.0).tobytes()).digest()  # there is no -0.0 then
        copies[j] = mark in seen
        seen.add(mark)
    return copies


@kernel
def _have_twins(gram: Matrix) -> Mask:
    """Tell which columns lie in the direction of another one, or nearly so."""
    p = len(gram)
    found = np.zeros(p, np.bool_)
    for i in range(p):
        least, row = _LEAST_COSINE2 * gram[i, i], gram[i]
        for j in range(i + 1, p):
            if row[j] * row[j] >= least * gram[j, j] and least * gram[j, j] > 0.0:
                found[i] = found[j] = True
    return found


def _column(X: Columns, j: int, rows: Rows) -> Vector:
    """Return some rows of a column."""
    column: Vector = read_rows(X, rows, np.empty((1, rows.size)), j)[0]
    return column


def held_out_errors(fold: RowSums, centre: Centre, weights: Matrix) -> tuple[Vector, Vector]:
    """Return the mean squared errors of models on the rows of a fold, and bounds of the rounding in them.

    With v = (-b0, -b, 1) in the coordinates of the sums F, which those of `centre` are, too, it is v'F v / rows, all
    models at once; it errs by gamma (sum norms_j |v_j|)^2. Where that is not small, predict on the data.
    """
    n = len(fold.norms2)
    v = np.empty((len(weights), n))
    v[:, -1] = 1.0
    v[:, 1:-1] = -weights * centre.factors
    v[:, 0] = -centre.y_mean - v[:, 1:-1] @ centre.means
    unit = fold.total_weight * centre.y_scale**2
    reach = np.abs(v) @ np.sqrt(fold.norms2)
    errors = np.einsum("kj,kj->k", v @ fold.products, v)
    return np.maximum(errors, 0.0) / unit, gamma(fold.n_ops + 2.0 * n + 8.0) * reach**2 / unit

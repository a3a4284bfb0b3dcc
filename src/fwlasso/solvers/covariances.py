"""Covariance updates: descent on the inner products of columns instead of the columns themselves.

Coordinate descent: a cycle over k columns of n numbers costs 2 k n multiplications by the residual, and k^2 by the
inner products, once these are known. They are bought when as many dot products have been spent without them, which is
never more than twice the cost of having known what the better choice is.

Frank-Wolfe on all columns: a step takes p dot products by the residual, and none by X'z_j of the column j that it goes
to. These take p dot products once, and most steps go to columns that were stepped to before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import iterate as iterates
from .._core.columns import Columns, Matrix, Vector, add_column, column_chunks, column_entries, dot_column, samples
from .._core.costs import Cost, minimise_1d
from .._core.iterate import Iterate, correlation
from .._core.jit import kernel
from .._core.penalties import ROUNDING
from .._core.problem import Problem
from .._core.samples import center
from .._core.threads import Workers

Indices = NDArray[np.int64]

# Inner products of at most this many columns are kept: 8 MB.
_MOST_COLUMNS = 1000


class Covariances:
    """The inner products of the columns that were ever active."""

    def __init__(self) -> None:
        self._row_of: dict[int, int] = {}
        self._values = np.empty((16, 16))
        self._n_spent = 0

    def spend(self, n_dots: int) -> None:
        """Count dot products that inner products would have saved."""
        self._n_spent += n_dots

    def n_missing(self, columns: Indices) -> int:
        """Return how many dot products it takes to know the inner products among `columns`."""
        n_new = self._new(columns).size
        n_old = len(self._row_of)
        if n_old + n_new > _MOST_COLUMNS:
            n_old, n_new = 0, columns.size
        return n_new * n_old + n_new * (n_new + 1) // 2

    def pay_off(self, problem: Problem, columns: Indices) -> bool:
        """Tell whether to cycle over `columns` by their inner products."""
        if columns.size > _MOST_COLUMNS:
            return False
        n_entries = sum(int(column_entries(problem.X, j)) for j in columns)
        return columns.size**2 <= 2 * n_entries and self.n_missing(columns) <= self._n_spent

    def among(self, problem: Problem, columns: Indices) -> Matrix:
        """Return z_i'z_j among `columns`, at most a thousand of them; the others may be forgotten."""
        if len(self._row_of) + self._new(columns).size > _MOST_COLUMNS:
            self._row_of.clear()
        new = self._new(columns)
        if new.size:
            self._add(problem, new)
            self._n_spent = 0
        rows = np.array([self._row_of[j] for j in columns.tolist()], np.int64)
        return self._values[np.ix_(rows, rows)]

    def _new(self, columns: Indices) -> Indices:
        return np.array([j for j in columns.tolist() if j not in self._row_of], np.int64)

    def _add(self, problem: Problem, new: Indices) -> None:
        n_old = len(self._row_of)
        self._row_of.update(zip(new.tolist(), range(n_old, n_old + new.size), strict=True))
        n_all = len(self._row_of)
        if n_all > self._values.shape[0]:
            room = min(2 * n_all, _MOST_COLUMNS)
            values = np.empty((room, room))
            values[:n_old, :n_old] = self._values[:n_old, :n_old]
            self._values = values
        _inner_products(problem, np.array(list(self._row_of), np.int64), n_old, self._values)


class Products(NamedTuple):
    """X'q of a point, and what it takes to keep it while the point moves."""

    at_point: Vector  # X'q before it is scaled: that of `Iterate.fitted`
    rows: Matrix  # X'z_j of some columns
    row_of: Indices  # by column; -1: it has none


class ActiveCovariates:
    """X'q, kept while a moves, by the inner products of all columns with those that were stepped to.

    A column takes p dot products when it is first stepped to; the one that came first is forgotten where there is no
    room for another. So a step takes p dot products at most, as it does by the residual, and mostly none.
    """

    def __init__(self, problem: Problem, most_bytes: int) -> None:
        p = problem.xty.size
        n_rows = max(1, min(p, most_bytes // problem.xty.nbytes))  # memory that is not used costs nothing
        self._products = Products(np.zeros(p), np.empty((n_rows, p)), np.full(p, -1))
        self._columns = np.full(n_rows, -1)  # by row
        self._n_taken = 0
        self._known = np.empty(0, np.int64), np.empty(0), 0  # the point of `at_point`: columns, coefficients and age

    def at(self, problem: Problem, iterate: Iterate, workers: Workers) -> tuple[Products, int]:
        """Return the inner products at a point, and how many dot products that took.

        They are computed anew if it is another one than `leave` was told of, or its fitted values were.
        """
        products, n = self._products, iterate.n_active
        active, coefs, age = self._known
        is_known = np.array_equal(active, iterate.active[:n]) and np.array_equal(coefs, iterate.unscaled[:n])
        if is_known and age <= iterate.age:
            return products, 0
        self.leave(iterate)
        rows = products.row_of[iterate.active[:n]]
        if rows.min(initial=0) >= 0:
            _mix_rows(products.rows, rows, iterate.unscaled, products.at_point)
            return products, 0
        _multiply(problem, iterate.fitted, products.at_point, workers)
        return products, products.at_point.size

    def leave(self, iterate: Iterate) -> None:
        """Take note of the point that `at_point` was brought to."""
        n = iterate.n_active
        self._known = iterate.active[:n].copy(), iterate.unscaled[:n].copy(), iterate.age

    def take_in(self, problem: Problem, j: int, workers: Workers) -> int:
        """Compute X'z_j, and return how many dot products that took."""
        _, rows, row_of = self._products
        row = self._n_taken % len(rows)
        if self._columns[row] >= 0:
            row_of[self._columns[row]] = -1
        self._columns[row], row_of[j] = j, row
        self._n_taken += 1
        column = iterates.at(problem, np.array([j]), np.ones(1)).fitted
        _multiply(problem, column, rows[row], workers)
        return row_of.size


def _multiply(problem: Problem, vector: Vector, out: Vector, workers: Workers) -> None:
    """Fill in X'v."""
    workers.sweep(lambda lo, hi: _dot_columns(problem.X, vector, lo, hi, out), column_chunks(problem.X))


def cycle_by_covariances(
    problem: Problem, lam: float, iterate: Iterate, places: Indices, gram: Matrix, goal: float, *, max_cycles: int
) -> int:
    """Cycle over the active columns at `places`, in place, until a cycle changes no coefficient by more than `goal`.

    Return the number of cycles. It takes one dot product for every column.
    """
    corrs, coefs = np.empty(places.size), iterate.unscaled[places]
    _correlations_at(problem, iterate, places, corrs)
    columns = iterate.active[places]
    n_cycles: int = _cycle_on_gram(problem.cost, lam, columns, gram, corrs, coefs, goal, max_cycles)
    _set_coefs(problem, iterate, places, coefs)
    return n_cycles


@kernel
def _inner_products(problem: Problem, columns: Indices, n_old: int, values: Matrix) -> None:
    """Fill the rows and columns of `values` from n_old on."""
    column = np.empty(problem.y.size)
    for k in range(n_old, columns.size):
        column[:] = 0.0
        add_column(problem.X, columns[k], 1.0, column)
        center(samples(problem.X), column)
        for i in range(k + 1):
            values[k, i] = values[i, k] = dot_column(problem.X, columns[i], column)


@kernel
def _correlations_at(problem: Problem, iterate: Iterate, places: Indices, out: Vector) -> None:
    for k in range(places.size):
        out[k] = correlation(problem, iterate, iterate.active[places[k]])


@kernel
def _cycle_on_gram(
    cost: Cost,
    lam: float,
    columns: Indices,
    gram: Matrix,
    corrs: Vector,
    coefs: Vector,
    goal: float,
    max_cycles: int,
) -> int:
    """Cycle over all columns of `gram`: a change of a_k by d changes z_i'(y - q) by -d z_i'z_k."""
    n_cycles = 0
    change = np.inf
    while n_cycles < max_cycles and change > goal:
        change = 0.0
        largest = 0.0
        for k in range(coefs.size):
            new = minimise_1d(cost, lam, columns[k], coefs[k] * gram[k, k] + corrs[k], gram[k, k])
            step = new - coefs[k]
            if step != 0.0:
                for i in range(coefs.size):
                    corrs[i] -= step * gram[k, i]
                coefs[k] = new
                change = max(change, abs(step))
            largest = max(largest, abs(new))
        n_cycles += 1
        if change <= ROUNDING * largest:  # nothing but rounding
            change = 0.0
    return n_cycles


@kernel
def _set_coefs(problem: Problem, iterate: Iterate, places: Indices, coefs: Vector) -> None:
    """Set coefficients, and the fitted values with them; `iterate` has scale 1."""
    for k in range(places.size):
        step = coefs[k] - iterate.unscaled[places[k]]
        if step != 0.0:
            add_column(problem.X, iterate.active[places[k]], step, iterate.fitted)
            iterate.unscaled[places[k]] = coefs[k]


@kernel
def _dot_columns(X: Columns, vector: Vector, lo: int, hi: int, out: Vector) -> None:
    for j in range(lo, hi):
        out[j] = dot_column(X, j, vector)


@kernel
def _mix_rows(rows: Matrix, places: Indices, weights: Vector, out: Vector) -> None:
    """Fill in the sum of weights[k] rows[places[k]]."""
    out[:] = 0.0
    for k in range(places.size):
        for i in range(out.size):
            out[i] += weights[k] * rows[places[k], i]

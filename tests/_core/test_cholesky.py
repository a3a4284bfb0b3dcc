"""The factor of cosines: whatever comes and leaves, it is the factor of those that are there."""

import numpy as np
import pytest

from fwlasso._core import cholesky
from fwlasso._core.cholesky import Factor
from fwlasso._core.jit import kernel


@kernel
def set_columns(gram, factor, sign):
    cholesky.set_columns(gram, factor, sign)


@kernel
def solve(factor, x):
    cholesky.solve(factor.upper, factor.size[0], x)


@kernel
def clear(factor):
    cholesky.clear(factor)


def make_factor(gram: np.ndarray) -> Factor:
    return cholesky.make_factor(gram, np.sqrt(np.abs(gram.diagonal())))


def bring(gram: np.ndarray, factor: Factor, columns) -> None:
    sign = np.zeros(len(gram))
    sign[columns] = 1.0
    set_columns(gram, factor, sign)
    order = factor.order[: factor.size[0]]
    assert sorted(order) == sorted(columns)
    assert (factor.row_of[order] == np.arange(order.size)).all()
    assert (np.delete(factor.row_of, order) == -1).all()


def upper_of(factor: Factor) -> np.ndarray:
    n = factor.size[0]
    return np.triu(factor.upper[:n, :n])


def error(gram: np.ndarray, factor: Factor) -> float:
    """How far U'U is from the cosines with their ridge."""
    order, U = factor.order[: factor.size[0]], upper_of(factor)
    scale = 1.0 / np.sqrt(gram.diagonal()[order])
    cosines = gram[np.ix_(order, order)] * scale * scale[:, None]
    return float(np.abs(U.T @ U - cosines - np.diag(factor.ridge[order])).max(initial=0.0))


@pytest.fixture
def gram(rng) -> np.ndarray:
    X = rng.standard_normal((150, 110)) * np.geomspace(1e-6, 1e6, 110)
    return X.T @ X


def test_columns_come_and_leave(gram, rng):
    factor, wanted = make_factor(gram), np.zeros(110, bool)
    for n_in, n_out in [(3, 0), (20, 0), (1, 2), (40, 1), (0, 5), (30, 40), (50, 3), (0, 0), (9, 9), (0, 70), (4, 0)]:
        leaves = rng.choice(np.flatnonzero(wanted), n_out, replace=False)
        comes = rng.choice(np.flatnonzero(~wanted), n_in, replace=False)
        wanted[leaves], wanted[comes] = False, True
        bring(gram, factor, np.flatnonzero(wanted))
        assert error(gram, factor) < 3e-15


@pytest.mark.parametrize("n_first", [0, 5, 30])
@pytest.mark.parametrize("kind", ["dependent", "copies", "no inner products"])
def test_columns_that_depend_on_each_other_do_not_break_it(kind, n_first, rng):
    X = rng.standard_normal((40, 60))
    if kind == "copies":
        X[:, 20:40] = X[:, 40:] = X[:, :20]
    gram = X.T @ X
    if kind == "no inner products":  # what rounding may leave of columns that are far from zero
        gram += 30.0 * rng.standard_normal(gram.shape)
        gram = gram + gram.T
        np.fill_diagonal(gram, np.abs(gram.diagonal()) + 1e-3)
    factor = make_factor(gram)
    bring(gram, factor, np.arange(n_first))
    bring(gram, factor, np.arange(60))
    for columns in (np.arange(60), np.arange(0, 60, 7), np.arange(3, 60)):
        bring(gram, factor, columns)
        lengths2 = (upper_of(factor) ** 2).sum(axis=0)
        assert (lengths2 <= 1.0 + 2.0 * factor.ridge[factor.order[: lengths2.size]]).all()
        x = np.ones(60)
        solve(factor, x)
        assert np.isfinite(x).all() or kind == "no inner products"


def test_rotations_let_no_error_grow_among_near_copies(rng):
    base = rng.standard_normal((80, 1))
    X = base + 1e-6 * rng.standard_normal((80, 30))
    gram = X.T @ X
    factor = make_factor(gram)
    bring(gram, factor, np.arange(30))
    for first in range(1, 25):
        bring(gram, factor, np.arange(first, 30))
    assert error(gram, factor) < 1e-14


def test_a_cleared_factor_is_made_again(gram):
    factor = make_factor(gram)
    bring(gram, factor, np.arange(40))
    factor.upper[:] = np.nan
    clear(factor)
    bring(gram, factor, np.arange(10, 50))
    assert error(gram, factor) < 3e-15

"""The columns of two storages side by side, such as covariates and packed genotypes: neither is copied or changed.

Both are storages whose vectors lie one by one (`n_lanes` is 1), over samples that count alike; a wrapper comes around
both. Every function asks once a column which of them has it.
"""

from typing import NamedTuple

from .columns import (
    Columns,
    add_column,
    column_entries,
    column_entry,
    column_moments,
    dot_column,
    fetch_column,
    shape,
)
from .jit import INLINE


class Beside(NamedTuple):
    """The columns of one storage, and behind them those of another one."""

    left: Columns
    right: Columns


@dot_column.register(Beside, INLINE)
def _(X, j, v):
    n = shape(X.left)[1]
    return dot_column(X.left, j, v) if j < n else dot_column(X.right, j - n, v)


@add_column.register(Beside, INLINE)
def _(X, j, a, v):
    n = shape(X.left)[1]
    if j < n:
        add_column(X.left, j, a, v)
    else:
        add_column(X.right, j - n, a, v)


@column_moments.register(Beside, INLINE)
def _(X, j):
    n = shape(X.left)[1]
    return column_moments(X.left, j) if j < n else column_moments(X.right, j - n)


@column_entries.register(Beside)
def _(X, j):
    n = shape(X.left)[1]
    return column_entries(X.left, j) if j < n else column_entries(X.right, j - n)


@column_entry.register(Beside)
def _(X, j, k):
    n = shape(X.left)[1]
    return column_entry(X.left, j, k) if j < n else column_entry(X.right, j - n, k)


@fetch_column.register(Beside)
def _(X, j):
    n = shape(X.left)[1]
    if j < n:
        fetch_column(X.left, j)
    else:
        fetch_column(X.right, j - n)


@shape.register(Beside)
def _(X):
    m, n = shape(X.left)
    return m, n + shape(X.right)[1]

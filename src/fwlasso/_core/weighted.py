"""Columns over samples with weights: folds are weights of zero and one, over the same memory."""

from typing import NamedTuple

import numpy as np

from .columns import (
    Columns,
    Vector,
    column_entries,
    column_entry,
    column_moments,
    dot_column,
    dot_each,
    fetch_column,
    pass_on,
    read_only,
    samples,
    shape,
)
from .samples import Weights


class Weighted(NamedTuple):
    """The columns of another storage over samples with weights."""

    columns: Columns
    weights: Weights


def weighted(columns: Columns, weights: Vector | None) -> Columns:
    """Return columns over samples with these weights; None: all count alike."""
    if weights is None:
        return columns
    return Weighted(columns, Weights(read_only(weights), float(np.sum(weights)), int(np.count_nonzero(weights))))


# Vectors carry the weights: products need not.
pass_on(Weighted, dot_column, dot_each, column_entries, column_entry, fetch_column)


@column_moments.register(Weighted)
def _(X, j):
    weights, total_weight = X.weights.values, X.weights.total
    total = weight_there = 0.0
    for k in range(column_entries(X.columns, j)):
        i, value = column_entry(X.columns, j, k)
        total += value * weights[i]
        weight_there += weights[i]
    mean = total / total_weight
    squares = (total_weight - weight_there) * mean**2
    for k in range(column_entries(X.columns, j)):
        i, value = column_entry(X.columns, j, k)
        squares += weights[i] * (value - mean) ** 2
    return mean, squares


@shape.register(Weighted)
def _(X):
    return X.weights.n_positive, shape(X.columns)[1]


@samples.register(Weighted)
def _(X):
    return X.weights

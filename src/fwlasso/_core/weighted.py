"""Columns over samples with weights, or over some of the samples, in the same memory."""

from typing import NamedTuple

from .columns import (
    Columns,
    column_entries,
    column_entry,
    column_moments,
    dot_column,
    dot_each,
    fetch_column,
    pass_on,
    samples,
    shape,
)
from .jit import by_type
from .samples import Samples, Subset, Unweighted, Weights, total_weight

# Where the weights of the entries in memory leave less than this share of the total, the others are added up.
_LEAST_SHARE = 1e-3


class Weighted(NamedTuple):
    """The columns of another storage over samples with weights."""

    columns: Columns
    weights: Subset | Weights


def weighted(columns: Columns, samples: Samples) -> Columns:
    """Return columns over these samples: as they are if all samples count alike."""
    return columns if isinstance(samples, Unweighted) else Weighted(columns, samples)


@by_type
def weight_of_others(samples: Samples, X: Columns, j: int, there: float) -> float:
    """Return the weight of the samples that column j has no entry for, `there` being that of those it has."""


@weight_of_others.register(Unweighted)
@weight_of_others.register(Subset)
def _(samples, X, j, there):
    return total_weight(samples) - there


@weight_of_others.register(Weights)
def _(samples, X, j, there):
    others = samples.total - there
    if others > _LEAST_SHARE * samples.total:
        return others
    others, row = 0.0, 0  # the difference is mostly rounding
    for k in range(column_entries(X, j)):
        stored = column_entry(X, j, k)[0]
        for i in range(row, stored):
            others += samples.values[i]
        row = stored + 1
    for i in range(row, samples.values.size):
        others += samples.values[i]
    return others


# Vectors carry the weights: products need not.
pass_on(Weighted, dot_column, dot_each, column_entries, column_entry, fetch_column)


@column_moments.register(Weighted)
def _(X, j):
    weights = X.weights.values
    total = weight_there = 0.0
    for k in range(column_entries(X.columns, j)):
        i, value = column_entry(X.columns, j, k)
        total += value * weights[i]
        weight_there += weights[i]
    mean = total / X.weights.total
    squares = weight_of_others(X.weights, X.columns, j, weight_there) * mean**2
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

"""Sweeps over all columns: of X for some residuals, or of what is kept of every column without touching X."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import (
    Columns,
    Vector,
    Vectors,
    column_shift,
    dot_column,
    dot_each,
    fetch_listed,
    fetch_next,
    samples,
)
from .costs import Cost, n_tops, pull, take_in
from .jit import kernel
from .samples import total_weight

Indices = NDArray[np.int64]
Ratios = NDArray[np.float32]

# Columns whose mean is so much larger than their variation survive always: of them little can be proved.
_LARGEST_MEAN_RATIO = 1e4
# A float32 scaled up by this is at least the number it was rounded from; so is norm times distance, in float64.
_ROUND_UP = 1.0 + 2.0**-22
# Columns that are counted together.
_BLOCK = 256


@kernel
def fill_norms(X: Columns, norms2: Vector, unit: float, norms: Ratios) -> float:
    """Fill at least ||z_j|| / unit; return how much larger norms in memory are at most.

    It is infinite for columns that survive always.
    """
    m = total_weight(samples(X))
    mean_ratio = 1.0
    for j in range(norms.size):
        norm2 = norms2[j]
        norms[j] = max(np.sqrt(norm2) / unit * _ROUND_UP, 1e-30)
        if norm2 > 0.0:
            ratio = np.sqrt(1.0 + m * column_shift(X, j) ** 2 / norm2)
            if ratio > _LARGEST_MEAN_RATIO:
                norms[j] = np.inf
            else:
                mean_ratio = max(mean_ratio, ratio)
    return mean_ratio


class Asked(NamedTuple):
    """What is asked about some residuals."""

    residuals: Vectors
    lams: Vector
    blurs: Vector  # what rounding may add to correlations
    apart: Indices  # columns that do not count in what bounds all, for one of the residuals at least
    is_apart: NDArray[np.bool_]  # and whether they do not, by column and residual


@kernel
def correlate_all(X: Columns, cost: Cost, asked: Asked, lo: int, hi: int, ratios: Ratios, ceiling: Ratios) -> Vector:
    """Return what bounds the correlations of every residual over columns lo..hi, see `take_in`.

    Fill in z_j'r / lam of the last residual, and raise the ceilings to the largest pull / lam.
    """
    residuals, lams, blurs, apart, is_apart = asked
    n, at = lams.size, 0
    width = n_tops(cost)
    tops, corrs, scales = np.zeros(n * width), np.empty(residuals.n), 1.0 / lams
    only = residuals.rows[0]
    while at < apart.size and apart[at] < lo:
        at += 1
    next_apart = apart[at] if at < apart.size else hi
    for j in range(lo, hi):
        fetch_next(X, j)
        if n == 1:  # of a few entries the sum takes no longer than to fill in a list
            corrs[0] = dot_column(X, j, only)
        else:
            dot_each(X, j, residuals, corrs)
        is_here = j == next_apart
        top = ceiling[j]
        ratio = np.float32(0.0)
        for k in range(n):
            if not (is_here and is_apart[at, k]):
                take_in(cost, lams[k], j, corrs[k], blurs[k], tops, k * width)
            ratio = np.float32(corrs[k] * scales[k])
            top = np.float32(np.inf) if np.isnan(corrs[k]) else max(top, np.float32(pull(cost, j, ratio)))
        if is_here:
            at += 1
            next_apart = apart[at] if at < apart.size else hi
        ratios[j] = ratio
        ceiling[j] = top
    return tops


@kernel
def sum_tops(cost: Cost, lam: float, corrs: Vector, blur: float) -> Vector:
    """Return what bounds correlations that are known, see `take_in`."""
    tops = np.zeros(n_tops(cost))
    for j in range(corrs.size):
        take_in(cost, lam, j, float(corrs[j]), blur, tops, 0)
    return tops


@kernel
def correlate_some(
    X: Columns, cost: Cost, columns: Indices, asked: Asked, lo: int, hi: int, violates: NDArray[np.bool_]
) -> Vector:
    """Return what bounds the correlations of every residual over columns lo..hi of a list, lambda at least.

    Fill in which columns exceed lambda. `asked.apart` is the list itself, or empty.
    """
    residuals, lams, blurs, apart, is_apart = asked
    width = n_tops(cost)
    tops, corrs = np.zeros(lams.size * width), np.empty(residuals.n)
    for k in range(lo, hi):
        fetch_listed(X, columns, k)
        dot_each(X, columns[k], residuals, corrs)
        for i in range(lams.size):
            if apart.size == 0 or not is_apart[k, i]:
                take_in(cost, lams[i], columns[k], corrs[i], blurs[i], tops, i * width)
                violates[k] |= not pull(cost, columns[k], corrs[i]) <= lams[i]
    return tops


@kernel
def find_above(ceiling: Ratios, growth: float, norms: Ratios, distance: float, lo: int, hi: int) -> Indices:
    """Return the columns of lo..hi with growth ceiling + norm distance above 1, rounded up, or no number."""
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # for a literal number numba would compile `_with_room` once more
    for first in range(lo, hi, _BLOCK):  # they are few: most blocks are only counted, by vector instructions
        last = min(first + _BLOCK, hi)
        tops, reaches = ceiling[first:last], norms[first:last]
        n_more = 0
        for i in range(tops.size):
            n_more += not (growth * float(tops[i]) + float(reaches[i]) * distance) * _ROUND_UP <= 1.0
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(tops.size):
            if not (growth * float(tops[i]) + float(reaches[i]) * distance) * _ROUND_UP <= 1.0:
                found[n] = first + i
                n += 1
    return found[:n]


@kernel
def find_near(
    cost: Cost, ratios: Ratios, here: float, before: Ratios, past: float, closeness: float
) -> tuple[Indices, Vector]:
    """Return the columns with a pull above `closeness`, by a ratio or here ratio - past before, and the larger one."""
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # as in `find_above`
    for first in range(0, ratios.size, _BLOCK):
        block, past_block = ratios[first : first + _BLOCK], before[first : first + _BLOCK]
        n_more = 0
        for i in range(block.size):
            ahead, now = pull(cost, first + i, here * block[i] - past * past_block[i]), pull(cost, first + i, block[i])
            n_more += (ahead > closeness) | (now > closeness)
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(block.size):
            ahead, now = pull(cost, first + i, here * block[i] - past * past_block[i]), pull(cost, first + i, block[i])
            if ahead > closeness or now > closeness:
                found[n] = first + i
                n += 1
    found = found[:n]
    sizes = np.empty(n)
    for i in range(n):
        j = found[i]
        sizes[i] = max(pull(cost, j, here * ratios[j] - past * before[j]), pull(cost, j, ratios[j]))
    return found, sizes


@kernel
def _with_room(items: Indices, n: int, n_least: int) -> Indices:
    """Return the first n items, with room for `n_least` at least, and for twice as many as there was."""
    larger = np.empty(max(2 * items.size, n_least), np.int64)
    for i in range(n):  # a slice would bring numba's texts for errors of its shape, half a second to compile
        larger[i] = items[i]
    return larger

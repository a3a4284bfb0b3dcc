"""Sweeps over all columns: of X for some residuals, or of what is kept of every column without touching X."""

import numpy as np
from numpy.typing import NDArray

from .columns import (
    Columns,
    Matrix,
    Vector,
    Vectors,
    column_shift,
    dot_column,
    dot_each,
    fetch_listed,
    fetch_next,
    shape,
)
from .jit import kernel

Indices = NDArray[np.int64]
Ratios = NDArray[np.float32]

# Columns whose mean is so much larger than their variation survive always: of them little can be proved.
_LARGEST_MEAN_RATIO = 1e4
# A float32 scaled up by this is at least the number it was rounded from; so is norm times distance, in float64.
_ROUND_UP = 1.0 + 2.0**-22
# Columns that are counted together.
_BLOCK = 256


@kernel
def fill_norms(X: Columns, norms2: Vector, bend: float, unit: float, norms: Ratios) -> float:
    """Fill at least ||z_j|| / unit, bend added to the square; return how much larger norms in memory are at most.

    It is infinite for columns that survive always.
    """
    m = shape(X)[0]
    mean_ratio = 1.0
    for j in range(norms.size):
        norm2 = norms2[j]
        norms[j] = max(np.sqrt(norm2 + bend) / unit * _ROUND_UP, 1e-30)
        if norm2 > 0.0:
            ratio = np.sqrt(1.0 + m * column_shift(X, j) ** 2 / norm2)
            if ratio > _LARGEST_MEAN_RATIO:
                norms[j] = np.inf
            else:
                mean_ratio = max(mean_ratio, ratio)
    return mean_ratio


@kernel
def correlate_all(
    X: Columns,
    residuals: Vectors,
    scales: Vector,
    shifted: Indices,
    shifts: Matrix,
    lo: int,
    hi: int,
    ratios: Ratios,
    ceiling: Ratios,
) -> Vector:
    """Return the largest |z_j'r| of every residual over columns lo..hi; from those of `shifted` columns, shifts go off.

    Scales are 1 / lam. Fill in z_j'r / lam of the last residual, and raise the ceilings to the largest |z_j'r| / lam.
    """
    n, at = scales.size, 0
    largest, corrs = np.zeros(n), np.empty(residuals.n)
    only = residuals.rows[0]
    while at < shifted.size and shifted[at] < lo:
        at += 1
    next_shifted = shifted[at] if at < shifted.size else hi
    for j in range(lo, hi):
        fetch_next(X, j)
        if n == 1:  # of a few entries the sum takes no longer than to fill in a list
            corrs[0] = dot_column(X, j, only)
        else:
            dot_each(X, j, residuals, corrs)
        if j == next_shifted:
            for k in range(n):
                corrs[k] -= shifts[at, k]
            at += 1
            next_shifted = shifted[at] if at < shifted.size else hi
        top = ceiling[j]
        ratio = np.float32(0.0)
        for k in range(n):
            largest[k] = max(largest[k], abs(corrs[k]))
            ratio = np.float32(corrs[k] * scales[k])
            top = max(top, abs(ratio))
        ratios[j] = ratio
        ceiling[j] = top
    return largest


@kernel
def correlate_some(
    X: Columns,
    columns: Indices,
    residuals: Vectors,
    lams: Vector,
    shifts: Matrix,
    lo: int,
    hi: int,
    violates: NDArray[np.bool_],
) -> Vector:
    """Return max(lam, |z_j'r - shift|) of every residual over columns lo..hi of a list; fill in which exceed lam."""
    largest, corrs = lams.copy(), np.empty(residuals.n)
    for k in range(lo, hi):
        fetch_listed(X, columns, k)
        dot_each(X, columns[k], residuals, corrs)
        for i in range(lams.size):
            size = abs(corrs[i] - shifts[k, i]) if shifts.size > 0 else abs(corrs[i])
            largest[i] = max(largest[i], size)
            violates[k] |= size > lams[i]
    return largest


@kernel
def find_above(ceiling: Ratios, growth: float, norms: Ratios, distance: float, lo: int, hi: int) -> Indices:
    """Return the columns of lo..hi with growth ceiling + norm distance above 1, rounded up."""
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # for a literal number numba would compile `_with_room` once more
    for first in range(lo, hi, _BLOCK):  # they are few: most blocks are only counted, by vector instructions
        last = min(first + _BLOCK, hi)
        tops, reaches = ceiling[first:last], norms[first:last]
        n_more = 0
        for i in range(tops.size):
            n_more += (growth * float(tops[i]) + float(reaches[i]) * distance) * _ROUND_UP > 1.0
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(tops.size):
            if (growth * float(tops[i]) + float(reaches[i]) * distance) * _ROUND_UP > 1.0:
                found[n] = first + i
                n += 1
    return found[:n]


@kernel
def find_near(ratios: Ratios, here: float, before: Ratios, past: float, closeness: float) -> tuple[Indices, Vector]:
    """Return the columns with a ratio above `closeness`, as it is or here ratio - past before, and the larger one."""
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # as in `find_above`
    for first in range(0, ratios.size, _BLOCK):
        block, past_block = ratios[first : first + _BLOCK], before[first : first + _BLOCK]
        n_more = 0
        for i in range(block.size):
            n_more += (abs(here * block[i] - past * past_block[i]) > closeness) | (abs(block[i]) > closeness)
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(block.size):
            if abs(here * block[i] - past * past_block[i]) > closeness or abs(block[i]) > closeness:
                found[n] = first + i
                n += 1
    found = found[:n]
    sizes = np.empty(n)
    for i in range(n):
        j = found[i]
        sizes[i] = max(abs(here * ratios[j] - past * before[j]), abs(ratios[j]))
    return found, sizes


@kernel
def _with_room(items: Indices, n: int, n_least: int) -> Indices:
    """Return the first n items, with room for `n_least` at least, and for twice as many as there was."""
    larger = np.empty(max(2 * items.size, n_least), np.int64)
    for i in range(n):  # a slice would bring numba's texts for errors of its shape, half a second to compile
        larger[i] = items[i]
    return larger

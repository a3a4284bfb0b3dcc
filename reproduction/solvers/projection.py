"""Projection onto the l1 ball, in expected time O(p)."""

import numpy as np

from fwlasso._core.columns import Vector
from fwlasso._core.costs import soft_threshold
from fwlasso._core.draws import below
from fwlasso._core.jit import kernel


@kernel
def shrink(v: Vector, threshold: float) -> None:
    """Move every entry of v towards zero by `threshold`, in place."""
    if threshold > 0.0:
        for j in range(v.size):
            v[j] = soft_threshold(v[j], threshold)


@kernel
def ball_threshold(magnitudes: Vector, radius: float) -> float:
    """Return the t >= 0 with sum max(u_j - t, 0) = radius for the `magnitudes` u, or 0 if their sum is smaller.

    By bisection at random pivots (Duchi et al., 2008): the entries above t are collected without sorting. The
    magnitudes are reordered.
    """
    u = magnitudes
    total = largest = 0.0
    for k in range(u.size):
        total += u[k]
        largest = max(largest, u[k])
    if total <= radius:
        return 0.0
    if radius <= 0.0:
        return largest
    state = np.zeros(1, np.uint64)
    above, n_above = 0.0, 0  # sum and number of the entries known to be above t
    lo, hi = 0, u.size  # those not decided yet
    while lo < hi:
        pivot = u[lo + below(state, hi - lo)]
        # In three parts: larger than the pivot, equal to it, smaller; equal entries are decided together.
        first, k, last = lo, lo, hi
        part = 0.0
        while k < last:
            value = u[k]
            if value > pivot:
                u[k], u[first] = u[first], value
                part += value
                first += 1
                k += 1
            elif value < pivot:
                last -= 1
                u[k], u[last] = u[last], value
            else:
                part += value
                k += 1
        n_part = last - lo
        if above + part - (n_above + n_part) * pivot < radius:  # t is below the pivot
            above += part
            n_above += n_part
            lo = last
        else:
            hi = first
    # Nothing is above t where the radius is lost in the rounding of the largest entries.
    return max(0.0, (above - radius) / n_above) if n_above > 0 else largest

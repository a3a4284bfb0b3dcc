"""Least squares as inner products: all that a path takes where there are no more columns than samples."""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .costs import Cost, is_plain, largest_pull
from .jit import kernel

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Half the distance from 1 to the next number of float64: what one operation rounds by.
UNIT_ROUNDOFF = 2.0**-53


class Moments(NamedTuple):
    """Inner products of the columns z_j and y, computed with rounding that is bounded by norms.

    |gram_ij - z_i'z_j| <= gamma(n_ops) norms_i norms_j, |xty_j - z_j'y| <= gamma(n_ops) norms_j y_norm and
    |yy - y'y| <= gamma(n_ops) y_norm^2. The condition of the columns is in none of these.
    """

    gram: Matrix  # z_i'z_j, row-major
    xty: Vector  # z_j'y
    yy: float  # y'y
    norms: Vector  # at least ||z_j||: of shifted columns before they were centred, in the units of z
    y_norm: float  # at least ||y||, likewise
    n_ops: int
    cost: Cost  # what coefficients cost


class NullModel(NamedTuple):
    """The solution for every lambda from `lam` on: zero, but for columns without a penalty."""

    coefs: Vector
    corrs: Vector  # z_j'r
    lam: float
    loss: float  # 1/2 r'r


def null_model(moments: Moments) -> NullModel:
    """Return the null model: G_UU b_U = c_U for the columns U without a penalty, refined twice."""
    cost, b, g = moments.cost, np.zeros(moments.xty.size), moments.xty
    if not is_plain(cost):
        free = np.flatnonzero((cost.slopes == 0.0) & (moments.norms > 0.0))
        sizes = np.sqrt(moments.gram.diagonal()[free])
        cosines = moments.gram[np.ix_(free, free)] / sizes / sizes[:, np.newaxis]
        for _ in range(3 if free.size else 0):
            b[free] += np.linalg.lstsq(cosines, g[free] / sizes, rcond=None)[0] / sizes
            g = moments.xty - b @ moments.gram
    return NullModel(b, g, float(largest_pull(cost, g)), 0.5 * max(0.0, moments.yy - float(b @ (moments.xty + g))))


@functools.lru_cache(1024, typed=True)  # points of a path ask for the same few; of other types it has other digits
def rounding_bound(n: float) -> float:
    """Return n u / (1 - n u): a sum or product of n roundings is off by no more than that, relative to its terms.

    Infinite where so many roundings leave no digit: a bound with it claims nothing.
    """
    return n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF) if n * UNIT_ROUNDOFF < 0.01 else math.inf


#: The same, for kernels.
gamma = kernel(rounding_bound.__wrapped__)

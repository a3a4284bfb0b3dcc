"""Least squares as inner products: all that a path takes where there are no more columns than samples."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def rounding_bound(n: float) -> float:
    """Return n u / (1 - n u): a sum or product of n roundings is off by no more than that, relative to its terms.

    Infinite where so many roundings leave no digit: a bound with it claims nothing.
    """
    return n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF) if n * UNIT_ROUNDOFF < 0.01 else math.inf


#: The same, for kernels.
gamma = kernel(rounding_bound)

"""Arithmetic over samples, with or without weights.

Vectors over samples are what columns are multiplied with. They carry the weights, W r and not r, so that no product
needs to know these; and their sum in a last entry, see `sample_vector`. It is what makes centring cost nothing: for
z = f (x - mu 1), z'v = f (x'v - mu sum(v)). A part of the samples, a fold say, is weights of zero and one.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .jit import by_type, inner_kernel, kernel

Vector: TypeAlias = NDArray[np.float64]


class Unweighted(NamedTuple):
    """All samples count alike."""

    n: int


class Weights(NamedTuple):
    """Every sample has a weight; those of weight zero are left out."""

    values: Vector
    total: float
    n_positive: int


Samples: TypeAlias = Unweighted | Weights


@by_type
def weight(samples: Samples, i: int) -> float:
    """Return the weight of sample i."""


@by_type
def weight_vector(samples: Samples) -> Vector:
    """Return the weights in an array of its own."""


@by_type
def total_weight(samples: Samples) -> float:
    """Return the sum of the weights: means and alphas are relative to it."""


@by_type
def n_samples(samples: Samples) -> int:
    """Return how many weights are positive: the rank is bounded by it."""


@by_type
def inner(samples: Samples, u: Vector, v: Vector) -> float:
    """Return sum u_i v_i / w_i of two vectors that carry the weights, for Python."""


@weight.register(Unweighted)
def _(samples, i):
    return 1.0


@weight_vector.register(Unweighted)
def _(samples):
    return np.ones(samples.n)


@total_weight.register(Unweighted)
def _(samples):
    return float(samples.n)


@n_samples.register(Unweighted)
def _(samples):
    return samples.n


@inner.register(Unweighted)
def _(samples, u, v):
    return float(np.sum(u[:-1] * v[:-1]))  # not by BLAS: its threads round differently, and spin beside ours


@weight.register(Weights)
def _(samples, i):
    return samples.values[i]


@weight_vector.register(Weights)
def _(samples):
    return samples.values.copy()


@total_weight.register(Weights)
def _(samples):
    return samples.total


@n_samples.register(Weights)
def _(samples):
    return samples.n_positive


@inner.register(Weights)
def _(samples, u, v):
    return float(np.sum(u[:-1] * v[:-1] / np.where(samples.values > 0.0, samples.values, 1.0)))


@kernel
def center(samples: Samples, v: Vector) -> None:
    """Take the constant part out of a sum of centred columns; carried along, it costs digits in every dot product.

    If columns are not centred, the sum in the last place is not kept, and zero: nothing is changed.
    """
    constant = v[-1] / total_weight(samples)
    for i in range(v.size - 1):
        v[i] -= constant * weight(samples, i)
    v[-1] = 0.0


@inner_kernel
def norm2(samples: Samples, v: Vector) -> float:
    """Return sum v_i^2 / w_i, for kernels."""
    total = 0.0
    for i in range(v.size - 1):
        if weight(samples, i) > 0.0:
            total += v[i] ** 2 / weight(samples, i)
    return total


def sample_vector(values: NDArray[Any]) -> Vector:
    """Return `values` as a vector over samples, its sum in the last place."""
    return np.append(np.asarray(values, dtype=np.float64), np.sum(values, dtype=np.float64))

"""The samples, and all arithmetic in the metric of their weights.

Vectors over samples are what columns are multiplied with. They carry the weights, W r and not r, so that no product
needs to know these; and their sum in a last entry, see `sample_vector`. It is what makes centring cost nothing: for
z = f (x - mu 1), z'v = f (x'v - mu sum(v)).

Copies of columns and blocks of rows are multiplied by the roots of the weights instead, so that sums of squares are
weighted: their residual is sqrt(W) r. `to_root` and `from_root` are the only way between the two. A weight of zero
leaves a sample out: nothing is divided by it.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .jit import by_type, inner_kernel, kernel

Vector: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Weights are scaled by a power of two unless the largest is between these: so no product with them over- or underflows.
_USUAL = (1e-30, 1e30)
# Weights below this share of the largest are zero: their residuals, divided by them, could leave the range of float64.
_NEGLIGIBLE = 1e-200
_NONE_LEFT = "weights: no sample is left, all weights are zero"
# Roundings that weights add to a number: a root and its product, there and back.
_ROUNDINGS = 4


class Unweighted(NamedTuple):
    """All samples count alike."""

    n: int


class Subset(NamedTuple):
    """Some samples count alike, and the others are left out: a fold."""

    values: Vector  # ones and zeros
    total: float
    n_positive: int


class Weights(NamedTuple):
    """Every sample has a weight; those of weight zero are left out."""

    values: Vector
    roots: Vector
    total: float
    n_positive: int


Samples: TypeAlias = Unweighted | Subset | Weights


def as_samples(n: int, weights: NDArray[Any] | None, kept: NDArray[Any] | None = None) -> Samples:
    """Return n samples: with weights, a part of them, or both; equal weights of one are none.

    A part is a mask, or tells how often each sample is taken.

    Weights may be scaled: only their ratios matter to alphas and relative gaps.
    """
    if weights is None and kept is None:
        return Unweighted(n)
    values = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"weights must be {n} finite numbers >= 0, one for every sample")
    values = values.copy() if kept is None else values * kept
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        raise ValueError(_NONE_LEFT)
    values[values < _NEGLIGIBLE * largest] = 0.0
    if not _USUAL[0] < largest < _USUAL[1]:
        values = np.ldexp(values, -math.frexp(largest)[1])
    n_positive = int(np.count_nonzero(values))
    values.setflags(write=False)
    if not ((values == 0.0) | (values == 1.0)).all():
        roots = np.sqrt(values)
        roots.setflags(write=False)
        return Weights(values, roots, math.fsum(values), n_positive)
    return Unweighted(n) if n_positive == n else Subset(values, float(n_positive), n_positive)


@by_type
def weight(samples: Samples, i: int) -> float:
    """Return the weight of sample i."""


@by_type
def root(samples: Samples, i: int) -> float:
    """Return the root of the weight of sample i, which must not be left out."""


@by_type
def weight_vector(samples: Samples) -> Vector:
    """Return the weights in an array of its own."""


@by_type
def total_weight(samples: Samples) -> float:
    """Return the sum of the weights: means and alphas are relative to it."""


@by_type
def n_samples(samples: Samples) -> int:
    """Return how many weights are positive: the rank is bounded by it, and rounding grows with it."""


@weight.register(Unweighted)
@root.register(Unweighted)
@root.register(Subset)
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


@weight.register(Subset)
@weight.register(Weights)
def _(samples, i):
    return samples.values[i]


@root.register(Weights)
def _(samples, i):
    return samples.roots[i]


@weight_vector.register(Subset)
@weight_vector.register(Weights)
def _(samples):
    return samples.values.copy()


@total_weight.register(Subset)
@total_weight.register(Weights)
def _(samples):
    return samples.total


@n_samples.register(Subset)
@n_samples.register(Weights)
def _(samples):
    return samples.n_positive


def to_root(samples: Samples, v: Vector) -> Vector:
    """Return sqrt(W) r of W r, sample vectors both; v itself where these are the same."""
    if not isinstance(samples, Weights):
        return v
    rooted = v.copy()
    np.divide(v[:-1], samples.roots, out=rooted[:-1], where=samples.roots > 0.0)
    return rooted


def from_root(samples: Samples, v: Vector) -> Vector:
    """Return W r of sqrt(W) r, sample vectors both; v itself where these are the same."""
    if not isinstance(samples, Weights):
        return v
    weighted = v.copy()
    weighted[:-1] *= samples.roots
    return weighted


def rows_there(samples: Samples, kept: Mask | None = None) -> NDArray[np.int64]:
    """Return the samples of which the weight is not zero: all of them, or those that are kept."""
    if isinstance(samples, Unweighted):
        return np.arange(samples.n) if kept is None else np.flatnonzero(kept)
    rows = np.flatnonzero(samples.values if kept is None else np.where(kept, samples.values, 0.0))
    if rows.size == 0:
        raise ValueError(_NONE_LEFT)
    return rows


def n_roundings(samples: Samples) -> int:
    """Return how many roundings the weights add to a number that has been in both metrics."""
    return _ROUNDINGS if isinstance(samples, Weights) else 0


def inner(samples: Samples, u: Vector, v: Vector) -> float:
    """Return sum u_i v_i / w_i of two vectors that carry the weights."""
    # Not by BLAS: its threads round differently, and spin beside ours.
    return float(np.add.reduce(to_root(samples, u)[:-1] * to_root(samples, v)[:-1]))


def norm(samples: Samples, v: Vector) -> float:
    """Return the root of sum v_i^2 / w_i."""
    return math.sqrt(inner(samples, v, v))


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

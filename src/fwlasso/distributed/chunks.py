"""Rows where they lie: what a worker reads of a chunk, and what it sums up of it. No engine is known here."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Columns, Matrix, Vector
from .._core.dense import Dense
from .._core.samples import Samples, Unweighted, Weights, weight_vector
from .._core.threads import Workers
from ..data.checks import as_response, by_sample
from ..data.design import as_design, as_matrix
from ..gram.blocks import Coordinates, Mask, Rows
from ..gram.centring import Centre
from ..gram.closing import ResidualSums, residual_sums
from ..gram.row_sums import RowSums, first_coordinates, shiftable, sums_in

#: Blocks of X, and of what is beside it, with the names of columns in place of blocks that X has itself.
Chunk = dict[str, Any]


class Opened(NamedTuple):
    """The numbers of a chunk."""

    X: Columns
    y: Vector
    samples: Samples
    fold_of: Rows | None  # with -1 for rows that are left out


class ChunkSums(NamedTuple):
    """The sums over the rows of every fold in some chunks."""

    folds: list[RowSums]
    vanished: Mask
    may_shift: Mask

    def plus(self, other: "ChunkSums") -> "ChunkSums":
        """Return the sums over the rows of both."""
        folds = [mine.plus(its) for mine, its in zip(self.folds, other.folds, strict=True)]
        return ChunkSums(folds, self.vanished | other.vanished, self.may_shift & other.may_shift)


def count_rows(block: Any) -> int:
    """Return how many rows a block has."""
    return int(block.shape[0])


def open_chunk(chunk: Chunk) -> Opened:
    """Return the numbers of a chunk; where it has no rows, there are none."""
    blocks, names = chunk["X"], chunk["names"]
    sizes = [count_rows(block) for block in blocks]

    def beside(name: str) -> Vector | None:
        given = chunk[name]
        if given is None:
            return None
        parts = [block[given] for block in blocks] if isinstance(given, str) else given
        take = as_response if name == "y" else lambda part, n: by_sample(name, part, n)
        return np.concatenate([take(part, n) if n else np.empty(0) for part, n in zip(parts, sizes, strict=True)])

    y, weights, offset = map(beside, ("y", "sample_weight", "offset"))
    assert y is not None
    y = y if offset is None else y - offset
    some = [block if names is None else block[list(names)] for block, n in zip(blocks, sizes, strict=True) if n]
    X = _as_storage([as_matrix(it, accept_sparse=("csr", "csc"), ensure_all_finite=False) for it in some], y.size)
    fold_of = None if chunk["fold_of"] is None else np.concatenate(chunk["fold_of"]).astype(np.int64)
    samples: Samples = Unweighted(y.size)
    if weights is not None:
        if (weights < 0.0).any():
            raise ValueError("sample_weight must be >= 0, and not zero for all samples")
        samples = _weighted(weights)
        fold_of = np.where(weights > 0.0, 0 if fold_of is None else fold_of, -1)
    return Opened(X, y, samples, fold_of)


def _weighted(values: Vector) -> Weights:
    """Return weights that are not scaled, whatever a chunk has of them."""
    return Weights(values, np.sqrt(values), math.fsum(values), int(np.count_nonzero(values)))


def _as_storage(parts: list[Any], m: int) -> Columns:
    """Return the numbers of blocks as a storage; dense ones as they lie, in a layout that survives a journey."""
    if not parts:
        return Dense(np.empty((0, m)))
    if any(map(sp.issparse, parts)):
        return as_design(sp.csc_array(sp.vstack(parts) if len(parts) > 1 else parts[0])).columns
    values = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return Dense((values if values.flags.forc else np.ascontiguousarray(values)).T)


def choose(chunk: Chunk, p: int, fit_intercept: bool) -> Coordinates:
    """Return the coordinates of all chunks, which the first one decides."""
    X, y, samples, _ = open_chunk(chunk)
    if y.size == 0 or (isinstance(samples, Weights) and samples.n_positive == 0):
        return Coordinates(np.zeros(p + 2), np.ones(p + 2))
    return first_coordinates(X, y, samples, shiftable(X, fit_intercept))


def sum_chunk(chunk: Chunk, coordinates: Coordinates, n_folds: int, fit_intercept: bool) -> ChunkSums:
    """Return the sums over the rows of a chunk."""
    X, y, samples, fold_of = open_chunk(chunk)
    n = coordinates.shifts.size
    if y.size == 0:
        none = RowSums(np.zeros((n, n)), coordinates, np.zeros(n), 0, 0, isinstance(samples, Weights))
        return ChunkSums([none] * n_folds, np.zeros(n, np.bool_), np.ones(n, np.bool_))
    with Workers(1) as workers:
        folds, vanished = sums_in(coordinates, X, y, fold_of, samples, workers=workers, n_folds=n_folds)
    return ChunkSums(folds, vanished, shiftable(X, fit_intercept))


def residuals_of(chunk: Chunk, centre: Centre, weights: Matrix, fold: int | None = None) -> ResidualSums:
    """Return the sums over the rows of a chunk, or of a fold in it, of the residuals of points."""
    X, y, samples, fold_of = open_chunk(chunk)
    if fold is not None and fold_of is not None:
        samples = _weighted(weight_vector(samples) * (fold_of == fold))
    if y.size == 0:
        n_points, p = weights.shape
        return ResidualSums(np.zeros((2, n_points)), np.zeros((n_points, p + 1)), 0.0)
    with Workers(1) as workers:
        return residual_sums(X, y, centre, weights, workers, samples=samples)


def tree(parts: list[Any], add: Any) -> Any:
    """Add in pairs: what is added to what depends on how many there are, and on nothing else."""
    while len(parts) > 1:
        parts = [add(*parts[k : k + 2]) if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
    return parts[0]


def as_fold_numbers(fold_of: NDArray[np.int64]) -> NDArray[Any]:
    """Return the numbers of folds in as few bytes as do."""
    return fold_of.astype(np.min_scalar_type(-1 - int(fold_of.max(initial=0))))

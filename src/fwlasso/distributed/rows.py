"""Tall data in chunks of rows: one pass of sums on the workers, from which every path follows here.

Each chunk is summed up where it lies, and sums are added in pairs along a tree. Which those are depends on the chunks
alone: so the sums have the same bits for any workers, in any order, and after any loss.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.columns import nbytes
from .._core.gaps import GapTerms
from .._core.moments import Matrix, Moments, Vector
from .._core.threads import Workers
from ..data.frames import listed
from ..file_sums import MOST_FEATURES
from ..gram.centring import Centre
from ..gram.closing import ResidualSums, with_bounds
from ..gram.folds import total_sums
from ..gram.row_sums import RowSums, better_coordinates, refuse_infinite
from ..gram.summed import SummedTable
from ..monitor import Monitor
from ..options import Options
from ..path import Summable
from ..problem.points import Traffic
from ..selection.cross_validation import CrossValidation
from ..selection.folds import SelectionOptions
from .chunks import Chunk, ChunkSums, as_fold_numbers, choose, count_rows, residuals_of, sum_chunk, tree
from .cluster import client_of, compute

_BESIDE = "y", "sample_weight", "offset"
_MOST_PASSES = 3
# Chunks are put together up to so many rows: the sums over one take (p + 2)^2 numbers.
_FEWEST_ROWS = 4096


def _nothing() -> None:
    """Look at nothing."""


class RowChunks(Summable):
    """Rows on a cluster, and what is known of them by one pass: `sum_up`."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        fit_intercept: bool = True,
        client: Any = None,
    ) -> None:
        self._client, self._look, self._fit_intercept = client_of(client), _nothing, fit_intercept
        X = _as_frame(X)
        is_frame, beside = hasattr(X, "divisions"), {"y": y, "sample_weight": sample_weight, "offset": offset}
        if y is None:
            raise ValueError("y: give the response, or the name of its column in a frame")
        self.feature_names: tuple[str, ...] | None = None
        names: list[Any] | None = None
        if is_frame:
            own = {given: name for name, given in beside.items() if isinstance(given, str)}
            unknown = [given for given in own if given not in X.columns]
            if unknown:
                raise ValueError(f"{own[unknown[0]]}: X has no column {unknown[0]!r}, but {listed(list(X.columns))}")
            names = [name for name in X.columns if name not in own]
            self.feature_names = tuple(map(str, names))
            blocks, self._sizes = X.to_delayed(), None
        else:
            for name in (name for name, given in beside.items() if isinstance(given, str)):
                raise ValueError(f"{name} must be numbers: X is no frame, whose columns have names")
            if X.ndim != 2:
                raise ValueError(f"X must have two dimensions, got {X.ndim}")
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            blocks, sizes = X.to_delayed().ravel().tolist(), X.chunks[0]
            self._sizes = None if np.isnan(sizes).any() else [int(size) for size in sizes]
        self.p = int(X.shape[1]) if names is None else len(names)
        self.target = y if isinstance(y, str) else getattr(y, "name", None) if hasattr(y, "divisions") else None
        if not 1 <= self.p <= MOST_FEATURES:
            raise ValueError(f"X must have up to {MOST_FEATURES} columns to be summed up by rows, got {self.p}")
        self._chunks: list[Chunk] = [{"X": [block], "names": names, "fold_of": None} for block in blocks]
        for name, it in beside.items():
            for chunk, part in zip(self._chunks, self._cut(name, it, len(blocks)), strict=True):
                chunk[name] = part
        self._has_offset = offset is not None
        self.folds: list[RowSums] = []
        self._n_folds = 1

    def _cut(self, name: str, given: Any, n_chunks: int) -> list[Any]:
        """Return numbers by sample, or the name of their column, chunk by chunk."""
        if given is None or isinstance(given, str):
            return [given] * n_chunks
        if hasattr(given, "divisions"):  # a series
            parts = list(given.to_delayed())
        elif hasattr(given, "dask"):
            known = self._sizes is not None and not np.isnan(given.chunks[0]).any()
            if known and len(given) != sum(self._sizes or ()):
                raise ValueError(f"{name} must be one number for each of the {sum(self._sizes or ())} samples")
            given = given.rechunk((tuple(self._sizes or ()),)) if known and given.ndim == 1 else given
            parts = given.to_delayed().ravel().tolist()
        else:
            values, sizes = np.asarray(given), self.sizes
            if len(values) != sum(sizes):
                raise ValueError(f"{name} must be one number for each of the {sum(sizes)} samples, got {len(values)}")
            ends = np.cumsum(sizes).tolist()
            parts = [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        if len(parts) != n_chunks:
            raise ValueError(f"{name} must be in {n_chunks} chunks, as X is, got {len(parts)}")
        return [[part] for part in parts]

    @property
    def sizes(self) -> list[int]:
        """The numbers of rows of the chunks: those of a frame are counted."""
        if self._sizes is None:
            import dask

            sizes = [dask.delayed(count_rows)(chunk["X"][0]) for chunk in self._chunks]
            self._sizes = compute(dask.delayed(list)(sizes), self._client, self._look)
        return self._sizes

    def with_folds(self, fold_of: NDArray[np.int64]) -> None:
        """Let the rows be of folds with these numbers."""
        self._n_folds, ends = 1 + int(fold_of.max()), np.cumsum(self.sizes).tolist()
        numbers = as_fold_numbers(fold_of)
        for chunk, size, end in zip(self._chunks, self.sizes, ends, strict=True):
            chunk["fold_of"] = [numbers[end - size : end]]

    def _together(self) -> list[Chunk]:
        """Return chunks of as many rows as pay for their sums: neighbours, put together."""
        if self._sizes is None:
            return self._chunks
        fewest, groups, n_rows = max(_FEWEST_ROWS, self.p), list[Chunk](), 0
        for chunk, size in zip(self._chunks, self._sizes, strict=True):
            if groups and n_rows < fewest:
                last = groups[-1]
                groups[-1] = {
                    k: it + chunk[k] if k != "names" and isinstance(it, list) else it for k, it in last.items()
                }
                n_rows += size
            else:
                groups.append(chunk)
                n_rows = size
        return groups

    def sum_up(self, monitor: Monitor) -> SummedTable:
        """Make one pass over the rows, or up to three where numbers are huge, or tiny, or far from the first ones."""
        import dask

        self._look, self.traffic, chunks, fit_intercept = monitor.look, Traffic(), self._together(), self._fit_intercept
        coordinates = dask.delayed(choose)(chunks[0], self.p, fit_intercept)
        for _ in range(_MOST_PASSES):
            work = dask.delayed(sum_chunk)
            parts = [work(chunk, coordinates, self._n_folds, fit_intercept) for chunk in chunks]
            found = compute(tree(parts, dask.delayed(ChunkSums.plus)), self._client, self._look)
            self.traffic = self.traffic.and_(1, len(parts), 0, nbytes(tuple(found.folds)), 0)
            total = total_sums(found.folds)
            coordinates = better_coordinates(
                total.coordinates, total.norms2, total.products[0], found.vanished, found.may_shift
            )
            if coordinates is None:
                break
        refuse_infinite(total.norms2, self.feature_names)
        if total.n_rows == 0:
            raise ValueError("X has no rows, or sample_weight is zero for all of them")
        self.folds = found.folds
        return self.table(total)._replace(on_data=self._on_data)

    @property
    def shape(self) -> tuple[None, int]:
        """How many columns there are; rows are counted when they are summed up."""
        return None, self.p

    def cross_validate(self, asked: Sequence[Options], selection: SelectionOptions) -> CrossValidation:
        """Choose a model by folds that are summed up in one pass."""
        from .paths import choose_on_rows

        return choose_on_rows(self, asked, selection)

    def table(self, sums: RowSums) -> SummedTable:
        """Return some of the rows as a table that is known by its sums."""
        return SummedTable(sums, self.feature_names, self.target, None, (), self._has_offset)

    def _on_data(self, moments: Moments, centre: Centre, weights: Matrix, _: Workers) -> tuple[GapTerms, Matrix]:
        """Make a pass over the rows for points, given their weights."""
        return with_bounds(self._residuals(centre, weights), moments, centre, weights)

    def squared_errors(self, fold: int, centre: Centre, weights: Matrix) -> Vector:
        """Return the mean squared errors of points on the rows of a fold, by a pass over them."""
        squares: Vector = self._residuals(centre, weights, fold).sums[1]
        return squares / (self.folds[fold].total_weight * centre.y_scale**2)

    def _residuals(self, centre: Centre, weights: Matrix, fold: int | None = None) -> ResidualSums:
        import dask

        work = dask.delayed(residuals_of)
        given = dask.delayed(centre), dask.delayed(weights), fold
        parts = [work(chunk, *given) for chunk in self._together()]
        found: ResidualSums = compute(tree(parts, dask.delayed(ResidualSums.plus)), self._client, self._look)
        self.traffic = self.traffic.and_(1, len(parts), nbytes(centre) + weights.nbytes, nbytes(found), 0)
        return found


def _as_frame(X: Any) -> Any:
    """Return a dask array or frame: files of parquet are one, with a chunk for every row group."""
    files = [X] if isinstance(X, str | Path) else X
    if isinstance(files, list | tuple) and files and all(isinstance(it, str | Path) for it in files):
        import dask.dataframe as dd

        return dd.read_parquet([str(file) for file in files], split_row_groups=True)
    if not (hasattr(X, "dask") and hasattr(X, "to_delayed")):
        raise ValueError(f"X must be a dask array or frame, or files of parquet, got {type(X).__name__}")
    return X

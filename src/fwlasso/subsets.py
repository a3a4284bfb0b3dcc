"""Paths on several parts of the samples, over the same columns: folds and subsamples. X is never copied."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._jit import kernel
from .columns import Design, Vector, Whole, column_entries, column_entry, nbytes, shape
from .convoy import Convoy
from .options import Options
from .parallel import Workers
from .path import path_on, warn_unless_converged
from .result import LassoPath
from .watch import SharedWatch, Watch

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

# What a path needs for every column: moments, correlations, norms and ratios; and the share of X for all of them.
_BYTES_PER_COLUMN, _MOST_OF_X = 64, 0.15
# Columns that are looked at together when predictions are made.
_BLOCK = 256


def path_and_subset_paths(
    design: Design, response: Vector, options: Options, masks: Sequence[Mask]
) -> tuple[LassoPath, list[LassoPath]]:
    """Compute the path on all samples, and one on the samples of every mask, on its grid."""
    watch = SharedWatch(options.time_limit, options.callback, 1 + len(masks))
    with Workers(options.threads) as workers, watch.guard():
        path = path_on(design, response, options, options.draw_seed(), workers, watch, {})
        same_grid = replace(options, **{options.grid_name: getattr(path, options.grid_name)})
        parts = _subset_paths(design, response, same_grid, masks, workers, watch)
    for it in (path, *parts):
        warn_unless_converged(it, options)
    return path, parts


def _subset_paths(
    design: Design,
    response: Vector,
    options: Options,
    masks: Sequence[Mask],
    workers: Workers,
    watch: Watch,
) -> list[LassoPath]:
    """Compute a path on the samples of every mask: side by side, as many as memory of a share of X allows."""
    seed = options.draw_seed()
    n_together = max(1, min(len(masks), _n_affordable(design.columns)))
    if n_together == 1 or workers.n_threads == 1:
        return [path_on(design, response, options, seed, workers, watch, {}, kept=kept) for kept in masks]
    convoy = Convoy(workers)
    n_threads = max(1, workers.n_threads // n_together)

    def travel(kept: Mask) -> LassoPath:
        with convoy.member(n_threads) as own:
            return path_on(design, response, options, seed, own, watch, {}, kept=kept)

    with ThreadPoolExecutor(n_together, thread_name_prefix="fwlasso-path") as pool:
        return list(pool.map(travel, masks))


def _n_affordable(columns: Whole) -> int:
    _, p = shape(columns)
    return int(_MOST_OF_X * nbytes(columns) / (_BYTES_PER_COLUMN * p))


def predict_rows(columns: Whole, rows: Rows, coefs: sp.csc_array, intercepts: Vector) -> NDArray[np.float64]:
    """Return X b + b0 for some rows of X and every column b of `coefs`; only columns with a coefficient are read."""
    used = np.unique(coefs.indices)
    by_feature = sp.csr_array(coefs)
    predicted = np.tile(intercepts, (rows.size, 1))
    for lo in range(0, used.size, _BLOCK):
        block = used[lo : lo + _BLOCK].astype(np.int64)
        values = np.empty((block.size, rows.size))
        _gather(columns, block, rows, values)
        predicted += values.T @ by_feature[block].toarray()
    return predicted


@kernel
def _gather(columns: Any, features: NDArray[np.int64], rows: Rows, values: NDArray[np.float64]) -> None:
    """Fill a row of `values` for every feature: its numbers at the samples `rows`."""
    column = np.zeros(shape(columns)[0])
    for f in range(features.size):
        n_entries = column_entries(columns, features[f])
        for k in range(n_entries):
            i, value = column_entry(columns, features[f], k)
            column[i] = value
        for r in range(rows.size):
            values[f, r] = column[rows[r]]
        for k in range(n_entries):
            i, value = column_entry(columns, features[f], k)
            column[i] = 0.0

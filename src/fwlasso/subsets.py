"""Paths on several parts of the samples, over the same columns: folds and subsamples. X is never copied."""

import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._jit import kernel
from .assembly import label, warn_unless_converged
from .columns import Vector, Whole, column_entries, column_entry, nbytes, shape
from .convoy import side_by_side
from .corrective import BYTES_PER_COLUMN
from .data import Data
from .grid import penalty_grid
from .options import Options
from .parallel import Workers
from .path import open_checkpoint, path_on, timed, user_grid
from .problem import build_problem
from .result import LassoPath
from .runs import Run, subset_folder
from .watch import SharedWatch, Watch

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

# Paths that go side by side may need this share of X together; or, as many as there are threads, these bytes.
_MOST_OF_X, _FEW_BYTES = 0.11, 64 << 20
# Columns that are looked at together when predictions are made.
_BLOCK = 256


class _Subset(NamedTuple):
    """A path to compute: its samples, who watches it, and the run that keeps it."""

    kept: Mask
    watch: Watch
    run: Run | None


def path_and_subset_paths(data: Data, options: Options, masks: Sequence[Mask]) -> tuple[LassoPath, list[LassoPath]]:
    """Compute the path on all samples, and one on the samples of every mask, on its grid."""
    design, response = data.design, data.response
    options = options.for_shape(shape(design.columns))
    shared = SharedWatch(options.time_limit, options.callback)
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(options.threads))
        stack.enter_context(shared.guard())
        seconds: dict[str, float] = {}
        units = options.fit_intercept, options.standardize
        seed = options.draw_seed()
        with timed(seconds, "setup"):
            run, *runs = _open_runs(data, options, seed, masks, stack)
            seed = seed if run is None else run.seed
            watch = shared.member()
            subsets = [_Subset(kept, shared.member(), own) for kept, own in zip(masks, runs, strict=True)]
            whole = [build_problem(design, response, *units, workers)]

        def follow_all(own: Workers) -> LassoPath:
            problem = whole.pop()  # nobody needs it after the path
            return path_on(problem, design, options, seed, own, watch, seconds, run=run)

        def follow(subset: _Subset, grid: Vector, own: Workers) -> LassoPath:
            part = build_problem(design, response, *units, own, subset.kept)
            return path_on(part, design, options.on_grid(grid), seed, own, subset.watch, {}, run=subset.run)

        n_together = _n_affordable(design.columns, workers.n_threads)
        if options.grid_name == "alphas":  # known beforehand: all go together
            grid = user_grid(options, penalty_grid(whole[0], options.grid, options.ratio), design.n_samples)
            parts: list[Callable[[Workers], LassoPath]] = [partial(follow, subset, grid) for subset in subsets]
            path, *rest = side_by_side([follow_all, *parts], n_together, workers)
        else:
            path = follow_all(workers)
            if path.ending is not None:  # its grid is a part of what was asked for: nothing to keep
                subsets = [subset._replace(run=None) for subset in subsets]
            rest = side_by_side([partial(follow, subset, path.radii) for subset in subsets], n_together, workers)
    for it in (path, *rest):
        warn_unless_converged(it, options)
    return label(path, data), [label(it, data) for it in rest]


def _open_runs(data: Data, options: Options, seed: int, masks: Sequence[Mask], stack: ExitStack) -> list[Run | None]:
    """Open the run on all samples and those of the masks, before any work; none without a checkpoint."""
    if options.checkpoint is None:
        return [None] * (1 + len(masks))
    marks = data.fingerprint()
    run = stack.enter_context(open_checkpoint(options, seed, marks))
    runs: list[Run | None] = [run]
    for number, kept in enumerate(masks):
        own = replace(options, checkpoint=subset_folder(options.checkpoint, number))
        which = f"{np.count_nonzero(kept)} of {kept.size}, {zlib.crc32(np.packbits(kept).data):08x}"
        runs.append(stack.enter_context(open_checkpoint(own, run.seed, {**marks, "samples": which})))
    return runs


def _n_affordable(columns: Whole, n_threads: int) -> int:
    path_bytes = BYTES_PER_COLUMN * shape(columns)[1]
    return int(max(_MOST_OF_X * nbytes(columns) // path_bytes, min(n_threads, _FEW_BYTES // path_bytes)))


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

"""Paths on several parts of the samples, over the same columns: folds and subsamples. X is never copied."""

import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, nbytes, shape
from .._core.problem import Problem
from .._core.threads import Workers
from ..assembly import label, warn_unless_converged
from ..certified import BYTES_PER_COLUMN
from ..checkpoints.folder import Run, subset_folder
from ..data.inputs import Data
from ..gram.problem import GramProblem
from ..gram.subsets import GramSubsets
from ..monitor import Monitor
from ..options import Options
from ..path import open_checkpoint, path_on, route_of, timed, user_grid, with_columns
from ..problem.build import build_problem
from ..problem.grid import penalty_grid
from ..problem.route import GRAM
from ..problem.shared import side_by_side
from ..result import LassoPath

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

# Paths that go side by side may need this share of X together; or, as many as there are threads, these bytes.
_MOST_OF_X, _FEW_BYTES = 0.11, 64 << 20


class _Subset(NamedTuple):
    """A path to compute: the number of its mask, and the run that keeps it."""

    number: int
    run: Run | None


class SubsetPaths(NamedTuple):
    """The path on all samples, those on subsets, and what is known of the samples that these leave out."""

    path: LassoPath
    subset_paths: list[LassoPath]
    problems: "_Problems"

    def squared_errors(self, subset: int) -> Vector | None:
        """Return the mean squared errors of a subset's path on the samples left out; None if they are not known."""
        return self.problems.squared_errors(subset, self.subset_paths[subset])


class _Problems:
    """The problem on all samples, and one on every subset, as the route asks for them."""

    def __init__(self, data: Data, options: Options, masks: Sequence[Mask], workers: Workers) -> None:
        self._design, self._response, self._options, self._masks = data.design, data.response, options, masks
        self._grams: GramSubsets | None = None
        if route_of(options, data.design, len(masks) + 1) == GRAM:
            self._grams = GramSubsets(
                data.design.columns, data.response, masks, options.fit_intercept, options.standardize, workers,
                data.design.feature_names,
            )  # fmt: skip

    def whole(self, workers: Workers) -> Problem | GramProblem:
        """Return the problem on all samples."""
        if self._grams is None:
            return self._by_columns(workers, None)
        return with_columns(self._grams.whole(), self._design, self._response, self._options)

    def part(self, subset: int, workers: Workers) -> Problem | GramProblem:
        """Return the problem on a subset."""
        kept = self._masks[subset]
        if self._grams is None:
            return self._by_columns(workers, kept)
        return with_columns(self._grams.part(subset), self._design, self._response, self._options, kept)

    def squared_errors(self, subset: int, path: LassoPath) -> Vector | None:
        """Return the mean squared errors on the samples left out, if inner products tell them exactly enough."""
        return None if self._grams is None else self._grams.squared_errors(subset, path.scaled_coefs)

    def _by_columns(self, workers: Workers, kept: Mask | None) -> Problem:
        units = self._options.fit_intercept, self._options.standardize
        return build_problem(self._design, self._response, *units, workers, kept)


def path_and_subset_paths(data: Data, options: Options, masks: Sequence[Mask]) -> SubsetPaths:
    """Compute the path on all samples, and one on the samples of every mask, on its grid."""
    design = data.design
    options = options.for_shape(shape(design.columns))
    monitor = Monitor(options.time_limit, options.callback, 1 + len(masks))
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(options.threads))
        stack.enter_context(monitor.guard())
        seconds: dict[str, float] = {}
        seed = options.draw_seed()
        with timed(seconds, "setup"):
            run, *runs = _open_runs(data, options, seed, masks, stack)
            seed = seed if run is None else run.seed
            subsets = [_Subset(k, own) for k, own in enumerate(runs)]
            problems = _Problems(data, options, masks, workers)
            whole = [problems.whole(workers)]

        def follow_all(own: Workers) -> LassoPath:
            problem = whole.pop()  # nobody needs it after the path
            return path_on(problem, data, options, seed, own, monitor, seconds, run=run)

        def follow(subset: _Subset, grid: Vector, own: Workers) -> LassoPath:
            part = problems.part(subset.number, own)
            number = 1 + subset.number
            return path_on(part, data, options.on_grid(grid), seed, own, monitor, {}, run=subset.run, number=number)

        n_together = _n_affordable(design.columns, workers.n_threads)
        if options.grid_name == "alphas":  # known beforehand: all go together
            grid = user_grid(options, penalty_grid(whole[0], options.grid, options.ratio), whole[0])
            parts: list[Callable[[Workers], LassoPath]] = [partial(follow, subset, grid) for subset in subsets]
            path, *rest = side_by_side([follow_all, *parts], n_together, workers)
        else:
            path = follow_all(workers)
            if path.ending is not None:  # its grid is a part of what was asked for: nothing to keep
                subsets = [subset._replace(run=None) for subset in subsets]
            rest = side_by_side([partial(follow, subset, path.radii) for subset in subsets], n_together, workers)
    for it in (path, *rest):
        warn_unless_converged(it, options)
    return SubsetPaths(label(path, data), [label(it, data) for it in rest], problems)


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


def _n_affordable(columns: Columns, n_threads: int) -> int:
    path_bytes = BYTES_PER_COLUMN * shape(columns)[1]
    return int(max(_MOST_OF_X * nbytes(columns) // path_bytes, min(n_threads, _FEW_BYTES // path_bytes)))

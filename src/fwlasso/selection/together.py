"""Paths on several parts of the samples, over the same columns: folds and subsamples. X is never copied."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .._core.columns import Columns, Vector, nbytes, shape
from .._core.compiling import timed
from .._core.threads import Workers
from ..assembly import warn_unless_converged
from ..certified import BYTES_PER_COLUMN
from ..data.inputs import Data
from ..path import Context, solve
from ..problem.grid import penalty_grid, user_values
from ..problem.shared import solve_together
from ..problems import Part, Problems
from ..result import LassoPath

SolveOn = Callable[[Workers], LassoPath]

# Paths that go side by side may need this share of X together; or, as many as there are threads, these bytes.
_MOST_OF_X, _FEW_BYTES = 0.11, 64 << 20


class SubsetPaths(NamedTuple):
    """The path on all samples, those on subsets, and what is known of the samples that these leave out."""

    path: LassoPath
    subset_paths: list[LassoPath]
    problems: Problems

    def squared_errors(self, subset: int) -> Vector | None:
        """Return the mean squared errors of a subset's path on the samples left out; None if they are not known."""
        return self.problems.squared_errors(subset, self.subset_paths[subset])


def solve_paths(contexts: Sequence[Context], masks: Sequence[Part]) -> list[SubsetPaths]:
    """Compute the path on all samples, and one on the samples of every mask, on its grid, as every context asks for it.

    The contexts differ in the terms of columns: they share the data, sums over rows and passes over columns.
    """
    context, n_paths = contexts[0], 1 + len(masks)
    assert isinstance(context.data, Data)
    options, workers = context.options, context.workers
    context.monitor.share(len(contexts) * n_paths)
    with timed(context.seconds, "setup"):
        begun = [it._replace(number=k * n_paths).begin(masks) for k, it in enumerate(contexts)]
        problems = Problems(context.data, options, workers, masks, terms=context.terms)
        sets = [_Set(own, problems.with_terms(own[0].terms), workers) for own in begun]
    n_together = _n_affordable(context.data.design.columns, workers.n_threads)
    if options.grid_name == "alphas":  # known beforehand: all go together
        solved = solve_together([solve_on for it in sets for solve_on in it.all_at_once()], n_together, workers)
        paths = [solved[k : k + n_paths] for k in range(0, len(solved), n_paths)]
    else:
        paths = [it.whole_first(n_together, workers) for it in sets]
    for path in (path for own in paths for path in own):
        warn_unless_converged(path, options)
    return [SubsetPaths(path, rest, it.problems) for it, (path, *rest) in zip(sets, paths, strict=True)]


class _Set:
    """The paths of one context: on all samples, and on those of every mask."""

    def __init__(self, contexts: Sequence[Context], problems: Problems, workers: Workers) -> None:
        self._contexts, self.problems = contexts, problems
        self._problem = [problems.whole(workers)]  # nobody needs it after its path

    def all_at_once(self) -> list[SolveOn]:
        """Return what solves every path on a grid of alphas."""
        whole = self._contexts[0]
        grid, problem = whole.options.grid, self._problem[0]
        if isinstance(grid, int):
            lams = penalty_grid(problem, grid, whole.options.ratio(whole.data.shape))
            grid = user_values(problem, "alphas", lams)
        return [self._solve_whole, *self._parts(grid)]

    def whole_first(self, n_together: int, workers: Workers) -> list[LassoPath]:
        """Solve the path on all samples, and the others on the grid of radii that it has found."""
        path = self._solve_whole(workers)
        if path.ending is not None:  # its grid is a part of what was asked for: nothing to keep
            self._contexts = [it._replace(run=None) for it in self._contexts]
        return [path, *solve_together(self._parts(path.radii), n_together, workers)]

    def _parts(self, grid: Vector) -> list[SolveOn]:
        return [partial(self._solve_part, k, grid) for k in range(len(self._contexts) - 1)]

    def _solve_whole(self, workers: Workers) -> LassoPath:
        return solve(self._contexts[0]._replace(workers=workers), self._problem.pop())

    def _solve_part(self, number: int, grid: Vector, workers: Workers) -> LassoPath:
        part = self._contexts[1 + number]
        part = part._replace(workers=workers, options=part.options.on_grid(grid))
        return solve(part, self.problems.part(number, workers))


def _n_affordable(columns: Columns, n_threads: int) -> int:
    path_bytes = BYTES_PER_COLUMN * shape(columns)[1]
    return int(max(_MOST_OF_X * nbytes(columns) // path_bytes, min(n_threads, _FEW_BYTES // path_bytes)))

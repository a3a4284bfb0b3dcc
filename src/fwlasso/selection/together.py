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


def solve_paths(context: Context, masks: Sequence[Part]) -> SubsetPaths:
    """Compute the path on all samples, and one on the samples of every mask, on its grid."""
    assert isinstance(context.data, Data)
    options, workers = context.options, context.workers
    with timed(context.seconds, "setup"):
        whole, *parts = context.begin(masks)
        problems = Problems(context.data, options, workers, masks, terms=context.terms)
        problem = [problems.whole(workers)]

    def solve_whole(own: Workers) -> LassoPath:
        return solve(whole._replace(workers=own), problem.pop())  # nobody needs the problem after the path

    def solve_part(number: int, grid: Vector, own: Workers) -> LassoPath:
        part = parts[number]._replace(workers=own, options=options.on_grid(grid))
        return solve(part, problems.part(number, own))

    n_together = _n_affordable(context.data.design.columns, workers.n_threads)
    if options.grid_name == "alphas":  # known beforehand: all go together
        grid = options.grid
        if isinstance(grid, int):
            lams = penalty_grid(problem[0], grid, options.ratio(context.data.shape))
            grid = user_values(problem[0], "alphas", lams)
        of_parts: list[SolveOn] = [partial(solve_part, k, grid) for k in range(len(masks))]
        path, *rest = solve_together([solve_whole, *of_parts], n_together, workers)
    else:
        path = solve_whole(workers)
        if path.ending is not None:  # its grid is a part of what was asked for: nothing to keep
            parts = [part._replace(run=None) for part in parts]
        rest = solve_together([partial(solve_part, k, path.radii) for k in range(len(masks))], n_together, workers)
    for found in (path, *rest):
        warn_unless_converged(found, options)
    return SubsetPaths(path, rest, problems)


def _n_affordable(columns: Columns, n_threads: int) -> int:
    path_bytes = BYTES_PER_COLUMN * shape(columns)[1]
    return int(max(_MOST_OF_X * nbytes(columns) // path_bytes, min(n_threads, _FEW_BYTES // path_bytes)))

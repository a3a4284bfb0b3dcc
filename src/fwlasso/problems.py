"""The problems of a path and of its folds, by which route they are solved, and on which grid."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._core.columns import Vector, shape
from ._core.costs import is_plain
from ._core.csc import Csc
from ._core.dense import Dense
from ._core.notices import warn_of_doubt
from ._core.penalties import L1
from ._core.threads import Workers, physical_memory
from .checkpoints.folder import Checkpoint, Grid
from .data.elsewhere import remote_of
from .data.inputs import Data
from .data.terms import PLAIN, Terms
from .gram.problem import AnyProblem, GramProblem
from .gram.subsets import GramSubsets
from .gram.summed import SummedTable
from .monitor import Monitor
from .options import Options
from .problem.build import LOSSES, build_problem
from .problem.grid import RADIUS_GAP, log_grid, n_vanished, penalty_grid, radius_grid
from .problem.route import GRAM, WORKING_SET, choose_route
from .result import LassoPath
from .solvers.certified import Certified
from .solvers.protocol import SolverSettings
from .status import Status

Mask = NDArray[np.bool_]
Part: TypeAlias = NDArray[Any]  # the samples of a path: a mask, or how often each is taken

# Rounds to find the end of an automatic grid of radii in.
_RADIUS_ROUNDS = 1000


class Problems:
    """The problem on all samples, and one on each of some parts of them, as the route asks for it.

    The route is the one asked for by name, or the one that is expected to be faster.
    """

    def __init__(
        self,
        data: Data | SummedTable,
        options: Options,
        workers: Workers,
        masks: Sequence[Part] = (),
        *,
        terms: Terms = PLAIN,
    ) -> None:
        self._data, self._masks = data, masks
        self._units = options.fit_intercept, options.standardize
        self._alphas = options.grid if options.grid_name == "alphas" and not isinstance(options.grid, int) else None
        routes = options.entry.routes
        self._route, *others = routes if options.loss == "squared" else routes[-1:]
        self._may_change = bool(others)  # from inner products to columns, where points stay open
        self._grams: GramSubsets | None = None
        self._terms = terms
        if isinstance(data, SummedTable):
            return
        of_data, weights = (data.design, data.response), data.weights
        self._by_columns = partial(build_problem, *of_data, *self._units, weights=weights, terms=terms)
        if options.loss != "squared":
            self._by_columns = partial(self._by_columns, loss=LOSSES[options.loss], offset=data.offset)
        if remote_of(data.design.columns) is not None:
            if WORKING_SET not in routes:
                raise ValueError(f"solver={options.solver!r} reads X in this process, and its columns are on a cluster")
            refused = {"unpenalized": terms.unpenalized.size, "checkpoint": options.checkpoint is not None}
            for name in (name for name, is_asked in refused.items() if is_asked):
                raise ValueError(f"{name}: it is not for columns on a cluster")
            self._route, self._may_change = WORKING_SET, False
        elif others:
            columns = data.design.columns
            m, p = shape(columns)
            n_stored = int(columns.indptr[-1]) if isinstance(columns, Csc) else m * p
            is_float64 = isinstance(columns, Dense) and columns.values.dtype == np.float64
            asked = m, p, n_stored, options.n_points, options.tolerance
            room = {"memory": physical_memory(), "n_folds": len(masks) + 1}
            self._route, _ = choose_route(*asked, eps=options.reach((m, p)), is_float64=is_float64, **room)
        if self._route == GRAM:
            self._grams = GramSubsets(data, masks, *self._units, workers, weights=data.weights, terms=terms)

    def with_terms(self, terms: Terms) -> "Problems":
        """Return the problems on the same data with other terms: no pass over rows is made again."""
        other = copy(self)
        other._terms, other._by_columns = terms, partial(self._by_columns, terms=terms)
        other._grams = None if self._grams is None else self._grams.with_terms(terms)
        return other

    def whole(self, workers: Workers) -> AnyProblem:
        """Return the problem on all samples, and warn if it has no model but the empty one: X'y = 0."""
        problem: AnyProblem
        if isinstance(self._data, SummedTable):
            problem = self._data.problem(*self._units, self._terms)
        elif self._grams is None:
            problem = self._by_columns(workers)
        else:
            problem = self._with_columns(self._grams.whole(), None)
        if not problem.xty.any():
            target = self._data.origin.get("target")
            response = "the response" if target is None else f"the response {target!r}"
            if problem.yy == 0.0:
                warn_of_doubt(f"T{response[1:]} is constant: there is nothing to explain, and all models are empty.")
            else:
                warn_of_doubt(f"No column of X is correlated with {response}: all models are empty.")
        elif not is_plain(problem.cost) and problem.lambda_max == 0.0:
            warn_of_doubt("All columns of X are correlated with the sign that bounds exclude: all models are empty.")
        if self._alphas is not None and (n := n_vanished(problem, self._alphas)):
            what = f"alphas: {n} of {self._alphas.size} are too small for float64 beside X and y"
            warn_of_doubt(f"{what}: they are solved as 0.")
        return problem

    def part(self, number: int, workers: Workers) -> AnyProblem:
        """Return the problem on the samples of a mask."""
        kept = self._masks[number]
        if self._grams is None:
            return self._by_columns(workers, kept=kept)
        return self._with_columns(self._grams.part(number), kept)

    def squared_errors(self, number: int, path: LassoPath) -> Vector | None:
        """Return mean squared errors on the samples that a mask leaves out, if inner products tell them well enough."""
        return None if self._grams is None else self._grams.squared_errors(number, path.scaled_coefs)

    def _with_columns(self, problem: GramProblem, kept: Part | None) -> GramProblem:
        """Return a problem that can be turned into one on its columns, if it may."""
        return problem._replace(by_columns=partial(self._by_columns, kept=kept)) if self._may_change else problem


def check_summed(options: Options) -> None:
    """Raise a ValueError for what needs more than sums over rows."""
    if options.loss != "squared":
        raise ValueError(f"loss: X was summed for least squares; loss={options.loss!r} needs its rows")
    if GRAM not in options.entry.routes:
        raise ValueError(f"solver={options.solver!r} looks at columns, but X was summed as it was read")


def as_summed(table: SummedTable, y: Any, options: Options, **samples: Any) -> SummedTable:
    """Check that a table without rows does for what is asked."""
    check_summed(options)
    for name in (name for name, given in samples.items() if given is not None):
        raise ValueError(f"{name}: X was summed as it was read: give sum_table the weights, or the response less them")
    if y is not None:
        raise ValueError("y: X was summed together with its response; leave y out")
    names = options.feature_names
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"feature_names must be one for each of the {table.shape[1]} features of X, got {len(names)}")
    return table if names is None else table._replace(feature_names=tuple(names))


def find_grid(
    problem: AnyProblem, options: Options, ratio: float, workers: Workers, monitor: Monitor, run: Checkpoint | None
) -> tuple[Grid, Status | None]:
    """Return the grid in the units of the solver, and what cut it short: the search for its end may take a while."""
    if run is not None and run.grid is not None:
        return run.grid, None
    if options.grid_name == "alphas":
        grid = Grid(penalty_grid(problem, options.grid, ratio), 0)
    elif isinstance(options.grid, int):
        l1, n_read = _largest_radius(problem, ratio, workers, monitor)
        grid = Grid(log_grid(ratio * l1, l1, options.grid), n_read)  # as in the paper
        cut = monitor.check()
        if cut is not None:
            return grid, cut
    else:
        grid = Grid(radius_grid(problem, options.grid), 0)
    if run is not None:
        run.save_grid(grid)
    return grid, None


def _largest_radius(problem: AnyProblem, ratio: float, workers: Workers, monitor: Monitor) -> tuple[float, int]:
    """Return ||a||_1 of the penalized solution at eps lambda_max, and how many columns were read for it."""
    last = L1(ratio * problem.lambda_max)
    look = lambda *_, **__: monitor.check()  # noqa: E731
    solver = Certified(SolverSettings("gap", RADIUS_GAP, _RADIUS_ROUNDS))
    found = solver.solve(problem, [last], None, workers, look)
    l1, gap = float(found.sums[0, 2]), found.gaps[0]
    is_better = l1 > 0.0 and gap < (1.0 - ratio) ** 2 * problem.null_loss  # than the empty model, beyond rounding
    is_end = is_better or problem.lambda_max == 0.0 or found.statuses[0].ends_path
    if not (np.isfinite(l1) and is_end):
        raise ValueError(
            "radii: no end was found for an automatic grid: no column of X is correlated with y beyond rounding, or a "
            "ridge leaves nothing of coefficients. "
            "If columns are far from zero, centre them, or give radii; if they are not, there is nothing to select"
        )
    return l1, int(found.counts[0, 2])

"""Compile ahead of time, so that the first path of a process starts at once."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._core.draws import draw, make_sampler
from ._core.iterate import zero
from ._core.losses import Squared
from ._core.oracle import parallel_scan
from ._core.penalties import L1, L1Ball
from ._core.problem import Problem
from ._core.subproblem.rounds import AFTER, LOOK, Aim, Plan, first_round
from ._core.threads import FEWEST_BYTES, Workers
from .certified.nodes import Start
from .certified.objectives import make_objective
from .certified.working_set import WorkingSet
from .data.design import as_design
from .path import lasso_path
from .problem.build import build_problem
from .problem.passes import LocalPass
from .problem.route import GRAM
from .selection.cross_validation import lasso_cv
from .solvers.frank_wolfe import VARIANTS, take_step
from .solvers.protocol import Stopping
from .solvers.registry import SOLVERS, current_name

_N_ROWS = 12


def warm_up(
    *,
    sparse: Sequence[bool] = (False, True),
    dtypes: Sequence[Any] = (np.float64,),
    fit_intercept: bool = True,
    solvers: Sequence[str] = ("certified",),
    folds: bool = False,
) -> None:
    """Compile the kernels for these kinds of data, or load them from the cache.

    Parameters
    ----------
    sparse : which storages: dense (False), sparse (True)
    dtypes : float64, float32 or both
    fit_intercept : whether paths will have an intercept or standardised columns
    solvers : names of solvers
    folds : for cross-validation, too

    Examples
    --------
    >>> from fwlasso import warm_up
    >>> warm_up(sparse=[False])
    """
    rng = np.random.default_rng(0)
    y = rng.standard_normal(_N_ROWS)
    values = rng.standard_normal((_N_ROWS, 16))
    values[:, 9] = values[:, 3]  # copies are looked for
    # Sparse columns are copied row by row if rows are short; constants are looked at twice.
    few = np.add.outer(np.arange(_N_ROWS), np.arange(16)) % 6 == 0
    few[:, 15], values[:, 15] = True, 1.0
    for is_sparse in sparse:
        for dtype in dtypes:
            X = sp.csc_array((values * few).astype(dtype)) if is_sparse else np.asfortranarray(values, dtype=dtype)
            for solver in map(current_name, solvers):
                if is_sparse:  # full columns are copied in another way
                    _warm_up_full(sp.csc_array(values.astype(dtype)), y, fit_intercept, folds)
                if GRAM in SOLVERS[solver].routes:  # as many samples as features: the other way of the certified path
                    _warm_up_tall(X[:, :6], y, {"solver": solver, "fit_intercept": fit_intercept}, folds)
                _warm_up(X, y, {"solver": solver, "fit_intercept": fit_intercept, "random_state": 0}, folds)


def _warm_up(X: Any, y: Any, settings: dict[str, Any], folds: bool) -> None:
    solver = settings["solver"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of data that are made up nobody wants to hear
        for grid in SOLVERS[solver].grids:
            lasso_path(X, y, **(settings | {grid: 20}))
        if folds:
            lasso_cv(X, y, cv=2, **settings)
    with Workers(1) as workers:
        for kept in (None, np.arange(_N_ROWS) < 10) if folds else (None,):
            problem = build_problem(as_design(X), y, settings["fit_intercept"], False, workers, kept)
            for call in _on_large_data(solver):
                call(problem, workers)


def _warm_up_full(X: Any, y: Any, fit_intercept: bool, folds: bool) -> None:
    with Workers(1) as workers:
        for kept in (None, np.arange(_N_ROWS) < 10) if folds else (None,):
            problem = build_problem(as_design(X), y, fit_intercept, False, workers, kept)
            _working_set(problem, workers).places(np.arange(4))


def _warm_up_tall(X: Any, y: Any, settings: dict[str, Any], folds: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for grid in ("alphas", "radii"):
            lasso_path(X, y, **(settings | {grid: 20}))
        if folds:
            lasso_cv(X, y, cv=2, **settings)


def _large_working_set(problem: Problem, workers: Workers) -> None:
    """Take every step that compiled code leaves to others, where there are many entries or many active columns."""
    columns = np.arange(4)
    working_set = _working_set(problem, workers)
    aim = Aim(0.1, -1.0, 0.0, 1, 1)
    for step in AFTER.keys() - {LOOK}:
        places = working_set.start_at(Start(columns, np.ones(4), problem.y.copy()))
        working_set.subproblem.take(first_round(step)._replace(plan=Plan(places, 0.0, 1.0)), places, aim)
    working_set.subproblem.lam(places)


def _working_set(problem: Problem, workers: Workers) -> WorkingSet:
    return WorkingSet(make_objective(problem, Squared(), 0.0), LocalPass(problem, workers), workers)


def _large_samples(problem: Problem, workers: Workers) -> None:
    """Take a step of Frank-Wolfe with a scan on threads."""
    for penalty in (L1Ball(1.0), L1(0.1)):
        sampler = make_sampler(problem.xty.size, 2, 0)
        n_blocks = draw(sampler, 4, 0)
        j, corr = parallel_scan(problem, zero(problem), sampler, n_blocks, FEWEST_BYTES, workers)
        take_step(problem, penalty, zero(problem), j, corr, 0, Stopping(-1.0, -1.0), VARIANTS["default"])


def _on_large_data(solver: str) -> Iterator[Callable[[Problem, Workers], None]]:
    """Yield what paths on small data do not come by."""
    if "radii" in SOLVERS[solver].grids:  # the certified path finds the end of an automatic grid of radii
        yield _large_working_set
    if solver in ("sfw", "fw"):
        yield _large_samples

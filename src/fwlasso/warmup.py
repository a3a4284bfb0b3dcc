"""Compile ahead of time, so that the first path of a process starts at once."""

import argparse
import itertools
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._core.columns import Matrix
from ._core.draws import draw, make_sampler
from ._core.iterate import zero
from ._core.oracle import parallel_scan
from ._core.penalties import L1, L1Ball
from ._core.problem import Problem
from ._core.subproblem.rounds import AFTER, LOOK, Aim, Epochs, first_round
from ._core.threads import FEWEST_BYTES, Workers
from .certified.nodes import Start, take_out
from .certified.objectives import make_objective
from .certified.working_set import WorkingSet
from .data.design import as_design
from .data.genotypes import Genotypes
from .path import lasso_path
from .problem.build import build_problem
from .problem.passes import LocalPass
from .problem.route import GRAM
from .selection.cross_validation import lasso_cv
from .solvers.frank_wolfe import VARIANTS, take_step
from .solvers.protocol import Stopping
from .solvers.registry import DEFAULT_SOLVER, SOLVERS, current_name
from .solvers.sample_size import ALL_COLUMNS

_N_ROWS, _N_COLUMNS = 12, 16


class Kind(NamedTuple):
    """A kind of data and of work on them, with kernels of its own."""

    storage: str  # one of `STORAGES`
    fit_intercept: bool  # or standardised columns: they are centred or scaled as they are read
    folds: bool
    solver: str
    loss: str = "squared"
    terms: bool = False  # elastic nets, bounds and columns without a penalty: any of them, at the same cost


def _packed(values: Matrix) -> Genotypes:
    calls = np.random.default_rng(0).integers(0, 256, (values.shape[1], -(-len(values) // 4)), np.uint8)
    return Genotypes(calls, len(values))


def _with_int64_indices(values: Matrix) -> sp.csc_array:
    X = sp.csc_array(values)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


#: Makers of matrices, for every type that kernels are compiled for.
STORAGES: dict[str, Callable[[Matrix], Any]] = {
    "dense64": np.asfortranarray,
    "dense32": lambda values: np.asfortranarray(values, np.float32),
    "csc64": sp.csc_array,
    "csc32": lambda values: sp.csc_array(values.astype(np.float32)),
    "csc64-int64": _with_int64_indices,
    "bed": _packed,
}

#: What `python -m fwlasso.warmup` compiles: the default on all storages, the others on numbers of float64.
TABLE = [
    *itertools.starmap(Kind, itertools.product(STORAGES, (True, False), (True,), (DEFAULT_SOLVER,))),
    *itertools.starmap(Kind, itertools.product(("dense64", "csc64"), (True, False), (False,), ("sfw", "cd", "pfw"))),
    *(Kind(storage, True, True, DEFAULT_SOLVER, "logistic") for storage in ("dense64", "csc64")),
    *(Kind(storage, True, True, DEFAULT_SOLVER, terms=True) for storage in ("dense64", "csc64")),
]


def warm_up(
    *,
    sparse: Sequence[bool] = (False, True),
    dtypes: Sequence[Any] = (np.float64,),
    fit_intercept: bool = True,
    solvers: Sequence[str] = (DEFAULT_SOLVER,),
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
    for is_sparse, dtype, solver in itertools.product(sparse, dtypes, solvers):
        storage = f"{'csc' if is_sparse else 'dense'}{np.dtype(dtype).itemsize * 8}"
        compile_kind(Kind(storage, fit_intercept, folds, current_name(solver)))


def compile_kind(kind: Kind) -> None:
    """Compile the kernels for a kind of data, or load them from the cache, by work on some that are made up."""
    entry, make = SOLVERS[kind.solver], STORAGES[kind.storage]
    rng = np.random.default_rng(0)
    is_squared = kind.loss == "squared"
    y = rng.standard_normal(_N_ROWS) if is_squared else np.arange(float(_N_ROWS)) % 2
    values = rng.standard_normal((_N_ROWS, _N_COLUMNS))
    values[:, 9] = values[:, 3]  # copies are looked for
    # Sparse columns are copied row by row if rows are short; constants are looked at twice.
    few = np.add.outer(np.arange(_N_ROWS), np.arange(_N_COLUMNS)) % 6 == 0
    few[:, 15], values[:, 15] = True, 1.0
    given = values * few if kind.storage.startswith("csc") else values
    X = make(given)
    settings: dict[str, Any] = {"solver": kind.solver, "fit_intercept": kind.fit_intercept, "random_state": 0}
    settings["loss"] = kind.loss
    if kind.terms:
        settings |= {"ridge": 1.0, "unpenalized": [0]}
    with warnings.catch_warnings(), Workers(1) as workers:
        warnings.simplefilter("ignore")  # of data that are made up nobody wants to hear
        # Of the certified path, there are as many samples as features for one way, and fewer for the other.
        for part in (X, make(given[:, :6])) if GRAM in entry.routes else (X,):
            for grid in entry.grids if is_squared else ("alphas",):
                lasso_path(part, y, **(settings | {grid: 20}))
            if entry.sample_size is ALL_COLUMNS:  # unless a sample is asked for
                lasso_path(part, y, radii=2, sample_size=4, **settings)
            if kind.folds:
                lasso_cv(part, y, cv=2, **settings)
        masks = (None, np.arange(_N_ROWS) < 10) if kind.folds else (None,)
        for kept in masks if is_squared and not kind.terms else ():
            units = kind.fit_intercept, False, workers, kept
            problem = build_problem(as_design(X), y, *units)
            if "radii" in entry.grids:  # the certified path finds the end of an automatic grid of radii
                _large_working_set(problem, workers)
                full = build_problem(as_design(make(values)), y, *units)  # full columns are copied in another way
                _working_set(full, workers).places(np.arange(4))
            if kind.solver in ("sfw", "fw"):
                _large_samples(problem, workers)


def _large_working_set(problem: Problem, workers: Workers) -> None:
    """Take every step that compiled code leaves to others, if there are many entries or many active columns."""
    columns = np.arange(4)
    working_set = _working_set(problem, workers)
    aim = Aim(0.1, -1.0, 0.0, 1, 1)
    for step in AFTER.keys() - {LOOK}:
        places = working_set.start_at(Start(columns, np.ones(4), problem.y.copy()))
        working_set.subproblem.take(first_round(step)._replace(epochs=Epochs(places, 0.0, 1.0)), places, aim)
    working_set.subproblem.lam(places)
    take_out(problem.X, columns, np.ones(4), problem.y.copy())


def _working_set(problem: Problem, workers: Workers) -> WorkingSet:
    columns = LocalPass(problem, workers)
    return WorkingSet(make_objective(problem, columns), columns, workers)


def _large_samples(problem: Problem, workers: Workers) -> None:
    """Take a step of Frank-Wolfe with a scan on threads."""
    for penalty in (L1Ball(1.0), L1(0.1)):
        sampler = make_sampler(problem.xty.size, 2, 0)
        n_blocks = draw(sampler, 4, 0)
        j, corr = parallel_scan(problem, zero(problem), sampler, n_blocks, FEWEST_BYTES, workers)
        take_step(problem, penalty, zero(problem), j, corr, 4, 0, Stopping(), VARIANTS["default"])


def _compile_all(kinds: Sequence[Kind]) -> None:
    for kind in kinds:
        compile_kind(kind)


def compile_table(jobs: int, storages: Sequence[str] = tuple(STORAGES)) -> None:
    """Compile the table, storage by storage: they have the kernels without X in common.

    Two processes begin with the default solver and with the others, or both would compile these kernels: then terms.
    """
    tasks = [
        [kind for kind in TABLE if (kind.storage, kind.solver == DEFAULT_SOLVER, kind.terms) == (storage, *others)]
        for storage in storages
        for others in ((True, False), (False, False), (True, True))
    ]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        list(pool.map(_compile_all, filter(None, tasks)))


def main() -> None:
    """Compile the table, or the part of it for some storages."""
    parser = argparse.ArgumentParser(prog="python -m fwlasso.warmup", description="Compile the kernels ahead of time.")
    parser.add_argument("--jobs", type=int, default=1, help="Number of processes that compile.")
    parser.add_argument("--storages", nargs="+", choices=STORAGES, default=list(STORAGES))
    given = parser.parse_args()
    compile_table(given.jobs, given.storages)


if __name__ == "__main__":
    main()

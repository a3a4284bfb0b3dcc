"""The path: from what users have to a `LassoPath`, by warm starts along a grid."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._core.columns import Vector, shape
from ._core.compiling import compile_seconds
from ._core.csc import Csc
from ._core.dense import Dense
from ._core.penalties import L1, L1Ball, Penalty
from ._core.problem import Problem
from ._core.threads import Workers, physical_memory
from .assembly import assemble, certify, check_columns, label, warn_unless_converged
from .checkpoints.folder import Grid, Run, open_run
from .checkpoints.segments import InSegments
from .data.design import Design
from .data.inputs import Data, as_data
from .gram.file_sums import SummedTable
from .gram.problem import GramProblem, gram_problem
from .gram.row_sums import row_sums
from .monitor import Callback, Monitor, Progress
from .options import Options
from .problem.build import build_problem
from .problem.grid import penalty_grid, radius_excess, radius_grid, user_values
from .problem.points import zero_path
from .problem.route import GRAM, WORKING_SET, choose_route
from .result import Counters, LassoPath
from .solvers.certified import Certified
from .solvers.protocol import SolverSettings
from .status import Status

# Accuracy of the solution that ends an automatic grid of radii.
_RADIUS_GAP = 1e-6


# So many parameters: whatever users of glmnet and scikit-learn ask of a path is one keyword.
def lasso_path(
    X: Any,
    y: Any = None,
    *,
    alphas: Any = None,
    radii: Any = None,
    eps: float | None = None,
    solver: str = Options.solver,
    stop: Literal["gap", "change", "paper"] | None = None,
    tol: float | None = None,
    sample_size: Any = None,
    block_size: int | None = None,
    variant: Literal["default", "paper"] = "default",
    standardize: bool = False,
    fit_intercept: bool = True,
    random_state: Any = None,
    max_iter: int = Options.max_iter,
    time_limit: float | None = None,
    callback: Callback | None = None,
    certify: bool = True,
    n_threads: int | None = None,
    checkpoint: str | Path | None = None,
    feature_names: Any = None,
) -> LassoPath:
    """Compute a Lasso path.

    Over radii, min 1/(2m) ||y - X b - b0||^2 subject to ||b||_1 <= radius; over alphas, scikit-learn's
    min 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1. Points are solved from the sparsest on, each from the one before.
    Unlike scikit-learn's function of this name it fits an intercept, and returns an object in place of a tuple.

    Parameters
    ----------
    X : array, sparse matrix, pandas, polars or pyarrow table, or Genotypes, of shape (n_samples, n_features), or store
        Column-major arrays and CSC matrices of float64 or float32, and the packed genotypes of
        `fwlasso.datasets.open_bed`, are used where they lie; anything else is copied once. A store, open or as the path
        of its folder, is read from the disk: it may be larger than memory. So may a tall file be: `sum_table` reads it.
    y : array of shape (n_samples,)
        By default that of the store, or of the `fwlasso.datasets.Table` that X is.
    alphas, radii : int or array, optional
        The grid, one of the two: a number of points, or values. An automatic alpha grid goes from the smallest
        alpha with a zero solution down to `eps` times that. An automatic radius grid ends at the l1 norm of the
        solution for that last alpha and starts at `eps` times it. By default 100 points, radii for the Frank-Wolfe
        solvers, else alphas.
    eps : float, optional
        Ratio of the ends of an automatic grid. By default 1e-2 where there are more features than samples, else 1e-4.
    solver : str, default="certified"
        "certified" is the certified path: exact solutions, interpolation between them, and a duality gap over all
        columns for every point. It goes one of two ways, told in ``settings["route"]``: "gram", one pass over the rows
        and a path on the Gram matrix of all columns, or "working-set", some 15 passes over the columns. Either name
        asks for that way. "sfw" is stochastic Frank-Wolfe, "fw" deterministic Frank-Wolfe. These solve both forms.
        Over radii only: "afw" and "pfw", Frank-Wolfe with away steps and with pairwise steps. Over alphas only: "cd",
        cyclic coordinate descent with the strong rule.
    stop : {"gap", "change", "paper"}, optional
        When a point is done. "gap": the duality gap over all columns is at most tol / 2 ||y||^2: a proof. "change": a
        step changes no coefficient by more than tol ||y|| / (root mean square of the column norms). "paper": by more
        than tol, in absolute terms. The last two are weak evidence of a solution. By default "change" for "sfw" and
        "fw", and "gap" for the others; "certified" has no other.
    tol : float, optional
        By default 1e-4 for "gap" and 1e-3 for the other rules.
    sample_size : int, float, rule or None
        How many columns a step of "sfw" looks at: a number, a share of all, or a rule such as `QuantileRule`. By
        default 1 % of the columns, at least 194.
    block_size : int, optional
        Neighbouring columns drawn together. 1 is the paper's sampling; larger blocks are faster, since memory is
        read in a row. By default chosen from the sample size.
    variant : {"default", "paper"}, default="default"
        Of "sfw" and "fw" over radii. "paper" is the method of Frandi and others (2015) to the letter: the warm start is
        always scaled to the new radius, only the sampled columns are looked at, all draws are independent (single
        columns by default), a step of length zero counts as a small one, and dot products are counted as there. By
        default the start is scaled only if that lowers the objective, active columns are looked at if a sample shows
        no descent, and draws go round.
    standardize : bool, default=False
        Scale the columns to a mean square of one, without a copy. The norm ||b||_1 is then that of the scaled
        coefficients; the coefficients returned are for the columns as given.
    fit_intercept : bool, default=True
        Centre the columns and y, without a copy.
    random_state : int, RandomState or None
        Seed of the draws. The same seed gives the same path, for any number of threads.
    max_iter : int, default=10_000
        Iterations per point: steps, cycles of "cd" over whatever columns; of "certified", rounds of
        descent and Newton steps per solution.
    time_limit : float, optional
        Seconds for the solver; then the points solved so far are returned.
    callback : callable, optional
        Called with a `Progress` between bursts of steps and after every point; returning True ends the path.
    certify : bool, default=True
        Compute the true duality gap of every point: one more pass over the data, or a few.
    n_threads : int, optional
        Threads for scans of large data. By default all cores this process may use.
    checkpoint : path, optional
        Folder that the path is kept in while it is computed, in three segments. Where the process is killed, or the
        path ended early, the same call goes on from the last whole segment, and gives the same bits as one that was
        never stopped. Other data or other settings are refused. Segments cost one to two passes more each.
    feature_names : sequence of str, optional
        For X without names, such as a sparse matrix; a frame, a store and a table have their own.

    Returns
    -------
    LassoPath

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((60, 300)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(60)
    >>> path = lasso_path(X, y, tol=1e-6)
    >>> len(path), bool(path.gaps.max() <= 1e-6)
    (100, True)
    """
    given = locals()  # the arguments by name, as `Options` has them
    return solve_path(given.pop("X"), given.pop("y"), Options(**given))


def solve_path(X: Any, y: Any, options: Options, start: Vector | None = None) -> LassoPath:
    """Compute the path that `options` ask for; see `lasso_path`. `start` are coefficients near its first point."""
    monitor = Monitor(options.time_limit, options.callback)
    seconds: dict[str, float] = {}
    seed = options.draw_seed()
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(options.threads))
        stack.enter_context(monitor.guard())
        with timed(seconds, "setup"):
            data: Data | SummedTable
            if isinstance(X, SummedTable):
                data = _as_summed(X, y, options)
            else:
                data = as_data(X, y, workers, options.feature_names)
            options = options.for_shape(data.shape)
            run = None
            if options.checkpoint is not None:
                run = stack.enter_context(open_checkpoint(options, seed, data.fingerprint()))
                seed = run.seed
            problem = make_problem(data, options, workers)
        path = path_on(problem, data, options, seed, workers, monitor, seconds, start=start, run=run)
    warn_unless_converged(path, options)
    return label(path, data)


def route_of(options: Options, design: Design, n_folds: int = 1) -> str:
    """Return by which way a path is computed: the one asked for by name, or the one that is expected to be faster."""
    if len(options.entry.routes) == 1:
        return options.entry.routes[0]
    columns = design.columns
    m, p = shape(columns)
    n_stored = int(columns.indptr[-1]) if isinstance(columns, Csc) else m * p
    is_float64 = isinstance(columns, Dense) and columns.values.dtype == np.float64
    memory, n_threads = physical_memory(), options.threads
    task = m, p, n_stored, options.n_points, options.tolerance, is_float64
    return choose_route(*task, memory, n_threads, n_folds).name


def _as_summed(table: SummedTable, y: Any, options: Options) -> SummedTable:
    """Check that a table without rows does for what is asked."""
    if y is not None:
        raise ValueError("y: X was summed up together with its response; leave y out")
    if GRAM not in options.entry.routes:
        raise ValueError(f"solver={options.solver!r} looks at columns, and X was summed up while it was read")
    names = options.feature_names
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"feature_names must be one for each of the {table.shape[1]} features of X, got {len(names)}")
    return table if names is None else table._replace(feature_names=tuple(names))


def make_problem(data: Data | SummedTable, options: Options, workers: Workers) -> Problem | GramProblem:
    """Read the data once, and return the problem as the route asks for it."""
    units = options.fit_intercept, options.standardize
    if isinstance(data, SummedTable):
        return data.problem(*units)
    design, response = data.design, data.response
    if route_of(options, design) != GRAM:
        return build_problem(design, response, *units, workers)
    (sums,) = row_sums(design.columns, response, units[0], workers, feature_names=design.feature_names)
    problem = gram_problem(sums, design.columns, response, np.arange(response.size), *units)
    return with_columns(problem, design, response, options)


def with_columns(
    problem: GramProblem, design: Design, response: Vector, options: Options, kept: NDArray[np.bool_] | None = None
) -> GramProblem:
    """Return a problem that can be turned into one on its columns, unless the way was asked for by name."""
    if WORKING_SET not in options.entry.routes:
        return problem

    def build(workers: Workers) -> Problem:
        return build_problem(design, response, options.fit_intercept, options.standardize, workers, kept)

    return problem._replace(by_columns=build)


def path_on(
    problem: Problem | GramProblem,
    data: Data | SummedTable,
    options: Options,
    seed: int,
    workers: Workers,
    monitor: Monitor,
    seconds: dict[str, float],
    *,
    start: Vector | None = None,
    run: Run | None = None,
    number: int = 0,
) -> LassoPath:
    """Compute the path that `options` ask for on a problem; a run keeps what is solved.

    `number` is that of the path among those that have the monitor in common.
    """
    with timed(seconds, "grid"):
        grid = None if run is None else run.grid
        cut = None
        if grid is None:
            grid = _grid(problem, options, workers, monitor)
            # A grid of radii whose end was not found is cut short, too.
            cut = monitor.check() if isinstance(options.grid, int) and options.grid_name == "radii" else None
            if run is not None and cut is None:
                run.keep_grid(grid)
        penalties = _penalties(options, grid)
        values = user_grid(options, grid.values, problem)
    with timed(seconds, "solve"):
        tell = partial(_tell, monitor, number, problem, values)
        make, told = options.entry.make, options.solver_settings(seed)
        in_segments = (run is not None or options.in_segments) and cut is None
        solver = InSegments(make, told, run) if in_segments else make(told)
        guess = problem.from_user_units(start) if start is not None and solver.proves else None
        path = zero_path(len(penalties))
        if problem.yy > 0.0:  # else there is nothing to explain, and no radius is too large for that
            path = solver.solve(problem, penalties, guess, workers, tell)
        path = path._replace(ending=path.ending or cut)
    p = problem.xty.size
    with timed(seconds, "certify"):
        check_columns(path, p)  # before any of these columns is read
        gaps, n_passes = path.gaps, 0
        if not solver.proves:
            assert isinstance(problem, Problem)
            wanted = options.certify and path.ending is not Status.INTERRUPTED
            gaps, n_passes = certify(problem, penalties, path, workers, wanted)
        gaps = gaps / problem.null_loss
        path = path.in_order()
        if options.grid_name == "radii":
            excess = radius_excess(problem, options.grid, grid.values)[: gaps.size]
            gaps *= excess
            beyond = ((excess > 1.0) & (gaps > options.tolerance)).tolist()
            statuses = (Status.PRECISION if far else status for far, status in zip(beyond, path.statuses, strict=True))
            path = path._replace(statuses=tuple(statuses))
    if run is not None and path.ending is None:
        run.mark_complete()

    _, n_dots, n_priced = path.counts.sum(axis=0).tolist()
    passes = (p + grid.n_priced + n_priced) / p + n_passes
    n_dots += 0 if options.variant == "paper" else p  # z_j'y of every column, which the paper does not count
    counters = Counters(path.counts[:, 0].copy(), n_dots, passes, seconds)
    settings = {
        **options.record(),
        "seed": seed,
        # What gives this seed again; a generator goes on with every call, and no number stands for it.
        "random_state": int(options.random_state) if isinstance(options.random_state, Integral) else None,
        # Of an automatic grid, which `eps` gives the end of; values are not repeated, they are those of the points.
        "points": options.grid if isinstance(options.grid, int) and cut is None else None,
        "n_samples": problem.shape[0],
        "in_segments": run is not None or options.in_segments,
        "route": GRAM if isinstance(problem, GramProblem) else options.entry.routes[-1],
        "conversion": data.conversion,
    }
    return assemble(problem, data.feature_names, options.grid_name, values, path, gaps, counters, settings)


def open_checkpoint(options: Options, seed: int, data: dict[str, str]) -> AbstractContextManager[Run]:
    """Begin the run that `options` name the folder of, or go on with it; `data` is the fingerprint."""
    settings = {**options.run_record(), "seed": seed}
    return open_run(Path(options.checkpoint or ""), settings, data, any_seed=options.random_state is None)


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Add the time that passes in this context to that of a phase; in which kernels are compiled, to "compile"."""
    started, compiled = time.perf_counter(), compile_seconds()
    yield
    compiled = compile_seconds() - compiled
    seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - started - compiled
    if compiled > 0.0:
        seconds["compile"] = seconds.get("compile", 0.0) + compiled


def _grid(problem: Problem | GramProblem, options: Options, workers: Workers, monitor: Monitor) -> Grid:
    """Return the penalties or the radii of the path, from the sparsest on."""
    if options.grid_name == "alphas":
        return Grid(penalty_grid(problem, options.grid, options.ratio), 0)
    n_priced = 0

    def largest_radius() -> float:
        """Return ||a||_1 of the penalized solution at eps lambda_max."""
        nonlocal n_priced
        last = L1(options.ratio * problem.lambda_max)
        look = lambda *_, **__: monitor.check()  # noqa: E731
        found = Certified(SolverSettings("gap", _RADIUS_GAP, 1000)).solve(problem, [last], None, workers, look)
        n_priced = int(found.counts[0, 2])
        l1 = float(found.sums[0, 2])
        if not (np.isfinite(l1) and (l1 > 0.0 or problem.lambda_max == 0.0 or found.statuses[0].ends_path)):
            raise ValueError(
                "radii: no end was found for an automatic grid: rounding is larger than what the columns of X vary. "
                "Centre them, or give radii"
            )
        return l1

    return Grid(radius_grid(problem, options.grid, options.ratio, largest_radius), n_priced)


def user_grid(options: Options, values: Vector, problem: Problem | GramProblem) -> Vector:
    """Return the grid as users have it, alphas or radii; `values` are penalties lambda = m alpha, or radii.

    What was given is kept to the last bit: m alpha / m is not always alpha.
    """
    return user_values(problem, options.grid_name, values) if isinstance(options.grid, int) else options.grid


def _penalties(options: Options, grid: Grid) -> list[Penalty]:
    """Return the problems of the path."""
    penalty = L1 if options.grid_name == "alphas" else L1Ball
    return [penalty(value) for value in grid.values.tolist()]


def _tell(
    monitor: Monitor,
    number: int,
    problem: Problem | GramProblem,
    values: Vector,
    point: int,
    n_active: int,
    n_iter: int,
    gap: float,
    *,
    done: bool,
) -> Status | None:
    """Tell the callback, if there is one, where the path is."""
    if not monitor.has_callback:
        return monitor.check()
    parameter = float(values[point])
    now = Progress(point, values.size, parameter, n_active, n_iter, gap / problem.null_loss, monitor.seconds, done)
    return monitor.report(now, number)

"""The path: from what users have to a `LassoPath`, by warm starts along a grid."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._core.columns import Vector, shape
from ._core.compiling import timed
from ._core.csc import Csc
from ._core.dense import Dense
from ._core.penalties import L1, L1Ball
from ._core.problem import Problem
from ._core.threads import Workers, physical_memory
from .assembly import (
    assemble,
    certify,
    check_columns,
    count,
    label,
    warn_of_empty_models,
    warn_of_small_samples,
    warn_unless_converged,
)
from .checkpoints.folder import Checkpoint, Grid, open_checkpoint, subset_folder
from .checkpoints.segments import InSegments
from .data.design import Design
from .data.inputs import Data, as_data
from .data.keywords import explain_unknown
from .gram.file_sums import SummedTable
from .gram.problem import AnyProblem, GramProblem
from .gram.subsets import GramSubsets
from .monitor import Callback, Monitor, Progress
from .options import Options, draws_columns
from .problem.build import build_problem
from .problem.grid import log_grid, null_objective, penalty_grid, radius_excess, radius_grid, user_values
from .problem.points import SolvedPath, Tell, zero_path
from .problem.route import GRAM, WORKING_SET, choose_route
from .result import LassoPath
from .solvers.certified import Certified
from .solvers.levels import level_facts
from .solvers.protocol import SolverSettings
from .solvers.sample_size import columns_to_draw
from .status import Status

Mask = NDArray[np.bool_]

# Accuracy of the solution that ends an automatic grid of radii, and rounds to find it in.
_RADIUS_GAP, _RADIUS_ROUNDS = 1e-6, 1000


# So many parameters: whatever users of glmnet and scikit-learn ask of a path is one keyword.
@explain_unknown()
def lasso_path(
    X: Any,
    y: Any = None,
    *,
    alphas: Any = None,
    radii: Any = None,
    eps: float | None = None,
    solver: str = Options.solver,
    stop: Literal["gap", "change", "paper", "level"] | None = None,
    tol: float | None = None,
    level: float = 0.95,
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
    Unlike scikit-learn's function of this name it fits an intercept, and returns an object in place of a tuple; that is
    `Lasso.path`.

    Parameters
    ----------
    X : array, sparse matrix, pandas, polars or pyarrow table, or Genotypes, of shape (n_samples, n_features), or store
        Column-major arrays and CSC matrices of float64 or float32, and the packed genotypes of
        `fwlasso.datasets.open_bed`, are used in place, without a copy; anything else is copied once. A store, open or
        as the path of its folder, is read from the disk and may be larger than memory. For tall files: `sum_table`.
    y : array of shape (n_samples,)
        By default that of the store, or of the `fwlasso.datasets.Table` that X is.
    alphas, radii : int or array, optional
        The grid, one of the two: a number of points, or values. An automatic alpha grid goes from the smallest
        alpha with a zero solution down to `eps` times that. An automatic radius grid ends at the l1 norm of the
        solution for that last alpha and starts at `eps` times it. By default 100 points, radii for the Frank-Wolfe
        solvers, else alphas.
    eps : float, optional
        Ratio of the ends of an automatic grid. By default 1e-2 if there are more features than samples, else 1e-4.
    solver : str, default="certified"
        "certified" is the certified path: exact solutions, interpolation between them, and a duality gap over all
        columns for every point. It takes one of two routes, recorded in ``settings["route"]``: "gram", one pass over
        the rows and a path on the Gram matrix of all columns, or "working-set", about 15 passes over the columns.
        Either name selects that route. "sfw" is stochastic Frank-Wolfe, "fw" deterministic Frank-Wolfe. These solve
        both forms. Over radii only: "afw" and "pfw", Frank-Wolfe with away steps and with pairwise steps. Over alphas
        only: "cd", cyclic coordinate descent with the strong rule.
    stop : {"gap", "change", "paper", "level"}, optional
        When a point is done. "gap": the duality gap over all columns is at most tol / 2 ||y||^2: a proof. "change": a
        step changes no coefficient by more than tol ||y|| / (root mean square of the column norms). "paper": by more
        than tol, in absolute terms. These two are weak evidence of a solution. "level", of "sfw" with
        ``variant="paper"`` over radii: enough columns were drawn that the objective is at most tol / 2 ||y||^2 above
        its minimum with the probability `level`. With given radii and ``certify=False`` the only pass over all columns
        is the first; the draws are far more work than a proof. By default "change" for "sfw" and "fw", and
        "gap" for the others; "certified" has no other.
    tol : float, optional
        By default 1e-4 for "gap", 1e-2 for "level" and 1e-3 for the other rules.
    level : float, default=0.95
        Of ``stop="level"``: a probability over the draws, for every point. See `LassoPath.confidence`.
    sample_size : int, float, rule or None
        How many columns a step of "sfw" looks at: a number, a share of all, or a rule such as `QuantileRule`. By
        default 1 % of the columns, at least 194: a larger share of fewer than 19,400. So do "afw" and "pfw", which look
        at all by default, and at the active columns always.
    block_size : int, optional
        Neighbouring columns drawn together. 1 is the paper's sampling, and the default of "afw" and "pfw"; larger
        blocks are faster, since memory is read contiguously. For "sfw" by default chosen from the sample size.
    variant : {"default", "paper"}, default="default"
        Of "sfw" and "fw" over radii. "paper" is the method of Frandi and others (2015) to the letter: the warm start is
        always scaled to the new radius, only the sampled columns are looked at, all draws are independent (single
        columns by default), a step of length zero counts as a small one (the status ``zero_step``), and dot products
        are counted as there. By default the start is scaled only if that lowers the objective, active columns are
        looked at if a sample shows no descent, and draws go round.
    standardize : bool, default=False
        Scale the columns to a mean square of one, without a copy: as they are if there is no intercept, where
        glmnet takes the deviation from the mean. The norm ||b||_1 is then that of the scaled coefficients; the
        coefficients returned are for the columns as given.
    fit_intercept : bool, default=True
        Centre the columns and y, without a copy.
    random_state : int, RandomState or None
        Seed of the draws. The same seed gives the same path, for any number of threads.
    max_iter : int, default=10_000
        Iterations per point: steps, cycles of "cd" over whatever columns; of "certified", rounds of
        descent and Newton steps, those for other penalties on the way to the point included.
    time_limit : float, optional
        Seconds for the solver; then the points solved so far are returned.
    callback : callable, optional
        Called with a `Progress` between bursts of steps and after every point; returning True ends the path.
    certify : bool, default=True
        Compute the true duality gap of every point: one more pass over the data, or a few.
    n_threads : int, optional
        Threads for scans of large data. By default all cores this process may use.
    checkpoint : path, optional
        Folder that the path is saved in as it is computed, in three segments. If the process is killed, or the
        path ended early, the same call resumes from the last whole segment; the result is bit-identical to that of
        an uninterrupted call. Other data or settings are rejected. Each segment costs one to two extra passes.
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


class Context(NamedTuple):
    """What a path is solved with. Paths on parts of the samples share the data, the threads and what may end them."""

    data: Data | SummedTable
    options: Options  # for the shape of the data
    workers: Workers
    monitor: Monitor
    seconds: dict[str, float]
    stack: ExitStack  # closes what was opened, after the last path
    number: int = 0  # of the path among those that have the monitor in common
    seed: int = 0
    run: Checkpoint | None = None

    def begin(self, masks: Sequence[Mask] = ()) -> "list[Context]":
        """Draw the seed and open the runs; return what the path on all samples is solved with, and one on each mask."""
        options, seed = self.options, self.options.draw_seed()
        contexts = [self._replace(seed=seed)]
        contexts += [self._replace(seed=seed, seconds={}, number=k) for k in range(1, 1 + len(masks))]
        if options.checkpoint is not None:
            marks = self.data.fingerprint()
            folders = [Path(options.checkpoint), *(subset_folder(options.checkpoint, k) for k in range(len(masks)))]
            for k, folder in enumerate(folders):
                samples = {"samples": _describe(masks[k - 1])} if k > 0 else {}
                settings = {**options.run_record(), "seed": contexts[0].seed}
                opened = open_checkpoint(folder, settings, marks | samples, any_seed=options.random_state is None)
                run = self.stack.enter_context(opened)
                contexts[k] = contexts[k]._replace(run=run, seed=contexts[0].seed if k > 0 else run.seed)
        self.monitor.share(len(contexts))
        return contexts


def _describe(kept: Mask) -> str:
    """Return what tells a part of the samples from others."""
    return f"{np.count_nonzero(kept)} of {kept.size}, {zlib.crc32(np.packbits(kept).data):08x}"


@contextmanager
def solve_context(X: Any, y: Any, options: Options, *, for_parts: bool = False) -> Iterator[Context]:
    """Validate the data, and have threads and a monitor for the time of the context.

    `for_parts`: for paths on parts of the samples, too.
    """
    monitor = Monitor(options.time_limit, options.callback)
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(options.threads))
        stack.enter_context(monitor.guard())
        with timed(seconds, "setup"):
            data: Data | SummedTable
            if isinstance(X, SummedTable) and not for_parts:
                data = _as_summed(X, y, options)
            else:
                data = as_data(X, y, workers, options.feature_names)
        yield Context(data, options.for_shape(data.shape), workers, monitor, seconds, stack)


def _as_summed(table: SummedTable, y: Any, options: Options) -> SummedTable:
    """Check that a table without rows does for what is asked."""
    if y is not None:
        raise ValueError("y: X was summed together with its response; leave y out")
    if GRAM not in options.entry.routes:
        raise ValueError(f"solver={options.solver!r} looks at columns, but X was summed as it was read")
    names = options.feature_names
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"feature_names must be one for each of the {table.shape[1]} features of X, got {len(names)}")
    return table if names is None else table._replace(feature_names=tuple(names))


def solve_path(X: Any, y: Any, options: Options, start: Vector | None = None) -> LassoPath:
    """Compute the path that `options` ask for; see `lasso_path`. `start` are coefficients near its first point."""
    with solve_context(X, y, options) as context:
        with timed(context.seconds, "setup"):
            (whole,) = context.begin()
            problem = Problems(whole).whole(whole.workers)
        path = solve(whole, problem, start)
    return finish(path, context)


class Problems:
    """The problem on all samples, and one on each of some parts of them, as the route asks for it."""

    def __init__(self, context: Context, masks: Sequence[Mask] = ()) -> None:
        self._data, self._options, self._masks = context.data, context.options, masks
        self._units = self._options.fit_intercept, self._options.standardize
        self._grams: GramSubsets | None = None
        if isinstance(self._data, Data) and _route(self._options, self._data.design, len(masks) + 1) == GRAM:
            self._grams = GramSubsets(self._data, masks, *self._units, context.workers)

    def whole(self, workers: Workers) -> AnyProblem:
        """Return the problem on all samples, and warn if it has no model but the empty one."""
        problem: AnyProblem
        if isinstance(self._data, SummedTable):
            problem = self._data.problem(*self._units)
        elif self._grams is None:
            problem = self._by_columns(None, workers)
        else:
            problem = self._with_columns(self._grams.whole(), None)
        warn_of_empty_models(problem, self._data.origin.get("target"))
        return problem

    def part(self, number: int, workers: Workers) -> AnyProblem:
        """Return the problem on the samples of a mask."""
        kept = self._masks[number]
        if self._grams is None:
            return self._by_columns(kept, workers)
        return self._with_columns(self._grams.part(number), kept)

    def squared_errors(self, number: int, path: LassoPath) -> Vector | None:
        """Return mean squared errors on the samples that a mask leaves out, if inner products tell them well enough."""
        return None if self._grams is None else self._grams.squared_errors(number, path.scaled_coefs)

    def _by_columns(self, kept: Mask | None, workers: Workers) -> Problem:
        assert isinstance(self._data, Data)
        return build_problem(self._data.design, self._data.response, *self._units, workers, kept)

    def _with_columns(self, problem: GramProblem, kept: Mask | None) -> GramProblem:
        """Return a problem that can be turned into one on its columns, unless the way was asked for by name."""
        if WORKING_SET not in self._options.entry.routes:
            return problem
        return problem._replace(by_columns=partial(self._by_columns, kept))


def _route(options: Options, design: Design, n_matrices: int) -> str:
    """Return by which way a path is computed: the one asked for by name, or the one that is expected to be faster."""
    if len(options.entry.routes) == 1:
        return options.entry.routes[0]
    columns = design.columns
    m, p = shape(columns)
    n_stored = int(columns.indptr[-1]) if isinstance(columns, Csc) else m * p
    is_float64 = isinstance(columns, Dense) and columns.values.dtype == np.float64
    size, memory = (m, p, n_stored, options.n_points, options.tolerance), physical_memory()
    return choose_route(*size, eps=options.reach, is_float64=is_float64, memory=memory, n_folds=n_matrices).name


def solve(context: Context, problem: AnyProblem, start: Vector | None = None) -> LassoPath:
    """Compute the path that the options of a context ask for: its grid, its points and their gaps."""
    options, workers, run = context.options, context.workers, context.run
    with timed(context.seconds, "grid"):
        grid, cut = _find_grid(context, problem)
        penalties = list(map(L1 if options.grid_name == "alphas" else L1Ball, grid.values.tolist()))
        values = user_grid(options, grid.values, problem)
    with timed(context.seconds, "solve"):
        in_segments = run is not None or options.in_segments
        make, settings = options.entry.make, options.solver_settings(context.seed)
        solver = InSegments(make, settings, run) if in_segments and cut is None else make(settings)
        if problem.yy == 0.0:  # there is nothing to explain, and no radius is too large for that
            path = zero_path(len(penalties))
        else:
            guess = problem.from_user_units(start) if start is not None and solver.proves else None
            path = solver.solve(problem, penalties, guess, workers, _teller(context, problem, values))
        path = path._replace(ending=path.ending or cut)
    with timed(context.seconds, "certify"):
        check_columns(path, problem.shape[1])  # before any of these columns is read
        n_certified: list[int] = []  # points, by passes
        if not solver.proves:
            wanted = options.certify and path.ending is not Status.INTERRUPTED
            path, n_certified = certify(problem, penalties, path, workers, wanted)
        path = path.in_order()._replace(gaps=path.gaps / problem.null_loss)
        if options.grid_name == "radii":
            path = _beyond_float64(path, radius_excess(problem, options.grid, grid.values), options.tolerance)
    if run is not None and path.ending is None:
        run.mark_complete()
    known = {
        "seed": context.seed,
        # What gives this seed again; a generator goes on with every call, and no number stands for it.
        "random_state": int(options.random_state) if isinstance(options.random_state, Integral) else None,
        # Of an automatic grid, which `eps` gives the end of; values are not repeated, they are those of the points.
        "points": options.grid if isinstance(options.grid, int) and cut is None else None,
        "n_samples": problem.shape[0],
        "null_objective": null_objective(problem),  # what relative gaps are relative to
        "in_segments": in_segments,
        "route": GRAM if isinstance(problem, GramProblem) else options.entry.routes[-1],
        "conversion": context.data.conversion,
    }
    if options.objection is None and isinstance(problem, Problem):
        known |= level_facts(problem, options.size_rule)
    p, record = problem.shape[1], options.record()
    if draws_columns(record):
        known["first_sample"] = columns_to_draw(options.size_rule, p, n_active=0)
    counters = count(problem, path, options, grid.n_read, n_certified, context.seconds)
    return assemble(problem, path, options.grid_name, values, counters, {**record, **known})


def finish(path: LassoPath, context: Context) -> LassoPath:
    """Return a path with what is known of its data, and warn if it did not come to its end, or too easily."""
    warn_unless_converged(path, context.options)
    warn_of_small_samples(path, context.options)
    return label(path, context.data)


def _find_grid(context: Context, problem: AnyProblem) -> tuple[Grid, Status | None]:
    """Return the grid in the units of the solver, and what cut it short: the search for its end may take a while."""
    run, options = context.run, context.options
    if run is not None and run.grid is not None:
        return run.grid, None
    if options.grid_name == "alphas":
        grid = Grid(penalty_grid(problem, options.grid, options.ratio), 0)
    elif isinstance(options.grid, int):
        l1, n_read = _largest_radius(context, problem)
        grid = Grid(log_grid(options.ratio * l1, l1, options.grid), n_read)  # as in the paper
        cut = context.monitor.check()
        if cut is not None:
            return grid, cut
    else:
        grid = Grid(radius_grid(problem, options.grid), 0)
    if run is not None:
        run.save_grid(grid)
    return grid, None


def _largest_radius(context: Context, problem: AnyProblem) -> tuple[float, int]:
    """Return ||a||_1 of the penalized solution at eps lambda_max, and how many columns were read for it."""
    last = L1(context.options.ratio * problem.lambda_max)
    look = lambda *_, **__: context.monitor.check()  # noqa: E731
    solver = Certified(SolverSettings("gap", _RADIUS_GAP, _RADIUS_ROUNDS))
    (point,) = solver.solve(problem, [last], None, context.workers, look).points()
    l1 = point.solution.l1
    if not (np.isfinite(l1) and (l1 > 0.0 or problem.lambda_max == 0.0 or point.status.ends_path)):
        raise ValueError(
            "radii: no end was found for an automatic grid: rounding is larger than what the columns of X vary. "
            "Centre them, or give radii"
        )
    return l1, point.n_read


def user_grid(options: Options, values: Vector, problem: AnyProblem) -> Vector:
    """Return the grid as users have it, alphas or radii; `values` are penalties lambda = m alpha, or radii.

    What was given is kept to the last bit: m alpha / m is not always alpha.
    """
    return user_values(problem, options.grid_name, values) if isinstance(options.grid, int) else options.grid


def _beyond_float64(path: SolvedPath, excess: Vector, tol: float) -> SolvedPath:
    """Return points with gaps for the radii asked for: in the units of the solver they may be beyond float64."""
    gaps = path.gaps * excess[: path.gaps.size]
    is_open = ((excess[: gaps.size] > 1.0) & (gaps > tol)).tolist()
    statuses = [Status.PRECISION if still else status for still, status in zip(is_open, path.statuses, strict=True)]
    return path._replace(gaps=gaps, statuses=tuple(statuses))


def _teller(context: Context, problem: AnyProblem, values: Vector) -> Tell:
    """Return what tells the callback, if there is one, where the path is."""
    monitor = context.monitor

    def tell(point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
        if not monitor.has_callback:
            return monitor.check()
        counts = {"n_points": values.size, "n_active": n_active, "n_iter": n_iter}
        parameter, gap = float(values[point]), gap / problem.null_loss
        where = Progress(point, parameter=parameter, gap=gap, seconds=monitor.seconds, done=done, **counts)
        return monitor.report(where, context.number)

    return tell

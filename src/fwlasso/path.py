"""The path: from what users have to a `LassoPath`, by warm starts along a grid."""

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from . import corrective
from . import iterate as iterates
from .certificate import gap_of, max_correlations, residual
from .columns import Design, Vector, as_design
from .forms import Ball, Form, Penalty
from .grid import penalty_grid, radius_grid
from .iterate import Iterate
from .options import Options
from .parallel import Workers
from .problem import Problem, as_response, build_problem
from .result import Counters, LassoPath
from .solvers.run import Outcome, Solver, Stopping, run
from .status import Status
from .store import as_store
from .watch import Callback, Progress, Watch

# A sample without descent is drawn again: for the paper's rule up to this many times in a row.
_MAX_IDLE = 3
# Accuracy of the solution that ends an automatic grid of radii.
_RADIUS_GAP = 1e-6
# Memory for the residuals that are priced together in one pass over the data, in bytes.
_RESIDUAL_BYTES = 64 << 20


def lasso_path(
    X: Any,
    y: Any = None,
    *,
    alphas: Any = None,
    radii: Any = None,
    eps: float = 1e-2,
    solver: str = "corrective",
    stop: Literal["gap", "change", "paper"] | None = None,
    tol: float | None = None,
    sample_size: Any = None,
    block_size: int | None = None,
    standardize: bool = False,
    fit_intercept: bool = True,
    random_state: Any = None,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    callback: Callback | None = None,
    certify: bool = True,
    n_threads: int | None = None,
) -> LassoPath:
    """Compute a Lasso path.

    Over radii, min 1/(2m) ||y - X b - b0||^2 subject to ||b||_1 <= radius; over alphas, scikit-learn's
    min 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1. Points are solved from the sparsest on, each from the one before.

    Parameters
    ----------
    X : array, sparse matrix, pandas, polars or pyarrow table, or Genotypes, of shape (n_samples, n_features), or store
        Column-major arrays and CSC matrices of float64 or float32, and the packed genotypes of
        `fwlasso.datasets.open_bed`, are used where they lie; anything else is copied once. A store, open or as the path
        of its folder, is read from the disk: it may be larger than memory.
    y : array of shape (n_samples,)
        By default that of the store.
    alphas, radii : int or array, optional
        The grid, one of the two: a number of points, or values. An automatic alpha grid goes from the smallest
        alpha with a zero solution down to `eps` times that. An automatic radius grid ends at the l1 norm of the
        solution for that last alpha and starts at `eps` times it. By default 100 points, radii for the Frank-Wolfe
        solvers and "apg-ball", else alphas.
    eps : float, default=1e-2
        Ratio of the ends of an automatic grid.
    solver : str, default="corrective"
        "corrective" is the certified path: exact solutions on a working set, interpolation between them, and a
        duality gap over all columns for every point at the cost of some 15 passes over the data. "sfw" is
        stochastic Frank-Wolfe, "fw" deterministic Frank-Wolfe. These solve both forms.
        Over radii only: "afw" and "pfw", Frank-Wolfe with away steps and with pairwise steps; "apg-ball", accelerated
        projected gradient. Over alphas only: "cd", cyclic coordinate descent with the strong rule; "scd", stochastic
        coordinate descent; "apg", accelerated proximal gradient.
    stop : {"gap", "change", "paper"}, optional
        When a point is done. "gap": the duality gap over all columns is at most tol / 2 ||y||^2: a proof. "change": a
        step changes no coefficient by more than tol ||y|| / (root mean square of the column norms). "paper": by more
        than tol, in absolute terms. The last two are weak evidence of a solution. By default "change" for "sfw" and
        "fw", and "gap" for the others; "corrective" has no other.
    tol : float, optional
        By default 1e-4 for "gap" and 1e-3 for the other rules.
    sample_size : int, float, rule or None
        How many columns a step of "sfw" looks at: a number, a share of all, or a rule such as `QuantileRule`. By
        default 1 % of the columns, at least 194.
    block_size : int, optional
        Neighbouring columns drawn together. 1 is the paper's sampling; larger blocks are faster, since memory is
        read in a row. By default chosen from the sample size.
    standardize : bool, default=False
        Scale the columns to a mean square of one, without a copy. The norm ||b||_1 is then that of the scaled
        coefficients; the coefficients returned are for the columns as given.
    fit_intercept : bool, default=True
        Centre the columns and y, without a copy.
    random_state : int, RandomState or None
        Seed of the draws. The same seed gives the same path, for any number of threads.
    max_iter : int, default=10_000
        Iterations per point: steps, cycles of "cd" over whatever columns, epochs of p draws of "scd"; of "corrective",
        rounds of descent and Newton steps per solution.
    time_limit : float, optional
        Seconds for the solver; then the points solved so far are returned.
    callback : callable, optional
        Called with a `Progress` between bursts of steps and after every point; returning True ends the path.
    certify : bool, default=True
        Compute the true duality gap of every point: one more pass over the data, or a few.
    n_threads : int, optional
        Threads for scans of large data. By default all cores this process may use.

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
    options = Options(
        alphas, radii, eps, solver, stop, tol, sample_size, block_size, standardize, fit_intercept, random_state,
        max_iter, time_limit, callback, certify, n_threads,
    )  # fmt: skip
    return solve_path(X, y, options)


def solve_path(X: Any, y: Any, options: Options, start: Vector | None = None) -> LassoPath:
    """Compute the path that `options` ask for; see `lasso_path`. `start` are coefficients near its first point."""
    watch = Watch(options.time_limit, options.callback)
    seconds: dict[str, float] = {}
    with Workers(options.threads) as workers, watch.guard():
        with _timed(seconds, "setup"):
            design, response = as_data(X, y)
        path = path_on(design, response, options, options.draw_seed(), workers, watch, seconds, start=start)
    warn_unless_converged(path, options)
    return path


def path_on(
    design: Design,
    response: Vector,
    options: Options,
    seed: int,
    workers: Workers,
    watch: Watch,
    seconds: dict[str, float],
    *,
    kept: NDArray[np.bool_] | None = None,
    start: Vector | None = None,
) -> LassoPath:
    """Compute a path on validated data: on all samples, or on those that are `kept`."""
    with _timed(seconds, "setup"):
        problem = build_problem(design, response, options.fit_intercept, options.standardize, workers, kept)
    with _timed(seconds, "grid"):
        forms, n_grid_priced = _forms(problem, options, workers, watch)
        # A grid of radii whose end was not found is cut short, too.
        cut = watch.look() if isinstance(options.grid, int) and options.grid_name == "radii" else None
    with _timed(seconds, "solve"):
        outcomes, ending = _solve(problem, forms, options, seed, start, workers, watch)
        ending = ending or cut
    with _timed(seconds, "certify"):
        wanted = options.certify and ending is not Status.INTERRUPTED
        known = [outcome.status is Status.CERTIFIED or options.entry.make is None for outcome in outcomes]
        gaps, n_passes = _certify(problem, forms, outcomes, np.array(known), workers, wanted)

    p = problem.xty.size
    n_dots = p + sum(outcome.n_dots for outcome in outcomes)
    n_priced = p + n_grid_priced + sum(outcome.n_priced for outcome in outcomes)
    iterations = np.array([outcome.n_iter for outcome in outcomes])
    counters = Counters(iterations, n_dots, n_priced / p + n_passes, seconds)
    settings = {
        **options.record(),
        "seed": seed,
        # What gives this seed again; a generator goes on with every call, and no number stands for it.
        "random_state": int(options.random_state) if isinstance(options.random_state, Integral) else None,
        "n_samples": problem.shape[0],
        "conversion": design.conversion,
    }
    return _assemble(problem, design, forms, outcomes, gaps, ending, counters, settings)


def as_data(X: Any, y: Any) -> tuple[Design, Vector]:
    """Return X and y validated; of a store, with its names, and its response where none is given."""
    store = as_store(X)
    if store is None:
        design = as_design(X)
    else:
        design, y = as_design(store.X)._replace(feature_names=store.feature_names), store.y if y is None else y
    return design, as_response(y, design.n_samples)


@contextmanager
def _timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - started


def _forms(problem: Problem, options: Options, workers: Workers, watch: Watch) -> tuple[list[Form], int]:
    """Return the problems of the path, from the sparsest on, and how many columns were priced to find them."""
    if options.grid_name == "alphas":
        return [Penalty(float(weight)) for weight in penalty_grid(problem, options.grid, options.eps)], 0
    n_priced = 0

    def largest_radius() -> float:
        """Return ||a||_1 of the penalized solution at eps lambda_max."""
        nonlocal n_priced
        last = Penalty(options.eps * problem.lambda_max)
        look = lambda *_, **__: watch.look()  # noqa: E731
        (outcome,), _ = corrective.follow(problem, [last], _RADIUS_GAP * 0.5 * problem.yy, 1000, workers, look)
        n_priced = outcome.n_priced
        return outcome.iterate.l1

    radii = radius_grid(options.grid, options.eps, largest_radius)
    return [Ball(float(radius)) for radius in radii], n_priced


def _solve(
    problem: Problem,
    forms: list[Form],
    options: Options,
    seed: int,
    start: Vector | None,
    workers: Workers,
    watch: Watch,
) -> tuple[list[Outcome], Status | None]:
    """Solve the points by the solver asked for; return them, and what ended the path early, if anything did."""
    tell = partial(_tell, watch, problem, forms)
    if options.entry.make is None:
        goal = options.tolerance * 0.5 * problem.yy
        guess = None if start is None else problem.from_user_units(start)
        return corrective.follow(problem, forms, goal, options.max_iter, workers, tell, guess)
    solver = options.entry.make(options.draws(seed))
    return _follow(solver, problem, forms, _stopping(problem, options, solver), options.max_iter, workers, tell)


def _stopping(problem: Problem, options: Options, solver: Solver) -> Stopping:
    """Return the absolute thresholds of the stopping rule.

    Where no sample brings descent, a point ends after as many draws as it takes to look at all columns once.
    """
    n_columns = solver.columns_per_step(problem, iterates.zero(problem))
    max_idle = math.ceil(problem.xty.size / n_columns)
    if options.rule == "gap":
        return Stopping(-1.0, options.tolerance * 0.5 * problem.yy, max_idle)
    if options.rule == "paper":
        return Stopping(options.tolerance, -1.0, min(_MAX_IDLE, max_idle))
    # A coefficient is measured in units of y over units of a column.
    n_varying = np.count_nonzero(problem.norms2)
    column_norm2 = problem.norms2.sum() / n_varying if n_varying else 1.0
    return Stopping(options.tolerance * float(np.sqrt(problem.yy / column_norm2)), -1.0, max_idle)


def _follow(
    solver: Solver,
    problem: Problem,
    forms: list[Form],
    stopping: Stopping,
    max_iter: int,
    workers: Workers,
    tell: corrective.Tell,
) -> tuple[list[Outcome], Status | None]:
    """Solve the points one after the other; return them, and what ended the path early, if anything did.

    An unfinished point is left out, unless it is the first: there is always an answer.
    """
    outcomes: list[Outcome] = []
    iterate = iterates.zero(problem)
    for point, form in enumerate(forms):
        watch = partial(tell, point, done=False)
        outcome = run(solver, problem, form, iterate, stopping, max_iter, workers, watch)
        if outcome.status.ends_path:
            return outcomes or [outcome], outcome.status
        iterate = outcome.iterate
        outcomes.append(outcome._replace(iterate=iterate.copy()))  # the next point goes on in the same arrays
        ending = tell(point, iterate, outcome.n_iter, outcome.gap, done=True)
        if ending is not None and point + 1 < len(forms):
            return outcomes, ending
    return outcomes, None


def _tell(
    watch: Watch,
    problem: Problem,
    forms: list[Form],
    point: int,
    iterate: Iterate,
    n_iter: int,
    gap: float,
    *,
    done: bool,
) -> Status | None:
    """Tell the callback, if there is one, where the path is."""
    if not watch.is_told:
        return watch.look()
    m, _ = problem.shape
    form = forms[point]
    parameter = form.radius if isinstance(form, Ball) else form.weight / m
    n_active = int(np.count_nonzero(iterate.weights[: iterate.n_active]))
    now = Progress(point, len(forms), parameter, n_active, n_iter, gap / problem.null_loss, watch.seconds, done)
    return watch.tell(now)


def _certify(
    problem: Problem,
    forms: list[Form],
    outcomes: list[Outcome],
    known: NDArray[np.bool_],
    workers: Workers,
    price_all: bool,
) -> tuple[Vector, int]:
    """Return the relative gap of every point over all columns, and the passes over the data it took.

    Where the solver's gap is `known` to be over all columns, it is taken at its word; the other points are priced,
    many at a time, or are NaN.
    """
    gaps = np.where(known, [outcome.gap for outcome in outcomes], np.nan)
    todo = np.flatnonzero(~known).tolist() if price_all else []
    n_together = max(1, _RESIDUAL_BYTES // problem.y.nbytes)
    batches = [todo[k : k + n_together] for k in range(0, len(todo), n_together)]
    for batch in batches:
        residuals = np.empty((len(batch), problem.y.size))
        exact = []
        for row, k in zip(residuals, batch, strict=True):
            row[:] = 0.0
            exact.append(iterates.refresh(problem, outcomes[k].iterate._replace(fitted=row)))
            row[:] = residual(problem, exact[-1])
        for k, iterate, max_corr in zip(batch, exact, max_correlations(problem.X, residuals, workers), strict=True):
            gaps[k] = gap_of(problem, forms[k], iterate, max_corr)
    return gaps / problem.null_loss, len(batches)


def _assemble(
    problem: Problem,
    design: Design,
    forms: list[Form],
    outcomes: list[Outcome],
    gaps: Vector,
    ending: Status | None,
    counters: Counters,
    settings: dict[str, Any],
) -> LassoPath:
    """Put the points together, in the user's units."""
    m, p = problem.shape
    points = [outcome.iterate for outcome in outcomes]
    qq, qy, l1 = np.array([(it.qq, it.qy, it.l1) for it in points]).T
    loss = np.array([iterates.objective(problem, it) for it in points])
    grid = np.array([parameter for (parameter,) in forms[: len(points)]])
    if isinstance(forms[0], Ball):
        radii = grid
        # At the solution every active column has |z_j'(y - q)| = lambda, so a'X'(y - q) = F - S = lambda ||a||_1.
        alphas = np.divide(qy - qq, m * l1, out=np.full(l1.size, problem.lambda_max / m), where=l1 > 0.0)
    else:
        radii, alphas = l1, grid / m
    supports = [it.coefs() for it in points]
    in_user_units = [problem.to_user_units(*support) for support in supports]
    indptr = np.concatenate([[0], np.cumsum([active.size for active, _ in supports])])
    indices = np.concatenate([active for active, _ in supports])
    coefs, scaled_coefs = (
        sp.csc_array((np.concatenate(values), indices, indptr), shape=(p, len(points)))
        for values in ([coefs for coefs, _ in in_user_units], [weights for _, weights in supports])
    )
    return LassoPath(
        alphas=alphas,
        radii=radii,
        coefs=coefs,
        scaled_coefs=scaled_coefs,
        intercepts=np.array([intercept for _, intercept in in_user_units]),
        gaps=gaps,
        r2=(0.5 * problem.yy - loss) / problem.null_loss,
        statuses=tuple(outcome.status for outcome in outcomes),
        ending=ending,
        counters=counters,
        feature_names=design.feature_names,
        settings=settings,
    )


def warn_unless_converged(path: LassoPath, options: Options) -> None:
    """Warn with gap, tolerance and remedy where a point or the path did not come to its end."""
    certified = options.rule == "gap"
    unfinished = [s for s in path.statuses if not (s is Status.CERTIFIED if certified else s.converged)]
    if not unfinished and path.ending is None:
        return
    if path.ending is not None:
        what = f"The path has {len(path)} of {options.n_points} points. {path.ending.sentence}"
    else:
        asked = f"stop={options.rule!r}, tol={options.tolerance:g}"
        what = f"{len(unfinished)} of {len(path)} points did not meet {asked}. {unfinished[0].sentence}"
    gap = "" if np.isnan(path.gaps).all() else f" The largest relative duality gap is {np.nanmax(path.gaps):.2e}."
    warnings.warn(what + gap, ConvergenceWarning, stacklevel=4)

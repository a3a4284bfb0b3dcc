"""The path: from what users have to a `LassoPath`, by warm starts along a grid."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ._core.columns import Vector
from ._core.compiling import timed
from ._core.penalties import L1, L1Ball
from ._core.problem import Problem
from ._core.threads import Workers, resolve_threads
from .assembly import assemble, beyond_float64, certify, count, up_to, warn_unless_converged
from .checkpoints.folder import Checkpoint, open_checkpoint, subset_folder
from .checkpoints.segments import InSegments
from .data.checks import as_random_state, numpy_defaults
from .data.design import arrays_of, described
from .data.elsewhere import remote_of
from .data.fingerprint import MappedFiles
from .data.inputs import Data, as_data
from .data.keywords import explain_unknown
from .data.terms import PLAIN, Terms
from .gram.problem import AnyProblem, GramProblem
from .gram.summed import SummedTable
from .monitor import Callback, Monitor, told_of_size
from .options import Options
from .problem.certificate import is_null
from .problem.grid import null_objective, radius_excess, user_values
from .problem.points import Traffic, zero_path
from .problem.route import GRAM
from .problems import Part, Problems, as_summed, find_grid
from .result import LassoPath
from .status import Status


# So many parameters: whatever users of glmnet and scikit-learn ask of a path is one keyword.
@explain_unknown()
def lasso_path(
    X: Any,
    y: Any = None,
    *,
    alphas: Any = None,
    radii: Any = None,
    eps: float | None = None,
    loss: str = Options.loss,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    l1_ratio: float = Options.l1_ratio,
    ridge: float = Options.ridge,
    positive: bool = False,
    lower: Any = None,
    upper: Any = None,
    penalty_factor: Any = None,
    unpenalized: Any = None,
    max_active: int | None = None,
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
    min 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1. With sample weights w, of sum W, an offset o, an elastic net, penalty
    factors v and bounds it is::

        min 1/(2W) sum_i w_i (y_i - o_i - x_i'b - b0)^2
            + sum_j v_j (alpha l1_ratio |b_j| + 1/2 (alpha (1 - l1_ratio) + ridge) b_j^2),   lower_j <= b_j <= upper_j.

    With ``loss="logistic"`` or ``"poisson"``, the terms of samples are log(1 + e^eta_i) - y_i eta_i, or
    e^eta_i - y_i eta_i, with eta_i = o_i + x_i'b + b0, in place of squares.
    Points are solved from the sparsest on, each from the one before.
    Unlike scikit-learn's function of this name it fits an intercept, and returns an object in place of a tuple; that is
    `Lasso.path`.

    Parameters
    ----------
    X : array, sparse matrix, pandas, polars or pyarrow table, or Genotypes, of shape (n_samples, n_features), or store
        Column-major arrays and CSC matrices of float64 or float32, and the packed genotypes of
        `fwlasso.datasets.open_bed`, are used in place, without a copy; anything else is copied once. A store, open or
        as the path of its folder, is read from the disk and may be larger than memory. For tall files: `sum_table`.
    y : array of shape (n_samples,)
        By default that of the store, or of the `fwlasso.datasets.Table` that X is. For two classes any labels.
    sample_weight : array of shape (n_samples,), optional
        Weights >= 0: whole numbers are repetitions, zero leaves a sample out. Only their ratios matter.
    offset : array of shape (n_samples,), optional
        A part of every linear predictor that is known. `predict` then needs the offset of new rows.
    alphas, radii : int or array, optional
        The grid, one of the two: a number of points, or values. An automatic alpha grid goes from the smallest
        alpha with a zero solution down to `eps` times that. An automatic radius grid ends at the l1 norm of the
        solution for that last alpha and starts at `eps` times it. By default 100 points, radii for the Frank-Wolfe
        solvers, else alphas.
    eps : float, optional
        Ratio of the ends of an automatic grid. By default 1e-2 if there are more features than samples, else 1e-4.
    strata : array of shape (n_samples,), optional
        Labels of groups with hazards of their own, of "cox".
    loss : {"squared", "logistic", "poisson", "cox"}, default="squared"
        "logistic" is for two classes, "poisson" for counts, with weights, an offset and positive penalty factors: over
        alphas on the working-set route of "certified", over both forms by "sfw" and "fw". Gaps are relative to half the
        null deviance. "cox" is for survival data, times and events as the columns of y, over alphas by "certified".
    l1_ratio : float, default=1.0
        Of an elastic net over alphas, as in scikit-learn: 1 is the Lasso; the rest of the penalty is quadratic.
    ridge : float, default=0.0
        A quadratic penalty that is the same for all points, over alphas or radii, in place of `l1_ratio`.
    positive : bool, default=False
        Coefficients are nonnegative.
    lower, upper : float, array or mapping, optional
        Bounds of coefficients, with zero between them, over alphas: numbers, or a mapping of names, patterns such as
        ``"gene*"`` and places of columns to numbers; columns that it does not name have none.
    penalty_factor : array or mapping, optional
        What the penalty of a column is multiplied by; infinity leaves a column out, 0 is no penalty. One where a
        mapping has none. Not rescaled to a mean of one, as in glmnet.
    unpenalized : sequence, optional
        Names, patterns and places of columns that have no penalty.
    max_active : int, optional
        The path ends before the first point with more active columns, those without a penalty not counted.
    solver : str, default="certified"
        "certified" is the certified path: exact solutions, interpolation between them, and a duality gap over all
        columns for every point. It takes one of two routes, recorded in ``settings["route"]``: "gram", one pass over
        the rows and a path on the Gram matrix of all columns, or "working-set", about 15 passes over the columns.
        Either name selects that route. "sfw" is stochastic Frank-Wolfe, "fw" deterministic Frank-Wolfe. These solve
        both forms. Over radii only: "afw" and "pfw", Frank-Wolfe with away steps and with pairwise steps. Over alphas
        only: "cd", cyclic coordinate descent with the strong rule.
    stop : {"gap", "change", "paper"}, optional
        When a point is done. "gap": the duality gap over all columns is at most tol / 2 ||y||^2: a proof. "change": a
        step changes no coefficient by more than tol ||y|| / (root mean square of the column norms). "paper": by more
        than tol, in absolute terms. These two are weak evidence of a solution. By default "change" for "sfw" and "fw",
        and "gap" for the others; "certified" has no other.
    tol : float, optional
        By default 1e-4 for "gap", and 1e-3 for the other rules.
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
        path ended early, the same call resumes from the last whole segment; for the same code and processor the result
        is bit-identical to that of an uninterrupted call. Other data or settings are rejected. Each segment costs one
        to two extra passes.
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
    samples = {name: given.pop(name) for name in SAMPLE_ARGUMENTS}
    return solve_path(given.pop("X"), given.pop("y"), Options(**given), **samples)


#: Numbers by sample, beside y.
SAMPLE_ARGUMENTS = "sample_weight", "offset", "strata"


class Summable(ABC):
    """Rows elsewhere that are summed up when a path begins, and its clock runs."""

    traffic = Traffic()

    @abstractmethod
    def sum_up(self, monitor: Monitor) -> SummedTable:
        """Return the table that the rows make."""

    @abstractmethod
    def cross_validate(self, asked: Sequence[Options], selection: Any) -> Any:
        """Return what `selection.cross_validation.cross_validate` does, with the sums of all folds made in one pass."""


class Context(NamedTuple):
    """What a path is solved with. Paths on parts of the samples share the data, the threads and what may end them."""

    data: Data | SummedTable
    options: Options
    terms: Terms
    workers: Workers
    monitor: Monitor
    seconds: dict[str, float]
    stack: ExitStack  # closes what was opened, after the last path
    number: int = 0  # of the path among those that have the monitor in common
    seed: int = 0
    run: Checkpoint | None = None
    files: MappedFiles = MappedFiles()
    elsewhere: Any = None  # who has rows or columns on a cluster, and counts what travels

    def asked(self, options: Options) -> "Context":
        """Return the same data and threads with other options."""
        own = getattr(described(self.data.X), "unpenalized", ()) if isinstance(self.data, Data) else ()
        if len(own) and not isinstance(options.unpenalized, str):  # covariates of genotypes
            options = replace(
                options, unpenalized=[*own, *(() if options.unpenalized is None else options.unpenalized)]
            )
        terms = options.terms(self.data.shape[1], self.data.feature_names) if options.asked_of_columns else PLAIN
        return self._replace(options=options, terms=terms, seconds={})

    def begin(self, masks: Sequence[Part] = ()) -> "list[Context]":
        """Draw the seed and open the runs; return what the path on all samples is solved with, and one on each mask."""
        options = self.options
        seed = int(as_random_state(options.random_state).randint(np.iinfo(np.int32).max))
        contexts = [self._replace(seed=seed)]
        contexts += [self._replace(seed=seed, seconds={}, number=self.number + k) for k in range(1, 1 + len(masks))]
        if options.checkpoint is not None:
            marks = self.data.fingerprint() | self.terms.fingerprint()
            folders = [Path(options.checkpoint), *(subset_folder(options.checkpoint, k) for k in range(len(masks)))]
            for k, folder in enumerate(folders):
                samples = {"samples": _describe(masks[k - 1])} if k > 0 else {}
                asked = options.run_record() | {"eps": options.ratio(self.data.shape)}
                settings = {**asked, "seed": contexts[0].seed}
                opened = open_checkpoint(folder, settings, marks | samples, any_seed=options.random_state is None)
                run = self.stack.enter_context(opened)
                contexts[k] = contexts[k]._replace(run=run, seed=contexts[0].seed if k > 0 else run.seed)
        return contexts


def _describe(kept: Part) -> str:
    """Return what tells a part of the samples from others."""
    bits = np.packbits(kept) if kept.dtype == np.bool_ else kept
    return f"{np.count_nonzero(kept)} of {kept.size}, {zlib.crc32(bits.data):08x}"


@contextmanager
def solve_context(X: Any, y: Any, options: Options, *, for_parts: bool = False, **samples: Any) -> Iterator[Context]:
    """Validate the data, and have threads and a monitor for the time of the context.

    `for_parts`: for paths on parts of the samples, too. `samples` are the `SAMPLE_ARGUMENTS`.
    """
    monitor = Monitor(options.time_limit, options.callback)
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        stack.enter_context(numpy_defaults())
        workers = stack.enter_context(Workers(resolve_threads(options.n_threads)))
        stack.enter_context(monitor.guard())
        with timed(seconds, "setup"):
            data: Data | SummedTable
            elsewhere: Any = X if isinstance(X, Summable) else None
            X = X if elsewhere is None else elsewhere.sum_up(monitor)
            if isinstance(X, SummedTable) and not for_parts:
                data = as_summed(X, y, options, **samples)
            else:
                data = as_data(X, y, workers, options.feature_names, loss=options.loss, **samples)
        if isinstance(data, Data) and (elsewhere := remote_of(data.design.columns)) is not None:
            elsewhere.begin(monitor.look)
            stack.callback(elsewhere.end)
        arrays = (*arrays_of(data.design.columns).values(), data.response) if isinstance(data, Data) else ()
        files = MappedFiles(*arrays)
        context = Context(
            data, options, PLAIN, workers, monitor, seconds, stack=stack, files=files, elsewhere=elsewhere
        )
        yield context.asked(options)._replace(seconds=seconds)


def solve_path(X: Any, y: Any, options: Options, start: Vector | None = None, **samples: Any) -> LassoPath:
    """Compute the path that `options` ask for; see `lasso_path`. `start` are coefficients near its first point."""
    with solve_context(X, y, options, **samples) as context:
        with timed(context.seconds, "setup"):
            (whole,) = context.begin()
            problem = Problems(whole.data, options, whole.workers, terms=whole.terms).whole(whole.workers)
        path = solve(whole, problem, start)
    warn_unless_converged(path, options)
    return path


def solve(context: Context, problem: AnyProblem, start: Vector | None = None) -> LassoPath:
    """Compute the path that the options of a context ask for: its grid, its points and their gaps."""
    data, options, workers, run = context.data, context.options, context.workers, context.run
    ratio = options.ratio(data.shape)
    with timed(context.seconds, "grid"):
        grid, cut = find_grid(problem, options, ratio, workers, context.monitor, run)
        penalties = list(map(L1 if options.grid_name == "alphas" else L1Ball, grid.values.tolist()))
        # What was given is kept to the last bit: m alpha / m is not always alpha.
        asked = options.grid
        values = user_values(problem, options.grid_name, grid.values) if isinstance(asked, int) else asked
    with timed(context.seconds, "solve"):
        in_segments = run is not None or options.in_segments
        # Nobody recomputes the gaps of a fold: its points may be proved by dual points that are not kept.
        make, settings = options.entry.make, options.solver_settings(context.seed, polish=context.number == 0)
        solver = InSegments(make, settings, run) if in_segments and cut is None else make(settings)
        # There is nothing to explain, or nothing to do it with, and no radius is too large for that.
        if problem.yy == 0.0 or (problem.lambda_max <= 0.0 and isinstance(problem, Problem) and is_null(problem)):
            path = zero_path(len(penalties), getattr(problem, "loss_of_null", 0.0) if problem.yy > 0.0 else 0.0)
        else:
            guess = problem.from_user_units(start) if start is not None and solver.proves else None
            tell = context.monitor.teller(values, problem.null_loss, context.number)
            if options.max_active is not None:
                n_most = options.max_active + context.terms.unpenalized.size
                path = up_to(n_most, solver.solve(problem, penalties, guess, workers, told_of_size(tell, n_most)))
            else:
                path = solver.solve(problem, penalties, guess, workers, tell)
        path = path._replace(ending=path.ending or cut)
    with timed(context.seconds, "certify"):
        wanted = options.certify and path.ending is not Status.INTERRUPTED
        path, n_certified = certify(problem, penalties, path, workers, proves=solver.proves, wanted=wanted)
        if options.grid_name == "radii":
            path = beyond_float64(path, radius_excess(problem, asked, grid.values), options.tolerance)
    if context.files.were_altered():
        path = path._replace(gaps=np.full_like(path.gaps, np.nan), statuses=(Status.ALTERED,) * len(path.statuses))
    elif run is not None and (path.ending is None or path.ending.is_complete):
        run.mark_complete()
    known = {
        "seed": context.seed,
        # What gives this seed again; a generator goes on with every call, and no number stands for it.
        "random_state": int(options.random_state) if isinstance(options.random_state, Integral) else None,
        # Of an automatic grid, which `eps` gives the end of; values are not repeated, they are those of the points.
        "points": asked if isinstance(asked, int) and cut is None else None,
        "n_samples": problem.shape[0],
        "null_objective": null_objective(problem),  # what relative gaps are relative to
        "in_segments": in_segments,
        "route": GRAM if isinstance(problem, GramProblem) else options.entry.routes[-1],
        "conversion": data.design.conversion if isinstance(data, Data) else None,
    }
    if isinstance(data, Data) and data.design.frame is not None:
        known["frame"] = data.design.frame
    if isinstance(data, Data) and not (data.weights is data.offset is None):
        known |= {"is_weighted": data.weights is not None, "has_offset": data.offset is not None}
    if isinstance(data, Data) and data.weights is not None and (data.weights % 1.0 == 0.0).all():
        known["n_repeated"] = float(problem.total_weight)  # samples, counted as often as they are there
    if context.terms is not PLAIN:
        known |= context.terms.facts(data.feature_names)
    known |= options.entry.facts(problem, settings)
    counters = count(problem, path, options, grid.n_read, n_certified, context.seconds)
    if context.elsewhere is not None:
        counters = replace(counters, traffic=context.elsewhere.traffic)
    record = {**options.record(), "eps": ratio, **known, **data.origin}
    return assemble(problem, path, {options.grid_name: values}, counters, record, data)

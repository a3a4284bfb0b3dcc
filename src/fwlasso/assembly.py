"""From solved points to a `LassoPath`: certificates over all columns, the user's units, and a word on its ending."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._core.columns import Vector
from ._core.costs import clip, curvatures, has_ridge
from ._core.iterate import at
from ._core.losses import has_diagonal, is_quadratic
from ._core.notices import warn_of_doubt, warn_of_ending
from ._core.penalties import Penalty
from ._core.problem import Problem
from ._core.threads import Workers
from ._core.transform import in_user_units
from .certified.objectives import certify_points
from .data.design import described
from .data.elsewhere import remote_of
from .data.inputs import Data
from .gram.problem import AnyProblem
from .gram.summed import SummedTable
from .options import Options
from .problem.certificate import altered, refuse_altered_columns
from .problem.grid import user_values
from .problem.points import Counters, SolvedPath, plus
from .result import LassoPath
from .solvers.sample_size import FixedSize, FractionOfColumns, QuantileRule
from .status import Status, unfinished_points

# Memory for fitted values, and as much for residuals, that are multiplied by all columns in one pass, in bytes.
_RESIDUAL_BYTES = 32 << 20
# If lambda = 0, a dual point r / max(1, ||X'r||_inf / lambda) is zero, and the gap is the loss: no tolerance helps.
_LEAST_SQUARES = (
    "alpha=0 is least squares, for which a gap proves nothing: use a small alpha, or "
    "sklearn.linear_model.LinearRegression."
)


def certify(
    problem: AnyProblem, penalties: list[Penalty], path: SolvedPath, workers: Workers, *, proves: bool, wanted: bool
) -> tuple[SolvedPath, list[int]]:
    """Return points in order with relative gaps, and how many of them every pass over the data was made for.

    The gaps of a solver that `proves` are over all columns. Of another one those of certified points are; the others
    get gaps over all columns, many at a time, if these are `wanted`, or NaN. Compiled code is not taken at its word:
    -1 is no column.
    """
    columns, p = path.columns, problem.shape[1]
    if columns.size and not 0 <= columns.min() <= columns.max() < p:
        raise RuntimeError(f"a solver has returned a column outside 0..{p - 1}: a bug of fwlasso")
    if isinstance(problem, Problem) and not np.isfinite(path.sums).all():  # columns were finite in the first pass
        if remote_of(problem.X) is not None:
            raise altered()
        refuse_altered_columns(problem.X, problem.y.size - 1, workers)
    if proves:
        return path.in_order()._replace(gaps=path.gaps / problem.null_loss), []
    assert isinstance(problem, Problem)
    known = np.array([status is Status.CERTIFIED for status in path.statuses])
    gaps = np.where(known, path.gaps, np.nan)
    todo = np.flatnonzero(~known).tolist() if wanted else []
    n_together = max(1, _RESIDUAL_BYTES // problem.y.nbytes)
    batches = [todo[k : k + n_together] for k in range(0, len(todo), n_together)]
    for batch in batches:
        fresh = [at(problem, *path.support(k)) for k in batch]
        claims = certify_points(problem, [penalties[k] for k in batch], fresh, workers)
        gaps[batch] = [claim.gap for claim in claims]
    return path.in_order()._replace(gaps=gaps / problem.null_loss), list(map(len, batches))


def assemble(
    problem: AnyProblem,
    path: SolvedPath,
    grid: dict[str, Vector],
    counters: Counters,
    settings: dict[str, Any],
    data: Data | SummedTable,
) -> LassoPath:
    """Put the points together, in the user's units; `grid` has them already, by its name, and gaps are relative."""
    qq, qy, l1, constants = path.sums.T
    null_loss = problem.null_loss if problem.yy > 0.0 else 0.0
    is_squared = not isinstance(problem, Problem) or is_quadratic(problem.loss)
    loss = 0.5 * problem.yy + 0.5 * qq - qy if is_squared else qq
    ((grid_name, values),) = grid.items()
    values = values[: l1.size]
    if grid_name == "radii":
        radii = values
        # At the solution every active column has |z_j'(y - q) - mu_j a_j| = lambda, so that a'X'(y - q) = F - S is
        # lambda ||a||_1 + sum mu_j a_j^2.
        fitted = qy - qq if is_squared else qy
        fitted = fitted - (_ridge_squares(problem, path) if has_ridge(problem.cost) else 0.0)
        lams = np.divide(fitted, l1, out=np.full(l1.size, problem.lambda_max), where=l1 > 0.0)
        alphas = user_values(problem, "alphas", lams)
    else:
        radii, alphas = user_values(problem, "radii", l1), values
    if isinstance(problem, Problem) and problem.null.columns.size:
        path = plus(path, *problem.null[:2])
    indptr, columns = path.indptr, path.columns
    scaled = clip(problem.cost, columns, path.coefs)  # mixes and other units may be a rounding beyond
    coefs, intercepts = problem.transform.to_user_units(indptr, columns, scaled)
    if not is_squared:
        intercepts = intercepts + constants
    if isinstance(problem, Problem) and not has_diagonal(problem.loss):  # a constant changes nothing
        intercepts = np.zeros(l1.size)
    scaled = in_user_units(scaled, problem.units.coef_power)
    shape = problem.shape[1], l1.size
    own = described(data.X) if isinstance(data, Data) else None
    active = [] if own is None and data.means is None else np.unique(columns).tolist()
    return LassoPath(
        alphas=alphas,
        radii=radii,
        coefs=sp.csc_array((coefs, columns, indptr), shape=shape),
        scaled_coefs=sp.csc_array((scaled, columns, indptr), shape=shape),
        intercepts=intercepts,
        gaps=path.gaps,
        r2=(null_loss - loss) / problem.null_loss,
        statuses=path.statuses,
        ending=path.ending,
        counters=counters,
        settings=settings,
        feature_names=data.feature_names,
        variants={} if own is None else own.facts_of(active),
        means={} if data.means is None else {j: float(data.means[j]) for j in active},
        classes=data.classes if isinstance(data, Data) else None,
    )


def _ridge_squares(problem: AnyProblem, path: SolvedPath) -> Vector:
    """Return sum mu_j a_j^2 of every point."""
    squares = curvatures(problem.cost, 0.0, path.columns) * path.coefs**2
    by_point = sp.csc_array((squares, path.columns, path.indptr), shape=(problem.shape[1], path.n_points))
    return np.asarray(by_point.sum(axis=0))


def count(
    problem: AnyProblem,
    path: SolvedPath,
    options: Options,
    n_read_for_grid: int,
    n_certified: list[int],
    seconds: dict[str, float],
) -> Counters:
    """Return what a path cost, given how many points every pass of certificates was made for."""
    p = problem.shape[1]
    _, n_dots, n_read, n_multiplied = path.counts.sum(axis=0).tolist()
    n_dots += p if options.entry.variants[options.variant] else 0  # z_j'y of every column
    to_start = (p + n_read_for_grid) / p
    n_entries = problem.n_entries if isinstance(problem, Problem) else 0
    return Counters(
        iterations=path.counts[:, 0].copy(),
        dot_products=n_dots,
        passes=to_start + n_read / p + len(n_certified),
        readings=to_start + n_multiplied / max(1, n_entries) + sum(n_certified),
        seconds=seconds,
    )


def up_to(n_most: int, path: SolvedPath) -> SolvedPath:
    """Return the points before the first one with more active columns than `n_most`; that one if it is the first."""
    is_beyond = np.diff(path.indptr) > n_most
    if not is_beyond.any():
        return path
    return path.between(0, max(1, int(np.argmax(is_beyond))))._replace(ending=Status.MAX_ACTIVE)


def beyond_float64(path: SolvedPath, excess: Vector, tol: float) -> SolvedPath:
    """Return points with gaps for the radii asked for: in the units of the solver they may be beyond float64."""
    gaps = path.gaps * excess[: path.gaps.size]
    is_open = ((excess[: gaps.size] > 1.0) & (gaps > tol)).tolist()
    statuses = [Status.PRECISION if still else status for still, status in zip(is_open, path.statuses, strict=True)]
    return path._replace(gaps=gaps, statuses=tuple(statuses))


def warn_unless_converged(path: LassoPath, options: Options) -> None:
    """Warn with gap, tolerance and remedy if a point or the path did not come to its end, or came to it too easily."""
    if Status.ZERO_STEP in path.statuses:
        _warn_of_small_samples(path, options)
    unfinished = unfinished_points(path.statuses, options.rule)
    is_whole = path.ending is None or path.ending.is_complete
    if not unfinished and is_whole:
        return
    if not is_whole:
        assert path.ending is not None
        what = f"The path has {len(path)} of {options.n_points} points. {path.ending.sentence}"
    else:
        asked = f"stop={options.rule!r}, tol={options.tolerance:g}"
        is_least_squares = options.grid_name == "alphas" and path.alphas[unfinished[0]] == options.ridge == 0.0
        why = _LEAST_SQUARES if is_least_squares else path.statuses[unfinished[0]].sentence
        what = f"{len(unfinished)} of {len(path)} points did not meet {asked}. {why}"
    warn_of_ending(what + _largest_gap(path))


def _warn_of_small_samples(path: LassoPath, options: Options) -> None:
    """Warn of points that ended on samples, by number or share, of fewer columns than the paper's quantile rule takes.

    The best of kappa columns is among the top `quantile` of all with probability 1 - (1 - quantile)^kappa.
    """
    n_ended, p = path.statuses.count(Status.ZERO_STEP), path.coefs.shape[0]
    rule, paper = options.size_rule, QuantileRule()
    if not isinstance(rule, FixedSize | FractionOfColumns) or rule(p, 0) >= paper(p, 0):
        return
    n_sampled = rule(p, 0)
    hit = 1.0 - (1.0 - paper.quantile) ** n_sampled
    warn_of_doubt(
        f"{n_ended} of {len(path)} points ended by a step of length zero: no column of a sample of {n_sampled} of "
        f"{p:,} brought descent. Such a sample has one of the best {100 * paper.quantile:g} % of columns with a "
        f"probability of {100 * hit:.2g} %; for {100 * paper.confidence:g} % the paper's quantile rule takes "
        f"{paper(p, 0)}: increase sample_size, or leave it out.{_largest_gap(path)}"
    )


def _largest_gap(path: LassoPath) -> str:
    return "" if np.isnan(path.gaps).all() else f" The largest relative duality gap is {np.nanmax(path.gaps):.2e}."

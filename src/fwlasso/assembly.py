"""From solved points to a `LassoPath`: certificates over all columns, the user's units, and a word on its ending."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._core.columns import Vector
from ._core.iterate import at
from ._core.notices import warn_of_doubt, warn_of_ending
from ._core.penalties import Penalty
from ._core.problem import Problem, in_user_units
from ._core.threads import Workers
from .data.genotypes import Genotypes
from .data.inputs import Data
from .gram.file_sums import SummedTable
from .gram.problem import AnyProblem
from .options import Options
from .problem.certificate import certify_iterates, refuse_altered_columns
from .problem.grid import n_vanished, user_values
from .problem.points import Counters, SolvedPath
from .result import LassoPath
from .solvers.frank_wolfe import VARIANTS
from .solvers.sample_size import FixedSize, FractionOfColumns, QuantileRule
from .status import Status

# Memory for fitted values, and as much for residuals, that are multiplied by all columns in one pass, in bytes.
_RESIDUAL_BYTES = 32 << 20
# If lambda = 0, a dual point r / max(1, ||X'r||_inf / lambda) is zero, and the gap is the loss: no tolerance helps.
_LEAST_SQUARES = (
    "alpha=0 is least squares, for which a gap proves nothing: use a small alpha, or "
    "sklearn.linear_model.LinearRegression."
)


def certify(
    problem: AnyProblem, penalties: list[Penalty], path: SolvedPath, workers: Workers, certify_all: bool
) -> tuple[SolvedPath, list[int]]:
    """Return points with their gaps over all columns, and how many of them every pass over the data was made for.

    If a point is certified, its solver is taken at its word; the others get gaps, many at a time, or NaN.
    """
    assert isinstance(problem, Problem)
    known = np.array([status is Status.CERTIFIED for status in path.statuses])
    gaps = np.where(known, path.gaps, np.nan)
    todo = np.flatnonzero(~known).tolist() if certify_all else []
    n_together = max(1, _RESIDUAL_BYTES // problem.y.nbytes)
    batches = [todo[k : k + n_together] for k in range(0, len(todo), n_together)]
    points = path.points() if batches else []
    for batch in batches:
        fresh = [at(problem, *points[k].solution[:2]) for k in batch]
        claims = certify_iterates(problem, [penalties[k] for k in batch], fresh, workers)
        gaps[batch] = [claim.gap for claim in claims]
    return path._replace(gaps=gaps), list(map(len, batches))


def assemble(
    problem: AnyProblem, path: SolvedPath, grid_name: str, grid: Vector, counters: Counters, settings: dict[str, Any]
) -> LassoPath:
    """Put the points together, in the user's units; `grid` has them already, and gaps are relative."""
    qq, qy, l1 = path.sums.T
    loss = 0.5 * problem.yy + 0.5 * qq - qy
    grid = grid[: l1.size]
    if grid_name == "radii":
        radii = grid
        # At the solution every active column has |z_j'(y - q)| = lambda, so a'X'(y - q) = F - S = lambda ||a||_1.
        lams = np.divide(qy - qq, l1, out=np.full(l1.size, problem.lambda_max), where=l1 > 0.0)
        alphas = user_values(problem, "alphas", lams)
    else:
        radii, alphas = user_values(problem, "radii", l1), grid
    indptr, columns, scaled = path.indptr, path.columns, path.coefs
    coefs, intercepts = problem.to_user_units(indptr, columns, scaled)
    scaled = in_user_units(scaled, problem.units.coef_power)
    shape = problem.shape[1], l1.size
    return LassoPath(
        alphas=alphas,
        radii=radii,
        coefs=sp.csc_array((coefs, columns, indptr), shape=shape),
        scaled_coefs=sp.csc_array((scaled, columns, indptr), shape=shape),
        intercepts=intercepts,
        gaps=path.gaps,
        r2=(0.5 * problem.yy - loss) / problem.null_loss,
        statuses=path.statuses,
        ending=path.ending,
        counters=counters,
        settings=settings,
    )


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
    n_dots += 0 if VARIANTS[options.variant].counts_like_paper else p  # z_j'y of every column
    to_start = (p + n_read_for_grid) / p
    n_entries = problem.n_entries if isinstance(problem, Problem) else 0
    return Counters(
        iterations=path.counts[:, 0].copy(),
        dot_products=n_dots,
        passes=to_start + n_read / p + len(n_certified),
        readings=to_start + n_multiplied / max(1, n_entries) + sum(n_certified),
        seconds=seconds,
    )


def check_columns(path: SolvedPath, p: int) -> None:
    """Raise a RuntimeError unless all columns are of X. Compiled code is not taken at its word: -1 is no column."""
    columns = path.columns
    if columns.size and not 0 <= columns.min() <= columns.max() < p:
        raise RuntimeError(f"a solver has returned a column outside 0..{p - 1}: a bug of fwlasso")


def check_still_finite(problem: AnyProblem, path: SolvedPath, workers: Workers) -> None:
    """Raise a ValueError if a point is not finite because columns, which were in the first pass, are not any more."""
    if isinstance(problem, Problem) and not np.isfinite(path.sums).all():
        refuse_altered_columns(problem.X, problem.y.size - 1, workers)


def label(path: LassoPath, data: Data | SummedTable) -> LassoPath:
    """Return a path with what is known of its data: names, the response, the first column, variants of active ones."""
    known = data.X if isinstance(data, Data) and isinstance(data.X, Genotypes) and data.X.variants else None
    active = np.unique(path.coefs.indices).tolist()
    variants = {} if known is None else {j: known.variant_at(j) for j in active}
    means = {} if data.means is None else {j: float(data.means[j]) for j in active}
    settings = {**path.settings, **data.origin}
    return replace(path, feature_names=data.feature_names, settings=settings, variants=variants, means=means)


def warn_of_empty_models(problem: AnyProblem, target: str | None) -> None:
    """Warn if zero is the solution for every penalty and every radius: X'y = 0."""
    if problem.xty.any():
        return
    response = "the response" if target is None else f"the response {target!r}"
    if problem.yy == 0.0:
        warn_of_doubt(f"T{response[1:]} is constant: there is nothing to explain, and all models are empty.")
    else:
        warn_of_doubt(f"No column of X is correlated with {response}: all models are empty.")


def warn_of_lost_alphas(problem: AnyProblem, options: Options) -> None:
    """Warn of penalties too small to be told from zero."""
    if options.grid_name != "alphas" or isinstance(options.grid, int):
        return
    n, n_points = n_vanished(problem, options.grid), options.grid.size
    if n:
        warn_of_doubt(f"alphas: {n} of {n_points} are too small for float64 beside X and y: they are solved as 0.")


def unfinished_points(path: LassoPath) -> list[int]:
    """Return the points that did not meet their stopping rule."""
    certified = path.settings["stop"] == "gap"
    return [k for k, s in enumerate(path.statuses) if not (s is Status.CERTIFIED if certified else s.converged)]


def warn_unless_converged(path: LassoPath, options: Options) -> None:
    """Warn with gap, tolerance and remedy if a point or the path did not come to its end."""
    unfinished = unfinished_points(path)
    if not unfinished and path.ending is None:
        return
    if path.ending is not None:
        what = f"The path has {len(path)} of {options.n_points} points. {path.ending.sentence}"
    else:
        asked = f"stop={options.rule!r}, tol={options.tolerance:g}"
        least_squares = options.grid_name == "alphas" and path.alphas[unfinished[0]] == 0.0
        why = _LEAST_SQUARES if least_squares else path.statuses[unfinished[0]].sentence
        what = f"{len(unfinished)} of {len(path)} points did not meet {asked}. {why}"
    warn_of_ending(what + _largest_gap(path))


def warn_of_small_samples(path: LassoPath, options: Options) -> None:
    """Warn of points that ended on samples, by number or share, of fewer columns than the paper's quantile rule takes.

    The best of kappa columns is among the top `quantile` of all with probability 1 - (1 - quantile)^kappa.
    """
    n_ended, p = path.statuses.count(Status.ZERO_STEP), path.coefs.shape[0]
    rule, paper = options.size_rule, QuantileRule()
    if n_ended == 0 or not isinstance(rule, FixedSize | FractionOfColumns) or rule(p, 0) >= paper(p, 0):
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

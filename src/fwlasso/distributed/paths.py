"""Paths on data that lie on a Dask cluster, and a model chosen on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from ..assembly import warn_unless_converged
from ..data.keywords import explain_unknown
from ..gram.folds import total_sums, training_sums
from ..gram.problem import GramProblem
from ..gram.subsets import errors_by_sums, folds_of, weights_of
from ..gram.summed import SummedTable
from ..options import SPECS, Options
from ..path import Context, solve, solve_context, solve_path
from ..problems import Problems
from ..result import LassoPath
from ..selection.choice import Choice, choose_by_information, choose_by_scores
from ..selection.criteria import INFORMATION_RULES, Rule
from ..selection.cross_validation import (
    CrossValidation,
    best_of,
    cross_validate,
    for_ratios,
    warn_at_end_of_grid,
)
from ..selection.folds import DEFAULT_FOLDS, SelectionOptions
from ..selection.scoring import make_scoring
from .opening import data_of
from .rows import RowChunks


@explain_unknown(SPECS)
def lasso_path(
    X: Any, y: Any = None, *, sample_weight: Any = None, offset: Any = None, client: Any = None, **path_options: Any
) -> LassoPath:
    """Compute a Lasso path on data that lie on a Dask cluster.

    Tall data, of up to 4,000 columns, take one pass of sums over their chunks of rows, where these lie; the path
    follows from the sums here. Points that the sums cannot prove are proved by one more pass. Wide data, and other
    losses than least squares, take some tens of passes over columns in parts; the path has the bits of one machine.
    Either way it is the same for any workers, and after the loss of any.

    Parameters
    ----------
    X : dask array or frame, the paths of parquet files, or what `open_design` takes or returns
        Of a frame all columns but those named by the other arguments. Its partitions may be of unknown sizes. A chunk
        of a parquet file is a row group. Frames and parquet files are read by rows, stores and genotypes by columns,
        arrays as is fit; ``solver="working-set"`` asks for columns.
    y, sample_weight, offset : dask array or series, array, or str
        As in `fwlasso.lasso_path`, or the name of a column of the frame.
    client : distributed.Client, optional
        By default the current one; if there is none, the work is done in this process.
    **path_options
        Those of `fwlasso.lasso_path` for the certified solvers; by rows for least squares.

    Returns
    -------
    LassoPath

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import lasso_path
    >>> X = da.random.default_rng(0).standard_normal((1000, 20), chunks=(250, 20))
    >>> path = lasso_path(X, X[:, 3] - 2 * X[:, 5])
    >>> bool(path.gaps.max() <= 1e-4), path.coef(99).nonzero()[0].tolist()
    (True, [3, 5])
    """
    options = Options(**path_options)
    with data_of(X, y, options, client, sample_weight=sample_weight, offset=offset) as given:
        return solve_path(given.X, given.y, options, **given.samples)


@explain_unknown(SPECS)
def lasso_cv(
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    rule: str | Rule = "min",
    sample_weight: Any = None,
    offset: Any = None,
    l1_ratio: Any = Options.l1_ratio,
    client: Any = None,
    **path_options: Any,
) -> CrossValidation:
    """Compute a path on data that lie on a Dask cluster, and choose a model on it; see `fwlasso.lasso_cv`.

    The sums of all folds are made in the same pass over the rows.

    Parameters
    ----------
    X, y, sample_weight, offset, client
        As in `lasso_path`.
    cv : int, splitter or iterable, optional
        As in `fwlasso.lasso_cv`: folds without a row in common, by a splitter that does not look at y.
    rule, l1_ratio, **path_options
        As in `fwlasso.lasso_cv`. Scores are mean squared errors.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import dask.array as da
    >>> from fwlasso.distributed import lasso_cv
    >>> rng = da.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 20), chunks=(250, 20))
    >>> found = lasso_cv(X, X[:, 3] - 2 * X[:, 5] + rng.standard_normal(1000, chunks=250))
    >>> found.choice.fold_scores.shape
    (100, 5)
    """
    asked = for_ratios(l1_ratio, **path_options)
    selection = SelectionOptions(cv, rule)
    with data_of(X, y, asked[0], client, sample_weight=sample_weight, offset=offset) as given:
        return cross_validate(given.X, given.y, asked, selection, **given.samples)


def choose_on_rows(rows: RowChunks, asked: Sequence[Options], selection: SelectionOptions) -> CrossValidation:
    """Choose a model on rows, whose folds are summed up in one pass."""
    for name in ("scoring", "relax", "validation"):
        if getattr(selection, name):
            raise ValueError(
                f"{name}: rows on a cluster are scored by mean squared errors on folds alone: leave it out"
            )
    cv, rule = selection.cv, selection.rule
    if asked[0].checkpoint is not None:
        raise ValueError("checkpoint: sums over rows are soon made again, and paths on them take seconds: leave it out")
    n_folds = 0
    if rule not in INFORMATION_RULES:
        fold_of, n_folds = _fold_numbers(cv, sum(rows.sizes))
        rows.with_folds(fold_of)
    with solve_context(rows, None, asked[0]) as context:
        context.monitor.share(len(asked) * (1 + n_folds))
        found = [
            _cross_validate(context.asked(it)._replace(number=k * (1 + n_folds)), rows, n_folds, rule)
            for k, it in enumerate(asked)
        ]
    best = best_of(found)
    if best.ending is None:
        warn_at_end_of_grid(best.path, best.choice)
    return best


def _fold_numbers(cv: Any, m: int) -> tuple[NDArray[np.int64], int]:
    """Return which fold every row is held out in, the number of folds for none; and how many folds there are."""
    from sklearn.model_selection import check_cv

    nothing = np.zeros((m, 1))
    splits = list(check_cv(DEFAULT_FOLDS if cv is None else cv).split(nothing, nothing[:, 0]))
    masks = []
    for train, test in splits:
        kept = np.ones(m, np.bool_)
        kept[test] = False
        masks.append(kept)
        if np.count_nonzero(kept) != np.unique(np.arange(m)[train]).size or not kept[train].all():
            raise ValueError("cv: on a cluster a fold is fitted on all rows that it does not hold out, each once")
    fold_of, are_folds = folds_of(masks, m)
    if fold_of is None or not are_folds:
        raise ValueError("cv: on a cluster no row may be held out by two folds, and every fold must hold out some")
    return fold_of, len(masks)


def _cross_validate(context: Context, rows: RowChunks, n_folds: int, rule: str | Rule) -> CrossValidation:
    """Solve the path on all rows and those of the folds, and choose a model."""
    data = context.data
    assert isinstance(data, SummedTable)
    path, _ = _solve(context, data)
    if not n_folds:
        assert isinstance(rule, str)
        return CrossValidation(path, choose_by_information(path, rule))
    total, paths, scores = total_sums(rows.folds), [], []
    for k in range(n_folds):
        own = context._replace(number=context.number + 1 + k, options=context.options.on_grid(path.alphas), seconds={})
        table = rows.table(training_sums(rows.folds, total, k))
        fold_path, errors = _solve(own, table, rows, k)
        paths.append(fold_path)
        scores.append(errors)
    n_points = min(len(path), *map(len, scores))
    choice = _choice(path, np.stack([it[:n_points] for it in scores], axis=1), rule)
    return CrossValidation(path, choice, tuple(paths))


def _choice(path: LassoPath, scores: NDArray[np.float64], rule: str | Rule) -> Choice:
    return choose_by_scores(path, scores, rule, make_scoring(None), 1.0)


def _solve(
    context: Context, table: SummedTable, rows: RowChunks | None = None, fold: int = 0
) -> tuple[LassoPath, Vector]:
    """Return the path on a table, and its mean squared errors on the rows of a fold."""
    context = context._replace(data=table)
    problem = Problems(table, context.options, context.workers, terms=context.terms).whole(context.workers)
    path = solve(context, problem)
    warn_unless_converged(path, context.options)
    if rows is None:
        return path, np.empty(0)
    assert isinstance(problem, GramProblem)
    centre = problem.centre
    weights = weights_of(path.scaled_coefs, centre)
    errors = errors_by_sums(rows.folds[fold], centre, weights)
    errors = rows.squared_errors(fold, centre, weights) if errors is None else errors
    errors[[status.ends_path for status in path.statuses]] = np.nan  # begun, and not solved
    return path, errors

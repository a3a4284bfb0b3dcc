"""Cross-validation of a path: folds are masks over the same X, the chosen model is a point of the path on all of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .choice import Choice
from .columns import Vector
from .criteria import INFORMATION_RULES, SCORE_RULES, best_point, information, within_one_error
from .data import Data, as_data
from .design import Design
from .notices import warn_of_doubt
from .options import Options, check, check_seeded, options_of
from .parallel import one_blas_thread
from .plan import Plan, Rule, Split
from .problem import as_response
from .refit import refit_supports
from .result import LassoPath
from .scoring import Scoring, make_scoring
from .status import Status
from .subsets import Mask, path_and_subset_paths, predict_rows

# Correlation of neighbouring responses from which on samples seem to be sorted.
_MUCH_ALIKE = 0.5
# Where the last tenth of a grid changes the score by a smaller share than this, its end is as good as any.
_FLAT = 0.01


@dataclass(frozen=True)
class CrossValidation:
    """A path, the model chosen on it, and the paths of the folds.

    Attributes
    ----------
    path : LassoPath
        On all samples.
    choice : Choice
        The chosen point, the scores of all points and the coefficients of the model.
    fold_paths : tuple of LassoPath
        One per fold; empty where there are none.
    """

    path: LassoPath
    choice: Choice
    fold_paths: tuple[LassoPath, ...] = ()

    @property
    def ending(self) -> Status | None:
        """What ended the work early: time limit, keyboard or callback; None if all of it was done."""
        return next((path.ending for path in (self.path, *self.fold_paths) if path.ending is not None), None)


def lasso_cv(
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    rule: str | Rule = "min",
    scoring: Any = None,
    relax: bool | Sequence[float] = False,
    validation: Any = None,
    groups: Any = None,
    **path_options: Any,
) -> CrossValidation:
    """Compute a path, and choose a model on it by cross-validation or by an information criterion.

    The folds use X where it lies: memory is that of some numbers per column and fold. They follow the grid of the path
    on all samples, as in scikit-learn's LassoCV.

    Parameters
    ----------
    X, y
        As in `lasso_path`.
    cv : int, splitter or iterable, optional
        Folds as in scikit-learn: a number, any of its splitters, or pairs of index arrays. By default 5.
    rule : {"min", "1se", "aic", "bic", "ebic"} or callable, default="min"
        "min": the best mean score; "1se": the sparsest model within one standard error of it; "aic", "bic", "ebic": an
        information criterion on the path, without folds; or a function of the path and the scores, of shape
        (n_points, n_folds), that returns a point.
    scoring : str or callable, optional
        A scorer of scikit-learn. By default the mean squared error.
    relax : bool or list of float, default=False
        Try mixes of the Lasso's coefficients with a least-squares fit on its support, too; see `BLENDS`. Points with
        more than 1,000 active features, or as many as samples, are not refitted.
    validation : float or (X, y), optional
        Score on a random fraction of the samples, or on other samples, instead of folds.
    groups : array, optional
        Of the samples, for splitters that ask for them.
    **path_options
        Those of `lasso_path`: alphas, radii, eps, solver, tol, standardize, ... The time limit is for all of the work;
        the callback counts the points of all paths together, and may be called by other threads, one at a time. With
        a checkpoint the paths of the folds are kept, too: the same call goes on with whatever was not solved.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_cv
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 40)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100)
    >>> found = lasso_cv(X, y, rule="1se")
    >>> found.choice.coef.indices[:3].tolist(), found.choice.fold_scores.shape
    ([0, 1, 2], (100, 5))
    """
    options = options_of("lasso_cv", path_options)
    split_params = {} if groups is None else {"groups": groups}
    return cross_validate(X, y, options, Plan(cv, rule, scoring, relax, validation, split_params))


def cross_validate(X: Any, y: Any, options: Options, plan: Plan) -> CrossValidation:
    """Compute a path and the paths of its folds, and choose a model, as `plan` says; see `lasso_cv`."""
    scoring = make_scoring(plan.scoring, plan.score_params)
    if isinstance(plan.validation, float):
        check_seeded(options, "the held-out samples")
    data = as_data(X, y)
    splits = plan.splits(data.response, options.random_state)
    if not plan.split_params:  # of groups, those that belong together may be neighbours
        _warn_of_ordered_blocks(splits, data.response)
    path, fold_paths = path_and_subset_paths(data, options, [split.kept for split in splits])
    with one_blas_thread():
        choice = _choose(path, fold_paths, splits, plan, scoring, data)
    found = CrossValidation(path, choice, tuple(fold_paths))
    if found.ending is None:
        warn_at_end_of_grid(path, choice)
    return found


def _warn_of_ordered_blocks(splits: list[Split], y: Vector) -> None:
    """Warn where folds are blocks of neighbouring samples whose responses are much alike, as in sorted data.

    A model is then scored on responses unlike those that it was fitted to.
    """
    are_blocks = len(splits) > 1 and all(
        1 < rows.size == np.ptp(rows) + 1 and rows.size + np.count_nonzero(kept) == y.size for kept, rows in splits
    )
    centred = y - y.mean()
    alike = centred[1:] @ centred[:-1] / max(centred @ centred, np.finfo(np.float64).tiny)
    # By chance it is about 1 / sqrt(m) at most.
    if are_blocks and alike > max(_MUCH_ALIKE, 4.0 / np.sqrt(y.size)):
        warn_of_doubt(
            f"Neighbouring responses are much alike (correlation {alike:.2f}), and the folds are blocks of neighbours: "
            f"where samples are sorted, the scores mislead. Shuffle them: cv=KFold({len(splits)}, shuffle=True), or "
            "--shuffle on the command line."
        )


def warn_at_end_of_grid(path: LassoPath, choice: Choice) -> None:
    """Warn where the last point of the grid is the best one, and those beyond it may be better still."""
    last = len(path) - 1
    if last == 0 or (choice.point if choice.rule not in SCORE_RULES else choice.best) != last:
        return
    best, earlier = choice.scores[last], choice.scores[: last + 1 - max(1, len(path) // 10)]
    if not (np.abs(earlier - best) <= _FLAT * np.abs(best)).any():
        warn_of_doubt(
            f"The {choice.label} is best at the last point of the grid, and may be better beyond it: choose again with "
            f"a smaller eps than {path.settings['eps']:g}, or with a grid that goes further."
        )


class _Relaxed(NamedTuple):
    """A path, and least squares on its supports."""

    path: LassoPath
    coefs: sp.csc_array
    intercepts: Vector
    has_refit: NDArray[np.bool_]

    def predict(self, predict: Callable[[sp.csc_array, Vector], NDArray[Any]], blends: Sequence[float]) -> list[Any]:
        """Return predictions of every blend; NaN for points that were not refitted, where a blend needs it."""
        lasso = predict(self.path.coefs, self.path.intercepts)
        if blends == (1.0,):
            return [lasso]
        squares = predict(self.coefs, self.intercepts)
        squares[:, ~self.has_refit] = np.nan
        return [lasso if blend == 1.0 else blend * lasso + (1.0 - blend) * squares for blend in blends]


def _relaxed(design: Design, response: Vector, path: LassoPath, kept: Mask | None, plan: Plan) -> _Relaxed:
    if plan.blends == (1.0,):
        return _Relaxed(path, path.coefs, path.intercepts, np.ones(len(path), np.bool_))
    return _Relaxed(path, *refit_supports(design, response, path, kept))


def _choose(
    path: LassoPath,
    fold_paths: list[LassoPath],
    splits: list[Split],
    plan: Plan,
    scoring: Scoring,
    data: Data,
) -> Choice:
    """Score the points that all paths have, and choose one of them."""
    design, response = data.design, data.response
    if isinstance(plan.rule, str) and plan.rule in INFORMATION_RULES:
        scores = information(path, plan.rule)
        return choice_of_point(path, best_point(scores, False), plan.rule, plan.rule.upper(), scores)
    tables = []
    for fold_path, (kept, rows) in zip(fold_paths, splits, strict=True):
        fold = _relaxed(design, response, fold_path, kept, plan)
        blended = fold.predict(partial(predict_rows, design.columns, rows), plan.blends)
        tables.append(scoring.of(blended, response, data.X, rows))
    whole = _relaxed(design, response, path, None, plan)
    if isinstance(plan.validation, tuple):
        other, truth = plan.validation
        blended = whole.predict(
            lambda coefs, intercepts: replace(path, coefs=coefs, intercepts=intercepts).predict(other), plan.blends
        )
        tables.append(scoring.of(blended, as_response(truth, len(blended[0])), other, None))
    n_points = min(len(path), *(table.shape[0] for table in tables))
    scores = np.stack([table[:n_points] for table in tables], axis=1)  # points, folds, blends
    return _best(path, whole, scores, plan, scoring, data)


def choice_of_point(path: LassoPath, point: int, rule: str, criterion: str, scores: Vector) -> Choice:
    """Return the choice of a point of the path itself by numbers of which the smallest are the best."""
    intercept, radius, r2 = (float(values[point]) for values in (path.intercepts, path.radii, path.r2))
    return Choice(rule, point, criterion, scores, False, path.coefs[:, [point]], intercept, radius=radius, r2=r2)


def _best(
    path: LassoPath, whole: _Relaxed, scores: NDArray[np.float64], plan: Plan, scoring: Scoring, data: Data
) -> Choice:
    """Choose a point and a blend from scores of shape (n_points, n_folds, n_blends)."""
    means = scores.mean(axis=1)
    greater = scoring.greater_is_better
    usable = means.copy()
    usable[~whole.has_refit[: len(means)], : -1 if plan.blends[-1] == 1.0 else None] = np.nan
    # Of equals the sparsest, then the one nearest to the Lasso.
    point, place = divmod(best_point(usable[:, ::-1].ravel(), greater), len(plan.blends))
    at = len(plan.blends) - 1 - place
    n_folds = scores.shape[1]
    errors = scores[:, :, at].std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else None
    if callable(plan.rule):
        point = int(plan.rule(path, scores[:, :, at]))
        check("rule", point, 0 <= point < len(means), f"a function that returns a point below {len(means)}")
    elif plan.rule == "1se":
        point = within_one_error(usable[:, at], errors, greater)
    rule = plan.rule if isinstance(plan.rule, str) else getattr(plan.rule, "__name__", "a function")
    choice = replace(
        choice_of_point(path, point, rule, scoring.name, _of_all(path, means[:, at])),
        greater_is_better=greater,
        fold_scores=_of_all(path, scores[:, :, at]),
        standard_errors=None if errors is None else _of_all(path, errors),
    )
    blend = plan.blends[at]
    return choice if blend == 1.0 else _refitted(choice, path, whole, blend, data)


def _of_all(path: LassoPath, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of every point of the path: NaN for those that not all folds came to."""
    return np.concatenate([known, np.full((len(path) - len(known), *known.shape[1:]), np.nan)])


def _refitted(choice: Choice, path: LassoPath, whole: _Relaxed, blend: float, data: Data) -> Choice:
    """Return the choice of a mix of the Lasso's coefficients and the refitted ones in place of those of its point."""
    point = choice.point
    coef = sp.csc_array(blend * path.coefs[:, [point]] + (1.0 - blend) * whole.coefs[:, [point]])
    intercept = float(blend * path.intercepts[point] + (1.0 - blend) * whole.intercepts[point])
    # Both have the support of the point, and so its scales.
    entries = slice(path.coefs.indptr[point], path.coefs.indptr[point + 1])
    mixed = blend * path.coefs.data[entries] + (1.0 - blend) * whole.coefs.data[entries]
    radius = np.abs(mixed * path.scaled_coefs.data[entries] / path.coefs.data[entries]).sum()
    y = data.response
    residual = y - predict_rows(data.design.columns, np.arange(y.size), coef, np.array([intercept]))[:, 0]
    spread = y - y.mean() if path.settings["fit_intercept"] else y
    r2 = 1.0 - (residual @ residual) / max(spread @ spread, np.finfo(np.float64).tiny)
    return replace(choice, coef=coef, intercept=intercept, blend=blend, radius=float(radius), r2=float(r2))

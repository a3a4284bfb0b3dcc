"""Cross-validation of a path: folds are masks over the same X, the chosen model is a point of the path on all of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.notices import warn_of_doubt
from .._core.threads import Workers, one_blas_thread, resolve_threads
from ..checkpoints.folder import ratio_folder
from ..data.checks import check, numpy_defaults
from ..data.inputs import Data
from ..data.keywords import explain_unknown
from ..data.predict import predict_rows
from ..models import LinearModel
from ..options import SPECS, Options, check_seeded
from ..path import Summable, solve_context
from ..result import LassoPath, Where
from ..status import Status
from .choice import Choice, choice_of_point, choose_by_information, choose_by_scores
from .criteria import INFORMATION_RULES, SCORE_RULES, Rule, best_point
from .folds import SelectionOptions, Split
from .pictures import Judged, pictures_of
from .refit import relax
from .scoring import HeldOut, Scoring, make_scoring
from .together import SubsetPaths, solve_paths

# Correlation of neighbouring responses from which on samples seem to be sorted.
_MUCH_ALIKE = 0.5
# If no larger share of the score than this is to be gained beyond a grid, its end is as good as any.
_FLAT = 0.01
# The gap that is asked for if a model is chosen. Scores of neighbouring points differ by little: at 1e-4, which is
# enough for the path itself, every third choice was another one than that of exact solutions, or had more features.
_TOL = 1e-6


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation:
    """A path, the model chosen on it, which `predict` uses, and the paths of the folds.

    Attributes
    ----------
    path : LassoPath
        On all samples.
    choice : Choice
        The chosen point, the scores of all points and the coefficients of the model.
    fold_paths : tuple of LassoPath
        One per fold; empty if there are none.
    by_ratio : tuple of CrossValidation
        One for each of several l1_ratios, of which this is the one with the best score; empty if there was one.
    """

    path: LassoPath
    choice: Choice
    fold_paths: tuple[LassoPath, ...] = ()
    by_ratio: "tuple[CrossValidation, ...]" = ()
    # What the scores are of, point by point: the path, or its mixes with refits.
    _scored: LassoPath | None = None

    def __repr__(self) -> str:
        folds = f", {len(self.fold_paths)} folds" if self.fold_paths else ""
        ratio = f", l1_ratio {self.l1_ratio:g}" if self.l1_ratio < 1.0 or self.by_ratio else ""
        return f"<CrossValidation: alpha {self.alpha:.4g}{ratio}{folds}\n  {self.choice.summary()}>"

    def _repr_html_(self) -> str:
        return self.path._repr_html_() + self.choice._repr_html_()

    @property
    def alpha(self) -> float:
        """The penalty of the chosen point."""
        return float(self.path.alphas[self.choice.point])

    @property
    def l1_ratio(self) -> float:
        """The share of the l1 norm in the penalty, of several the best: 1 for the Lasso."""
        return float(self.path.settings.get("l1_ratio", 1.0))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of all features, if the data had names."""
        return self.path.feature_names

    @property
    def model(self) -> LinearModel:
        """The chosen model by itself."""
        return LinearModel.from_choice(self.choice, path=self.path)

    @explain_unknown()
    def predict(
        self,
        X: Any,
        *,
        alpha: Where = None,
        radius: Where = None,
        offset: Any = None,
        kind: Literal["mean", "link", "class"] | None = None,
    ) -> NDArray[Any]:
        """Predict the response of every row of X by the chosen model; see `LinearModel.predict`.

        With `alpha` or `radius`, a number or several, by other models of the path: see `LassoPath.predict`, which says
        what `kind` is.
        """
        if alpha is None and radius is None:
            return self.model.predict(X, offset=offset, kind=kind)
        return self.path.predict(X, alpha=alpha, radius=radius, offset=offset, kind=kind)

    def to_frame(self) -> Any:
        """Return the coefficients of the chosen model as a frame: see `LinearModel.to_frame`."""
        return self.model.to_frame()

    def choose(self, rule: str | Rule) -> "CrossValidation":
        """Return the same paths with the model that another rule chooses: nothing is solved or scored again.

        Parameters
        ----------
        rule : {"min", "1se", "aic", "bic", "ebic"} or callable
            As in `lasso_cv`. All but the information criteria need the scores of `choice`. With `relax`, the mix stays
            the one that is best.

        Examples
        --------
        >>> import numpy as np
        >>> from fwlasso import lasso_cv
        >>> X = np.asfortranarray(np.random.default_rng(0).standard_normal((100, 40)))
        >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + np.random.default_rng(1).standard_normal(100)
        >>> found = lasso_cv(X, y)
        >>> bool(found.choose("1se").alpha > found.alpha)
        True
        """
        rule = SelectionOptions(rule=rule).rule
        if rule in INFORMATION_RULES:
            return replace(self, choice=choose_by_information(self.path, str(rule)))
        old = self.choice
        if old.fold_scores is None:
            raise ValueError(f"rule={rule!r} needs scores of held-out samples, and rule={old.rule!r} made none")
        n_scored = min(map(len, (self.path, *self.fold_paths)))
        scoring = Scoring(old.criterion, old.greater_is_better)
        scored = self.path if self._scored is None else self._scored
        return replace(self, choice=choose_by_scores(scored, old.fold_scores[:n_scored], rule, scoring, old.blend))

    @property
    def ending(self) -> Status | None:
        """What ended the work early: time limit, keyboard or callback; None if all of it was done."""
        paths = (path for found in (self, *self.by_ratio) for path in (found.path, *found.fold_paths))
        endings = (path.ending for path in paths)
        return next((ending for ending in endings if ending is not None and not ending.is_complete), None)


@explain_unknown(SPECS)
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
    sample_weight: Any = None,
    offset: Any = None,
    l1_ratio: float | Sequence[float] = Options.l1_ratio,
    **path_options: Any,
) -> CrossValidation:
    """Compute a path, and choose a model on it by cross-validation or by an information criterion.

    The folds use X in place, without a copy, and need memory for some numbers per column and fold. They follow the grid
    of the path on all samples, as in scikit-learn's LassoCV.

    Parameters
    ----------
    X, y
        As in `lasso_path`.
    cv : int, splitter or iterable, optional
        Folds as in scikit-learn: a number, any of its splitters, or pairs of index arrays. By default 5. Rows
        may be repeated, as in bootstrap samples: they count as often.
    rule : {"min", "1se", "aic", "bic", "ebic"} or callable, default="min"
        "min": the best mean score; "1se": the sparsest model within one standard error of it; "aic", "bic", "ebic": an
        information criterion on the path, without folds; or a function of the path and the scores, of shape
        (n_points, n_folds), that returns a point.
    scoring : str or callable, optional
        A scorer of scikit-learn. By default the mean squared error, or the mean deviance of another loss. Folds of
        classes are stratified.
    relax : bool or list of float, default=False
        Try mixes of the Lasso's coefficients with a least-squares fit on its support, too; see `BLENDS`. Points with
        more than 1,000 active features, or as many as samples, are not refitted.
    validation : float, (X, y), (X, y, weights) or (X, y, weights, offset), optional
        Score on a random fraction of the samples, or on other samples, instead of folds.
    groups : array, optional
        Of the samples, for splitters that ask for them.
    sample_weight, offset
        As in `lasso_path`. Weights are for the fits and, within a fold, for the mean of the scores; over folds the mean
        is plain, as scikit-learn has it.
    l1_ratio : float or list of float, default=1.0
        As in `lasso_path`. Of several the one with the best mean score is taken, and `rule` chooses on its path. All
        of their paths and folds share passes over the data; each ratio has a grid of its own.
    **path_options
        Those of `lasso_path`: alphas, radii, eps, solver, standardize, ... `tol` is 1e-6 by default for gaps: scores of
        neighbouring points differ by little. The time limit is for all of the work;
        the callback counts the points of all paths together, and may be called by other threads, one at a time. With
        a checkpoint the paths of the folds are saved, too: the same call solves the remaining points.

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
    options = for_ratios(l1_ratio, **path_options)
    split_params = {} if groups is None else {"groups": groups}
    selection = SelectionOptions(cv, rule, scoring, relax, validation, split_params)
    return cross_validate(X, y, options, selection, sample_weight=sample_weight, offset=offset)


def cross_validate(
    X: Any, y: Any, asked: Sequence[Options], selection: SelectionOptions, **samples: Any
) -> CrossValidation:
    """Compute a path and the paths of its folds, and choose a model, as `selection` says; see `lasso_cv`.

    Of several options, which differ by their l1_ratios, those with the best model are chosen.
    """
    asked = [with_tol(it) for it in asked]
    if isinstance(X, Summable):
        return X.cross_validate(asked, selection)  # type: ignore[no-any-return]
    scoring = make_scoring(selection.scoring, selection.score_params, asked[0].loss)
    for options in asked:
        selection.check_terms(options)
    options = asked[0]
    if isinstance(selection.validation, float):
        check_seeded(options, "held-out samples")
    with solve_context(X, y, asked[0], for_parts=True, **samples) as context:
        data = context.data
        assert isinstance(data, Data)
        scoring = scoring._replace(classes=data.classes)
        if selection.weighs_scores:
            scoring = scoring.weighted(data.weights)
        selection.check_data(data, scoring)
        splits = selection.splits(data, options.random_state)
        if not (selection.split_params or data.classes):  # of groups, those that belong together may be neighbours
            _warn_of_ordered_blocks(splits, data.response)
        others = [context.asked(it) for it in asked[1:]]
        solved = solve_paths([context, *others], [split.kept for split in splits])
    by_ratio = []
    with numpy_defaults(), one_blas_thread(), Workers(resolve_threads(options.n_threads)) as workers:
        for paths in solved:
            choice, scored = _choose(paths, splits, selection, scoring, data, workers)
            by_ratio.append(CrossValidation(paths.path, choice, tuple(paths.subset_paths), _scored=scored))
    found = best_of(by_ratio)
    if found.ending is None:
        warn_at_end_of_grid(found.path, found.choice)
    return found


def with_tol(options: Options) -> Options:
    """Return options with the tolerance of a choice, unless another was asked for."""
    return replace(options, tol=_TOL) if options.tol is None and options.rule == "gap" else options


def for_ratios(l1_ratio: Any, *, checkpoint: Any = None, **path_options: Any) -> list[Options]:
    """Return the options of a path, or of one for each of several l1_ratios, each with a run of its own."""
    if np.ndim(l1_ratio) == 0:
        return [Options(l1_ratio=l1_ratio, checkpoint=checkpoint, **path_options)]
    options = [Options(l1_ratio=ratio, checkpoint=checkpoint, **path_options) for ratio in l1_ratio]
    different = len({it.l1_ratio for it in options}) == len(options) > 0
    check("l1_ratio", l1_ratio, different, "a number, or some numbers that differ")
    return in_folders(options, checkpoint)


def in_folders(asked: list[Options], folder: Path | None) -> list[Options]:
    """Return options with a run in a folder, each of several l1_ratios in one of its own there; None: with no run."""
    if folder is None or len(asked) == 1:
        return [replace(it, checkpoint=folder) for it in asked]
    return [replace(it, checkpoint=ratio_folder(folder, it.l1_ratio)) for it in asked]


def best_of(by_ratio: list[CrossValidation]) -> CrossValidation:
    """Return the one with the best score, the first of equals; with the others, if there are any."""
    if len(by_ratio) == 1:
        return by_ratio[0]
    sign = 1.0 if by_ratio[0].choice.greater_is_better else -1.0
    best = [np.fmax.reduce(sign * it.choice.scores, initial=-np.inf) for it in by_ratio]
    return replace(by_ratio[int(np.argmax(best))], by_ratio=tuple(by_ratio))


def _warn_of_ordered_blocks(splits: list[Split], y: Vector) -> None:
    """Warn if folds are blocks of neighbouring samples whose responses are much alike, as in sorted data.

    A model is then scored on responses unlike those that it was fitted to.
    """
    are_blocks = len(splits) > 1 and all(
        1 < rows.size == np.ptp(rows) + 1 and rows.size + np.count_nonzero(kept) == y.size for kept, rows in splits
    )
    near = y - y[0]  # exactly zero where y is constant
    centred = near - near.mean()
    # Not by BLAS: its threads would spin beside the paths that follow.
    alike = np.sum(centred[1:] * centred[:-1]) / max(np.sum(centred**2), np.finfo(np.float64).tiny)
    # By chance it is about 1 / sqrt(m) at most.
    if are_blocks and alike > max(_MUCH_ALIKE, 4.0 / np.sqrt(y.size)):
        warn_of_doubt(
            f"Neighbouring responses are very similar (correlation {alike:.2f}), and folds are blocks of neighbours: "
            f"if samples are sorted, the scores are misleading. Shuffle: cv=KFold({len(splits)}, shuffle=True), or "
            "--shuffle on the command line."
        )


def warn_at_end_of_grid(path: LassoPath, choice: Choice) -> None:
    """Warn if the last point of the grid is the best one, and those beyond it may be better still."""
    last = len(path) - 1
    if last == 0 or (choice.point if choice.rule not in SCORE_RULES else choice.best) != last:
        return
    if _gain_beyond(choice.scores) > _FLAT * np.abs(choice.scores[last]):
        is_automatic = path.settings.get("points") is not None
        smaller = f"a smaller eps than {path.settings['eps']:g}, or with " if is_automatic else ""
        warn_of_doubt(
            f"The {choice.label} is best at the last point of the grid, and may be better beyond it: choose again with "
            f"{smaller}a grid that goes further."
        )


def _gain_beyond(scores: Vector) -> float:
    """Return what is to be gained beyond the last point: gains g' and g of the last two tenths go on as g'/g says."""
    tenth = max(1, len(scores) // 10)
    if len(scores) <= 2 * tenth:
        return math.inf
    before, gain = np.abs(np.diff(scores[-1 - 2 * tenth :: tenth]))
    if gain == 0.0:
        return 0.0
    return float(gain * gain / (before - gain)) if gain < before else math.inf


def _choose(
    paths: SubsetPaths,
    splits: list[Split],
    selection: SelectionOptions,
    scoring: Scoring,
    data: Data,
    workers: Workers,
) -> tuple[Choice, LassoPath]:
    """Score the points that all paths have, and choose one of them; return what the scores are of, too."""
    path, fold_paths, _ = paths
    if isinstance(selection.rule, str) and selection.rule in INFORMATION_RULES:
        return choose_by_information(path, selection.rule), path
    of_fold = partial(_fold_scores, paths, selection, scoring, data, workers)
    folds = [of_fold(fold=k, split=split) for k, split in enumerate(splits)]
    whole = relax(data, path, selection.blends, workers)
    if (own := selection.samples(data)) is not None:
        blended = whole.predict(
            lambda coefs, b0: replace(path, coefs=coefs, intercepts=b0).predict(own.X, offset=own.offset, kind="link"),
            selection.blends,
        )
        scoring = scoring.weighted(own.weights)
        held = HeldOut(own.response, own.X, weights=own.weights, params=scoring.params)
        folds.append(scoring.of(blended, held))
    n_points = min(len(path), *map(len, folds))
    scores = np.stack([scores[:n_points] for scores in folds], axis=2)  # points, blends, folds
    if np.isnan(scores).any(axis=2).all() and any(it.ending is not None for it in (path, *fold_paths)):
        warn_of_doubt("No point was solved in every fold before the end: no model is chosen.")
        return choice_of_point(path, 0, str(selection.rule), scoring.name, np.full(len(path), np.nan)), path
    needs_refit = np.array(selection.blends) < 1.0
    scores[np.ix_(~whole.has_refit[:n_points], needs_refit)] = np.nan
    # Of equals the sparsest, then the one nearest to the Lasso.
    at = best_point(scores.mean(axis=2).ravel(), scoring.greater_is_better) % len(selection.blends)
    scored = whole.mix(selection.blends[at])
    choice = choose_by_scores(scored, scores[:, at], selection.rule, scoring, selection.blends[at])
    if data.loss == "squared":
        return choice, scored
    judged = [_judged(choice, it, split, data, workers) for it, split in zip(fold_paths, splits, strict=True)]
    if own is not None:
        eta = LinearModel.from_choice(choice, path=scored).decision_function(own.X, offset=own.offset)
        judged.append(Judged(own.response, eta, np.ones(eta.size) if own.weights is None else own.weights))
    return replace(choice, pictures=pictures_of(data.loss, data.classes, judged)), scored


def _judged(choice: Choice, path: LassoPath, split: Split, data: Data, workers: Workers) -> Judged:
    """Return the samples held out from a fold, and what its model at the chosen point predicts for them."""
    (kept, rows), at = split, [choice.point]
    model = relax(data, path, (choice.blend,), workers, kept).mix(choice.blend)
    eta = predict_rows(data.design.columns, rows, model.coefs[:, at], model.intercepts[at])[:, 0]
    offset, weights = (given if given is None else given[rows] for given in (data.offset, data.weights))
    return Judged(
        data.response[rows], eta if offset is None else eta + offset, np.ones(rows.size) if weights is None else weights
    )


def _fold_scores(
    paths: SubsetPaths,
    selection: SelectionOptions,
    scoring: Scoring,
    data: Data,
    workers: Workers,
    *,
    fold: int,
    split: Split,
) -> NDArray[np.float64]:
    """Return the scores of a fold on the samples held out, of every point and blend."""
    path, (kept, rows) = paths.subset_paths[fold], split
    scores = None
    is_rest = np.array_equal(np.flatnonzero(kept == 0), np.sort(rows))
    if scoring.scorer is None and selection.blends == (1.0,) and is_rest:
        scores = paths.squared_errors(fold)
    if scores is None:
        relaxed = relax(data, path, selection.blends, workers, kept)
        blended = relaxed.predict(partial(predict_rows, data.design.columns, rows), selection.blends)
        scores = scoring.of(blended, scoring.of_fold(data, rows))
    scores = scores.reshape(len(path), -1)
    scores[[status.ends_path for status in path.statuses]] = np.nan  # begun, and not solved
    return scores

"""Scores of predictions: the mean squared error, or any scorer of scikit-learn."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from .._core.columns import Matrix, Vector
from ..data.scores import squared_errors


class _Predicted(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose predictions are made already: what a scorer asks for."""

    def __init__(self, values: Vector | None = None) -> None:
        self.values = values

    def fit(self, _X: Any, _y: Any) -> "_Predicted":
        return self

    def predict(self, _X: Any) -> Vector | None:
        return self.values

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Scoring(NamedTuple):
    """How predictions are judged."""

    name: str
    greater_is_better: bool
    scorer: Any = None  # None for the mean squared error
    params: Mapping[str, Any] = MappingProxyType({})  # for the scorer, by sample

    def of(self, blended: Sequence[Matrix], y: Vector, X: Any, rows: NDArray[np.int64] | None) -> Matrix:
        """Return the scores of every point and every blend; predictions are of shape (n_samples, n_points).

        `rows` are the samples in X and y that were predicted; all of them if None.
        """
        return np.stack([self._of_points(predicted, y, X, rows) for predicted in blended], axis=1)

    def _of_points(self, predicted: Matrix, y: Vector, X: Any, rows: NDArray[np.int64] | None) -> Vector:
        truth = y if rows is None else y[rows]
        if self.scorer is None:
            return squared_errors(predicted, truth)
        # scikit-learn's own scorers look at predictions only: they are spared a copy of the rows.
        looks_at_x = not hasattr(self.scorer, "_score_func")
        given = np.empty((truth.size, 0)) if not looks_at_x else X if rows is None else _safe_indexing(X, rows)
        params = _check_method_params(y, self.params, indices=rows)
        scores = np.full(predicted.shape[1], np.nan)
        for k in np.flatnonzero(np.isfinite(predicted).all(axis=0)):
            scores[k] = self.scorer(_Predicted(predicted[:, k]), given, truth, **params)
        return scores


def make_scoring(scoring: Any, params: dict[str, Any] | None = None) -> Scoring:
    """Return how predictions are judged by a scorer or by its name; None is the mean squared error."""
    if scoring is None:
        return Scoring("mean squared error", greater_is_better=False)
    try:
        scorer = get_scorer(scoring)
    except (ValueError, TypeError) as error:
        raise ValueError(f"scoring: {error}") from None
    if not callable(scorer):
        raise ValueError(f"scoring must be the name of a scorer or a function, got {scoring!r}")
    _check_for_predictions(scoring, scorer)
    name = (
        scoring if isinstance(scoring, str) else getattr(getattr(scoring, "_score_func", scoring), "__name__", "score")
    )
    return Scoring(name, True, scorer, params or {})


def _check_for_predictions(scoring: Any, scorer: Any) -> None:
    """Raise a ValueError if a scorer of scikit-learn's own wants classes, by a trial on some positive numbers."""
    if not getattr(getattr(scorer, "_score_func", None), "__module__", "").startswith("sklearn."):
        return
    truth = np.array([0.5, 1.5, 1.0])
    try:
        scorer(_Predicted(truth[::-1]), np.empty((3, 0)), truth)
    except (ValueError, AttributeError):
        raise ValueError(
            f"scoring={scoring!r} is for the classes or the probabilities of a classifier. Regressors predict numbers: "
            "take 'r2', 'neg_mean_absolute_error', 'neg_root_mean_squared_error' or another scorer of regressors, or "
            "make_scorer(function) with a function of the response and the predictions"
        ) from None

"""Scores of predictions: the mean squared error or deviance, or any scorer of scikit-learn."""

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Matrix, Vector
from ..data.inputs import Data
from ..data.labels import Classes
from ..data.links import mean_deviances
from ..data.scores import squared_errors


class HeldOut(NamedTuple):
    """Samples that predictions are judged on."""

    response: Vector  # what is predicted: of a fold, less the offset
    X: Any
    rows: NDArray[np.int64] | None = None  # the samples in X; None for all of them
    weights: Vector | None = None
    offset: Vector | None = None  # what the response and the predictions are without
    params: Mapping[str, Any] = MappingProxyType({})  # for the scorer


class Scoring(NamedTuple):
    """How predictions are judged."""

    name: str
    greater_is_better: bool
    scorer: Any = None  # None for the mean squared error
    params: Mapping[str, Any] = MappingProxyType({})  # for the scorer, by sample
    loss: str = "squared"
    classes: Classes = None

    def weighted(self, weights: Vector | None) -> "Scoring":
        """Return the same scores, of samples with these weights, if any; a ValueError if the scorer takes none."""
        params = {name: value for name, value in self.params.items() if name != "sample_weight"}
        if weights is None or self.scorer is None:
            return self._replace(params=params)
        function = getattr(self.scorer, "_score_func", self.scorer)
        if "sample_weight" not in inspect.signature(function).parameters:
            raise ValueError(
                f"scoring: {self.name} takes no sample_weight, and so cannot score weighted samples: take another "
                "scorer, or make_scorer(function) with a function that does"
            )
        return self._replace(params={**params, "sample_weight": weights})

    def of_fold(self, data: Data, rows: NDArray[np.int64]) -> HeldOut:
        """Return the samples of a fold, with what the scorer is given of them."""
        weights, offset = (None if given is None else given[rows] for given in (data.weights, data.offset))
        params = {}
        if self.params:
            from sklearn.utils.validation import _check_method_params

            params = _check_method_params(data.response, self.params, indices=rows)
        return HeldOut(data.response[rows], data.X, rows, weights, offset, params)

    def of(self, blended: Sequence[Matrix], held: HeldOut) -> Matrix:
        """Return the scores of every point and every blend; predictions are of shape (n_samples, n_points)."""
        return np.stack([self._of_points(predicted, held) for predicted in blended], axis=1)

    def _of_points(self, predicted: Matrix, held: HeldOut) -> Vector:
        truth, (X, rows) = held.response, held[1:3]
        if self.scorer is None and self.loss == "squared":
            return squared_errors(predicted, truth, held.weights)
        if held.offset is not None:
            predicted = predicted + held.offset[:, np.newaxis]
            truth = truth + held.offset if self.loss == "squared" else truth
        if self.scorer is None:
            return mean_deviances(self.loss, predicted, truth, held.weights)
        truth = truth if self.classes is None else np.array(self.classes)[truth.astype(np.int64)]
        from sklearn.utils import _safe_indexing

        from .predicted import predicted_by

        # scikit-learn's own scorers look at predictions only: they are spared a copy of the rows.
        looks_at_x = not hasattr(self.scorer, "_score_func")
        given = np.empty((truth.size, 0)) if not looks_at_x else X if rows is None else _safe_indexing(X, rows)
        scores = np.full(predicted.shape[1], np.nan)
        for k in np.flatnonzero(np.isfinite(predicted).all(axis=0)):
            made = predicted_by(self.loss, predicted[:, k], self.classes)
            scores[k] = self.scorer(made, given, truth, **held.params)
        return scores


def make_scoring(scoring: Any, params: dict[str, Any] | None = None, loss: str = "squared") -> Scoring:
    """Return how predictions are judged by a scorer or by its name; None is the mean squared error, or deviance."""
    if scoring is None:
        name = "mean squared error" if loss == "squared" else "mean deviance"
        return Scoring(name, greater_is_better=False, loss=loss)
    if loss == "cox":
        raise ValueError("scoring: loss='cox' is scored by the partial likelihood alone: leave it out")
    from sklearn.metrics import get_scorer

    try:
        scorer = get_scorer(scoring)
    except (ValueError, TypeError) as error:
        raise ValueError(f"scoring: {error}") from None
    if not callable(scorer):
        raise ValueError(f"scoring must be the name of a scorer or a function, got {scoring!r}")
    if loss != "logistic":
        _check_for_predictions(scoring, scorer)
    name = (
        scoring if isinstance(scoring, str) else getattr(getattr(scoring, "_score_func", scoring), "__name__", "score")
    )
    return Scoring(name, True, scorer, params or {}, loss=loss)


def _check_for_predictions(scoring: Any, scorer: Any) -> None:
    """Raise a ValueError if a scorer of scikit-learn's own wants classes, by a trial on some positive numbers."""
    if not getattr(getattr(scorer, "_score_func", None), "__module__", "").startswith("sklearn."):
        return
    from .predicted import Predicted

    truth = np.array([0.5, 1.5, 1.0])
    try:
        scorer(Predicted(truth[::-1]), np.empty((3, 0)), truth)
    except (ValueError, AttributeError):
        raise ValueError(
            f"scoring={scoring!r} is for the classes or the probabilities of a classifier. Regressors predict numbers: "
            "take 'r2', 'neg_mean_absolute_error', 'neg_root_mean_squared_error' or another scorer of regressors, or "
            "make_scorer(function) with a function of the response and the predictions"
        ) from None

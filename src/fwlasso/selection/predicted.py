"""Predictions as an estimator of scikit-learn, apart so that it is imported where a scorer is asked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._core.columns import Matrix, Vector
from ..data.labels import Classes
from ..data.links import from_link


class Predicted(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose predictions are made already: what a scorer asks for."""

    def __init__(self, values: Vector | None = None) -> None:
        self.values = values

    def fit(self, _X: Any, _y: Any) -> "Predicted":
        """Return it as it is."""
        return self

    def predict(self, _X: Any) -> Vector | None:
        """Return the predictions that it was made with."""
        return self.values

    def __sklearn_is_fitted__(self) -> bool:
        return True


class PredictedClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The same of two classes, by linear predictors."""

    def __init__(self, values: Vector | None = None, classes: Any = None) -> None:
        self.values, self.classes = values, classes

    def fit(self, _X: Any, _y: Any) -> "PredictedClasses":
        """Return it as it is."""
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.array(self.classes)

    def predict(self, _X: Any) -> NDArray[Any]:
        """Return labels."""
        return from_link("logistic", np.asarray(self.values), "class", self.classes)

    def predict_proba(self, _X: Any) -> Matrix:
        """Return the probabilities of both classes."""
        eta = np.asarray(self.values)
        return from_link("logistic", np.column_stack([-eta, eta]), "mean", self.classes)

    def decision_function(self, _X: Any) -> Vector | None:
        """Return the linear predictors."""
        return self.values

    def __sklearn_is_fitted__(self) -> bool:
        return True


def predicted_by(loss: str, eta: Vector, classes: Classes) -> Predicted | PredictedClasses:
    """Return an estimator with these linear predictors."""
    return Predicted(from_link(loss, eta, "mean", None)) if classes is None else PredictedClasses(eta, classes)

"""Predictions as an estimator of scikit-learn, apart so that it is imported where a scorer is asked."""

from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin

from .._core.columns import Vector


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

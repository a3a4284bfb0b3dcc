"""What all estimators have: settings, names of features, and predictions."""

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.columns import Vector
from ..data.checks import as_offset, check_indices, check_kind
from ..data.design import as_matrix, described, is_plain
from ..data.frames import frame_names, names_beside
from ..data.predict import Linear, multiply, offset_of, predict
from ..data.store import as_container
from ..models import LinearModel
from ..result import LassoPath
from ..scikit import path, without_tuning
from ..status import Status

if TYPE_CHECKING:
    import pandas as pd


@cache
def _param_names(kind: Hashable) -> list[str]:
    """Return the names of the parameters of a class; scikit-learn looks at the signature every time."""
    names: list[str] = kind._get_param_names()  # type: ignore[attr-defined]
    return names


class LinearEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted line: `coef_` and `intercept_`, and the path they were found on."""

    path = staticmethod(path)

    def _set_arguments(self, arguments: dict[str, Any]) -> None:
        """Set every argument of a constructor as an attribute of its name, as it is."""
        self.__dict__.update((name, value) for name, value in arguments.items() if name != "self")

    def _settings(self, kind: type[BaseEstimator]) -> dict[str, Any]:
        """Return the parameters of a class of ours that have an effect, as attributes have them.

        `get_params` would return those of a subclass, which may have a signature of its own.
        """
        return without_tuning({name: getattr(self, name) for name in _param_names(kind)})  # type: ignore[arg-type]

    def _take_names(self, X: Any) -> Any:
        """Note the features of X and their names; return X, as a store or a table if it is one."""
        if is_plain(X):  # without a name, and nothing to look for
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X
        container = as_container(X)
        validate_data(self, X if container is None else container.X, skip_check_array=True)
        if container is not None and container.feature_names is not None:
            self.feature_names_in_ = np.array(container.feature_names, dtype=object)
        return X if container is None else container

    @property
    def sparse_coef_(self) -> sp.csr_array:
        """The coefficients as a sparse row."""
        check_is_fitted(self)
        return sp.csr_array(self.coef_[np.newaxis])

    def to_frame(self) -> "pd.DataFrame":
        """Return the intercept and the nonzero coefficients as a pandas frame: see `LinearModel.to_frame`."""
        return LinearModel.from_estimator(self).to_frame()

    def predict(self, X: Any, *, offset: Any = None) -> Vector:
        """Predict the response of every row of X; ``path_.predict`` does by other models of a path.

        Of a model that was fitted with an offset, `offset` is that of these rows.
        """
        check_is_fitted(self)
        offset = offset_of(X, offset, has_offset=self.path_.has_offset)
        predicted = self._predict(X)
        return predicted if offset is None else predicted + as_offset(offset, len(predicted))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the coefficient of determination R^2 on (X, y), of weighted samples if there are weights."""
        from sklearn.metrics import r2_score  # as scikit-learn's own estimators do: it takes a while to import

        return float(r2_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    def _predict(self, X: Any) -> Vector:
        """Return X b + b0."""
        # scikit-learn compares names that are texts only.
        path, has_texts = self.path_, hasattr(self, "feature_names_in_")
        is_named = names_beside(X, path.feature_names) is not None and not has_texts
        if is_named or described(X) is not None or as_container(X) is not None:
            return predict(X, Linear(self.coef_, self.intercept_, path.feature_names, path.variants, path.first_index))
        check_indices(X)
        if frame_names(X) is None:
            check_kind("X", X)
            X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            X = as_matrix(X, accept_sparse=("csr", "csc"))
        return multiply(X, self.coef_, self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def raise_interrupt_of(*paths: LassoPath) -> None:
    """Raise what a path keeps to itself after Ctrl-C: a search over many fits is to end, and half a fit is none."""
    if any(path.ending is Status.INTERRUPTED for path in paths):
        raise KeyboardInterrupt

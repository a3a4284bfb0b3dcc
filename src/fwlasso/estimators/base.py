"""What all estimators have: settings, names of features, and predictions."""

from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.columns import Matrix, Vector
from ..data.checks import as_offset, as_weights, check_indices, check_kind
from ..data.design import as_matrix, described, is_plain
from ..data.frames import frame_names, names_beside
from ..data.links import from_link
from ..data.predict import Linear, multiply, offset_of, predict
from ..data.store import as_container
from ..data.survival import as_survival, concordance
from ..models import LinearModel
from ..result import LassoPath
from ..scikit import Versioned, without_tuning
from ..status import Status
from .callbacks import Watched


@cache
def _param_names(kind: Hashable) -> list[str]:
    """Return the names of the parameters of a class; scikit-learn looks at the signature every time."""
    names: list[str] = kind._get_param_names()  # type: ignore[attr-defined]
    return names


class LinearEstimator(Watched, Versioned, BaseEstimator):  # type: ignore[misc]
    """A fitted line: `coef_` and `intercept_`, and the path they were found on."""

    _loss = "squared"

    def _set_arguments(self, arguments: dict[str, Any]) -> None:
        """Set every argument of a constructor as an attribute of its name, as it is."""
        self.__dict__.update((name, value) for name, value in arguments.items() if name != "self")

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that have an effect, as attributes have them: those of the class of ours.

        `get_params` would return those of a subclass, which may have a signature of its own.
        """
        kind = next(it for it in type(self).__mro__ if it.__module__.startswith(f"{__package__}."))
        settings = without_tuning({name: getattr(self, name) for name in _param_names(kind)})
        if (tell := getattr(self, "_tell", None)) is not None:  # of scikit-learn's callbacks
            say = settings.get("callback", lambda _: None)
            settings["callback"] = lambda progress: say(progress) or tell(progress)
        return settings

    def _in_units(self, settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the weights of the samples; put parameters of this kind of estimator in terms of a path's options."""
        return sample_weight

    def _set_fit(self, path: LassoPath, point: int, coef: Vector, intercept: float) -> None:
        """Set what all estimators have, of a point of a path."""
        self.path_, self.coef_, self.intercept_ = path, coef, intercept
        self.alpha_ = float(path.alphas[point])
        self.dual_gap_, self.relative_gap_ = float(path.dual_gaps[point]), float(path.gaps[point])
        self.n_iter_: Any = min(int(path.counters.iterations.max()), self.max_iter)

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
        return sp.csr_array(np.atleast_2d(self.coef_))

    def to_frame(self) -> Any:
        """Return the intercept and the nonzero coefficients as a frame: see `LinearModel.to_frame`."""
        return LinearModel.from_estimator(self).to_frame()

    def _link(self, X: Any, offset: Any) -> Vector:
        """Return the linear predictor of every row of X, with the offset of a model that was fitted with one."""
        check_is_fitted(self)
        offset = offset_of(X, offset, has_offset=self.path_.has_offset)
        predicted = self._predict(X)
        return predicted if offset is None else predicted + as_offset(offset, len(predicted))

    def _predict(self, X: Any) -> Vector:
        """Return X b + b0."""
        # scikit-learn compares names that are texts only.
        path, has_texts = self.path_, hasattr(self, "feature_names_in_")
        coef, intercept = np.ravel(self.coef_), float(np.ravel(self.intercept_)[0])
        is_named = names_beside(X, path.feature_names) is not None and not has_texts
        container = as_container(X)
        if is_named or described(X) is not None or container is not None:
            X = X if container is None else container
            return predict(X, Linear(coef, intercept, path.feature_names, path.variants, path.first_index))
        check_indices(X)
        if frame_names(X) is None:
            check_kind("X", X)
            X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            X = as_matrix(X, accept_sparse=("csr", "csc"))
        return multiply(X, coef, intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Regressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Predicts numbers: those of least squares, or rates."""

    def predict(self, X: Any, *, offset: Any = None) -> Vector:
        """Predict the response of every row of X; ``path_.predict`` does by other models of a path.

        Of a model that was fitted with an offset, `offset` is that of these rows.
        """
        return from_link(self._loss, self._link(X, offset), "mean", None)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the coefficient of determination R^2 on (X, y), of weighted samples if there are weights.

        Of counts it is D^2, the share of the deviance that is explained.
        """
        from sklearn.metrics import d2_tweedie_score, r2_score  # it takes a while to import

        predicted = self.predict(X, offset=offset)
        if self._loss == "poisson":
            return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))
        return float(r2_score(y, predicted, sample_weight=sample_weight))


class Counts(Regressor):
    """Predicts rates."""

    _loss = "poisson"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class Survival(LinearEstimator):
    """Predicts who has an event sooner."""

    _loss = "cox"

    def predict(self, X: Any, *, offset: Any = None) -> Vector:
        """Return the linear predictor of every row of X, the logarithm of its risk: the larger, the sooner."""
        return self._link(X, offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return Harrell's concordance on (X, y), times and events: the share of pairs that are in the right order."""
        risks = self.predict(X, offset=offset)
        weights = None if sample_weight is None else as_weights(sample_weight, risks.size)
        return concordance(as_survival(y, risks.size), risks, weights)


class Classifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Predicts labels of two classes."""

    _loss = "logistic"

    def decision_function(self, X: Any, *, offset: Any = None) -> Vector:
        """Return the linear predictor of every row of X: positive for ``classes_[1]``."""
        return self._link(X, offset)

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Predict the label of every row of X; ``path_.predict`` does by other models of a path."""
        places = (self.decision_function(X, offset=offset) > 0.0).astype(np.int64)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: Any, *, offset: Any = None) -> Matrix:
        """Return the probabilities of both classes for every row of X."""
        eta = self.decision_function(X, offset=offset)
        return from_link("logistic", np.column_stack([-eta, eta]), "mean", None)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Matrix:
        """Return the logarithms of the probabilities of both classes for every row of X."""
        eta = self.decision_function(X, offset=offset)
        return np.asarray(-np.logaddexp(0.0, np.column_stack([eta, -eta])))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the share of right labels on (X, y), of weighted samples if there are weights."""
        return float(np.average(np.asarray(y) == self.predict(X, offset=offset), weights=sample_weight))

    def _in_units(self, settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the weights of the samples, those of their classes among them, and note their sum."""
        container, class_weight = as_container(X), settings.pop("class_weight")
        y = container.y if y is None and container is not None else y
        if sample_weight is None:
            sample_weight = getattr(container, "sample_weight", None)
        labels = np.asarray([] if y is None else y).ravel()
        m = labels.size
        given = None if sample_weight is None else as_weights(sample_weight, m)
        weights = np.ones(m) if given is None else given
        if isinstance(class_weight, str) and class_weight == "balanced":  # by weighted counts, as in scikit-learn 1.9
            _, places = np.unique(labels, return_inverse=True)
            counts = np.bincount(places, weights)
            weights = weights * (weights.sum() / (counts.size * counts))[places]
        elif class_weight is not None:
            from sklearn.utils.class_weight import compute_sample_weight

            weights = weights * compute_sample_weight(class_weight, labels)
        self._total_weight = float(weights.sum())
        return sample_weight if class_weight is None else weights

    def _set_fit(self, path: LassoPath, point: int, coef: Vector, intercept: float) -> None:
        """Set what scikit-learn's classifiers have, with a row for the second class."""
        super()._set_fit(path, point, coef[np.newaxis], np.array([intercept]))  # type: ignore[arg-type]
        self.classes_, self.n_iter_ = np.array(path.classes), np.array([self.n_iter_])
        self.C_ = 1.0 / (self.alpha_ * self._total_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def raise_interrupt_of(*paths: LassoPath) -> None:
    """Raise what a path keeps to itself after Ctrl-C: a search over many fits is to end, and half a fit is none."""
    if any(path.ending is Status.INTERRUPTED for path in paths):
        raise KeyboardInterrupt

"""Stability selection as a step of scikit-learn's pipelines."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..scikit import Versioned
from ..selection.stability import stability_selection

_OPTIONS = (
    *("n_subsamples", "fraction", "alphas", "eps", "loss"),
    *("fit_intercept", "standardize", "random_state", "n_threads"),
)


class StabilitySelector(SelectorMixin, Versioned, BaseEstimator):  # type: ignore[misc]
    """Take the features that are selected on most of many random subsamples.

    Parameters
    ----------
    threshold : float, default=0.6
        Share of the subsamples that select a feature at some point of the path.
    n_subsamples : int, default=100
    fraction : float, default=0.5
        Of the samples in every subsample.
    alphas : int or array, default=100
    eps : float, default=0.1
        The end of an automatic grid, as a share of its beginning. Further down most features are selected.
    loss : {"squared", "logistic", "poisson"}, default="squared"
        "logistic" for two classes, of which every subsample has the same share.
    fit_intercept, standardize, random_state, n_threads
        As in `lasso_path`.

    Attributes
    ----------
    stability_ : Stability
        How often features are selected along the path, and a bound on how many are by mistake.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import StabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 200)))
    >>> y = X[:, :3] @ [3.0, -3.0, 2.0] + rng.standard_normal(100)
    >>> selector = StabilitySelector(threshold=0.9, n_subsamples=20, eps=0.2, random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] < 10, selector.get_support(indices=True)[:3]
    (True, array([0, 1, 2]))
    """

    def __init__(
        self,
        *,
        threshold: float = 0.6,
        n_subsamples: int = 100,
        fraction: float = 0.5,
        alphas: Any = 100,
        eps: float = 0.1,
        loss: str = "squared",
        fit_intercept: bool = True,
        standardize: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.n_subsamples = n_subsamples
        self.fraction = fraction
        self.alphas = alphas
        self.eps = eps
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any) -> Self:
        """Count how often each feature is selected.

        Parameters
        ----------
        X, y
            As in `stability_selection`.

        Returns
        -------
        self
        """
        validate_data(self, X, skip_check_array=True)
        settings = {name: getattr(self, name) for name in _OPTIONS}
        found = stability_selection(X, y, **settings)
        found.selected(self.threshold)  # which checks it
        self.stability_ = found
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.stability_.selected(self.threshold)] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.target_tags.required = True
        return tags

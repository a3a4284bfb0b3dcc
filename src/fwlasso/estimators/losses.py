"""Estimators of classes and counts: of one point of a path, and of one that is chosen on it."""

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from .._core.notices import warn_of_doubt
from ..data.checks import check
from ..data.keywords import explain_unknown
from ..options import Options
from ..path import solve_path
from ..result import LassoPath
from ..scikit import EPS
from .base import Classifier, LinearEstimator, Regressor, raise_interrupt_of
from .chosen import Chosen
from .single import one_value


class _Single(LinearEstimator):
    """One point of a path."""

    def _solve(self, settings: dict[str, Any], alpha: float, X: Any, y: Any, **samples: Any) -> LassoPath:
        """Solve a point, and set what all estimators of one point have."""
        last = getattr(self, "coef_", None) if settings.pop("warm_start") else None
        options = Options(alphas=one_value("alpha", alpha), loss=self._loss, **settings)
        X = self._take_names(X)
        start = None if last is None or np.size(last) != self.n_features_in_ else np.ravel(last)
        path = solve_path(X, y, options, start, **samples)
        raise_interrupt_of(path)
        self.path_, self.alpha_ = path, float(path.alphas[0])
        self.dual_gap_, self.relative_gap_ = float(path.dual_gaps[0]), float(path.gaps[0])
        self.n_iter_: Any = min(int(path.counters.iterations[0]), self.max_iter)
        return path


def _checked_c(C: Any) -> float:
    is_number = isinstance(C, Real) and not isinstance(C, bool)
    check("C", C, is_number and 0.0 < float(C) < np.inf, "a number > 0")
    return float(C)


class LogisticLasso(_Single, Classifier):
    """Logistic regression with an l1 penalty, for two classes: one point of a certified path.

    It minimises C sum_i w_i f_i + ||b||_1, as scikit-learn's LogisticRegression does, or 1/W sum_i w_i f_i +
    alpha ||b||_1, f = log(1 + e^eta) - y eta. The intercept has no penalty. Both are the same for
    alpha = 1 / (C W), W the sum of the weights.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty.
    alpha : float, optional
        Penalty, in the place of `C`.
    class_weight : dict or "balanced", optional
        Weights of the classes, which multiply those of the samples, as in scikit-learn.
    tol, standardize, fit_intercept, penalty_factor, time_limit, n_threads
        As in `lasso_path`.
    max_iter : int, default=100_000
        As in `lasso_path`, but ten times as many, since there is only one point.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : array of shape (1, n_features)
    sparse_coef_ : scipy.sparse.csr_array of shape (1, n_features)
    intercept_ : array of shape (1,)
    C_, alpha_ : float
        The penalty in both units.
    dual_gap_ : float
        Duality gap over all columns of the objective with alpha.
    relative_gap_ : float
        The same relative to half the null deviance: what `tol` bounds.
    n_iter_ : array of shape (1,)
        Steps of Newton's method.
    path_ : LassoPath
        The fit as a path of one point.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import LogisticLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> y = np.where(X[:, 3] + 0.5 * rng.standard_normal(100) > 0, "yes", "no")
    >>> model = LogisticLasso(C=0.2).fit(X, y)
    >>> int(np.argmax(model.coef_)), model.classes_.tolist(), model.predict_proba(X).shape
    (3, ['no', 'yes'], (100, 2))
    """

    @explain_unknown()
    def __init__(
        self,
        C: float = 1.0,
        *,
        alpha: float | None = None,
        class_weight: Any = None,
        tol: float | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        penalty_factor: Any = None,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self._set_arguments(locals())

    @explain_unknown()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or table of shape (n_samples, n_features), as in `lasso_path`
        y : array of shape (n_samples,)
            Two labels. By default that of the store or the table.
        sample_weight, offset
            As in `lasso_path`.

        Returns
        -------
        self
        """
        settings = self._settings(LogisticLasso)
        C, alpha = settings.pop("C"), settings.pop("alpha")
        del settings["class_weight"]
        if alpha is not None and C != 1.0:  # by default
            warn_of_doubt(f"C={C!r} has no effect, as alpha={alpha!r} is given: leave one of them out.")
        weights, total = self._weights(X, y, sample_weight)
        alpha = 1.0 / (_checked_c(C) * max(total, 1e-300)) if alpha is None else alpha
        path = self._solve(settings, alpha, X, y, sample_weight=weights, offset=offset)
        self.C_, self.n_iter_ = 1.0 / (self.alpha_ * total), np.array([self.n_iter_])
        self._set_line(path.coef(0), float(path.intercepts[0]), path)
        return self


class PoissonLasso(_Single, Regressor):
    """Poisson regression with an l1 penalty, for counts: one point of a certified path.

    It minimises 1/W sum_i w_i (e^eta_i - y_i eta_i) + alpha ||b||_1, W the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    tol, standardize, fit_intercept, penalty_factor, max_iter, time_limit, n_threads, warm_start
        As in `LogisticLasso`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, dual_gap_, relative_gap_, n_iter_, path_, n_features_in_, feature_names_in_
        As in `LogisticLasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import PoissonLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> model = PoissonLasso(alpha=0.1).fit(X, rng.poisson(np.exp(X[:, 3])))
    >>> int(np.argmax(model.coef_)), bool((model.predict(X) > 0).all())
    (3, True)
    """

    _loss = "poisson"

    @explain_unknown()
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        tol: float | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        penalty_factor: Any = None,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self._set_arguments(locals())

    @explain_unknown()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model; arguments as in `LogisticLasso`, but for y, which are counts.

        Returns
        -------
        self
        """
        settings = self._settings(PoissonLasso)
        path = self._solve(settings, settings.pop("alpha"), X, y, sample_weight=sample_weight, offset=offset)
        self.coef_, self.intercept_ = path.coef(0), float(path.intercepts[0])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class LogisticLassoCV(Chosen, Classifier):
    """The best logistic model of a path, chosen by cross-validation or by an information criterion.

    Parameters
    ----------
    Cs : int or array, optional
        The grid in scikit-learn's units: a number of points, or values.
    alphas : int or array, optional
        The grid in those of `lasso_path`. By default 100 points.
    eps : float or None, default=1e-3
        Ratio of the ends of an automatic grid; None ends it by shape, as `lasso_path` does.
    cv, rule, scoring, validation
        As in `lasso_cv`: folds are stratified, and scores are mean deviances by default; any scorer of classifiers
        will do, such as "roc_auc".
    class_weight
        As in `LogisticLasso`.
    tol, standardize, fit_intercept, random_state, penalty_factor, max_iter, time_limit, n_threads
        As in `lasso_path`.

    Attributes
    ----------
    classes_, coef_, sparse_coef_, intercept_, n_iter_, dual_gap_, relative_gap_, n_features_in_, feature_names_in_
        As in `LogisticLasso`.
    C_, alpha_ : float
        The chosen penalty.
    alphas_ : array of shape (n_points,)
        The penalties of the path, from the largest on.
    deviance_path_ : array of shape (n_points, n_folds)
        Mean deviances on the held-out samples, if `scoring` is None.
    choice_, path_, fold_paths_
        As in `LassoCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import LogisticLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100) > 0
    >>> model = LogisticLassoCV(alphas=20, scoring="roc_auc").fit(X, y)
    >>> model.predict(X[:2]).dtype, model.coef_.shape
    (dtype('bool'), (1, 40))
    """

    @explain_unknown()
    def __init__(
        self,
        *,
        Cs: Any = None,
        alphas: Any = None,
        eps: float | None = EPS,
        cv: Any = None,
        rule: Any = "min",
        scoring: Any = None,
        validation: Any = None,
        class_weight: Any = None,
        tol: float | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        random_state: Any = None,
        penalty_factor: Any = None,
        max_iter: int = Options.max_iter,
        time_limit: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._set_arguments(locals())

    __metadata_request__fit = {"groups": UNUSED}  # noqa: RUF012

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        groups: Any = None,
        **params: Any,
    ) -> Self:
        """Compute the path and choose a model; arguments as in `LassoCV`.

        Returns
        -------
        self
        """
        settings = self._settings(LogisticLassoCV)
        Cs = settings.pop("Cs")
        del settings["class_weight"]
        if Cs is not None and settings["alphas"] is not None:
            raise ValueError("give Cs or alphas, not both")
        weights, total = self._weights(X, y, sample_weight)
        if Cs is not None:
            is_number = isinstance(Cs, int | np.integer)
            settings["alphas"] = Cs if is_number else [1.0 / (_checked_c(C) * total) for C in np.ravel(Cs).tolist()]
        choice = self._choose(settings, X, y, groups, params, sample_weight=weights, offset=offset).choice
        self.C_, self.n_iter_ = 1.0 / (self.alpha_ * total), np.array([self.n_iter_])
        self.__dict__.pop("deviance_path_", None)  # of an earlier fit
        if self.scoring is None and choice.fold_scores is not None:
            self.deviance_path_ = choice.fold_scores
        self._set_line(choice.coef.toarray()[:, 0], float(choice.intercept), self.path_)
        return self


class PoissonLassoCV(Chosen, Regressor):
    """The best Poisson model of a path, chosen by cross-validation or by an information criterion.

    Parameters
    ----------
    alphas, eps, cv, rule, scoring, validation
        As in `LogisticLassoCV`, but scorers are those of regressors, and folds as in `LassoCV`.
    tol, standardize, fit_intercept, random_state, penalty_factor, max_iter, time_limit, n_threads
        As in `lasso_path`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, alphas_, deviance_path_, choice_, path_, fold_paths_, n_iter_, dual_gap_, relative_gap_
        As in `LogisticLassoCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import PoissonLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> model = PoissonLassoCV(alphas=20).fit(X, rng.poisson(np.exp(X[:, 0])))
    >>> int(np.argmax(model.coef_)), model.deviance_path_.shape
    (0, (20, 5))
    """

    _loss = "poisson"

    @explain_unknown()
    def __init__(
        self,
        *,
        alphas: Any = None,
        eps: float | None = EPS,
        cv: Any = None,
        rule: Any = "min",
        scoring: Any = None,
        validation: Any = None,
        tol: float | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        random_state: Any = None,
        penalty_factor: Any = None,
        max_iter: int = Options.max_iter,
        time_limit: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._set_arguments(locals())

    __metadata_request__fit = {"groups": UNUSED}  # noqa: RUF012

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        groups: Any = None,
        **params: Any,
    ) -> Self:
        """Compute the path and choose a model; arguments as in `LassoCV`.

        Returns
        -------
        self
        """
        settings = self._settings(PoissonLassoCV)
        found = self._choose(settings, X, y, groups, params, sample_weight=sample_weight, offset=offset)
        choice = found.choice
        self.__dict__.pop("deviance_path_", None)  # of an earlier fit
        if self.scoring is None and choice.fold_scores is not None:
            self.deviance_path_ = choice.fold_scores
        self.coef_, self.intercept_ = choice.coef.toarray()[:, 0], float(choice.intercept)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

"""Estimators of classes and counts: of one point of a path, and of one that is chosen on it."""

from numbers import Real
from typing import Any

import numpy as np

from .._core.notices import warn_of_doubt
from ..data.checks import check
from ..data.keywords import explain_unknown
from ..options import Options
from ..scikit import EPS, OF_SQUARES, with_defaults
from .base import Classifier, Counts, Survival
from .chosen import Chosen
from .single import Single


def _checked_c(C: Any) -> float:
    is_number = isinstance(C, Real) and not isinstance(C, bool)
    check("C", C, is_number and 0.0 < float(C) < np.inf, "a number > 0")
    return float(C)


class LogisticLasso(Classifier, Single):
    """Logistic regression with an l1 penalty, for two classes: one point of a certified path.

    It minimises C sum_i w_i f_i + ||b||_1, as scikit-learn's LogisticRegression does, or 1/W sum_i w_i f_i +
    alpha ||b||_1, f = log(1 + e^eta) - y eta. The intercept has no penalty. Both are the same for
    alpha = 1 / (C W), W the sum of the weights. With `l1_ratio` ||b||_1 becomes
    l1_ratio ||b||_1 + 1/2 (1 - l1_ratio) ||b||^2, there and here.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty.
    alpha : float, optional
        Penalty, in the place of `C`.
    class_weight : dict or "balanced", optional
        Weights of the classes, which multiply those of the samples, as in scikit-learn.
    radius, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state, time_limit
        As in `Lasso`, like all of the others.
    n_threads, max_iter, warm_start, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `Lasso`; what a solver does not have for this loss is refused by name.

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
        radius: float | None = None,
        solver: str = Options.solver,
        stop: str = "gap",
        tol: float | None = None,
        sample_size: Any = None,
        block_size: int | None = None,
        variant: str = "default",
        standardize: bool = False,
        fit_intercept: bool = True,
        random_state: Any = None,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        positive: bool = False,
        lower: Any = None,
        upper: Any = None,
        penalty_factor: Any = None,
        unpenalized: Any = None,
        l1_ratio: float = Options.l1_ratio,
        ridge: float = Options.ridge,
        max_active: int | None = None,
    ) -> None:
        self._set_arguments(locals())

    def _in_units(self, settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> Any:
        C, alpha, radius = settings.pop("C"), settings["alpha"], settings["radius"]
        weights = super()._in_units(settings, X, y, sample_weight)
        given = next((f"{name}={it!r}" for name, it in (("radius", radius), ("alpha", alpha)) if it is not None), None)
        if given is not None and C != 1.0:  # by default
            warn_of_doubt(f"C={C!r} has no effect, as {given} is given: leave one of them out.")
        if alpha is None:
            settings["alpha"] = 1.0 if radius is not None else 1.0 / (_checked_c(C) * max(self._total_weight, 1e-300))
        return weights


@with_defaults(*OF_SQUARES)
class PoissonLasso(Single, Counts):
    """Poisson regression with an l1 penalty, for counts: one point of a certified path.

    It minimises 1/W sum_i w_i (e^eta_i - y_i eta_i) + alpha ||b||_1, W the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    radius, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state, time_limit
        As in `LogisticLasso`, like all of the others.
    n_threads, max_iter, warm_start, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
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


class LogisticLassoCV(Classifier, Chosen):
    """The best logistic model of a path, chosen by cross-validation or by an information criterion.

    Parameters
    ----------
    Cs : int or array, optional
        The grid in scikit-learn's units: a number of points, or values. Folds keep alpha, as those of `LassoCV` do;
        LogisticRegressionCV keeps C, which is a larger alpha for fewer samples.
    alphas : int or array, optional
        The grid in those of `lasso_path`. By default 100 points.
    eps : float or None, default=1e-3
        Ratio of the ends of an automatic grid; None ends it by shape, as `lasso_path` does.
    cv, rule, scoring, validation
        As in `lasso_cv`: folds are stratified, and scores are mean deviances by default; any scorer of classifiers
        will do, such as "roc_auc".
    class_weight
        As in `LogisticLasso`.
    relax, radii, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state
        As in `LassoCV`, like all of the others.
    max_iter, time_limit, n_threads, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `Lasso`; what a solver does not have for this loss is refused by name.
    n_jobs, verbose
        As in `LassoCV`.

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
    l1_ratio_, radius_, choice_, path_, fold_paths_
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
        class_weight: Any = None,
        cv: Any = None,
        rule: Any = "min",
        scoring: Any = None,
        relax: Any = False,
        validation: Any = None,
        alphas: Any = None,
        radii: Any = None,
        eps: float | None = EPS,
        solver: str = Options.solver,
        stop: str | None = None,
        tol: float | None = None,
        sample_size: Any = None,
        block_size: int | None = None,
        variant: str = "default",
        standardize: bool = False,
        fit_intercept: bool = True,
        random_state: Any = None,
        max_iter: int = Options.max_iter,
        time_limit: float | None = None,
        n_threads: int | None = None,
        positive: bool = False,
        lower: Any = None,
        upper: Any = None,
        penalty_factor: Any = None,
        unpenalized: Any = None,
        l1_ratio: Any = Options.l1_ratio,
        ridge: float = Options.ridge,
        max_active: int | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self._set_arguments(locals())

    def _in_units(self, settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> Any:
        Cs = settings.pop("Cs")
        weights = super()._in_units(settings, X, y, sample_weight)
        if Cs is not None and settings["alphas"] is not None:
            raise ValueError("give Cs or alphas, not both")
        if Cs is not None:
            is_number = isinstance(Cs, int | np.integer)
            total = self._total_weight
            settings["alphas"] = Cs if is_number else [1.0 / (_checked_c(C) * total) for C in np.ravel(Cs).tolist()]
        return weights


@with_defaults(*OF_SQUARES, "n_alphas")
class PoissonLassoCV(Chosen, Counts):
    """The best Poisson model of a path, chosen by cross-validation or by an information criterion.

    Parameters
    ----------
    alphas, eps, cv, rule, scoring, validation
        As in `LogisticLassoCV`, but scorers are those of regressors, and folds as in `LassoCV`.
    relax, radii, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state
        As in `LogisticLassoCV`, like all of the others.
    max_iter, time_limit, n_threads, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `LogisticLassoCV`.
    n_jobs, verbose
        As in `LassoCV`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, l1_ratio_, radius_, alphas_, deviance_path_, choice_, path_, fold_paths_, n_iter_, dual_gap_, relative_gap_
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


@with_defaults(*OF_SQUARES)
class CoxLasso(Survival, Single):
    """Cox regression with an l1 penalty, for survival data: one point of a certified path.

    It minimises -1/W log L(b) + alpha ||b||_1, L the partial likelihood with Breslow's ties, W the sum of the weights.
    The columns of y are times and events, and strata if there are three; see the guide for other ways to give them.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    radius, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state, time_limit
        As in `LogisticLasso`, like all of the others. There is no intercept to fit.
    n_threads, max_iter, warm_start, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `LogisticLasso`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    alpha_, dual_gap_, relative_gap_, n_iter_, path_, n_features_in_, feature_names_in_
        As in `LogisticLasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import CoxLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> times = rng.exponential(np.exp(-X[:, 3]))
    >>> y = np.column_stack([np.minimum(times, 2.0), times <= 2.0])
    >>> model = CoxLasso(alpha=0.1).fit(X, y)
    >>> int(np.argmax(model.coef_)), bool(model.score(X, y) > 0.7)
    (3, True)
    """


@with_defaults(*OF_SQUARES, "n_alphas")
class CoxLassoCV(Survival, Chosen):
    """The best Cox model of a path, chosen by cross-validation or by an information criterion.

    Folds are stratified by events, and scores are mean deviances of the partial likelihood among the samples left out.

    Parameters
    ----------
    alphas, eps, cv, rule, scoring, validation
        As in `LogisticLassoCV`, but there are no other scorers.
    relax, radii, solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state
        As in `LogisticLassoCV`, like all of the others. There is no intercept to fit.
    max_iter, time_limit, n_threads, positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `LogisticLassoCV`.
    n_jobs, verbose
        As in `LassoCV`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    alpha_, l1_ratio_, radius_, alphas_, deviance_path_, choice_, path_, fold_paths_, n_iter_, dual_gap_, relative_gap_
        As in `LogisticLassoCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import CoxLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> times = rng.exponential(np.exp(-X[:, 0]))
    >>> y = np.column_stack([np.minimum(times, 2.0), times <= 2.0])
    >>> model = CoxLassoCV(alphas=20).fit(X, y)
    >>> int(np.argmax(model.coef_)), model.deviance_path_.shape
    (0, (20, 5))
    """

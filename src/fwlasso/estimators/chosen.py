"""Estimators that choose a point of a path."""

import math
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from ..data.checks import count_alike
from ..data.keywords import explain_unknown
from ..options import Options
from ..scikit import EPS, alphas_of, net_path, path, with_defaults
from ..selection.cross_validation import CrossValidation, cross_validate, for_ratios
from ..selection.folds import SelectionOptions
from ..selection.scoring import make_scoring
from .base import LinearEstimator, Regressor, raise_interrupt_of
from .callbacks import watched

#: How a model is chosen, by the names of parameters.
_CHOICES = "cv", "rule", "scoring", "relax", "validation"


class Chosen(LinearEstimator):
    """A point that is chosen on a path, by scores of folds or by a criterion."""

    # Groups are a request of the splitter, not of this class.
    __metadata_request__fit = {"groups": UNUSED}  # noqa: RUF012

    # So many parameters: those of a path, and of a choice on it.
    @explain_unknown()
    def __init__(
        self,
        *,
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
        precompute: Any = "auto",
        copy_X: bool = True,
        selection: str = "cyclic",
        n_jobs: int | None = None,
        verbose: bool | int = False,
        n_alphas: int | None = None,
    ) -> None:
        self._set_arguments(locals())

    @watched
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
        """Compute the path and choose a model.

        Parameters
        ----------
        X, y
            As in `lasso_path`.
        sample_weight, offset
            As in `lasso_cv`. With scikit-learn's metadata routing, a scorer gets the weights if it requests them.
        groups : array, optional
            Of the samples, for splitters that ask for them.
        **params
            Metadata for the splitter and the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        settings = self._settings()
        sample_weight = self._in_units(settings, X, y, sample_weight)
        if settings["eps"] == 1.0:  # which scikit-learn takes: all points are at the largest alpha
            settings["eps"] = math.nextafter(1.0, 0.0)
        settings["alphas"] = alphas_of(settings["alphas"], settings.pop("n_alphas", None))
        found = self._choose(settings, X, y, groups, params, sample_weight=sample_weight, offset=offset)
        choice, by_ratio = found.choice, found.by_ratio or (found,)
        self._set_fit(found.path, choice.point, choice.coef.toarray()[:, 0], float(choice.intercept))
        self.choice_, self.fold_paths_, self.alphas_ = choice, found.fold_paths, found.path.alphas
        if found.path.settings.get("points") is not None:  # a grid for every ratio
            self.alphas_ = _stacked([it.path.alphas for it in by_ratio])
        self.l1_ratio_, self.radius_ = found.l1_ratio, choice.radius
        scores = "mse_path_" if self._loss == "squared" else "deviance_path_"
        self.__dict__.pop(scores, None)  # of an earlier fit
        if self.scoring is None and choice.fold_scores is not None:
            setattr(self, scores, _stacked([it.choice.fold_scores for it in by_ratio]))
        return self

    def _choose(
        self, settings: dict[str, Any], X: Any, y: Any, groups: Any, params: dict[str, Any], **samples: Any
    ) -> CrossValidation:
        """Compute the path, and choose a model."""
        selected_by = {name: settings.pop(name) for name in _CHOICES if name in settings}
        asked = for_ratios(**{"l1_ratio": Options.l1_ratio, **settings}, loss=self._loss)
        selection = SelectionOptions(**selected_by, **self._routed(samples["sample_weight"], groups, params))
        found = cross_validate(self._take_names(X), y, asked, selection, **samples)
        raise_interrupt_of(*(path for it in found.by_ratio or (found,) for path in (it.path, *it.fold_paths)))
        return found

    def _routed(self, sample_weight: Any, groups: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return what the splitter and the scorer are given, as `SelectionOptions` has it."""
        given = params if groups is None else {**params, "groups": groups}
        weights = {} if count_alike(sample_weight) else {"sample_weight": sample_weight}
        is_routed = get_config()["enable_metadata_routing"]
        if params and not is_routed:
            raise ValueError(f"{', '.join(params)}: metadata can only be passed if enable_metadata_routing is set")
        if not is_routed or not params | weights:
            return {"split_params": given}
        routed = process_routing(self, "fit", **given, **weights)
        of_scorer = routed.scorer.score if "scorer" in routed else weights
        of_split = {"split_params": routed.splitter.split, "weighs_scores": "sample_weight" in of_scorer}
        return of_split | {"score_params": of_scorer}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what metadata goes where: to the splitter and to the scorer."""
        router = MetadataRouter(owner=self.__class__.__name__).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            scorer = make_scoring(self.scoring, loss=self._loss).scorer
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router


@with_defaults()
class LassoCV(Chosen, Regressor):
    """The best model of a path, chosen by cross-validation or by an information criterion.

    The folds share X, and all of them are certified: the choice is that of scikit-learn's LassoCV with exact solutions.
    The folds and the grid are its defaults, 100 alphas down to 1e-3 of the largest; `lasso_path` and `lasso_cv` end
    a grid by shape. Two defaults differ: `tol` is 1e-6 of 1/2 ||y||^2 for 1e-4 of ||y||^2, `max_iter` 10,000 for 1,000.

    Parameters
    ----------
    cv, rule, scoring, relax, validation
        As in `lasso_cv`.
    alphas, radii, solver, stop, tol
        As in `lasso_path`.
    eps : float or None, default=1e-3
        Ratio of the ends of an automatic grid; None ends it by shape, as `lasso_path` does.
    sample_size, block_size, variant, standardize, fit_intercept, random_state
        As in `lasso_path`.
    max_iter, time_limit, n_threads
        As in `lasso_path`; the time limit is for all folds together.
    positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `lasso_path`.
    n_alphas : int, optional
        Number of alphas if these are None, as scikit-learn calls it before 1.9.
    n_jobs : int, optional
        Number of threads, if `n_threads` is None; -1 are all cores.
    verbose : bool or int, default=False
        Whether the log tells of every tenth of the work.
    precompute, copy_X, selection
        Keywords of scikit-learn's LassoCV that tune its solver. They have no effect: X is never changed.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    sparse_coef_ : scipy.sparse.csr_array of shape (1, n_features)
    intercept_ : float
    alpha_, l1_ratio_ : float
        Penalty of the chosen point.
    radius_ : float
        l1 norm of the chosen model.
    alphas_ : array of shape (n_points,)
        The penalties of the path, from the largest on. With several l1_ratios, see `ElasticNetCV`.
    mse_path_ : array of shape (n_points, n_folds)
        Mean squared errors on the held-out samples, if `scoring` is None.
    choice_ : Choice
        The chosen point and all scores.
    path_ : LassoPath
        On all samples.
    fold_paths_ : tuple of LassoPath
    dual_gap_, relative_gap_ : float
        Duality gap of the chosen point over all columns, as in `Lasso`.
    n_iter_ : int
        The most iterations that a point of the path took, counted up to `max_iter`, as in `Lasso`.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 40)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100)
    >>> model = LassoCV(rule="1se").fit(X, y)
    >>> np.flatnonzero(model.coef_)[:3].tolist(), model.mse_path_.shape
    ([0, 1, 2], (100, 5))
    """

    path = staticmethod(path)


def _stacked(values: list[Any]) -> Any:
    """Return arrays of several ratios in one, NaN where some are shorter; that of a single one as it is."""
    if len(values) == 1:
        return values[0]
    stacked = np.full((len(values), max(map(len, values)), *values[0].shape[1:]), np.nan)
    for row, it in zip(stacked, values, strict=True):
        row[: len(it)] = it
    return stacked


@with_defaults(l1_ratio=0.5)
class ElasticNetCV(LassoCV):
    """The best model of elastic net paths, chosen by cross-validation over alphas and ratios of the penalties.

    It is `LassoCV` with another default: all of its other parameters, attributes and methods are here.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share of the l1 norm in the penalty, in (0, 1], as in `ElasticNet`. Of several the best one is chosen: all of
        their paths and folds share their passes over X.
    cv, rule, scoring, relax, validation, alphas, radii, eps, solver, stop, tol, sample_size, block_size, variant
        As in `LassoCV`.
    standardize, fit_intercept, random_state, max_iter, time_limit, n_threads, n_alphas
        As in `LassoCV`.
    positive, lower, upper, penalty_factor, unpenalized, ridge, max_active
        As in `lasso_path`.
    n_jobs, verbose, precompute, copy_X, selection
        As in `LassoCV`: the last three have no effect.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    alpha_, l1_ratio_ : float
        Of the chosen model.
    alphas_ : array of shape (n_points,), or (n_ratios, n_points) where each of several ratios has a grid of its own
    mse_path_ : array of shape (n_points, n_folds), or (n_ratios, n_points, n_folds)
        Mean squared errors on the held-out samples, if `scoring` is None.
    sparse_coef_, radius_, choice_, path_, fold_paths_, dual_gap_, relative_gap_, n_iter_, n_features_in_
        As those of `LassoCV`, for the chosen ratio.
    feature_names_in_ : array of str, if X has names

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 40)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0]).fit(X, y)
    >>> model.l1_ratio_, model.alphas_.shape, model.mse_path_.shape
    (1.0, (3, 100), (3, 100, 5))
    """

    path = staticmethod(net_path)

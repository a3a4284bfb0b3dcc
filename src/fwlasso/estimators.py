"""scikit-learn estimators: validate, solve, set attributes."""

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from ._core.columns import Vector
from .data.checks import check, check_indices, check_kind
from .data.design import as_matrix, described, is_plain
from .data.frames import frame_names, names_beside
from .data.keywords import explain_unknown
from .data.predict import Linear, multiply, predict
from .data.store import as_container
from .models import LinearModel
from .options import Options
from .path import solve_path
from .result import LassoPath
from .scikit import EPS, alphas_of, path, without_tuning
from .selection.cross_validation import cross_validate
from .selection.folds import SelectionOptions
from .selection.scoring import make_scoring
from .status import Status

if TYPE_CHECKING:
    import pandas as pd


@cache
def _param_names(kind: Hashable) -> list[str]:
    """Return the names of the parameters of a class; scikit-learn looks at the signature every time."""
    names: list[str] = kind._get_param_names()  # type: ignore[attr-defined]
    return names


class _LinearModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
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

    def predict(self, X: Any) -> Vector:
        """Predict the response of every row of X; ``path_.predict`` does by other models of a path."""
        check_is_fitted(self)
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


class Lasso(_LinearModel):
    """A Lasso model: one point of the path, by penalty or by radius.

    With `alpha` it minimises 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1, as scikit-learn's Lasso does; with `radius`,
    1/(2m) ||y - X b - b0||^2 subject to ||b||_1 <= radius.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    radius : float, optional
        Largest l1 norm of the coefficients. If it is given, it takes the place of `alpha`.
    solver : str, default="certified"
        As in `lasso_path`. Some solve by `alpha` only, some by `radius` only.
    stop : {"gap", "change", "paper"}, default="gap"
        As in `lasso_path`: a single model is solved to a certified accuracy, by every solver.
    tol, sample_size, block_size, variant, standardize, fit_intercept, random_state, time_limit, n_threads
        As in `lasso_path`.
    max_iter : int, default=100_000
        As in `lasso_path`, but ten times as many, since there is only one point.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, which stay if they are a solution already. Solvers other
        than "certified" start from zero.
    positive, lower, upper, penalty_factor, unpenalized, l1_ratio, ridge, max_active
        As in `lasso_path`.
    precompute, copy_X, selection
        Keywords of scikit-learn's Lasso that tune its solver. They have no effect: X is never changed.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    sparse_coef_ : scipy.sparse.csr_array of shape (1, n_features)
    intercept_ : float
    dual_gap_ : float
        Duality gap over all columns of the objective above: in its units, as scikit-learn has it.
    relative_gap_ : float
        The same relative to 1/(2m) ||y||^2 (y centred if there is an intercept): what `tol` bounds.
    n_iter_ : int
        Iterations, counted up to `max_iter`, those of "certified" for other penalties on its way included: `path_` says
        whether the model converged.
    path_ : LassoPath
        The fit as a path of one point, with its status and counters.
    n_features_in_ : int
    feature_names_in_ : array of str, if X has names

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import Lasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> y = 4 * X[:, 3] + rng.standard_normal(100)
    >>> model = Lasso(radius=3.0).fit(X, y)
    >>> int(np.argmax(model.coef_)), bool(np.abs(model.coef_).sum() <= 3.0 + 1e-9)
    (3, True)
    """

    # Weights are refused, but a pipeline may say that they are for its other steps.
    __metadata_request__fit = {"sample_weight": None}  # noqa: RUF012

    # So many parameters: scikit-learn's estimators have every setting in their signature.
    @explain_unknown()
    def __init__(
        self,
        alpha: float = 1.0,
        *,
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
        precompute: Any = False,
        copy_X: bool = True,
        selection: str = "cyclic",
    ) -> None:
        self._set_arguments(locals())

    def fit(self, X: Any, y: Any = None, **params: Any) -> "Lasso":
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or table of shape (n_samples, n_features), as in `lasso_path`
        y : array of shape (n_samples,)
            By default that of the store or the table.
        **params
            ``sample_weight`` must be None: weights are not supported yet.

        Returns
        -------
        self
        """
        for name in _without_weights(params):
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        settings = self._settings(Lasso)
        alpha, radius, warm_start = (settings.pop(name) for name in ("alpha", "radius", "warm_start"))
        penalized = radius is None
        options = Options(
            alphas=_one_value("alpha", alpha) if penalized else None,
            radii=None if penalized else _one_value("radius", radius),
            **settings,
        )
        last = getattr(self, "coef_", None) if warm_start else None
        if last is not None:
            last = np.asarray(last)
            finite = last.ndim == 1 and last.dtype.kind in "iuf" and np.isfinite(last).all()
            check("coef_", last, bool(finite), "finite numbers in one dimension, to start from")
        X = self._take_names(X)
        start = last if last is not None and last.size == self.n_features_in_ else None
        path = solve_path(X, y, options, start)
        _raise_interrupt_of(path)
        self.path_ = path
        coef = path.coef(0)
        # If nothing was solved again, the coefficients stay to the last bit, whatever units they went through.
        unchanged = start is not None and path.counters.iterations[0] == 0 and np.allclose(coef, start, 1e-14, 0.0)
        self.coef_ = start if unchanged else coef
        self.intercept_ = float(path.intercepts[0])
        self.dual_gap_, self.relative_gap_ = float(path.dual_gaps[0]), float(path.gaps[0])
        self.n_iter_ = min(int(path.counters.iterations[0]), self.max_iter)
        return self


class LassoCV(_LinearModel):
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
    precompute, copy_X, selection, n_jobs, verbose
        Keywords of scikit-learn's LassoCV that tune its solver. They have no effect: X is never changed, and
        `n_threads` sets the number of threads.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    sparse_coef_ : scipy.sparse.csr_array of shape (1, n_features)
    intercept_ : float
    alpha_ : float
        Penalty of the chosen point.
    radius_ : float
        l1 norm of the chosen model.
    alphas_ : array of shape (n_points,)
        The penalties of the path, from the largest on.
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

    # Groups are a request of the splitter, not of this class. Weights as in `Lasso`.
    __metadata_request__fit = {"groups": UNUSED, "sample_weight": None}  # noqa: RUF012

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
        l1_ratio: float = Options.l1_ratio,
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

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> "LassoCV":
        """Compute the path and choose a model.

        Parameters
        ----------
        X, y
            As in `lasso_path`.
        groups : array, optional
            Of the samples, for splitters that ask for them.
        **params
            Metadata for the splitter and the scorer, if scikit-learn's metadata routing is enabled.
            ``sample_weight`` must be None: weights are not supported yet.

        Returns
        -------
        self
        """
        params = _without_weights(params)
        settings = self._settings(LassoCV)
        selected_by = {name: settings.pop(name) for name in ("cv", "rule", "scoring", "relax", "validation")}
        options = Options(**settings | {"alphas": alphas_of(settings["alphas"], settings.pop("n_alphas"))})
        split_params, score_params = self._routed(groups, params)
        selection = SelectionOptions(**selected_by, split_params=split_params, score_params=score_params)
        found = cross_validate(self._take_names(X), y, options, selection)
        path, choice = found.path, found.choice
        _raise_interrupt_of(path, *found.fold_paths)
        self.path_, self.choice_, self.fold_paths_ = path, choice, found.fold_paths
        self.alphas_, self.alpha_ = path.alphas, float(path.alphas[choice.point])
        self.radius_ = choice.radius
        self.__dict__.pop("mse_path_", None)  # of an earlier fit
        if self.scoring is None and choice.fold_scores is not None:
            self.mse_path_ = choice.fold_scores
        self.coef_ = choice.coef.toarray()[:, 0]
        self.intercept_ = choice.intercept
        self.dual_gap_, self.relative_gap_ = float(path.dual_gaps[choice.point]), float(path.gaps[choice.point])
        self.n_iter_ = min(int(path.counters.iterations.max()), self.max_iter)
        return self

    def _routed(self, groups: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is given to the splitter and to the scorer."""
        given = params if groups is None else {**params, "groups": groups}
        if not params or not get_config()["enable_metadata_routing"]:
            if params:
                raise ValueError(f"{', '.join(params)}: metadata can only be passed if enable_metadata_routing is set")
            return given, {}
        routed = process_routing(self, "fit", **given)
        return routed.splitter.split, routed.scorer.score if "scorer" in routed else {}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what metadata goes where: to the splitter and to the scorer."""
        router = MetadataRouter(owner=self.__class__.__name__).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            scorer = make_scoring(self.scoring).scorer
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router


def _without_weights(params: dict[str, Any]) -> dict[str, Any]:
    """Return what `fit` was given but for ``sample_weight=None``; weights would not be used, and are refused."""
    if params.get("sample_weight") is not None:
        raise ValueError("sample_weight: weighted samples are not supported yet, leave it out")
    return {name: value for name, value in params.items() if name != "sample_weight"}


def _raise_interrupt_of(*paths: LassoPath) -> None:
    """Raise what a path keeps to itself after Ctrl-C: a search over many fits is to end, and half a fit is none."""
    if any(path.ending is Status.INTERRUPTED for path in paths):
        raise KeyboardInterrupt


def _one_value(name: str, value: Any) -> list[float]:
    number = np.asarray(value)
    if number.ndim != 0 or number.dtype.kind not in "iuf" or not np.isfinite(number) or number < 0:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    return [float(number)]

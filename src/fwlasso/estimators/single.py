"""Estimators of one point of a path: validate, solve, set attributes."""

from typing import Any, Self

import numpy as np

from .._core.notices import warn_of_doubt
from ..data.checks import check
from ..data.keywords import explain_unknown
from ..options import Options
from ..path import solve_path
from ..scikit import net_path, path, with_defaults
from .base import LinearEstimator, Regressor, raise_interrupt_of
from .callbacks import watched


class Single(LinearEstimator):
    """One point of a path, by penalty or by radius: what estimators of every loss share."""

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

    @explain_unknown()
    @watched
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or table of shape (n_samples, n_features), as in `lasso_path`
        y : array of shape (n_samples,)
            Numbers, two labels or counts. By default those of the store or the table.
        sample_weight, offset
            As in `lasso_path`; weights are rescaled as in scikit-learn, so that `alpha` is a penalty of their mean.

        Returns
        -------
        self
        """
        settings = self._settings()
        sample_weight = self._in_units(settings, X, y, sample_weight)
        alpha, radius, warm_start = (settings.pop(name) for name in ("alpha", "radius", "warm_start"))
        penalized = radius is None
        if not (penalized or alpha == 1.0):  # by default
            warn_of_doubt(f"alpha={alpha!r} has no effect, as radius={radius!r} is given: leave one of them out.")
        options = Options(
            alphas=one_value("alpha", alpha) if penalized else None,
            radii=None if penalized else one_value("radius", radius),
            loss=self._loss,
            **settings,
        )
        last = getattr(self, "coef_", None) if warm_start else None
        if last is not None:
            last = np.asarray(last)
            finite = last.ndim == 1 + np.ndim(self.intercept_) and last.dtype.kind in "iuf" and np.isfinite(last).all()
            check("coef_", last, bool(finite), "finite numbers in one dimension, to start from")
        X = self._take_names(X)
        start = last.ravel() if last is not None and last.size == self.n_features_in_ else None
        found = solve_path(X, y, options, start, sample_weight=sample_weight, offset=offset)
        raise_interrupt_of(found)
        coef = found.coef(0)
        # If nothing was solved again, the coefficients stay to the last bit, whatever units they went through.
        if start is not None and found.counters.iterations[0] == 0 and np.allclose(coef, start, 1e-14, 0.0):
            coef = start
        self._set_fit(found, 0, coef, float(found.intercepts[0]))
        return self


@with_defaults()
class Lasso(Single, Regressor):
    """A Lasso model: one point of the path, by penalty or by radius.

    With `alpha` it minimises 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1, as scikit-learn's Lasso does; with `radius`,
    1/(2m) ||y - X b - b0||^2 subject to ||b||_1 <= radius.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    radius : float, optional
        Largest l1 norm of the coefficients, in the place of `alpha`.
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
    alpha_ : float
        The penalty; with `radius`, the one that the solution has.
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

    path = staticmethod(path)

    @explain_unknown()
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, check_input: bool = True
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, frame, Genotypes, store or table of shape (n_samples, n_features), as in `lasso_path`
        y : array of shape (n_samples,)
            By default that of the store or the table.
        sample_weight, offset
            As in `lasso_path`; weights are rescaled as in scikit-learn, so that `alpha` is a penalty of their mean.
        check_input : bool, default=True
            A keyword of scikit-learn's. It has no effect: data are looked at, and X is not changed.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, offset=offset)


@with_defaults(l1_ratio=0.5)
class ElasticNet(Lasso):
    """An elastic net: one point of its path.

    It minimises 1/(2m) ||y - X b - b0||^2 + alpha (l1_ratio ||b||_1 + 1/2 (1 - l1_ratio) ||b||^2), as scikit-learn's
    ElasticNet does. It is `Lasso` with another default: all of its other parameters, attributes and methods are here.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    l1_ratio : float, default=0.5
        Share of the l1 norm in the penalty, in (0, 1]: 1 is the Lasso. 0 is refused: that is scikit-learn's Ridge.
    radius, ridge
        Largest l1 norm, with ``l1_ratio=1`` and a quadratic penalty `ridge`, in the place of `alpha`.
    solver, stop, tol, sample_size, block_size, variant, standardize, fit_intercept, random_state, time_limit, n_threads
        As in `Lasso`.
    max_iter, warm_start, positive, lower, upper, penalty_factor, unpenalized, max_active
        As in `Lasso`.
    precompute, copy_X, selection
        Keywords of scikit-learn's ElasticNet that tune its solver. They have no effect.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    sparse_coef_, dual_gap_, relative_gap_, n_iter_, path_, n_features_in_, feature_names_in_
        As those of `Lasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import ElasticNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> X[:, 4] = X[:, 3]
    >>> model = ElasticNet(0.5).fit(X, 4 * X[:, 3] + rng.standard_normal(100))
    >>> bool(model.coef_[3] > 1.0), bool(abs(model.coef_[3] - model.coef_[4]) < 0.1)  # copies share
    (True, True)
    """

    path = staticmethod(net_path)


def one_value(name: str, value: Any) -> list[float]:
    """Return a grid of one point, or raise a ValueError that names the argument."""
    number = np.asarray(value)
    if number.ndim != 0 or number.dtype.kind not in "iuf" or not np.isfinite(number) or number < 0:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    return [float(number)]

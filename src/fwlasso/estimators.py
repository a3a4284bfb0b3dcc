"""scikit-learn estimators: validate, solve, set attributes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from .bed import Genotypes
from .columns import Vector
from .options import Options
from .path import solve_path
from .store import as_store


class Lasso(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A Lasso model: one point of the path, by penalty or by radius.

    With `alpha` it minimises 1/(2m) ||y - X b - b0||^2 + alpha ||b||_1, as scikit-learn's Lasso does; with `radius`,
    1/(2m) ||y - X b - b0||^2 subject to ||b||_1 <= radius.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    radius : float, optional
        Largest l1 norm of the coefficients. If it is given, it takes the place of `alpha`.
    solver : str, default="corrective"
        As in `lasso_path`. Some solve by `alpha` only, some by `radius` only.
    stop : {"gap", "change", "paper"}, default="gap"
        As in `lasso_path`: a single model is solved to a certified accuracy, by every solver.
    tol, sample_size, block_size, standardize, fit_intercept, random_state, max_iter, time_limit, n_threads
        As in `lasso_path`.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, which are kept where they are a solution already. The other
        solvers than "corrective" start from zero.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    sparse_coef_ : scipy.sparse.csr_array of shape (1, n_features)
    intercept_ : float
    dual_gap_ : float
        Duality gap over all columns relative to 1/2 ||y||^2.
    n_iter_ : int
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

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        radius: float | None = None,
        solver: str = "corrective",
        stop: str = "gap",
        tol: float | None = None,
        sample_size: Any = None,
        block_size: int | None = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        random_state: Any = None,
        max_iter: int = 100_000,
        time_limit: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.radius = radius
        self.solver = solver
        self.stop = stop
        self.tol = tol
        self.sample_size = sample_size
        self.block_size = block_size
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None) -> "Lasso":
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, frame or Genotypes of shape (n_samples, n_features), or a store, as in `lasso_path`
        y : array of shape (n_samples,)
            By default that of the store.

        Returns
        -------
        self
        """
        settings = self.get_params()
        alpha, radius, warm_start = (settings.pop(name) for name in ("alpha", "radius", "warm_start"))
        penalized = radius is None
        options = Options(
            alphas=_one_value("alpha", alpha) if penalized else None,
            radii=None if penalized else _one_value("radius", radius),
            eps=1e-2,
            callback=None,
            certify=True,
            **settings,
        )
        last: Vector | None = getattr(self, "coef_", None) if warm_start else None
        store = as_store(X)
        validate_data(self, X if store is None else store.X, skip_check_array=True)
        if store is not None and store.feature_names is not None:
            self.feature_names_in_ = np.array(store.feature_names, dtype=object)
        start = last if last is not None and last.size == self.n_features_in_ else None
        path = solve_path(X if store is None else store, y, options, start)
        self.path_ = path
        coef = path.coef(0)
        # Where nothing was solved again, the coefficients are kept to the last bit, whatever units they went through.
        unchanged = start is not None and path.counters.iterations[0] == 0 and np.allclose(coef, start, 1e-14, 0.0)
        self.coef_ = start if unchanged else coef
        self.intercept_ = float(path.intercepts[0])
        self.dual_gap_ = float(path.gaps[0])
        self.n_iter_ = int(path.counters.iterations[0])
        return self

    @property
    def sparse_coef_(self) -> sp.csr_array:
        """The coefficients as a sparse row."""
        check_is_fitted(self)
        return sp.csr_array(self.path_.coefs.T)

    def predict(self, X: Any) -> Vector:
        """Predict the response of every row of X."""
        check_is_fitted(self)
        if isinstance(X, Genotypes):
            return self.path_.predict(X, point=0)
        X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        return np.asarray(safe_sparse_dot(X, self.coef_) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _one_value(name: str, value: Any) -> list[float]:
    number = np.asarray(value)
    if number.ndim != 0 or number.dtype.kind not in "iuf" or not np.isfinite(number) or number < 0:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    return [float(number)]

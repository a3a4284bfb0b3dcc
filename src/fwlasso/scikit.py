"""What scikit-learn's estimators have besides: keywords that tune its solver, older words, and `path`."""

import inspect
from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from ._core.columns import Matrix, Vector
from .data.checks import check, is_count
from .data.keywords import explain_unknown
from .options import Options
from .path import solve_path

T = TypeVar("T", bound=type)

#: The end of an automatic grid, as a share of its beginning.
EPS = 1e-3

# What the keywords may be that tune the speed of scikit-learn's solver: they have no effect here.
_TUNING: dict[str, tuple[Callable[[Any], bool], str]] = {
    "precompute": (
        lambda value: isinstance(value, bool) or np.ndim(value) == 2 or value == "auto",
        "True, False, auto or a matrix",
    ),
    "copy_X": (lambda value: isinstance(value, bool), "True or False"),
    "selection": (lambda value: value in ("cyclic", "random"), "cyclic or random"),
    "n_jobs": (lambda value: value is None or isinstance(value, Integral), "an integer or None"),
    "verbose": (lambda value: isinstance(value, Integral), "a flag or an integer"),
}
# Those that its function of a path has besides.
_OF_PATH = "Xy", "coef_init"


def without_tuning(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that have an effect here; raise a ValueError that names one that is not as it must be."""
    for name, (is_valid, what) in _TUNING.items():
        value = settings.get(name)
        check(name, value, value is None or is_valid(value), what)
    return {name: value for name, value in settings.items() if name not in _TUNING}


def with_defaults(**others: Any) -> Callable[[T], T]:
    """Decorate a class: its constructor is that of its base, signature and all, with other defaults."""

    def decorate(kind: T) -> T:
        init = kind.__init__  # type: ignore[misc]
        signature = inspect.signature(init)
        own = [it.replace(default=others.get(name, it.default)) for name, it in signature.parameters.items()]

        @wraps(init)
        def construct(self: Any, *args: Any, **given: Any) -> None:
            init(self, *args, **others | given)

        construct.__qualname__ = f"{kind.__qualname__}.__init__"
        construct.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        kind.__init__ = explain_unknown()(construct)  # type: ignore[misc]
        return kind

    return decorate


def alphas_of(alphas: Any, n_alphas: Any) -> Any:
    """Return a grid, or the number of its points, which scikit-learn calls n_alphas before 1.9."""
    is_open = n_alphas is None or (isinstance(n_alphas, str) and n_alphas == "deprecated")
    check("n_alphas", n_alphas, is_open or is_count(n_alphas), "an integer >= 1 or None")
    is_default = alphas is None or (isinstance(alphas, str) and alphas == "warn")
    return (None if is_open else n_alphas) if is_default else alphas


@explain_unknown(_TUNING, _OF_PATH)
def path(
    X: Any,
    y: Any,
    *,
    eps: float = EPS,
    n_alphas: Any = None,
    alphas: Any = None,
    return_n_iter: bool = False,
    positive: bool = False,
    tol: float = 1e-4,
    max_iter: int = Options.max_iter,
    random_state: Any = None,
    **tuning: Any,
) -> tuple[Vector, Matrix, Vector] | tuple[Vector, Matrix, Vector, list[int]]:
    """Compute a path without intercept, and return arrays, as scikit-learn's `lasso_path` does.

    Parameters
    ----------
    X, y
        As in `fwlasso.lasso_path`, which fits an intercept and returns an object that knows more.
    eps : float, default=1e-3
        Ratio of the ends of an automatic grid.
    alphas : int or array, optional
        A number of points, or values. By default 100 points.
    n_alphas : int, optional
        A number of points, as scikit-learn calls it before 1.9.
    return_n_iter : bool, default=False
        Return the numbers of iterations, too.
    tol, max_iter, random_state
        As in `fwlasso.lasso_path`.
    positive : bool, default=False
        As in `fwlasso.lasso_path`.
    **tuning
        precompute, Xy, copy_X, coef_init, verbose and selection have no effect.

    Returns
    -------
    alphas : array of shape (n_points,)
    coefs : array of shape (n_features, n_points)
    dual_gaps : array of shape (n_points,)
        In the units of 1/(2m) ||y - X b||^2 + alpha ||b||_1.
    n_iters : list of int
        If `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import Lasso
    >>> alphas, coefs, dual_gaps = Lasso.path(np.eye(4), np.array([4.0, 3.0, 2.0, 1.0]), alphas=5)
    >>> alphas.shape, coefs.shape, dual_gaps.shape
    ((5,), (4, 5), (5,))
    """
    without_tuning(tuning)
    grid = alphas_of(alphas, n_alphas)
    options = {"tol": tol, "max_iter": max_iter, "random_state": random_state, "positive": positive}
    found = solve_path(X, y, Options(alphas=grid, eps=eps, fit_intercept=False, **options))
    arrays = found.alphas, found.coefs.toarray(), found.dual_gaps
    return (*arrays, found.counters.iterations.tolist()) if return_n_iter else arrays

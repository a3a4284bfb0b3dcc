"""What scikit-learn's estimators have besides: keywords that tune its solver, older words, and `path`."""

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from ._core.columns import Matrix, Vector
from ._core.notices import VERSION, of_this_version
from ._core.threads import resolve_threads
from ._version import __version__
from .data.checks import check, is_count
from .data.keywords import explain_unknown
from .monitor import Progress
from .options import Options
from .path import solve_path

T = TypeVar("T", bound=type)
_log = logging.getLogger("fwlasso")

#: The end of an automatic grid, as a share of its beginning.
EPS = 1e-3

#: Keywords that tune scikit-learn's solvers of squares.
OF_SQUARES = "precompute", "copy_X", "selection"

# What the keywords may be that tune scikit-learn's solver: but for n_jobs and verbose they have no effect here.
_TUNING: dict[str, tuple[Callable[[Any], bool], str]] = {
    "precompute": (
        lambda value: isinstance(value, bool) or np.ndim(value) == 2 or value == "auto",
        "True, False, auto or a matrix",
    ),
    "copy_X": (lambda value: isinstance(value, bool), "True or False"),
    "selection": (lambda value: value in ("cyclic", "random"), "cyclic or random"),
    "n_jobs": (lambda value: isinstance(value, Integral) and value != 0, "an integer other than 0, or None"),
    "verbose": (lambda value: isinstance(value, Integral), "a flag or an integer"),
}
# Those that its function of a path has besides.
_OF_PATH = "Xy", "coef_init", "check_input"


def without_tuning(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that have an effect here; raise a ValueError that names one that is not as it must be."""
    for name, (is_valid, what) in _TUNING.items():
        value = settings.get(name)
        check(name, value, value is None or is_valid(value), what)
    known = {name: value for name, value in settings.items() if name not in _TUNING}
    n_jobs = settings.get("n_jobs")
    if n_jobs is not None and known.get("n_threads") is None:  # of joblib, -1 are all cores, -2 all but one
        known["n_threads"] = int(n_jobs) if n_jobs > 0 else max(1, resolve_threads(None) + 1 + int(n_jobs))
    return known | {"callback": _say} if settings.get("verbose") else known


def _say(progress: Progress) -> None:
    """Log every tenth of the work, as `verbose` asks for."""
    done, n = progress.point + 1, progress.n_points
    if progress.done and done * 10 // n > (done - 1) * 10 // n:
        _log.warning("fwlasso: %d of %d points, %.1f s", done, n, progress.seconds)


class Versioned:
    """An estimator whose pickle tells the version of fwlasso; scikit-learn does this for its own classes alone."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), VERSION: __version__}  # type: ignore[dict-item]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(of_this_version(type(self).__name__, state))  # type: ignore[misc]


def with_defaults(*without: str, **others: Any) -> Callable[[T], T]:
    """Decorate a class: its constructor is that of its base, but for some parameters, and with other defaults."""

    def decorate(kind: T) -> T:
        init = kind.__init__  # type: ignore[misc]
        signature = inspect.signature(init)
        known = {name: it for name, it in signature.parameters.items() if name not in without}
        own = [it.replace(default=others.get(name, it.default)) for name, it in known.items()]

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
    l1_ratio: float = Options.l1_ratio,
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
    l1_ratio, positive
        As in `fwlasso.lasso_path`.
    **tuning
        precompute, Xy, copy_X, coef_init, verbose, selection and check_input have no effect.

    Returns
    -------
    alphas : array of shape (n_points,)
    coefs : array of shape (n_features, n_points)
    dual_gaps : array of shape (n_points,)
        In the units of 1/(2m) ||y - X b||^2 + alpha (l1_ratio ||b||_1 + 1/2 (1 - l1_ratio) ||b||^2).
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
    stops = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
    terms: dict[str, Any] = {"l1_ratio": l1_ratio, "positive": positive}
    found = solve_path(X, y, Options(alphas=grid, eps=eps, fit_intercept=False, **stops, **terms))
    arrays = found.alphas, found.coefs.toarray(), found.dual_gaps
    return (*arrays, found.counters.iterations.tolist()) if return_n_iter else arrays


def net_path(X: Any, y: Any, *, l1_ratio: float = 0.5, **options: Any) -> tuple[Any, ...]:
    """Compute a path of elastic nets without intercept, as scikit-learn's `enet_path` does; see `path`."""
    return path(X, y, l1_ratio=l1_ratio, **options)

"""Rules that choose a point of a path: by scores on held-out samples, or by an information criterion."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .._core.columns import Matrix, Vector
from ..result import LassoPath

#: Called with the path and the scores, of shape (n_points, n_folds); returns a point.
Rule = Callable[[LassoPath, Matrix], int]
#: Rules on scores of held-out samples, and rules on the path alone.
SCORE_RULES = ("min", "1se")
INFORMATION_RULES = ("aic", "bic", "ebic")

# Points with more active features than this share of the samples say nothing about the variance of the noise.
_LARGEST_SHARE = 0.5
# A coefficient is at a bound if it differs by no larger share of it.
_AT_BOUND = 1e-12


def information(path: LassoPath, rule: str) -> Vector:
    """Return an information criterion of every point: m log(RSS / m) + df (penalty per parameter), small is good.

    For another loss than least squares the deviance takes the place of m log(RSS / m).

    df is the number of active features (Zou, Hastie and Tibshirani 2007), less those held at a bound, which do not
    follow the data. A parameter costs 2 for "aic" and log m for "bic"; "ebic" adds 2 log(p choose df) (Chen and Chen
    2008), which bounds false discoveries if p is far above m.
    With sample weights RSS is weighted, and m is the number of those that are positive; of whole numbers, which are
    repetitions, it is their sum.
    Infinite if more than half as many features as samples are active: the residual variance goes to zero there.
    """
    check_degrees_of_freedom(rule, path.settings)
    m, p = path.settings.get("n_repeated", path.settings["n_samples"]), path.coefs.shape[0]
    df = path.n_active - _n_held(path)
    with np.errstate(divide="ignore"):
        fit = m * np.log(np.maximum(1.0 - path.r2, 0.0))
    if path.loss != "squared":
        fit = 2.0 * m * path.settings["null_objective"] * (1.0 - path.r2)
    values = fit + df * (2.0 if rule == "aic" else math.log(m))
    if rule == "ebic":
        values = values + 2.0 * (gammaln(p + 1) - gammaln(df + 1) - gammaln(p - df + 1))
    return np.where(df <= max(1.0, _LARGEST_SHARE * m), values, np.inf)


def _n_held(path: LassoPath) -> NDArray[np.int64]:
    """Return how many coefficients of every point are at a bound, up to the rounding of units."""
    coefs, is_held = path.coefs, np.zeros(path.coefs.nnz, np.bool_)
    for ends in path.settings.get("ends", ()):
        bounds = np.broadcast_to(np.array(ends, np.float64), coefs.shape[0])[coefs.indices]
        is_held |= np.abs(coefs.data - bounds) <= _AT_BOUND * np.abs(bounds)
    return np.bincount(np.repeat(np.arange(len(path)), path.n_active)[is_held], minlength=len(path))


def check_degrees_of_freedom(rule: str, settings: Mapping[str, Any]) -> None:
    """Raise a ValueError if the number of active features is not the degrees of freedom: a ridge leaves fewer."""
    if settings.get("ridge", 0.0) > 0.0 or settings.get("l1_ratio", 1.0) < 1.0:
        raise ValueError(
            f"rule={rule!r} counts active features as degrees of freedom, and with a ridge they are fewer: take "
            "'min' or '1se', which score held-out samples"
        )


def best_point(scores: Vector, greater_is_better: bool) -> int:
    """Return the best point, the sparsest of equals; what is not a number is passed over."""
    if np.isnan(scores).all():
        raise ValueError("scoring: the score is not a number at any point of the path")
    return int(np.nanargmax(scores) if greater_is_better else np.nanargmin(scores))


def within_one_error(scores: Vector, errors: Vector | None, greater_is_better: bool) -> int:
    """Return the sparsest point whose score is within one standard error of the best one."""
    best = best_point(scores, greater_is_better)
    if errors is None:
        raise ValueError("rule='1se' needs at least two folds: there is no standard error")
    worse = scores[best] - scores if greater_is_better else scores - scores[best]
    return int(np.flatnonzero(worse <= errors[best])[0])

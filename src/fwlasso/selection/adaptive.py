"""The adaptive Lasso: features with large coefficients in a first model have small penalties in a second one."""

import inspect
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .._core.notices import warn_of_doubt
from ..data.checks import check
from ..data.keywords import explain_unknown
from ..data.terms import as_terms
from ..options import SPECS, Options
from .criteria import Rule
from .cross_validation import CrossValidation, lasso_cv

# Features with a penalty that is so many times larger are left out: beyond, factors are refused.
_LARGEST = 1e10


@explain_unknown(inspect.signature(lasso_cv).parameters, SPECS)
def adaptive_lasso(
    X: Any, y: Any = None, *, gamma: float = 1.0, rule: str | Rule = "ebic", **options: Any
) -> CrossValidation:
    """Choose a model by `lasso_cv`, and another one with the penalty factors that follow from its coefficients.

    The factor of a feature is ``(max_k |b_k| / |b_j|)^gamma``, b the coefficients of the first model: of scaled columns
    if ``standardize=True``; features without a coefficient are left out. Large coefficients are then shrunk less, and
    features that do not matter are selected less often (Zou 2006). Unlike there, the first model is a Lasso.

    Parameters
    ----------
    X, y
        As in `lasso_path`.
    gamma : float, default=1.0
        The larger, the more the penalties differ.
    rule : {"ebic", "bic", "aic", "min", "1se"} or callable, default="ebic"
        As in `lasso_cv`, for both models. Folds have the penalty factors that all samples gave: their scores are better
        than on new data, and best for small penalties. Information criteria are not misled in this way.
    **options
        Those of `lasso_cv`, for both models. Factors that are given multiply those that are found. A time limit is for
        each of both; a checkpoint has a folder for each.

    Returns
    -------
    CrossValidation
        Of the second model. Its grid ends as that of data with its candidates alone.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import adaptive_lasso, lasso_cv
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((100, 200)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100)
    >>> lasso_cv(X, y, rule="ebic").choice.coef.data.round(1).tolist()
    [2.8, -1.6, 0.5]
    >>> adaptive_lasso(X, y).choice.coef.data.round(1).tolist()
    [3.2, -2.0, 0.9]
    """
    check("gamma", gamma, isinstance(gamma, Real) and 0.0 < gamma < np.inf, "a number > 0")
    folder = options.pop("checkpoint", None)
    runs = [None if folder is None else Path(folder) / name for name in ("first", "second")]
    first = lasso_cv(X, y, rule=rule, checkpoint=runs[0], **options)
    asked = {"penalty_factor": options.pop("penalty_factor", None), "unpenalized": options.get("unpenalized")}
    given = as_terms(first.path.coefs.shape[0], first.feature_names, **asked)
    model = first.model
    sizes, divisors = np.abs(model.coefs), given.divisors
    if model.scales is not None:  # with the factors that are given in them
        sizes = sizes * model.scales / (1.0 if divisors is None else divisors[model.indices])
    if not sizes.any() or first.ending is not None:
        warn_of_doubt("The first model has no features, or is not complete: there is no second one.")
        return first
    factors = np.full(model.n_features, np.inf)
    with np.errstate(over="ignore"):
        factors[model.indices] = (sizes.max() / sizes) ** gamma
    factors[factors > _LARGEST] = np.inf
    if given.factors is not None:
        factors = np.where(given.factors > 0.0, given.factors * factors, 0.0)
    eps = options.pop("eps", None) or Options().ratio((first.path.settings["n_samples"], model.indices.size))
    return lasso_cv(X, y, rule=rule, penalty_factor=factors, eps=eps, checkpoint=runs[1], **options)

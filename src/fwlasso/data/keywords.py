"""Words of glmnet and of scikit-learn for what is called otherwise here."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_PENALTY = "alphas=... (penalties)", "alpha=... (a penalty)"
_POINTS = ("alphas=50 (a number of points)",)
_FOLDS, _SCORING = ("cv=... (folds)",), ("scoring=...",)
_TUNING = "it tunes another solver, leave it out"

# Our keywords in order of preference, of which a function may have the first or the second; or a sentence. Words are
# without what R and Python have to add: `lambda.min.ratio` and `lambda_` are here as lambda_min_ratio and lambda.
_ANSWERS: dict[str, tuple[str, ...] | str] = {
    **dict.fromkeys(("lambda", "lam", "lambdas", "lambda_path"), _PENALTY),
    "s": ("rule='min' or '1se'", *_PENALTY),
    "alpha": ("alphas=[...] (penalties; glmnet's mixing parameter is l1_ratio=...)",),
    **dict.fromkeys(("n_alphas", "n_lambda", "nlambda"), _POINTS),
    **dict.fromkeys(("lambda_min_ratio", "min_lambda_ratio"), ("eps=...",)),
    "foldid": ("cv=PredefinedSplit(foldid)",),
    **dict.fromkeys(("nfolds", "n_folds", "n_splits", "folds"), _FOLDS),
    "exclude": ("penalty_factor={name: inf}",),
    **dict.fromkeys(("type_measure", "metric"), _SCORING),
    "gamma": ("relax=[...] (shares of the Lasso; the power of an adaptive one is gamma of adaptive_lasso)",),
    "relax": ("relax=...",),
    "thresh": ("tol=...",),
    **dict.fromkeys(("maxit", "n_iter"), ("max_iter=...",)),
    "intercept": ("fit_intercept=...",),
    **dict.fromkeys(("normalize", "standardise"), ("standardize=...",)),
    **dict.fromkeys(("cores", "n_jobs", "parallel", "nthreads"), ("n_threads=...",)),
    "seed": ("random_state=...",),
    "newx": ("X",),
    "newoffset": ("offset=...",),
    "type": ("kind='mean' (glmnet's response), 'link' or 'class'",),
    "weights": ("sample_weight=...",),
    "sample_weight": "it is an argument of fit",
    **dict.fromkeys(("penalty_factor", "relative_penalties"), ("penalty_factor=...",)),
    **dict.fromkeys(("family", "loss"), ("loss='logistic' or 'poisson'",)),
    "lower_limits": ("lower=...",),
    "upper_limits": ("upper=...",),
    **dict.fromkeys(("precompute", "copy_X", "selection", "Xy", "coef_init"), _TUNING),
    **dict.fromkeys(("dual", "intercept_scaling", "multi_class"), _TUNING),
    **dict.fromkeys(("penalty", "l1_ratios"), ("l1_ratio=... (1 is penalty='l1')",)),
    **dict.fromkeys(("dfmax", "pmax"), ("max_active=...",)),
    "verbose": "callback=... of lasso_path and lasso_cv is told how far a path is",
    "return_n_iter": "path.counters.iterations has them",
}
# What not every function takes.
_ELSEWHERE = {
    **dict.fromkeys(("cv", "scoring", "relax"), "lasso_cv and LassoCV"),
    **{"sample_weight": "fit", "loss": "lasso_path"},
}


def explain_unknown(*more: Iterable[str]) -> Callable[[F], F]:
    """Decorate a function: the TypeError on a keyword of glmnet's or scikit-learn's says what it is called here.

    `more` are keywords that the function takes by ``**options``.
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        known = {it.name for it in parameters if it.kind is not it.VAR_KEYWORD}.union(*more)

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given.keys() - known:
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument {name!r}{_answer(name, known)}"
                )
            return function(*args, **given)

        return checked  # type: ignore[return-value]

    return decorate


def _answer(name: str, known: set[str]) -> str:
    """Return what a keyword is called here, as the end of a sentence; nothing if no one knows it."""
    answer = _ANSWERS.get(name.replace(".", "_").rstrip("_"))
    if answer is None:
        return ""
    if isinstance(answer, str):
        return f": {answer}"
    ours = next((it for it in answer if it.partition("=")[0] in known), answer[0])
    elsewhere = _ELSEWHERE.get(ours.partition("=")[0]) if ours.partition("=")[0] not in known else None
    return f": here it is {ours}" + (f" of {elsewhere}" if elsewhere else "")

"""Words of glmnet and of scikit-learn that are called otherwise here: the TypeError says how."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

from fwlasso import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticLasso,
    PoissonLasso,
    lasso_cv,
    lasso_path,
    stability_selection,
)

X = np.asfortranarray(np.random.default_rng(0).standard_normal((30, 6)))
Y = X[:, 0] - X[:, 3]


ANSWERS = [
    (
        lasso_path,
        {"n_alphas": "alphas=50 (a number", "nlambda": "alphas=50", "lambda": "alphas=", "lambda_": "alphas="},
    ),
    (lasso_path, {"lambda.min.ratio": "eps", "lambda_min_ratio": "eps", "thresh": "tol", "maxit": "max_iter"}),
    (lasso_path, {"intercept": "fit_intercept", "normalize": "standardize", "n_jobs": "n_threads"}),
    (lasso_path, {"alpha": "alphas=", "relative_penalties": "penalty_factor=", "verbose": "callback"}),
    (
        lasso_path,
        {
            "penalty.factor": "penalty_factor=",
            "weights": "sample_weight=",
            "family": "loss='logistic' or 'poisson'",
            "dfmax": "max_active",
        },
    ),
    (lasso_path, {"foldid": "cv=PredefinedSplit(foldid) of lasso_cv and LassoCV", "type.measure": "scoring"}),
    (lasso_cv, {"foldid": "cv=PredefinedSplit(foldid)", "nfolds": "cv", "type.measure": "scoring"}),
    (
        lasso_cv,
        {
            "dfmax": "max_active=",
            "gamma": "relax=[...]",
            "weights": "sample_weight=",
            "s": "rule='min' or '1se'",
            "folds": "cv",
            "n_alphas": "alphas=50",
        },
    ),
    (stability_selection, {"lambda": "alphas", "cores": "n_threads", "penalty.factor": "penalty_factor="}),
    (lasso_path, {"gamma": "relax=[...]", "relax": "relax=... of lasso_cv", "exclude": "penalty_factor={name: inf}"}),
    (ElasticNet, {"lower.limits": "lower=", "upper.limits": "upper=", "weights": "sample_weight=... of fit"}),
    (Lasso, {"lambda": "alpha=", "s": "alpha=", "standardise": "standardize", "n_jobs": "n_threads"}),
    (LassoCV, {"lambda": "alphas", "nfolds": "cv", "thresh": "tol", "sample_weight": "argument of fit"}),
    (lasso_path(X, Y, alphas=3).predict, {"s": "alpha=", "lambda": "alpha="}),
    (Lasso.path, {"lambda": "alphas="}),
    (PoissonLasso, {"copy_X": "leave it out", "lambda": "alpha="}),
    (LogisticLasso, {"penalty": "l1_ratio=", "dual": "leave it out", "multi_class": "leave it out"}),
]


@pytest.mark.parametrize(("function", "words"), ANSWERS, ids=lambda it: getattr(it, "__qualname__", ""))
def test_words_of_others_are_answered_by_ours(function, words):
    data = () if inspect.isclass(function) else (X, Y) if "y" in inspect.signature(function).parameters else (X,)
    for word, ours in words.items():
        with pytest.raises(
            TypeError, match=rf"got an unexpected keyword argument '{re.escape(word)}'.* {re.escape(ours)}"
        ):
            function(*data, **{word: 1})


@pytest.mark.parametrize(
    "function", [lasso_path, lasso_cv, stability_selection, Lasso, LassoCV, ElasticNet, ElasticNetCV]
)
def test_words_of_nobody_stay_unknown(function):
    data = () if inspect.isclass(function) else (X, Y)
    with pytest.raises(TypeError, match=rf"{function.__name__}.*\(\) got an unexpected keyword argument 'alphaz'$"):
        function(*data, alphaz=1)


def test_a_table_of_words_leaves_signatures_alone():
    assert list(inspect.signature(lasso_path).parameters)[:3] == ["X", "y", "alphas"]
    assert clone(Lasso(0.3, tol=1e-3)).get_params()["alpha"] == 0.3
    with pytest.raises(TypeError, match="positional"):
        lasso_path(X, Y, 0.1)


def test_a_path_is_no_tuple():
    path = lasso_path(X, Y, alphas=3)
    with pytest.raises(TypeError, match=r"path\.alphas, path\.coefs and path\.gaps.*path\[k\].*Lasso\.path"):
        _alphas, _coefs, _gaps = path
    assert path[2].n_features == 6

"""Scorers of scikit-learn and of users, and the metadata that is routed to them."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer, mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import GroupKFold, KFold

from conftest import dense_problem
from fwlasso import LassoCV, lasso_cv
from fwlasso.datasets import Table
from fwlasso.selection.scoring import make_scoring

SCORERS = {
    "r2": (r2_score, 1.0),
    "neg_mean_absolute_error": (mean_absolute_error, -1.0),
    make_scorer(mean_squared_error, greater_is_better=False): (mean_squared_error, -1.0),
}


@pytest.mark.parametrize("scoring", SCORERS, ids=str)
def test_scorers_of_scikit_learn(scoring, rng):
    X, y = dense_problem(rng)
    found = lasso_cv(X, y, scoring=scoring, cv=KFold(4))
    metric, sign = SCORERS[scoring]
    for k, (_, test) in enumerate(KFold(4).split(X)):
        predicted = found.fold_paths[k].predict(X[test])
        np.testing.assert_allclose(
            found.choice.fold_scores[:, k], [sign * metric(y[test], column) for column in predicted.T], atol=1e-9
        )
    assert found.choice.greater_is_better
    assert found.choice.point == np.argmax(found.choice.scores)
    assert not hasattr(LassoCV(scoring=scoring).fit(X, y), "mse_path_")


def test_a_scorer_of_the_users_own_gets_the_rows(rng):
    X, y = dense_problem(rng)

    def score(estimator, rows, truth):
        assert rows.shape == (12, X.shape[1])
        return -np.abs(estimator.predict(rows) - truth).max()

    choice = lasso_cv(X, y, scoring=score).choice
    assert lasso_cv(Table(X, y, None), scoring=score).choice.point == choice.point
    assert choice.criterion == "score"
    assert choice.scores.max() == choice.scores[choice.point]


def test_metadata_is_routed_to_splitter_and_scorer(rng):
    X, y = dense_problem(rng)
    groups, costs = np.repeat(np.arange(12), 5), rng.random(60)

    def cost_of(truth, predicted, cost):
        return mean_squared_error(truth, predicted, sample_weight=cost)

    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(cost_of, greater_is_better=False).set_score_request(cost=True)
        model = LassoCV(cv=GroupKFold(4), scoring=scorer, alphas=10)
        model.fit(X, y, groups=groups, cost=costs)
    (_, test) = next(GroupKFold(4).split(X, y, groups))
    predicted = model.fold_paths_[0].predict(X[test])
    expected = [-mean_squared_error(y[test], column, sample_weight=costs[test]) for column in predicted.T]
    np.testing.assert_allclose(model.choice_.fold_scores[:, 0], expected)


def test_metadata_needs_routing(rng):
    with pytest.raises(ValueError, match=r"cost: metadata can only be passed .*enable_metadata_routing is set"):
        LassoCV().fit(*dense_problem(rng), cost=np.ones(60))


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "neg_log_loss", get_scorer("f1")], ids=str)
def test_scorers_of_classifiers_are_refused_before_work_starts(scoring):
    with pytest.raises(ValueError, match=r"^scoring=.*classes or the probabilities of a classifier.*'r2'") as caught:
        lasso_cv(np.full((2, 2), np.nan), [0, 1], scoring=scoring)  # data are not looked at
    assert "_Predicted" not in str(caught.value)


REGRESSION = [
    name for name in get_scorer_names() if name.startswith(("neg_m", "neg_root", "r2", "d2_abs", "explained"))
]


@pytest.mark.parametrize("scoring", REGRESSION)
def test_scorers_of_regressors_pass(scoring):
    assert make_scoring(scoring).name == scoring

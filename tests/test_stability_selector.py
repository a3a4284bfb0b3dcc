import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwlasso import StabilitySelector, stability_selection

SMALL = {"n_subsamples": 6, "alphas": 5, "random_state": 0}


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks([StabilitySelector(**SMALL)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 20))
    return X, X[:, [3, 7]] @ [3.0, -2.0] + 0.1 * rng.standard_normal(60)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csc_matrix, pd.DataFrame])
def test_it_takes_the_features_that_are_stable(data, wrap):
    X, y = data
    found = stability_selection(X, y, eps=0.1, **SMALL)
    for threshold in (0.5, 1.0):
        selector = StabilitySelector(threshold=threshold, **SMALL).fit(wrap(X), y)
        chosen = np.sort(found.selected(threshold))
        np.testing.assert_array_equal(selector.get_support(indices=True), chosen)
        taken = selector.transform(wrap(X))
        np.testing.assert_array_equal(taken.toarray() if sp.issparse(taken) else np.asarray(taken), X[:, chosen])
    assert {3, 7} <= set(chosen.tolist())


def test_it_is_a_step_of_a_pipeline(data):
    X, y = pd.DataFrame(data[0], columns=[f"gene {j}" for j in range(20)]), data[1]
    model = make_pipeline(StabilitySelector(threshold=0.9, **SMALL), LinearRegression()).fit(X, y)
    assert model.score(X, y) > 0.99
    assert {"gene 3", "gene 7"} <= set(model[0].get_feature_names_out())


@pytest.mark.parametrize(("name", "value"), [("threshold", 0.0), ("n_subsamples", 0), ("fraction", 2.0), ("eps", -1.0)])
def test_bad_parameters_are_named(data, name, value):
    with pytest.raises(ValueError, match=f"^{name}"):
        StabilitySelector(**{**SMALL, name: value}).fit(*data)

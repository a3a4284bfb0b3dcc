import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso as ReferenceLasso
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwlasso import Lasso


@parametrize_with_checks([Lasso(), Lasso(radius=50.0), Lasso(alpha=0.1, solver="sfw", stop="change")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 30))
    return X, X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + 0.5 * rng.standard_normal(60) + 7.0


@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_it_is_scikit_learns_lasso(alpha, wrap, data):
    X, y = data
    ours = Lasso(alpha, tol=1e-10).fit(wrap(X), y)
    reference = ReferenceLasso(alpha, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(reference.intercept_, abs=1e-4)
    np.testing.assert_allclose(ours.predict(wrap(X)), reference.predict(X), atol=1e-3)
    assert ours.dual_gap_ <= 1e-10


def test_a_radius_takes_the_place_of_alpha(data):
    models = [Lasso(alpha, radius=3.0, random_state=0).fit(*data) for alpha in (1.0, 0.01)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_the_radius_bounds_the_l1_norm(data):
    model = Lasso(radius=3.0, random_state=0).fit(*data)
    assert np.abs(model.coef_).sum() <= 3.0 * (1 + 1e-12)
    assert model.dual_gap_ <= 1e-3


@pytest.mark.parametrize("solver", ["sfw", "fw", "cd"])
def test_solvers_agree_within_their_gaps(solver, data):
    X, y = data
    model = Lasso(0.3, solver=solver, tol=1e-4, max_iter=10**6, random_state=0).fit(X, y)
    best = ReferenceLasso(0.3, tol=1e-12).fit(X, y)

    def objective(m):
        return 0.5 * ((y - m.predict(X)) ** 2).sum() + 60 * 0.3 * np.abs(m.coef_).sum()

    half_yy = 0.5 * ((y - y.mean()) ** 2).sum()
    assert -1e-9 <= (objective(model) - objective(best)) / half_yy <= model.dual_gap_ + 1e-9


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"alpha": None}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [0.1, 0.2]}, "alpha"),
        ({"alpha": "big"}, "alpha"),
        ({"radius": np.nan}, "radius"),
        ({"radius": -2.0}, "radius"),
        ({"radius": 1.0, "solver": "cd"}, "radii"),
        ({"solver": "magic"}, "solver"),
    ],
)
def test_bad_parameters_are_named_at_fit(bad, name, data):
    with pytest.raises(ValueError, match=name):
        Lasso(**bad).fit(*data)


def test_sparse_coefficients_on_request(data):
    model = Lasso(0.5).fit(*data)
    assert sp.issparse(model.sparse_coef_)
    assert model.sparse_coef_.shape == (1, 30)
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)
    with pytest.raises(NotFittedError):
        _ = Lasso().sparse_coef_


def test_it_lives_in_the_scikit_learn_world(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    search = GridSearchCV(make_pipeline(StandardScaler(), Lasso()), {"lasso__alpha": [0.01, 0.1, 1.0]}, cv=3)
    assert search.fit(frame, y).best_params_["lasso__alpha"] < 1.0
    model = Lasso(0.1).fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.path_.feature_names == tuple(frame.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert clone(model).get_params() == model.get_params()


def test_a_fit_that_does_not_converge_warns_and_keeps_what_it_has(data):
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = Lasso(radius=5.0, solver="fw", tol=1e-12, max_iter=3).fit(*data)
    assert model.n_iter_ == 3
    assert np.isfinite(model.coef_).all()

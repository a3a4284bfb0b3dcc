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

from fwlasso import Lasso, LassoCV, lasso_path
from fwlasso.datasets import Table


@parametrize_with_checks(
    [
        Lasso(),
        Lasso(radius=50.0),
        Lasso(alpha=0.1, warm_start=True),
        Lasso(alpha=0.1, solver="sfw", stop="change"),
        Lasso(alpha=0.1, solver="cd"),
        LassoCV(cv=3),
        LassoCV(rule="bic"),
    ]
)
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


@pytest.mark.parametrize("model", [Lasso(0.1), LassoCV(rule="bic")])
def test_a_table_has_its_features_and_names(data, model):
    X, y = data
    names = tuple(f"x{j}" for j in range(30))
    fitted = clone(model).fit(Table(X, y, names))
    assert fitted.n_features_in_ == 30
    assert tuple(fitted.feature_names_in_) == names
    np.testing.assert_array_equal(fitted.coef_, clone(model).fit(X, y).coef_)


def test_a_radius_takes_the_place_of_alpha(data):
    models = [Lasso(alpha, radius=3.0, random_state=0).fit(*data) for alpha in (1.0, 0.01)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_the_radius_bounds_the_l1_norm(data):
    model = Lasso(radius=3.0, random_state=0).fit(*data)
    assert np.abs(model.coef_).sum() <= 3.0 * (1 + 1e-12)
    assert model.dual_gap_ <= 1e-4


@pytest.mark.parametrize("solver", ["corrective", "sfw", "fw", "cd"])
def test_every_solver_goes_to_a_gap_unless_told_otherwise(solver, data):
    model = Lasso(0.3, solver=solver, max_iter=10**6, random_state=0).fit(*data)
    assert {"solver": solver, "stop": "gap", "tol": 1e-4}.items() <= model.path_.settings.items()
    assert model.dual_gap_ <= 1e-4


@pytest.mark.parametrize("solver", ["corrective", "sfw", "fw", "cd"])
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
        ({"solver": "auto"}, "solver"),
        ({"stop": "change"}, "stop"),
        ({"stop": "paper", "radius": 1.0}, "stop"),
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


# Warm starts -------------------------------------------------------------------------------------------------

ONE_POINT = {"alpha": {"alpha": 0.05}, "radius": {"radius": 4.0}}
FITS = {
    "as given": {},
    "tight": {"tol": 1e-9},
    "standardized": {"standardize": True},
    "no intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize("wrap", [np.asfortranarray, sp.csc_array])
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("form", ONE_POINT)
def test_a_refit_at_the_solution_changes_nothing(form, fit, wrap, data):
    X, y = data
    model = Lasso(**ONE_POINT[form], **FITS[fit], warm_start=True).fit(wrap(X), y)
    first, intercept = model.coef_.copy(), model.intercept_
    assert model.path_.counters.iterations[0] > 0
    for _ in range(2):
        model.fit(wrap(X), y)
        assert model.coef_.tobytes() == first.tobytes()
        assert model.intercept_ == pytest.approx(intercept, rel=1e-12)
        assert model.dual_gap_ <= FITS[fit].get("tol", 1e-4)
        assert model.path_.counters.iterations[0] == 0


@pytest.mark.parametrize("form", ONE_POINT)
def test_without_a_warm_start_every_fit_is_the_first(form, data):
    model = Lasso(**ONE_POINT[form])
    fits = [model.fit(*data) and (model.coef_.tobytes(), model.n_iter_) for _ in range(2)]
    assert fits[0] == fits[1]
    assert fits[0][1] > 0


@pytest.mark.parametrize("form", ONE_POINT)
@pytest.mark.parametrize("other", [0.5, 2.0])
def test_a_warm_start_from_elsewhere_ends_at_the_solution(form, other, data):
    name, value = next(iter(ONE_POINT[form].items()))
    model = Lasso(**{name: other * value}, tol=1e-10, warm_start=True).fit(*data)
    model.set_params(**{name: value}).fit(*data)
    cold = Lasso(**{name: value}, tol=1e-10).fit(*data)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-4)
    assert model.dual_gap_ <= 1e-10


def test_a_warm_start_on_other_data_ends_at_their_solution(data):
    X, y = data
    model = Lasso(0.05, tol=1e-10, warm_start=True).fit(X, y).fit(X[::-1], 2.0 - y)
    np.testing.assert_allclose(model.coef_, Lasso(0.05, tol=1e-10).fit(X[::-1], 2.0 - y).coef_, atol=1e-4)
    model.fit(X[:, :20], y)  # coefficients of another number of columns are of no use
    np.testing.assert_array_equal(model.coef_, Lasso(0.05, tol=1e-10).fit(X[:, :20], y).coef_)


@pytest.mark.parametrize("solver", ["sfw", "cd"])
def test_other_solvers_start_from_zero(solver, data):
    model = Lasso(0.3, solver=solver, random_state=0, warm_start=True)
    fits = [model.fit(*data) and (model.coef_.tobytes(), model.n_iter_) for _ in range(2)]
    assert fits[0] == fits[1]


@pytest.mark.parametrize("form", ONE_POINT)
def test_a_refit_reads_fewer_columns_than_a_path(form, rng):
    X = rng.standard_normal((60, 2000))
    y = X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + 0.5 * rng.standard_normal(60) + 7.0
    model = Lasso(**ONE_POINT[form], warm_start=True).fit(X, y)
    whole = lasso_path(X, y, **({"alphas": 100} if form == "alpha" else {"radii": np.linspace(0.04, 4.0, 100)}))
    single = model.path_.counters.passes
    assert single < whole.counters.passes
    assert model.fit(X, y).path_.counters.passes < single
    assert model.path_.counters.passes < 4  # one to set up, one to price, and some suspects


def test_a_fit_that_does_not_converge_warns_and_keeps_what_it_has(data):
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = Lasso(radius=5.0, solver="fw", tol=1e-12, max_iter=3).fit(*data)
    assert model.n_iter_ == 3
    assert np.isfinite(model.coef_).all()

import inspect
import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import ElasticNet as ReferenceNet
from sklearn.linear_model import ElasticNetCV as ReferenceNetCV
from sklearn.linear_model import Lasso as ReferenceLasso
from sklearn.linear_model import LassoCV as ReferenceLassoCV
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import enet_path as reference_net_path
from sklearn.linear_model import lasso_path as reference_path
from sklearn.metrics import make_scorer, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwlasso import ElasticNet, ElasticNetCV, Lasso, LassoCV, LinearModel, Status, lasso_cv, lasso_path
from fwlasso.datasets import Table

# Some of the data of the checks are sorted by their response, and `LassoCV` says so.
SORTED = pytest.mark.filterwarnings("ignore:Neighbouring responses are very similar")
# Some are noise, where the best model of a path may be the last one.
NOISE = pytest.mark.filterwarnings("ignore:The .* is best at the last point")
# Some checks set `alpha` wherever there is one.
BOTH = pytest.mark.filterwarnings("ignore:alpha=.* has no effect, as radius=")


class ByCriterion(LassoCV):
    """Checks of weights set `cv` where there is one, and a criterion refuses folds."""

    def __init__(self, rule="bic"):
        super().__init__(rule=rule)


CHECKED = [
    *(Lasso(), Lasso(radius=50.0, warm_start=True), ElasticNet()),
    *(LassoCV(cv=3), ByCriterion(), ElasticNetCV(cv=3)),
]


@SORTED
@NOISE
@BOTH
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@SORTED
@NOISE
@parametrize_with_checks([Lasso(), ElasticNet(), LassoCV(cv=3), ElasticNetCV(l1_ratio=[0.5, 1.0], cv=3)])
def test_scikit_learn_checks_with_metadata_routing(estimator, check):
    with config_context(enable_metadata_routing=True):
        check(estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 30))
    return X, X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + 0.5 * rng.standard_normal(60) + 7.0


@pytest.mark.parametrize(("alpha", "wrap"), [(1.0, np.asarray), (0.1, sp.csr_matrix), (0.01, pd.DataFrame)])
def test_it_is_scikit_learns_lasso(alpha, wrap, data):
    X, y = data
    ours = Lasso(alpha, tol=1e-10).fit(wrap(X), y)
    reference = ReferenceLasso(alpha, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(reference.intercept_, abs=1e-4)
    np.testing.assert_allclose(ours.predict(wrap(X)), reference.predict(X), atol=1e-3)
    assert ours.relative_gap_ <= 1e-10


def test_a_radius_bounds_the_l1_norm_in_place_of_alpha(data):
    model = Lasso(radius=3.0).fit(*data)
    assert np.abs(model.coef_).sum() <= 3.0 * (1 + 1e-12)
    assert model.relative_gap_ <= 1e-4
    with pytest.warns(UserWarning, match=r"alpha=0\.01 has no effect, as radius=3\.0 is given"):
        np.testing.assert_array_equal(Lasso(0.01, radius=3.0).fit(*data).coef_, model.coef_)


# Options are refused in test_options.py.
@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"alpha": None}, "alpha"),
        ({"alpha": [0.1, 0.2]}, "alpha"),
        ({"radius": np.nan}, "radius"),
        ({"tol": -1}, "tol"),
    ],
)
def test_bad_parameters_are_named_at_fit(bad, name, data):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        Lasso(**bad).fit(*data)


def test_it_lives_in_the_scikit_learn_world(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    search = GridSearchCV(make_pipeline(StandardScaler(), Lasso()), {"lasso__alpha": [0.01, 0.1, 1.0]}, cv=3)
    assert search.fit(frame, y).best_params_["lasso__alpha"] < 1.0
    for given in (frame, Table(X, y, tuple(frame.columns))):
        model = Lasso(0.1).fit(given, y)
        assert model.n_features_in_ == 30
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert model.path_.feature_names == tuple(frame.columns)
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), model.coef_[np.newaxis])
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        _ = Lasso().sparse_coef_


def test_a_pipeline_is_scored_with_metadata_routing(data):
    X, y = data
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), LassoCV(cv=3, alphas=10)).fit(X, y)
        assert model.score(X, y) > 0.9
        assert cross_val_score(model, X, y, cv=2, params={}).min() > 0.9  # scikit-learn 1.6 takes no None
        model[-1].set_score_request(sample_weight=True)
        assert model.score(X, y, sample_weight=np.ones(60)) == pytest.approx(model.score(X, y))
        grouped = make_pipeline(StandardScaler(), LassoCV(cv=GroupKFold(3), alphas=10))
        grouped.fit(X, y, groups=np.repeat(range(6), 10))
        assert len(grouped[-1].fold_paths_) == 3


WEIGHED = [
    (Lasso(0.1, tol=1e-12), ReferenceLasso(0.1)),
    (LassoCV(cv=3, tol=1e-10), ReferenceLassoCV(cv=3, max_iter=100_000)),
]


@pytest.mark.parametrize(("model", "reference"), WEIGHED, ids=lambda it: type(it).__name__)
@pytest.mark.parametrize("routing", [False, True])
def test_weights_are_those_of_scikit_learn(model, reference, routing, data, rng):
    X, y = data
    w, offset = rng.integers(0, 4, 60) * 0.7, X[:, 5]
    with config_context(enable_metadata_routing=routing):
        plain = clone(model).fit(X, y).coef_
        for same in (None, 1.0, 3, np.ones(60)):
            np.testing.assert_array_equal(clone(model).fit(X, y, same).coef_, plain)
        found = clone(model).fit(X, y, w, offset=offset)
        other = clone(reference).set_params(tol=1e-10).fit(X, y - offset, w)
        np.testing.assert_allclose(found.coef_, other.coef_, atol=1e-5)
        assert getattr(found, "alpha_", 0.1) == pytest.approx(getattr(other, "alpha_", 0.1), rel=1e-9)
        np.testing.assert_allclose(found.predict(X, offset=offset), other.predict(X) + offset, atol=1e-4)
        r2 = r2_score(y, other.predict(X) + offset, sample_weight=w)
        assert found.score(X, y, w, offset=offset) == pytest.approx(r2, abs=1e-6)
        for ask in (lambda: found.predict(X), lambda: found.score(X, y), lambda: found.predict(X[:3], offset=offset)):
            with pytest.raises(ValueError, match="offset"):
                ask()
        with pytest.raises(ValueError, match="offset: the model was fitted without an offset"):
            clone(model).fit(X, y).predict(X, offset=offset)
        with pytest.raises((TypeError, ValueError), match="weights"):
            model.fit(X, y, weights=None)
        for bad in (w[1:], -w, 0.0 * w, np.where(w > 0, w, np.nan)):
            with pytest.raises(ValueError, match="sample_weight"):
                clone(model).fit(X, y, bad)


def test_weights_reach_a_scorer_that_asks_for_them(data, rng):
    X, y = data
    w, asked = rng.random(60), {"cv": 3, "alphas": 10}
    scorer = make_scorer(mean_squared_error, greater_is_better=False)
    weighted = LassoCV(scoring=scorer, **asked).fit(X, y, w).choice_.fold_scores
    np.testing.assert_allclose(-weighted, LassoCV(**asked).fit(X, y, w).mse_path_, rtol=1e-9)
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            LassoCV(scoring=scorer, **asked).fit(X, y, w)
        found = LassoCV(scoring=scorer.set_score_request(sample_weight=True), **asked).fit(X, y, w)
        np.testing.assert_array_equal(found.choice_.fold_scores, weighted)
        without = LassoCV(scoring=scorer.set_score_request(sample_weight=False), **asked).fit(X, y, w)
        assert not np.allclose(without.choice_.fold_scores, weighted)
        np.testing.assert_array_equal(without.path_.coefs.data, found.path_.coefs.data)


@pytest.mark.parametrize("model", [Lasso(0.1), LassoCV(cv=2, alphas=5)])
def test_weights_are_for_the_steps_of_a_pipeline_that_ask(model, data):
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        weights = np.arange(60.0)
        scaled = StandardScaler().fit_transform(data[0], sample_weight=weights)
        for asks in (False, True):
            pipeline = make_pipeline(scaler, clone(model).set_fit_request(sample_weight=asks))
            pipeline.fit(*data, sample_weight=weights)
            alone = clone(model).fit(scaled, data[1], weights if asks else None)
            np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)


SAME = [
    (Lasso, ReferenceLasso),
    (ElasticNet, ReferenceNet),
    (LassoCV, ReferenceLassoCV),
    (ElasticNetCV, ReferenceNetCV),
]


@pytest.mark.parametrize("route", ["gram", "working-set"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objectives_are_those_of_scikit_learn(fit_intercept, route):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m, p = [(40, 12), (25, 50)][seed % 2]
        X = rng.standard_normal((m, p)) + (rng.standard_normal((m, 1)) if seed % 3 else 0.0)
        y, w = X[:, :4] @ [3.0, -2.0, 1.0, 1.0] + rng.standard_normal(m) + 2.0, rng.integers(0, 4, m) * 0.4
        asked = {"alpha": [1.0, 0.1][seed % 2], "l1_ratio": [0.1, 0.5, 1.0][seed % 3], "positive": seed > 2}
        for weights in (None, w):
            own = np.ones(m) if weights is None else weights
            ours = ElasticNet(**asked, fit_intercept=fit_intercept, tol=1e-12, solver=route).fit(X, y, weights)
            net = ReferenceNet(**asked, fit_intercept=fit_intercept, tol=1e-14, max_iter=1_000_000).fit(X, y, weights)
            values = []
            for model in (ours, net):
                b, r = model.coef_, y - model.predict(X)
                penalty = asked["l1_ratio"] * np.abs(b).sum() + 0.5 * (1.0 - asked["l1_ratio"]) * b @ b
                values.append(0.5 * np.average(r**2, weights=own) + asked["alpha"] * penalty)
            assert values[0] == pytest.approx(values[1], rel=1e-12)
            assert not asked["positive"] or ours.coef_.min() >= 0.0


@pytest.mark.parametrize(("ours", "theirs"), SAME)
def test_keywords_that_tune_speed_have_no_effect(ours, theirs, data):
    small = {"alphas": 5, "cv": 2} if ours.__name__.endswith("CV") else {}
    swapped = {**theirs().get_params(), **small}
    expected = ours(tol=1e-4, eps=swapped["eps"], **small) if small else ours(tol=1e-4)
    model = ours(**swapped).fit(*data)
    np.testing.assert_array_equal(model.coef_, expected.fit(*data).coef_)
    assert repr(ours(precompute=True, selection="random")) == f"{ours.__name__}(precompute=True, selection='random')"
    other = {"precompute": True, "copy_X": False, "selection": "random", "n_jobs": 2, "verbose": 1}
    model.set_params(**{name: value for name, value in other.items() if name in swapped}).fit(*data)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    for name in other.keys() & swapped.keys():
        with pytest.raises(ValueError, match=f"{name} must be"):
            clone(model).set_params(**{name: "no"}).fit(*data)


@pytest.mark.parametrize(
    ("n_jobs", "n_threads", "n_expected"), [(3, None, 3), (-1, None, 8), (-3, None, 6), (-99, None, 1), (3, 2, 2)]
)
def test_n_jobs_are_threads(data, monkeypatch, n_jobs, n_threads, n_expected):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    model = LassoCV(alphas=3, cv=2, n_jobs=n_jobs, n_threads=n_threads)
    assert model._settings()["n_threads"] == n_expected
    with pytest.raises(ValueError, match="n_jobs must be an integer other than 0"):
        LassoCV(n_jobs=0).fit(*data)


def test_verbose_tells_of_every_tenth_of_the_work(data, caplog):
    quiet = LassoCV(alphas=20, cv=2).fit(*data)
    assert not caplog.messages
    told = LassoCV(alphas=20, cv=2, verbose=1).fit(*data)
    assert len(caplog.messages) == 10
    assert caplog.messages[-1].startswith("fwlasso: 60 of 60 points, ")  # of the path and two folds
    np.testing.assert_array_equal(told.coef_, quiet.coef_)


class Halved(Lasso):
    def __init__(self, alpha=0.5, *, extra=1):
        super().__init__(alpha=alpha)
        self.extra = extra


class Chosen(LassoCV):
    def __init__(self, extra=1):
        super().__init__(alphas=5, cv=2)
        self.extra = extra


@pytest.mark.parametrize(("own", "same"), [(Halved(), Lasso(0.5)), (Chosen(), LassoCV(alphas=5, cv=2))])
def test_a_subclass_may_have_its_own_signature(own, same, data):
    np.testing.assert_array_equal(clone(own).fit(*data).coef_, same.fit(*data).coef_)
    assert set(own.get_params()) <= {"alpha", "extra"}


@NOISE
def test_words_of_scikit_learns_fit_and_grid_are_understood(data):
    X, y = data
    expected = Lasso(0.1).fit(X, y).coef_
    for check_input in (True, False):
        np.testing.assert_array_equal(Lasso(0.1).fit(X, y, check_input=check_input).coef_, expected)
        np.testing.assert_array_equal(ElasticNet.path(X, y, alphas=3, check_input=check_input)[1].shape, (30, 3))
    for model in (LassoCV, ElasticNetCV):
        first = model(alphas=1, eps=1, cv=2).fit(X, y)
        assert first.alpha_ == pytest.approx(model(alphas=2, cv=2).fit(X, y).alphas_[0], rel=1e-15)
        np.testing.assert_allclose(first.coef_, 0.0, atol=1e-12)


def test_errors_of_an_earlier_fit_do_not_stay(data):
    model = LassoCV(cv=3, alphas=5).fit(*data)
    assert model.mse_path_.shape == (5, 3)
    for change in ({"scoring": "r2"}, {"scoring": None, "cv": None, "rule": "bic"}):
        assert not hasattr(model.set_params(**change).fit(*data), "mse_path_")


@pytest.mark.parametrize("solver", ["certified", "cd"])
def test_iterations_are_counted_up_to_their_limit(solver, rng):
    X = rng.standard_normal((40, 100)) + 2.0 * rng.standard_normal((40, 1))
    y = X[:, :20].sum(axis=1)
    with pytest.warns(ConvergenceWarning):
        assert Lasso(0.01, max_iter=1, solver=solver).fit(X, y).n_iter_ == 1
    with pytest.warns(UserWarning, match="did not meet|is best at the last point"):
        assert LassoCV(alphas=5, cv=2, max_iter=1, solver=solver).fit(X, y).n_iter_ == 1


def load_as_skops_does(saved):
    """Make objects without arguments, then give them their state; enumerations cannot be made so."""
    kind, state = saved
    if kind in (list, tuple):
        return kind(load_as_skops_does(item) for item in state)
    if kind is dict:
        return {key: load_as_skops_does(item) for key, item in state.items()}
    if not isinstance(state, dict):
        return state
    made = kind.__new__(kind)
    state = {key: load_as_skops_does(item) for key, item in state.items()}
    made.__setstate__(state) if hasattr(made, "__setstate__") else made.__dict__.update(state)
    return made


def save_as_skops_does(it):
    if isinstance(it, list | tuple):
        return type(it), [save_as_skops_does(item) for item in it]
    if isinstance(it, dict):
        return dict, {key: save_as_skops_does(item) for key, item in it.items()}
    if it is None or isinstance(it, str | int | float | np.ndarray | np.generic | sp.csc_array):
        return type(it), it
    return type(it), {key: save_as_skops_does(item) for key, item in it.__getstate__().items()}


@pytest.mark.parametrize("model", [Lasso(0.1), LassoCV(cv=2, alphas=5)])
def test_models_are_made_of_plain_parts(model, data):
    fitted = clone(model).fit(*data)
    for again in (load_as_skops_does(save_as_skops_does(fitted)), pickle.loads(pickle.dumps(fitted)), copy(fitted)):
        np.testing.assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))
        assert again.path_.statuses == fitted.path_.statuses
        assert again.path_.ending is None
    with pytest.warns(ConvergenceWarning):
        stopped = lasso_path(*data, alphas=5, callback=lambda now: True)
    assert pickle.loads(pickle.dumps(stopped)).ending is Status.STOPPED


def test_an_alpha_of_zero_is_least_squares(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match=r"alpha=0 is least squares.*LinearRegression\.") as told:
        model = Lasso(0.0).fit(X, y)
    assert "increase tol" not in str(told[0].message)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-6)


def test_a_start_that_is_none_is_refused_by_name(data):
    model = Lasso(0.1, warm_start=True).fit(*data)
    for start in (np.full(30, np.nan), np.zeros((1, 30)), ["0"] * 30):
        model.coef_ = start
        with pytest.raises(ValueError, match="coef_ must be finite numbers in one dimension"):
            model.fit(*data)
    model.coef_ = [0.0] * 30
    np.testing.assert_array_equal(model.fit(*data).coef_, Lasso(0.1).fit(*data).coef_)


ONE_POINT = {"alpha": {"alpha": 0.05}, "radius": {"radius": 4.0}}
FITS = {
    "as given": {},
    "tight": {"tol": 1e-9},
    "standardized": {"standardize": True},
    "no intercept": {"fit_intercept": False},
}


@pytest.mark.parametrize(("fit", "wrap"), [(fit, np.asfortranarray) for fit in FITS] + [("standardized", sp.csc_array)])
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
        assert model.relative_gap_ <= FITS[fit].get("tol", 1e-4)
        assert model.path_.counters.iterations[0] == 0


@pytest.mark.parametrize("form", ONE_POINT)
@pytest.mark.parametrize("other", [0.5, 2.0])
def test_a_warm_start_from_elsewhere_ends_at_the_solution(form, other, data):
    name, value = next(iter(ONE_POINT[form].items()))
    model = Lasso(**{name: other * value}, tol=1e-10, warm_start=True).fit(*data)
    model.set_params(**{name: value}).fit(*data)
    cold = Lasso(**{name: value}, tol=1e-10).fit(*data)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-4)
    assert model.relative_gap_ <= 1e-10


def test_a_warm_start_on_other_data_ends_at_their_solution(data):
    X, y = data
    model = Lasso(0.05, tol=1e-10, warm_start=True).fit(X, y).fit(X[::-1], 2.0 - y)
    np.testing.assert_allclose(model.coef_, Lasso(0.05, tol=1e-10).fit(X[::-1], 2.0 - y).coef_, atol=1e-4)
    model.fit(X[:, :20], y)  # coefficients of another number of columns are of no use
    np.testing.assert_array_equal(model.coef_, Lasso(0.05, tol=1e-10).fit(X[:, :20], y).coef_)


@pytest.mark.parametrize("settings", [{}, {"solver": "sfw"}, {"solver": "cd"}], ids=["cold", "sfw", "cd"])
def test_a_cold_fit_and_other_solvers_start_from_zero(settings, data):
    model = Lasso(0.3, random_state=0, warm_start=bool(settings), **settings)
    fits = [model.fit(*data) and (model.coef_.tobytes(), model.n_iter_) for _ in range(2)]
    assert fits[0] == fits[1]
    assert fits[0][1] > 0


@pytest.mark.parametrize("settings", [{"alpha": 0.1}, {"alpha": 0.1, "solver": "cd"}, {"radius": 2.0, "solver": "fw"}])
@pytest.mark.parametrize(("standardize", "value"), [(False, 0.0), (True, 0.1)])
def test_a_warm_start_on_a_column_that_became_constant_forgets_it(settings, standardize, value, rng):
    X = rng.standard_normal((40, 6))
    y = 3.0 * X[:, 1] + X[:, 2]
    model = Lasso(**settings, standardize=standardize, tol=1e-6, warm_start=True).fit(X, y)
    assert model.coef_[1] != 0.0
    X[:, 1] = value
    model.fit(X, y)
    fresh = Lasso(**settings, standardize=standardize, tol=1e-6).fit(X, y)
    assert model.coef_[1] == 0.0
    assert model.relative_gap_ <= 1e-6
    np.testing.assert_allclose(model.predict(X), fresh.predict(X), atol=1e-2)


@pytest.mark.parametrize("form", ONE_POINT)
def test_a_refit_reads_fewer_columns_than_a_path(form, rng):
    X = rng.standard_normal((60, 2000))
    y = X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + 0.5 * rng.standard_normal(60) + 7.0
    model = Lasso(**ONE_POINT[form], warm_start=True).fit(X, y)
    whole = lasso_path(X, y, **({"alphas": 100} if form == "alpha" else {"radii": np.linspace(0.04, 4.0, 100)}))
    single = model.path_.counters.passes
    assert single < whole.counters.passes
    assert model.fit(X, y).path_.counters.passes < single
    assert model.path_.counters.passes < 4  # one to set up, one to correlate, and some survivors


def gap_of(X, y, coef, alpha):
    """Return the gap of centred data in scikit-learn's units, with r scaled to be a dual point."""
    m, r = len(y), y - X @ coef
    scale = min(1.0, m * alpha / np.abs(X.T @ r).max())
    return (0.5 * r @ r + m * alpha * np.abs(coef).sum() - scale * r @ y + 0.5 * scale**2 * r @ r) / m


@pytest.mark.parametrize("scale", [1.0, 1e3, 2.0**-600])
@pytest.mark.parametrize("solver", ["gram", "working-set", "cd"])
def test_a_dual_gap_is_in_the_units_of_scikit_learn(scale, solver, data):
    X, y = data[0] - data[0].mean(axis=0), data[1] - data[1].mean()
    alpha = 0.1
    reference = ReferenceLasso(alpha, tol=1e-2, fit_intercept=False).fit(X, y)
    assert reference.dual_gap_ == pytest.approx(gap_of(X, y, reference.coef_, alpha), rel=1e-6)
    null, ours = 0.5 * y @ y / len(y), Lasso(alpha * scale, tol=1e-2, solver=solver).fit(X, scale * y)
    assert ours.dual_gap_ == pytest.approx(ours.relative_gap_ * null * scale * scale, rel=1e-12)
    gap = gap_of(X, y, ours.coef_ / scale, alpha)
    assert gap / null <= 1e-2
    if solver == "cd":  # whose dual point is the residual
        assert ours.relative_gap_ == pytest.approx(gap / null, rel=1e-9)
    beyond = Lasso(1e199, tol=1e-2, solver=solver).fit(X, 1e200 * y)  # whose objective float64 does not hold
    assert (np.isnan(beyond.dual_gap_), beyond.path_.settings["null_objective"]) == (True, None)
    chosen = LassoCV(alphas=[alpha], cv=2, solver=solver, tol=1e-2).fit(X, y)
    assert chosen.dual_gap_ == pytest.approx(chosen.relative_gap_ * null, rel=1e-12)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("settings", [{}, {"alphas": 7, "eps": 0.01}, {"alphas": [0.5, 1.0]}, {"n_alphas": 5}])
def test_path_is_scikit_learns(settings, wrap, data):
    X, y = data
    n_alphas, theirs = settings.get("n_alphas", settings.get("alphas")), settings
    if isinstance(n_alphas, int):  # it has one of these names or the other, by the version
        theirs = {"alphas": reference_path(X, y)[0][0] * np.geomspace(1.0, settings.get("eps", 1e-3), n_alphas)}
    tight = {"tol": 1e-9, "precompute": False, "coef_init": None, "verbose": False, "return_n_iter": True}
    expected = reference_path(X, y, **theirs, **{**tight, "max_iter": 100_000})
    for kind in (Lasso, LassoCV(), LassoCV):
        alphas, coefs, gaps, n_iters = kind.path(wrap(X), y, **settings, **tight)
        np.testing.assert_allclose(alphas, expected[0], rtol=1e-12)
        np.testing.assert_allclose(coefs, expected[1], atol=1e-4)
        assert (gaps <= 1e-9 * 0.5 * y @ y / len(y)).all()
        assert len(n_iters) == len(alphas) == gaps.size
    alphas, coefs, gaps = Lasso.path(X, y, **settings)
    with pytest.raises(ValueError, match="selection must be cyclic or random"):
        Lasso.path(X, y, selection="no")


@pytest.mark.parametrize(
    "asked", [{}, {"l1_ratio": 0.9, "eps": 0.01}, {"alphas": [0.5, 0.1], "positive": True}], ids=str
)
def test_path_of_nets_is_scikit_learns(asked, data):
    tight = {"tol": 1e-9, "max_iter": 100_000}
    expected = reference_net_path(*data, **{"l1_ratio": 0.5, **asked}, **tight)
    for kind in (ElasticNet, ElasticNetCV()):
        alphas, coefs, _ = kind.path(*data, **asked, **tight)
        np.testing.assert_allclose(alphas, expected[0], rtol=1e-12)
        np.testing.assert_allclose(coefs, expected[1], atol=1e-3)


def test_the_default_grid_is_scikit_learns(data):
    for X, y in (data, (data[0][:20], data[1][:20])):  # tall, and wide
        ours, reference = LassoCV().fit(X, y), ReferenceLassoCV().fit(X, y)
        np.testing.assert_allclose(ours.alphas_, reference.alphas_, rtol=1e-10)
    with pytest.warns(UserWarning, match="did not meet"):
        by_shape = LassoCV(eps=None, alphas=5, max_iter=1, cv=2).fit(*data)
    assert by_shape.path_.settings["eps"] == 1e-4


@pytest.mark.filterwarnings("ignore:The mean squared error is best at the last point")
@pytest.mark.parametrize(
    ("older", "same"),
    [
        ({"n_alphas": 5}, {"alphas": 5}),
        ({"n_alphas": 5, "alphas": None}, {"alphas": 5}),
        ({"n_alphas": 5, "alphas": [0.3, 0.01]}, {"alphas": [0.3, 0.01]}),
        ({"n_alphas": "deprecated", "alphas": "warn"}, {"alphas": 100}),
        ({"n_alphas": "deprecated", "alphas": 7}, {"alphas": 7}),
    ],
)
def test_older_words_for_a_grid_are_understood(older, same, data):
    model = clone(LassoCV(cv=2, **older)).fit(*data)
    np.testing.assert_array_equal(model.alphas_, LassoCV(cv=2, **same).fit(*data).alphas_)
    for bad in (0, "many", 2.5):
        with pytest.raises(ValueError, match="n_alphas must be an integer >= 1 or None"):
            LassoCV(n_alphas=bad).fit(*data)
        with pytest.raises(ValueError, match="n_alphas must be an integer >= 1 or None"):
            Lasso.path(*data, n_alphas=bad)


def test_an_elastic_net_is_a_lasso_with_another_default(data):
    for net, lasso in ((ElasticNet, Lasso), (ElasticNetCV, LassoCV)):
        own, other = inspect.signature(net).parameters, inspect.signature(lasso).parameters
        assert list(own) == list(other)
        assert {name for name in own if own[name] != other[name]} == {"l1_ratio"}
        small = {"cv": 3, "alphas": 5} if lasso is LassoCV else {"alpha": 0.1}
        found, same = net(**small).fit(*data), lasso(l1_ratio=0.5, **small).fit(*data)
        np.testing.assert_array_equal(found.coef_, same.coef_)
        assert clone(net(l1_ratio=0.3)).get_params()["l1_ratio"] == 0.3
        with pytest.raises(TypeError, match=rf"{net.__name__}.__init__\(\) got an .* 'lambda_': here it is alpha"):
            net(lambda_=1.0)
        np.testing.assert_array_equal(net(l1_ratio=1.0, **small).fit(*data).coef_, lasso(**small).fit(*data).coef_)
    assert ElasticNet(0.3).alpha == 0.3


@pytest.mark.parametrize("named", [True, False])
def test_a_frame_of_a_model_has_the_intercept_and_the_largest_coefficients_first(named, data):
    X = pd.DataFrame(data[0], columns=[f"f{j}" for j in range(30)]) if named else data[0]
    found, path = lasso_cv(X, data[1], cv=3, alphas=20), lasso_path(X, data[1], alphas=20)
    models = Lasso(0.1).fit(X, data[1]), LassoCV(cv=3, alphas=20).fit(X, data[1]), found, path[9]
    for model in models:
        frame = model.to_frame()
        assert list(frame) == ["feature", "coef"]
        own = model.model if model is found else model
        assert frame["feature"][0] == "(intercept)"
        assert frame["coef"][0] == getattr(own, "intercept_", None) or own.intercept
        coef = own.coef_ if hasattr(own, "coef_") else own.dense_coef()
        places = [int(name[1:]) if named else name for name in frame["feature"][1:]]
        assert sorted(places) == np.flatnonzero(coef).tolist()
        np.testing.assert_array_equal(frame["coef"][1:], coef[places])
        assert (np.diff(np.abs(frame["coef"][1:])) <= 0.0).all()


@pytest.mark.parametrize("relax", [False, [0.0]])
def test_the_largest_of_standardised_columns_come_first(relax, data, rng):
    scales = 10.0 ** rng.uniform(-3.0, 3.0, 30)
    X, y = data[0] * scales, data[1]
    asked = {"standardize": True, "cv": 3, "alphas": 20, "relax": relax, "rule": "1se"}
    found = lasso_cv(X, y, **asked)
    for model in (found, LassoCV(eps=None, **asked).fit(X, y), LinearModel.from_json(found.model.to_json())):
        frame = model.to_frame()
        places = frame["feature"][1:].to_numpy(int)
        assert (np.diff(np.abs(frame["coef"][1:]) * X.std(axis=0)[places]) <= 0.0).all()
        assert places.tolist()[:3] == [0, 1, 2]
    mixed = LinearModel.from_path(found.path, alpha=float(np.mean(found.path.alphas[8:10])))
    np.testing.assert_allclose(mixed.scales, X.std(axis=0)[mixed.indices], rtol=1e-9)
    assert lasso_path(X, y, alphas=3)[-1].scales is None

"""Paths of classes and counts, as users have them: claims in long double, identities, and other programs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from attack.duality import General
from fwlasso import LassoPath, LinearModel, Status, lasso_path
from judge import judge_loss

LOSSES = ["logistic", "poisson"]


def make_data(name: str, seed: int, m: int = 40, p: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, p))
    eta = X[:, :4] @ [1.5, -1.0, 1.0, 0.5]
    y = rng.poisson(np.exp(0.5 * eta)) if name == "poisson" else rng.random(m) < 1.0 / (1.0 + np.exp(-eta))
    y = y.astype(float)
    y[:2] = 0.0, 1.0
    return np.asfortranarray(X), y


HOSTILE = ["balance", "separable", "zeros", "means", "copies", "weights", "few", "offset"]


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", LOSSES)
def test_hostile_data_are_certified(name, what):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = make_data(name, seed, m=4 if what == "few" else 60)
        keywords, asked = {"alphas": 12, "tol": 1e-6, "eps": 1e-2}, {}
        if what == "balance":
            y[:] = np.arange(y.size) == 1
        elif what == "separable":
            y = (X[:, 0] > 0.0).astype(float)
            keywords |= {"eps": 1e-6 if name == "logistic" else 1e-3}
        elif what == "zeros":
            y = np.where(rng.random(y.size) < 0.8, 0.0, y)
            y[:2] = 0.0, 1.0
        elif what == "means":
            X = X + 1e6 * rng.random(X.shape[1])
        elif what == "copies":
            X = np.concatenate([X, X[:, :9], -X[:, :5]], axis=1)
        elif what == "weights":
            asked["sample_weight"] = np.where(rng.random(y.size) < 0.5, 0.0, rng.exponential(size=y.size))
            asked["sample_weight"][:2] = 0.1
        elif what == "offset":
            asked["offset"] = 2.0 * rng.standard_normal(y.size)
        path = lasso_path(sp.csc_array(X) if seed else np.asfortranarray(X), y, loss=name, **keywords, **asked)
        assert set(path.statuses) == {Status.CERTIFIED}
        judge_loss(path, X, y, General(**asked))


def objective(name, X, y, b, b0, alpha):
    eta = X @ b + b0
    values = np.logaddexp(0.0, eta) - y * eta if name == "logistic" else np.exp(eta) - y * eta
    return values.mean() + alpha * np.abs(b).sum()


@pytest.mark.parametrize("name", LOSSES)
def test_the_objective_is_that_of_l_bfgs_on_split_variables(name):
    X, y = make_data(name, 3, p=12)
    path = lasso_path(X, y, loss=name, alphas=6, tol=1e-8)
    for k in (2, 5):
        alpha = path.alphas[k]

        def split(v, alpha=alpha):
            b = v[:12] - v[12:24]
            eta = X @ b + v[24]
            slopes = (1.0 / (1.0 + np.exp(-eta)) if name == "logistic" else np.exp(eta)) - y
            gradient = X.T @ slopes / len(y)
            return (
                objective(name, X, y, b, v[24], 0.0) + alpha * v[:24].sum(),
                np.concatenate([gradient + alpha, alpha - gradient, [slopes.mean()]]),
            )

        best = minimize(split, np.zeros(25), jac=True, bounds=[(0.0, None)] * 24 + [(None, None)], tol=1e-14)
        ours = objective(name, X, y, path.coef(k), path.intercepts[k], alpha)
        assert ours - best.fun <= path.dual_gaps[k] + 1e-9
        assert ours >= best.fun - 1e-6


@pytest.mark.parametrize("solver", ["liblinear", "saga"])
def test_c_is_one_over_alpha_and_the_weights(solver):
    X, y = make_data("logistic", 4)
    fit_intercept = solver == "saga"  # liblinear penalises it
    path = lasso_path(X, y, loss="logistic", alphas=[0.05], fit_intercept=fit_intercept, tol=1e-10)
    settings = {"C": 1.0 / (0.05 * len(y)), "solver": solver, "fit_intercept": fit_intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(penalty="l1", tol=1e-10, max_iter=100_000, random_state=0, **settings).fit(X, y)
    np.testing.assert_allclose(path.coef(0), model.coef_[0], atol=1e-5)
    np.testing.assert_allclose(path[0].predict_proba(X), model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_one_column_of_zeros_and_ones_is_solved_by_hand(name):
    x = np.repeat([0.0, 1.0], [30, 20])
    y = (np.arange(50) % np.where(x > 0.0, 2, 5) == 0).astype(float)
    path = lasso_path(x[:, np.newaxis], y, loss=name, alphas=[0.02], tol=1e-11)
    # Slopes add up to zero in both groups but for the penalty: sum over x = 1 is lam, over x = 0 it is -lam.
    means = np.array([(y[x == 0.0].sum() + 50 * 0.02) / 30, (y[x == 1.0].sum() - 50 * 0.02) / 20])
    eta = np.log(means / (1.0 - means)) if name == "logistic" else np.log(means)
    assert path.intercepts[0] == pytest.approx(eta[0], abs=1e-6)
    assert path.coef(0)[0] == pytest.approx(eta[1] - eta[0], abs=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_exchanged_classes_change_signs_and_nothing_else(sparse):
    X, y = make_data("logistic", 5)
    X = sp.csc_array(X * (np.abs(X) > 1.0)) if sparse else X
    one, other = (lasso_path(X, labels, loss="logistic", alphas=10, tol=1e-6) for labels in (y, 1.0 - y))
    np.testing.assert_array_equal(one.coefs.toarray(), -other.coefs.toarray())
    np.testing.assert_array_equal(one.intercepts, -other.intercepts)
    np.testing.assert_array_equal(one.gaps, other.gaps)


@pytest.mark.parametrize("name", LOSSES)
def test_whole_weights_are_repetitions_and_zero_is_none(name):
    X, y = make_data(name, 6)
    times = np.random.default_rng(6).integers(0, 4, y.size)
    times[:2] = 1
    alphas = lasso_path(X, y, loss=name, alphas=6, sample_weight=times).alphas
    weighted = lasso_path(X, y, loss=name, alphas=alphas, sample_weight=times, tol=1e-10)
    repeated = lasso_path(np.repeat(X, times, axis=0), np.repeat(y, times), loss=name, alphas=alphas, tol=1e-10)
    np.testing.assert_allclose(weighted.coefs.toarray(), repeated.coefs.toarray(), atol=1e-4)
    ones = lasso_path(X, y, loss=name, alphas=6, sample_weight=np.ones(y.size))
    np.testing.assert_array_equal(ones.coefs.toarray(), lasso_path(X, y, loss=name, alphas=6).coefs.toarray())


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1)])
def test_labels_are_what_they_were(labels, tmp_path):
    X, y = make_data("logistic", 7)
    given = np.array(labels)[y.astype(int)]
    path = lasso_path(X, given, loss="logistic", alphas=5)
    assert path.classes == labels
    path.save(tmp_path / "path.npz")
    loaded = LassoPath.load(tmp_path / "path.npz")
    assert (loaded.classes, loaded.loss) == (labels, "logistic")
    model = LinearModel.from_json(path[3].to_json())
    assert model == path[3]
    chances = path.predict(X, point=3, kind="mean")
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1.0 - chances, chances]), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[(chances > 0.5).astype(int)])
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X, point=3))
    assert path.score(X, given, point=3) == pytest.approx(path.r2[3])


def test_rates_and_the_share_of_the_deviance():
    X, y = make_data("poisson", 8)
    offset = np.linspace(-1.0, 1.0, y.size)
    path = lasso_path(X, y, loss="poisson", alphas=5, offset=offset, tol=1e-8)
    rates = path.predict(X, point=3, offset=offset)
    np.testing.assert_allclose(np.log(rates), path.predict(X, point=3, offset=offset, kind="link"))
    assert rates.sum() == pytest.approx(y.sum(), rel=1e-6)  # as the intercept is the best one
    plain = lasso_path(X, y, loss="poisson", alphas=5)
    assert plain.score(X, y, point=3) == pytest.approx(plain.r2[3])
    assert plain[3].predict(X) == pytest.approx(plain.predict(X, point=3))
    with pytest.raises(ValueError, match="kind: loss='poisson' has no classes"):
        plain.predict(X, kind="class")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of squared, logistic, poisson"),
        ({"solver": "cd"}, "solver='cd' solves least squares alone, take one of 'certified', "),
        ({"solver": "gram"}, "solver='gram' solves least squares alone"),
        ({"ridge": 0.5, "solver": "sfw"}, "ridge: loss='logistic' has penalty factors alone with 'sfw'"),
        ({"radii": 5, "l1_ratio": 0.5}, "over radii there is none"),
        ({"alphas": [0.1, 0.0]}, "alphas: loss='logistic' may have no solution for alpha=0"),
        ({"y": np.ones(40)}, "only one class: 1.0"),
        ({"y": np.arange(40) % 3}, "The type of the target is multiclass"),
        ({"y": np.linspace(0.0, 1.0, 40)}, "Unknown label type: continuous"),
        ({"y": np.where(np.arange(40) == 3, np.nan, 1.0)}, "y contains NaN"),
        ({"sample_weight": np.arange(40) == 1}, "only one class"),
        ({"loss": "poisson", "y": -np.ones(40)}, "out of the range of the Poisson loss"),
        ({"loss": "poisson", "y": np.zeros(40)}, "all counts are zero"),
    ],
)
def test_what_there_is_not_is_refused_by_name(keywords, message):
    X, y = make_data("logistic", 9)
    with pytest.raises(ValueError, match=message):
        lasso_path(X, **{"y": y, "loss": "logistic", **keywords})


def test_a_path_in_segments_goes_on_with_the_same_bits(tmp_path):
    X, y = make_data("logistic", 10)
    keywords = {"loss": "logistic", "alphas": 9, "checkpoint": tmp_path / "run", "random_state": 0}
    first = lasso_path(X, y, **keywords)
    (tmp_path / "run" / "segments" / "2.npz").unlink()
    again = lasso_path(X, y, **keywords)
    assert set(again.statuses) == {Status.CERTIFIED}
    np.testing.assert_array_equal(first.coefs.toarray(), again.coefs.toarray())
    np.testing.assert_array_equal(first.intercepts, again.intercepts)


@pytest.mark.parametrize("name", LOSSES)
def test_radii_are_the_points_of_alphas(name):
    X, y = make_data(name, 13)
    by_alpha = lasso_path(X, y, loss=name, alphas=6, tol=1e-9)
    path = lasso_path(X, y, loss=name, radii=by_alpha.radii, tol=1e-9, ridge=0.0)
    assert set(path.statuses) == {Status.CERTIFIED}
    np.testing.assert_allclose(path.coefs.toarray(), by_alpha.coefs.toarray(), atol=2e-3)
    np.testing.assert_allclose(path.alphas, by_alpha.alphas, rtol=1e-2)
    assert len(lasso_path(X, y, loss=name, radii=3)) == 3


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_that_is_positive_leaves_the_null_model(name):
    X, y = make_data(name, 14)
    with pytest.warns(UserWarning, match="all models are empty"):
        path = lasso_path(X * -np.sign((y - y.mean()) @ X), y, loss=name, alphas=2, positive=True)
    assert not path.coefs.nnz
    np.testing.assert_allclose([path.r2, path.gaps], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_a_column_of_ones_without_a_penalty_is_an_intercept(name):
    X, y = make_data(name, 15)
    path = lasso_path(X, y, loss=name, alphas=5, tol=1e-10, offset=np.sin(np.arange(40)))
    ones = np.hstack([X, np.ones((40, 1))])
    asked = {"fit_intercept": False, "unpenalized": [30], "offset": np.sin(np.arange(40))}
    own = lasso_path(ones, y, loss=name, alphas=path.alphas, tol=1e-10, **asked)
    np.testing.assert_allclose(own.coefs.toarray()[:30], path.coefs.toarray(), atol=1e-4)
    np.testing.assert_allclose(own.coefs.toarray()[30], path.intercepts, atol=1e-4)
    np.testing.assert_allclose(own.r2, path.r2, atol=1e-8)


def test_columns_that_tell_y_have_no_model_without_a_penalty():
    X, y = make_data("logistic", 16)
    X[:, 2] = y + 0.1 * X[:, 2]
    with pytest.raises(ValueError, match="unpenalized: columns without a penalty tell some of y exactly"):
        lasso_path(X, y, loss="logistic", unpenalized=[2])


def test_constant_counts_have_their_rate():
    X, y = make_data("poisson", 11)
    with pytest.warns(UserWarning, match="The response is constant"):
        path = lasso_path(X, np.full(y.size, 3.0), loss="poisson", alphas=2)
    np.testing.assert_allclose(path.predict(X), 3.0)

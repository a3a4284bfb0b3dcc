"""A path as users have it: predictions, scores, interpolation, frames and files."""

import itertools
import pickle
import threading
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

from fwlasso import LassoCV, LassoPath, LinearModel, Status, lasso_cv, lasso_path
from run_cases import assert_same_bits

M, P = 40, 15
NAMES = ("a", "größe ", "", "<b>&", *(f"x {j}" for j in range(4, P)))


def make_data():
    rng = np.random.default_rng(7)
    X = np.asfortranarray(rng.integers(-8, 9, (M, P)) / 4.0)  # float32 holds these exactly
    return X, X[:, [0, 3, 5]] @ [3.0, -2.0, 1.0] + 0.5 * rng.standard_normal(M) + 10.0


X, Y = make_data()


def solve(X=X, y=Y, **settings):
    return lasso_path(X, y, **{"random_state": 0, "stop": "gap", "tol": 1e-3, "n_threads": 1, **settings})


@pytest.fixture(scope="module")
def path():
    return solve(pd.DataFrame(X, columns=NAMES), alphas=6)


def no_active():
    with pytest.warns(UserWarning, match="The response is constant"):
        return solve(y=np.ones(M), radii=3)


def test_summary_counts_statuses_in_order(path):
    assert "not computed" in repr(replace(path, gaps=np.full(6, np.nan)))
    some = replace(path, statuses=(Status.SETTLED, Status.STALLED, Status.SETTLED))
    assert some.summary_of_statuses() == "2 settled, 1 stalled"
    assert len(some) == 3


def test_predict_and_score_by_every_point_and_by_one(path):
    predicted = path.predict(X)
    np.testing.assert_allclose(predicted, X @ path.coefs.toarray() + path.intercepts, rtol=1e-12)
    scores = path.score(X, Y)
    np.testing.assert_allclose(scores, [r2_score(Y, column) for column in predicted.T], rtol=1e-12, atol=1e-12)
    for point in (0, 4, -1):
        ways = {"point": point}, {"alpha": float(path.alphas[point])}, {"radius": float(path.radii[point])}
        for where in ways:
            np.testing.assert_allclose(path.predict(X, **where), predicted[:, point], rtol=1e-12)
            assert path.score(X, Y, **where) == pytest.approx(scores[point], rel=1e-12)
    between = LinearModel.from_path(path, alpha=0.5 * (path.alphas[3] + path.alphas[4]))
    np.testing.assert_allclose(path.predict(X, alpha=between.about["alpha"]), between.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["alpha", "radius", "point"])
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_predict_and_score_by_several_models(path, name, kind):
    grid = {"alpha": path.alphas, "radius": path.radii, "point": np.arange(6)}[name]
    asked = [4, -1, 0] if name == "point" else [0.3 * grid[2] + 0.7 * grid[3], grid[5], grid[0]]
    each = [path.predict(X, **{name: value}) for value in asked]
    np.testing.assert_allclose(path.predict(X, **{name: kind(asked)}), np.column_stack(each), rtol=1e-12)
    np.testing.assert_allclose(path.predict(X, **{name: kind(asked[:1])}), each[0][:, np.newaxis], rtol=1e-12)
    expected = [r2_score(Y, column) for column in each]
    np.testing.assert_allclose(path.score(X, Y, **{name: kind(asked)}), expected, rtol=1e-12, atol=1e-12)
    if name != "point":
        coefs, intercepts = path.at(**{name: kind(asked)})
        for k, value in enumerate(asked):
            coef, intercept = at(path, name, value)
            np.testing.assert_array_equal(coefs.toarray()[:, k], coef)
            assert intercepts[k] == intercept


def test_cross_validation_predicts_by_other_models_of_its_path():
    found = lasso_cv(X, Y, alphas=6, cv=3)
    asked = found.path.alphas[[1, 4]].tolist()
    np.testing.assert_array_equal(found.predict(X, alpha=asked), found.path.predict(X, alpha=asked))
    np.testing.assert_array_equal(found.predict(X, alpha=asked[0]), found.path.predict(X, alpha=asked[0]))
    with pytest.raises(TypeError, match="keyword argument 's': here it is alpha="):
        found.predict(X, s=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_score_takes_responses_as_scikit_learn_does(path):
    np.testing.assert_array_equal(no_active().score(X, np.ones(M)), [r2_score(np.ones(M), np.ones(M))] * 3)
    for y in (Y[:, np.newaxis], Y.tolist(), np.full(M, 2.0)):
        expected = [r2_score(np.ravel(y), column) for column in path.predict(X).T]
        np.testing.assert_allclose(path.score(X, y), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("look", "error", "message"),
    [
        (lambda path: path.predict(X[:, 1:]), ValueError, f"X has {P - 1} features, .* {P}"),
        (lambda path: path.predict(sp.csr_array(np.ones((2, P + 1))), 0), ValueError, f"X has {P + 1} features"),
        (lambda path: path.predict(X[0]), ValueError, "2D"),
        (lambda path: path.predict(np.full((1, P), np.nan)), ValueError, "X contains NaN"),
        (lambda path: path.predict(X, 4, alpha=0.1), ValueError, "one of point, alpha and radius"),
        (lambda path: path.score(X, Y[1:]), ValueError, rf"\b{M - 1}\b"),
        (lambda path: path.predict(X, alpha="x"), ValueError, "alpha must be a number or a list of numbers, got 'x'"),
        (lambda path: path.predict(X, radius=[[1.0]]), ValueError, "radius must be a number or a list of numbers"),
        (lambda path: path.predict(X, alpha=[]), ValueError, "alpha must be a number or a list"),
        (
            lambda path: path.predict(X, alpha=[path.alphas[1], 1e9]),
            ValueError,
            "alpha=1000000000.0 is outside",
        ),
        (lambda path: path.predict(X, point=[0, 6]), IndexError, "point must be from 0 to 5"),
        (lambda path: LinearModel.from_path(path, alpha=[0.1, 0.2]), ValueError, "alpha must be one number"),
        (lambda path: path.at(), ValueError, "radius or alpha"),
        (lambda path: path.at(radius=1.0, alpha=1.0), ValueError, "radius or alpha"),
        (lambda path: path.to_frame("lines"), ValueError, r"kind must be .*'lines'"),
        (lambda path: path[6], IndexError, "point must be from 0 to 5"),
        (lambda path: path[-7], IndexError, "point must be from 0 to 5"),
        (lambda path: path.coef(6), IndexError, "point must be from 0 to 5"),
        (lambda path: path.predict(X, point=6), IndexError, "point must be from 0 to 5"),
    ],
)
def test_what_cannot_be_answered_is_refused(path, look, error, message):
    with pytest.raises(error, match=message):
        look(path)


def at(path, name, value):
    coef, intercept = path.at(**{name: value})
    assert coef.shape == (P, 1)
    assert coef.format == "csc"
    return coef.toarray()[:, 0], intercept


def grid_of(path, name):
    return path.radii if name == "radius" else path.alphas


GRIDS = pytest.mark.parametrize("name", ["radius", "alpha"])


@GRIDS
@pytest.mark.parametrize("solve_grid", [{"alphas": 6}, {"radii": 6}], ids=["alphas", "radii"])
def test_at_is_exact_on_the_grid_and_linear_between(name, solve_grid):
    path = solve(**solve_grid)
    grid = grid_of(path, name)
    for k, value in enumerate(grid):
        coef, intercept = at(path, name, value)
        np.testing.assert_array_equal(coef, path.coef(k))
        assert intercept == path.intercepts[k]
    for k, share in itertools.product(range(len(path) - 1), (0.1, 0.75)):
        coef, intercept = at(path, name, (1 - share) * grid[k] + share * grid[k + 1])
        np.testing.assert_allclose(coef, (1 - share) * path.coef(k) + share * path.coef(k + 1), atol=1e-12)
        assert intercept == pytest.approx((1 - share) * path.intercepts[k] + share * path.intercepts[k + 1])
    for value in (1.001 * grid.max(), grid.min() - 1e-6, np.nan):
        with pytest.raises(ValueError, match=rf"{name}=.* is outside the path, \[.*{grid.max():.6g}"):
            path.at(**{name: value})


@pytest.mark.filterwarnings("ignore:The response is constant")
# m alpha / m is not alpha for 24 samples and 0.1, 0.2 or 0.7.
@pytest.mark.parametrize(("m", "alphas"), [(24, [0.1, 1.0, 0.5]), (24, [0.2, 0.7])])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_given_alphas_come_back_to_the_bit(m, alphas, checkpoint, tmp_path):
    rows, flat = np.random.default_rng(0).standard_normal((m, 8)), np.ones(m)  # no model is better than another
    options = {"alphas": alphas, "checkpoint": tmp_path / "run" if checkpoint else None}
    told = []
    for _ in range(2 if checkpoint else 1):
        path = lasso_path(rows, rows[:, 0], callback=lambda now: told.append(now.parameter), **options)
        assert path.alphas.tolist() == sorted(alphas, reverse=True)
    assert set(told) == set(alphas)
    for value in (min(alphas), np.nextafter(min(alphas), 0.0)):
        np.testing.assert_array_equal(path.at(alpha=value)[0].toarray()[:, 0], path.coef(-1))
    found = lasso_cv(rows, flat, alphas=alphas, cv=2)
    for it in (found.path, *found.fold_paths):
        assert it.alphas.tolist() == sorted(alphas, reverse=True)
    assert LassoCV(alphas=alphas, cv=2).fit(rows, flat).alpha_ in alphas


@pytest.mark.parametrize("make", [lambda: solve(radii=[1.0]), no_active, lambda: solve(radii=[1.0, 1.0, 1.0])])
def test_at_where_all_points_are_one(make):
    path = make()
    coef, intercept = at(path, "radius", path.radii[0])
    np.testing.assert_allclose(coef, path.coef(0), atol=1e-3)
    assert intercept == pytest.approx(path.intercepts[0], abs=1e-3)
    with pytest.raises(ValueError, match="outside"):
        path.at(radius=2.0)


def test_frame_of_points(path):
    frame = path.to_frame()
    assert list(frame) == ["alpha", "radius", "n_active", "r2", "gap", "iterations", "status"]
    assert frame["status"].tolist() == [status.value for status in path.statuses]
    expected = (path.alphas, path.radii, path.n_active, path.r2, path.gaps, path.counters.iterations)
    np.testing.assert_array_equal(frame.drop(columns="status").to_numpy(), np.column_stack(expected))


@pytest.mark.parametrize("named", [True, False])
def test_frame_of_coefficients(path, named):
    path = path if named else replace(path, feature_names=None)
    frame = path.to_frame("coefs")
    assert list(frame) == ["point", "radius", "feature", "coef"]
    features = [NAMES.index(name) for name in frame["feature"]] if named else frame["feature"]
    again = sp.csc_array((frame["coef"], (features, frame["point"])), shape=path.coefs.shape)
    np.testing.assert_array_equal(again.toarray(), path.coefs.toarray())
    np.testing.assert_array_equal(frame["radius"], path.radii[frame["point"]])


def stopped():
    with pytest.warns(ConvergenceWarning, match="2 of 5 points"):
        return solve(radii=5, callback=lambda now: now.point == 1 and now.done)


def precise():
    with pytest.warns(ConvergenceWarning, match="increase tol"):
        path = solve(alphas=3, tol=0.0)
    assert Status.PRECISION in path.statuses
    return path


PATHS = {
    "named": lambda: solve(pd.DataFrame(X, columns=NAMES), alphas=4),
    "unnamed": lambda: solve(radii=4),
    "by Frank-Wolfe": lambda: solve(radii=4, solver="sfw"),
    "without gaps": lambda: solve(radii=2, solver="sfw", stop="change", certify=False),
    "without a closing pass": lambda: solve(radii=2, certify=False),
    "as precise as it gets": precise,
    "stopped": stopped,
    "without coefficients": no_active,
    "sparse": lambda: solve(sp.csc_array(X), alphas=4, solver="cd", standardize=True),
    "settings of numpy": lambda: solve(
        radii=np.int64(3),
        tol=np.float32(1e-3),
        eps=np.float32(0.1),
        max_iter=np.int64(5000),
        block_size=np.int32(2),
        time_limit=np.float32(1e6),
        fit_intercept=np.True_,
    ),
}


@pytest.mark.parametrize("kind", PATHS)
def test_saved_path_comes_back_equal(tmp_path, kind):
    path = PATHS[kind]()
    path.save(tmp_path / "path.saved")
    assert [file.name for file in tmp_path.iterdir()] == ["path.saved"]  # the very name
    again = LassoPath.load(str(tmp_path / "path.saved"))
    assert_same_bits(again, path)
    assert again.settings == path.settings
    assert again.counters.seconds == path.counters.seconds
    assert {type(getattr(again, field.name)) is type(getattr(path, field.name)) for field in fields(path)} == {True}


def test_saved_paths_call_the_solver_as_it_is_called_now(tmp_path, path):
    old = replace(path, settings=path.settings | {"solver": "corrective"})
    old.save(tmp_path / "path.npz")
    for again in (LassoPath.load(tmp_path / "path.npz"), pickle.loads(pickle.dumps(old))):
        assert again.settings == path.settings


def test_saved_path_appears_in_one_step(tmp_path, monkeypatch):
    path = solve(alphas=5)
    path.save(tmp_path / "path.npz")
    before = (tmp_path / "path.npz").read_bytes()

    def fail(*_args, **_arrays):
        raise OSError("no space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="no space"):
        path.save(tmp_path / "path.npz")
    assert (tmp_path / "path.npz").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["path.npz"]
    assert len(LassoPath.load(tmp_path / "path.npz")) == 5


def test_callback_may_be_a_method_of_an_object_that_cannot_be_copied():
    class Listener:
        def __init__(self):
            self.lock, self.points = threading.Lock(), []

        def listen(self, now):
            self.points.append(now.point)

    listener = Listener()
    assert len(solve(radii=3, callback=listener.listen)) == 3
    assert set(listener.points) == {0, 1, 2}

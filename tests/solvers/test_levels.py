"""What is said of random columns with a level: the numbers, how often they fail, and what they cost."""

import numpy as np
import pytest

from fwlasso import AdaptiveRule, LassoPath, lasso_path
from fwlasso.solvers.levels import bounds_at

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PAPER = {"solver": "sfw", "variant": "paper", "fit_intercept": False, "n_threads": 1}


@pytest.mark.parametrize(("share", "level", "draws"), [(0.01, 0.95, 299), (0.01, 0.99, 459), (0.03, 0.95, 99)])
def test_the_first_promise_takes_three_passes_of_draws(share, level, draws):
    known = bounds_at(level, np.ones(3), np.array([0, draws - 1, draws]), share, 0.5, is_fixed=True)
    assert known.hits.tolist() == [0, 0, 1]
    assert known.bounds.tolist() == [np.inf, np.inf, 1.0]
    assert known.passes[-1] == share * draws > 2.9


def test_where_a_rule_may_stop_the_bound_holds_for_all_numbers_of_draws_at_once():
    draws = np.arange(1, 1001)
    found = bounds_at(0.95, np.ones(draws.size), draws, 0.1, 0.5, is_fixed=False).hits
    n_hits = (np.random.default_rng(0).random((4000, draws.size)) < 0.1).cumsum(axis=1)
    assert 0.02 < np.any(n_hits < found, axis=1).mean() < 0.05
    assert np.any(found > 50)


def strong_needle(p=50, size=10.0):
    """Return X = I and y = size e_1: f - f* is above C before the first hit, and zero after it."""
    return np.asfortranarray(np.eye(p)), size * np.eye(p)[0]


def test_a_run_with_a_level_fails_as_often_as_it_says():
    """Relative to 1/2 ||y||^2, C = 0.04, which one hit promises: 22 draws have one at this level, and 21 do not."""
    X, y = strong_needle()
    settings = {"radii": [1.0], "sample_size": 5, "stop": "gap", "tol": 0.0, "max_iter": 22, **PAPER}
    paths = [lasso_path(X, y, random_state=seed, certify=False, **settings) for seed in range(400)]
    misses = np.array([path.r2[0] == 0.0 for path in paths])  # f - f* is 0.19 of 1/2 ||y||^2 there
    exact = 0.9**22
    assert {int(path.counters.iterations[0]) for path in paths} == {22}
    assert exact <= 0.1 < 0.9**21
    assert abs(misses.mean() - exact) <= 3.0 * np.sqrt(exact * (1.0 - exact) / misses.size)
    assert paths[0].confidence(0.9).bounds[0] == pytest.approx(0.04)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 200)))
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(50)


@pytest.mark.filterwarnings("ignore:.*ended by a step of length zero:UserWarning")
def test_bounds_hold_and_cost_more_than_their_proofs(data):
    for seed in range(10):
        path = lasso_path(*data, radii=10, sample_size=20, stop="change", random_state=seed, **PAPER)
        known = path.confidence(0.9)
        assert np.isinf(known.bounds).mean() >= 0.8  # the rule ends points after a few draws
        settings = {"radii": [0.2, 0.5], "sample_size": 20, "stop": "gap", "tol": 0.0, "max_iter": 200}
        path = lasso_path(*data, random_state=seed, **settings, **PAPER)
        known = path.confidence(0.9)
        assert known.hits.tolist() == [15, 15]
        assert known.passes.tolist() == [20.0, 20.0]
        assert np.all(path.gaps < known.bounds)


def test_a_saved_path_still_answers(data, tmp_path):
    settings = {"radii": 12, "eps": 0.5, "sample_size": AdaptiveRule(at_least=30), "stop": "gap", "tol": 0.0}
    settings["max_iter"] = 60
    path = lasso_path(*data, random_state=0, standardize=True, checkpoint=tmp_path / "run", **settings, **PAPER)
    path.save(tmp_path / "path.npz")
    known, loaded = path.confidence(), LassoPath.load(tmp_path / "path.npz").confidence()
    np.testing.assert_array_equal(known.bounds, loaded.bounds)
    assert repr(known) == repr(loaded)
    assert len(repr(known).splitlines()) == 2 + 11 + 1
    assert known.share == 0.15
    scaled = lasso_path(1e-200 * data[0], data[1], random_state=0, **settings | {"radii": 1e200 * path.radii}, **PAPER)
    np.testing.assert_allclose(scaled.confidence().draws, path.confidence().draws, rtol=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "solver: a level is for columns drawn at random by 'sfw', got solver='certified'"),
        ({"solver": "fw"}, "solver: .* got solver='fw'"),
        ({"solver": "sfw", "alphas": 3}, "alphas: a level is for the constrained form"),
        ({"solver": "sfw", "block_size": 1}, "variant: a level is for independent draws, give variant='paper'"),
        (PAPER | {"block_size": 2}, "block_size: blocks cycle"),
        (PAPER | {"sample_size": lambda p, n_active: 5}, "sample_size: it was a function"),
    ],
)
def test_paths_that_a_level_has_no_meaning_for_say_why(data, settings, message):
    path = lasso_path(*data, random_state=0, **{"radii": 3} if "alphas" not in settings else {}, **settings)
    with pytest.raises(ValueError, match=f"^{message}"):
        path.confidence()


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan, "0.9", None])
def test_a_level_is_a_probability(data, level):
    path = lasso_path(*data, radii=2, random_state=0, **PAPER)
    with pytest.raises(ValueError, match=r"^level must be a number in \(0, 1\)"):
        path.confidence(level)

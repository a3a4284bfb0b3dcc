"""Runs that survive: a path in segments is the same however often it was stopped."""

import numpy as np
import pytest

from conftest import STORAGES
from fwlasso import Status, lasso_path
from fwlasso.checkpoints.segments import cut_points
from fwlasso.solvers.registry import SOLVERS
from run_cases import M, assert_same_bits, make_data, stop_at

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CALLS = {
    "default": {},
    "alphas": {"alphas": 11, "tol": 1e-8, "standardize": True},
    "radii": {"radii": 12, "tol": 1e-6},
    "values": {"alphas": [1.0, 0.5, 0.2, 0.1, 0.0]},
    "no-intercept": {"radii": [0.0, 0.5, 1.0, 3.0], "fit_intercept": False},
    "sfw": {"solver": "sfw", "radii": 12},
    "sfw-gap": {"solver": "sfw", "alphas": 10, "stop": "gap", "tol": 1e-2, "sample_size": 20},
    "sfw-uncertified": {"solver": "sfw", "radii": 7, "certify": False},
    "fw": {"solver": "fw", "radii": 6},
    "pfw": {"solver": "pfw", "radii": 8},
    "cd": {"solver": "cd", "alphas": 13},
}


@pytest.mark.parametrize("n_points", [*range(1, 12), 99, 100, 101])
def test_segments_are_the_points_in_order(n_points):
    segments = cut_points(n_points)
    assert [point for segment in segments for point in segment] == list(range(n_points))
    assert len(segments) <= 3
    assert all(len(segment) == len(segments[0]) for segment in segments[:-1])


@pytest.mark.compiled
@pytest.mark.parametrize("call", CALLS)
def test_path_stopped_after_every_segment_is_the_same(tmp_path, call):
    X, y = make_data()
    settings = {"random_state": 3, **CALLS[call]}
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole", **settings)
    assert whole.ending is None
    *inner, _ = cut_points(len(whole))
    for k, segment in enumerate(inner):
        path = lasso_path(X, y, checkpoint=tmp_path / "parts", callback=stop_at(segment.stop - 1), **settings)
        assert path.ending is Status.STOPPED
        assert len(path) == segment.stop
        assert len(list((tmp_path / "parts" / "segments").iterdir())) == k + 1
    assert_same_bits(lasso_path(X, y, checkpoint=tmp_path / "parts", **settings), whole)
    # A complete one is not computed again.
    again = lasso_path(X, y, checkpoint=tmp_path / "parts", callback=lambda now: not now.done, **settings)
    assert_same_bits(again, whole)


@pytest.mark.compiled
@pytest.mark.parametrize("call", ["default", "alphas", "radii", "values", "no-intercept"])
def test_segments_are_certified(tmp_path, call):
    X, y = make_data()
    path = lasso_path(X, y, checkpoint=tmp_path / "run", **CALLS[call])
    tol = CALLS[call].get("tol", 1e-4)
    plain = lasso_path(X, y, **CALLS[call])
    certified = [status is Status.CERTIFIED for status in plain.statuses]
    assert [status is Status.CERTIFIED for status in path.statuses] == certified
    assert (path.gaps[certified] <= tol).all()
    # Both are within their gaps of the same minimum.
    spread = 0.5 * np.sum((y - y.mean()) ** 2 if path.settings["fit_intercept"] else y**2)
    penalties = [
        M * result.alphas * result.radii if result.settings["grid"] == "alphas" else 0.0 for result in (path, plain)
    ]
    objectives = [1.0 - result.r2 + penalty / spread for result, penalty in zip((path, plain), penalties, strict=True)]
    np.testing.assert_allclose(*objectives, atol=np.maximum(path.gaps, plain.gaps).max() + 1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_goes_on_from_within_a_segment_on_other_threads_and_with_more_time(tmp_path, storage):
    X, y = make_data(storage)
    settings = {"standardize": True, "random_state": 0, "alphas": 20}
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole", **settings)
    path = lasso_path(X, y, checkpoint=tmp_path / "parts", time_limit=1e-9, **settings)
    assert (len(path), path.ending) == (1, Status.TIMED_OUT)
    for point in (3, 11):
        path = lasso_path(X, y, checkpoint=tmp_path / "parts", callback=stop_at(point), **settings)
        assert (len(path), path.ending) == (point + 1, Status.STOPPED)
        np.testing.assert_array_equal(path.coefs.toarray(), whole.coefs[:, : point + 1].toarray())
    assert_same_bits(lasso_path(X, y, checkpoint=tmp_path / "parts", n_threads=1, **settings), whole)


def test_progress_counts_points_of_the_whole_path(tmp_path):
    X, y = make_data()
    lasso_path(X, y, alphas=20, checkpoint=tmp_path / "run", callback=stop_at(9))
    seen = []
    lasso_path(X, y, alphas=20, checkpoint=tmp_path / "run", callback=seen.append)
    done = [now.point for now in seen if now.done]
    assert done == [6, *range(7, 20)]  # a segment of seven points was there
    assert all(now.n_points == 20 for now in seen)
    assert [now.point for now in seen] == sorted(now.point for now in seen)


def test_seed_of_a_run_is_kept(tmp_path):
    X, y = make_data()
    settings = {"solver": "sfw", "radii": 6, "sample_size": 5}
    part = lasso_path(X, y, checkpoint=tmp_path / "run", callback=stop_at(1), **settings)
    path = lasso_path(X, y, checkpoint=tmp_path / "run", **settings)
    assert path.settings["seed"] == part.settings["seed"]
    np.testing.assert_array_equal(path.coefs[:, :2].toarray(), part.coefs.toarray())


@pytest.mark.compiled
def test_segments_of_random_solvers_have_seeds_of_their_own(tmp_path, monkeypatch):
    seeds, entry = [], SOLVERS["sfw"]
    make = lambda settings: seeds.append(settings.seed) or entry.make(settings)  # noqa: E731
    monkeypatch.setitem(SOLVERS, "sfw", entry._replace(make=make))
    X, y = make_data()
    lasso_path(X, y, solver="sfw", radii=5, random_state=0, checkpoint=tmp_path / "run")
    _, *seeds = seeds  # the first is that of the path
    assert len(seeds) == len(set(seeds)) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)

"""Runs that survive: a path in segments is the same however often it was stopped, and another run is refused."""

import json
import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import STORAGES
from fwlasso import LassoPath, Status, lasso_path, runs
from fwlasso.datasets import Table, open_store, write_store
from fwlasso.design import as_design
from fwlasso.fingerprint import fingerprint
from fwlasso.segments import cut_points

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

M, P = 40, 120
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
    "scd": {"solver": "scd", "alphas": 6, "tol": 1e-2},
    "apg": {"solver": "apg", "alphas": 6},
}


def make_data(storage="dense64"):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (M, P)).astype(np.float64)
    y = values[:, :6] @ [3.0, -2.0, 2.0, 1.0, -1.0, 0.5] + rng.standard_normal(M)
    return STORAGES[storage](values), y


def assert_same_bits(first, second):
    """Everything but the seconds, and the settings that may change on the way."""
    for name in ("alphas", "radii", "intercepts", "gaps", "r2"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for name in ("coefs", "scaled_coefs"):
        for part in ("data", "indices", "indptr"):
            ours, theirs = (getattr(getattr(path, name), part) for path in (first, second))
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}.{part}")
    np.testing.assert_array_equal(first.counters.iterations, second.counters.iterations)
    assert first.counters.dot_products == second.counters.dot_products
    assert first.counters.passes == second.counters.passes
    assert first.statuses == second.statuses
    assert first.ending == second.ending
    assert first.feature_names == second.feature_names
    assert {**first.settings, "time_limit": None} == {**second.settings, "time_limit": None}


def stop_at(point):
    return lambda now: now.done and now.point >= point


# Segments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_points", [*range(1, 12), 99, 100, 101])
def test_segments_are_the_points_in_order(n_points):
    segments = cut_points(n_points)
    assert [point for segment in segments for point in segment] == list(range(n_points))
    assert len(segments) <= 3
    assert all(len(segment) == len(segments[0]) for segment in segments[:-1])


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


@pytest.mark.parametrize("call", ["default", "radii", "sfw", "cd"])
def test_path_stopped_within_segments_is_the_same(tmp_path, call):
    X, y = make_data()
    settings = {"random_state": 3, **CALLS[call]}
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole", **settings)
    for segment in cut_points(len(whole)):
        for point in segment[:-1]:
            path = lasso_path(X, y, checkpoint=tmp_path / "parts", callback=stop_at(point), **settings)
            assert path.ending is Status.STOPPED
            assert len(path) == point + 1
            np.testing.assert_array_equal(path.coefs.toarray(), whole.coefs[:, : point + 1].toarray())
        lasso_path(X, y, checkpoint=tmp_path / "parts", callback=stop_at(segment.stop - 1), **settings)
    assert_same_bits(lasso_path(X, y, checkpoint=tmp_path / "parts", **settings), whole)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_storage_goes_on(tmp_path, storage, n_threads):
    X, y = make_data(storage)
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole", standardize=True, random_state=0)
    lasso_path(X, y, checkpoint=tmp_path / "parts", standardize=True, callback=stop_at(45), random_state=0)
    path = lasso_path(X, y, checkpoint=tmp_path / "parts", standardize=True, n_threads=n_threads, random_state=0)
    assert_same_bits(path, whole)


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


def test_progress_counts_points_of_the_whole_path(tmp_path):
    X, y = make_data()
    lasso_path(X, y, alphas=20, checkpoint=tmp_path / "run", callback=stop_at(9))
    seen = []
    lasso_path(X, y, alphas=20, checkpoint=tmp_path / "run", callback=seen.append)
    done = [now.point for now in seen if now.done]
    assert done == [6, *range(7, 20)]  # a segment of seven points was there
    assert all(now.n_points == 20 for now in seen)
    assert [now.point for now in seen] == sorted(now.point for now in seen)


@pytest.mark.parametrize("call", ["default", "radii", "sfw", "cd"])
def test_time_limit_can_be_changed(tmp_path, call):
    X, y = make_data()
    settings = {"random_state": 3, **CALLS[call]}
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole", **settings)
    path = lasso_path(X, y, checkpoint=tmp_path / "parts", time_limit=1e-9, **settings)
    assert (len(path), path.ending) == (1, Status.TIMED_OUT)
    assert_same_bits(lasso_path(X, y, checkpoint=tmp_path / "parts", time_limit=1e3, **settings), whole)


def test_interrupted_path_goes_on(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = make_data()

    def press(now):
        if now.done and now.point == 50:
            signal.raise_signal(signal.SIGINT)

    try:
        path = lasso_path(X, y, checkpoint=tmp_path / "run", callback=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert path.ending is Status.INTERRUPTED
    whole = lasso_path(X, y, checkpoint=tmp_path / "whole")
    path = lasso_path(X, y, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(path.coefs.toarray(), whole.coefs.toarray())


def test_seed_of_a_run_is_kept(tmp_path):
    X, y = make_data()
    settings = {"solver": "sfw", "radii": 6, "sample_size": 5}
    part = lasso_path(X, y, checkpoint=tmp_path / "run", callback=stop_at(1), **settings)
    path = lasso_path(X, y, checkpoint=tmp_path / "run", **settings)
    assert path.settings["seed"] == part.settings["seed"]
    np.testing.assert_array_equal(path.coefs[:, :2].toarray(), part.coefs.toarray())


def test_segments_of_random_solvers_have_seeds_of_their_own(tmp_path, monkeypatch):
    seeds = []
    from fwlasso import segments

    solve = segments.solve_points
    monkeypatch.setattr(segments, "solve_points", lambda *args: seeds.append(args[3]) or solve(*args))
    X, y = make_data()
    lasso_path(X, y, solver="sfw", radii=5, random_state=0, checkpoint=tmp_path / "run")
    assert len(seeds) == len(set(seeds)) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)


# Another run is refused --------------------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path):
    X, y = make_data()
    lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=tmp_path / "run", callback=stop_at(8))
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tol": 1e-5}, "tol was 1e-06, and is 1e-05"),
        ({"alphas": 11}, "points was 10, and is 11"),
        ({"alphas": [0.3, 0.1]}, r"points was 10, and is \[0.3, 0.1\]"),
        ({"alphas": None, "radii": 10}, 'grid was "alphas", and is "radii"'),
        ({"solver": "cd"}, 'solver was "corrective", and is "cd"'),
        ({"standardize": True}, "standardize was false, and is true"),
        ({"random_state": 1}, "seed was"),
        ({"max_iter": 9}, "max_iter was 10000, and is 9"),
    ],
)
def test_changed_setting_is_named(begun, change, message):
    X, y = make_data()
    settings = {"alphas": 10, "tol": 1e-6, "random_state": 0, **change}
    before = (begun / "settings.json").read_bytes()
    with pytest.raises(ValueError, match=f"holds another run: {message}"):
        lasso_path(X, y, checkpoint=begun, **settings)
    assert (begun / "settings.json").read_bytes() == before


def test_changed_data_are_named(begun):
    X, y = make_data()
    settings = {"alphas": 10, "tol": 1e-6, "random_state": 0, "checkpoint": begun}
    other = X.copy(order="F")
    other[7, 9] += 1e-13
    for data, message in (
        ((other, y), "X was different"),
        ((X.astype(np.float32), y), "X was different"),
        ((sp.csc_array(X), y), "X was different"),
        ((X, y + 1e-13), "y was different"),
        ((X[:, 1:], y), "shape was 40 x 120, and is 40 x 119"),
        ((Table(X, y, tuple(map(str, range(P)))),), "feature names was different"),
    ):
        with pytest.raises(ValueError, match=f"the data have changed: {message}"):
            lasso_path(*data, **settings)
    assert lasso_path(np.array(X), y, **settings).ending is None  # row-major: converted, and the same


def test_other_version_is_refused(begun, monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(runs, "__version__", "9.0")
    with pytest.raises(ValueError, match=r"fwlasso was .*, and is 9\.0"):
        lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "fwlasso-run"}', "\x00", '{"format": "fwlasso-run", "version": 1}', "damaged"],
)
def test_damaged_settings_are_refused(begun, text):
    X, y = make_data()
    file = begun / "settings.json"
    if text == "damaged":
        text = json.dumps({**json.loads(file.read_text()), "grid": {"values": ["x"], "n_priced": 0}})
    file.write_text(text)
    with pytest.raises(ValueError, match=r"settings\.json is|another version"):
        lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)


def test_damaged_segment_is_refused(begun):
    X, y = make_data()
    file = begun / "segments" / "2.npz"
    content = file.read_bytes()
    for damaged in (content[:100], b"", content[:200] + b"?" + content[201:], b"no zip"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"2\.npz is damaged"):
            lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)
    file.unlink()
    path = lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)
    whole = lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun.parent / "whole")
    assert_same_bits(path, whole)


def test_run_belongs_to_one_process_at_a_time(begun):
    X, y = make_data()
    settings = {"alphas": 10, "tol": 1e-6, "random_state": 0, "checkpoint": begun}
    told = []

    def try_meanwhile(_now):
        def other():
            with pytest.raises(ValueError, match="another process is at work") as error:
                lasso_path(X, y, **settings)
            told.append(error)

        if not told:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    assert lasso_path(X, y, callback=try_meanwhile, **settings).ending is None
    assert len(told) == 1


def test_unfinished_files_are_swept(begun):
    X, y = make_data()
    for place in (begun, begun / "segments"):
        (place / ".1.npz.0011.part").write_bytes(b"part")
    lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)
    assert not [file for _, _, files in os.walk(begun) for file in files if file.endswith(".part")]


def test_file_in_place_of_a_folder_is_refused(tmp_path):
    X, y = make_data()
    (tmp_path / "run").write_text("mine")
    with pytest.raises(ValueError, match="is not a folder"):
        lasso_path(X, y, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="checkpoint must be a folder or None"):
        lasso_path(X, y, checkpoint=3)


def test_clearing_leaves_other_files(begun):
    (begun / "mine.txt").write_text("mine")
    runs.clear_run(begun)
    assert [file.name for file in begun.iterdir()] == ["mine.txt"]
    assert runs.read_run(begun) is None
    assert runs.read_run(begun / "mine.txt") is None


# Fingerprints ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", STORAGES)
def test_fingerprint_tells_every_change_of_a_value(storage):
    X, y = make_data(storage)
    design = as_design(X)
    before = fingerprint(design, y)
    assert fingerprint(as_design(make_data(storage)[0]), y) == before
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (M, P)).astype(np.float64)
    assert fingerprint(as_design(STORAGES[storage](values)), y)["X"] != before["X"]
    assert fingerprint(design, y[::-1].copy())["y"] != before["y"]


def test_fingerprint_of_a_view_is_that_of_its_values():
    X, y = make_data()
    wide = np.asfortranarray(np.vstack([X, X]))
    assert fingerprint(as_design(wide[:M]), y) == fingerprint(as_design(X), y)


def test_fingerprint_of_a_store_reads_its_manifest(tmp_path, monkeypatch):
    X, y = make_data()
    write_store(tmp_path / "store", X, y)
    whole = lasso_path(tmp_path / "store", alphas=10, checkpoint=tmp_path / "run", random_state=0)
    assert_same_bits(whole, lasso_path(X, y, alphas=10, checkpoint=tmp_path / "other", random_state=0))
    checked = []
    from fwlasso import fingerprint as module

    checksum = module._checksum
    monkeypatch.setattr(module, "_checksum", lambda array: checked.append(array.size) or checksum(array))
    assert_same_bits(lasso_path(tmp_path / "store", alphas=10, checkpoint=tmp_path / "run", random_state=0), whole)
    assert checked == [M]
    write_store(tmp_path / "store", X + 1.0, y)
    with pytest.raises(ValueError, match="the data have changed: X was different"):
        lasso_path(open_store(tmp_path / "store"), alphas=10, checkpoint=tmp_path / "run", random_state=0)


def test_saved_path_appears_in_one_step(tmp_path, monkeypatch):
    X, y = make_data()
    path = lasso_path(X, y, alphas=5)
    path.save(tmp_path / "path.npz")
    before = (tmp_path / "path.npz").read_bytes()

    def fail(*_args, **_arrays):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space"):
        path.save(tmp_path / "path.npz")
    assert (tmp_path / "path.npz").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["path.npz"]
    assert len(LassoPath.load(tmp_path / "path.npz")) == 5

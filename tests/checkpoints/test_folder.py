"""The folder of a run: another run is refused, and so is what is damaged."""

import os
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import lasso_path
from fwlasso.checkpoints import folder as runs
from fwlasso.datasets import Table
from run_cases import P, assert_same_bits, make_data, stop_at
from sealed_cases import reseal_record

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def begun(tmp_path):
    X, y = make_data()
    lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=tmp_path / "run", callback=stop_at(8))
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tol": 1e-5}, "tol was 1e-06, and is 1e-05"),
        ({"alphas": [0.3, 0.1]}, r"points was 10, and is \[0.3, 0.1\]"),
        ({"alphas": None, "radii": 10}, 'grid was "alphas", and is "radii"'),
        ({"solver": "cd"}, 'solver was "certified", and is "cd"'),
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


def test_damaged_segment_is_refused(begun):
    X, y = make_data()
    file = begun / "segments" / "2.npz"
    file.write_bytes(file.read_bytes()[:100])  # of other damages, see test_sealed.py
    with pytest.raises(ValueError, match=r"2\.npz: .*Remove it, and its points are solved again"):
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


def test_run_is_complete_when_nothing_ended_it(begun):
    assert not runs.read_checkpoint(begun).is_complete
    X, y = make_data()
    lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)
    run = runs.read_checkpoint(begun)
    assert (run.is_complete, run.is_saved) == (True, False)
    before = (begun / "settings.json").stat()
    lasso_path(X, y, alphas=10, tol=1e-6, random_state=0, checkpoint=begun)
    assert (begun / "settings.json").stat() == before  # there is nothing new to take note of


def test_run_of_radii_without_an_end_is_not_complete(tmp_path):
    X, y = make_data()
    lasso_path(X, y, radii=10, checkpoint=tmp_path / "run", callback=lambda now: True)
    assert not runs.read_checkpoint(tmp_path / "run").is_complete


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kept": "yes"}, "complete and kept must be"),
        ({"complete": None}, "complete and kept must be"),
        ({"grid": {"values": ["x"], "n_read": 0}}, "the grid is not"),
        ({"settings": {}}, "settings, data or version are not"),
    ],
)
def test_settings_that_are_not_as_they_were_written_are_refused(begun, change, message):
    reseal_record(begun / "settings.json", **change)
    with pytest.raises(ValueError, match=rf"settings\.json: {message}"):
        runs.read_checkpoint(begun)

"""Files that change under a run, and code that does: told by name, or refused."""

import os
import time

import numpy as np
import pytest

from fwlasso import Status, lasso_cv, lasso_path
from fwlasso.checkpoints import folder as runs
from fwlasso.checkpoints.code import changes, code_record
from fwlasso.datasets import write_store
from run_cases import assert_same_bits, make_data, stop_at

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SETTINGS = {"alphas": 10, "tol": 1e-6, "random_state": 0}


def rewrite(file, content=None):
    """Write a file in place, as it is or with other content; its time of change is another."""
    before = file.stat().st_mtime_ns
    content = file.read_bytes() if content is None else content
    while file.stat().st_mtime_ns == before:
        with file.open("r+b") as stream:
            stream.write(content)
        time.sleep(0.001)


def double_a_number(file):
    """Double the last number of an array."""
    content = file.read_bytes()
    rewrite(file, content[:-8] + (2.0 * np.frombuffer(content[-8:])).tobytes())


@pytest.fixture(params=["dense64", "csc64"])
def store(request, tmp_path):
    return write_store(tmp_path / "store", *make_data(request.param)).folder


def test_a_run_on_a_store_that_was_altered_in_place_is_refused_by_name(store, tmp_path):
    run, name = tmp_path / "run", "X.npy" if (store / "X.npy").exists() else "data.npy"
    lasso_path(store, **SETTINGS, checkpoint=run, callback=stop_at(5))
    before = (store / name).stat()
    double_a_number(store / name)
    with pytest.raises(ValueError, match=rf"the data have changed: {name} was \d+ bytes of 20\S+, and is \d+ bytes of"):
        lasso_path(store, **SETTINGS, checkpoint=run)
    with pytest.raises(ValueError, match="the data have changed"):
        lasso_cv(store, cv=2, **SETTINGS, checkpoint=run)
    os.utime(store / name, ns=(before.st_atime_ns, before.st_mtime_ns))  # a copy that keeps its times
    assert lasso_path(store, **SETTINGS, checkpoint=run).ending is None


def test_a_path_says_that_its_files_were_written_to(store, tmp_path):
    name = "X.npy" if (store / "X.npy").exists() else "data.npy"

    def alter(now):
        if now.done and now.point == 5:
            double_a_number(store / name)

    with pytest.warns(UserWarning, match="A file that the data are mapped from was written to meanwhile"):
        path = lasso_path(store, **SETTINGS, checkpoint=tmp_path / "run", callback=alter)
    assert set(path.statuses) == {Status.ALTERED}
    assert np.isnan(path.gaps).all()
    assert not runs.read_checkpoint(tmp_path / "run").is_complete
    with pytest.raises(ValueError, match="the data have changed"):
        lasso_path(store, **SETTINGS, checkpoint=tmp_path / "run")


def test_so_does_a_path_on_an_array_that_is_mapped(tmp_path):
    X, y = make_data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert mapped.flags.f_contiguous

    def touch(now):
        if now.done:
            rewrite(tmp_path / "X.npy")

    path = lasso_path(mapped[:, 10:], y, **SETTINGS, callback=touch)
    assert set(path.statuses) == {Status.ALTERED}


@pytest.mark.posix  # Windows replaces nothing that is open
def test_a_file_in_the_place_of_another_changes_nothing(store):
    def replace(now):
        for file in store.glob("*.npy"):
            file.with_suffix(".new").write_bytes(file.read_bytes())
            file.with_suffix(".new").replace(file)

    path = lasso_path(store, **SETTINGS, callback=replace)
    assert set(path.statuses) == {Status.CERTIFIED}
    assert_same_bits(path, lasso_path(store, **SETTINGS))


@pytest.mark.compiled
def test_other_code_is_told_of_where_a_run_goes_on(tmp_path, monkeypatch):
    X, y = make_data()
    run = tmp_path / "run"
    lasso_path(X, y, **SETTINGS, checkpoint=run, callback=stop_at(5))
    known = code_record()
    assert runs.read_checkpoint(run)._record["code"] == known
    assert all(known.values())
    other = {**known, "numba": "9.0", "features of the processor": "+none" * 99}
    monkeypatch.setattr(runs, "code_record", lambda: other)
    said = rf"begun by other code: features of the processor are others; numba was {known['numba']}, and is 9\.0"
    with pytest.warns(UserWarning, match=said):
        path = lasso_path(X, y, **SETTINGS, checkpoint=run)
    assert path.ending is None
    assert_same_bits(lasso_path(X, y, **SETTINGS, checkpoint=run), path)  # without a word: there is nothing to compute
    assert changes(known, known) == ""

"""One writer at a time: by a lock that the system takes away with the process, and a note where there are no locks."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from fwlasso import lasso_path
from fwlasso._core import notices
from fwlasso.checkpoints.folder import alone_in, clear_checkpoint, subset_folder
from fwlasso.data.files import replacing_folder
from fwlasso.datasets import convert, verify_store, write_store

X, Y = np.arange(12.0).reshape(4, 3), np.array([1.0, 3.0, 2.0, 5.0])


def make_store(folder):
    write_store(folder / "out", X, Y)
    np.testing.assert_array_equal(verify_store(folder / "out").X, X)


def make_conversion(folder):
    np.savez(folder / "source.npz", X=X, y=Y)
    convert(folder / "source.npz", folder / "out", target="y")
    (folder / "source.npz").unlink()
    np.testing.assert_array_equal(verify_store(folder / "out").X, X)


def make_run(folder):
    path = lasso_path(X, Y, alphas=3, tol=1e-9, checkpoint=folder / "out")
    assert path.gaps.max() <= 1e-9


WRITERS = {"store": make_store, "conversion": make_conversion, "run": make_run}


def failing(monkeypatch, number):
    """Let locks fail; return what the log has said so far."""
    n_calls = []

    def flock(_file, _how):
        n_calls.append(1)
        assert len(n_calls) < 100, "without end"
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    monkeypatch.setattr(notices, "_said", set())


@pytest.mark.posix
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EBADF, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_there_is_a_result_and_a_note(tmp_path, monkeypatch, caplog, write, number):
    failing(monkeypatch, number)
    for _ in range(2):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list(tmp_path.rglob(".*"))
    (said,) = [message for message in caplog.messages if "cannot lock" in message]
    assert str(tmp_path) in said
    assert os.strerror(number) in said


@pytest.mark.posix
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_of_others_is_no_missing_lock(tmp_path, monkeypatch, write, number):
    failing(monkeypatch, number)
    with pytest.raises(ValueError, match=r"another process is (at work on|writing)"):
        write(tmp_path)


def test_a_run_that_can_only_be_read_is_read(tmp_path, monkeypatch, caplog):
    make_run(tmp_path)
    opens = os.open

    def refuse(file, flags, *mode, **more):
        if str(file).endswith(".lock"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return opens(file, flags, *mode, **more)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(notices, "_said", set())
    make_run(tmp_path)
    assert sum("cannot lock" in message for message in caplog.messages) == 1


WRITER = """
import sys, time
from pathlib import Path
from fwlasso.data.files import replacing_folder
with replacing_folder(Path(sys.argv[1])) as draft:
    (draft / "half").write_text("of it")
    print("writing", flush=True)
    time.sleep(600)
"""


def test_writers_are_refused_while_one_writes_and_what_it_leaves_is_removed(tmp_path):
    make_store(tmp_path)
    with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "out"], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "writing\n"
        for write in (make_store, make_conversion):
            with pytest.raises(ValueError, match=f"folder: another process is writing {tmp_path / 'out'}"):
                write(tmp_path)
        (tmp_path / "source.npz").unlink()
        assert [half.read_text() for half in tmp_path.glob(".out.*/half")] == ["of it"]
        other.kill()
    np.testing.assert_array_equal(verify_store(tmp_path / "out").X, X)
    assert len(list(tmp_path.glob(".out.*"))) == 2  # the draft and the lock
    make_store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.posix
def test_a_lock_that_was_just_removed_is_not_taken_for_ones_own(tmp_path, monkeypatch):
    import fcntl

    lock, flock = tmp_path / ".out.lock", fcntl.flock

    def end_meanwhile(number, how):  # as the writer before does it, between our opening and our locking of its file
        lock.unlink()
        flock(number, how)

    monkeypatch.setattr(fcntl, "flock", end_meanwhile)
    with pytest.raises(ValueError, match="another process"), replacing_folder(tmp_path / "out"):
        pass


def test_of_a_run_that_is_removed_no_lock_of_the_dead_is_left(tmp_path):
    for run in (tmp_path, subset_folder(tmp_path, 0)):
        run.mkdir(parents=True, exist_ok=True)
        (run / ".lock").touch()
    with alone_in(tmp_path):
        clear_checkpoint(tmp_path)
    assert list(tmp_path.iterdir()) == []

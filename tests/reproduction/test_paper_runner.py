"""The runner: it resumes, writes whole records, computes again what was made from something else, keeps on Ctrl-C."""

import json
import os
import signal
import threading

import pytest

from reproduction.runner import Records, run_tasks
from reproduction.study import Task

pytestmark = pytest.mark.usefixtures("python_handles_interrupts")


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path)


class Counting:
    """A task that counts its runs."""

    def __init__(self, key="part/set", record=None, settings=None, action=None):
        self.n_runs = 0
        self.action = action
        self.record = {"value": 1.5} if record is None else record
        self.task = Task(key, 1.0, self.run, settings or {})

    def run(self):
        self.n_runs += 1
        if self.action is not None:
            self.action()
        return self.record


def go(records, *counting, stamp=None, tell=lambda _: None):
    return run_tasks([one.task for one in counting], records, lambda _: stamp or {"version": "1"}, tell)


def test_a_record_that_fits_is_not_computed_again(records):
    one = Counting()
    first, second = go(records, one), go(records, one)
    assert one.n_runs == 1
    assert first.records == second.records == {"part/set": {"value": 1.5}}
    assert (first.n_kept, second.n_kept) == (0, 1)


def test_another_version_or_other_settings_are_computed_again(records):
    one, other = Counting(settings={"tol": 1e-3}), Counting(settings={"tol": 1e-4})
    go(records, one)
    go(records, one, stamp={"version": "2"})
    assert one.n_runs == 2
    go(records, other, stamp={"version": "2"})
    assert other.n_runs == 1


def test_tuples_in_a_stamp_are_no_change(records):
    one = Counting(settings={"shares": (1, 2)})
    go(records, one, stamp={"cores": (2,)})
    go(records, one, stamp={"cores": (2,)})
    assert one.n_runs == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"record": {}}', "null"])
def test_a_file_that_is_no_record_is_computed_again(records, content):
    one = Counting()
    file = records.file("part/set")
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert go(records, one).records == {"part/set": {"value": 1.5}}
    assert one.n_runs == 1


def test_a_failed_write_leaves_the_old_record_and_no_draft(records):
    go(records, Counting())
    outcome = go(records, Counting(record={"value": object()}), stamp={"version": "2"})
    assert "TypeError" in outcome.failures["part/set"]
    kept = [file.name for file in records.file("part/set").parent.iterdir()]
    assert kept == ["set.json"]
    assert json.loads(records.file("part/set").read_text())["record"] == {"value": 1.5}


def test_a_draft_that_cannot_be_put_in_place_is_removed(records, monkeypatch):
    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    assert "disk full" in go(records, Counting()).failures["part/set"]
    assert list(records.file("part/set").parent.iterdir()) == []


def test_what_is_missing_here_is_tried_again(records):
    one = Counting(record={"missing": "no R"})
    assert go(records, one).records == {"part/set": {"missing": "no R"}}
    go(records, one)
    assert one.n_runs == 2


def test_a_task_that_fails_does_not_end_the_others(records):
    def fail():
        raise RuntimeError("broken")

    outcome = go(records, Counting("a", action=fail), Counting("b"))
    assert outcome.failures == {"a": "RuntimeError: broken"}
    assert list(outcome.records) == ["b"]
    assert not outcome.interrupted


def test_ctrl_c_keeps_what_is_there_and_records_nothing_of_the_task_it_hit(records):
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    before, hit, after = Counting("a"), Counting("b", action=interrupt), Counting("c")
    outcome = go(records, before, hit, after)
    assert outcome.interrupted
    assert list(outcome.records) == ["a"]
    assert after.n_runs == 0
    hit.action = None
    outcome = go(records, before, hit, after)
    assert (before.n_runs, hit.n_runs, after.n_runs) == (1, 2, 1)
    assert list(outcome.records) == ["a", "b", "c"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_within_a_path_is_no_record(records, rng):
    """A path on its own would return the points that it has."""
    from fwlasso import lasso_path

    X = rng.standard_normal((20, 30))

    def solve():
        lasso_path(X, X[:, 0], callback=lambda _: os.kill(os.getpid(), signal.SIGINT))

    outcome = go(records, Counting(action=solve))
    assert outcome.interrupted
    assert outcome.records == {}


def test_tasks_run_in_a_thread_too(records):
    found = []
    thread = threading.Thread(target=lambda: found.append(go(records, Counting())))
    thread.start()
    thread.join()
    assert list(found[0].records) == ["part/set"]


def test_it_tells_how_far_it_is(records):
    steps = []
    go(records, Counting("a"))
    go(records, Counting("a"), Counting("b"), Counting("c"), tell=steps.append)
    assert [(step.key, step.n_done, step.n_tasks) for step in steps] == [("b", 1, 3), ("c", 2, 3), ("", 3, 3)]
    assert steps[0].seconds_left == pytest.approx(2.0, rel=0.1)
    assert steps[-1].seconds_left == 0.0


def test_two_tasks_of_one_key_are_refused(records):
    with pytest.raises(ValueError, match="'a'"):
        go(records, Counting("a"), Counting("a"))


@pytest.mark.parametrize("key", ["", "a//b", "../a", "a/..", "/a", "a\\b"])
def test_keys_stay_within_the_folder(records, key):
    with pytest.raises(ValueError, match="key must be"):
        records.file(key)

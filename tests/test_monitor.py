"""The clock, the keyboard and the callback end a path early, and the points solved so far are kept."""

import functools
import os
import signal
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from conftest import POINTWISE, assert_begins
from fwlasso import Lasso, LassoCV, Progress, Status, lasso_cv, lasso_path
from fwlasso.monitor import Monitor
from fwlasso.problem.build import build_problem
from fwlasso.solvers.registry import SOLVERS
from programs import run_program

pytestmark = pytest.mark.usefixtures("python_handles_interrupts")

RNG = np.random.default_rng(0)
X = np.asfortranarray(RNG.standard_normal((30, 80)))
Y = X[:, :4] @ [3.0, -2.0, 2.0, 1.0] + 0.1 * RNG.standard_normal(30)
RADII = np.array([2.0, 3.0, 4.0, 5.0, 7.0])
# Many bursts per point: the gap is looked at after every four steps.
SLOW = {"solver": "sfw", "stop": "gap", "tol": 1e-3, "sample_size": 20}
# Many looks per point: working sets are solved at several penalties for it.
TIGHT = {"tol": 1e-7}
SLOWLY = pytest.param(SLOW, marks=pytest.mark.compiled)
BOTH = pytest.mark.parametrize("options", [TIGHT, SLOWLY], ids=["certified", "sfw"])


def solve(y=Y, **options):
    return lasso_path(X, y, **{"radii": RADII, "random_state": 0, **options})


def ended(status, n_points=5, **options):
    """Solve, check that the path ended early by this status and says so, and return it."""
    with pytest.warns(ConvergenceWarning) as warned:
        path = solve(**options)
    assert len(warned) == 1
    message = str(warned[0].message)
    assert message.startswith(f"The path has {len(path)} of {n_points} points. {status.sentence}")
    assert path.ending is status
    assert len(path.statuses) == path.coefs.shape[1] == len(path.radii) == len(path.gaps) == len(path)
    return path


@functools.cache
def whole(solver="certified"):
    """The path that nothing ends; warnings would be errors."""
    path = solve(**(TIGHT if solver == "certified" else SLOW))
    assert path.ending is None
    assert path.statuses == (Status.CERTIFIED,) * 5
    return path


class Recorder:
    """A callback that remembers what it was told, and does something once a condition holds."""

    def __init__(self, when=lambda progress: False, do=lambda: None):
        self.when, self.do, self.told = when, do, []

    def __call__(self, progress):
        self.told.append(progress)
        return self.do() if self.when(progress) else None


def after(n_points):
    """Say when this many points are done."""
    return lambda progress: progress.done and progress.point + 1 == n_points


def within(point):
    """Say when work on a point, or on one behind it where they are solved together, has started and is not done."""
    return lambda progress: progress.point >= point and not progress.done


def raise_interrupt():
    raise KeyboardInterrupt


def send_interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def handler():
    return signal.getsignal(signal.SIGINT)


@pytest.mark.parametrize(
    "options",
    [TIGHT, SLOWLY, {"solver": "fw"}, {"radii": None, "alphas": [1.0, 0.5, 0.1], "solver": "cd"}],
    ids=["certified", "sfw", "fw", "cd"],
)
def test_progress(clock, options):
    callback = Recorder(lambda _: True, lambda: setattr(clock, "now", clock.now + 1.0))
    path = solve(callback=callback, **options)
    told, grid = callback.told, path.radii if options.get("alphas") is None else path.alphas
    assert all(isinstance(progress, Progress) for progress in told)
    assert [progress.seconds for progress in told] == list(range(len(told)))
    assert {progress.n_points for progress in told} == {len(path)}
    # Points come one after the other, done is the last word on each, and its iterations grow.
    assert told == sorted(told, key=lambda progress: (progress.point, progress.done, progress.n_iter))
    done = [progress for progress in told if progress.done]
    assert [progress.point for progress in done] == list(range(len(path)))
    assert [progress.parameter for progress in done] == grid.tolist()
    assert [progress.n_iter for progress in done] == path.counters.iterations.tolist()
    assert [progress.n_active for progress in done] == path.n_active.tolist()
    if options in (TIGHT, SLOW):
        assert [progress.gap for progress in done] == path.gaps.tolist()
        between = [progress.gap for progress in told if not progress.done]
        assert len(between) > 10
        assert min(between) >= (1e-3 if options is SLOW else 0.0)


WAYS = {
    "callback": (Status.STOPPED, lambda clock: True),
    "clock": (Status.TIMED_OUT, lambda clock: setattr(clock, "now", clock.now + 1.0)),
    "Ctrl-C": (Status.INTERRUPTED, lambda clock: send_interrupt()),
    "KeyboardInterrupt": (Status.INTERRUPTED, lambda clock: raise_interrupt()),
}


@BOTH
@pytest.mark.parametrize("moment", ["after 1", "after 3", "within 0", "within 2"])
@pytest.mark.parametrize("way", WAYS)
def test_a_path_that_ends_early_keeps_the_points_so_far(way, moment, options, clock):
    status, do = WAYS[way]
    kind, n = moment.split()
    callback = Recorder({"after": after, "within": within}[kind](int(n)), lambda: do(clock))
    path = ended(status, callback=callback, time_limit=1, **options)
    assert handler() is signal.default_int_handler
    last, full = callback.told[-1], whole(options.get("solver", "certified"))
    if moment == "within 0":  # what there is: of the certified path zero
        assert path.statuses == (status,)
        if options is SLOW:
            assert path.n_active[0] > 0
            assert path.counters.iterations[0] > 0
        else:
            assert path.n_active[0] == 0
            assert path.intercepts[0] == pytest.approx(Y.mean())
    elif kind == "within":  # points may be solved together; the one that was worked on is left out
        assert last.point == 2 or (options is TIGHT and last.point > 2)
        assert len(path) == last.point
        assert_begins(path, full)
    else:
        assert len(path) == int(n)
        assert_begins(path, full)
    if moment != "within 0":
        np.testing.assert_array_equal(path.gaps, full.gaps[: len(path)])  # the solver knows them
    elif status is Status.INTERRUPTED and options is SLOW:
        assert np.isnan(path.gaps[0])  # no more passes over the data
    else:
        assert path.gaps[0] > (1e-3 if options is SLOW else 1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_leaves_out_the_closing_pass(way, clock):
    status, do = WAYS[way]
    path = ended(status, callback=Recorder(after(2), lambda: do(clock)), time_limit=1, solver="sfw")
    assert len(path) == 2
    assert (np.isnan(path.gaps) == (status is Status.INTERRUPTED)).all()


@pytest.mark.parametrize(("answer", "n_points"), [(None, 5), (False, 5), (0, 5), ("no", 5), (np.True_, 2)], ids=repr)
@pytest.mark.filterwarnings("ignore:The path has 2 of 5 points.*largest relative duality gap is")
def test_only_true_stops(answer, n_points):
    assert len(solve(callback=Recorder(after(2), lambda: answer))) == n_points


def test_what_comes_after_the_last_point_is_no_early_ending(clock):
    done = Recorder(lambda progress: progress.done, lambda: setattr(clock, "now", clock.now + 1.0))
    for options in ({"callback": Recorder(after(5), lambda: True)}, {"callback": done, "time_limit": 6}):
        path = solve(**TIGHT, **options)
        assert path.ending is None
        assert_begins(path, whole())


@BOTH
def test_an_error_in_the_callback_comes_out(options):
    def fail():
        raise ValueError("from the callback")

    with pytest.raises(ValueError, match="from the callback"):
        solve(callback=Recorder(within(2), fail), **options)
    assert handler() is signal.default_int_handler


@pytest.mark.parametrize(
    ("solver", "name"),
    [("certified", "alphas"), ("certified", "radii"), *((name, SOLVERS[name].grids[0]) for name in POINTWISE)],
)
def test_time_limit_shorter_than_anything_still_gives_a_point(monkeypatch, solver, name):
    seconds = iter(range(1_000_000))  # every look at the clock takes a second
    monkeypatch.setattr("fwlasso.monitor.time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    path = ended(Status.TIMED_OUT, solver=solver, time_limit=1e-6, **{"radii": None, name: 5})
    assert len(path) == 1
    assert np.isfinite(path.coefs.data).all()
    assert np.isfinite(path.gaps).all()


@pytest.mark.parametrize(("solver", "name"), [("certified", "alphas"), ("certified", "radii"), ("sfw", "radii")])
def test_interrupt_ahead_of_the_first_point(solver, name):
    class Response:  # somebody presses Ctrl-C while the data are read
        def __array__(self, dtype=None, copy=None):
            send_interrupt()
            return Y.copy()

    path = ended(Status.INTERRUPTED, y=Response(), solver=solver, **{"radii": None, name: 5})
    assert len(path) == 1
    assert handler() is signal.default_int_handler


@pytest.mark.filterwarnings("ignore:The path has", "ignore:No point was solved")
@pytest.mark.parametrize(
    "model",
    [Lasso(0.1), GridSearchCV(Lasso(), {"alpha": [0.1, 1.0]}, cv=2), LassoCV(cv=2, alphas=5)],
    ids=["Lasso", "GridSearchCV", "LassoCV"],
)
def test_an_interrupt_of_an_estimator_is_raised(model, monkeypatch):
    """Estimators take no callback: somebody presses Ctrl-C while columns are summed up, and never again."""

    def build_and_send(*given, **named):
        monkeypatch.undo()
        send_interrupt()
        return build_problem(*given, **named)

    monkeypatch.setattr("fwlasso.problems.build_problem", build_and_send)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(X, Y)
    assert handler() is signal.default_int_handler


def test_an_interrupt_of_one_fold_is_raised(monkeypatch):
    found = lasso_cv(X, Y, alphas=5, cv=2)
    folds = (found.fold_paths[0], replace(found.fold_paths[1], ending=Status.INTERRUPTED))
    monkeypatch.setattr("fwlasso.estimators.chosen.cross_validate", lambda *_, **__: replace(found, fold_paths=folds))
    with pytest.raises(KeyboardInterrupt):
        LassoCV(cv=2, alphas=5).fit(X, Y)


def test_second_interrupt_ends_a_callback():
    def twice():
        send_interrupt()
        with pytest.raises(KeyboardInterrupt):
            send_interrupt()

    assert len(ended(Status.INTERRUPTED, callback=Recorder(after(2), twice))) == 2
    assert handler() is signal.default_int_handler


def test_a_shower_of_interrupts_leaves_a_path():
    """Whatever the main thread is doing in compiled code, nothing is raised there."""
    code = """
import os, signal, threading, time, warnings
import numpy as np
from fwlasso import lasso_path
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60, 400)), rng.standard_normal(60)
for solver in ("certified", "sfw"):
    lasso_path(X, y, solver=solver)  # compiled
    inside = threading.Event()
    def shower():
        inside.wait()
        for _ in range(300):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1e-4)
            if done:
                return
    done = []
    thread = threading.Thread(target=shower)
    thread.start()
    endings = []
    try:
        path = lasso_path(X, y, solver=solver, tol=1e-9, callback=lambda progress: inside.set())
        endings.append(str(path.ending))
        done.append(True)
        thread.join()
    except KeyboardInterrupt:  # of one that came after the path had given the keyboard back
        done.append(True)
        endings.append("Status.INTERRUPTED, and Python")
    print(endings)
"""
    assert [line.count("interrupted") for line in run_program(code).stdout.lower().splitlines()] == [1, 1]


def test_the_handler_is_installed_for_the_path_only_and_sigterm_is_left_to_whoever_calls():
    """A library does not change how a process is ended; the command line asks for it."""
    seen = []
    look = lambda: seen.append((handler(), signal.getsignal(signal.SIGTERM)))  # noqa: E731
    solve(callback=Recorder(lambda progress: True, look))
    assert signal.default_int_handler not in {keyboard for keyboard, _ in seen}
    assert {sigterm for _, sigterm in seen} == {signal.SIG_DFL}
    assert handler() is signal.default_int_handler


@pytest.mark.parametrize("other", [signal.SIG_IGN, lambda number, frame: None], ids=["ignored", "custom"])
def test_somebody_elses_handler_stays(other):
    signal.signal(signal.SIGINT, other)
    handlers = []
    path = solve(callback=Recorder(lambda progress: True, lambda: (handlers.append(handler()), send_interrupt())))
    assert set(handlers) == {other}
    assert path.ending is None
    assert handler() is other


def test_other_threads_install_nothing():
    handlers, paths = [], []
    callback = Recorder(lambda progress: True, lambda: handlers.append(handler()))
    thread = threading.Thread(target=lambda: paths.append(solve(callback=callback)))
    thread.start()
    thread.join()
    assert len(paths[0]) == 5
    assert set(handlers) == {signal.default_int_handler}


def test_the_clock_starts_with_the_monitor_and_the_keyboard_comes_first(clock):
    monitor = Monitor(3.0, None)
    for elapsed, expected in ((2.5, None), (3.0, Status.TIMED_OUT)):
        clock.now = 1000.0 + elapsed
        assert (monitor.check(), monitor.seconds) == (expected, elapsed)
    with monitor.guard():
        send_interrupt()
        assert monitor.check() is Status.INTERRUPTED


def test_an_error_of_the_callback_ends_all_paths_that_share_a_monitor():
    def broken(_progress):
        raise RuntimeError("broken")

    monitor = Monitor(None, broken)
    monitor.share(2)
    with pytest.raises(RuntimeError, match="broken"):
        monitor.report(Progress(0, 10, 1.0, 0, 0, 1.0, 0.0, done=True))
    assert monitor.check() is Status.STOPPED
    with pytest.raises(RuntimeError, match="broken"):
        lasso_cv(X, Y, alphas=5, callback=broken)


def raise_stop(*_told):
    raise StopIteration


@pytest.mark.parametrize("solver", ["certified", "cd", "sfw"])
def test_a_stop_iteration_of_the_users_ends_no_iterator_of_ours(solver):
    for call in (lasso_path, lasso_cv):
        with pytest.raises(RuntimeError, match=r"^callback raised StopIteration$"):
            call(X, Y, callback=raise_stop, solver=solver)
    with pytest.raises(RuntimeError, match=r"^sample_size raised StopIteration$"):
        lasso_path(X, Y, sample_size=raise_stop, solver="sfw")


def test_every_status_has_a_sentence():
    for status in Status:
        assert status.sentence.endswith(".")
        assert status.sentence[0].isupper()
        assert sum(other.sentence == status.sentence for other in Status) == 1
        assert not (status.converged and status.ends_path)
        assert Status(status.value) is status

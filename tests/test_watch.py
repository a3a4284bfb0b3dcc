"""The clock, the keyboard and the callback end a path early, and the points solved so far are kept."""

import os
import signal
import threading
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from conftest import POINTWISE, assert_begins
from fwlasso import Lasso, LassoCV, Progress, Status, lasso_cv, lasso_path
from fwlasso.problem import build_problem
from fwlasso.solvers.registry import SOLVERS
from fwlasso.watch import SharedWatch, Watch
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
WITHIN = pytest.mark.parametrize("options", [TIGHT, SLOWLY], ids=["corrective", "sfw"])
BOTH = pytest.mark.parametrize("solver", ["corrective", "sfw"])


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


# What the callback is told -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, TIGHT, SLOWLY, {"solver": "sfw"}, {"solver": "fw"}],
    ids=["corrective", "corrective tight", "sfw gap", "sfw change", "fw"],
)
def test_progress_over_radii(clock, options):
    callback = Recorder(lambda _: True, lambda: setattr(clock, "now", clock.now + 1.0))
    path = solve(callback=callback, **options)
    told = callback.told
    assert all(isinstance(progress, Progress) for progress in told)
    assert [progress.seconds for progress in told] == list(range(len(told)))
    assert {progress.n_points for progress in told} == {5}
    points = [progress.point for progress in told]
    assert points == sorted(points)
    done = [progress for progress in told if progress.done]
    assert [progress.point for progress in done] == [0, 1, 2, 3, 4]
    assert [progress.parameter for progress in done] == RADII.tolist()
    assert [progress.n_iter for progress in done] == path.counters.iterations.tolist()
    assert [progress.n_active for progress in done] == path.n_active.tolist()
    for point in range(5):  # done is the last word on a point, and its iterations grow
        iterations = [progress.n_iter for progress in told if progress.point == point]
        assert iterations == sorted(iterations)
        assert [progress.done for progress in told if progress.point == point].index(True) == len(iterations) - 1


@pytest.mark.compiled
def test_progress_between_bursts():
    callback = Recorder()
    path = solve(callback=callback, **SLOW)
    between = [progress for progress in callback.told if not progress.done]
    assert len(between) > 10
    assert all(progress.gap > 1e-3 for progress in between)
    assert [progress.gap for progress in callback.told if progress.done] == path.gaps.tolist()


def test_progress_within_points_of_the_certified_path():
    callback = Recorder()
    path = solve(callback=callback, **TIGHT)
    between = [progress for progress in callback.told if not progress.done]
    assert len(between) > 10
    assert all(progress.gap >= 0.0 for progress in between)
    assert [progress.gap for progress in callback.told if progress.done] == path.gaps.tolist()


@pytest.mark.parametrize("solver", ["corrective", "sfw", "cd"])
def test_progress_over_alphas(solver):
    callback = Recorder()
    alphas = [1.0, 0.5, 0.1]
    path = solve(radii=None, alphas=alphas, solver=solver, callback=callback)
    done = [progress for progress in callback.told if progress.done]
    np.testing.assert_allclose([progress.parameter for progress in done], alphas, rtol=1e-12)
    assert {progress.n_points for progress in callback.told} == {3}
    assert [progress.n_active for progress in done] == path.n_active.tolist()


# The callback stops ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_points", [1, 2, 4])
@pytest.mark.parametrize("solver", ["corrective", "sfw", "fw"])
def test_stop_after_a_point(n_points, solver):
    path = ended(Status.STOPPED, callback=Recorder(after(n_points), lambda: True), solver=solver)
    assert len(path) == n_points
    assert_begins(path, solve(solver=solver))
    assert np.isfinite(path.gaps).all()


@WITHIN
@pytest.mark.parametrize("point", [1, 2, 4])
def test_stop_within_a_point_leaves_it_out(point, options):
    callback = Recorder(within(point), lambda: True)
    path = ended(Status.STOPPED, callback=callback, **options)
    assert callback.told[-1].point == point or (options is TIGHT and callback.told[-1].point > point)
    assert len(path) == callback.told[-1].point
    assert_begins(path, solve(**options))


def test_stop_within_the_first_point_keeps_what_there_is():
    path = ended(Status.STOPPED, callback=Recorder(within(0), lambda: True), **SLOW)
    assert path.statuses == (Status.STOPPED,)
    assert path.gaps[0] > 1e-3
    assert path.n_active[0] > 0


@pytest.mark.parametrize("grid", [{}, {"radii": None, "alphas": [0.5, 0.4, 0.3, 0.2, 0.1]}], ids=["radii", "alphas"])
def test_stop_within_the_first_point_of_the_certified_path_answers_with_zero(grid):
    path = ended(Status.STOPPED, callback=Recorder(within(0), lambda: True), **grid)
    assert path.statuses == (Status.STOPPED,)
    assert path.n_active[0] == 0
    assert path.intercepts[0] == pytest.approx(Y.mean())
    assert 1e-4 < path.gaps[0] <= 1.0 if grid else path.gaps[0] > 1e-4


@pytest.mark.parametrize("solver", ["corrective", "sfw", "cd"])
def test_stop_on_a_path_over_alphas(solver):
    options = {"radii": None, "alphas": [1.0, 0.5, 0.1], "solver": solver}
    path = ended(Status.STOPPED, 3, callback=Recorder(after(2), lambda: True), **options)
    assert_begins(path, solve(**options))
    np.testing.assert_allclose(path.alphas, [1.0, 0.5], rtol=1e-12)


@BOTH
def test_stop_after_the_last_point_is_no_early_ending(solver):
    path = solve(callback=Recorder(after(5), lambda: True), solver=solver)
    assert path.ending is None
    assert len(path) == 5


@BOTH
@pytest.mark.parametrize("answer", [None, False, 0, "no"])
def test_only_true_stops(answer, solver):
    path = solve(callback=lambda progress: answer, solver=solver)
    assert path.ending is None
    assert len(path) == 5


@BOTH
def test_numpys_true_stops_too(solver):
    def after_two(progress):
        return np.float64(progress.point + progress.done) >= 2

    assert len(ended(Status.STOPPED, callback=after_two, solver=solver)) == 2


@BOTH
def test_a_stopped_path_has_the_largest_gap_in_its_warning(solver):
    with pytest.warns(ConvergenceWarning, match=r"largest relative duality gap is \d\.\d\de[-+]?\d+"):
        solve(callback=lambda progress: True, solver=solver)


@WITHIN
@pytest.mark.parametrize("point", [0, 2])
def test_an_error_in_the_callback_comes_out(point, options):
    def fail():
        raise ValueError("from the callback")

    with pytest.raises(ValueError, match="from the callback"):
        solve(callback=Recorder(within(point), fail), **options)
    assert handler() is signal.default_int_handler


# The clock ---------------------------------------------------------------------------------------------------


def tick(clock, seconds=1.0):
    def move():
        clock.now += seconds

    return move


@BOTH
@pytest.mark.parametrize("n_points", [1, 3])
def test_time_limit_after_a_point(clock, n_points, solver):
    callback = Recorder(lambda progress: progress.done, tick(clock))
    path = ended(Status.TIMED_OUT, callback=callback, time_limit=n_points, solver=solver)
    assert len(path) == n_points
    assert_begins(path, solve(solver=solver))
    assert np.isfinite(path.gaps).all()


@WITHIN
def test_time_limit_within_a_point_leaves_it_out(clock, options):
    callback = Recorder(within(2), tick(clock))
    path = ended(Status.TIMED_OUT, callback=callback, time_limit=1, **options)
    assert callback.told[-1].point == 2 or (options is TIGHT and callback.told[-1].point > 2)
    assert len(path) == callback.told[-1].point
    assert_begins(path, solve(**options))


def test_time_limit_within_the_first_point_keeps_what_there_is(clock):
    callback = Recorder(within(0), tick(clock))
    path = ended(Status.TIMED_OUT, callback=callback, time_limit=1e-3, **SLOW)
    assert len(callback.told) == 1
    assert path.statuses == (Status.TIMED_OUT,)
    assert path.counters.iterations[0] > 0
    assert path.gaps[0] > 1e-3


@pytest.mark.parametrize(
    ("solver", "name"),
    [("corrective", "alphas"), ("corrective", "radii"), *((name, SOLVERS[name].grids[0]) for name in POINTWISE)],
)
@pytest.mark.parametrize("grid", ["automatic", "given"])
def test_time_limit_shorter_than_anything_still_gives_a_point(monkeypatch, solver, name, grid):
    seconds = iter(range(1_000_000))  # every look at the clock takes a second
    monkeypatch.setattr("fwlasso.watch.time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    options = {"radii": None, name: 5 if grid == "automatic" else [0.1, 0.2, 0.3, 0.4, 0.5]}
    path = ended(Status.TIMED_OUT, solver=solver, time_limit=1e-6, **options)
    assert len(path) == 1
    assert np.isfinite(path.coefs.data).all()
    assert np.isfinite(path.gaps).all()


@BOTH
def test_time_left_over_changes_nothing(clock, solver):
    path = solve(callback=Recorder(lambda progress: progress.done, tick(clock)), time_limit=6, solver=solver)
    assert path.ending is None
    assert_begins(path, solve(solver=solver))


@pytest.mark.parametrize(("elapsed", "expected"), [(0.0, None), (2.9, None), (3.0, Status.TIMED_OUT)])
def test_the_clock_starts_with_the_watch(clock, elapsed, expected):
    watch = Watch(3.0, None)
    clock.now += elapsed
    assert watch.look() is expected
    assert watch.seconds == pytest.approx(elapsed)


# The keyboard ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interrupt", [raise_interrupt, send_interrupt])
@pytest.mark.parametrize("n_points", [1, 3])
@BOTH
def test_interrupt_after_a_point(interrupt, n_points, solver):
    path = ended(Status.INTERRUPTED, callback=Recorder(after(n_points), interrupt), solver=solver)
    assert len(path) == n_points
    whole = solve(solver=solver)
    assert_begins(path, whole)
    if solver == "sfw":
        assert np.isnan(path.gaps).all()  # no more passes over the data
    else:
        np.testing.assert_array_equal(path.gaps, whole.gaps[:n_points])  # the solver knows them
    assert handler() is signal.default_int_handler


@pytest.mark.parametrize("interrupt", [raise_interrupt, send_interrupt])
@pytest.mark.parametrize("point", [0, 2])
@WITHIN
def test_interrupt_within_a_point(interrupt, point, options):
    callback = Recorder(within(point), interrupt)
    path = ended(Status.INTERRUPTED, callback=callback, **options)
    assert callback.told[-1].point == point or (options is TIGHT and callback.told[-1].point > point)
    assert len(path) == max(1, callback.told[-1].point)
    if point:
        assert_begins(path, solve(**options))
    assert path.statuses[-1] is (Status.CERTIFIED if point else Status.INTERRUPTED)
    assert handler() is signal.default_int_handler


@BOTH
@pytest.mark.parametrize("name", ["alphas", "radii"])
def test_interrupt_ahead_of_the_first_point(solver, name):
    class Response:  # somebody presses Ctrl-C while the data are read
        def __array__(self, dtype=None, copy=None):
            send_interrupt()
            return Y.copy()

    path = ended(Status.INTERRUPTED, y=Response(), solver=solver, **{"radii": None, name: 5})
    assert len(path) == 1
    assert handler() is signal.default_int_handler


@pytest.mark.filterwarnings("ignore:The path has", "ignore:Nothing was solved")
@pytest.mark.parametrize(
    ("model", "where"),
    [
        (Lasso(0.1), "fwlasso.path"),
        (GridSearchCV(Lasso(), {"alpha": [0.1, 1.0]}, cv=2), "fwlasso.path"),
        (LassoCV(cv=2, alphas=5), "fwlasso.subsets"),
    ],
    ids=["Lasso", "GridSearchCV", "LassoCV"],
)
def test_an_interrupt_of_an_estimator_is_raised(model, where, monkeypatch):
    """Estimators take no callback: somebody presses Ctrl-C while columns are summed up, and never again."""

    def build_and_send(*given):
        monkeypatch.undo()
        send_interrupt()
        return build_problem(*given)

    monkeypatch.setattr(f"{where}.build_problem", build_and_send)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(X, Y)
    assert handler() is signal.default_int_handler


def test_an_interrupt_of_one_fold_is_raised(monkeypatch):
    found = lasso_cv(X, Y, alphas=5, cv=2)
    folds = (found.fold_paths[0], replace(found.fold_paths[1], ending=Status.INTERRUPTED))
    monkeypatch.setattr("fwlasso.estimators.cross_validate", lambda *_: replace(found, fold_paths=folds))
    with pytest.raises(KeyboardInterrupt):
        LassoCV(cv=2, alphas=5).fit(X, Y)


@BOTH
def test_second_interrupt_ends_a_callback(solver):
    def twice():
        send_interrupt()
        with pytest.raises(KeyboardInterrupt):
            send_interrupt()

    assert len(ended(Status.INTERRUPTED, callback=Recorder(after(2), twice), solver=solver)) == 2
    assert handler() is signal.default_int_handler


@BOTH
def test_a_shower_of_interrupts_leaves_a_path(solver):
    """Whatever the main thread is doing in compiled code, nothing is raised there."""
    code = f"""
import os, signal, threading, time, warnings
import numpy as np
from fwlasso import lasso_path
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60, 400)), rng.standard_normal(60)
lasso_path(X, y, solver={solver!r})  # compiled
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
    path = lasso_path(X, y, solver={solver!r}, tol=1e-9, callback=lambda progress: inside.set())
    endings.append(str(path.ending))
    done.append(True)
    thread.join()
except KeyboardInterrupt:  # of one that came after the path had given the keyboard back
    done.append(True)
    endings.append("Status.INTERRUPTED, and Python")
print(endings)
"""
    assert "interrupted" in run_program(code).stdout.lower()


def test_the_handler_is_installed_for_the_path_only():
    seen = Recorder(lambda progress: True, lambda: handlers.append(handler()))
    handlers = []
    solve(callback=seen)
    assert signal.default_int_handler not in handlers
    assert handler() is signal.default_int_handler


@pytest.mark.parametrize("other", [signal.SIG_IGN, lambda number, frame: None], ids=["ignored", "custom"])
def test_somebody_elses_handler_stays(other):
    signal.signal(signal.SIGINT, other)
    handlers = []
    path = solve(callback=Recorder(lambda progress: True, lambda: (handlers.append(handler()), send_interrupt())))
    assert set(handlers) == {other}
    assert path.ending is None
    assert handler() is other


def test_sigterm_is_left_to_whoever_calls():
    """A library does not change how a process is ended; the command line asks for it."""
    seen = []
    solve(callback=Recorder(lambda progress: True, lambda: seen.append(signal.getsignal(signal.SIGTERM))))
    assert set(seen) == {signal.SIG_DFL}


def test_other_threads_install_nothing():
    handlers, paths = [], []
    callback = Recorder(lambda progress: True, lambda: handlers.append(handler()))
    thread = threading.Thread(target=lambda: paths.append(solve(callback=callback)))
    thread.start()
    thread.join()
    assert len(paths[0]) == 5
    assert set(handlers) == {signal.default_int_handler}


def test_keyboard_comes_before_the_clock(clock):
    watch = Watch(1.0, None)
    with watch.guard():
        send_interrupt()
        clock.now += 5.0
        assert watch.look() is Status.INTERRUPTED


def test_an_error_of_the_callback_ends_all_paths_that_share_a_watch():
    def broken(_progress):
        raise RuntimeError("broken")

    shared = SharedWatch(None, broken)
    one, other = shared.member(), shared.member()
    assert other.look() is None
    with pytest.raises(RuntimeError, match="broken"):
        one.tell(Progress(0, 10, 1.0, 0, 0, 1.0, 0.0, done=True))
    assert other.look() is Status.STOPPED
    with pytest.raises(RuntimeError, match="broken"):
        lasso_cv(X, Y, alphas=5, callback=broken)


# Endings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_sentence(status):
    assert status.sentence.endswith(".")
    assert status.sentence[0].isupper()
    assert sum(other.sentence == status.sentence for other in Status) == 1
    assert not (status.converged and status.ends_path)
    assert Status(status.value) is status


@pytest.mark.parametrize("options", [{}, TIGHT, SLOWLY], ids=["corrective", "corrective tight", "sfw"])
def test_a_finished_path_is_silent(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = solve(**options)
    assert path.ending is None
    assert path.statuses == (Status.CERTIFIED,) * 5

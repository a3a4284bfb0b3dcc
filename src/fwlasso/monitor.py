"""What can end a path from outside: the clock, the keyboard and the user's callback."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ._core.columns import Vector
from .data.checks import ask
from .problem.points import Tell
from .status import Status


class Progress(NamedTuple):
    """The progress of a path, for the callback."""

    point: int  # from 0
    n_points: int
    parameter: float  # the radius or the alpha of the point
    n_active: int
    n_iter: int  # on this point
    gap: float  # relative duality gap over the columns looked at last: of a sample, a lower bound
    seconds: float  # since the start
    done: bool  # the point is solved


#: Called between bursts and after every point; returning True stops the path.
Callback = Callable[[Progress], Any]


class PathEnded(Exception):  # noqa: N818
    """The clock, the keyboard or the callback ended the path, or its columns are out of reach."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Monitor:
    """Looks at the clock, the keyboard and the callback, and names the ending if there is one.

    Several paths, in several threads, may have one: their points are counted together, and what ends one ends all.
    """

    def __init__(self, time_limit: float | None, callback: Callback | None) -> None:
        self._started = time.perf_counter()
        self._time_limit = time_limit
        self._callback = callback
        self._n_done = [0]
        self._lock = threading.Lock()
        self._interrupted = self._stopped = self._is_reporting = False

    def share(self, n_paths: int) -> None:
        """Count the points of so many paths together."""
        self._n_done = [0] * n_paths

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def check(self) -> Status | None:
        """Return the ending that was asked for."""
        if self._stopped:
            return Status.STOPPED
        if self._interrupted:
            return Status.INTERRUPTED
        if self._time_limit is not None and self.seconds >= self._time_limit:
            return Status.TIMED_OUT
        return None

    def look(self) -> None:
        """Raise PathEnded if an ending was asked for: for who waits for others."""
        if (ending := self.check()) is not None:
            raise PathEnded(ending)

    def teller(self, values: Vector, null_loss: float, path: int = 0) -> Tell:
        """Return what tells the callback, if there is one, where a path over these values is."""
        n_points = values.size

        def tell(point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
            if self._callback is None:
                return self.check()
            counts = {"n_points": n_points, "n_active": n_active, "n_iter": n_iter}
            parameter, gap = float(values[point]), gap / null_loss
            return self.report(
                Progress(point, parameter=parameter, gap=gap, seconds=self.seconds, done=done, **counts), path
            )

        return tell

    def report(self, progress: Progress, path: int = 0) -> Status | None:
        """Call the callback, one thread at a time, and return the ending that was asked for."""
        with self._lock:
            self._is_reporting = threading.current_thread() is threading.main_thread()
            try:
                answer = self._ask(self._of_all(progress, path))
            except KeyboardInterrupt:
                self._interrupted = True
            except BaseException:
                self._stopped = True  # the error is what the caller gets: other paths need not go on
                raise
            else:
                self._stopped |= isinstance(answer, bool | np.bool_) and bool(answer)
            finally:
                self._is_reporting = False
            return self.check()

    def _ask(self, progress: Progress) -> Any:
        """Return the answer of the callback, if there is one."""
        return None if self._callback is None else ask("callback", self._callback, progress)

    def _of_all(self, progress: Progress, path: int) -> Progress:
        """Return the progress of a path as a part of all."""
        if len(self._n_done) == 1:
            return progress
        if progress.done:  # of a segment that was solved before, only its last point is reported
            self._n_done[path] = progress.point + 1
        n_points = len(self._n_done) * progress.n_points
        return progress._replace(point=sum(self._n_done) - progress.done, n_points=n_points)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Within this context Ctrl-C asks the path to end, at the next check; on the command line, so does SIGTERM.

        It raises nothing: an exception in the middle of a call of compiled code can end the process. Only a callback,
        which may not come back by itself, is interrupted by the second one. Signals reach the main thread only: in
        other threads nothing is changed. Neither is a signal that somebody else handles, or that is ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(_number: int, _frame: FrameType | None) -> None:
            if self._interrupted and self._is_reporting:
                raise KeyboardInterrupt
            self._interrupted = True

        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminate}
        ours = {number: handler for number, handler in usual.items() if signal.getsignal(number) is handler}
        for number in ours:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in ours.items():
                signal.signal(number, handler)


def told_of_size(tell: Tell, n_most: int) -> Tell:
    """Return what tells of points, and ends a path with one of more active columns than `n_most`."""

    def tell_of_size(point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
        ending = tell(point, n_active, n_iter, gap, done=done)
        return Status.MAX_ACTIVE if ending is None and done and n_active > n_most else ending

    return tell_of_size


@contextmanager
def terminating() -> Iterator[None]:
    """Within this context SIGTERM ends a path with what is solved, and any other work in order, as Ctrl-C does."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)

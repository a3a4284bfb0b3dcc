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

from .status import Status


class Progress(NamedTuple):
    """Where a path is, as told to the callback."""

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


class Watch:
    """Looks at the clock, the keyboard and the callback, and names the ending if there is one."""

    def __init__(self, time_limit: float | None, callback: Callback | None) -> None:
        self._started = time.perf_counter()
        self._time_limit = time_limit
        self._callback = callback
        self._interrupted = self._is_telling = False

    @property
    def is_told(self) -> bool:
        """Whether there is a callback."""
        return self._callback is not None

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def look(self) -> Status | None:
        """Return the ending that the clock or the keyboard asks for."""
        if self._interrupted:
            return Status.INTERRUPTED
        if self._time_limit is not None and self.seconds >= self._time_limit:
            return Status.TIMED_OUT
        return None

    def tell(self, progress: Progress) -> Status | None:
        """Call the callback, and return the ending that it, the clock or the keyboard asks for."""
        self._is_telling = threading.current_thread() is threading.main_thread()
        try:
            answer = self._callback(progress) if self._callback is not None else None
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        finally:
            self._is_telling = False
        return Status.STOPPED if isinstance(answer, bool | np.bool_) and answer else self.look()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Within this context Ctrl-C asks the path to end, at the next look; on the command line, so does SIGTERM.

        It raises nothing: an exception in the middle of a call of compiled code can end the process. Only a callback,
        which may not come back by itself, is interrupted by the second one. Signals reach the main thread only: in
        other threads nothing is changed. Neither is a signal that somebody else handles, or that is ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(_number: int, _frame: FrameType | None) -> None:
            if self._interrupted and self._is_telling:
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


class SharedWatch(Watch):
    """A watch for several paths in several threads: their points are counted together, and what ends one ends all."""

    def __init__(self, time_limit: float | None, callback: Callback | None) -> None:
        super().__init__(time_limit, callback)
        self._members: list[_Member] = []
        self._lock = threading.Lock()
        self._is_stopped = False

    def member(self) -> Watch:
        """Return the watch of one more path."""
        self._members.append(_Member(self))
        return self._members[-1]

    def look(self) -> Status | None:
        """Return the ending that the clock, the keyboard or the callback has asked for."""
        return Status.STOPPED if self._is_stopped else super().look()

    def tell_of(self, member: "_Member", progress: Progress) -> Status | None:
        """Call the callback, one thread at a time."""
        with self._lock:
            if progress.done:  # of a segment that was solved before, its last point is told only
                member.n_done = progress.point + 1
            n_done = sum(one.n_done for one in self._members)
            n_points = len(self._members) * progress.n_points
            whole = progress._replace(point=n_done - progress.done, n_points=n_points)
            try:
                ending = self.tell(whole)
            except BaseException:
                self._is_stopped = True  # the error is what the caller gets: the other paths need not go on
                raise
            self._is_stopped |= ending is Status.STOPPED
            return ending


class _Member(Watch):
    """The part that one path has in a shared watch."""

    def __init__(self, shared: SharedWatch) -> None:
        super().__init__(None, None)
        self._shared = shared
        self.n_done = 0

    @property
    def is_told(self) -> bool:
        """Whether there is a callback."""
        return self._shared.is_told

    @property
    def seconds(self) -> float:
        """Seconds since all paths started."""
        return self._shared.seconds

    def look(self) -> Status | None:
        """Return the ending that was asked for, of any of the paths."""
        return self._shared.look()

    def tell(self, progress: Progress) -> Status | None:
        """Tell of this path as of a part of all."""
        return self._shared.tell_of(self, progress)

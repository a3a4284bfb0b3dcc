"""Paths on the same columns that are solved side by side, and make their passes over the data together.

Every path has a thread of its own. One that wants a pass waits for the others; when all of them wait, their chunks are
run in the order of the columns, so that a column is read from memory, or from the disk, once for all of them. What a
path computes does not depend on the others: only the order of reading changes.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from .._core.threads import Workers

T = TypeVar("T")

# A pass of fewer chunks, 256 MB, is over soon: sharing it saves less than waiting for the others costs.
_FEWEST_CHUNKS = 128


class _Pass:
    """The chunks of one pass over the data, and what came of them."""

    def __init__(self, chunk: Callable[[int, int], Any], cuts: Sequence[int]) -> None:
        self.cuts = cuts
        self.results: list[Any] = [None] * (len(cuts) - 1)
        self.error: Exception | None = None
        self.is_done = False
        self._chunk = chunk

    def run(self, k: int) -> None:
        try:
            self.results[k] = self._chunk(self.cuts[k], self.cuts[k + 1])
        except Exception as error:
            self.error = error


class SharedPasses:
    """Runs the passes of its members together, on the threads of `workers`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._changed = threading.Condition()
        self._n_members = 0
        self._waiting: list[_Pass] = []

    @contextmanager
    def member(self, n_threads: int) -> Iterator[Workers]:
        """Give workers to one more path: alone, they have `n_threads`."""
        with self._changed:
            self._n_members += 1
        try:
            with _Sharing(n_threads, self) as workers:
                yield workers
        finally:
            with self._changed:
                self._n_members -= 1
                self._changed.notify_all()  # the others may all be waiting now

    def join(self, chunk: Callable[[int, int], T], cuts: Sequence[int]) -> list[T]:
        """Make a pass when all members want one."""
        mine = _Pass(chunk, cuts)
        with self._changed:
            self._waiting.append(mine)
            self._changed.notify_all()
            while not mine.is_done:
                if mine in self._waiting and len(self._waiting) == self._n_members:
                    self._run_all()
                else:
                    self._changed.wait()
        if mine.error is not None:
            raise mine.error
        return mine.results

    def _run_all(self) -> None:
        """Run all that wait, chunks of neighbouring columns after each other, while nobody holds the lock."""
        together, self._waiting = self._waiting, []
        tasks = sorted(((cut, number, k) for number, it in enumerate(together) for k, cut in enumerate(it.cuts[:-1])))
        self._changed.release()
        try:
            self._workers.map(lambda at, _: together[tasks[at][1]].run(tasks[at][2]), range(len(tasks) + 1))
        finally:
            self._changed.acquire()
            for it in together:
                it.is_done = True
            self._changed.notify_all()


def solve_together(paths: Sequence[Callable[[Workers], T]], n_together: int, workers: Workers) -> list[T]:
    """Solve paths, each with workers of its own, up to `n_together` of them at a time: these share their passes."""
    n_together = min(n_together, len(paths))
    if n_together <= 1 or workers.n_threads == 1:
        return [solve_on(workers) for solve_on in paths]
    shared = SharedPasses(workers)
    n_threads = max(1, workers.n_threads // n_together)

    def solve(solve_on: Callable[[Workers], T]) -> T:
        with shared.member(n_threads) as own:
            return solve_on(own)

    with ThreadPoolExecutor(n_together, thread_name_prefix="fwlasso-path") as pool:
        return list(pool.map(solve, paths))


class _Sharing(Workers):
    """The workers of one path, which shares its passes with others."""

    def __init__(self, n_threads: int, shared: SharedPasses) -> None:
        super().__init__(n_threads)
        self._shared = shared

    def sweep(self, chunk: Callable[[int, int], T], cuts: Sequence[int]) -> list[T]:
        return self._shared.join(chunk, cuts) if len(cuts) > _FEWEST_CHUNKS else self.map(chunk, cuts)

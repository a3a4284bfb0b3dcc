"""Threads: compiled chunks run side by side with the GIL released, above a size that pays for it.

The cuts depend on the work, never on the number of threads, and every reduction is over the list of chunk
results in order: the same answer for any number of threads. A pool belongs to one path, so paths may run in
several Python threads or processes at once, and a process may fork beside them: no lock is found held in the child.
"""

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# A chunk of this many bytes is read in about 100 microseconds, ten times the cost of handing it out.
_CHUNK_BYTES = 2 << 20
_FEWEST_CHUNKS, _MAX_CHUNKS = 4, 256
#: Where threads pay, in bytes.
FEWEST_BYTES = _FEWEST_CHUNKS * _CHUNK_BYTES


def n_chunks(n_bytes: int) -> int:
    """Return into how many chunks a scan of `n_bytes` is cut; one below the size where threads pay."""
    chunks = n_bytes // _CHUNK_BYTES
    return min(chunks, _MAX_CHUNKS) if chunks >= _FEWEST_CHUNKS else 1


def even_cuts(n_items: int, n_bytes: int) -> list[int]:
    """Cut ``range(n_items)``, items of equal work that together read `n_bytes`, into chunks."""
    chunks = max(1, min(n_chunks(n_bytes), n_items))
    return [k * n_items // chunks for k in range(chunks + 1)]


def resolve_threads(n_threads: int | None) -> int:
    """Return a number of threads: the given one, else ``OMP_NUM_THREADS``, else the cores this process may use.

    joblib's process workers set ``OMP_NUM_THREADS``, so that paths inside them do not oversubscribe.
    """
    if n_threads is not None:
        return n_threads
    stated = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _thread_pools() -> ThreadpoolController:
    """Return what knows the BLAS libraries of this process: finding them takes milliseconds, once."""
    return ThreadpoolController()


def blas_libraries() -> str:
    """Return name, version and architecture of the BLAS libraries of this process."""
    found = (info for info in _thread_pools().info() if info["user_api"] == "blas")
    names = {f"{info['internal_api']} {info['version']} {info.get('architecture', '')}".strip() for info in found}
    return ", ".join(sorted(names))


def lazy(function: Callable[[Any], T]) -> "functools.cached_property[T]":
    """Make a property that is computed once.

    functools.cached_property holds a lock meanwhile, before Python 3.12: one for all instances, and found held forever
    in a child that was forked then.
    """
    name = function.__name__

    @functools.wraps(function)
    def get(self: Any) -> T:
        known: dict[str, T] = self.__dict__
        if name not in known:
            known[name] = function(self)
        return known[name]

    return property(get)  # type: ignore[return-value]


class _OneBlasThread:
    """One BLAS thread while anybody asks for it: the first to enter limits, the last to leave restores.

    Some libraries have one limit for the process, others one per thread, so that both are set. Of the former,
    threadpoolctl lets only the thread that has set it change it, while that lives: here it is a thread of a moment, or
    whoever leaves last could not restore it.

    A fork waits until no limit is being changed, here or in threadpoolctl. In the child, only the thread that forked
    is left to leave.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may fork in the thread that has it
        self._of_process = _Limit()
        self._of_thread = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._after_fork
            )

    def _mine(self) -> "_Limit":
        mine: _Limit = self._of_thread.__dict__.setdefault("limit", _Limit())
        return mine

    @contextmanager
    def __call__(self) -> Iterator[None]:
        mine = self._mine()
        with self._lock:
            _in_passing(self._of_process.enter)
            mine.enter()
        try:
            yield
        finally:
            with self._lock:
                mine.leave()
                _in_passing(self._of_process.leave)

    def _after_fork(self) -> None:
        self._lock.release()
        self._of_process.leave(self._of_process.n_users - self._mine().n_users)


class _Limit:
    """A limit to one BLAS thread for as long as it has users."""

    def __init__(self) -> None:
        self.n_users = 0
        self._limit: Any = None

    def enter(self) -> None:
        self.n_users += 1
        if self.n_users == 1:
            self._limit = _thread_pools().limit(limits=1, user_api="blas")
            self._limit.__enter__()

    def leave(self, n_users: int = 1) -> None:
        self.n_users -= n_users
        if n_users > 0 and self.n_users == 0:
            self._limit.__exit__(None, None, None)


def _in_passing(function: Callable[[], None]) -> None:
    """Call a function in a thread of its own."""
    thread = threading.Thread(target=function, name="fwlasso-blas")
    thread.start()
    thread.join()


#: A context with one BLAS thread: more fight with ours, and round differently.
one_blas_thread = _OneBlasThread()


class Workers:
    """Runs the chunks of a scan, on threads when there are several chunks.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     workers.map(lambda lo, hi: hi - lo, [0, 10, 30, 60])
    [10, 20, 30]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # whose threads they are: a child has none of them

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def sweep(self, chunk: Callable[[int, int], T], cuts: Sequence[int]) -> list[T]:
        """Return what `map` does, for a pass over all columns: folds make theirs together."""
        return self.map(chunk, cuts)

    def map(self, chunk: Callable[[int, int], T], cuts: Sequence[int]) -> list[T]:
        """Return ``[chunk(cuts[0], cuts[1]), chunk(cuts[1], cuts[2]), ...]``."""
        n_pieces = len(cuts) - 1
        if n_pieces == 1 or self.n_threads == 1:
            return [chunk(lo, hi) for lo, hi in itertools.pairwise(cuts)]
        results: list[T | None] = [None] * n_pieces
        todo = itertools.count()  # next() on it is atomic: every piece is taken once

        def work() -> None:
            while (k := next(todo)) < n_pieces:
                results[k] = chunk(cuts[k], cuts[k + 1])

        if self._pool is None or self._process != os.getpid():
            self._process = os.getpid()
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="fwlasso")
        helpers = [self._pool.submit(work) for _ in range(self.n_threads - 1)]
        work()
        for helper in helpers:
            helper.result()
        return results  # type: ignore[return-value]


def physical_memory() -> int:
    """Return the bytes of memory that this machine has."""
    if not hasattr(os, "sysconf"):  # Windows: a record of 64 bytes, its own length first, the memory at byte 8
        import ctypes

        record = (ctypes.c_uint64 * 8)(64)
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(record))  # type: ignore[attr-defined]
        return int(record[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

"""Who does what is asked of parts: a cluster, or this process."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .._core.threads import physical_memory
from ..monitor import PathEnded
from ..status import Status
from .cluster import client_of, there, wait_for

#: A function of a part, and of what else it is given: a call for each part that is asked.
Calls = Sequence[tuple[Any, tuple[Any, ...]]]
Look = Callable[[], None]

# Vectors of so many bytes are sent once, and handed on by the workers.
_LONG = 100_000
# Of the memory of a worker, columns may take this share, less what Python and kernels take.
_SHARE, _OWN_BYTES = 0.5, 300_000_000
# What dies under a request is asked again so often.
_MOST_DEATHS = 3


class Tasks(Protocol):
    """Keeps values where they are made, makes them again where they are lost, and asks them."""

    def keep(self, function: Any, *given: Any) -> Any:
        """Return a handle of a value that stays where it is made."""

    def n_parts(self) -> int:
        """Return how many parts a matrix is cut into, unless somebody asks for another number."""

    def check_room(self, n_bytes: int) -> None:
        """Raise a ValueError if there is no room for so many bytes of columns."""

    def computed(self, delayed: Any) -> Any:
        """Return what stands for a value that Dask computes."""

    def share(self, value: Any, n_bytes: int) -> Any:
        """Return what stands for a value that is given to all calls of a request."""

    def drop(self, *handles: Any) -> None:
        """Give up what handles stand for, whoever refers to them yet."""

    def ask(self, function: Any, calls: Calls, look: Look) -> list[Any]:
        """Return all answers in order; `look` is called meanwhile, and may raise."""


class Made(NamedTuple):
    """How a value is made: the handle of `InThisProcess`, which makes it when it is asked for."""

    function: Any
    given: tuple[Any, ...]
    value: list[Any]

    def get(self) -> Any:
        """Return the value."""
        if not self.value:
            self.value.append(self.function(*(it.get() if isinstance(it, Made) else it for it in self.given)))
        return self.value[0]


class InThisProcess(Tasks):
    """No cluster: everything is done when it is asked for."""

    def keep(self, function: Any, *given: Any) -> Any:
        return Made(function, given, [])

    def n_parts(self) -> int:
        return 1

    def check_room(self, n_bytes: int) -> None:
        pass

    def computed(self, delayed: Any) -> Any:
        return Made(delayed.compute, (), [])

    def share(self, value: Any, n_bytes: int) -> Any:
        return value

    def drop(self, *handles: Any) -> None:
        pass

    def ask(self, function: Any, calls: Calls, look: Look) -> list[Any]:
        found = []
        for handle, given in calls:
            look()
            found.append(function(handle.get(), *given))
        return found


class OnCluster(Tasks):
    """Parts are futures, which the scheduler makes again where they are lost.

    They are not bound to workers: of workers that all die at once, new ones would not be asked. Vectors travel in
    tasks: what is scattered dies with its worker.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def keep(self, function: Any, *given: Any) -> Any:
        with there(self.client):
            return self.client.submit(function, *given, pure=False)

    def n_parts(self) -> int:
        return 2 * int(sum(self.client.nthreads().values()))

    def check_room(self, n_bytes: int) -> None:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] or physical_memory() for worker in workers]
        room = [max(0, int(_SHARE * limit) - _OWN_BYTES) for limit in limits]
        if n_bytes > sum(room):
            n_more = -(-n_bytes // max(1, min(room, default=0)))
            enough = f"{n_more} such workers would do" if min(room, default=0) else "they are too small for any column"
            have = f"{len(room)} workers have room for {sum(room):,}, half of their memory less {_OWN_BYTES:,} each"
            raise ValueError(f"X: its columns take {n_bytes:,} bytes, and {have}: {enough}")

    def computed(self, delayed: Any) -> Any:
        return self.client.compute(delayed)

    def share(self, value: Any, n_bytes: int) -> Any:
        return self.keep(_itself, value) if n_bytes >= _LONG else value

    def drop(self, *handles: Any) -> None:
        for handle in handles:
            if hasattr(handle, "release"):
                handle.release()

    def ask(self, function: Any, calls: Calls, look: Look) -> list[Any]:
        from distributed.scheduler import KilledWorker

        for deaths in range(1 + _MOST_DEATHS):
            try:
                with there(self.client):
                    return self._ask(function, calls, look)
            except KilledWorker:
                if deaths == _MOST_DEATHS:
                    raise PathEnded(Status.LOST) from None
        raise AssertionError

    def _ask(self, function: Any, calls: Calls, look: Look) -> list[Any]:
        handles, given = zip(*calls, strict=True)
        futures = self.client.map(function, handles, *zip(*given, strict=True), pure=False, priority=10)
        try:
            wait_for(self.client, futures, look)
            if any(future.status in ("cancelled", "lost") for future in futures):
                raise PathEnded(Status.LOST)
            return list(self.client.gather(futures))
        finally:
            if pending := [future for future in futures if future.status == "pending"]:
                self.client.cancel(pending)
            self.drop(*futures)


def _itself(value: Any) -> Any:
    return value


def tasks_of(client: Any) -> Tasks:
    """Return who does the work for a client, or for the current one: this process, if there is none."""
    client = client_of(client)
    return InThisProcess() if client is None else OnCluster(client)

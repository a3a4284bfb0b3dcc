"""A Dask cluster, and how its answers are waited for: nothing waits without a bound."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..monitor import PathEnded
from ..status import Status

# Seconds between two looks at the clock, and without any worker until the cluster is given up.
_LOOK, _PATIENCE = 0.1, 60.0


# Of an ending before there are any points: while rows are summed up, or columns are read first.
_ENDINGS: dict[Status, tuple[type[BaseException], str]] = {
    Status.TIMED_OUT: (TimeoutError, "time_limit: it was reached before all data were read once"),
    Status.INTERRUPTED: (KeyboardInterrupt, ""),
    Status.LOST: (ConnectionError, Status.LOST.sentence),
}


@contextmanager
def telling_of_endings() -> Iterator[None]:
    """Within this context an ending before there are any points is an error that says so."""
    try:
        yield
    except PathEnded as ended:
        error, why = _ENDINGS[ended.status]
        raise error(why) from None


@contextmanager
def there(client: Any) -> Iterator[None]:
    """Within this context a cluster that goes ends the path: what Dask raises then has many names."""
    try:
        yield
    except PathEnded:
        raise
    except Exception:
        if client.status == "running":
            raise
        raise PathEnded(Status.LOST) from None


def client_of(client: Any) -> Any:
    """Return the client that is given, or the current one; None, if there is none, is this process."""
    if client is not None:
        return client
    from distributed import default_client

    with suppress(ValueError):
        return default_client()
    return None


def compute(delayed: Any, client: Any, look: Callable[[], None]) -> Any:
    """Return a value that is computed on the cluster, or in this process; `look` is called meanwhile, and may raise."""
    if client is None:
        look()
        return delayed.compute()
    with there(client):
        future = client.compute(delayed, priority=10)
        try:
            wait_for(client, [future], look)
            return answer_of(future)
        finally:
            future.cancel()  # what is done is dropped


def wait_for(client: Any, futures: list[Any], look: Callable[[], None]) -> None:
    """Wait until all futures are done, or lost; raise PathEnded after a minute without any worker."""
    from distributed import wait

    last_seen = checked = time.monotonic()
    while any(future.status == "pending" for future in futures):
        look()
        with suppress(TimeoutError):
            wait(futures, timeout=_LOOK)
        if (now := time.monotonic()) > checked + 1.0:
            checked = now
            last_seen = now if client.status == "running" and client.nthreads() else last_seen
            if now > last_seen + _PATIENCE:
                raise PathEnded(Status.LOST)


def answer_of(future: Any) -> Any:
    """Return the answer of a future that is done: a cancelled one would hand over its exception."""
    if future.status in ("cancelled", "lost"):
        raise PathEnded(Status.LOST)
    return future.result()

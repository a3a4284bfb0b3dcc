"""Processes that cases run in, so that an abort or a hang is the case's own."""

import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from .cases import case_of, run
from .judge import Fault, Verdict

# A first case of its types may have to compile kernels.
_COMPILING = 5.0


class Asked(NamedTuple):
    """Which cases, and how they are run."""

    seed: int
    names: tuple[str, ...]
    strict: bool
    jobs: int
    limit: float  # seconds of a case


class Worker:
    """A process that is given one case at a time."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.seen: set[object] = set()
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.asked), daemon=True)
        self.process.start()
        theirs.close()
        self.key: str | None = None

    def send(self, key: str) -> None:
        case = case_of(key, self.asked.seed, self.asked.names)
        limit = self.asked.limit * (1.0 if case.types in self.seen else _COMPILING)
        self.seen.add(case.types)
        self.key, self.name, self.deadline = key, case.generator, time.monotonic() + limit
        self.connection.send(key)

    def receive(self) -> Verdict | None:
        """Return what was found; None if the worker is still at it."""
        try:
            if self.connection.poll():
                return self.connection.recv()
            if time.monotonic() < self.deadline:
                return None
            fault = Fault("hangs", "no end")
        except (EOFError, ConnectionError):
            self.process.join()
            fault = Fault("aborts", f"exit code {self.process.exitcode}")
        self.process.kill()
        self.process.join()
        self.start()
        return Verdict(faults=(fault,))


def serve(connection: Connection, asked: Asked) -> None:
    """Answer the keys of cases with verdicts."""
    while True:
        try:
            key = connection.recv()
        except EOFError:
            return
        connection.send(run(case_of(key, asked.seed, asked.names), asked.strict))


def verdicts(keys: list[str], asked: Asked) -> Iterator[tuple[str, str, Verdict]]:
    """Yield key, name and verdict of every case, in the order in which they end."""
    todo = iter(keys)
    idle = [Worker(asked) for _ in range(asked.jobs)]
    busy: list[Worker] = []
    while True:
        while idle and (key := next(todo, None)) is not None:
            idle[-1].send(key)
            busy.append(idle.pop())
        if not busy:
            break
        wait([worker.connection for worker in busy], timeout=1.0)
        for worker in list(busy):
            key, name = worker.key, worker.name
            verdict = worker.receive()
            if verdict is not None and key is not None:
                busy.remove(worker)
                idle.append(worker)
                yield key, name, verdict
    for worker in idle:
        worker.connection.close()
        worker.process.join()

"""Tasks one after the other: what is recorded already is kept, what is interrupted is not.

A record is a file of its own, written whole or not at all, together with the stamp of what it was computed from: the
settings of the task, the version and the code of the package, the threads and the data.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from fwlasso.data.compressed import write_text

from .study import Record, Task

Stamp = dict[str, Any]
#: Gives what a task's record depends on beside its settings.
StampOf = Callable[[Task], Stamp]


class Records:
    """The records of a study: a folder of JSON files, one per task.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     records = Records(Path(folder))
    ...     records.save("part/set/method", {"version": "1"}, {"seconds": 2.0})
    ...     records.load("part/set/method", {"version": "1"}), records.load("part/set/method", {"version": "2"})
    ({'seconds': 2.0}, None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, key: str) -> Path:
        """Return where a record is kept."""
        parts = key.split("/")
        if not all(parts) or any(part.startswith(".") or "\\" in part for part in parts):
            raise ValueError(f"key must be names with slashes between, got {key!r}")
        return self._folder.joinpath(*parts[:-1], parts[-1] + ".json")

    def load(self, key: str, stamp: Stamp) -> Record | None:
        """Return the record of a key if there is one that was computed from just this."""
        try:
            kept = json.loads(self.file(key).read_text(encoding="utf-8"))
            record: Record = kept["record"]
            fits = kept["stamp"] == json.loads(json.dumps(stamp))
        except (OSError, ValueError, KeyError, TypeError):  # none, or not one of ours: it is computed
            return None
        return record if fits else None

    def save(self, key: str, stamp: Stamp, record: Record) -> None:
        """Write a record; whoever reads the file finds the old one or the new one, never a part."""
        text = json.dumps({"stamp": stamp, "record": record}, indent=0)
        file = self.file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text)


class StudyStep(NamedTuple):
    """Where a study is, as told between tasks."""

    key: str  # of the task that is next; empty at the end
    n_done: int
    n_tasks: int
    seconds_left: float


class Outcome(NamedTuple):
    """What a run left."""

    records: dict[str, Record]
    failures: dict[str, str]  # by key: what went wrong
    interrupted: bool
    n_kept: int  # records that were there before


def run_tasks(
    tasks: Sequence[Task], records: Records, stamp_of: StampOf, tell: Callable[[StudyStep], None] = lambda _: None
) -> Outcome:
    """Run the tasks whose records are not there, in order, and return all records.

    A task that fails is named in the outcome, and the others go on. Ctrl-C ends the run: what is recorded stays.
    """
    keys = [task.key for task in tasks]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two tasks have the key {next(key for key in keys if keys.count(key) > 1)!r}")
    stamps = {task.key: {**stamp_of(task), "settings": dict(task.settings)} for task in tasks}
    found = {key: record for key in keys if (record := records.load(key, stamps[key])) is not None}
    todo = [task for task in tasks if "missing" in found.get(task.key, {"missing": ""})]
    n_kept = len(tasks) - len(todo)
    failures: dict[str, str] = {}
    clock = _Clock(todo)
    try:
        with _Keyboard() as keyboard:
            for k, task in enumerate(todo):
                tell(StudyStep(task.key, n_kept + k, len(tasks), clock.left(k)))
                try:
                    record = task.run()
                    keyboard.look()
                    records.save(task.key, stamps[task.key], record)
                    found[task.key] = record
                except Exception as error:  # one task must not end the study
                    keyboard.look()
                    failures[task.key] = f"{type(error).__name__}: {error}"
            tell(StudyStep("", len(tasks), len(tasks), 0.0))
    except KeyboardInterrupt:
        return Outcome(_in_order(keys, found), failures, True, n_kept)
    return Outcome(_in_order(keys, found), failures, False, n_kept)


def _in_order(keys: Sequence[str], found: Mapping[str, Record]) -> dict[str, Record]:
    return {key: found[key] for key in keys if key in found}


class _Clock:
    """Time left: what is expected of the tasks to come, corrected by how the ones before went."""

    _PRIOR = 5.0  # seconds of the expectation that count like measured ones

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._expected = [task.seconds for task in tasks]
        self._started = time.monotonic()

    def left(self, n_done: int) -> float:
        done = sum(self._expected[:n_done])
        pace = (time.monotonic() - self._started + self._PRIOR) / (done + self._PRIOR)
        return pace * sum(self._expected[n_done:])


class _Keyboard:
    """Remembers Ctrl-C, whoever handles it.

    A path ends early on it and returns the points it has, which must not become a record. To raise from a handler of
    our own instead would break into compiled code, where it is not safe.
    """

    def __enter__(self) -> Self:
        self._is_main = threading.current_thread() is threading.main_thread()  # signals reach no other
        self._numbers, self._writer = os.pipe()  # every signal that comes writes its number here
        for end in (self._numbers, self._writer):
            os.set_blocking(end, False)
        if self._is_main:
            self._previous = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_main:
            signal.set_wakeup_fd(self._previous)
        os.close(self._numbers)
        os.close(self._writer)

    def look(self) -> None:
        """Raise if Ctrl-C was pressed, or SIGTERM has come."""
        try:
            numbers = os.read(self._numbers, 4096)
        except BlockingIOError:  # none has come
            return
        if signal.SIGINT in numbers or signal.SIGTERM in numbers:
            raise KeyboardInterrupt

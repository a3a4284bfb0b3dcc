"""How far a long work on data is: the record that callbacks named `progress` are told."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from .checks import ask


class Step(NamedTuple):
    """How far a task is, as reported to its progress callback.

    Attributes
    ----------
    what : str
        The task, such as "copying", "reading train.svm" or "downloading" and an address. A call may report
        several tasks, one after the other, each with its own total.
    done : int
        Bytes or numbers, of the same unit as `total`.
    total : int or None
        None where it is not known.
    """

    what: str
    done: int
    total: int | None


#: Called after every block of work.
ProgressCallback: TypeAlias = Callable[[Step], object]


def silent(_step: Step) -> None:
    """Tell nobody."""


def telling(progress: ProgressCallback | None) -> ProgressCallback:
    """Return what tells the user's callback, if there is one."""
    return silent if progress is None else partial(ask, "progress", progress)

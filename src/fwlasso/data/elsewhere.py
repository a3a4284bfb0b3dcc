"""Who has columns that are not in this process: designs are found by the number that their storage has."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, storage_of
from .._core.elsewhere import Elsewhere, around

_NUMBERS = count()
_DESIGNS: "WeakValueDictionary[int, Remote]" = WeakValueDictionary()


class Remote(ABC):
    """Columns on other machines, and what is asked of them."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        self.look: Callable[[], None] = lambda: None  # at the clock and the keyboard, while others are waited for
        _DESIGNS[self.number] = self

    def begin(self, look: Callable[[], None]) -> None:
        """Begin to work for a call: `look` meanwhile."""
        self.look = look

    @abstractmethod
    def end(self) -> None:
        """Give up what was kept for the call."""

    @abstractmethod
    def summarize(self, columns: Columns, y: Vector, fit_intercept: bool) -> Any:
        """Return what `problem.build.summarize_here` does, by one reading where the columns lie."""

    @abstractmethod
    def make_pass(self, problem: Any, workers: Any) -> Any:
        """Return the `ColumnPass` over them."""

    @abstractmethod
    def hold(self, columns: NDArray[np.int64]) -> tuple[Columns, NDArray[np.int64], NDArray[np.int64]]:
        """Return a storage of columns that were fetched, the places of some in it, and the columns that it has."""


def remote_of(columns: Columns) -> Remote | None:
    """Return who has the columns; None if they are here."""
    storage = storage_of(columns)
    return _DESIGNS[storage.number] if isinstance(storage, Elsewhere) else None


def columns_here(columns: Columns, used: NDArray[np.int64]) -> tuple[Columns, NDArray[np.int64]]:
    """Return a storage in this process that has some columns, and their numbers in it."""
    remote = remote_of(columns)
    if remote is None:
        return columns, used
    held, places, order = remote.hold(used)
    return around(columns, held, order), places

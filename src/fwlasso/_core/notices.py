"""The one place that warns and logs. What the command line shows is in `cli.show`; nothing else speaks."""

import functools
import logging
import os
import sys
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

_log = logging.getLogger("fwlasso")
_HOME = f"{Path(__file__).parents[1]}{os.sep}"


@functools.cache
def say_compiling(cached: bool) -> None:
    """Tell the user why the first call takes its time; the cache of this function makes it once per process."""
    later = (
        "Later calls and later processes start at once. fwlasso.warm_up() does it ahead of time."
        if cached
        else "No cache directory can be written, so every process does it: set NUMBA_CACHE_DIR to a folder that can."
    )
    _log.warning("fwlasso is compiling its kernels for this kind of data, once: some seconds. %s", later)


_shared_places: list[Path] = []


def say_shared_cache(place: Path) -> None:
    """Tell the user, once per process, why a cache of compiled kernels is not used."""
    if not _shared_places:
        _shared_places.append(place)
        _log.warning(
            "fwlasso does not use a cache of compiled kernels because others can write to %s, and so run code as you. "
            "Take that from them (chmod go-w), or set NUMBA_CACHE_DIR to a folder of your own.",
            place,
        )


def warn_of_ending(text: str) -> None:
    """Warn that a path did not come to its end."""
    warnings.warn(text, ConvergenceWarning, stacklevel=_level_of_user())


def warn_of_doubt(text: str) -> None:
    """Warn of something in the data, or in a choice, that may not be meant."""
    warnings.warn(text, stacklevel=_level_of_user())


def warn_of_old_name(old: str, new: str) -> None:
    """Warn that something has another name now."""
    warnings.warn(f"{old} is called {new} now, and will be unknown later", FutureWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return the stacklevel, seen from the caller, of the nearest line that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level

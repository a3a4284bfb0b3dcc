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
        "Later calls and processes load them from a cache. fwlasso.warm_up() compiles ahead of time."
        if cached
        else "No cache folder is writable, so every process compiles: set NUMBA_CACHE_DIR to a writable folder."
    )
    _log.warning("fwlasso is compiling its kernels for this kind of data, once: ten to twenty seconds. %s", later)


_shared_places: list[Path] = []


def say_shared_cache(place: Path) -> None:
    """Tell the user, once per process, why a cache of compiled kernels is not used."""
    if not _shared_places:
        _shared_places.append(place)
        _log.warning(
            "fwlasso does not use a cache of compiled kernels, because others can write to %s and so run code as you. "
            "Remove their permission (chmod go-w), or set NUMBA_CACHE_DIR to a folder of your own.",
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
    warnings.warn(f"{old} is now called {new}, and will be removed", FutureWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return the stacklevel, seen from the caller, of the nearest line that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level

"""The one place that warns and logs. What the command line shows is in `cli.show`; nothing else speaks."""

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from .._version import __version__

#: The version of fwlasso in the state of a pickle.
VERSION = "_fwlasso_version"
_log = logging.getLogger("fwlasso")
_HOME = f"{Path(__file__).parents[1]}{os.sep}"


_said: set[str] = set()


def _say_once(text: str, *values: object) -> None:
    """Log a text once per process, whatever its values are."""
    if text not in _said:
        _said.add(text)
        _log.warning(text, *values)


def say_compiling(cached: bool) -> None:
    """Tell the user why the first call takes its time."""
    later = (
        "Later calls and processes load them from a cache. fwlasso.warm_up() compiles ahead of time."
        if cached
        else "No cache folder is writable, so every process compiles: set NUMBA_CACHE_DIR to a writable folder."
    )
    _say_once(f"fwlasso is compiling its kernels for this kind of data, once: ten to twenty seconds. {later}")


def say_shared_cache(place: Path) -> None:
    """Tell the user why a cache of compiled kernels is not used."""
    _say_once(
        "fwlasso does not use a cache of compiled kernels, because others can write to %s and so run code as you. "
        "Remove their permission (chmod go-w), or set NUMBA_CACHE_DIR to a folder of your own.",
        place,
    )


def say_damaged_cache(place: str, error: Exception) -> None:
    """Tell the user why kernels are compiled that may be in the cache, or are not kept there."""
    _say_once(
        "The cache of compiled kernels in %s is damaged or cannot be written: %s. fwlasso compiles them.", place, error
    )


def say_no_locks(place: Path, error: OSError) -> None:
    """Tell the user that nothing keeps two processes from writing to the same place."""
    _say_once(
        "fwlasso cannot lock what it writes in %s (%s), and goes on. Let no other process write the same there.",
        place,
        error.strerror,
    )


def warn_of_ending(text: str) -> None:
    """Warn that a path did not come to its end."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(text, ConvergenceWarning, stacklevel=_level_of_user())


def warn_of_doubt(text: str) -> None:
    """Warn of something in the data, or in a choice, that may not be meant."""
    warnings.warn(text, stacklevel=_level_of_user())


def of_this_version(kind: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a pickle without the version of fwlasso that wrote it; warn if it is another one."""
    written_by = state.get(VERSION, "an older version")
    if written_by != __version__:
        warn_of_doubt(
            f"This {kind} was pickled by fwlasso {written_by}, and this is fwlasso {__version__}: it may fail, or give "
            "other results. Fit it again; LassoPath.save and LinearModel.to_json are for keeping."
        )
    return {name: value for name, value in state.items() if name != VERSION}


def warn_of_old_name(old: str, new: str) -> None:
    """Warn that something has another name now."""
    warnings.warn(f"{old} is now called {new}, and will be removed", FutureWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return the stacklevel, seen from the caller, of the nearest line that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level

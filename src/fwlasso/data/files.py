"""Errors that name their file, and folders that appear in one step.

A folder is built beside its place, and put there when it is complete.

A process may be killed at any moment. What it leaves behind is the old folder or the new one, and at most a hidden
sibling, which the next write of the same folder removes; or, between two renames, both as siblings, and the next write
puts the old one back. A writer holds a lock on its siblings, and the system takes the lock away with the process: that
is how siblings of the dead are told from those of the living.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW, _OLD = "part", "old"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OF_FILES = (OSError, EOFError, ValueError, zipfile.BadZipFile)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder; when the block ends without an error, it takes the place of `folder`."""
    asked, folder = folder, folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    with speaking_of(asked):
        new, number = _new_sibling(folder)
        try:
            yield new
            sync(new)
            _take_place(new, folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # what is there still: the old folder, or a part of the new one
            os.close(number)


@contextmanager
def speaking_of(path: Path) -> Iterator[None]:
    """Let errors of the system name the file or folder that is written, not its draft, a hidden sibling, or nothing."""
    try:
        yield
    except OSError as error:
        parts = Path(str(error.filename)).parts
        is_of_draft = any(part.startswith(f".{path.resolve().name}.") for part in parts)
        if not is_of_draft and (error.filename is not None or not is_full(error)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def naming(file: Path, errors: type[Exception] | tuple[type[Exception], ...] = _OF_FILES) -> Iterator[None]:
    """Let every error of a file that cannot be read name the file."""
    try:
        yield
    except errors as error:
        if str(file) in str(error) or isinstance(error, FileNotFoundError) or is_full(error):
            raise
        raise ValueError(f"{file}: {error}") from error


def is_full(error: BaseException) -> bool:
    """Tell whether an error is that of a disk that takes no more; Python does not name the file then."""
    return isinstance(error, OSError) and error.errno in _FULL


def sync(path: Path) -> None:
    """Wait until a file or the entries of a folder are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sibling(folder: Path, suffix: str) -> Path:
    return folder.parent / f".{folder.name}.{secrets.token_hex(6)}.{suffix}"


def _new_sibling(folder: Path) -> tuple[Path, int]:
    """Return a new folder and a lock on it."""
    while True:
        new = _sibling(folder, _NEW)
        new.mkdir()
        number = lock(new)
        if number is not None and new.exists():  # else another writer has taken it for one of the dead
            return new, number


def lock(folder: Path) -> int | None:
    """Return a lock on a folder; None if another process has it, or if the folder is gone."""
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def _sweep(folder: Path) -> None:
    """Remove what killed writers have left; put an old folder back whose replacement never came."""
    pattern = re.compile(re.escape(f".{folder.name}.") + rf"[0-9a-f]{{12}}\.({_NEW}|{_OLD})")
    for path in list(folder.parent.iterdir()):
        match = pattern.fullmatch(path.name)
        number = lock(path) if match else None
        if match is None or number is None:
            continue
        if match[1] == _OLD and not folder.exists():
            path.rename(folder)
        else:
            _remove(path)
        os.close(number)


def _remove(sibling: Path) -> None:
    """Remove a sibling; half of it must not be taken for an old folder that can be put back."""
    gone = sibling.rename(sibling.with_suffix(f".{_NEW}"))
    shutil.rmtree(gone, ignore_errors=True)


def _take_place(new: Path, folder: Path) -> None:
    """Give `new` the name `folder`. One of that name goes first: in between there is none, which `_sweep` mends."""
    with suppress(OSError):  # the place is free, or an empty folder
        new.rename(folder)
        return
    old, number = _sibling(folder, _OLD), lock(folder)
    try:
        folder.rename(old)
        new.rename(folder)
        _remove(old)
    finally:
        if number is not None:
            os.close(number)

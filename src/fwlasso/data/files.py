"""Errors that name their file, and folders that appear in one step.

A folder is built beside its place, and put there when it is complete.

A process may be killed at any moment. What it leaves behind is the old folder or the new one, and at most hidden
siblings, which the next write of the same folder removes; or, between two renames, both as siblings, and the next write
puts the old one back. A writer holds a lock for the whole write, and the system takes the lock away with the process:
whatever drafts the next writer finds are those of the dead.
"""

import errno
import os
import re
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from .._core.notices import say_no_locks

_NEW, _OLD = "part", "old"
_POSIX = find_spec("fcntl") is not None
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OF_FILES = (OSError, EOFError, ValueError, zipfile.BadZipFile)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder; when the block ends without an error, it takes the place of `folder`."""
    asked, folder = folder, folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    taken = f"folder: another process is writing {asked}"
    with speaking_of(asked), locked(folder.with_name(f".{folder.name}.lock"), taken):
        _sweep(folder)
        new = _sibling(folder, _NEW)
        new.mkdir()
        try:
            yield new
            sync(new)
            _take_place(new, folder)
            sync(folder.parent)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # what is there still: the old folder, or a part of the new one


@contextmanager
def locked(file: Path, taken: str) -> Iterator[None]:
    """Hold a lock on a hidden file for the time of the context; raise a ValueError of the text `taken` if others do.

    Where there are no locks, as on some network file systems, the log says so, and the work goes on without.
    """
    try:
        number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)  # NFS gives a lock only on what is open for writing
    except OSError as error:
        say_no_locks(file.parent, error)
        yield
        return
    try:
        if not _take_lock(number, file):
            raise ValueError(taken)
        try:
            yield
        finally:
            with suppress(OSError):
                file.unlink()  # while it is locked: nobody else has a lock on it that would go with it
    finally:
        os.close(number)
        if not _POSIX:
            with suppress(OSError):
                file.unlink()  # only once it is closed; nobody can remove one that others have open


def _take_lock(number: int, file: Path) -> bool:
    """Lock an open file; return whether nobody else has it, or had it until just now and has removed the file."""
    try:
        if _POSIX:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        say_no_locks(file.parent, error)
        return True
    return os.fstat(number).st_nlink > 0


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
    """Wait until a file or, where folders can be opened, the entries of one are on the disk."""
    if not _POSIX and path.is_dir():
        return
    number = os.open(path, os.O_RDONLY if _POSIX else os.O_RDWR)  # Windows writes through what is open for writing
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sibling(folder: Path, suffix: str) -> Path:
    return folder.parent / f".{folder.name}.{secrets.token_hex(6)}.{suffix}"


def _sweep(folder: Path) -> None:
    """Remove what killed writers have left; put an old folder back whose replacement never came."""
    pattern = re.compile(re.escape(f".{folder.name}.") + rf"[0-9a-f]{{12}}\.({_NEW}|{_OLD})")
    for path in list(folder.parent.iterdir()):
        match = pattern.fullmatch(path.name)
        if match and match[1] == _OLD and not folder.exists():
            path.rename(folder)
        elif match:
            _remove(path)


def _remove(sibling: Path) -> None:
    """Remove a sibling; half of it must not be taken for an old folder that can be put back."""
    gone = sibling.rename(sibling.with_suffix(f".{_NEW}"))
    shutil.rmtree(gone, ignore_errors=True)


def _take_place(new: Path, folder: Path) -> None:
    """Give `new` the name `folder`. One of that name goes first: in between there is none, which `_sweep` mends."""
    with suppress(OSError):  # the place is free, or an empty folder
        new.rename(folder)
        return
    old = _sibling(folder, _OLD)
    folder.rename(old)
    new.rename(folder)
    _remove(old)

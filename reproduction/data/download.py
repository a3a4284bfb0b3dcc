"""Downloads that can be interrupted: resumed, checked, and in place only when complete. Standard library only."""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from fwlasso.data.progress import ProgressCallback, Step, silent

TRIES = 4
TIMEOUT = 20.0  # seconds without a byte
_TRIES_TO_CONNECT = 2  # where no try has reached the server
_PAUSE = 1.0  # seconds before the second try, twice as many before every further one
_CHUNK = 1 << 18  # bytes read at a time
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # answers that may be others a little later
_PARTIAL_CONTENT, _RANGE_NOT_THERE = 206, 416


class DownloadError(OSError):
    """A file could not be downloaded."""


class UnreachableError(DownloadError):
    """The server could not be reached at all: most likely there is no network."""


class DamagedFileError(OSError):
    """A file is not the one that was downloaded first."""


class _BrokenOffError(Exception):
    """A try that failed in a way that another may not."""


def download(
    url: str, file: Path, *, progress: ProgressCallback | None = None, timeout: float = TIMEOUT, tries: int = TRIES
) -> None:
    """Download a file, or the rest of it, and write its SHA-256 beside it.

    Bytes are gathered in ``file.part``. What is there of an earlier download is kept, if the server offers ranges and
    says that its file is the same still (If-Range). When all bytes are there, by the length that the server tells,
    the digest is written to ``file.sha256`` and the part is renamed: a file of the right name is complete.

    There is no list of known digests to check against. The first download is trusted; later ones, and the file whenever
    it is read (`verify`), must have the digest that is there.

    Raises
    ------
    UnreachableError
        No connection in any of the tries.
    DownloadError
        Anything else; the message names the address, the folder and what to do by hand.
    DamagedFileError
        The digest is not the one beside the file.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _alone(file.parent):
            if not file.exists():  # another process may have been faster
                _try_often(url, file, progress or silent, timeout, tries)
    except (DownloadError, DamagedFileError):
        raise
    except OSError as error:  # of the disk: those of the network are told apart below
        raise DownloadError(_failed(url, file, str(error))) from error


def verify(file: Path) -> None:
    """Check a file against the SHA-256 beside it, if there is one.

    Raises
    ------
    DamagedFileError
        The file is not the one that was downloaded.
    """
    known = _beside(file, ".sha256")
    if known.is_file():
        _compare(file, known, _digest(file))


def _compare(file: Path, known: Path, found: str) -> None:
    expected = known.read_text(encoding="utf-8").partition(" ")[0]
    if found != expected:
        raise DamagedFileError(
            f"{file}: this is not the file that was downloaded first. Its SHA-256 is {found}, in {known.name} it is "
            f"{expected!r}. Delete both files to download it again, or only {known.name} if it is meant to be another"
        )


def _try_often(url: str, file: Path, tell: ProgressCallback, timeout: float, tries: int) -> None:
    was_reached = False
    for n_before in range(tries):
        if n_before:
            time.sleep(_PAUSE * 2 ** (n_before - 1))
        try:
            _try_once(url, file, tell, timeout)
            return
        except _BrokenOffError as error:
            was_reached, why = True, str(error)
        except URLError as error:
            why = f"no connection ({error.reason})"
            if not was_reached and n_before + 1 >= _TRIES_TO_CONNECT:
                break
    raise (DownloadError if was_reached else UnreachableError)(_failed(url, file, why))


def _try_once(url: str, file: Path, tell: ProgressCallback, timeout: float) -> None:
    part, version = _beside(file, ".part"), _beside(file, ".part.version")
    n_there = part.stat().st_size if part.exists() and version.exists() else 0
    headers = {"User-Agent": "fwlasso", "Accept-Encoding": "identity"}
    if n_there:
        headers |= {"Range": f"bytes={n_there}-", "If-Range": version.read_text(encoding="utf-8")}
    try:
        with urlopen(Request(url, headers=headers), timeout=timeout) as answer:
            total = _receive(answer, part, version, n_there, lambda *bytes_: tell(Step(f"downloading {url}", *bytes_)))
    except HTTPError as error:
        error.close()
        what = f"the server answers {error.code} {error.reason}"
        if error.code == _RANGE_NOT_THERE:
            version.unlink()  # the part is longer than the file: the next try begins again
        elif error.code not in _BUSY:
            raise DownloadError(_failed(url, file, what)) from error
        raise _BrokenOffError(what) from error
    except (HTTPException, TimeoutError, ConnectionError) as error:
        raise _BrokenOffError(f"the connection broke off ({error or type(error).__name__})") from error
    n_received = part.stat().st_size
    if total is not None and n_received < total:
        raise _BrokenOffError(f"the connection broke off after {n_received:,} of {total:,} bytes")
    if total is not None and n_received > total:
        version.unlink(missing_ok=True)
        raise _BrokenOffError(f"{n_received:,} bytes came instead of {total:,}")
    _finish(part, version, file)


def _receive(
    answer: HTTPResponse, part: Path, version: Path, n_there: int, tell: Callable[[int, int | None], object]
) -> int | None:
    """Write what comes to the part, or behind it, and return the bytes of the whole file as the server tells them."""
    if answer.status == _PARTIAL_CONTENT:
        first, total = _range(answer.headers)
        if first != n_there:
            version.unlink()
            raise _BrokenOffError(f"the server sends bytes from {first} on, not from {n_there}")
        mode, done = "ab", n_there
    else:  # all of it: the first time, or the file is another by now, or the server has no ranges
        length = answer.headers["Content-Length"]
        mode, done, total = "wb", 0, int(length) if length and length.isdecimal() else None
        version.unlink(missing_ok=True)
    with part.open(mode) as sink:
        if not done and (known_as := _version(answer.headers)):
            version.write_text(known_as, encoding="utf-8")
        tell(done, total)
        while chunk := answer.read(_CHUNK):
            sink.write(chunk)
            done += len(chunk)
            tell(done, total)
        sink.flush()
        os.fsync(sink.fileno())
    return total


def _range(headers: Message) -> tuple[int | None, int | None]:
    """Return the first byte of a Content-Range and the bytes of the whole file, None where they are not told."""
    told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers["Content-Range"] or "")
    if told is None:
        return None, None
    return int(told[1]), None if told[2] == "*" else int(told[2])


def _version(headers: Message) -> str | None:
    """Return what the server knows this version of the file by, to be sent back in If-Range: no weak ETag."""
    tag: str | None = headers["ETag"]
    return tag if tag and not tag.startswith("W/") else headers["Last-Modified"]


def _finish(part: Path, version: Path, file: Path) -> None:
    known, found = _beside(file, ".sha256"), _digest(part)
    version.unlink(missing_ok=True)  # if this is not the right file, the next try begins again
    if known.exists():
        _compare(file, known, found)
    known.write_text(f"{found}  {file.name}\n", encoding="utf-8")  # as sha256sum -c reads it
    part.replace(file)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process downloads to this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _failed(url: str, file: Path, why: str) -> str:
    return (
        f"{url} could not be downloaded to the folder {file.parent}: {why}. Get it by other means and put "
        f"it there as {file.name}, or try again later: what has come so far is kept"
    )

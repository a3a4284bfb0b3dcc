"""Files that may be packed, told by the ending of the name, and their lines, block by block."""

import bz2
import gzip
import itertools
import lzma
import os
import queue
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .atomic import speaking_of, sync

T = TypeVar("T")


def _open_gz(stream: BinaryIO, mode: str) -> Any:
    # No time and no name in it: the same text gives the same bytes.
    return gzip.GzipFile(filename="", mode=mode, compresslevel=6, fileobj=stream, mtime=0)


def _zstd() -> Any:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError as error:
            raise ImportError("files that end in .zst need a library: pip install backports.zstd") from error
    return zstd


def _open_zst(stream: BinaryIO, mode: str) -> Any:
    return _zstd().open(stream, mode)


#: What opens a packed file, by the ending of its name.
PACKINGS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {".gz": _open_gz, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zst}
)


def is_packed(file: Path) -> bool:
    """Tell whether a file is packed, by the ending of its name."""
    return file.suffix.lower() in PACKINGS


def is_gzip(file: Path) -> bool:
    """Tell whether a file is packed by gzip, by the ending of its name."""
    return file.suffix.lower() == ".gz"


@contextmanager
def unpacked(stream: BinaryIO, file: Path) -> Iterator[BinaryIO]:
    """Give the plain bytes of a stream that is packed as the name of its file tells.

    Raises
    ------
    ValueError
        What was read is damaged; the file is named.
    """
    if not is_packed(file):
        yield stream
        return
    damage: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
    if file.suffix.lower() == ".zst":
        damage = (*damage, _zstd().ZstdError)
    try:
        with PACKINGS[file.suffix.lower()](stream, "rb") as plain:
            yield plain
    except damage as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the packing
            raise
        raise ValueError(f"{file}: {error}") from error


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Give a stream to write a file to, packed as its name tells; the file has its name only when it is complete.

    Of a link it is the file that it leads to. What is no file, a device or a pipe, is written to as it is.
    """
    if not file.parent.is_dir():  # or the error would name the hidden file
        raise FileNotFoundError(f"{file}: there is no folder {file.parent}")
    with speaking_of(file):
        place = file.resolve()
        if place.exists() and not place.is_file():
            with place.open("wb") as stream, _packing(stream, file) as packed:
                yield packed
            return
        part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as stream:
                with _packing(stream, file) as packed:
                    yield packed
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(place)
            sync(place.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _packing(stream: BinaryIO, file: Path) -> AbstractContextManager[BinaryIO]:
    """Return what packs the bytes of a stream as the name of its file tells."""
    return PACKINGS[file.suffix.lower()](stream, "wb") if is_packed(file) else nullcontext(stream)


def write_text(file: Path, text: str, errors: str = "strict") -> None:
    """Write a text in UTF-8; the file is the old one or the new one, never a part."""
    with replacing(file) as stream:
        stream.write(text.encode("utf-8", errors))


class _Buffer:
    """Memory that is used again: new memory has to be zeroed, page by page."""

    def __init__(self) -> None:
        self._memory = bytearray()

    def of_size(self, size: int) -> bytearray:
        if len(self._memory) < size:
            self._memory = bytearray(size)
        return self._memory


class Readable(Protocol):
    """What bytes are read from."""

    def readinto(self, room: memoryview, /) -> int:
        """Read some bytes into the room; return how many, 0 at the end."""


def line_blocks(
    stream: Readable, block_bytes: int, padding: int, n_bytes: int | None = None, n_valid: int = 1
) -> Iterator[NDArray[np.uint8]]:
    r"""Yield whole lines of the next `n_bytes` of a stream, or of all there are.

    Every block ends with a newline, the last one too, and `padding` bytes behind it that are of no meaning.
    A block is larger than `block_bytes` only where a line is. The last `n_valid` blocks are valid, earlier ones are
    written over.
    """
    buffers = itertools.cycle([_Buffer() for _ in range(n_valid)])
    memory = next(buffers)
    begun = b""  # the first part of a line
    left = n_bytes
    while True:
        wanted = max(block_bytes, len(begun))
        wanted = wanted if left is None else min(wanted, left)
        buffer = memory.of_size(len(begun) + wanted + 1 + padding)
        buffer[: len(begun)] = begun
        with memoryview(buffer) as view:
            n_read = stream.readinto(view[len(begun) : len(begun) + wanted])
        end = len(begun) + n_read
        if not n_read:
            if begun:
                buffer[end] = ord("\n")
                yield np.frombuffer(buffer, np.uint8, end + 1 + padding)
            return
        left = None if left is None else left - n_read
        cut = buffer.rfind(b"\n", len(begun), end) + 1
        begun = bytes(memoryview(buffer)[cut:end])
        if cut:
            yield np.frombuffer(buffer, np.uint8, cut + padding)
            memory = next(buffers)  # and not before: a long line takes several rounds, and waiting blocks are in use


N_AHEAD = 8


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, which another thread makes. Up to `N_AHEAD` of them wait, another is in the making."""
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(N_AHEAD)
    is_over = threading.Event()

    def make() -> None:
        ending: BaseException = StopIteration()
        try:
            for item in items:
                ready.put((item, None))
                if is_over.is_set():
                    return
        except BaseException as error:
            ending = error
        ready.put((None, ending))

    maker = threading.Thread(target=make, name="fwlasso-ahead", daemon=True)
    maker.start()
    try:
        while True:
            item, ending = ready.get()
            if isinstance(ending, StopIteration):
                return
            if ending is not None:
                raise ending
            yield item  # type: ignore[misc]
    finally:
        is_over.set()
        while maker.is_alive():  # it may wait for room
            with suppress(queue.Empty):
                ready.get(timeout=0.01)

"""Files that may be packed, told by the suffix."""

import bz2
import gzip
import lzma
import os
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from .files import speaking_of, sync


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


#: What opens a packed file, by the suffix of its name.
PACKINGS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {".gz": _open_gz, ".bz2": bz2.open, ".xz": lzma.open, ".zst": lambda *how: _zstd().open(*how)}
)


def is_packed(file: Path) -> bool:
    """Tell whether a file is packed, by its suffix."""
    return file.suffix.lower() in PACKINGS


@contextmanager
def unpacked(stream: BinaryIO, file: Path) -> Iterator[BinaryIO]:
    """Give the plain bytes of a stream that is packed as the name of its file tells; errors name the file."""
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
        real = file.resolve()
        if real.exists() and not real.is_file():
            with real.open("wb") as stream, _packing(stream, file) as packed:
                yield packed
            return
        part = real.with_name(f".{real.name}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as stream:
                with _packing(stream, file) as packed:
                    yield packed
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(real)
            sync(real.parent)
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

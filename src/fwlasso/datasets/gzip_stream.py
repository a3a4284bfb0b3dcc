"""The plain bytes of a gzip file, with bookmarks: from one on, the file can be read again, by another thread, say."""

import zlib
from typing import Any, BinaryIO, NamedTuple

_GZIP = 31  # tells zlib to look for gzip's header and checksum
_CHUNK_BYTES = 1 << 16


class OddGzipError(Exception):
    """A gzip file that zlib alone does not read to its end: it is damaged, or Python's gzip is more patient."""


class Bookmark(NamedTuple):
    """A place in a gzip file, with all it takes to go on from there: some 40 kB."""

    n_packed: int  # bytes of the file that have been read
    n_plain: int  # bytes that have been unpacked
    unpacker: Any  # a copy that nobody else uses


def first_page() -> Bookmark:
    """Return the bookmark of the beginning of any file."""
    return Bookmark(0, 0, zlib.decompressobj(_GZIP))


class GzipStream:
    """Reads the plain bytes of a gzip file of any number of members, from a bookmark on."""

    def __init__(self, packed: BinaryIO, begin: Bookmark) -> None:
        self._packed = packed
        self.n_packed, self.n_plain = begin.n_packed, begin.n_plain
        self._unpacker = begin.unpacker.copy()
        packed.seek(begin.n_packed)

    def bookmark(self) -> Bookmark:
        """Return a bookmark of this place."""
        return Bookmark(self.n_packed, self.n_plain, self._unpacker.copy())

    def readinto(self, room: memoryview) -> int:
        """Fill the room; return the number of bytes, which are fewer at the end only.

        Raises
        ------
        OddGzipError
            Python's gzip may know what this is.
        """
        n_read = 0
        try:
            while n_read < len(room) and (waiting := self._waiting()):
                plain = self._unpacker.decompress(waiting, len(room) - n_read)
                room[n_read : n_read + len(plain)] = plain
                n_read += len(plain)
        except zlib.error as error:
            raise OddGzipError from error
        self.n_plain += n_read
        return n_read

    def skip(self, n_plain: int) -> None:
        """Go on to a place further behind, in plain bytes."""
        room = memoryview(bytearray(_CHUNK_BYTES))
        while self.n_plain < n_plain and self.readinto(room[: n_plain - self.n_plain]):
            pass

    def _waiting(self) -> bytes:
        """Return packed bytes that are to be unpacked next; none at the end of the file."""
        if not self._unpacker.eof:
            waiting: bytes = self._unpacker.unconsumed_tail or self._read()
            if not waiting:
                raise OddGzipError
            return waiting
        # Another member may follow, behind any number of zeros.
        waiting = self._unpacker.unused_data.lstrip(b"\0")
        while not waiting and (chunk := self._read()):
            waiting = chunk.lstrip(b"\0")
        if waiting:
            self._unpacker = zlib.decompressobj(_GZIP)
        return waiting

    def _read(self) -> bytes:
        chunk = self._packed.read(_CHUNK_BYTES)
        self.n_packed += len(chunk)
        return chunk

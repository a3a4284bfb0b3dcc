"""The fingerprint of data: checksums that tell whether they are the same as before, and when files were changed."""

import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector, shape
from .design import Design, arrays_of
from .genotypes import Variants
from .store import Store, file_name

# Bytes copied at a time where an array does not lie in a row.
_CHUNK_BYTES = 1 << 26
_OF_RESPONSE = ("y", "feature_names")  # entries of a store that are no part of X


def fingerprint(
    design: Design, y: Vector, store: Store | None = None, variants: Variants | None = None
) -> dict[str, str]:
    """Return checksums of X, y, names and variants; of the X of a store those written with it, without reading it.

    Its files have size and time of change as well: what is altered in place has the checksums that it had. CRC-32 finds
    what happens by accident, at the speed of memory. It is no proof against intent.
    """
    known: dict[str, str] = {}
    if store is None:
        parts = {name: checksum(part) for name, part in arrays_of(design.columns).items()}
        kind = type(design.columns).__name__.lower()
    else:
        parts = {name: sha for name, sha in store.digests.items() if name not in _OF_RESPONSE}
        kind = "store"
        files = {file_name(name): Mark.of(store.folder / file_name(name)) for name in parts}
        known = {name: str(mark) for name, mark in files.items() if mark is not None}
    m, p = shape(design.columns)
    if variants is not None:
        known = {"variants (chromosome, position, A1, A2)": _crc_of_text(variants)}
    return {
        "shape": f"{m} x {p}",
        "X": " ".join([kind, *(f"{name}:{checksum}" for name, checksum in parts.items())]),
        "y": checksum(y),
        "feature names": _crc_of_text(design.feature_names),
        **known,
    }


class Mark(NamedTuple):
    """What tells whether a file is the one that it was."""

    inode: int
    n_bytes: int
    changed: int  # in nanoseconds since 1970

    @classmethod
    def of(cls, file: Path) -> "Mark | None":
        """Return the mark of a file; None if it is not there."""
        try:
            found = file.stat()
        except OSError:
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)

    def __str__(self) -> str:
        return f"{self.n_bytes} bytes of {np.datetime64(self.changed, 'ns')}"


class MappedFiles:
    """The files that arrays are mapped from, as they were when this was made."""

    def __init__(self, *arrays: Any) -> None:
        self._marks = {file: Mark.of(file) for file in map(_file_of, arrays) if file is not None}

    def were_altered(self) -> bool:
        """Tell whether one was written to since; a file that takes the place of another leaves that as it was."""
        pairs = [(before, Mark.of(file)) for file, before in self._marks.items()]
        return any(now and before and now != before and now.inode == before.inode for before, now in pairs)


def _file_of(array: Any) -> Path | None:
    """Return the file that an array is mapped from, whatever views lie between."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.filename is not None:
            return Path(os.fspath(array.filename))
        array = array.base
    return None


def _crc_of_text(names: tuple[Any, ...] | None) -> str:
    return f"{zlib.crc32(json.dumps(names, default=np.ndarray.tolist).encode()):08x}"


def checksum(array: NDArray[Any]) -> str:
    """Return type and CRC-32 of an array, in the order in which it lies in memory."""
    rows = array.T  # of a column-major array, its columns
    n_rows = max(1, _CHUNK_BYTES // max(1, rows[:1].nbytes))
    crc = 0
    for first in range(0, len(rows), n_rows):
        crc = zlib.crc32(np.ascontiguousarray(rows[first : first + n_rows]).data, crc)
    return f"{array.dtype.name}-{crc:08x}"

"""Files of ours that are read again: a JSON record, or arrays with one, and checksums over all of it.

A checksum finds what was altered or torn. It does not tell who wrote a file, so what is read is validated all the same,
before compiled code sees it. Arrays lie in an archive that is not packed: none is larger than its file.
"""

import hashlib
import io
import json
import math
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compressed import replacing, write_text
from .files import naming

_RECORD, _CHECKSUM = "record.json", "sha256"


def json_text(record: Any, indent: int | None = None) -> str:
    """Return a record as JSON, which has no NaN and no infinity: they are null."""
    return json.dumps(_finite(record), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def seal(record: Mapping[str, Any]) -> str:
    """Return a record as JSON text, with its checksum."""
    plain = {name: value for name, value in record.items() if name != _CHECKSUM}
    return json_text({**plain, _CHECKSUM: _digest(json_text(plain).encode())}, indent=1) + "\n"


def unseal(text: str | bytes, kind: str, version: int, newest: int | None = None) -> dict[str, Any]:
    """Return the record that `seal` made a text of; raise a ValueError if it is another one, or was altered.

    It is of a version, or of one up to the newest.
    """
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a {kind}: {error}") from None
    require(isinstance(record, dict) and record.get("format") == kind, f"not a {kind}: it has another format")
    found = record.get("version")
    if type(found) is not int or not version <= found <= (newest or version):
        age = "an earlier" if type(found) is int and found < version else "another"
        remedy = f"(format {found!r}; this one reads {version}): make it again"
        raise ValueError(f"the {kind} was written by {age} version of fwlasso {remedy}")
    checksum = record.pop(_CHECKSUM, None)
    require(checksum == _digest(json.dumps(record).encode()), f"the {kind} was altered: its checksum does not match")
    return record  # type: ignore[no-any-return]


def write_record(file: Path, record: Mapping[str, Any]) -> None:
    """Write a record with its checksum; the file is the old one or the new one, never a part."""
    write_text(file, seal(record))


def read_record(file: Path, kind: str, version: int) -> dict[str, Any]:
    """Read a record that `write_record` wrote."""
    with naming(file, Exception):
        return unseal(file.read_bytes(), kind, version)


def write_arrays(file: Path, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an ``.npz`` file, and a record with the checksums of all; in one step."""
    digests = {}
    with replacing(file) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
            digests[name] = _digest(content.getbuffer())
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getbuffer())  # of no date: the same bytes again
        archive.writestr(zipfile.ZipInfo(_RECORD), seal({**record, "arrays": digests}))


class Arrays:
    """The arrays of an open file and their record."""

    def __init__(self, archive: zipfile.ZipFile, record: dict[str, Any]) -> None:
        self.record = record
        self._archive = archive

    def take(self, name: str, dtype: type[np.generic], *shape: int, finite: bool = True) -> NDArray[Any]:
        """Return an array of this type and shape; raise a ValueError if it is another one, or was altered."""
        content = self._archive.read(f"{name}.npy")
        require(_digest(content) == self.record["arrays"].get(name), f"{name} was altered: its checksum does not match")
        stream = io.BytesIO(content)
        np.lib.format.read_magic(stream)
        found = np.lib.format.read_array_header_1_0(stream)
        wanted = np.dtype(dtype)
        fits = found[::2] == (shape, wanted) and (len(shape) < 2 or not found[1])
        fits = fits and len(content) == stream.tell() + math.prod(shape) * wanted.itemsize
        require(fits, f"{name} must be of type {wanted} and of shape {shape}, found {found[2]} and {found[0]}")
        array = np.frombuffer(content, wanted, offset=stream.tell()).reshape(shape).copy()
        require(not finite or bool(np.isfinite(array).all()), f"{name} has numbers that are not finite")
        return array


@contextmanager
def open_arrays(file: Path, kind: str, version: int, newest: int | None = None) -> Iterator[Arrays]:
    """Open a file that `write_arrays` wrote; within this context every error names it."""
    with naming(file, Exception), file.open("rb") as stream:
        require(zipfile.is_zipfile(stream), f"not a {kind}, or a part of one")
        with zipfile.ZipFile(stream) as archive:
            require(_RECORD in archive.namelist(), f"not a {kind}, or of an earlier version of fwlasso: make it again")
            members = archive.infolist()
            is_plain = all(member.compress_type == zipfile.ZIP_STORED for member in members)
            n_bytes = sum(member.file_size for member in members)
            fits = is_plain and n_bytes <= os.fstat(stream.fileno()).st_size
            require(fits, f"not a {kind}: its {n_bytes:,} bytes are packed, or more than the file has")
            yield Arrays(archive, unseal(archive.read(_RECORD), kind, version, newest))


def check_supports(indptr: NDArray[np.int64], columns: NDArray[np.int64], p: int) -> None:
    """Raise a ValueError unless these are the columns of X with a coefficient, of p, in order for every point."""
    falls = indptr[1:] < indptr[:-1]  # no differences, which can overflow
    fits = indptr.size > 0 and indptr[0] == 0 and indptr[-1] == columns.size and not falls.any()
    require(bool(fits), "the supports of its points are inconsistent")
    inside = columns.size == 0 or 0 <= columns.min() <= columns.max() < p
    require(bool(inside), f"a column is outside 0..{p - 1}")
    rises = np.append(True, columns[1:] > columns[:-1])[: columns.size]
    rises[indptr[:-1][indptr[:-1] < columns.size]] = True
    require(bool(rises.all()), "the columns of a point are not in order")


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a number that a float can be."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def is_variant(known: Sequence[Any]) -> bool:
    """Tell whether values of JSON are those of a `Variant`; files of earlier versions have no mean."""
    *kinds, mean = *map(type, known[:4]), known[4] if len(known) == 5 else None
    return kinds == [str, int, str, str] and len(known) <= 5 and (mean is None or is_number(mean))


def require(holds: bool, what: str) -> None:
    """Raise a ValueError that tells what is wrong, unless something holds."""
    if not holds:
        raise ValueError(what)


def _digest(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")

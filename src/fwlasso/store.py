"""The store: a folder of plain arrays that is mapped into memory, so that data may be larger than memory.

A folder holds ``manifest.json`` and ``.npy`` files: ``X`` in column-major order, or ``data``, ``indices`` and
``indptr`` of a CSC matrix, and ``y``. Names of features are a JSON list in ``feature_names.json``. The manifest tells
shape, type, size and SHA-256 of every file. Nothing is ever unpickled, and nothing outside the folder is opened.
`fwlasso.datasets.write_store` and `convert` make stores.
"""

import errno
import hashlib
import json
import math
import mmap
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .parallel import lazy
from .progress import Step, Tell, silent

FORMAT, VERSION = "fwlasso-store", 1
MANIFEST = "manifest.json"
NAMES = "feature_names"  # of the entry in the manifest

_FLOATS, _INDICES = ("<f8", "<f4"), ("<i4", "<i8")
_LARGEST_MANIFEST = 1 << 20  # bytes; a real one has some two thousand
_CHUNK = 1 << 22  # bytes read at a time for a digest


@dataclass(frozen=True)
class Store:
    """A store that is open for reading: its arrays lie in their files.

    Attributes
    ----------
    folder : Path
    X : numpy.memmap in column-major order, or scipy.sparse.csc_array over memory maps; read-only
    y : numpy.memmap of float64
    feature_names : tuple of str or None
        Decoded when it is first asked for.
    target, first_index
        As in a `fwlasso.datasets.Table`.
    """

    folder: Path
    X: Any
    y: NDArray[np.float64]
    _names: NDArray[np.uint8] | None = None
    target: str | None = None
    first_index: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        m, p = self.X.shape
        return m, p

    @lazy
    def feature_names(self) -> tuple[str, ...] | None:
        """Return the names of the features, if there are any."""
        if self._names is None:
            return None
        try:
            names = json.loads(self._names.tobytes())
        except ValueError as error:
            _refuse(self.folder, f"the names of the features are no JSON: {error}")
        if not isinstance(names, list) or len(names) != self.shape[1] or not all(isinstance(n, str) for n in names):
            _refuse(self.folder, f"the names of the features are not {self.shape[1]} texts")
        return tuple(names)


def open_store(folder: str | Path) -> Store:
    """Open a store: its arrays are mapped into memory, none is read.

    Sizes, shapes and types are checked, the content is not: `verify_store` does that.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Store

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso.datasets import open_store, write_store
    >>> with TemporaryDirectory() as place:
    ...     _ = write_store(f"{place}/data", np.eye(3), [1.0, 2.0, 3.0], feature_names=["a", "b", "c"])
    ...     store = open_store(f"{place}/data")
    >>> store.shape, store.feature_names
    ((3, 3), ('a', 'b', 'c'))
    """
    folder = Path(folder)
    # Everything is opened from this folder, whatever its name stands for a moment later: never a mix of two stores.
    place = _open_folder(folder)
    try:
        manifest = read_manifest(folder, place)
        arrays = {name: _map_entry(folder, place, name, entry) for name, entry in manifest["files"].items()}
    finally:
        os.close(place)
    m, p = manifest["shape"]
    if manifest["kind"] == "dense":
        X = arrays["X"]
    else:
        indptr, n_entries = arrays["indptr"], arrays["indices"].size
        if arrays["data"].size != n_entries or indptr[0] != 0 or indptr[-1] != n_entries:
            _refuse(folder, "data, indices and indptr do not fit each other")
        X = sp.csc_array((m, p), dtype=arrays["data"].dtype)
        # The constructor would copy int64 indices to int32.
        X.data, X.indices, X.indptr = arrays["data"], arrays["indices"], indptr
    return Store(folder, X, arrays["y"], arrays.get(NAMES), manifest.get("target"), manifest.get("first_index"))


def verify_store(folder: str | Path, progress: Tell | None = None) -> Store:
    """Open a store and compare every file with the digest that was written with it.

    Parameters
    ----------
    folder : path
    progress : callable, optional
        Called with a `Step`, in bytes.

    Returns
    -------
    Store

    Raises
    ------
    ValueError
        If the store is not as it was written.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso.datasets import verify_store, write_store
    >>> with TemporaryDirectory() as place:
    ...     _ = write_store(f"{place}/data", np.eye(3), [1.0, 2.0, 3.0])
    ...     verify_store(f"{place}/data").shape
    (3, 3)
    """
    store = open_store(folder)
    place = _open_folder(store.folder)
    try:
        files = read_manifest(store.folder, place)["files"]
        total, done = sum(entry["bytes"] for entry in files.values()), 0
        for entry in files.values():
            with _open_file(store.folder, place, entry["file"]) as file:
                found = digest(file, progress or silent, "verifying", done, total)
            if found != entry["sha256"]:
                _refuse(store.folder, f"{entry['file']} was altered: its SHA-256 is not that of the manifest")
            done += entry["bytes"]
    finally:
        os.close(place)
    _ = store.feature_names
    return store


def as_store(X: Any) -> Store | None:
    """Return the store that X is or names, None if it is neither."""
    return open_store(X) if isinstance(X, str | Path) else X if isinstance(X, Store) else None


def written_digests(store: Store) -> dict[str, str]:
    """Return the SHA-256 of every file of a store, as its manifest has them."""
    place = _open_folder(store.folder)
    try:
        files = read_manifest(store.folder, place)["files"]
    finally:
        os.close(place)
    return {name: entry["sha256"] for name, entry in files.items()}


def digest(file: BinaryIO, tell: Tell, what: str, done: int, total: int) -> str:
    """Return the SHA-256 of an open file, telling how far it is."""
    state = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        state.update(chunk)
        done += len(chunk)
        tell(Step(what, done, total))
    return state.hexdigest()


def is_store(folder: Path) -> bool:
    """Tell whether a folder has a manifest."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path, place: int) -> dict[str, Any]:
    """Return the manifest of an open folder, if it is one of ours and of a version that is known."""
    try:
        with _open_file(folder, place, MANIFEST) as file:
            text = file.read(_LARGEST_MANIFEST + 1)
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a store: there is no {MANIFEST}") from None
    try:
        manifest = json.loads(text) if len(text) <= _LARGEST_MANIFEST else None
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder} is not a store: {MANIFEST} is not that of one")
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        _refuse(folder, f"the manifest has no version, but {version!r}")
    if version > VERSION:
        _refuse(folder, f"it was written by a newer version of fwlasso (format {version}, known is {VERSION})")
    _check_manifest(folder, manifest)
    return manifest


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    shape, files = manifest.get("shape"), manifest.get("files")
    if not _is_shape(shape) or len(shape) != 2 or not isinstance(files, dict):  # type: ignore[arg-type]
        _refuse(folder, "the manifest has no shape or no files")
    target, first_index = manifest.get("target"), manifest.get("first_index")
    if not isinstance(target, str | None) or first_index not in (None, 0, 1):
        _refuse(folder, f"the manifest has no target or first index, but {target!r} and {first_index!r}")
    m, p = shape  # type: ignore[misc]
    kinds: dict[str, dict[str, tuple[tuple[str, ...], list[int] | None]]] = {
        "dense": {"X": (_FLOATS, [m, p])},
        "csc": {"data": (_FLOATS, None), "indices": (_INDICES, None), "indptr": (_INDICES, [p + 1])},
    }
    kind = str(manifest.get("kind"))
    if kind not in kinds:
        _refuse(folder, f"kind must be dense or csc, found {kind!r}")
    expected = kinds[kind] | {"y": (("<f8",), [m])}
    if set(files) - {NAMES} != set(expected):
        _refuse(folder, f"the files must be {', '.join(expected)}, found {', '.join(map(str, files))}")
    for name, entry in files.items():
        known = isinstance(entry, dict) and isinstance(entry.get("file"), str)
        if not known or not isinstance(entry.get("bytes"), int) or not isinstance(entry.get("sha256"), str):
            _refuse(folder, f"{name} has no file, size or digest in the manifest")
        if name == NAMES:
            continue
        dtypes, wanted = expected[name]
        if entry.get("dtype") not in dtypes:
            _refuse(folder, f"{name} must be of type {' or '.join(dtypes)}, found {entry.get('dtype')!r}")
        found = entry.get("shape")
        if not _is_shape(found) or (found != wanted if wanted else len(found) != 1):  # type: ignore[arg-type]
            _refuse(folder, f"{name} must be of shape {wanted or '[number of entries]'}, found {found!r}")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)


def _map_entry(folder: Path, place: int, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    """Map a file of the manifest, after a look at its header and its size."""
    file_name, n_bytes = entry["file"], entry["bytes"]
    try:
        file = _open_file(folder, place, file_name)
    except FileNotFoundError:
        _refuse(folder, f"{file_name} is missing")
    with file:
        size = os.fstat(file.fileno()).st_size
        if size != n_bytes:
            _refuse(folder, f"{file_name} has {size} bytes instead of {n_bytes}: it was truncated or altered")
        if name == NAMES:
            return map_file(file, folder / file_name, np.dtype(np.uint8), (n_bytes,), "C", 0)
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        order = "F" if len(shape) == 2 else "C"
        try:
            np.lib.format.read_magic(file)
            found = np.lib.format.read_array_header_1_0(file)
        except ValueError as error:
            _refuse(folder, f"{file_name} is not an array: {error}")
        if found[0] != shape or found[2] != dtype or (found[1] is not (order == "F") and math.prod(shape) > 0):
            _refuse(folder, f"{file_name} is of another shape, order or type than the manifest says")
        offset = file.tell()
        if size != offset + math.prod(shape) * dtype.itemsize:
            _refuse(folder, f"{file_name} has {size} bytes, which does not fit its shape")
        return map_file(file, folder / file_name, dtype, shape, order, offset)


def map_file(
    file: BinaryIO, name: Path, dtype: np.dtype[Any], shape: tuple[int, ...], order: Any, offset: int
) -> NDArray[Any]:
    """Map an array in an open file for reading, and tell the system that it will be read in a row.

    A pass over the data reads columns in order: pages are then read ahead, and those read are the first to go where
    memory is short.
    """
    if math.prod(shape) == 0:  # nothing to map
        return np.empty(shape, dtype, order)
    array = np.memmap(file, dtype=dtype, mode="r", shape=shape, order=order, offset=offset)
    array.filename = str(name)  # type: ignore[attr-defined]  # for processes that map it again, as joblib's do
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        array._mmap.madvise(mmap.MADV_SEQUENTIAL)  # type: ignore[attr-defined]
    return array


def _open_folder(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder}: no such store") from None
    except NotADirectoryError:
        raise ValueError(f"{folder} is not a store, but a file: fwlasso.datasets.read_table reads it") from None


def _open_file(folder: Path, place: int, name: str) -> BinaryIO:
    """Open a plain file of an open folder; no path, no link."""
    if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        _refuse(folder, f"the file {name!r} of the manifest is not in the folder")
    try:
        number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            _refuse(folder, f"{name} is a link")
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        _refuse(folder, f"{name} is not a file")
    return os.fdopen(number, "rb")


def _refuse(folder: Path, why: str) -> NoReturn:
    raise ValueError(f"{folder} is not a valid store: {why}")

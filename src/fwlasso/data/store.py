"""The store: a folder of plain arrays that is mapped into memory, so that data may be larger than memory.

A folder holds ``manifest.json`` and ``.npy`` files: ``X`` in column-major order, or ``data``, ``indices`` and
``indptr`` of a CSC matrix, ``y``, ``sample_weight`` and ``offset`` if there are any, and ``means`` of the columns where
they stand for missing values. Names of features are a JSON list in ``feature_names.json``. The manifest tells the
shape, and size and SHA-256 of every file. Nothing is ever unpickled.
`fwlasso.datasets.write_store` and `convert` make stores.
"""

import hashlib
import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.threads import lazy
from .checks import check_in_memory, from_capsule
from .frames import frame_names
from .progress import ProgressCallback, Step, telling
from .table import BESIDE_Y, Table, described

FORMAT, VERSION = "fwlasso-store", 2
MANIFEST = "manifest.json"
NAMES, MEANS = "feature_names", "means"  # of the entries in the manifest that need not be there

_FLOATS, _INDICES = ("<f8", "<f4"), ("<i4", "<i8")
_DENSE, _SPARSE = {"X", "y"}, {"data", "indices", "indptr", "y"}
_TRIES = 5  # to open a store that others replace
_LARGEST_MANIFEST = 1 << 20  # bytes; a real one has some thousand
_CHUNK = 1 << 22  # bytes read at a time for a digest


@dataclass(frozen=True, repr=False)
class Store:
    """A store that is open for reading: its arrays lie in their files.

    Attributes
    ----------
    folder : Path
    X : numpy.memmap in column-major order, or scipy.sparse.csc_array over memory maps; read-only
    y : numpy.memmap of float64
    sample_weight, offset : likewise, or None
    feature_names : tuple of str or None
        Decoded when it is first asked for.
    target, first_index, means
        As in a `fwlasso.datasets.Table`.
    digests : dict
        The SHA-256 that was written with every array and the names.
    """

    folder: Path
    X: Any
    y: NDArray[np.float64]
    _names: NDArray[np.uint8] | None
    target: str | None
    first_index: int | None
    digests: dict[str, str]
    means: NDArray[np.float64] | None = None
    sample_weight: NDArray[np.float64] | None = None
    offset: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"<Store: {self.folder}, X of shape {self.shape}{described(None, self.target)}>"

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
        except (ValueError, RecursionError) as error:
            _refuse(self.folder, f"the names of the features are not JSON: {error}")
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
    >>> with TemporaryDirectory() as folder:
    ...     _ = write_store(f"{folder}/data", np.eye(3), [1.0, 2.0, 3.0], feature_names=["a", "b", "c"])
    ...     store = open_store(f"{folder}/data")
    >>> store.shape, store.feature_names
    ((3, 3), ('a', 'b', 'c'))
    """
    folder = Path(folder)
    for _ in range(_TRIES):
        manifest = read_manifest(folder)
        try:
            store = _map_store(folder, manifest)
        except (ValueError, FileNotFoundError):
            if read_manifest(folder) == manifest:
                raise
            continue
        if read_manifest(folder) == manifest:  # else it was replaced meanwhile: never a mix of two stores
            return store
    raise ValueError(f"{folder} was replaced repeatedly while it was being opened")


def verify_store(folder: str | Path, progress: ProgressCallback | None = None) -> Store:
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
    >>> with TemporaryDirectory() as folder:
    ...     _ = write_store(f"{folder}/data", np.eye(3), [1.0, 2.0, 3.0])
    ...     verify_store(f"{folder}/data").shape
    (3, 3)
    """
    store = open_store(folder)
    files = {name: store.folder / file_name(name) for name in store.digests}
    for name, found in digests_of(files, telling(progress), "verifying").items():
        if found != store.digests[name]:
            _refuse(store.folder, f"{files[name].name} was altered: its SHA-256 is not that of the manifest")
    _ = store.feature_names
    return store


def as_container(X: Any) -> Store | Table | None:
    """Return the store or the table that X is or names; None if X is a matrix by itself.

    What gives its numbers by a protocol alone, Arrow's or DLPack's, is read, and is a table without a response.
    """
    container = open_store(X) if isinstance(X, str | Path) else X if isinstance(X, Store | Table) else None
    check_in_memory("X", X if container is None else container.X)
    if hasattr(X, "__arrow_c_stream__") and frame_names(X) is None:
        import pyarrow

        return Table(pyarrow.table(X), None)  # type: ignore[arg-type]
    values = from_capsule("X", X)
    return container if values is X else Table(values, None)  # type: ignore[arg-type]


def file_name(name: str) -> str:
    """Return the file of an array, or of the names."""
    return f"{name}.json" if name == NAMES else f"{name}.npy"


def digests_of(files: dict[str, Path], tell: ProgressCallback, what: str) -> dict[str, str]:
    """Return the SHA-256 of files, telling how far it is."""
    found, done, total = {}, 0, sum(file.stat().st_size for file in files.values())
    for name, file in files.items():
        state = hashlib.sha256()
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                state.update(chunk)
                done += len(chunk)
                tell(Step(what, done, total))
        found[name] = state.hexdigest()
    return found


def is_store(folder: Path) -> bool:
    """Tell whether a folder has a manifest."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, if it is one of ours and of a version that is known."""
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: no such store")
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a store, but a file: fwlasso.datasets.read_table reads it")
    if not is_store(folder):
        raise ValueError(f"{folder} is not a store: there is no {MANIFEST}")
    with (folder / MANIFEST).open("rb") as file:
        text = file.read(_LARGEST_MANIFEST + 1)
    try:
        manifest = json.loads(text) if len(text) <= _LARGEST_MANIFEST else None
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder} is not a store: {MANIFEST} is not the manifest of one")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        _refuse(folder, f"the manifest has no valid version, but {version!r}")
    if version > VERSION:
        _refuse(folder, f"it was written by a newer version of fwlasso (format {version}; this one reads {VERSION})")
    _check_manifest(folder, manifest)
    return manifest


def _check_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    shape, files = manifest.get("shape"), manifest.get("files")
    valid = {
        "shape": isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape),
        "target": isinstance(manifest.get("target"), str | None),
        "first_index": manifest.get("first_index") in (None, 0, 1),
        "files": isinstance(files, dict) and set(files) - {NAMES, MEANS, *BESIDE_Y} in (_DENSE, _SPARSE),
    }
    for name, is_valid in valid.items():
        if not is_valid:
            _refuse(folder, f"{name} of the manifest cannot be {manifest.get(name)!r:.80}")
    for name, entry in manifest["files"].items():
        if not isinstance(entry, dict) or type(entry.get("bytes")) is not int or type(entry.get("sha256")) is not str:
            _refuse(folder, f"{name} has no size or digest in the manifest")


def _map_store(folder: Path, manifest: dict[str, Any]) -> Store:
    """Map the files that a manifest tells of, and see that they fit it and each other."""
    m, p = manifest["shape"]
    expected: dict[str, tuple[tuple[str, ...], tuple[int, ...] | None]] = {
        "X": (_FLOATS, (m, p)),
        "y": (("<f8",), (m,)),
        "data": (_FLOATS, None),
        "indices": (_INDICES, None),
        "indptr": (_INDICES, (p + 1,)),
        MEANS: (("<f8",), (p,)),
        **dict.fromkeys(BESIDE_Y, (("<f8",), (m,))),
    }
    files = manifest["files"]
    arrays = {name: _map_file(folder, name, entry["bytes"]) for name, entry in files.items()}
    names = arrays.pop(NAMES, None)
    for name, array in arrays.items():
        dtypes, shape = expected[name]
        fits = array.shape == shape or (shape is None and array.ndim == 1)
        if array.dtype.str not in dtypes or not fits or not array.flags.f_contiguous:
            found = f"{array.dtype}, {array.shape}"
            _refuse(folder, f"{file_name(name)} is of another shape, order or type than that of the store: {found}")
    X: Any = arrays.get("X")
    if X is None:
        indptr, n_entries = arrays["indptr"], arrays["indices"].size
        if arrays["data"].size != n_entries or indptr[0] != 0 or indptr[-1] != n_entries:
            _refuse(folder, "data.npy, indices.npy and indptr.npy are inconsistent")
        X = sp.csc_array((m, p), dtype=arrays["data"].dtype)
        # The constructor would copy int64 indices to int32.
        X.data, X.indices, X.indptr = arrays["data"], arrays["indices"], indptr
    digests = {name: entry["sha256"] for name, entry in files.items()}
    known = {name: manifest.get(name) for name in ("target", "first_index")}
    there: Any = {name: arrays.get(name) for name in (MEANS, *BESIDE_Y)}
    return Store(folder, X, arrays["y"], names, digests=digests, **there, **known)


def _map_file(folder: Path, name: str, n_bytes: int) -> NDArray[Any]:
    """Map a file for reading, and tell the system that it will be read in a row.

    A pass over the data reads columns in order: pages are then read ahead, and those read are the first to go where
    memory is short.
    """
    file = folder / file_name(name)
    if not file.is_file():
        _refuse(folder, f"{file.name} is {'not a file' if file.exists() else 'missing'}")
    size = file.stat().st_size
    if size != n_bytes:
        _refuse(folder, f"{file.name} has {size} bytes instead of {n_bytes}: it was truncated or altered")
    try:
        with np.errstate(over="ignore"):  # a header can claim any shape
            array = np.memmap(file, np.uint8, "r") if name == NAMES else np.lib.format.open_memmap(file, mode="r")
    except (ValueError, TypeError, OverflowError) as error:
        _refuse(folder, f"{file.name} is not an array: {error}")
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        array._mmap.madvise(mmap.MADV_SEQUENTIAL)  # type: ignore[union-attr]
    return array


def _refuse(folder: Path, why: str) -> NoReturn:
    raise ValueError(f"{folder} is not a valid store: {why}")

"""Writing stores."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.checks import as_offset, as_response, as_weights
from ..data.files import replacing_folder, sync
from ..data.progress import ProgressCallback, telling
from ..data.store import FORMAT, MANIFEST, MEANS, NAMES, VERSION, Store, digests_of, file_name, is_store, open_store
from .fill import Selection, fill
from .source import Source, from_matrix


def write_store(
    folder: str | Path,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    feature_names: Sequence[str] | None = None,
    dtype: Any = None,
    progress: ProgressCallback | None = None,
) -> Store:
    """Write a matrix and a response to a store.

    The folder appears when it is complete, in one step. An existing store is removed a moment earlier. Of two writers
    the second is refused.

    Parameters
    ----------
    folder : path
    X : array, scipy sparse matrix or array, pandas, polars or pyarrow table, of shape (m, p)
        Dense stays dense, sparse stays sparse; its entries are in order, as after ``X.sum_duplicates()``. Arrays and
        sparse matrices are read block by block, so are memory maps, and arrays of dask, zarr, h5py and xarray, which
        paths refuse: their numbers need not fit into memory.
    y : array of shape (m,)
    sample_weight, offset : array of shape (m,), optional
        Paths on the store use them as they use y.
    feature_names : sequence of str, optional
        By default the names of a frame, else none.
    dtype : float64 or float32, optional
        By default that of X, and float64 for integers.
    progress : callable, optional
        Called with a `Step` after every block.

    Returns
    -------
    Store

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso.datasets import write_store
    >>> with TemporaryDirectory() as folder:
    ...     store = write_store(f"{folder}/data", np.eye(3), [1.0, 2.0, 3.0])
    >>> store.X.dtype, store.y.tolist()
    (dtype('float64'), [1.0, 2.0, 3.0])
    """
    folder = require_free(folder)
    source = from_matrix(X, y, None if feature_names is None else tuple(feature_names))
    source = source._replace(sample_weight=sample_weight, offset=offset)
    with replacing_folder(folder) as draft:
        build(draft, source, Selection(), dtype, telling(progress))
    return open_store(folder)


def require_free(folder: str | Path) -> Path:
    """Return where a store is to be written: nothing, an empty folder, or a store. Anything else is left alone."""
    folder = Path(folder)
    if folder.is_dir() and not is_store(folder) and any(folder.iterdir()):
        raise ValueError(f"folder: {folder} is neither a store nor empty; it is left unchanged")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder: {folder} is a file")
    return folder


def build(folder: Path, source: Source, selection: Selection, dtype: Any, tell: ProgressCallback) -> None:
    """Write a store to an empty folder."""
    m, p = selection.shape(source)
    by_sample = {"y": as_response(source.y, source.shape[0])}
    if source.sample_weight is not None and (weights := as_weights(source.sample_weight, source.shape[0])) is not None:
        by_sample["sample_weight"] = weights
    if source.offset is not None:
        by_sample["offset"] = as_offset(source.offset, source.shape[0])
    names = source.feature_names
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names must be texts")
    if names is not None and len(names) != source.shape[1]:
        raise ValueError(f"feature_names: there are {len(names)} for {source.shape[1]} columns")
    if m == 0 or p == 0:
        raise ValueError(f"X has {m} rows and {p} columns: both must be at least 1")
    maps: list[np.memmap[Any, Any]] = []

    def allocate(name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        maps.append(create_array(folder / f"{name}.npy", dtype, shape))
        return np.asarray(maps[-1])

    arrays = fill(source, selection, as_float_type(dtype) or source.dtype, allocate, tell)
    for name, values in by_sample.items():
        arrays[name] = allocate(name, np.float64, (m,))
        arrays[name][:] = values if selection.rows is None else values[selection.rows]
    if source.means is not None:
        arrays[MEANS] = allocate(MEANS, np.float64, (p,))
        arrays[MEANS][:] = source.means if selection.columns is None else source.means[selection.columns]
    for array in maps:
        array.flush()
    files = list(arrays)
    first_index = source.first_index
    if first_index is not None and selection.columns is not None:  # columns are no longer where their indices say
        names, first_index = tuple(str(j + first_index) for j in range(source.shape[1])), None
    if names is not None:
        chosen = names if selection.columns is None else [names[j] for j in selection.columns]
        (folder / file_name(NAMES)).write_text(json.dumps(chosen), encoding="utf-8")
        files.append(NAMES)
    _seal(folder, {"shape": [m, p], "target": source.target, "first_index": first_index}, files, tell)


def create_array(file: Path, dtype: Any, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Make a ``.npy`` file of zeros in column-major order, and map it for writing.

    Its space on the disk is taken at once: a full disk is an error here, and not a signal while pages are written.
    """
    dtype = np.dtype(dtype).newbyteorder("<")
    file.unlink(missing_ok=True)  # a map of the file that was here stays valid
    array = np.lib.format.open_memmap(file, "w+", dtype, shape, fortran_order=len(shape) == 2)
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as stream:
            try:
                os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)
            except OSError as error:
                free = shutil.disk_usage(file.parent).free
                why = f"{error.strerror}: an array takes {array.nbytes:,} bytes, {free:,} are free"
                raise OSError(error.errno, why) from error
    return array


def as_float_type(dtype: Any) -> np.dtype[Any] | None:
    """Return float64, float32 or None, or raise a ValueError that names dtype."""
    if dtype is None:
        return None
    try:
        chosen: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        chosen = np.dtype(object)
    if chosen not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    return chosen


def _seal(folder: Path, about: dict[str, Any], names: list[str], tell: ProgressCallback) -> None:
    """Write the manifest, with sizes and digests, and wait until everything is on the disk."""
    files = {name: folder / file_name(name) for name in names}
    digests = digests_of(files, tell, "checksums")
    entries = {name: {"bytes": file.stat().st_size, "sha256": digests[name]} for name, file in files.items()}
    for file in files.values():
        sync(file)
    manifest = {"format": FORMAT, "version": VERSION, **about, "files": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    sync(folder / MANIFEST)

"""Matrices in binary files, read whole or block by block: npy, npz and AnnData's h5ad."""

import itertools
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.progress import Step
from ..data.table import Table
from .arrow_files import Wanted
from .optional import optional
from .source import Desk, Rectangle, Source, float_type, from_compressed, from_coordinates, from_matrix

#: The file of the response beside a matrix.
BESIDE = "y.npy"
_COMPRESSED = {"csr": True, "csc": False}  # whether by rows


def response_beside(file: Path, wanted: Wanted) -> Any:
    """Return the response in another file of the folder, ``y.npy`` by default; None if none is asked for."""
    if wanted.target is None and not wanted.needs_response:
        return None
    beside = file.parent / (wanted.target or BESIDE)
    if not beside.is_file():
        raise FileNotFoundError(f"{beside}: no such file; it should hold the response for {file.name}")
    try:
        if beside.suffix == ".txt":
            return np.loadtxt(beside, ndmin=1)
        with beside.open("rb") as stream:
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    except ValueError as error:
        raise ValueError(
            f"{beside}, the response for {file}: {error}; expected "
            "an array in a .npy file, or a number a line in a .txt"
        ) from None


def read_npy(file: Path, wanted: Wanted) -> Table:
    """Map an array, with the response beside it."""
    X = np.load(file, mmap_mode="r", allow_pickle=False)
    return Table(X, response_beside(file, wanted), target=wanted.target or BESIDE)


def read_npz(file: Path, wanted: Wanted) -> Table:
    """Read arrays X and y, or a matrix of scipy's save_npz with the response beside it."""
    if not zipfile.is_zipfile(file):  # numpy leaves such a file open
        raise ValueError(f"{file}: not an npz file")
    target = wanted.target or "y"
    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            if target not in arrays and (wanted.needs_response or wanted.target is not None):
                raise ValueError(f"{file}: there is no array {target!r}")
            return Table(arrays["X"], arrays.get(target), target=target)
        is_sparse = "format" in arrays
    if not is_sparse:
        raise ValueError(f"{file}: expected arrays X and y, or a matrix written by scipy.sparse.save_npz")
    y = response_beside(file, wanted)
    return Table(sp.load_npz(file), y, target=wanted.target or BESIDE)


def open_npz(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return what `read_npz` reads as a source. The members are unpacked to files: an npz cannot be mapped."""
    scratch, target = desk.scratch, wanted.target or "y"
    if scratch is None or not zipfile.is_zipfile(file):
        return from_table(read_npz(file, wanted))
    with zipfile.ZipFile(file) as archive:
        members = {name.removesuffix(".npy") for name in archive.namelist()}

        def unpack(name: str) -> NDArray[Any]:
            path = scratch / f"{name}.npy"
            with archive.open(f"{name}.npy") as packed, path.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 22)
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))

        def unpack_all(*names: str) -> Iterator[NDArray[Any]]:
            sizes = [archive.getinfo(f"{name}.npy").compress_size for name in names]
            for name, done in zip(names, itertools.accumulate(sizes), strict=True):
                yield unpack(name)
                desk.tell(Step(f"reading {file.name}", done, sum(sizes)))

        if {"X", target} <= members:
            X, y = unpack_all("X", target)
            return from_matrix(X, y)._replace(target=target)
        kind = unpack("format").item() if "format" in members else None
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind in _COMPRESSED:
            data, indices, indptr, shape = unpack_all("data", "indices", "indptr", "shape")
            matrix = from_compressed(data, indices, indptr, by_rows=_COMPRESSED[kind])
        elif kind == "coo" and "row" in members:
            rows, columns, data, shape = unpack_all("row", "col", "data", "shape")
            matrix = from_coordinates(rows, columns, data)
        else:
            return from_table(read_npz(file, wanted))
    m, p = shape.tolist()
    y = response_beside(file, wanted)
    return Source((m, p), float_type(data.dtype), matrix, y, target=wanted.target or BESIDE)


def from_table(table: Table) -> Source:
    """Return a table as a source."""
    source = from_matrix(table.X, None if table.y is None else np.asarray(table.y), table.feature_names)
    return source._replace(target=table.target, first_index=table.first_index)


def open_h5ad(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return the X of an AnnData file, with a column of obs as response and the names of var and obs."""
    group = desk.stack.enter_context(optional("h5py", ".h5ad").File(file, "r"))
    missing = [part for part in ("X", "obs", "var") if part not in group]
    if missing:
        raise ValueError(f"{file}: not an AnnData file, there is no {missing[0]}")
    X, y = group["X"], _response(file, group["obs"], wanted)
    features, samples = (_names(group[part]) for part in ("var", "obs"))
    if hasattr(X, "dtype"):
        shape, dtype = X.shape, _real(file, X.dtype)
        return Source(shape, dtype, Rectangle(X, by_rows=True), y, features, samples, wanted.target)
    kind = str(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format", ""))).removesuffix("_matrix")
    if kind not in _COMPRESSED:
        raise ValueError(f"{file}: X must be an array, csr or csc, found {kind!r}")
    m, p = map(int, X.attrs["shape"] if "shape" in X.attrs else X.attrs["h5sparse_shape"])
    matrix = from_compressed(X["data"], X["indices"], X["indptr"][:], by_rows=_COMPRESSED[kind])
    return Source((m, p), _real(file, X["data"].dtype), matrix, y, features, samples, wanted.target)


def _response(file: Path, obs: Any, wanted: Wanted) -> NDArray[Any] | None:
    if wanted.target is None and not wanted.needs_response:
        return None
    numeric = [name for name in obs if hasattr(obs[name], "dtype") and obs[name].dtype.kind in "biuf"]
    if wanted.target not in numeric:
        there = ", ".join(numeric[:10]) or "none"
        raise ValueError(
            f"{file}: target must be a column of obs with numbers, got {wanted.target!r}; there are {there}"
        )
    return np.asarray(obs[wanted.target][:])


def _real(file: Path, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in "biuf":
        raise ValueError(f"{file}: X must have real numbers, found {dtype}")
    return float_type(dtype)


def _names(frame: Any) -> tuple[str, ...] | None:
    """Return the index of a frame in an AnnData file, if it is one of texts."""
    index = frame.get(frame.attrs.get("_index", "_index"))
    if not hasattr(index, "dtype") or index.dtype.kind not in "OS":
        return None
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in index[:])

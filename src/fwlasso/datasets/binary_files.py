"""Matrices in binary files, read block by block: npy, npz and AnnData's h5ad."""

import itertools
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..progress import Step, Tell
from .source import Rectangle, Source, float_type, from_compressed, from_coordinates, from_matrix

_COMPRESSED = {"csr": True, "csc": False}  # whether by rows


def open_npz(file: Path, target: str | None, scratch: Path, tell: Tell) -> Source | None:
    """Return arrays X and y, or a matrix of scipy's save_npz without a response; None if it is of another kind.

    The members are unpacked to files: an npz cannot be mapped.
    """
    with zipfile.ZipFile(file) as archive:
        members = set(archive.namelist())

        def unpack(name: str) -> NDArray[Any]:
            path = scratch / f"{name}.npy"
            with archive.open(f"{name}.npy") as packed, path.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 22)
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))

        def unpack_all(*names: str) -> Iterator[NDArray[Any]]:
            sizes = [archive.getinfo(f"{name}.npy").compress_size for name in names]
            for name, done in zip(names, itertools.accumulate(sizes), strict=True):
                yield unpack(name)
                tell(Step(f"reading {file.name}", done, sum(sizes)))

        if "X.npy" in members:
            if f"{target or 'y'}.npy" not in members:
                raise ValueError(f"{file}: there is no array {target or 'y'!r}")
            X, y = unpack_all("X", target or "y")
            return from_matrix(X, y)._replace(target=target or "y")
        if "format.npy" not in members:
            raise ValueError(f"{file}: expected arrays X and y, or a matrix written by scipy.sparse.save_npz")
        kind = unpack("format").item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if kind in _COMPRESSED:
            data, indices, indptr, shape = unpack_all("data", "indices", "indptr", "shape")
            matrix = from_compressed(data, indices, indptr, by_rows=_COMPRESSED[kind])
        elif kind == "coo" and "row.npy" in members:
            rows, columns, data, shape = unpack_all("row", "col", "data", "shape")
            matrix = from_coordinates(rows, columns, data)
        else:
            return None
        m, p = shape.tolist()
        return Source((m, p), float_type(data.dtype), matrix)


def open_h5ad(file: Path, group: Any, target: str | None) -> Source:
    """Return the X of an AnnData file that is open, with a column of obs as response and the names of var and obs."""
    missing = [part for part in ("X", "obs", "var") if part not in group]
    if missing:
        raise ValueError(f"{file}: not an AnnData file, there is no {missing[0]}")
    obs = group["obs"]
    numeric = [name for name in obs if hasattr(obs[name], "dtype") and obs[name].dtype.kind in "biuf"]
    if target not in numeric:
        there = ", ".join(numeric[:10]) or "none"
        raise ValueError(f"{file}: target must be a column of obs with numbers, got {target!r}; there are {there}")
    X = group["X"]
    feature_names, sample_names = (_names(group[part]) for part in ("var", "obs"))
    if hasattr(X, "dtype"):
        m, p = X.shape
        return Source(
            (m, p),
            _real(file, X.dtype),
            Rectangle(X, by_rows=True),
            obs[target][:],
            feature_names,
            sample_names,
            target,
        )
    kind = str(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format", ""))).removesuffix("_matrix")
    if kind not in _COMPRESSED:
        raise ValueError(f"{file}: X must be an array, csr or csc, found {kind!r}")
    m, p = map(int, X.attrs["shape"] if "shape" in X.attrs else X.attrs["h5sparse_shape"])
    matrix = from_compressed(X["data"], X["indices"], X["indptr"][:], by_rows=_COMPRESSED[kind])
    return Source((m, p), _real(file, X["data"].dtype), matrix, obs[target][:], feature_names, sample_names, target)


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

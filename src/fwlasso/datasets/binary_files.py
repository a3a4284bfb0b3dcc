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

from ..data.progress import Step, silent
from ..data.table import Table
from .optional import optional
from .source import Desk, EntryBlocks, Rectangle, Source, Wanted, float_type, from_compressed

#: The file of the response beside a matrix.
BESIDE = "y.npy"
_COMPRESSED = {"csr": True, "csc": False}  # whether by rows


def response_beside(file: Path, wanted: Wanted) -> Any:
    """Return the response in another file of the folder, ``y.npy`` by default; None if none is asked for."""
    if not wanted.response:
        return None
    beside = file.parent / (wanted.target or BESIDE)
    return _read_beside(beside, file, "the response")


def read_beside(file: Path, wanted: Wanted, found: Source | Table) -> Any:
    """Return what a file holds, with the weights and the offset that are asked for and lie in files beside it."""
    left = {role: name for role, name in wanted.beside.items() if getattr(found, role) is None}
    words = {"sample_weight": "the weights", "offset": "the offset"}
    read: Any = {role: _read_beside(file.parent / name, file, words[role]) for role, name in left.items()}
    return found._replace(**read)


def _read_beside(beside: Path, file: Path, what: str) -> NDArray[Any]:
    if not beside.is_file():
        raise FileNotFoundError(f"{beside}: no such file; it should hold {what} for {file.name}")
    return numbers_in(beside, file, what, is_text=beside.suffix == ".txt")


def numbers_in(beside: Path, file: Path, what: str = "the response", *, is_text: bool) -> NDArray[Any]:
    """Return the response for a file, or numbers beside it: an array, or numbers in text."""
    try:
        if is_text:
            return np.loadtxt(beside, ndmin=1)
        with beside.open("rb") as stream:
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    except ValueError as error:
        raise ValueError(
            f"{beside}, {what} for {file}: {error}; expected an array in a .npy file, or one number per line in a .txt"
        ) from None


def open_npy(file: Path, wanted: Wanted, _desk: Desk) -> Table:
    """Map an array, with the response beside it."""
    X = np.load(file, mmap_mode="r", allow_pickle=False)
    return Table(X, response_beside(file, wanted), target=wanted.target or BESIDE)


def open_npz(file: Path, wanted: Wanted, desk: Desk) -> Table:
    """Return arrays X and y, or a matrix of scipy's save_npz with the response beside it.

    An npz cannot be mapped: where there is a place for it, the arrays are unpacked to files that are.
    """
    if not zipfile.is_zipfile(file):
        raise ValueError(f"{file}: not an npz file")
    target = wanted.target or "y"
    with zipfile.ZipFile(file) as archive:
        there = {name.removesuffix(".npy") for name in archive.namelist()}
        if "X" in there:
            if wanted.response and target not in there:
                raise ValueError(f"{file}: there is no array {target!r}")
            roles = {"X": "X", "y": target, **wanted.beside}
            roles = {role: name for role, name in roles.items() if name in there}
            by_role: dict[str, Any] = dict(zip(roles, _unpack(file, archive, [*roles.values()], desk), strict=True))
            return Table(**{"y": None, **by_role}, target=target)
        if "format" not in there:
            raise ValueError(f"{file}: expected arrays X and y, or a matrix written by scipy.sparse.save_npz")
        [kind] = _unpack(file, archive, ["format"], desk._replace(tell=silent))
        name = kind.item().decode() if kind.dtype.kind == "S" else str(kind)
        if desk.scratch is None or name not in _COMPRESSED:
            X = sp.load_npz(file)
        else:
            data, indices, indptr, shape = _unpack(file, archive, ["data", "indices", "indptr", "shape"], desk)
            X = (sp.csr_array if _COMPRESSED[name] else sp.csc_array)(tuple(shape.tolist()), dtype=data.dtype)
            X.data, X.indices, X.indptr = data, indices, indptr  # the constructor would copy int64 indices to int32
    return Table(X, response_beside(file, wanted), target=wanted.target or BESIDE)


def _unpack(file: Path, archive: zipfile.ZipFile, names: list[str], desk: Desk) -> Iterator[NDArray[Any]]:
    sizes = [archive.getinfo(f"{name}.npy").compress_size for name in names]
    for name, done in zip(names, itertools.accumulate(sizes), strict=True):
        with archive.open(f"{name}.npy") as packed:
            if desk.scratch is None:
                yield np.asarray(np.lib.format.read_array(packed, allow_pickle=False))
            else:
                path = desk.scratch / f"{name}.npy"
                with path.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked, 1 << 22)
                yield np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        desk.tell(Step(f"reading {file.name}", done, sum(sizes)))


def open_h5ad(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return the X of an AnnData file, with a column of obs as response and the names of var and obs."""
    group = desk.stack.enter_context(optional("h5py", ".h5ad").File(file, "r"))
    missing = [part for part in ("X", "obs", "var") if part not in group]
    if missing:
        raise ValueError(f"{file}: not an AnnData file, there is no {missing[0]}")
    X = group["X"]
    named = ({"y": wanted.target} if wanted.response else {}) | wanted.beside
    by_sample: Any = {role: _column(file, group["obs"], role, name) for role, name in named.items()}
    features, samples = (_names(group[part]) for part in ("var", "obs"))
    if hasattr(X, "dtype"):
        shape, numbers = X.shape, X
        matrix: Rectangle | EntryBlocks = Rectangle(X, by_rows=True)
    else:
        kind = str(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format", ""))).removesuffix("_matrix")
        if kind not in _COMPRESSED:
            raise ValueError(f"{file}: X must be an array, csr or csc, found {kind!r}")
        m, p = map(int, X.attrs["shape"] if "shape" in X.attrs else X.attrs["h5sparse_shape"])
        shape, numbers = (m, p), X["data"]
        matrix = from_compressed(numbers, X["indices"], X["indptr"][:], by_rows=_COMPRESSED[kind])
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"{file}: X must have real numbers, found {numbers.dtype}")
    source = Source(shape, float_type(numbers.dtype), matrix, target=wanted.target, **by_sample)
    return source._replace(feature_names=features, sample_names=samples)


def _column(file: Path, obs: Any, role: str, name: str | None) -> NDArray[Any]:
    numeric = [name for name in obs if hasattr(obs[name], "dtype") and obs[name].dtype.kind in "biuf"]
    if name not in numeric:
        there, asked = ", ".join(numeric[:10]) or "none", {"y": "target", "sample_weight": "weights"}.get(role, role)
        raise ValueError(f"{file}: {asked} must be a column of obs with numbers, got {name!r}; known are {there}")
    return np.asarray(obs[name][:])


def _names(frame: Any) -> tuple[str, ...] | None:
    """Return the index of a frame in an AnnData file, if it is one of texts."""
    index = frame.get(frame.attrs.get("_index", "_index"))
    if not hasattr(index, "dtype") or index.dtype.kind not in "OS":
        return None
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in index[:])

"""Reading a table from a store, or from a file whose kind is told by the ending of its name."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..store import open_store
from .arrow_files import read_csv, read_parquet


class Table(NamedTuple):
    """A design matrix, a response and, where the file has them, the names of the features."""

    X: Any
    y: NDArray[np.float64]
    feature_names: tuple[str, ...] | None = None


def read_table(file: str | Path, target: str | None = None) -> Table:
    r"""Read a design matrix and a response.

    Parameters
    ----------
    file : path
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``, also with ``.gz`` or ``.bz2`` behind: LIBSVM text.
        ``.npz``: arrays X and y, or a matrix of `scipy.sparse.save_npz` with y beside it in ``y.npy``.
        ``.npy``: an array X, with y beside it in ``y.npy``.
        ``.csv``, ``.parquet``: a table with names in its first row; the response is the column `target`.
        ``.mtx``: Matrix Market text, with y beside it in ``y.npy``. ``.h5ad``: AnnData, its X and a column of obs.
        A folder: a store, which is mapped into memory and not read.
    target : str, optional
        For csv and parquet, the column of the response; the last one by default. For h5ad, the column of obs. For
        npz, npy and mtx, the file of the response, ``y.npy`` in the same folder by default.

    Returns
    -------
    Table

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.csv")
    ...     _ = file.write_text("age,dose,effect\n1,2,3\n4,5,6\n")
    ...     table = read_table(file, target="effect")
    >>> table.feature_names, table.y
    (('age', 'dose'), array([3., 6.]))
    """
    file = Path(file)
    if file.is_dir():
        store = open_store(file)
        if target is not None:
            raise ValueError(f"target: {file} is a store, which has its response")
        return Table(store.X, store.y, store.feature_names)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    reader = _READERS[ending_of(file)]
    with _naming(file):
        return reader(file, target)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Let every error of a file that cannot be read name the file."""
    try:
        yield
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if str(file) in str(error) or isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{file}: {error}") from error


def ending_of(file: Path) -> str:
    """Return the ending of a file's name that tells its kind, or raise a ValueError that lists those known."""
    name = Path(file.name.lower())
    packed = name.suffix in (".gz", ".bz2")
    ending = Path(name.stem).suffix if packed else name.suffix
    if ending not in _READERS or (packed and _READERS[ending] not in (_read_libsvm, _read_source)):
        raise ValueError(f"{file}: the ending of the name must be one of {', '.join(_READERS)}")
    return ending


def _read_libsvm(file: Path, target: str | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    if target is not None:
        raise ValueError(f"{file}: LIBSVM files have their target in the first place of every line, not by name")
    try:
        with _open(file) as stream:
            X, y = load_svmlight_file(stream, dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise ValueError(_locate_libsvm_error(file) or f"{file}: {error}") from error
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError(_locate_libsvm_error(file) or f"{file}: not all values are finite")
    if X.shape[0] == 0:
        raise ValueError(f"{file}: there are no rows")
    return Table(X.tocsc(), y)


def _open(file: Path) -> Any:
    import bz2
    import gzip

    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    return openers.get(file.suffix.lower(), open)(file, "rb")


def _locate_libsvm_error(file: Path) -> str | None:
    """Read the file slowly and return a message that names line and column of the first error."""
    with io.TextIOWrapper(_open(file), encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, start=1):
            previous = -1.0
            column = 1
            for place, token in enumerate(line.split("#", 1)[0].split()):
                column = line.index(token, column - 1) + 1
                where = f"{file}, line {number}, column {column}"
                index, colon, value = token.rpartition(":")
                if place == 0:
                    if not _is_finite(token):
                        return f"{where}: expected a number as target, found {token!r}"
                elif index != "qid":
                    if not colon or not index.isdecimal() or not _is_finite(value):
                        return f"{where}: expected index:value with a finite value, found {token!r}"
                    if int(index) <= previous:
                        return f"{where}: indices must increase within a line, found {index} after {previous:.0f}"
                    if int(index) > np.iinfo(np.int32).max:
                        return f"{where}: the index {index} is too large"
                    previous = int(index)
                column += len(token)
    return None


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _read_npz(file: Path, target: str | None) -> Table:
    if not zipfile.is_zipfile(file):  # numpy leaves such a file open
        raise ValueError(f"{file}: not an npz file")
    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            if (target or "y") not in arrays:
                raise ValueError(f"{file}: there is no array {target or 'y'!r}")
            return Table(arrays["X"], arrays[target or "y"])
        is_sparse = "format" in arrays
    if not is_sparse:
        raise ValueError(f"{file}: expected arrays X and y, or a matrix written by scipy.sparse.save_npz")
    return Table(sp.load_npz(file), _response_beside(file, target))


def _read_npy(file: Path, target: str | None) -> Table:
    return Table(np.load(file, mmap_mode="r", allow_pickle=False), _response_beside(file, target))


def _response_beside(file: Path, target: str | None) -> NDArray[np.float64]:
    beside = file.parent / (target or "y.npy")
    if not beside.is_file():
        raise FileNotFoundError(f"{beside}: no such file; it should hold the response for {file.name}")
    return np.asarray(np.load(beside, allow_pickle=False))


def _read_csv(file: Path, target: str | None) -> Table:
    return Table(*read_csv(file, target))


def _read_parquet(file: Path, target: str | None) -> Table:
    return Table(*read_parquet(file, target))


def _read_source(file: Path, target: str | None) -> Table:
    """Read a file by the block readers that stores are made with, into memory."""
    from tempfile import TemporaryDirectory

    from .fill import Selection, fill
    from .open import open_source, silent

    def allocate(_name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.empty(shape, dtype, "F")

    with TemporaryDirectory() as scratch, open_source(file, target, Path(scratch)) as source:
        _, arrays = fill([source], Selection(), source.dtype, allocate, silent)
    if "X" in arrays:
        return Table(arrays["X"], np.asarray(source.y), source.feature_names)
    X = sp.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=source.shape)
    return Table(X, np.asarray(source.y), source.feature_names)


_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".svm": _read_libsvm,
    ".libsvm": _read_libsvm,
    ".svmlight": _read_libsvm,
    ".txt": _read_libsvm,
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".mtx": _read_source,
    ".h5ad": _read_source,
}

"""Reading a table from a store, or from a file whose kind is told by the ending of its name."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..progress import silent
from ..store import open_store
from ..table import Table
from .arrow_files import read_csv, read_parquet
from .atomic import is_full, speaking_of
from .compressed import is_packed
from .libsvm import load_libsvm
from .plink import open_bed

#: Endings of the names of LIBSVM files.
LIBSVM = (".svm", ".libsvm", ".svmlight", ".txt")


def read_table(file: str | Path, target: str | None = None) -> Table:
    r"""Read a design matrix and a response.

    Parameters
    ----------
    file : path
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``, also with ``.gz``, ``.bz2``,
        ``.xz`` or ``.zst`` behind: LIBSVM text, see `load_libsvm`.
        ``.npz``: arrays X and y, or a matrix of `scipy.sparse.save_npz` with y beside it in ``y.npy``.
        ``.npy``: an array X, with y beside it in ``y.npy``.
        ``.csv``, ``.parquet``: a table with names in its first row; the response is the column `target`.
        ``.mtx``: Matrix Market text, with y beside it in ``y.npy``. ``.h5ad``: AnnData, its X and a column of obs.
        ``.bed``: genotypes, see `open_bed`; the response is the phenotype in the .fam file.
        A folder: a store, which is mapped into memory and not read.
    target : str, optional
        For csv and parquet, the column of the response; the last one by default. For h5ad, the column of obs. For
        npz, npy and mtx, the file of the response, ``y.npy`` in the same folder by default. For bed, a file to take
        in place of the phenotype.

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
    with naming(file):
        return reader(file, target)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Let every error of a file that cannot be read name the file."""
    try:
        yield
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        if str(file) in str(error) or isinstance(error, FileNotFoundError) or is_full(error):
            raise
        raise ValueError(f"{file}: {error}") from error


def ending_of(file: Path) -> str:
    """Return the ending of a file's name that tells its kind, or raise a ValueError that lists those known."""
    name, packed = Path(file.name.lower()), is_packed(file)
    ending = Path(name.stem).suffix if packed else name.suffix
    if ending not in _READERS or (packed and _READERS[ending] not in (_read_libsvm, _read_source)):
        raise ValueError(f"{file}: the ending of the name must be one of {', '.join(_READERS)}")
    return ending


def _read_libsvm(file: Path, target: str | None) -> Table:
    if target is not None:
        raise ValueError(f"{file}: LIBSVM files have their target in the first place of every line, not by name")
    X, y = load_libsvm(file)
    if not y.size:
        raise ValueError(f"{file}: there are no rows")
    return Table(X, y)


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
    return Table(sp.load_npz(file), response_beside(file, target))


def _read_npy(file: Path, target: str | None) -> Table:
    return Table(np.load(file, mmap_mode="r", allow_pickle=False), response_beside(file, target))


def response_beside(file: Path, target: str | None) -> NDArray[np.float64]:
    """Return the response in the file `target` of the same folder, ``y.npy`` by default."""
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
    from .open import open_source

    def allocate(_name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.empty(shape, dtype, "F")

    with (
        TemporaryDirectory() as scratch,
        speaking_of(Path(scratch)),
        open_source(file, target, Path(scratch)) as source,
    ):
        _, arrays = fill([source], Selection(), source.dtype, allocate, silent)
    if "X" in arrays:
        return Table(arrays["X"], np.asarray(source.y), source.feature_names)
    X = sp.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=source.shape)
    return Table(X, np.asarray(source.y), source.feature_names)


def _read_bed(file: Path, target: str | None) -> Table:
    bed = open_bed(file)
    if target is not None:
        return Table(bed.X, response_beside(file, target), bed.feature_names)
    if bed.phenotype is None:
        raise ValueError(f"{file}: its .fam has no phenotypes; give a .npy file of them as target")
    missing = np.flatnonzero(np.isnan(bed.phenotype))
    if missing.size:
        raise ValueError(
            f"{file}: its .fam has no phenotype for {missing.size} samples, of which the first is "
            f"{bed.sample_ids[missing[0]]!r}; leave them out with plink --prune"
        )
    return Table(bed.X, bed.phenotype, bed.feature_names)


_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    **dict.fromkeys(LIBSVM, _read_libsvm),
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".mtx": _read_source,
    ".h5ad": _read_source,
    ".bed": _read_bed,
}

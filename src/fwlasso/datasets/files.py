"""Reading a table from a store, or from a file whose kind is told by the ending of its name."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..bed import Genotypes
from ..progress import silent
from ..store import open_store
from ..table import Table
from .arrow_files import STDIN, Wanted, listed, read_csv, read_parquet
from .atomic import is_full, speaking_of
from .compressed import is_packed
from .libsvm import read_libsvm
from .plink import open_bed

#: Endings of the names of LIBSVM files.
LIBSVM = (".svm", ".libsvm", ".svmlight", ".txt")
#: The file of the response beside a matrix.
BESIDE = "y.npy"
#: Endings of the names of tables with named columns.
TABLES = (".csv", ".tsv", ".parquet")
_MISSING_CODES = " (in a .fam -9 means missing, and so does 0 beside 1 and 2: controls are 1, cases 2)"
_PACKABLE = (*LIBSVM, ".csv", ".tsv", ".mtx")


def read_table(
    file: str | Path,
    target: str | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Table:
    r"""Read a design matrix and a response.

    Parameters
    ----------
    file : path
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``, also with ``.gz``, ``.bz2``,
        ``.xz`` or ``.zst`` behind: LIBSVM text, see `load_libsvm`.
        ``.npz``: arrays X and y, or a matrix of `scipy.sparse.save_npz` with y beside it in ``y.npy``.
        ``.npy``: an array X, with y beside it in ``y.npy``.
        ``.csv``, ``.tsv``, packed or not, and ``.parquet``: a table with names in its first row; the response is the
        column `target`. Between columns there are commas, semicolons or tabs. ``-`` is a csv from standard input.
        ``.mtx``: Matrix Market text, with y beside it in ``y.npy``. ``.h5ad``: AnnData, its X and a column of obs.
        ``.bed``: genotypes, see `open_bed`; the response is the phenotype in the .fam file.
        A folder: a store, which is mapped into memory and not read.
    target : str, optional
        For csv, tsv and parquet, the column of the response; the last one by default. For h5ad, the column of obs. For
        npz, npy and mtx, the file of the response in the same folder, ``y.npy`` by default: an array, or a ``.txt``
        with a number a line. For bed, such a file to take in place of the phenotype.
    zero_based : bool or "auto"
        Whether the indices of LIBSVM text count from 0. "auto": they count from 1 unless there is a 0. Other rows of
        the same kind are read by what was found: ``zero_based=table.first_index == 0``.
    columns, exclude : sequences of str, optional
        Names of the features to take, or to leave out; of csv, tsv and parquet the others are not read, and need not be
        numbers.

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
    wanted = Wanted(target, columns, exclude)
    if file.is_dir():
        store = open_store(file)
        if target is not None:
            raise ValueError(f"target: {file} is a store, which has its response")
        return _select(Table(store.X, store.y, store.feature_names, store.target, store.first_index), file, wanted)
    ending = ending_of(file)
    with naming(file):
        if ending in TABLES:
            return Table(*(read_parquet if ending == ".parquet" else read_csv)(file, wanted))
        table = _read_libsvm(file, target, zero_based) if ending in LIBSVM else _READERS[ending](file, target)
        if table.X.shape[:1] != (np.size(table.y),):
            raise ValueError(f"the response has {np.size(table.y)} values, and X is of shape {table.X.shape}")
    return _select(table, file, wanted)


def _select(table: Table, file: Path, wanted: Wanted) -> Table:
    """Return some of the columns of a table."""
    if wanted.columns is None and not wanted.exclude:
        return table
    names = table.feature_names
    if names is None or isinstance(table.X, Genotypes):
        raise ValueError(f"{file}: columns are chosen by name, in tables; fwlasso convert --columns takes numbers, too")
    there = set(names)
    missing = [name for name in (*(wanted.columns or ()), *wanted.exclude) if name not in there]
    if missing:
        raise ValueError(f"{file}: there is no column {missing[0]!r}; there are {listed(names)}")
    features = (there if wanted.columns is None else set(wanted.columns)) - set(wanted.exclude)
    places = [j for j, name in enumerate(names) if name in features]
    return table._replace(X=table.X[:, places], feature_names=tuple(names[j] for j in places))


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
    if file == STDIN:
        return ".csv"
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    name, packed = Path(file.name.lower()), is_packed(file)
    ending = Path(name.stem).suffix if packed else name.suffix
    if ending not in (*LIBSVM, *_READERS, *TABLES) or (packed and ending not in _PACKABLE):
        raise ValueError(f"{file}: the ending of the name must be one of {', '.join((*LIBSVM, *_READERS, *TABLES))}")
    return ending


def _read_libsvm(file: Path, target: str | None, zero_based: bool | Literal["auto"]) -> Table:
    if target is not None:
        raise ValueError(f"{file}: LIBSVM files have their target in the first place of every line, not by name")
    X, y, first_index = read_libsvm(file, zero_based)
    return Table(X, y, first_index=first_index)


def _read_npz(file: Path, target: str | None) -> Table:
    if not zipfile.is_zipfile(file):  # numpy leaves such a file open
        raise ValueError(f"{file}: not an npz file")
    with np.load(file, allow_pickle=False) as arrays:
        if "X" in arrays:
            if (target or "y") not in arrays:
                raise ValueError(f"{file}: there is no array {target or 'y'!r}")
            return Table(arrays["X"], arrays[target or "y"], target=target or "y")
        is_sparse = "format" in arrays
    if not is_sparse:
        raise ValueError(f"{file}: expected arrays X and y, or a matrix written by scipy.sparse.save_npz")
    return Table(sp.load_npz(file), response_beside(file, target), target=target or BESIDE)


def _read_npy(file: Path, target: str | None) -> Table:
    X = np.load(file, mmap_mode="r", allow_pickle=False)
    return Table(X, response_beside(file, target), target=target or BESIDE)


def response_beside(file: Path, target: str | None) -> NDArray[np.float64]:
    """Return the response in the file `target` of the same folder, ``y.npy`` by default."""
    beside = file.parent / (target or BESIDE)
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
        open_source(file, Wanted(target), Path(scratch)) as source,
    ):
        _, arrays = fill([source], Selection(), source.dtype, allocate, silent)
    X = arrays.get("X")
    if X is None:
        X = sp.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=source.shape)
    return Table(X, np.asarray(source.y), source.feature_names, source.target)


def _read_bed(file: Path, target: str | None) -> Table:
    bed = open_bed(file)
    if target is not None:
        return Table(bed.X, response_beside(file, target), bed.feature_names, target)
    if bed.phenotype is None:
        raise ValueError(
            f"{file}: its .fam has no phenotypes; give a .npy or .txt file of them as target{_MISSING_CODES}"
        )
    missing = np.flatnonzero(np.isnan(bed.phenotype))
    if missing.size:
        raise ValueError(
            f"{file}: its .fam has no phenotype for {missing.size} samples, of which the first is "
            f"{bed.sample_ids[missing[0]]!r}; leave them out with plink --prune{_MISSING_CODES}"
        )
    return Table(bed.X, bed.phenotype, bed.feature_names, f"the phenotype in {file.with_suffix('.fam').name}")


_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".mtx": _read_source,
    ".h5ad": _read_source,
    ".bed": _read_bed,
}

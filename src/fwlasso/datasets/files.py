"""Reading a table from a store, or from a file whose kind is told by the ending of its name."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.files import is_full
from ..data.genotypes import Genotypes
from ..data.predict import match_columns
from ..data.progress import Tell, silent
from ..data.store import open_store
from ..data.table import Table
from .arrow_files import STDIN, Wanted, listed, open_csv, open_parquet
from .binary_files import from_table, open_h5ad, open_npz, read_npy, read_npz, response_beside
from .compressed import is_packed
from .fill import Selection, fill
from .new_rows import Features, NewRows, bed_rows, libsvm_rows
from .plink import open_bed
from .source import NO_STORE, Desk, Source
from .text_files import open_libsvm, open_matrix_market, read_libsvm_table

#: Endings of the names of LIBSVM files.
LIBSVM = (".svm", ".libsvm", ".svmlight", ".txt")
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
    wanted = Wanted(target, columns, exclude, zero_based)
    reader = _reader_of(file)
    with naming(file):
        table = _read(reader, file, wanted)
        _check_response(table)
    return table if not file.is_dir() and ending_of(file) in TABLES else _select(table, file, wanted)


def _check_response(table: Table) -> None:
    if table.X.shape[:1] != (np.size(table.y),):
        raise ValueError(f"the response has {np.size(table.y)} values, and X is of shape {table.X.shape}")


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
    if ending not in READERS or (packed and ending not in _PACKABLE):
        raise ValueError(f"{file}: the ending of the name must be one of {', '.join(READERS)}")
    return ending


def _read_bed(file: Path, wanted: Wanted) -> Table:
    bed = open_bed(file)
    if wanted.target is not None:
        return Table(bed.X, response_beside(file, wanted), bed.feature_names, wanted.target)
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


def _refuse_bed(file: Path, _wanted: Wanted, _desk: Desk) -> NoReturn:
    raise ValueError(f"{file}: {NO_STORE}")


def _read_store(folder: Path, wanted: Wanted) -> Table:
    store = open_store(folder)
    if wanted.target is not None:
        raise ValueError(f"target: {folder} is a store, which has its response")
    return Table(store.X, store.y, store.feature_names, store.target, store.first_index)


# One table of readers ----------------------------------------------------------------------------------------


class Reader(NamedTuple):
    """How a kind of file is read; what is missing is made of `open`."""

    open: Callable[[Path, Wanted, Desk], Source]  # in blocks
    read: Callable[[Path, Wanted], Table] | None = None  # into memory, or mapped
    rows: Callable[[Path, Features, bool | None], NewRows] | None = None  # for a model, with the response that it has


def _mapped(read: Callable[[Path, Wanted], Table]) -> Reader:
    """Return the reader of what is mapped, or in memory as a whole."""
    return Reader(lambda file, wanted, _desk: from_table(read(file, wanted)), read)


#: The readers by the ending of the name; a folder is a store.
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        **dict.fromkeys(LIBSVM, Reader(open_libsvm, read_libsvm_table, libsvm_rows)),
        ".npz": Reader(open_npz, read_npz),
        ".npy": _mapped(read_npy),
        ".mtx": Reader(open_matrix_market),
        ".h5ad": Reader(open_h5ad),
        ".bed": Reader(_refuse_bed, _read_bed, bed_rows),
        ".csv": Reader(open_csv),
        ".tsv": Reader(open_csv),
        ".parquet": Reader(open_parquet),
    }
)
_STORE = _mapped(_read_store)


def _reader_of(file: Path) -> Reader:
    return _STORE if file.is_dir() else READERS[ending_of(file)]


def _read(reader: Reader, file: Path, wanted: Wanted) -> Table:
    """Read a file into memory. Without `wanted.needs_response` the response may be None."""
    if reader.read is not None:
        return reader.read(file, wanted)
    with ExitStack() as stack:
        source = reader.open(file, wanted, Desk(None, silent, stack))
        arrays = fill(source, Selection(), source.dtype, _in_memory, silent)
    X = arrays.get("X")
    if X is None:
        X = sp.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=source.shape)
    y: Any = None if source.y is None else np.asarray(source.y)
    return Table(X, y, source.feature_names, source.target)


def _in_memory(_name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.empty(shape, dtype, "F")


@contextmanager
def open_source(file: Path, wanted: Wanted, scratch: Path, tell: Tell = silent) -> Iterator[Source]:
    """Open a file or a store as a source, for the time of the context; `scratch` is an empty folder to unpack to."""
    with ExitStack() as stack:
        with naming(file):
            source = _reader_of(file).open(file, wanted, Desk(scratch, tell, stack))
        yield source


def read_new_rows(file: str | Path, target: str | None, known: Features, zero_based: bool | None = None) -> NewRows:
    """Read rows for a model.

    Of tables, the columns that the model uses are read, if it knows their names. Without a `target`, tables, arrays and
    matrices need no response; what a file has of it in any case (LIBSVM, stores, the y of an npz, the phenotypes of a
    bed) is read.
    """
    file = Path(file)
    reader = _reader_of(file)
    with naming(file):
        if reader.rows is not None and target is None:
            return reader.rows(file, known, zero_based)
        is_table = not file.is_dir() and ending_of(file) in TABLES
        columns = (known.names or None) if is_table else None
        table = _read(reader, file, Wanted(target, columns, needs_response=False))
        if table.y is not None:
            _check_response(table)
        return NewRows(match_columns(table, known.n_features, known.first_index), table.y, table.feature_names)

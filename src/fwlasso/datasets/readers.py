"""Reading files whose kind is told by the suffix of the name, and stores: one table of readers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.compressed import is_packed
from ..data.design import described
from ..data.files import naming
from ..data.progress import ProgressCallback, silent
from ..data.store import open_store
from ..data.table import BESIDE_Y, Table
from .arrow_files import STDIN, choose, open_csv, open_parquet
from .binary_files import open_h5ad, open_npy, open_npz, read_beside
from .fill import Selection, fill
from .gaps import check_gaps
from .plink import open_cohort
from .source import NO_STORE, Desk, Source, Wanted, from_table
from .text_files import open_libsvm, open_matrix_market


def read_table(
    file: str | Path,
    target: str | None = None,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    pheno: Any = None,
    keep: Any = None,
    remove: Any = None,
    covariates: Any = None,
    drop_missing: bool = False,
    impute: str | Mapping[str, float] | None = None,
    weights: str | None = None,
    offset: str | None = None,
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
        with a number a line. For bed, a file of phenotypes in the same folder, or one of those in `pheno`.
    zero_based : bool or "auto"
        Whether the indices of LIBSVM text count from 0. "auto": they count from 1 unless there is a 0. Other rows of
        the same kind are read by what was found: ``zero_based=table.first_index == 0``.
    columns, exclude : sequences of str, optional
        Names of the features to take, or to leave out; of csv, tsv and parquet the others are not read, and need not be
        numbers.
    pheno, keep, remove, covariates : optional
        Of bed, phenotypes in another file, samples to take and samples to leave out, and covariates, as in `open_bed`.
        Samples without a phenotype or a covariate are left out, with a warning.
    drop_missing : bool
        Of csv, tsv and parquet: leave out rows where a column that is read has no value (empty, NA, NaN, null, ...),
        with a warning that counts them.
    impute : "mean" or mapping of names to numbers, optional
        Of csv, tsv and parquet: what such cells of features become, with a warning that counts them: the means of their
        columns, which the table and models of it keep, or these numbers. Rows without a response are left out.
    weights, offset : str, optional
        Where the weights of the samples are, and the part of the response that is known: columns of csv, tsv, parquet
        and h5ad, which are no features then; arrays of an npz with X; else files in the same folder, as of `target`,
        of bed with ids as in `pheno`.

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
    wanted = Wanted(target, columns, exclude, zero_based, pheno=pheno, keep=keep, remove=remove, covariates=covariates)
    wanted = wanted._replace(drop_missing=drop_missing, impute=impute, weights=weights, offset=offset)
    return read(Path(file), wanted)


def read(file: Path, wanted: Wanted) -> Table:
    """Read a file into memory, or map it. If no response is wanted, that of the table may be None."""
    reader = reader_of(file)
    check_ids(file, reader, wanted)
    check_gaps(file, wanted, is_table=reader.has_names)
    with naming(file), ExitStack() as stack:
        found: Source | Table = read_beside(file, wanted, reader.open(file, wanted, Desk(None, silent, stack)))
        table = _in_memory(found) if isinstance(found, Source) else found
        if table.y is not None and table.X.shape[:1] != (np.size(table.y),):
            raise ValueError(f"the response has {np.size(table.y)} values, and X is of shape {table.X.shape}")
        return table if reader.has_names else _select(table, file, wanted)


def _in_memory(source: Source) -> Table:
    arrays = fill(source, Selection(), source.dtype, lambda _, dtype, shape: np.empty(shape, dtype, "F"), silent)
    X = arrays.get("X")
    if X is None:
        X = sp.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=source.shape)
    y: Any = None if source.y is None else np.asarray(source.y)
    known = {name: getattr(source, name) for name in ("feature_names", "target", "means", *BESIDE_Y)}
    return Table(X, y, **known)


def _select(table: Table, file: Path, wanted: Wanted) -> Table:
    """Return some of the columns of a table."""
    names = table.feature_names
    if described(table.X) is not None or (wanted.columns is None and not wanted.exclude):
        return table
    if names is None:
        raise ValueError(f"{file}: columns are chosen by name, in tables only; fwlasso convert --columns takes numbers")
    features = choose(file, names, wanted)
    places = [j for j, name in enumerate(names) if name in features]
    means = None if table.means is None else np.asarray(table.means)[places]
    return table._replace(X=table.X[:, places], feature_names=tuple(names[j] for j in places), means=means)


@contextmanager
def open_source(file: Path, wanted: Wanted, scratch: Path, tell: ProgressCallback = silent) -> Iterator[Source]:
    """Open a file or a store as a source, for the time of the context; `scratch` is an empty folder to unpack to."""
    reader = reader_of(file)
    check_gaps(file, wanted, is_table=reader.has_names)
    with ExitStack() as stack:
        with naming(file):
            found: Source | Table = read_beside(file, wanted, reader.open(file, wanted, Desk(scratch, tell, stack)))
            source = found if isinstance(found, Source) else from_table(found)
        yield source


# One table of readers ----------------------------------------------------------------------------------------


class Reader(NamedTuple):
    """How a kind of file is read."""

    open: Callable[[Path, Wanted, Desk], Source | Table]  # a table is in memory, or mapped
    may_be_packed: bool = False
    has_names: bool = False  # a table, whose columns are chosen by name while it is read


def _open_bed(file: Path, wanted: Wanted, desk: Desk) -> Table:
    if desk.scratch is not None:
        raise ValueError(f"{file}: {NO_STORE}")
    bed, target, by_sample = open_cohort(file, wanted)
    y: Any = bed.phenotype
    return Table(bed.X, y, bed.feature_names, target, **by_sample)  # type: ignore[arg-type]


def check_ids(file: Path, reader: "Reader", wanted: Wanted, *, is_new: bool = False) -> None:
    """Raise a ValueError if something is asked of the ids of genotypes, and the file is another one.

    Of new rows, the model tells which features are taken, but for variants that may be left out.
    """
    asked = [name for name in ("pheno", "keep", "remove", "covariates") if getattr(wanted, name) is not None]
    asked += ["exclude"] if is_new and len(wanted.exclude) else []
    if asked and reader.open is not _open_bed:
        raise ValueError(f"{asked[0]} is of genotypes (.bed), whose samples and variants have ids, and not of {file}")


def _open_store(folder: Path, wanted: Wanted, _desk: Desk) -> Table:
    if wanted.target is not None:
        raise ValueError(f"target: {folder} is a store, which contains its response")
    store = open_store(folder)
    for name in (name for role, name in wanted.beside.items() if getattr(store, role) is not None):
        raise ValueError(f"{folder} is a store that contains what {name!r} is asked for")
    return Table(*(getattr(store, name) for name in Table._fields))


#: Suffixes of LIBSVM files.
LIBSVM = (".svm", ".libsvm", ".svmlight", ".txt")
#: The readers by suffix; a folder is a store.
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        **dict.fromkeys(LIBSVM, Reader(open_libsvm, may_be_packed=True)),
        ".npz": Reader(open_npz),
        ".npy": Reader(open_npy),
        ".mtx": Reader(open_matrix_market, may_be_packed=True),
        ".h5ad": Reader(open_h5ad),
        ".bed": Reader(_open_bed),
        ".csv": Reader(open_csv, may_be_packed=True, has_names=True),
        ".tsv": Reader(open_csv, may_be_packed=True, has_names=True),
        ".parquet": Reader(open_parquet, has_names=True),
    }
)
#: Suffixes of tables with named columns.
TABLES = tuple(suffix for suffix, reader in READERS.items() if reader.has_names)


def reader_of(file: Path) -> Reader:
    """Return the reader of a file or of a store."""
    return Reader(_open_store) if file.is_dir() else READERS[suffix_of(file)]


def suffix_of(file: Path) -> str:
    """Return the suffix of a file's name that tells its kind, or raise a ValueError that lists those known."""
    if file == STDIN:
        return ".csv"
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    name, packed = Path(file.name.lower()), is_packed(file)
    suffix = Path(name.stem).suffix if packed else name.suffix
    if suffix not in READERS or (packed and not READERS[suffix].may_be_packed):
        raise ValueError(f"{file}: the file extension must be one of {', '.join(READERS)}")
    return suffix

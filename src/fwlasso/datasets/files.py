"""Reading a table from a file: LIBSVM, npz, npy, csv, parquet or PLINK's bed, told apart by the ending of the name."""

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .plink import open_bed


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
        ``.bed``: genotypes, see `open_bed`; the response is the phenotype in the .fam file.
    target : str, optional
        For csv and parquet, the column of the response; the last one by default. For npz and npy, the file of the
        response, ``y.npy`` in the same folder by default. For bed, a file to take in place of the phenotype.

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
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file")
    name = Path(file.name.lower())
    packed = name.suffix in (".gz", ".bz2")
    reader = _READERS.get(Path(name.stem).suffix if packed else name.suffix)
    if reader is None or (packed and reader is not _read_libsvm):
        known = ", ".join(_READERS)
        raise ValueError(f"{file}: the ending of the name must be one of {known}")
    try:
        return reader(file, target)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if str(file) in str(error) or isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{file}: {error}") from error


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
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # Column types are stated, not guessed from the first block, and one thread counts the rows for its messages.
    with file.open(encoding="utf-8-sig", newline="") as stream:
        names = [name.strip() for name in next(csv.reader(stream), [])]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{file}: there is more than one column {twice[0]!r}")
    options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[])
    try:
        table = arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            convert_options=options,
        )
    except pa.ArrowInvalid as error:
        place = re.match(r"In CSV column #(\d+): Row #(\d+): (.*)", str(error), re.DOTALL)
        if place:
            column, row, what = place.groups()
            raise ValueError(f"{file}, row {row}, column {names[int(column)]!r}: {what}") from error
        raise ValueError(f"{file}: {error}") from error
    return _from_arrow(file, table, target, first_row=2)


def _read_parquet(file: Path, target: str | None) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(file)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{file}: {error}") from error
    return _from_arrow(file, table, target, first_row=1)


def _from_arrow(file: Path, table: Any, target: str | None, first_row: int) -> Table:
    names = list(table.column_names)
    if not names or not table.num_rows:
        raise ValueError(f"{file}: there are no {'rows' if names else 'columns'}")
    target = names[-1] if target is None else target
    if target not in names:
        raise ValueError(f"{file}: there is no column {target!r}; there are {', '.join(names[:10])}")
    features = [name for name in names if name != target]
    X = np.empty((table.num_rows, len(features)), order="F")
    for j, name in enumerate(features):
        X[:, j] = _numbers(file, table, name, first_row)
    return Table(X, _numbers(file, table, target, first_row), tuple(features))


def _numbers(file: Path, table: Any, name: str, first_row: int) -> NDArray[np.float64]:
    from pyarrow import types as kind

    column = table.column(name)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + first_row
        raise ValueError(f"{file}, row {row}, column {name!r}: there is no value")
    if not (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_boolean(column.type)
        or kind.is_decimal(column.type)
    ):
        raise ValueError(f"{file}, column {name!r}: expected numbers, found {column.type}")
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + first_row
        raise ValueError(
            f"{file}, row {row}, column {name!r}: expected a finite number, found {values[row - first_row]}"
        )
    return values


def _read_bed(file: Path, target: str | None) -> Table:
    bed = open_bed(file)
    if target is not None:
        return Table(bed.X, _response_beside(file, target), bed.feature_names)
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
    ".svm": _read_libsvm,
    ".libsvm": _read_libsvm,
    ".svmlight": _read_libsvm,
    ".txt": _read_libsvm,
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".bed": _read_bed,
}

"""Reading a table from a file: LIBSVM, npz, npy, csv or parquet, told apart by the ending of the name."""

import csv
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .compressed import is_packed
from .libsvm import load_libsvm


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
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``, also with ``.gz``, ``.bz2``,
        ``.xz`` or ``.zst`` behind: LIBSVM text, see `load_libsvm`.
        ``.npz``: arrays X and y, or a matrix of `scipy.sparse.save_npz` with y beside it in ``y.npy``.
        ``.npy``: an array X, with y beside it in ``y.npy``.
        ``.csv``, ``.parquet``: a table with names in its first row; the response is the column `target`.
    target : str, optional
        For csv and parquet, the column of the response; the last one by default. For npz and npy, the file of the
        response, ``y.npy`` in the same folder by default.

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
    packed = is_packed(file)
    reader = _READERS.get(Path(name.stem).suffix if packed else name.suffix)
    if reader is None or (packed and reader is not _read_libsvm):
        known = ", ".join(_READERS)
        raise ValueError(f"{file}: the ending of the name must be one of {known}")
    try:
        return reader(file, target)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        if str(file) in str(error) or isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{file}: {error}") from error


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


_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".svm": _read_libsvm,
    ".libsvm": _read_libsvm,
    ".svmlight": _read_libsvm,
    ".txt": _read_libsvm,
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}

"""Tables of named columns by pyarrow: csv and parquet, read whole or in blocks."""

import csv
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..progress import Step, Tell
from .optional import optional
from .source import BLOCK_BYTES, Rectangle, Source, Spool

# A row of a csv must fit; pyarrow's own default of 1 MB is less than a hundred thousand columns take.
_CSV_BLOCK = 16 << 20

#: Matrix, response, names of the features.
Arrays = tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, ...]]


def read_csv(file: Path, target: str | None) -> Arrays:
    """Read a csv into memory."""
    pa = optional("pyarrow", file.suffix)
    names, batches = _csv_batches(file)
    return _read_all(file, pa.Table.from_batches(list(batches), _schema(names)), target, first_row=2)


def read_parquet(file: Path, target: str | None) -> Arrays:
    """Read a parquet file into memory."""
    return _read_all(file, _open_parquet(file).read(), target, first_row=1)


def read_features(file: Path) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Read all columns of a csv or parquet file into memory: none is the response."""
    if file.suffix.lower() == ".csv":
        names, batches = _csv_batches(file)
        table, first_row = optional("pyarrow", file.suffix).Table.from_batches(list(batches), _schema(names)), 2
    else:
        table, first_row = _open_parquet(file).read(), 1
    return _matrix(file, table, tuple(table.column_names), first_row), tuple(table.column_names)


def open_csv(file: Path, target: str | None, scratch: Path, tell: Tell) -> Source:
    """Return a csv as a source: its numbers are unpacked to a file, row by row, while it is parsed once."""
    names, batches = _csv_batches(file)
    columns = _Columns.of(file, names, target)
    values, y = Spool(scratch / "values", np.float64), Spool(scratch / "y", np.float64)
    what, size = f"reading {file.name}", file.stat().st_size
    for k, batch in enumerate(batches):
        block = [_numbers(file, batch, name, 2 + y.size) for name in columns.features]
        y.append(_numbers(file, batch, columns.target, 2 + y.size))
        values.append(np.column_stack(block) if block else np.empty((batch.num_rows, 0)))
        tell(Step(what, min((k + 1) * _CSV_BLOCK, size), size))  # a batch is what such a block of text holds
    tell(Step(what, size, size))
    if not y.size:
        raise ValueError(f"{file}: there are no rows")
    shape = y.size, len(columns.features)
    return Source(
        shape, np.dtype(np.float64), Rectangle(values.map(*shape), shape[1] < shape[0]), y.map(y.size), columns.features
    )


def open_parquet(file: Path, target: str | None) -> Source:
    """Return a parquet file as a source, read by blocks of columns."""
    table = _open_parquet(file)
    columns = _Columns.of(file, list(table.schema_arrow.names), target)
    m = table.metadata.num_rows
    if not m:
        raise ValueError(f"{file}: there are no rows")
    values = _ParquetColumns(file, table, columns.features, m)
    y = values.read([columns.target])[:, 0]
    floats = {str(field.type) for field in table.schema_arrow if field.name in set(columns.features)}
    dtype = np.dtype(np.float32 if floats == {"float"} else np.float64)
    return Source((m, len(columns.features)), dtype, Rectangle(values, False), y, columns.features)


class _ParquetColumns:
    """The columns of a parquet file, read when they are asked for."""

    def __init__(self, file: Path, table: Any, features: tuple[str, ...], m: int) -> None:
        self._file, self._table, self._features, self._m = file, table, features, m

    def __getitem__(self, places: tuple[slice, Any]) -> NDArray[np.float64]:
        return self.read([self._features[j] for j in np.arange(len(self._features))[places[1]]])

    def read(self, names: list[str]) -> NDArray[np.float64]:
        """Return some columns, read by blocks of rows."""
        block = np.empty((self._m, len(names)), order="F")
        row = 0
        for batch in self._table.iter_batches(max(1, BLOCK_BYTES // (8 * len(names))), columns=names):
            for k, name in enumerate(names):
                block[row : row + batch.num_rows, k] = _numbers(self._file, batch, name, 1 + row)
            row += batch.num_rows
        return block


class _Columns(NamedTuple):
    """The columns of a table, told apart."""

    features: tuple[str, ...]
    target: str

    @classmethod
    def of(cls, file: Path, names: list[str], target: str | None) -> "_Columns":
        """Find the target among the names: the last column by default."""
        if not names:
            raise ValueError(f"{file}: there are no columns")
        target = names[-1] if target is None else target
        if target not in names:
            alike = difflib.get_close_matches(target, names, n=3)
            told = alike or (names if len(names) <= 10 else [*names[:5], "...", *names[-5:]])
            raise ValueError(f"{file}: there is no column {target!r}; there are {', '.join(told)}")
        return cls(tuple(name for name in names if name != target), target)


def _read_all(file: Path, table: Any, target: str | None, first_row: int) -> Arrays:
    columns = _Columns.of(file, list(table.column_names), target)
    X = _matrix(file, table, columns.features, first_row)
    return X, _numbers(file, table, columns.target, first_row), columns.features


def _matrix(file: Path, table: Any, names: tuple[str, ...], first_row: int) -> NDArray[np.float64]:
    if not table.num_rows:
        raise ValueError(f"{file}: there are no rows")
    X = np.empty((table.num_rows, len(names)), order="F")
    for j, name in enumerate(names):
        X[:, j] = _numbers(file, table, name, first_row)
    return X


def _schema(names: list[str]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.float64()) for name in names])


def _csv_batches(file: Path) -> tuple[list[str], Iterator[Any]]:
    """Return the names of the columns, and blocks of rows. Numbers that are none are told by row and column."""
    pa, arrow_csv = optional("pyarrow", file.suffix), optional("pyarrow.csv", file.suffix)
    # Column types are stated, not guessed from the first block, and one thread counts the rows for its messages.
    with file.open(encoding="utf-8-sig", newline="") as stream:
        names = [name.strip() for name in next(csv.reader(stream), [])]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{file}: there is more than one column {twice[0]!r}")
    options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[])
    reading = arrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False, block_size=_CSV_BLOCK)

    def batches() -> Iterator[Any]:
        try:
            yield from arrow_csv.open_csv(file, read_options=reading, convert_options=options)
        except pa.ArrowInvalid as error:
            place = re.match(r"In CSV column #(\d+): Row #(\d+): (.*)", str(error), re.DOTALL)
            if place:
                column, row, what = place.groups()
                raise ValueError(f"{file}, row {row}, column {names[int(column)]!r}: {what}") from error
            raise ValueError(f"{file}: {error}") from error

    return names, batches()


def _open_parquet(file: Path) -> Any:
    pa, parquet = optional("pyarrow", file.suffix), optional("pyarrow.parquet", file.suffix)
    try:
        return parquet.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{file}: {error}") from error


def _numbers(file: Path, table: Any, name: str, first_row: int) -> NDArray[np.float64]:
    from pyarrow import types as kind

    column = table.column(name)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + first_row
        raise ValueError(f"{file}, row {row}, column {name!r}: there is no value")
    if not (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_boolean(column.type)
        or kind.is_decimal(column.type)
    ):
        raise ValueError(f"{file}, column {name!r}: expected numbers, found {column.type}")
    values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + first_row
        raise ValueError(
            f"{file}, row {row}, column {name!r}: expected a finite number, found {values[row - first_row]}"
        )
    return values

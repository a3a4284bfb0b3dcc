"""Tables of named columns by pyarrow: csv and parquet, read whole or in blocks."""

import csv
import difflib
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.compressed import unpacked
from ..data.frames import are_numbers
from ..data.progress import ProgressCallback, Step
from .gaps import MISSING, REMEDY_OF_TEXT, SPELLINGS, Block, Gaps, fill_with_means, no_value
from .optional import optional
from .source import BLOCK_BYTES, Desk, Rectangle, Source, Wanted, from_dense

#: The name that stands for what is piped in: a csv.
STDIN = Path("-")
# A row of a csv must fit into a block, and pyarrow reads 32 of them ahead.
_CSV_BLOCK, _LEAST_CSV_BLOCK, _BYTES_PER_CELL = 16 << 20, 1 << 19, 1 << 8
# A row group of parquet up to this size is unpacked to memory, a larger one to a file, by so many columns and rows.
_STREAM_BYTES, _COLUMNS_TOGETHER, _STREAM_ROWS = 8 << 20, 8, 1 << 16
_DELIMITERS = ",;\t"


def open_csv(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return a csv as a source: its numbers are unpacked, row by row, while it is parsed once."""
    return _unpack(file, wanted, desk, stream_csv)


#: What gives the columns of a table and blocks of its rows.
TableStream = Callable[
    [Path, Wanted, ProgressCallback], AbstractContextManager[tuple["ChosenColumns", Iterator[Block]]]
]


def _unpack(file: Path, wanted: Wanted, desk: Desk, stream: TableStream, dtype: Any = np.float64) -> Source:
    values, by_sample, m = desk.spool("values", np.float64), desk.spool("by_sample", np.float64), 0
    with stream(file, wanted, desk.tell) as (columns, blocks):
        for block, others in blocks:
            by_sample.append(others.T)
            values.append(block.T)
            m += block.shape[1]
    matrix = values.map(m, len(columns.features))
    means = fill_with_means(file, columns.features, matrix) if wanted.impute == "mean" and m else None
    others = by_sample.map(m, len(columns.others)).T
    return _table(file, columns, from_dense(matrix), others, np.dtype(dtype))._replace(means=means)


@contextmanager
def stream_csv(file: Path, wanted: Wanted, tell: ProgressCallback) -> Iterator[tuple["ChosenColumns", Iterator[Block]]]:
    """Open a csv, and give its columns and blocks of its rows while the context lasts."""
    with _open_csv(file) as text:
        columns = ChosenColumns.of(file, text.names, wanted)
        gaps = Gaps(file, *columns, wanted)

        def blocks() -> Iterator[Block]:
            what, row = f"reading {file.name}", 2
            for batch in text.batches(columns.names, wanted):
                yield columns.numbers(batch, row, gaps)
                row += batch.num_rows
                tell(Step(what, text.packed.tell(), text.n_bytes))
            tell(Step(what, text.n_bytes, text.n_bytes))

        yield columns, gaps.close(blocks())


@contextmanager
def stream_parquet(
    file: Path, wanted: Wanted, tell: ProgressCallback
) -> Iterator[tuple["ChosenColumns", Iterator[Block]]]:
    """Open a parquet file as `stream_csv` does a csv; a block is a row group.

    Of every column that is read, pyarrow has some megabytes in memory. So a row group is read by a few columns at a
    time, as it is stored, and unpacked to a temporary file unless it is small.
    """
    with _open_parquet(file, memory_map=True) as opened:
        columns = ChosenColumns.of(file, list(opened.schema_arrow.names), wanted)
        gaps = Gaps(file, *columns, wanted)

        def blocks() -> Iterator[Block]:
            names, row = columns.names, 1
            for group in range(opened.num_row_groups):
                n_rows = opened.metadata.row_group(group).num_rows
                n_together = max(_COLUMNS_TOGETHER, _STREAM_BYTES // max(1, 8 * n_rows))
                which = {"batch_size": _STREAM_ROWS, "row_groups": [group], "use_threads": False}
                is_small = 8 * n_rows * len(names) <= _STREAM_BYTES
                with nullcontext() if is_small else tempfile.TemporaryFile() as scratch:
                    shape = len(names), n_rows
                    values = np.empty(shape) if scratch is None else np.memmap(scratch, np.float64, shape=shape)
                    for lo in range(0, len(names), n_together):
                        part = slice(lo, lo + n_together)
                        _read_columns(gaps, opened, names[part], values[part], row, **which)
                    yield values[: len(columns.features)], values[len(columns.features) :]
                row += n_rows
                tell(Step(f"reading {file.name}", row - 1, opened.metadata.num_rows))

        yield columns, gaps.close(blocks())


def _read_columns(
    gaps: Gaps, opened: Any, names: list[str], values: NDArray[np.float64], first_row: int = 1, **which: Any
) -> None:
    """Fill the numbers of some columns, a row of `values` for each."""
    at = 0
    for batch in opened.iter_batches(columns=names, **which):
        for k, name in enumerate(names):
            values[k, at : at + batch.num_rows] = gaps.numbers(batch, name, first_row + at)
        at += batch.num_rows


def open_parquet(file: Path, wanted: Wanted, desk: Desk) -> Source:
    """Return a parquet file as a source, read by blocks of columns."""
    opened = desk.stack.enter_context(_open_parquet(file))
    columns = ChosenColumns.of(file, list(opened.schema_arrow.names), wanted)
    floats = {str(field.type) for field in opened.schema_arrow if field.name in set(columns.features)}
    dtype = np.dtype(np.float32 if floats == {"float"} else np.float64)
    if wanted.has_gaps:
        return _unpack(file, wanted, desk, stream_parquet, dtype)
    values = _ParquetColumns(Gaps(file, *columns, wanted), opened, columns.names)
    others = values[:, np.arange(len(columns.features), values.shape[1])].T
    return _table(file, columns, Rectangle(values, False), others, dtype)


class _ParquetColumns:
    """Columns of a parquet file, read when they are asked for, by blocks of rows."""

    def __init__(self, gaps: Gaps, opened: Any, names: list[str]) -> None:
        self._gaps, self._opened, self._names = gaps, opened, names
        self.shape = opened.metadata.num_rows, len(names)

    def __getitem__(self, places: Any) -> NDArray[np.float64]:
        names = [self._names[j] for j in np.arange(len(self._names))[places[1]]]
        values = np.empty((len(names), self.shape[0]))
        if names:
            _read_columns(self._gaps, self._opened, names, values, batch_size=max(1, BLOCK_BYTES // (8 * len(names))))
        return values.T


def _table(
    file: Path, columns: "ChosenColumns", matrix: Rectangle, others: NDArray[np.float64], dtype: np.dtype[Any]
) -> Source:
    if not (m := matrix.values.shape[0]):
        raise ValueError(f"{file}: there are no rows")
    by_sample: Any = dict(zip(columns.others, map(np.ascontiguousarray, others), strict=True))
    names, target = columns.features, columns.target
    return Source((m, len(names)), dtype, matrix, feature_names=names, target=target, **by_sample)


class ChosenColumns(NamedTuple):
    """The columns of a table, told apart."""

    features: tuple[str, ...]
    others: dict[str, str]  # by what they are: y, which rows to predict may lack, and what is beside it

    @property
    def target(self) -> str | None:
        """The response."""
        return self.others.get("y")

    @property
    def names(self) -> list[str]:
        """All names, those of features first."""
        return [*self.features, *self.others.values()]

    @classmethod
    def of(cls, file: Path, names: list[str], wanted: Wanted) -> "ChosenColumns":
        """Find what is wanted among the names."""
        others = dict(wanted.beside)
        if wanted.response:
            left = [name for name in names if name not in others.values()]
            others = {"y": (_distinct(file, left)[-1] if wanted.target is None else wanted.target), **others}
        if len(set(others.values())) < len(others):
            raise ValueError(f"{file}: the response, weights and offset must be different columns")
        if not wanted.response:
            require_names(file, names, *others.values())
            left = [name for name in names if name not in others.values()]
            return cls(_features(file, left, wanted.columns), others)
        features = choose(file, names, wanted, *others.values())
        used = _distinct(file, [name for name in names if name in others.values() or name in features])
        return cls(tuple(name for name in used if name in features), others)

    def numbers(self, batch: Any, first_row: int, gaps: Gaps) -> Block:
        """Return what is in a batch of a table."""
        names, p = self.names, len(self.features)
        if all(str(kind) == "double" for kind in batch.schema.types) and not any(c.null_count for c in batch.columns):
            values = batch.select(names).to_tensor(row_major=False).to_numpy().T
            if np.isfinite(values).all():
                return values[:p], values[p:]
        values = np.array([gaps.numbers(batch, name, first_row) for name in names])
        return values[:p], values[p:]


def choose(file: Path, names: Sequence[str], wanted: Wanted, *others: str) -> set[str]:
    """Return the features that are wanted; raise a ValueError for names that are not there."""
    require_names(file, names, *others, *(wanted.columns or ()), *wanted.exclude)
    features = set(names if wanted.columns is None else wanted.columns) - {*others, *wanted.exclude}
    if not features:
        raise ValueError(f"{file}: there is no column {f'besides the response, {others[0]!r}' if others else 'left'}")
    return features


def require_names(file: Path, names: Sequence[str], *wanted: str) -> None:
    """Raise a ValueError for names that are not there."""
    there = set(names)
    for name in wanted:
        if name not in there:
            alike = difflib.get_close_matches(name, names, n=3)
            raise ValueError(f"{file}: there is no column {name!r}; known are {', '.join(alike) or shortened(names)}")


def _features(file: Path, there: list[str], known: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that a model knows, all if it knows none; a model that has one twice has a word on it."""
    names = tuple(dict.fromkeys(known or there))
    missing = sorted(set(names) - set(_distinct(file, there)))
    if missing:
        raise ValueError(f"{file}: there is no column {missing[0]!r}, one of the {len(names)} that the model uses")
    return names


def _distinct(file: Path, names: list[str]) -> list[str]:
    """Return the names of the columns; raise a ValueError unless there are some, and each is there once."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        hint = "; all names in the first row are numbers: is it a row of data?" if are_numbers(names) else ""
        raise ValueError(f"{file}: there is more than one column {repeated[0]!r}{hint}")
    if not names:
        raise ValueError(f"{file}: there are no columns")
    return names


def shortened(names: Sequence[str]) -> str:
    """Return names as text, of many the first and the last."""
    return ", ".join(name or "''" for name in (names if len(names) <= 10 else [*names[:5], "...", *names[-5:]]))


class _Csv(NamedTuple):
    """An open csv, with its first row read."""

    file: Path
    packed: BinaryIO  # what is on the disk, and where in it
    n_bytes: int
    plain: BinaryIO
    names: list[str]
    delimiter: str
    decimal: str

    def batches(self, columns: Sequence[str], wanted: Wanted) -> Iterator[Any]:
        """Yield blocks of rows. What is not a number is told by row and column."""
        pa, arrow_csv = optional("pyarrow", ".csv"), optional("pyarrow.csv", ".csv")
        # Column types are stated, not guessed from the first block, and one thread counts the rows for its messages.
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.float64()),
            include_columns=list(columns),
            null_values=SPELLINGS if wanted.has_gaps else [],
            decimal_point=self.decimal,
        )
        size = min(_CSV_BLOCK, max(_LEAST_CSV_BLOCK, _BYTES_PER_CELL * len(self.names)))
        reading = arrow_csv.ReadOptions(column_names=self.names, use_threads=False, block_size=size)
        parsing = arrow_csv.ParseOptions(delimiter=self.delimiter)
        try:
            # Its thread reads ahead, and must not be left with the file: it would ask for the interpreter at its end.
            source = pa.PythonFile(self.plain, mode="r")
            with arrow_csv.open_csv(source, reading, parsing, convert) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            text = re.sub(r"Row #(\d+)", lambda found: f"Row #{int(found[1]) + 1}", str(error))  # and that of the names
            place = re.match(r"In CSV column #(\d+): Row #(\d+): .*?(?:invalid value '(.*)')?$", text, re.DOTALL)
            if place is None:
                if "Empty CSV file" in text:
                    return
                raise ValueError(f"{self.file}: {text}") from error
            column, row, found = place.groups()
            where = f"{self.file}, row {row}, column {self.names[int(column)]!r}"
            is_missing = (found or "").strip().lower() in MISSING
            what = (
                no_value(wanted, found or "") if is_missing else f"expected a number, found {found!r}; {REMEDY_OF_TEXT}"
            )
            raise ValueError(f"{where}: {what}") from error


@contextmanager
def _open_csv(file: Path) -> Iterator[_Csv]:
    """Open a csv, packed or not, and read the names of its columns. The first row tells what is between them."""
    optional("pyarrow.csv", ".csv")
    with _input(file) as packed, unpacked(packed, file) as plain:
        n_bytes = packed.seek(0, 2)
        packed.seek(0)
        first = re.sub(rb'"[^"]*"', b"", plain.readline()).decode("utf-8-sig")  # without what is quoted
        delimiter = max(_DELIMITERS, key=first.count)
        plain.seek(0)
        lines = (line.decode("utf-8-sig") for line in iter(plain.readline, b""))  # a name may go on in the next one
        names = [name.strip() for name in next(csv.reader(lines, delimiter=delimiter), [])]
        begin = plain.tell()
        # Where semicolons are between numbers, a comma is within one.
        decimal = "," if delimiter == ";" and b"," in plain.readline() else "."
        plain.seek(begin)
        yield _Csv(file, packed, n_bytes, plain, names, delimiter=delimiter, decimal=decimal)


@contextmanager
def _input(file: Path) -> Iterator[BinaryIO]:
    if file != STDIN:
        with file.open("rb") as stream:
            yield stream
        return
    if sys.stdin is None:
        raise ValueError(f"{file}: the standard input is closed")
    with tempfile.TemporaryFile() as stream:  # it is read twice, from the start
        shutil.copyfileobj(sys.stdin.buffer, stream)
        stream.seek(0)
        yield stream


def _open_parquet(file: Path, memory_map: bool = False) -> Any:
    pa, parquet = optional("pyarrow", file.suffix), optional("pyarrow.parquet", file.suffix)
    try:
        return parquet.ParquetFile(file, memory_map=memory_map)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{file}: {error}") from error

"""A LIBSVM file in parts that threads read side by side: what is counted, what is filled, and what is wrong where."""

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compressed import N_AHEAD, ahead, is_packed, line_blocks, unpacked
from .decimals import PADDING
from .libsvm_faults import Misfit, duplicate_in, misfit_at, word_at
from .libsvm_scan import Bytes, Fault, Floats, Integers, count_columns, parse_lines, scan_columns, scatter

_BLOCK_BYTES = 1 << 19  # what is read of it fits a core's cache, entries and all
_LEAST_PART_BYTES = 1 << 22  # smaller parts are not worth a thread
_MOST_PARTS = 16  # every part has a count for every column
_FIRST_COLUMNS = 1 << 10
_INT32_MAX = int(np.iinfo(np.int32).max)


class Reading(NamedTuple):
    """How far the reading of a file is. Files are read twice: to count entries, and to fill in."""

    file: Path
    done: int  # bytes
    total: int


Progress = Callable[[Reading], None]


class StoppedError(Exception):
    """Another thread has ended the reading."""


class Journey:
    """Bytes read by all threads, told to the user one call at a time."""

    def __init__(self, file: Path, total: int, progress: Progress | None) -> None:
        self._file, self._total, self._progress = file, total, progress
        self._lock = threading.Lock()
        self._done = 0
        self._is_stopped = False

    def advance(self, n_bytes: int) -> None:
        """Count what was read, and tell."""
        if self._is_stopped:
            raise StoppedError
        if self._progress is not None:
            with self._lock:
                self._done += n_bytes
                self._progress(Reading(self._file, self._done, self._total))

    def stop(self) -> None:
        """Let all threads end at their next block."""
        self._is_stopped = True


class Part(NamedTuple):
    """Some lines of a file: all that begin from one byte to another. A packed file is one part, in packed bytes."""

    file: Path
    begin: int
    end: int

    def blocks(self, journey: Journey) -> Iterator[Bytes]:
        """Yield the lines, block by block."""
        with self.file.open("rb", buffering=0) as stream, unpacked(stream, self.file) as plain:  # type: ignore[arg-type]
            if is_packed(self.file):
                yield from self._unpacked_blocks(stream, plain, journey)
                return
            plain.seek(self.begin)
            for block in line_blocks(plain, _BLOCK_BYTES, PADDING, self.end - self.begin):
                journey.advance(block.size - PADDING)
                yield block

    @staticmethod
    def _unpacked_blocks(packed: Any, plain: BinaryIO, journey: Journey) -> Iterator[Bytes]:
        told = 0
        n_valid = N_AHEAD + 3  # those that wait, the one in use, the one that waits to wait, the one in the making
        for block in ahead(line_blocks(plain, _BLOCK_BYTES, PADDING, n_valid=n_valid)):
            reached = packed.tell()
            journey.advance(reached - told)
            told = reached
            yield block


def cut_file(file: Path, n_threads: int) -> list[Part]:
    """Cut a file into parts at the ends of lines, no more than there are threads."""
    size = file.stat().st_size
    n_parts = 1 if is_packed(file) else max(1, min(n_threads, _MOST_PARTS, size // _LEAST_PART_BYTES))
    cuts = {0, size}
    with file.open("rb") as stream:
        for k in range(1, n_parts):
            stream.seek(k * size // n_parts)
            stream.readline()
            cuts.add(stream.tell())
    places = sorted(cuts) if size else [0, 0]
    return [Part(file, begin, end) for begin, end in itertools.pairwise(places)]


class Count(NamedTuple):
    """What there is in a part."""

    columns: NDArray[Any]  # entries by index, as written; may go on with zeros
    n_rows: int
    n_entries: int
    lowest: int
    highest: int


def count_part(part: Part, journey: Journey, most: int) -> Count | None:
    """Count entries by their indices, up to `most`; None if something is not as it should be."""
    counts = np.zeros(min(_FIRST_COLUMNS, most + 1), np.int32)
    n_rows = n_entries = 0
    lowest, highest = most + 1, -1
    indices = np.empty(0, np.int64)
    for text in part.blocks(journey):
        if indices.size < text.size // 3 + 1:
            indices = np.empty(text.size // 3 + 1, np.int64)  # " 1:" takes three bytes, and values are not looked at
        n_new, n_new_rows, low, high, is_fine = scan_columns(text, indices)
        if not is_fine or high > most:
            return None
        lowest, highest = min(lowest, low), max(highest, high)
        n_rows, n_entries = n_rows + n_new_rows, n_entries + n_new
        if high >= counts.size or n_rows > _INT32_MAX:
            counts = _enlarged(counts, min(max(2 * counts.size, high + 1), most + 1), n_rows)
        count_columns(indices[:n_new], counts)
    return Count(counts, n_rows, n_entries, lowest, highest)


def _enlarged(counts: NDArray[Any], size: int, n_rows: int) -> NDArray[Any]:
    larger = np.zeros(max(size, counts.size), np.int32 if n_rows <= _INT32_MAX else np.int64)
    larger[: counts.size] = counts
    return larger


class Expected(NamedTuple):
    """What numbers are accepted: indices between two bounds, and magnitudes below one."""

    indices: tuple[int, int]
    most: float


class Sink(NamedTuple):
    """Where the rows of a part go."""

    y: Floats  # of this part
    queries: Integers  # of this part; empty if they are not wanted
    first_row: int
    places: NDArray[Any]  # where the next entry of every index goes
    indices: NDArray[Any]
    data: NDArray[Any]


class _Room:
    """Room for what is read of a block, used again for the next."""

    def __init__(self, n_bytes: int, with_queries: bool) -> None:
        self.n_bytes = n_bytes
        n_entries, n_rows = n_bytes // 4 + 1, n_bytes // 2 + 1  # the shortest: " 1:1" and "1\n"
        self.columns = np.empty(n_entries, np.int64)
        self.values = np.empty(n_entries)
        self.targets = np.empty(n_rows)
        self.queries = np.empty(n_rows if with_queries else 0, np.int64)
        self.row_ends = np.empty(n_rows, np.int64)
        self.unsure_places = np.empty(n_entries, np.int64)
        self.unsure_entries = np.empty(n_entries, np.int64)


def fill_part(part: Part, journey: Journey, expected: Expected, with_queries: bool, sink: Sink | None) -> Misfit | int:
    """Read a part and put its entries in their places; without a `sink`, only look for what is wrong.

    Returns the first thing that is wrong, or the number of lines.
    """
    n_lines = n_rows = 0
    room = _Room(0, with_queries)
    for text in part.blocks(journey):
        if room.n_bytes < text.size:
            room = _Room(text.size, with_queries)
        n_new_lines, n_new, misfit = _parse(text, expected, room)
        if misfit is not None:
            return misfit._replace(line=misfit.line + n_lines)
        if sink is not None:
            _put(room, n_new, n_rows, sink, part.file)
        n_lines, n_rows = n_lines + n_new_lines, n_rows + n_new
    if sink is not None and n_rows != sink.y.size:
        raise changed(part.file)
    return n_lines


def _parse(text: Bytes, expected: Expected, room: _Room) -> tuple[int, int, Misfit | None]:
    """Return the numbers of lines and rows, and the first thing that is wrong, its lines counted from this block."""
    n_lines, n_rows, n_unsure, at, increases, fault = parse_lines(
        text,
        expected.indices,
        expected.most,
        room.columns,
        room.values,
        room.targets,
        room.queries,
        room.row_ends,
        room.unsure_places,
        room.unsure_entries,
    )
    wrong = [] if fault == Fault.NONE else [misfit_at(text, at, Fault(fault), expected.indices)]
    unsure = np.column_stack((room.unsure_places[:n_unsure], room.unsure_entries[:n_unsure]))
    for place, entry in unsure.tolist():
        value = float(word_at(text, place))
        if entry >= 0:
            room.values[entry] = value
        else:
            room.targets[-1 - entry] = value
        if not abs(value) < (expected.most if entry >= 0 else np.inf):
            wrong.append(misfit_at(text, place, Fault.VALUE if entry >= 0 else Fault.TARGET, expected.indices))
    if not increases and (found := duplicate_in(text, room.columns, room.row_ends[:n_rows])) is not None:
        wrong.append(found)
    return n_lines, n_rows, min(wrong, default=None)


def _put(room: _Room, n_new: int, n_rows: int, sink: Sink, file: Path) -> None:
    """Put what was read of a block into its places, behind `n_rows` rows of the part."""
    if n_rows + n_new > sink.y.size:
        raise changed(file)
    sink.y[n_rows : n_rows + n_new] = room.targets[:n_new]
    if room.queries.size:
        sink.queries[n_rows : n_rows + n_new] = room.queries[:n_new]
    n_entries = int(room.row_ends[n_new - 1]) if n_new else 0
    if not scatter(
        room.columns[:n_entries],
        room.values[:n_entries],
        room.row_ends[:n_new],
        sink.first_row + n_rows,
        sink.places,
        sink.indices,
        sink.data,
    ):
        raise changed(file)


def changed(file: Path) -> ValueError:
    """Return the error for a file that is another when it is read for the second time."""
    return ValueError(f"{file}: the file has changed while it was read")

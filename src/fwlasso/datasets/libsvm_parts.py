"""A LIBSVM file in parts that threads read side by side: what is counted, what is filled, and what is wrong where."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..progress import Step, Tell
from .compressed import N_AHEAD, ahead, is_gzip, is_packed, line_blocks, unpacked
from .decimals import PADDING
from .gzip_stream import Bookmark, GzipStream, OddGzipError, first_page
from .libsvm_faults import Misfit, duplicate_in, misfit_at, word_at
from .libsvm_scan import Bytes, Fault, Floats, Integers, count_columns, parse_lines, scan_columns, scatter

_BLOCK_BYTES = 1 << 19  # what is read of it fits a core's cache, entries and all
_LEAST_PART_BYTES = 1 << 22  # smaller parts are not worth a thread
_MOST_PARTS = 16  # every part has a count for every column
_FIRST_COLUMNS = 1 << 10
_N_VALID = N_AHEAD + 3  # blocks that wait, the one in use, the one that waits to wait, the one in the making
_INT32_MAX = int(np.iinfo(np.int32).max)


class StoppedError(Exception):
    """Another thread has ended the reading."""


class Journey:
    """Bytes read by all threads, told to the user one call at a time."""

    def __init__(self, file: Path, total: int, tell: Tell | None) -> None:
        self._what, self._total, self._tell = f"reading {file.name}", total, tell
        self._lock = threading.Lock()
        self._done = 0
        self._is_stopped = False

    def advance(self, n_bytes: int) -> None:
        """Count what was read, and tell."""
        if self._is_stopped:
            raise StoppedError
        if self._tell is not None:
            with self._lock:
                self._done = min(self._done + n_bytes, self._total)  # an odd gzip file is begun twice
                self._tell(Step(self._what, self._done, self._total))

    def stop(self) -> None:
        """Let all threads end at their next block."""
        self._is_stopped = True


class Part(Protocol):
    """Some lines of a file."""

    @property
    def file(self) -> Path:
        """The file."""

    def blocks(self, journey: Journey) -> Iterator[Bytes]:
        """Yield the lines, block by block."""


class _PlainPart(NamedTuple):
    """All lines that begin from one byte to another."""

    file: Path
    begin: int
    end: int

    def blocks(self, journey: Journey) -> Iterator[Bytes]:
        with self.file.open("rb", buffering=0) as stream:
            stream.seek(self.begin)
            for block in line_blocks(stream, _BLOCK_BYTES, PADDING, self.end - self.begin):  # type: ignore[arg-type]
                journey.advance(block.size - PADDING)
                yield block


class _PackedFile(NamedTuple):
    """All lines of a packed file, unpacked by a thread of its own."""

    file: Path
    n_parts: int  # that it is to be cut into while it is counted, if it can be

    def blocks(self, journey: Journey) -> Iterator[Bytes]:
        with self.file.open("rb", buffering=0) as packed, unpacked(packed, self.file) as plain:  # type: ignore[arg-type]
            told = 0
            blocks = line_blocks(plain, _BLOCK_BYTES, PADDING, n_valid=_N_VALID)  # type: ignore[arg-type]
            for block in ahead(blocks):
                reached = packed.tell()
                journey.advance(reached - told)
                told = reached
                yield block

    def cut_blocks(self, journey: Journey) -> Iterator[tuple[Bytes, "_GzipCut | None"]]:
        """Yield the lines of a gzip file, and with every block a cut if a part is to end there.

        Raises
        ------
        OddGzipError
            `blocks` may be able to read it.
        """
        with self.file.open("rb", buffering=0) as packed:
            stream = GzipStream(packed, first_page())  # type: ignore[arg-type]
            told = 0
            for block, cut in ahead(self._make_cut_blocks(stream)):
                reached = stream.n_packed
                journey.advance(reached - told)
                told = reached
                yield block, cut

    def _make_cut_blocks(self, stream: GzipStream) -> Iterator[tuple[Bytes, "_GzipCut | None"]]:
        size = self.file.stat().st_size
        wanted = [k * size // self.n_parts for k in range(1, self.n_parts)]
        n_plain = 0
        bookmark = stream.bookmark()
        for block in line_blocks(stream, _BLOCK_BYTES, PADDING, n_valid=_N_VALID):
            n_plain += block.size - PADDING
            is_cut = bool(wanted) and stream.n_packed >= wanted[0]
            # The stream is beyond the end of the block already. Where the block before ended, it was not.
            yield block, _GzipCut(bookmark, n_plain) if is_cut else None
            wanted = [place for place in wanted if place > stream.n_packed]
            if wanted:
                bookmark = stream.bookmark()


class _GzipCut(NamedTuple):
    """The beginning of a line in a gzip file, and a bookmark before it."""

    bookmark: Bookmark
    n_plain: int  # bytes in front of the line


class _GzipPart(NamedTuple):
    """Lines of a gzip file, from one cut to another; without one, to the end."""

    file: Path
    begin: _GzipCut
    end: _GzipCut | None

    def blocks(self, journey: Journey) -> Iterator[Bytes]:
        told = self.begin.bookmark.n_packed
        n_packed = self.file.stat().st_size if self.end is None else self.end.bookmark.n_packed
        n_plain = None if self.end is None else self.end.n_plain - self.begin.n_plain
        with self.file.open("rb", buffering=0) as packed:
            try:
                stream = GzipStream(packed, self.begin.bookmark)  # type: ignore[arg-type]
                stream.skip(self.begin.n_plain)
                for block in line_blocks(stream, _BLOCK_BYTES, PADDING, n_plain):
                    reached = min(stream.n_packed, n_packed)
                    journey.advance(reached - told)
                    told = reached
                    yield block
            except OddGzipError as error:  # it was not, when it was counted
                raise changed(self.file) from error
        journey.advance(n_packed - told)


def cut_file(file: Path, n_threads: int) -> list[Part]:
    """Cut a file into parts at the ends of lines, no more than there are threads; a packed one is a single part."""
    size = file.stat().st_size
    n_parts = max(1, min(n_threads, _MOST_PARTS, size // _LEAST_PART_BYTES))
    if is_packed(file):
        return [_PackedFile(file, n_parts)]
    cuts = {0, size}
    with file.open("rb") as stream:
        for k in range(1, n_parts):
            stream.seek(k * size // n_parts)
            stream.readline()
            cuts.add(stream.tell())
    places = sorted(cuts) if size else [0, 0]
    return [_PlainPart(file, begin, end) for begin, end in itertools.pairwise(places)]


class Count(NamedTuple):
    """What there is in a part."""

    columns: NDArray[Any]  # entries by index, as written; may go on with zeros
    n_rows: int
    n_entries: int
    lowest: int
    highest: int


class _Tally:
    """Counts entries by their indices, up to `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._columns = np.zeros(min(_FIRST_COLUMNS, most + 1), np.int32)
        self._n_rows = self._n_entries = 0
        self._lowest, self._highest = most + 1, -1
        self._indices = np.empty(0, np.int64)

    def add(self, text: Bytes) -> bool:
        """Count some lines; return False if something is not as it should be."""
        if self._indices.size < text.size // 3 + 1:  # " 1:" takes three bytes, and values are not looked at
            self._indices = np.empty(text.size // 3 + 1, np.int64)
        n_new, n_new_rows, low, high, is_fine = scan_columns(text, self._indices)
        if not is_fine or high > self._most:
            return False
        self._lowest, self._highest = min(self._lowest, low), max(self._highest, high)
        self._n_rows, self._n_entries = self._n_rows + n_new_rows, self._n_entries + n_new
        if high >= self._columns.size or self._n_rows > _INT32_MAX:
            n_columns = min(max(2 * self._columns.size, high + 1), self._most + 1)
            self._columns = _enlarged(self._columns, n_columns, self._n_rows)
        count_columns(self._indices[:n_new], self._columns)
        return True

    def count(self) -> Count:
        """Return what there was."""
        return Count(self._columns, self._n_rows, self._n_entries, self._lowest, self._highest)


def count_part(part: Part, journey: Journey, most: int) -> list[tuple[Part, Count]] | None:
    """Count entries by their indices, up to `most`; None if something is not as it should be.

    A gzip file is cut into parts meanwhile, so that threads can fill in what one had to count.
    """
    if isinstance(part, _PackedFile) and is_gzip(part.file):
        with suppress(OddGzipError):
            return _count_and_cut(part, journey, most)
    tally = _Tally(most)
    for text in part.blocks(journey):
        if not tally.add(text):
            return None
    return [(part, tally.count())]


def _count_and_cut(whole: _PackedFile, journey: Journey, most: int) -> list[tuple[Part, Count]] | None:
    tallies = [_Tally(most)]
    cuts: list[_GzipCut] = [_GzipCut(first_page(), 0)]
    for text, cut in whole.cut_blocks(journey):
        if not tallies[-1].add(text):
            return None
        if cut is not None:
            cuts.append(cut)
            tallies.append(_Tally(most))
    parts = [_GzipPart(whole.file, begin, end) for begin, end in itertools.zip_longest(cuts, cuts[1:])]
    return [(part, tally.count()) for part, tally in zip(parts, tallies, strict=True)]


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


class TextRows(NamedTuple):
    """Some rows, in arrays that the next ones are written to."""

    targets: Floats
    row_ends: Integers  # where the entries of a row end
    columns: Integers  # indices as they are written
    values: Floats


def stream_rows(file: Path, journey: Journey, expected: Expected) -> Iterator[TextRows]:
    """Yield all rows of a file, block by block; raise a ValueError where something is not as expected."""
    (part,) = cut_file(file, 1)
    n_lines = 1
    room = _Room(0, False)
    for text in part.blocks(journey):
        if room.n_bytes < text.size:
            room = _Room(text.size, False)
        n_new_lines, n_new, misfit = _parse(text, expected, room)
        if misfit is not None:
            raise ValueError(f"{file}:{n_lines + misfit.line}:{misfit.column}: {misfit.what}")
        n_lines += n_new_lines
        row_ends = room.row_ends[:n_new]
        n_entries = int(row_ends[-1]) if n_new else 0
        yield TextRows(room.targets[:n_new], row_ends, room.columns[:n_entries], room.values[:n_entries])


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

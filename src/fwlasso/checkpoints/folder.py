"""Runs that survive: a folder that holds the settings of a path and its points so far.

``settings.json`` tells what was asked, of which data, by which version and `code`, and on which grid, and whether all
points are there (`complete`) and the command line has written what comes of them (`kept`); ``segments/`` holds the
solved points, a file for every segment, and tells which run it is of. Paths on subsets of the samples, such as folds,
are runs of their own in ``subsets/``. Every file has a checksum, appears in one step and is on the disk before the work
goes on. A process may be killed at any moment: what it leaves is a run that can be gone on with.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._core.columns import Vector
from .._core.notices import warn_of_doubt
from .._version import __version__
from ..data.files import locked, naming, sync
from ..data.sealed import (
    Arrays,
    check_supports,
    is_number,
    json_text,
    open_arrays,
    read_record,
    require,
    write_arrays,
    write_record,
)
from ..problem.points import SolvedPath
from ..status import Status
from .code import changes, code_record

# The files of a run. Those of its results are written by the command line.
SETTINGS, SEGMENTS, SUBSETS = "settings.json", "segments", "subsets"
_OF_RATIO = "l1_ratio-"
PATH, PICTURE, REPORT, MODEL, CHOICE = "path.npz", "path.png", "report.html", "model.json", "choice.json"
_FORMAT, _SEGMENT, _VERSION = "fwlasso-run", "fwlasso-segment", 6


class Grid(NamedTuple):
    """The penalties lambda or the radii of a path, and how many columns were read to find them."""

    values: Vector
    n_read: int


class Checkpoint:
    """A run in its folder. `open_checkpoint` makes one."""

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self._record = record

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self._record["settings"]["seed"])

    @property
    def tol(self) -> float:
        """The tolerance of the run."""
        return float(self._record["settings"]["tol"])

    @property
    def is_complete(self) -> bool:
        """Whether all points of the path are there."""
        return bool(self._record["complete"])

    @property
    def is_saved(self) -> bool:
        """Whether the command line has kept what comes of the whole path."""
        return bool(self._record.get("kept", False))

    @property
    def grid(self) -> Grid | None:
        """The grid, once it is known."""
        found = self._record["grid"]
        return None if found is None else Grid(np.array(found["values"], dtype=np.float64), int(found["n_read"]))

    def save_grid(self, grid: Grid) -> None:
        """Keep the grid."""
        self._write(grid={"values": grid.values.tolist(), "n_read": grid.n_read})

    def mark_complete(self) -> None:
        """Take note that all points of the path are there."""
        if not self.is_complete:
            self._write(complete=True)

    def mark_saved(self) -> None:
        """Take note that what comes of the whole path is kept."""
        if not self.is_saved:
            self._write(kept=True)

    def segment(self, number: int, n_points: int, p: int) -> SolvedPath | None:
        """Return the points of a segment, of a matrix with p columns; None if it is not there."""
        file = self._file(number)
        if not file.exists():
            return None
        try:
            with open_arrays(file, _SEGMENT, _VERSION) as arrays:
                require(arrays.record["of"] == self._mark(number), "it belongs to another run or another segment")
                return _unpack(arrays, n_points, p)
        except ValueError as error:
            raise ValueError(f"{error}. Remove it, and its points are solved again") from error

    def save_segment(self, number: int, points: SolvedPath) -> None:
        """Keep the points of a segment."""
        record = {"format": _SEGMENT, "version": _VERSION, "of": self._mark(number)}
        statuses = [status.value for status in points.statuses]
        arrays = {name: getattr(points, name) for name in ("indptr", "columns", "coefs", "sums", "gaps", "counts")}
        write_arrays(self._file(number), {**record, "statuses": statuses}, arrays)

    def _mark(self, number: int) -> str:
        """Return what tells a segment of this run from all others."""
        asked = [self._record[name] for name in ("fwlasso", "settings", "data", "grid")]
        return hashlib.sha256(json_text([number, *asked]).encode()).hexdigest()

    def _file(self, number: int) -> Path:
        return self.folder / SEGMENTS / f"{number + 1}.npz"

    def _write(self, **changes: Any) -> None:
        self._record = {**self._record, **changes}
        write_record(self.folder / SETTINGS, self._record)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the run in a folder as it is; None if there is none."""
    file = folder / SETTINGS
    try:
        record = read_record(file, _FORMAT, _VERSION)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with naming(file, Exception):
        _check_record(record)
    return Checkpoint(folder, record)


def _check_record(record: dict[str, Any]) -> None:
    """Raise an exception unless the settings of a run are of the types that they were written with."""
    settings, data, grid = (record[name] for name in ("settings", "data", "grid"))
    is_known = isinstance(settings, dict) and type(settings.get("seed")) is int and isinstance(data, dict)
    flags = record["complete"], record["kept"]
    is_known = is_known and isinstance(record["code"], dict)
    require(is_known and isinstance(record["fwlasso"], str), "settings, data or version are not as they were written")
    require(all(type(flag) is bool for flag in flags), "complete and kept must be true or false")
    if grid is not None:
        values, n_read = grid["values"], grid["n_read"]
        is_grid = isinstance(values, list) and bool(values) and all(is_number(v) and v >= 0.0 for v in values)
        require(is_grid and type(n_read) is int and n_read >= 0, "the grid is not as it was written")


@contextmanager
def open_checkpoint(
    folder: Path, settings: dict[str, Any], data: dict[str, str], *, any_seed: bool = False
) -> Iterator[Checkpoint]:
    """Begin a run, or go on with the one in the folder, for the time of the context.

    A ValueError tells what has changed, by `settings` or by the fingerprint `data`, if the run there is another one, or
    that somebody is at work on it. With `any_seed` its seed is as good as that in `settings`.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        _sweep(folder)
        (folder / SEGMENTS).mkdir(exist_ok=True)
        run = read_checkpoint(folder)
        if run is None:
            asked = {"complete": False, "kept": False, "settings": settings, "data": data, "grid": None}
            by = {"fwlasso": __version__, "code": code_record()}
            run = Checkpoint(folder, {"format": _FORMAT, "version": _VERSION, **by, **asked})
            run._write()
            sync(folder.parent)
        else:
            left_out = {"seed"} if any_seed else set()
            _compare(run, settings, data, left_out)
            _tell_of_code(run)
        yield run


def alone_in(folder: Path) -> AbstractContextManager[None]:
    """Have a run for oneself, for the time of the context; raise a ValueError if another process is at work on it."""
    return locked(folder / ".lock", f"{folder}: another process is at work on this run")


def _compare(run: Checkpoint, settings: dict[str, Any], data: dict[str, str], left_out: set[str]) -> None:
    record = run._record
    if record["fwlasso"] != __version__:
        _refuse(run.folder, f"fwlasso was {record['fwlasso']}, and is {__version__}")
    # What was written is compared, so that a number is the same whatever type it had.
    settings = json.loads(json.dumps(settings))
    for name in {**record["settings"], **settings}:
        before, now = record["settings"].get(name), settings.get(name)
        if before != now and name not in left_out:
            _refuse(run.folder, f"{name} was {_brief(before)}, and is {_brief(now)}")
    for name in {**record["data"], **data}:
        if record["data"].get(name) != data.get(name):
            is_brief = name in ("shape", "target", "first_index") or name.endswith(".npy")  # the others are checksums
            what = f"{record['data'].get(name)}, and is {data.get(name)}" if is_brief else "different"
            _refuse(run.folder, f"the data have changed: {name} was {what}")


def _tell_of_code(run: Checkpoint) -> None:
    """Warn where a run that goes on was begun by other code, or on another processor."""
    changed = changes(run._record["code"], code_record())
    if changed and not run.is_complete:
        warn_of_doubt(
            f"{run.folder} was begun by other code: {changed}. The run goes on, but its last bits may differ from "
            "those of one that was not interrupted."
        )


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse(folder: Path, why: str) -> NoReturn:
    raise ValueError(f"{folder} holds another run: {why}. Continue it as it was started, or use another folder")


def subset_folder(folder: Path | str, number: int) -> Path:
    """Return the folder for the run on a subset of the samples, from 0, of a run on all of them."""
    return Path(folder) / SUBSETS / str(number + 1)


def ratio_folder(folder: Path | str, l1_ratio: float) -> Path:
    """Return the folder of the run with one of several l1_ratios."""
    return Path(folder) / f"{_OF_RATIO}{float(l1_ratio)}"


def of_ratios(folder: Path) -> list[Path]:
    """Return the folders of runs with several l1_ratios."""
    return sorted(folder.glob(f"{_OF_RATIO}*/"))


def clear_checkpoint(folder: Path) -> None:
    """Remove a run from a folder, and those on subsets of its samples, but for what other files are there."""
    for subset in (folder / SUBSETS).glob("*/"):
        with alone_in(subset):
            clear_checkpoint(subset)
        _remove_empty(subset)
    for file in (folder / SEGMENTS).glob("*.npz"):
        file.unlink()
    (folder / SETTINGS).unlink(missing_ok=True)
    _sweep(folder)
    for part in (SEGMENTS, SUBSETS):
        _remove_empty(folder / part)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # not there, or not empty
        folder.rmdir()


def _sweep(folder: Path) -> None:
    """Remove the unfinished files of the dead."""
    for place in (folder, folder / SEGMENTS):
        for part in place.glob(".*.part"):
            part.unlink(missing_ok=True)


def _unpack(arrays: Arrays, n_points: int, p: int) -> SolvedPath:
    indptr = arrays.take("indptr", np.int64, n_points + 1)
    n_coefs = int(indptr[-1])
    columns, coefs = arrays.take("columns", np.int64, n_coefs), arrays.take("coefs", np.float64, n_coefs)
    check_supports(indptr, columns, p)
    counts, statuses = arrays.take("counts", np.int64, n_points, 4), tuple(map(Status, arrays.record["statuses"]))
    require(bool((counts >= 0).all()), "a count is negative")
    require(len(statuses) == n_points, "there is not a status for every point")
    sums, gaps = arrays.take("sums", np.float64, n_points, 4), arrays.take("gaps", np.float64, n_points, finite=False)
    return SolvedPath(indptr, columns, coefs, sums, gaps, counts=counts, statuses=statuses, ending=None)

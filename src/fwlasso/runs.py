"""Runs that survive: a folder that holds the settings of a path and its points so far.

``settings.json`` tells what was asked, of which data, by which version, and on which grid, and whether all points are
there (`complete`) and the command line has written what comes of them (`kept`); ``segments/`` holds the solved points,
a file for every segment. Paths on subsets of the samples, such as folds, are runs of their own in ``subsets/``. Every
file appears in one step and is on the disk before the work goes on. A process may be killed at any moment: what it
leaves is a run that can be gone on with.
"""

import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .columns import Vector
from .datasets.atomic import lock, sync
from .datasets.compressed import replacing, write_text
from .iterate import NOTHING, Iterate, supports
from .solvers.run import Outcome
from .status import Status

# The files of a run. Those of its results are written by the command line.
SETTINGS, SEGMENTS, SUBSETS = "settings.json", "segments", "subsets"
PATH, PICTURE, REPORT, MODEL, CHOICE = "path.npz", "path.png", "report.html", "model.json", "choice.json"
_FORMAT, _VERSION = "fwlasso-run", 1


class Grid(NamedTuple):
    """The penalties lambda or the radii of a path, and how many columns were priced to find them."""

    values: Vector
    n_priced: int


class Run:
    """A run in its folder. `open_run` makes one."""

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self._record = record

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self._record["settings"]["seed"])

    @property
    def is_complete(self) -> bool:
        """Whether all points of the path are there."""
        return bool(self._record["complete"])

    @property
    def is_kept(self) -> bool:
        """Whether the command line has kept what comes of the whole path."""
        return bool(self._record.get("kept", False))

    @property
    def grid(self) -> Grid | None:
        """The grid, once it is known."""
        found = self._record["grid"]
        return None if found is None else Grid(np.array(found["values"], dtype=np.float64), int(found["n_priced"]))

    def keep_grid(self, grid: Grid) -> None:
        """Keep the grid."""
        self._write(grid={"values": grid.values.tolist(), "n_priced": grid.n_priced})

    def mark_complete(self) -> None:
        """Take note that all points of the path are there."""
        if not self.is_complete:
            self._write(complete=True)

    def mark_kept(self) -> None:
        """Take note that what comes of the whole path is kept."""
        if not self.is_kept:
            self._write(kept=True)

    def segment(self, number: int) -> list[Outcome] | None:
        """Return the points of a segment; None if it is not there."""
        file = self._file(number)
        if not file.exists():
            return None
        try:
            # numpy leaves a file open that it has opened and cannot read.
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                return _unpack(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{file} is damaged ({error}): remove it, and its points are solved again") from error

    def keep_segment(self, number: int, points: list[Outcome]) -> None:
        """Keep the points of a segment."""
        file = self._file(number)
        with replacing(file) as stream:
            np.savez(stream, **_pack(points))  # type: ignore[arg-type]

    def _file(self, number: int) -> Path:
        return self.folder / SEGMENTS / f"{number + 1}.npz"

    def _write(self, **changes: Any) -> None:
        self._record = {**self._record, **changes}
        write_json(self.folder / SETTINGS, self._record)


def write_json(file: Path, record: dict[str, Any]) -> None:
    """Write a record as JSON; the file is the old one or the new one, never a part."""
    write_text(file, json_text(record, indent=1) + "\n")


def json_text(record: Any, indent: int | None = None) -> str:
    """Return a record as JSON, which has no NaN and no infinity: they are null."""
    return json.dumps(_finite(record), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_run(folder: Path) -> Run | None:
    """Return the run in a folder as it is; None if there is none."""
    try:
        text = (folder / SETTINGS).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"{folder / SETTINGS} is not that of a run")
    version = record.get("version")
    if version != _VERSION:
        raise ValueError(f"{folder} is a run of another version of fwlasso (format {version!r}, known is {_VERSION})")
    if not _is_whole(record):
        raise ValueError(f"{folder / SETTINGS} is damaged: settings, data or grid are not as they were written")
    return Run(folder, record)


def _is_whole(record: dict[str, Any]) -> bool:
    settings, data, grid = (record.get(name) for name in ("settings", "data", "grid"))
    if not isinstance(settings, dict) or type(settings.get("seed")) is not int or not isinstance(data, dict):
        return False
    if not all(type(flag) is bool for flag in (record.get("complete"), record.get("kept", False))):
        return False
    if not isinstance(record.get("fwlasso"), str):
        return False
    if grid is None:
        return True
    values = grid.get("values") if isinstance(grid, dict) else None
    return isinstance(values, list) and bool(values) and all(type(v) is float for v in values) and "n_priced" in grid


@contextmanager
def open_run(folder: Path, settings: dict[str, Any], data: dict[str, str], *, any_seed: bool = False) -> Iterator[Run]:
    """Begin a run, or go on with the one in the folder, for the time of the context.

    Parameters
    ----------
    folder : path
    settings : what shapes the result, as JSON has it
    data : the fingerprint of the data
    any_seed : whether the seed of the run that is there is as good as the one in `settings`

    Raises
    ------
    ValueError
        The run in the folder is another one, in a line that tells what has changed; or somebody is at work on it.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    held = lock(folder)
    if held is None:
        raise ValueError(f"{folder}: another process is at work on this run")
    try:
        _sweep(folder)
        (folder / SEGMENTS).mkdir(exist_ok=True)
        run = read_run(folder)
        if run is None:
            asked = {"complete": False, "kept": False, "settings": settings, "data": data, "grid": None}
            run = Run(folder, {"format": _FORMAT, "version": _VERSION, "fwlasso": __version__, **asked})
            run._write()
            sync(folder.parent)
        else:
            left_out = {"seed"} if any_seed else set()
            _compare(run, settings, data, left_out)
        yield run
    finally:
        os.close(held)


def _compare(run: Run, settings: dict[str, Any], data: dict[str, str], left_out: set[str]) -> None:
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
            what = f"{record['data'].get(name)}, and is {data.get(name)}" if name == "shape" else "different"
            _refuse(run.folder, f"the data have changed: {name} was {what}")


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse(folder: Path, why: str) -> NoReturn:
    raise ValueError(f"{folder} holds another run: {why}. Go on as it was begun, or begin anew in another folder")


def subset_folder(folder: Path | str, number: int) -> Path:
    """Return the folder for the run on a subset of the samples, from 0, of a run on all of them."""
    return Path(folder) / SUBSETS / str(number + 1)


def clear_run(folder: Path) -> None:
    """Remove a run from a folder, and those on subsets of its samples, but for what other files are there."""
    for subset in (folder / SUBSETS).glob("*"):
        clear_run(subset)
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


def _pack(points: list[Outcome]) -> dict[str, NDArray[Any]]:
    indptr, columns, coefs = supports([point.iterate for point in points])
    return {
        "columns": columns,
        "coefs": coefs,
        "ends": indptr[1:],
        "numbers": np.array([(*point.iterate[5:8], point.gap) for point in points]),
        "counts": np.array([(point.n_iter, point.n_dots, point.n_priced) for point in points]),
        "statuses": np.array([point.status.value for point in points]),
    }


def _unpack(arrays: Any) -> list[Outcome]:
    ends = arrays["ends"].tolist()
    columns, coefs = (np.split(arrays[name], ends[:-1]) for name in ("columns", "coefs"))
    rest = zip(arrays["numbers"].tolist(), arrays["counts"].tolist(), arrays["statuses"].tolist(), strict=True)
    return [
        Outcome(
            Iterate(active, weights, NOTHING, active.size, 1.0, qq, qy, l1, 0),
            Status(status),
            n_iter,
            n_dots,
            gap,
            n_priced,
        )
        for active, weights, ((qq, qy, l1, gap), (n_iter, n_dots, n_priced), status) in zip(
            columns, coefs, rest, strict=True
        )
    ]

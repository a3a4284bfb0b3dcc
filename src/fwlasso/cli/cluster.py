"""Data for a command: here, or on a Dask cluster if an option names one."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..options import Options
from .options import Input, RunFolder
from .read import read_data
from .show import Detail

_OF_ROWS = "file", "target", "weights", "offset"  # that parquet files on a cluster are asked for


class Cluster(NamedTuple):
    """Where the data lie: here, unless an option is given."""

    workers: Annotated[int | None, typer.Option(min=1, help="Work with so many processes: a cluster of its own.")] = (
        None
    )
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on the cluster of this Dask scheduler.")
    ] = None
    scheduler_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="The same, by the file that a scheduler wrote."),
    ] = None

    @property
    def is_here(self) -> bool:
        """Whether there is none."""
        return self == Cluster()

    def check(self, source: Input, folder: RunFolder, **by_columns: Any) -> None:
        """Raise an error before any work starts for what a cluster is not, or rows on it are not, to be asked for."""
        given = [f"--{name.replace('_', '-')}" for name, value in self._asdict().items() if value is not None]
        if not given:
            return
        if len(given) > 1:
            raise ValueError(f"give one of {' and '.join(given)}")
        if find_spec("distributed") is None:
            raise ImportError(f'{given[0]} needs Dask: pip install "fwlasso[dask]"')
        if folder.resume:
            raise ValueError(f"--resume: runs with {given[0]} are saved when they are complete: leave it out")
        if _is_parquet(source.file):
            if source.target is None:
                raise ValueError(f"--target: name the response, a column of {source.file}")
            for name, value in {**source._asdict(), **by_columns}.items():
                if name not in _OF_ROWS and value not in (None, False):
                    raise ValueError(f"--{name.replace('_', '-')}: {given[0]} sums up all of a parquet: leave it out")
        elif not source.file.is_dir() and source.file.suffix not in (".npy", ".bed"):
            remedy = f"fwlasso convert {source.file} makes a store"
            raise ValueError(f"{given[0]} reads parquet, stores, .bed and .npy, and not {source.file}: {remedy}")

    @contextmanager
    def reading(self, source: Input, detail: Detail, options: Options) -> Iterator[Any]:
        """Within this context there are data on the cluster, by rows of parquet, else by columns."""
        from distributed import Client

        from ..distributed.opening import data_of, open_design

        where: dict[str, Any] = {"n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": None}
        if self.workers is None:
            where = {"address": self.scheduler} if self.scheduler else {"scheduler_file": str(self.scheduler_file)}
        with Client(**where) as client:
            X: Any = [source.file]
            beside = {"sample_weight": source.weights, "offset": source.offset}
            if not _is_parquet(source.file):
                X, beside = open_design(read_data(source, detail, options.loss), client=client), {}
            y = source.target if beside else None
            with data_of(X, y, options, client, **beside) as given:
                yield given.X


def _is_parquet(file: Path) -> bool:
    return file.suffix == ".parquet"

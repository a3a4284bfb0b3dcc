"""What users have on a cluster: rows to be summed up where they lie, or columns in parts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.design import as_design
from ..data.store import Store, open_store
from ..data.table import Table
from ..datasets.plink import open_bed
from ..file_sums import MOST_FEATURES
from ..options import Options
from ..problem.route import GRAM, WORKING_SET
from ..problems import check_summed
from .cluster import telling_of_endings
from .columns import ClusterDesign, Columnar, columnar
from .rows import RowChunks
from .tasks import Tasks, tasks_of


class Given(NamedTuple):
    """Data as solvers take them: rows have their response themselves."""

    X: Any
    y: Any
    samples: dict[str, Any]
    opened: Any = None  # what is to be closed after the call


def opened(X: Any, y: Any, options: Options, client: Any, **beside: Any) -> Given:
    """Return data on a cluster: tall ones by rows, wide ones, and what rows do not have, by columns."""
    if _are_rows(X, options):
        check_summed(options)
        return Given(RowChunks(X, y, **beside, fit_intercept=options.fit_intercept, client=client), None, {})
    design = X if isinstance(X, ClusterDesign) else open_design(X, client=client)
    numbers = {name: _here(it) for name, it in {"y": y, **beside}.items()}
    mine = None if design is X else design
    return Given(design if design.table is None else design.table, numbers.pop("y"), numbers, mine)


@contextmanager
def data_of(X: Any, y: Any, options: Options, client: Any, **beside: Any) -> Iterator[Given]:
    """Within this context there are data on a cluster; an ending before there are any points is an error."""
    given = opened(X, y, options, client, **beside)
    try:
        with telling_of_endings():
            yield given
    finally:
        if given.opened is not None:
            given.opened.close()


def _are_rows(X: Any, options: Options) -> bool:
    files = [X] if isinstance(X, str | Path) else X if isinstance(X, list | tuple) else []
    if hasattr(X, "divisions") or any(str(file).endswith(".parquet") for file in files):
        return True
    if not (hasattr(X, "dask") and getattr(X, "ndim", 0) == 2):
        return False
    m, p = X.shape
    by_columns = options.loss != "squared" or GRAM not in options.entry.routes or options.entry.routes[0] == WORKING_SET
    return bool((p <= MOST_FEATURES and not m <= p and not by_columns) or np.isnan(m))


def _here(values: Any) -> Any:
    """Return numbers by sample, which are needed here."""
    return values.compute() if hasattr(values, "dask") else values


def open_design(X: Any, *, n_parts: int | None = None, client: Any = None) -> ClusterDesign:
    """Open a matrix whose columns are to lie on a cluster, in parts.

    The workers read their parts from the same files as this process, which must be at the same place for all of them,
    and read them again where a worker was lost.

    Parameters
    ----------
    X : store, path of a store, a .npy file in column-major order, .bed files, or dask array
        Of several .bed files, such as one for every chromosome, all with the same samples, the columns are put side by
        side. Of a dask array a block of rows is moved between workers, once.
    n_parts : int, optional
        By default two for every thread of the cluster. No result depends on it.
    client : distributed.Client, optional
        By default the current one; if there is none, the parts are in this process.

    Returns
    -------
    ClusterDesign
        To be given to `lasso_path` and `lasso_cv`, any number of times.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso.distributed import lasso_path, open_design
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((30, 80)))
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     design = open_design(f"{folder}/X.npy", n_parts=2)
    ...     path = lasso_path(design, X[:, 3] - X[:, 5], alphas=10)
    >>> design.shape, path.counters.traffic.round_trips > 3
    ((30, 80), True)
    """
    tasks = tasks_of(client)
    n_parts = tasks.n_parts() if n_parts is None else n_parts
    if hasattr(X, "dask"):
        return ClusterDesign(_of_dask(X, n_parts, tasks), tasks)
    table: Any = None
    files = [X] if isinstance(X, str | Path) else X
    if isinstance(files, Sequence) and files and str(files[0]).endswith(".bed"):
        given = [open_bed(file) for file in files]
        of_files = tuple(name for it in given for name in it.X.feature_names or ())
        matrix = columnar([as_design(it.X).columns for it in given], n_parts, of_files or None)
    else:
        if isinstance(X, str | Path):
            X = np.load(X, mmap_mode="r") if str(X).endswith(".npy") else open_store(X)
        if isinstance(X, Store | Table):
            table = X
        design = as_design(X if table is None else table.X)
        names = None if table is None else table.feature_names
        matrix = columnar([design.columns], n_parts, names or design.feature_names)
    tasks.check_room(matrix.n_bytes_kept)
    found = ClusterDesign(matrix, tasks)
    if table is not None:
        known = ("feature_names", "target", "first_index", "means", "sample_weight", "offset")
        found.table = Table(found, table.y, **{name: getattr(table, name) for name in known})
    return found


def _of_dask(X: Any, n_parts: int, tasks: Tasks) -> Columnar:
    """Return the columns of a dask array in parts, each of them a block that has all rows."""
    m, p = X.shape
    if np.isnan(m) or np.isnan(p):
        raise ValueError("X must have chunks of known sizes to be read by columns: call compute_chunk_sizes() first")
    cuts = sorted({k * p // n_parts for k in range(n_parts + 1)})
    blocks = X.rechunk({0: -1, 1: tuple(np.diff(cuts).tolist())}).to_delayed().ravel()
    n_bytes = m * p * (4 if X.dtype == np.float32 else 8)
    entries: NDArray[np.int64] = np.full(p, m)
    tasks.check_room(n_bytes)
    pieces = [tasks.computed(block) for block in blocks]
    return Columnar(pieces, np.diff(cuts).tolist(), entries, m, n_bytes, n_bytes_kept=n_bytes, feature_names=None)

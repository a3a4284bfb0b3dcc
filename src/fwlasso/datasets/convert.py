"""Conversion of a file, or a part of it, to a store, in memory that does not grow with the matrix."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..data.files import replacing_folder
from ..data.progress import ProgressCallback, telling
from ..data.store import Store, open_store
from .fill import Indices, Selection
from .readers import open_source
from .source import Wanted
from .write import as_float_type, build, require_free


def convert(
    source: str | Path,
    folder: str | Path,
    *,
    target: str | None = None,
    rows: slice | Sequence[Any] | None = None,
    columns: slice | Sequence[Any] | None = None,
    exclude: Sequence[str] = (),
    dtype: Any = None,
    zero_based: bool | Literal["auto"] = "auto",
    drop_missing: bool = False,
    impute: str | Mapping[str, float] | None = None,
    weights: str | None = None,
    offset: str | None = None,
    progress: ProgressCallback | None = None,
) -> Store:
    r"""Convert a file to a store, block by block.

    The store appears when it is complete, in one step; an existing one is removed a moment earlier. Text
    and packed files are unpacked beside it on the way, which takes as much space on the disk again;
    Matrix Market text and COO matrices are read into memory.

    Parameters
    ----------
    source : path
        What `read_table` reads, including a store, but not genotypes, which are used in place.
    folder : path
        Where the store will be.
    target : str, optional
        The response, as in `read_table`.
    rows, columns : slice, sequence of int, of bool or of str, optional
        Which rows and columns to take, in this order. Names are those of the features and, of h5ad, of obs.
    exclude : sequence of str, optional
        Columns of csv, tsv and parquet to leave out.
    dtype : float64 or float32, optional
        By default that of the source, and float64 for text and integers.
    zero_based : bool or "auto"
        As in `read_table`.
    drop_missing, impute
        As in `read_table`, before `rows` are taken.
    weights, offset : str, optional
        As in `read_table`; the store keeps them beside the response.
    progress : callable, optional
        Called with a `Step` after every block.

    Returns
    -------
    Store

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso.datasets import convert
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.csv")
    ...     _ = file.write_text("age,dose,effect\n1,2,3\n4,5,6\n7,8,9\n")
    ...     store = convert(file, Path(folder, "store"), target="effect", columns=["dose"], rows=slice(1, None))
    >>> store.X.tolist(), store.y.tolist(), store.feature_names
    ([[5.0], [8.0]], [6.0, 9.0], ('dose',))
    """
    file, folder, dtype = Path(source), require_free(folder), as_float_type(dtype)
    tell = telling(progress)
    with replacing_folder(folder) as draft:
        scratch = draft / "scratch"
        scratch.mkdir()
        wanted = Wanted(target, _names(columns), exclude, zero_based, drop_missing=drop_missing, impute=impute)
        wanted = wanted._replace(weights=weights, offset=offset)

        def fill() -> None:  # maps of files in the scratch folder end with it: Windows removes no file that is mapped
            with open_source(file, wanted, scratch, tell) as opened:
                m, p = opened.shape
                chosen = _select(rows, m, opened.sample_names, "rows")
                selection = Selection(chosen, _select(columns, p, opened.feature_names, "columns"))
                try:
                    build(draft, opened, selection, dtype, tell)
                except ValueError as error:
                    raise error if str(file) in str(error) else ValueError(f"{file}: {error}") from error

        fill()
        shutil.rmtree(scratch)
    return open_store(folder)


def _names(columns: slice | Sequence[Any] | None) -> list[str] | None:
    """Return columns that are selected by name; None if they are not."""
    names = np.asarray([] if columns is None or isinstance(columns, slice) else columns)
    return names.tolist() if names.ndim == 1 and names.dtype.kind in "UO" else None


def _select(what: Any, n: int, names: tuple[str, ...] | None, argument: str) -> Indices | None:
    """Return the places of what is selected among n rows or columns, or raise a ValueError that names it."""
    if what is None:
        return None
    values = what if isinstance(what, slice) else np.asarray(what)
    if isinstance(values, np.ndarray) and (values.ndim != 1 or values.dtype.kind not in "iubUO"):
        raise ValueError(f"{argument} must be a slice or a sequence of int, bool or str, got {what!r}")
    if isinstance(values, np.ndarray) and values.dtype.kind in "UO":
        values = _find_names(values.tolist(), names, argument)
    try:
        chosen = np.arange(n)[values]
    except IndexError as error:
        raise ValueError(f"{argument}: {error}") from None
    if np.unique(chosen).size < chosen.size:
        raise ValueError(f"{argument} selects some more than once")
    if chosen.size == 0:
        raise ValueError(f"{argument} selects nothing")
    return chosen


def _find_names(wanted: list[Any], names: tuple[str, ...] | None, argument: str) -> Indices:
    if names is None:
        raise ValueError(f"{argument}: the source has no names, give numbers")
    places, counts = {name: place for place, name in enumerate(names)}, Counter(names)
    for name in wanted:
        if counts[name] != 1:
            what = f"more than one {name!r}" if counts[name] else f"no {name!r}; known are {', '.join(names[:10])}"
            raise ValueError(f"{argument}: there is {what}")
    return np.array([places[name] for name in wanted], np.int64)

"""Sums over the rows of a file that may be larger than memory: one pass over it, and no store in between."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal

import numpy as np

from ._core.threads import Workers, resolve_threads
from .data.files import naming
from .data.progress import ProgressCallback, telling
from .datasets.arrow_files import STDIN, stream_csv, stream_parquet
from .datasets.gaps import Block, check_gaps
from .datasets.libsvm_faults import Expected
from .datasets.libsvm_rows import first_index, stream_rows
from .datasets.readers import LIBSVM, TABLES, suffix_of
from .datasets.source import Wanted
from .gram.blocks import Coordinates
from .gram.row_sums import RowSums, better_coordinates
from .gram.streams import Batch, DenseRows, EntryRows, Stream, n_columns
from .gram.summed import SummedTable

#: Most features of a file that is summed up: 128 MB for each of the matrices.
MOST_FEATURES = 4000
_MOST_INDEX = 10**9
_N_READINGS = 2


class TooManyFeaturesError(ValueError):
    """A file has more features than its Gram matrix is to be made of."""


def sum_table(
    path: str | Path,
    target: str | None = None,
    *,
    fit_intercept: bool = True,
    zero_based: bool | Literal["auto"] = "auto",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    drop_missing: bool = False,
    weights: str | None = None,
    offset: str | None = None,
    n_threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> SummedTable:
    r"""Read a tall file once, of any size, and keep the inner products of its columns: all that certified paths need.

    Memory does not depend on the number of rows: 8 p^2 bytes for p features, for every thread and twice more. Up to
    4,000 features are taken. Blocks are cut by the numbers of rows, not by what a read brings, and added in order. The
    file is read a second time if squares of its numbers are out of the range of float64.

    Parameters
    ----------
    path : LIBSVM text, csv or tsv, packed or not, or parquet
    target, zero_based, columns, exclude, drop_missing
        As in `fwlasso.datasets.read_table`.
    weights, offset : str, optional
        Of a table, the columns with the weights of the rows, and with the known part of the response.
    fit_intercept : bool, default=True
        Whether paths will have an intercept.
    n_threads : int, optional
        By default all cores this process may use.
    progress : callable, optional
        Called with a `fwlasso.datasets.Step` after every block.

    Returns
    -------
    SummedTable
        To be given to `lasso_path`, any number of times.

    Raises
    ------
    ValueError
        As `read_table` does; a `TooManyFeaturesError`; if squares of the numbers are not finite.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso import lasso_path, sum_table
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.csv")
    ...     _ = file.write_text("age,dose,effect\n1,2,3\n4,5,6\n2,1,3\n")
    ...     table = sum_table(file, target="effect")
    >>> table.shape, table.feature_names
    ((3, 2), ('age', 'dose'))
    >>> len(lasso_path(table, alphas=5))
    5
    """
    file = Path(path)
    suffix = None if file == STDIN else suffix_of(file)
    if suffix not in (*LIBSVM, *TABLES):
        raise ValueError(f"{file}: the name must end in {', '.join((*LIBSVM, *TABLES))} to be read in one pass")
    if suffix in LIBSVM and (weights is not None or offset is not None):
        raise ValueError(f"{file}: weights and offset are columns of tables; fwlasso convert makes a store with them")
    if suffix in LIBSVM and (target is not None or columns is not None or exclude):
        raise ValueError(f"{file}: LIBSVM files have no names, and their target is the first number of every line")
    wanted = Wanted(target, columns, exclude, drop_missing=drop_missing, weights=weights, offset=offset)
    check_gaps(file, wanted, is_table=suffix not in LIBSVM)
    coordinates: Coordinates | None = None
    for _ in range(_N_READINGS):
        with ExitStack() as stack:
            stack.enter_context(naming(file))
            workers, rows = stack.enter_context(Workers(resolve_threads(n_threads))), _Watched(file)
            if suffix in LIBSVM:
                lowest = 1 if zero_based is False else 0
                names = origin = None
                # Closed here: garbage is collected in any thread, and it may be one that starts while a pool ends.
                text = closing(stream_rows(file, Expected(lowest, _MOST_INDEX), 1, telling(progress)))
                batches: Iterator[Batch] = (EntryRows(*rows[:4]) for rows in stack.enter_context(text))
            else:
                stream = stream_parquet if suffix == ".parquet" else stream_csv
                chosen, blocks = stack.enter_context(stream(file, wanted, telling(progress)))
                names, origin = chosen.features, chosen.target
                batches = _with_weights(blocks, list(chosen.others))
            found = Stream(fit_intercept, coordinates)
            found.add(rows.watch(batches), workers)
        base = first_index(zero_based, rows.lowest) if suffix in LIBSVM else None
        sums = found.sums(1 + (base or 0))  # there is at least one column of X
        no_shifts = np.zeros(found.vanished.size, np.bool_)
        coordinates = better_coordinates(sums.coordinates, sums.norms2, sums.products[0], found.vanished, no_shifts)
        if coordinates is None:
            break
    return SummedTable(_without_first(sums, base or 0), names, origin, base, rows.y_values, offset is not None)


def _with_weights(blocks: Iterator[Block], roles: list[str]) -> Iterator[Batch]:
    """Yield rows with their weights, without those of weight zero; the offset is taken off the response."""
    for values, others in blocks:
        known = dict(zip(roles, others, strict=True))
        y, weights = known["y"] - known.get("offset", 0.0), known.get("sample_weight")
        if weights is None:
            yield DenseRows(values, y)
            continue
        if (weights < 0.0).any():
            raise ValueError("sample_weight must be >= 0, and not zero for all samples")
        there = weights > 0.0
        yield DenseRows(np.compress(there, values, axis=1), y[there], weights[there])


def _without_first(sums: RowSums, n: int) -> RowSums:
    """Return the sums without the first n columns of X, which are not there."""
    kept = np.delete(np.arange(sums.norms2.size), np.arange(1, 1 + n))
    coordinates = Coordinates(sums.coordinates.shifts[kept], sums.coordinates.scales[kept])
    return sums._replace(products=sums.products[np.ix_(kept, kept)], coordinates=coordinates, norms2=sums.norms2[kept])


class _Watched:
    """What is to be known of the rows of a file besides their sums."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lowest = _MOST_INDEX
        self._y_values: set[float] = set()

    def watch(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield what comes."""
        n_rows = 0
        for batch in batches:
            y = batch.targets
            n_rows += y.size
            if len(self._y_values) <= 2:
                self._y_values.update(np.unique(y)[:3].tolist())
            most = MOST_FEATURES
            if isinstance(batch, EntryRows):
                self._lowest = min(self._lowest, int(batch.columns.min(initial=_MOST_INDEX)))
                most += self._lowest > 0  # indices may count from 1
            if n_columns(batch) > most:
                raise TooManyFeaturesError(f"{self._file}: there are more than {MOST_FEATURES} features")
            if y.size:
                yield batch
        if not n_rows:
            raise ValueError(f"{self._file}: there are no rows")

    @property
    def lowest(self) -> int:
        """The lowest index; -1 if there is none."""
        return self._lowest if self._lowest < _MOST_INDEX else -1

    @property
    def y_values(self) -> tuple[float, ...]:
        """The numbers in the response, if they are no more than two."""
        return tuple(sorted(self._y_values)) if len(self._y_values) <= 2 else ()

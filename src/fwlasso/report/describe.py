"""What is in a table, by a pass over it: lengths of columns, constant ones, copies, and what a path would cost."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.beside import Beside
from .._core.columns import Columns, count_entries
from .._core.threads import Workers, resolve_threads
from ..certified import BYTES_PER_COLUMN
from ..certified.duplicates import Duplicates
from ..data.checks import check_indices
from ..data.design import arrays_of
from ..data.inputs import as_data
from ..data.store import Store
from ..data.table import Table
from ..problem.build import build_problem
from ..problem.passes import LocalPass

# Of a certified path, for the cosines of active columns and their factor.
_BYTES_FOR_COSINES = 2 * 8 * 1500**2


class Description(NamedTuple):
    """What is known of a table."""

    n_samples: int
    n_features: int
    n_entries: int  # numbers stored
    kind: str  # dense, csc or bed
    dtype: str
    n_bytes: int
    conversion: str | None  # what a path would have to convert first
    lengths: dict[str, int]  # columns by the number of entries stored: "2-3" has those of two and three
    n_constant: int
    n_copies: int  # columns that are equal to an earlier one, or opposite to it, constant ones left out
    path_bytes: int  # memory that a path needs beyond the data, about
    weights: tuple[float, float] | None = None  # of samples that are not left out: the smallest and the largest
    n_left_out: int = 0  # samples of weight zero
    has_offset: bool = False


def describe(table: Table | Store, n_threads: int | None = None) -> Description:
    """Read a table and tell what is in it; copies are found by the hash of the certified path, and verified."""
    check_indices(table.X)
    with Workers(resolve_threads(n_threads)) as workers:
        data = as_data(table, None, workers)
        design, weights = data.design, data.weights
        problem = build_problem(
            design, data.response, fit_intercept=True, standardize=True, workers=workers, weights=weights
        )
        varying = np.flatnonzero(problem.norms2 > 0.0)
        n_distinct = Duplicates(LocalPass(problem, workers)).distinct(varying).size
    m, p = data.shape
    there = np.empty(0) if weights is None else weights[weights > 0.0]
    columns, arrays = design.columns, list(arrays_of(design.columns).values())
    lengths = count_entries(columns, np.arange(p))
    return Description(
        n_samples=m,
        n_features=p,
        n_entries=int(lengths.sum()),
        kind=_kind_of(columns),
        dtype=str(arrays[0].dtype),
        n_bytes=sum(array.nbytes for array in arrays),
        conversion=design.conversion,
        lengths=_histogram(lengths),
        n_constant=p - varying.size,
        n_copies=varying.size - n_distinct,
        path_bytes=BYTES_PER_COLUMN * p + min(_BYTES_FOR_COSINES, 2 * 8 * min(m, p) ** 2),
        weights=(float(there.min()), float(there.max())) if there.size else None,
        n_left_out=0 if weights is None else m - there.size,
        has_offset=data.offset is not None,
    )


def _kind_of(columns: Columns) -> str:
    parts = columns if isinstance(columns, Beside) else (columns,)
    return " and ".join(type(part).__name__.lower() for part in parts)


def _histogram(lengths: NDArray[np.int64]) -> dict[str, int]:
    """Count lengths by powers of two; zero has a place of its own."""
    if lengths.min() == lengths.max():
        return {str(int(lengths[0])): int(lengths.size)}
    powers = np.frexp(lengths)[1]  # 0 for 0, k for 2^(k-1) .. 2^k - 1
    counts = np.bincount(powers)
    names = ["0", "1", *(f"{1 << k}-{(2 << k) - 1}" for k in range(1, counts.size))]
    return {name: int(count) for name, count in zip(names, counts, strict=False) if count}

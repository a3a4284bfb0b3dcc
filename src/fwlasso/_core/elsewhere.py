"""Columns that are not in this process: kernels may ask for their sizes, and read none."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, column_entries, read_only, shape
from .standardized import Shifted, Standardized
from .weighted import Weighted


class Elsewhere(NamedTuple):
    """What is known here of columns on other machines."""

    entries: NDArray[np.int64]  # the numbers in memory of every column
    n_rows: int
    n_bytes: int  # that a pass reads
    number: int  # of the design that they are of

    @property
    def nbytes(self) -> int:
        """As many bytes as a pass over the columns reads where they lie."""
        return self.n_bytes


@shape.register(Elsewhere)
def _(X):
    return X.n_rows, X.entries.size


@column_entries.register(Elsewhere)
def _(X, j):
    return X.entries[j]


def around(X: Columns, storage: Columns, which: Any) -> Columns:
    """Return a storage of some columns of X in the wrappers that X has: `which` is a slice, or their numbers."""
    if isinstance(X, Standardized):
        means, factors = (read_only(values[which]) for values in (X.means, X.factors))
        return Standardized(around(X.columns, storage, which), means, factors)
    if isinstance(X, Shifted):
        return Shifted(around(X.columns, storage, which), read_only(X.origins[which]))
    return X._replace(columns=around(X.columns, storage, which)) if isinstance(X, Weighted) else storage

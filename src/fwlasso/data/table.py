"""A design matrix with its response and its names: what a file holds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Numbers by sample that may be there beside the response.
BESIDE_Y = "sample_weight", "offset"


class Table(NamedTuple):
    """A design matrix, a response and, where the file has them, the names of the features.

    Attributes
    ----------
    X, y, feature_names
    target : str or None
        Where the response comes from: a column, an array, or a file.
    first_index : int or None
        What LIBSVM text calls the first column, 0 or 1.
    means : array or None
        Of the columns, where they stand in the place of values that were missing.
    sample_weight, offset : array or None
        The weights of the samples, and the known part of the response: paths use them as they use y.

    Examples
    --------
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> from fwlasso.datasets import Table
    >>> lasso_path(Table(np.eye(3), np.array([1.0, 2.0, 4.0]), ("a", "b", "c"))).feature_names
    ('a', 'b', 'c')
    """

    X: Any
    y: NDArray[np.float64]
    feature_names: tuple[str, ...] | None = None
    target: str | None = None
    first_index: int | None = None
    means: NDArray[np.float64] | None = None
    sample_weight: NDArray[np.float64] | None = None
    offset: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"<Table: X of shape {getattr(self.X, 'shape', 'unknown')}{described(self.feature_names, self.target)}>"


def described(names: Sequence[str] | None, target: str | None) -> str:
    """Return what is known of the features and the response by name, for the end of a line."""
    features = "" if names is None else ", ".join(["", *map(str, names[:3])]) + ", ..." * (len(names) > 3)
    return features + ("" if target is None else f"; response {target}")

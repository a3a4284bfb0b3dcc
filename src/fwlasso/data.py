"""The border: data as users have them, validated, and a store or a table taken apart."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp

from .bed import Genotypes
from .columns import Vector, shape
from .datasets.new_rows import match_columns
from .design import Design, as_design
from .fingerprint import fingerprint
from .frames import names_beside
from .indices import check_indices
from .parallel import Workers
from .problem import as_response
from .store import Store, as_store
from .table import Table


class Data(NamedTuple):
    """Validated data, and the store that it is in, if it is in one."""

    design: Design
    response: Vector
    store: Store | None
    X: Any  # as it was given, in a store, a table or by itself
    origin: dict[str, Any]  # what a store or a table tells of its response and its columns

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        m, p = shape(self.design.columns)
        return m, p

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features."""
        return self.design.feature_names

    @property
    def conversion(self) -> str | None:
        """What had to be converted."""
        return self.design.conversion

    def fingerprint(self) -> dict[str, str]:
        """Return checksums of the data, and what is told of their origin."""
        variants = self.X.variants if isinstance(self.X, Genotypes) else None
        marks = fingerprint(self.design, self.response, self.store, variants)
        return marks | {name: str(value) for name, value in self.origin.items()}


def as_data(X: Any, y: Any, workers: Workers | None = None, feature_names: Any = None) -> Data:
    """Validate X and y, on threads if there are any; a store and a table have names, and a response by default.

    Names that are given take the place of those that X has.
    """
    held = as_held(X)
    matrix = X if held is None else held.X
    if sp.issparse(matrix) and matrix.format != "csc":  # the indices of CSC are looked at where they lie, on threads
        check_indices(matrix)
    origin: dict[str, Any] = {}
    if held is None:
        design = as_design(X, workers)
    else:
        X = held.X
        design = as_design(X, workers)
        if held.feature_names is not None:
            design = design._replace(feature_names=held.feature_names)
        known = {"target": held.target if y is None else None, "first_index": held.first_index}
        origin = {name: value for name, value in known.items() if value is not None}
        y = held.y if y is None else y
    if feature_names is not None:
        p = shape(design.columns)[1]
        if len(feature_names) != p:
            raise ValueError(f"feature_names must be one for each of the {p} features of X, got {len(feature_names)}")
        design = design._replace(feature_names=tuple(map(str, feature_names)))
    return Data(design, as_response(y, design.n_samples), held if isinstance(held, Store) else None, X, origin)


def as_held(X: Any) -> Store | Table | None:
    """Return the store or the table that X is, or the store that it names; None where X is a matrix by itself."""
    return X if isinstance(X, Table) else as_store(X)


def matrix_and_names(
    X: Any, n_features: int, first_index: int | None, known: Sequence[str] | None
) -> tuple[Any, tuple[str, ...] | None]:
    """Return the matrix of data to predict from, in a store, a table or by itself, and the names of its columns.

    `known` are those of the model: see `names_beside`. Rows of LIBSVM text have the columns of the model
    then: see `match_columns`.
    """
    held = as_held(X)
    check_indices(X if held is None else held.X)
    matrix = X if held is None else match_columns(held, n_features, first_index)
    if held is not None and held.feature_names is not None:
        return matrix, held.feature_names
    return matrix, matrix.feature_names if isinstance(matrix, Genotypes) else names_beside(matrix, known)

"""The border: data as users have them, validated, and a store or a table taken apart."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Vector, shape
from .._core.threads import Workers
from .checks import as_offset, as_response, as_weights, check_indices
from .design import Design, as_design, described
from .fingerprint import checksum, fingerprint
from .labels import Classes, as_target
from .store import Store, as_container


class Data(NamedTuple):
    """Validated data, and the store that it is in, if it is in one."""

    design: Design
    response: Vector
    store: Store | None
    X: Any  # as it was given, in a store, a table or by itself
    origin: dict[str, Any]  # what a store or a table tells of its response and its columns
    means: NDArray[np.float64] | None = None  # of the columns, where they stand for missing values
    weights: Vector | None = None  # of the samples, if they do not count alike
    offset: Vector | None = None  # what was taken off the response; of other losses than least squares it is beside it
    loss: str = "squared"
    classes: Classes = None  # the labels of a response of two classes, which has zeros and ones for them

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        m, p = shape(self.design.columns)
        return m, p

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features."""
        return self.design.feature_names

    def fingerprint(self) -> dict[str, str]:
        """Return checksums of the data, and what is told of their origin."""
        known = described(self.X)
        marks = fingerprint(self.design, self.response, self.store, None if known is None else known.variants)
        given = {"sample weights": self.weights, "offset": self.offset}
        marks |= {name: checksum(values) for name, values in given.items() if values is not None}
        return marks | {name: str(value) for name, value in self.origin.items()}


def as_data(
    X: Any,
    y: Any,
    workers: Workers | None = None,
    feature_names: Any = None,
    *,
    loss: str = "squared",
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
) -> Data:
    """Validate X and y, on threads if there are any; a store and a table have names, and by default a response.

    So it is with weights and an offset.

    Names that are given take the place of those that X has. The response is that of users less the offset, for
    least squares.
    """
    container, origin = as_container(X), {}
    X = X if container is None else container.X
    if sp.issparse(X) and X.format != "csc":  # the indices of CSC are looked at where they lie, on threads
        check_indices(X)
    design = as_design(X, workers)
    if container is not None:
        if container.feature_names is not None:
            design = design._replace(feature_names=container.feature_names)
        known = {"target": container.target if y is None else None, "first_index": container.first_index}
        origin = {name: value for name, value in known.items() if value is not None}
        y = container.y if y is None else y
        sample_weight = container.sample_weight if sample_weight is None else sample_weight
        offset = container.offset if offset is None else offset
    if (own := described(X)) is not None:
        own.check_order(y)
    if feature_names is not None:
        p = shape(design.columns)[1]
        if len(feature_names) != p:
            raise ValueError(f"feature_names must be one for each of the {p} features of X, got {len(feature_names)}")
        design = design._replace(feature_names=tuple(map(str, feature_names)))
    store = container if isinstance(container, Store) else None
    means = None if container is None else container.means
    m = design.n_samples
    weights = None if sample_weight is None else as_weights(sample_weight, m)
    if strata is not None and loss != "cox":
        raise ValueError(f"strata: they are for loss='cox', got loss={loss!r}")
    response, classes = (as_response(y, m), None) if loss == "squared" else as_target(loss, y, m, weights, strata)
    if offset is not None:
        offset = as_offset(offset, m)
        response = response - offset if loss == "squared" else response
    return Data(design, response, store, X, origin, means, weights=weights, offset=offset, loss=loss, classes=classes)

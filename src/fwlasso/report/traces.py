"""Traces: the features that were ever active, by strength, and their coefficients along the path."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Vector

if TYPE_CHECKING:
    from ..result import LassoPath


class Traces(NamedTuple):
    """Features, the strongest first, and their scaled coefficients at every point."""

    features: NDArray[np.int64]
    values: NDArray[np.float64]  # a row for every feature, a column for every point
    factors: Vector  # coefficient over scaled coefficient, the same at all points


def ever_active(path: "LassoPath") -> Traces:
    """Return every feature that was ever active, ordered by the largest modulus of its scaled coefficient.

    The work is that of the nonzero coefficients: columns that were never active cost nothing.
    """
    scaled = path.scaled_coefs
    features, first, rows = np.unique(scaled.indices, return_index=True, return_inverse=True)
    values = sp.csc_array((scaled.data, rows, scaled.indptr), shape=(features.size, len(path))).toarray()
    factors = path.coefs.data[first] / scaled.data[first]
    order = np.argsort(-np.abs(values).max(axis=1, initial=0.0), kind="stable")
    return Traces(features[order].astype(np.int64), values[order], factors[order])


def names_of(path: "LassoPath", features: NDArray[np.int64]) -> list[str]:
    """Return the names of some features; their numbers if they have none, as LIBSVM text counts, or from 0."""
    first = path.first_index or 0
    return [str(j + first) if path.feature_names is None else path.feature_names[j] for j in features.tolist()]


def labels_of(path: "LassoPath", features: NDArray[np.int64]) -> list[str]:
    """Return the names of some features; of a variant also chromosome, position, effect allele and other allele."""
    names = dict(zip(features.tolist(), names_of(path, features), strict=True))
    known = {j: "{} ({}:{} {}/{})".format(names[j], *v) for j, v in path.variants.items() if j in names}
    return list((names | known).values())

"""Reading further rows for a model that is there: with its number of features, and with or without a response."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.notices import warn_of_doubt
from ..data.predict import fit_columns
from ..data.table import Table
from .libsvm import read_libsvm
from .plink import open_bed


class NewRows(NamedTuple):
    """Rows to predict: a matrix, the response if it is known, and the names of the columns if they have any.

    Of genotypes, a phenotype that is missing is NaN.
    """

    X: Any
    y: NDArray[np.float64] | None
    feature_names: tuple[str, ...] | None = None


class Features(NamedTuple):
    """What a model knows of its features."""

    n_features: int
    names: Sequence[str] | None = None  # of those that it uses
    first_index: int | None = None  # what its data called the first one, if they were LIBSVM text


def bed_rows(file: Path, known: Features, zero_based: bool | None) -> NewRows:
    """Open genotypes for a model."""
    bed = open_bed(file)
    if bed.phenotype is not None and np.isnan(bed.phenotype).any():
        n_known = np.count_nonzero(~np.isnan(bed.phenotype))
        warn_of_doubt(
            f"{file}: scores are of the {n_known} of {bed.phenotype.size} samples with a phenotype in its .fam"
        )
    return NewRows(bed.X, bed.phenotype, bed.feature_names)


def libsvm_rows(file: Path, known: Features, zero_based: bool | None) -> NewRows:
    """Read LIBSVM text for a model."""
    rows = read_libsvm_rows(file, known.first_index, zero_based)
    is_foreign = known.first_index is None and rows.X.shape[1] > known.n_features
    return NewRows(rows.X if is_foreign else fit_columns(rows.X, known.n_features), rows.y)


def read_libsvm_rows(file: Path, first_index: int | None, zero_based: bool | None) -> Table:
    """Read LIBSVM text by what is known of it, or else as the data of the model were read.

    Raises
    ------
    ValueError
        Neither is known, and the file does not tell.
    """
    known = first_index == 0 if zero_based is None and first_index is not None else zero_based
    try:
        X, y, found = read_libsvm(file, "auto" if known is None else known)
    except ValueError as error:
        if zero_based is not None or "an index of at least 1" not in str(error):
            raise
        remedy = (
            "if this file alone counts from 0, fwlasso predict --zero-based reads it; "
            "if they do, too, fit again with --zero-based (zero_based=True)"
        )
        raise ValueError(
            f"{error}: indices count from 1, as there is no 0 in the data of the model; {remedy}"
        ) from None
    if known is None and found == 1:
        raise ValueError(
            f"{file}: there is no index 0, and the model was not fitted to LIBSVM text: tell whether indices count "
            "from 0 or 1 by --zero-based or --one-based"
        )
    return Table(X, y, first_index=found if first_index is None else first_index)

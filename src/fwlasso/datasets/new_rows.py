"""Reading further rows for a model that is there: with its number of features, and with or without a response."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.notices import warn_of_doubt
from ..data.design import described
from ..data.files import naming
from ..data.predict import fit_columns, match_columns
from ..data.table import Table
from .binary_files import read_beside
from .libsvm import read_libsvm
from .readers import LIBSVM, check_ids, read, reader_of, suffix_of
from .source import Wanted


class Features(NamedTuple):
    """What a model knows of its features."""

    n_features: int
    names: Sequence[str] | None = None  # of those that it uses
    first_index: int | None = None  # what its data called the first one, if they were LIBSVM text
    means: Sequence[float] | None = None  # of the features that have names, if missing values were imputed


class _Unused(dict[str, float]):
    """Means for the columns that a model without features does not use: any number will do."""

    def __contains__(self, _name: object) -> bool:
        return True

    def get(self, _name: str, _default: Any = None) -> float:
        """Return a number."""
        return 0.0


def read_new_rows(file: str | Path, wanted: Wanted, known: Features, zero_based: bool | None = None) -> Table:
    """Read what is wanted of the rows for a model, which has their columns then.

    Of tables, the columns that the model uses are read, if it knows their names. Without a `target`, tables, arrays and
    matrices need no response; what a file has of it in any case (LIBSVM, stores, the y of an npz, the phenotypes of a
    bed, which may be NaN) is read.
    """
    file, target = Path(file), wanted.target
    reader = reader_of(file)
    check_ids(file, reader, wanted, is_new=True)
    if target is None and not file.is_dir() and suffix_of(file) in LIBSVM:
        with naming(file):
            rows: Table = read_beside(file, wanted, read_libsvm_rows(file, known.first_index, zero_based))
        is_foreign = known.first_index is None and rows.X.shape[1] > known.n_features
        return rows._replace(X=rows.X if is_foreign else fit_columns(rows.X, known.n_features), first_index=None)
    if reader.has_names:
        means = None if known.means is None else dict(zip(known.names or (), known.means, strict=True))
        if known.names is not None and not known.names:
            means = _Unused()
        wanted = wanted._replace(columns=known.names or None, impute=means)
    rows = read(file, wanted)
    if rows.y is not None and np.isnan(rows.y).any():
        n_known = np.count_nonzero(~np.isnan(rows.y))
        is_fam = described(rows.X) is not None and target is wanted.pheno is None
        what = "a phenotype in its .fam" if is_fam else f"a value of {rows.target}"
        warn_of_doubt(f"{file}: scores cover the {n_known} of {rows.y.size} samples with {what}")
    with naming(file):
        return rows._replace(X=match_columns(rows, known.n_features, known.first_index), first_index=None, target=None)


def read_libsvm_rows(file: Path, first_index: int | None, zero_based: bool | None) -> Table:
    """Read LIBSVM text by what is known of it, or as the data of the model were read; a ValueError if neither is."""
    known = first_index == 0 if zero_based is None and first_index is not None else zero_based
    try:
        rows = read_libsvm(file, "auto" if known is None else known)
    except ValueError as error:
        if zero_based is not None or "an index of at least 1" not in str(error):
            raise
        remedy = (
            "if only this file counts from 0, fwlasso predict --zero-based reads it; "
            "if those data do, too, fit again with --zero-based (zero_based=True)"
        )
        raise ValueError(
            f"{error}: indices count from 1, since there is no 0 in the data of the model; {remedy}"
        ) from None
    if known is None and rows.first_index == 1:
        raise ValueError(
            f"{file}: there is no index 0, and the model was not fitted to LIBSVM text: say whether indices count "
            "from 0 or 1 by --zero-based or --one-based"
        )
    return rows if first_index is None else rows._replace(first_index=first_index)

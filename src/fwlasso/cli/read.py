"""Reading data for a command: by its options, and with a word on what may not be meant."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.notices import warn_of_doubt
from .._core.threads import physical_memory
from ..data.design import described
from ..data.frames import are_numbers
from ..data.predict import match_columns
from ..data.store import Store, open_store
from ..datasets import Table, read_table
from ..datasets.arrow_files import shortened
from ..datasets.binary_files import read_beside
from ..datasets.new_rows import read_libsvm_rows
from ..datasets.readers import LIBSVM, TABLES, suffix_of
from ..datasets.source import Wanted
from ..file_sums import TooManyFeaturesError, sum_table
from ..gram.summed import SummedTable
from ..options import Options
from ..problem.route import GRAM
from .names import names_in
from .options import Input
from .show import Detail, noting_warnings, shape_of, steps_of

#: Files of more than this share of the memory are summed up while they are read, unless they have too many columns.
LARGE_FILE = 0.4


def read_data(source: Input, detail: Detail, loss: str = "squared") -> Store | Table:
    """Open a store, or read a file, and note what is to be known of it, for a loss."""
    file = source.file
    with noting_warnings(detail):
        if source == Input(file, zero_based=source.zero_based) and file.is_dir():
            data: Store | Table = open_store(file)
        else:
            chosen = _chosen(source) | {"impute": source.impute}
            data = read_table(file, source.target, **chosen, **_of_samples(source))
        _warn_of_doubts(data, np.unique(data.y) if loss == "squared" else np.empty(0), source)
    note_first_index(data, file, detail, source.zero_based)
    return data


def read_sums(source: Input, detail: Detail, options: Options) -> SummedTable | None:
    """Sum up a tall file that may be larger than memory, or that the solver asks for; None if there is no need to.

    A file that is not asked for by solver "gram" is read as others are if it has too many features.
    """
    file = source.file
    if file.is_dir() or suffix_of(file) not in (*LIBSVM, *TABLES) or any(_of_samples(source).values()):
        return None
    is_large = file.is_file() and file.stat().st_size > LARGE_FILE * physical_memory()
    if (
        options.loss != "squared"
        or GRAM not in options.entry.routes
        or not (is_large or options.entry.routes == (GRAM,))
    ):
        return None
    if source.impute is not None and is_large:
        remedy = "fwlasso convert --impute mean makes a store of it"
        raise ValueError(f"impute: {file} is large beside the memory, and would be read once: {remedy}")
    if source.impute is not None:
        return None
    with noting_warnings(detail), steps_of(detail) as show:
        wanted = _chosen(source) | {"fit_intercept": options.fit_intercept, "n_threads": options.n_threads}
        try:
            data = sum_table(file, source.target, **wanted, progress=show)
        except TooManyFeaturesError:
            if options.entry.routes == (GRAM,):
                raise
            return None
        _warn_of_doubts(data, np.array(data.y_values), source)
    note_first_index(data, file, detail, source.zero_based)
    return data


def _chosen(source: Input) -> dict[str, Any]:
    """Return what is taken of a file, as its readers ask for it."""
    zero_based = "auto" if source.zero_based is None else source.zero_based
    names = {"columns": names_in(source.columns), "exclude": names_in(source.exclude) or ()}
    return {"zero_based": zero_based, **names, "drop_missing": source.drop_missing, **_beside(source)}


def _beside(source: Input) -> dict[str, Any]:
    """Return what is asked for beside the response."""
    return {"weights": source.weights, "offset": source.offset}


def _of_samples(source: Input) -> dict[str, Any]:
    """Return what is asked for by the ids of samples."""
    return {name: getattr(source, name) for name in ("pheno", "covariates", "keep", "remove")}


def note_first_index(data: Store | Table | SummedTable, file: Path, detail: Detail, zero_based: bool | None) -> None:
    """Note what LIBSVM indices count from, if nobody said so."""
    if data.first_index == 1 and zero_based is None and not file.is_dir():
        detail.note("indices count from 1, since none of them is 0; --zero-based counts from 0")


def read_validation(file: Path, data: Store | Table | SummedTable, source: Input, detail: Detail) -> Table:
    """Read data to score the models of `data` on, which came from `source`; they must have the same features."""
    target = source.target
    p, names = shape_of(data)[1], data.feature_names
    suffix = None if file.is_dir() else suffix_of(file)
    with noting_warnings(detail):
        if suffix in LIBSVM and target is None:
            rows = read_libsvm_rows(file, data.first_index, source.zero_based)
            held_out: Table = read_beside(file, Wanted(**_beside(source)), rows)
        elif suffix in TABLES and names is not None:  # all by name, the response, too
            means = None if data.means is None else dict(zip(names, data.means.tolist(), strict=True))
            asked: dict[str, Any] = {"drop_missing": source.drop_missing, "impute": means, **_beside(source)}
            found = read_table(file, target or data.target, columns=names, **asked)
            places = {name: j for j, name in enumerate(found.feature_names or ())}
            held_out = found._replace(X=found.X[:, [places[name] for name in names]], feature_names=names)
        else:
            beside = {} if file.is_dir() else _beside(source)
            held_out = read_table(file, target, pheno=source.pheno, covariates=source.covariates, **beside)
        if described(held_out.X) is not None:  # whose columns are found by name
            return held_out
        try:
            X = match_columns(held_out, p, data.first_index)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    if X.shape[1] != p:
        raise ValueError(f"{file} has {X.shape[1]} features, and the data of the path have {p}")
    other = held_out.feature_names
    if other is not None and names is not None and other != names:
        j = next(j for j in range(p) if other[j] != names[j])
        raise ValueError(f"{file}: feature {j + 1} is {other[j]!r}, and that of the path is {names[j]!r}")
    return held_out._replace(X=X)


def _warn_of_doubts(data: Store | Table | SummedTable, responses: NDArray[np.float64], source: Input) -> None:
    """Warn of a response with two values, given those that are there, and of columns that may not be meant."""
    file, target = source.file, data.target
    if responses.size == 2 < shape_of(data)[0]:
        what = f"the response {target!r}" if target else "the response"
        values = f"{responses[0]:g} and {responses[1]:g}"
        warn_of_doubt(
            f"{file}: {what} has two values, {values}: this is least squares, not classification: --loss logistic is"
        )
    if file.is_dir() or suffix_of(file) not in TABLES:
        return
    names = (*(data.feature_names or ()), str(target))
    if source.target is None:
        others = f"--target names another of {shortened(names)}"
        warn_of_doubt(f"{file}: the response is {target!r}, the last column; {others}")
    nameless = [name for name in names if not name or name.startswith(("Unnamed: ", "__index_level_"))]
    if nameless:
        warn_of_doubt(f"{file}: a column without a name is used as a feature; --exclude {nameless[0]!r} leaves it out")
    if are_numbers(names):
        warn_of_doubt(f"{file}: all names in the first row are numbers: is it a row of data?")

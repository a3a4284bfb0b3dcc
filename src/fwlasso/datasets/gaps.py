"""Cells of a table without a value: their rows are left out, or means take their places, and a notice counts them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.notices import warn_of_doubt
from ..data.checks import check
from ..data.frames import first_of, is_number
from .source import BLOCK_BYTES, Wanted, cuts

#: How a cell without a value is written, in small letters.
MISSING = frozenset({"", "na", "nan", "n/a", ".", "?", "none", "null", "<na>", "nat", "#n/a"})
#: All ways to write it that are read: of names, numbers and blanks, as programs write them.
SPELLINGS = [
    blank + text for blank in ("", " ") for text in sorted({*MISSING, *map(str.upper, MISSING), "NaN", "NaT", "None"})
]

_LEAVE_OUT = "leave the column out with --exclude (exclude= in Python)"
_REMEDY = (
    "fill it, leave out such rows with --drop-missing, give them the mean of the column with --impute mean "
    f"(drop_missing=True, impute='mean' in Python), or {_LEAVE_OUT}"
)
_REMEDY_OF_MODELS = (
    "fill it: a model that was fitted with --impute mean has means for such cells, and this one has none"
)
#: What to do with text.
REMEDY_OF_TEXT = (
    f"convert the column to numbers (of categories, pandas.get_dummies makes columns of 0 and 1), or {_LEAVE_OUT}"
)

#: Some rows: the numbers of features, a row of the array for every column, and those of the response and beside it.
Block = tuple[NDArray[np.float64], NDArray[np.float64]]


def check_gaps(file: Path, wanted: Wanted, *, is_table: bool) -> None:
    """Raise a ValueError that names what is asked of cells without a value, unless it can be done."""
    drop, impute = wanted.drop_missing, wanted.impute
    check("drop_missing", drop, isinstance(drop, bool), "True or False")
    check("impute", impute, impute in (None, "mean") or isinstance(impute, Mapping), "mean or None")
    if drop and impute is not None:
        raise ValueError("give drop_missing or impute, not both")
    if (drop or impute is not None) and not is_table:
        name = "drop_missing" if drop else "impute"
        raise ValueError(f"{name} is of tables (csv, tsv, parquet), and not of {file}")


def no_value(wanted: Wanted, found: str = "") -> str:
    """Say that a cell has no value, and what to do."""
    remedy = _REMEDY if wanted.needs_response else _REMEDY_OF_MODELS
    return f"there is no value{f' ({found!r})' if found.strip() else ''}; {remedy}"


class Gaps:
    """What becomes of cells without a value, and how many there were."""

    def __init__(self, file: Path, features: tuple[str, ...], others: Mapping[str, str], wanted: Wanted) -> None:
        self._file, self._wanted, self._names = file, wanted, [*features, *others.values()]
        self._n_features, self._target, self._others = len(features), others.get("y"), set(others.values())
        self._known: Mapping[str, float] = wanted.impute if isinstance(wanted.impute, Mapping) else {}
        knows = isinstance(wanted.impute, Mapping)
        self._means = np.array([[self._known.get(name, np.nan)] for name in features]) if knows else None
        self._counts = np.zeros(len(self._names), np.int64)
        self._n_rows = self._n_left_out = 0

    def may_lack(self, name: str) -> bool:
        """Tell whether cells of a column may have no value."""
        wanted = self._wanted
        if name == self._target:
            return wanted.has_gaps
        if name in self._others:
            return wanted.drop_missing
        return wanted.drop_missing or wanted.impute == "mean" or name in self._known

    def numbers(self, batch: Any, name: str, first_row: int) -> NDArray[np.float64]:
        """Return a column of a batch of rows; the error for what is no number names file, row and column."""
        column, may_lack = batch.column(name), self.may_lack(name)
        if column.null_count and not may_lack:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + first_row
            raise ValueError(f"{self._file}, row {row}, column {name!r}: {no_value(self._wanted)}")
        kind = str(column.type)
        if not is_number(column.type) and not kind.startswith("decimal") and kind != "null":
            raise ValueError(f"{self._file}, column {name!r}: expected numbers, found {kind}; {REMEDY_OF_TEXT}")
        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        wrong = np.isinf(values) if may_lack else ~np.isfinite(values)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            found = f"expected a finite number, found {values[row]}"
            raise ValueError(f"{self._file}, row {row + first_row}, column {name!r}: {found}")
        return values

    def close(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Yield what is left of blocks; where means of their own are to come, cells without a value are NaN."""
        if not self._wanted.has_gaps:
            yield from blocks
            return
        for values, others in blocks:
            for lo, hi in cuts(values.shape[1], BLOCK_BYTES // (8 * max(1, self._n_features))):
                yield self._close(values[:, lo:hi], others[:, lo:hi])
        self._tell()

    def _close(self, values: NDArray[np.float64], others: NDArray[np.float64]) -> Block:
        lost, without = np.isnan(values), np.isnan(others)
        kept = np.ones(values.shape[1], np.bool_)
        if self._wanted.drop_missing:
            kept &= ~(lost.any(axis=0) | without.any(axis=0))
        if self._target is not None:
            kept &= ~without[0] | (not self._wanted.needs_response)
        self._counts[self._n_features :] += np.count_nonzero(without, axis=1)
        counted = slice(None) if self._wanted.drop_missing else kept
        self._counts[: self._n_features] += np.count_nonzero(lost[:, counted], axis=1)
        self._n_rows += kept.size
        self._n_left_out += int(np.count_nonzero(~kept))
        filled = values if self._means is None else np.where(lost, self._means, values)
        return np.compress(kept, filled, axis=1), np.compress(kept, others, axis=1)

    def _tell(self) -> None:
        """Warn of what was left out and filled."""
        if self._n_left_out == self._n_rows > 0:
            raise ValueError(f"{self._file}: no row is left: each lacks a value, of {self._listed(self._counts)}")
        rows = f"{self._n_left_out:,} of {self._n_rows:,} rows are left out"
        if self._wanted.drop_missing and self._n_left_out:
            warn_of_doubt(f"{self._file}: {rows}: they have no value of {self._listed(self._counts)}")
            return
        if self._n_left_out:
            warn_of_doubt(f"{self._file}: {rows}: they have no value of the response {self._target!r}")
        of_features = self._counts[: self._n_features]
        if n_cells := int(of_features.sum()):
            whose = "of their columns" if self._means is None else "in the data of the model"
            cells = f"{n_cells:,} cells without a value stand at the means {whose}"
            warn_of_doubt(f"{self._file}: {cells}: {self._listed(of_features)}")

    def _listed(self, counts: NDArray[np.int64]) -> str:
        return first_of([f"{self._names[j]!r} ({counts[j]:,})" for j in np.flatnonzero(counts)])


def fill_with_means(file: Path, names: tuple[str, ...], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the mean of its column in the place of every NaN, and return the means."""
    m, p = values.shape
    pieces = [slice(*ends) for ends in cuts(m, BLOCK_BYTES // (8 * max(1, p)))]
    sums, counts = np.zeros(p), np.zeros(p, np.int64)
    for rows in pieces:
        there = ~np.isnan(values[rows])
        sums += np.sum(values[rows], axis=0, where=there)
        counts += np.count_nonzero(there, axis=0)
    if not counts.all():
        raise ValueError(
            f"{file}, column {names[int(np.argmin(counts))]!r}: there is no value, and so no mean; {_LEAVE_OUT}"
        )
    means: NDArray[np.float64] = sums / counts
    for rows in pieces:
        np.copyto(values[rows], means, where=np.isnan(values[rows]))
    return means

"""What lies beside genotypes: phenotypes and lists of samples, found by FID and IID, and lists of variants."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.notices import warn_of_doubt
from ..data.files import naming
from ..data.frames import all_columns, first_of, frame_names
from ..data.genotypes import Samples
from .binary_files import numbers_in
from .gaps import MISSING

#: What a .fam has besides: the codes of a phenotype that is missing.
MISSING_CODES = " (in a .fam -9 means missing, and so does 0 beside 1 and 2: controls are 1, cases 2)"
_NO_FAMILY = "0"
_IDS = ("FID", "IID")
_NAMELESS = "PHENO{}"  # as PLINK has it
_FORMS = "expected lines of FID, IID and phenotypes, or of IID and a phenotype, or columns with names, one of them IID"

Pair = tuple[str, str]  # FID and IID


class Records(NamedTuple):
    """Rows with the identifiers of samples."""

    pairs: list[Pair]
    columns: dict[str, list[Any]]  # besides the identifiers, by name
    lines: list[int]  # of a file, where the rows are
    has_header: bool = True


# Reading ---------------------------------------------------------------------------------------------------------


def read_names(file: Path) -> list[str]:
    """Return the names in a file, one a line."""
    with naming(file):
        return list(filter(None, map(str.strip, file.read_text(encoding="utf-8-sig").splitlines())))


def _read_records(file: Path, without_header: tuple[str, ...]) -> Records | None:
    """Read rows of text, with names above them or `without_header`; None for a single column without a name."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        lines = [(number, line) for number, line in enumerate(stream, start=1) if line.strip()]
    if not lines:
        raise ValueError(f"{file} is empty")
    separator = next((sign for sign in "\t,;" if sign in lines[0][1]), None)
    texts = [line.rstrip("\r\n") for _, line in lines]
    cells = [it.split() for it in texts] if separator is None else list(csv.reader(texts, delimiter=separator))
    names = [name.strip() for name in cells[0]]
    has_header = any(_role(name) for name in names)
    if not has_header:
        if len(names) == 1 and len(without_header) > 1:
            return None
        ids = without_header if len(names) <= len(without_header) else _IDS
        names = [*ids[: len(names)], *(_NAMELESS.format(k + 1) for k in range(len(names) - len(ids)))]
    rows = list(zip((number for number, _ in lines), cells, strict=True))[has_header:]
    for number, row in rows:
        if len(row) != len(names):
            raise ValueError(f"{file}, line {number}: expected {len(names)} columns, found {len(row)}")
    columns = [[row[k].strip() for _, row in rows] for k in range(len(names))]
    return _records(str(file), names, columns)._replace(lines=[number for number, _ in rows], has_header=has_header)


def _role(name: str) -> str | None:
    """Return which identifier a column has, if it has one."""
    word = name.removeprefix("#").upper()
    return word if word in _IDS else None


def _records(label: str, names: Sequence[str], columns: Sequence[list[Any]]) -> Records:
    """Tell the identifiers from the rest."""
    roles = [_role(name) for name in names]
    for role in _IDS:
        if roles.count(role) > 1:
            raise ValueError(f"{label}: there is more than one column {role}")
    if "IID" not in roles:
        raise ValueError(f"{label}: there is FID, but no column IID")
    iids = [str(it) for it in columns[roles.index("IID")]]
    fids = [str(it) for it in columns[roles.index("FID")]] if "FID" in roles else [_NO_FAMILY] * len(iids)
    rest = {name: column for name, role, column in zip(names, roles, columns, strict=True) if role is None}
    if len(rest) < roles.count(None):
        raise ValueError(f"{label}: two columns have the same name, of {first_of(names)}")
    return Records(list(zip(fids, iids, strict=True)), rest, list(range(1, len(iids) + 1)))


def _from_frame(pheno: Any) -> Records | None:
    """Return the rows of a frame; None if it is a column without identifiers."""
    if hasattr(pheno, "reset_index"):  # pandas
        index = pheno.index
        has_ids = any(_role(str(name)) == "IID" for name in pheno.columns)
        if not has_ids and (type(index).__name__ != "RangeIndex" or index.name is not None):
            is_named = any(_role(str(name)) == "IID" for name in index.names)
            index = index if is_named else index.set_names(_IDS[-index.nlevels :])
            pheno = pheno.set_axis(index, axis=0).reset_index()
    names = list(map(str, frame_names(pheno) or ()))
    if not any(map(_role, names)):
        if len(names) == 1:
            return None
        raise ValueError(f"pheno: {_FORMS}; found {first_of(names)}")
    columns = [np.asarray(column, dtype=object).tolist() for column in all_columns(pheno)]
    return _records("pheno", names, columns)


# Finding ---------------------------------------------------------------------------------------------------------


def find_samples(pairs: Sequence[Pair], samples: Samples, label: str, fam: Path) -> NDArray[np.int64]:
    """Return the places of samples by FID and IID, -1 for those that are not there; FID 0 is that of any family."""
    by_iid: dict[str, list[int]] = {}
    for place, iid in enumerate(samples.sample_ids):
        by_iid.setdefault(iid, []).append(place)
    found = np.full(len(pairs), -1, np.int64)
    for k, (fid, iid) in enumerate(pairs):
        fitting = [i for i in by_iid.get(iid, ()) if _NO_FAMILY in (fid, samples.family_ids[i])]
        fitting = [i for i in by_iid.get(iid, ()) if fid == samples.family_ids[i]] or fitting
        if len(fitting) > 1:
            raise ValueError(f"{label}: {iid} is the IID of more than one sample of {fam}: tell them apart by FID")
        found[k] = fitting[0] if fitting else -1
    return found


def choose_samples(name: str, given: Any, samples: Samples, fam: Path) -> NDArray[np.bool_]:
    """Return which samples are in a file, or in a sequence, of FID and IID, or of IID."""
    if isinstance(given, str | Path):
        with naming(Path(given)):
            records = _read_records(Path(given), _IDS[1:])
        assert records is not None
        pairs = records.pairs
    else:
        try:
            pairs = [(_NO_FAMILY, it) if isinstance(it, str) else (str(it[0]), str(it[1])) for it in given]
        except (TypeError, IndexError, KeyError):
            raise ValueError(f"{name} must be a file or a sequence of ids, got {given!r:.80}") from None
    places = find_samples(pairs, samples, name, fam)
    _tell_unknown(name, given, [_told(pair) for pair in pairs], places >= 0, f"sample of {fam}")
    chosen = np.zeros(len(samples.sample_ids), np.bool_)
    chosen[places[places >= 0]] = True
    return chosen


def choose_variants(name: str, given: Any, names: Sequence[str], bim: Path) -> NDArray[np.bool_]:
    """Return which variants are in a file, or in a sequence, of their names."""
    wanted = read_names(Path(given)) if isinstance(given, str | Path) else given
    if np.ndim(wanted) != 1 or not all(isinstance(it, str) for it in wanted):
        raise ValueError(f"{name} must be a file or a sequence of texts, got {given!r:.80}")
    there, asked = set(names), set(wanted)
    _tell_unknown(name, given, wanted, np.array([it in there for it in wanted], np.bool_), f"variant of {bim}")
    return np.fromiter((it in asked for it in names), np.bool_, len(names))


def _tell_unknown(name: str, given: Any, told: Sequence[str], is_there: NDArray[np.bool_], what: str) -> None:
    """Warn of ids that are not there; raise a ValueError if nothing would be taken."""
    if name in ("keep", "columns") and not is_there.any():
        raise ValueError(f"{name}: none of its {len(told)} ids is that of a {what}")
    if not is_there.all():
        of = f" of {given}" if isinstance(given, str | Path) else ""
        unknown = [told[k] for k in np.flatnonzero(~is_there).tolist()]
        warn_of_doubt(f"{name}: of the {len(told)} ids{of} {len(unknown)} are of no {what}: {first_of(unknown)}")


def _told(pair: Pair) -> str:
    return " ".join(pair).removeprefix("0 ")


# Joining ---------------------------------------------------------------------------------------------------------


class Phenotype(NamedTuple):
    """A number for every sample, NaN where it is missing, and where it comes from."""

    values: Vector
    source: str  # a file, or pheno
    target: str  # for the record
    has_row: NDArray[np.bool_]


def read_phenotype(pheno: Any, target: str | None, samples: Samples, fam: Path) -> Phenotype:
    """Return the phenotype of every sample in a file, a frame, a series or an array.

    Rows are joined by FID and IID. Numbers without any are taken in the order of the samples, with a notice.
    """
    is_file = isinstance(pheno, str | Path)
    label = str(pheno) if is_file else "pheno"
    where = f" in {Path(pheno).name}" if is_file else ""
    if is_file:
        with naming(Path(pheno)):
            is_text = Path(pheno).suffix != ".npy"
            records = _read_records(Path(pheno), ("IID", _NAMELESS.format(1))) if is_text else None
    else:
        pheno = pheno.to_frame() if hasattr(pheno, "to_frame") and hasattr(pheno, "index") else pheno
        records = None if frame_names(pheno) is None else _from_frame(pheno)
    m = len(samples.sample_ids)
    if records is None:
        pheno = all_columns(pheno)[0] if not is_file and frame_names(pheno) is not None else pheno
        numbers = numbers_in(Path(pheno), fam.with_suffix(".bed"), is_text=is_text) if is_file else np.asarray(pheno)
        if numbers.shape != (m,):
            what = f"{numbers.size} numbers" if numbers.ndim == 1 else f"numbers of shape {numbers.shape},"
            raise ValueError(f"{label}: {what} without ids cannot be told apart for the {m} samples of {fam}; {_FORMS}")
        warn_of_doubt(f"{label} has no ids: its {m} numbers are taken for the samples by their order in {fam.name}")
        return Phenotype(as_phenotype(numbers.tolist()), label, Path(label).name, np.ones(m, np.bool_))
    name = _one_of(records, target, label)
    places = find_samples(records.pairs, samples, label, fam)
    _check_places(places, records, samples, label, fam)
    is_there = places >= 0
    values = np.full(m, np.nan)
    values[places[is_there]] = as_phenotype(records.columns[name], label, records.lines)[is_there]
    unknown = [_told(records.pairs[k]) for k in np.flatnonzero(~is_there)]
    if unknown:
        warn_of_doubt(
            f"{label}: of its {len(places)} rows {len(unknown)} are of no sample of {fam.name}: {first_of(unknown)}"
        )
    has_row = np.zeros(m, np.bool_)
    has_row[places[is_there]] = True
    return Phenotype(values, label, f"{name}{where}", has_row)


def _one_of(records: Records, target: str | None, label: str) -> str:
    """Return the name of the phenotype."""
    names = list(records.columns)
    if not names:
        raise ValueError(f"{label}: there is no phenotype in it, but FID and IID alone")
    if target is None and len(names) > 1:
        there = f"there are {len(names)} phenotypes, {first_of(names)}"
        raise ValueError(f"{label}: {there}; target (--target) must be one of them")
    if target is not None and target not in names:
        raise ValueError(f"{label}: there is no phenotype {target!r}, but {first_of(names)}")
    return names[0] if target is None else target


def _check_places(places: NDArray[np.int64], records: Records, samples: Samples, label: str, fam: Path) -> None:
    """Raise a ValueError if no row is of a sample, or if two are of one."""
    if not (places >= 0).any():
        by_iid = len({iid for _, iid in records.pairs} & set(samples.sample_ids))
        hint = f"; by IID alone {by_iid} would be: leave FID out" if by_iid else ""
        named = "" if records.has_header else ": give them by a header"
        columns = ", ".join([*_IDS, *records.columns])
        raise ValueError(
            f"{label}: no id in it is that of a sample of {fam}; its columns are {columns}{named}{hint} ({_FORMS})"
        )
    counts = np.bincount(places[places >= 0])
    if counts.max() > 1:
        twice = samples.names()[int(counts.argmax())]
        raise ValueError(f"{label}: the sample {twice} has two rows")


def as_phenotype(cells: Sequence[Any], label: str = "pheno", lines: Sequence[int] | None = None) -> Vector:
    """Return numbers, NaN where they are missing: NA, -9, and 0 where all are of 0, 1 and 2, cases and controls."""
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        if cell is None or str(cell).strip().lower() in MISSING:
            values[k] = math.nan
            continue
        try:
            values[k] = float(cell)
        except (TypeError, ValueError):
            place = "" if lines is None else f", {'row' if label == 'pheno' else 'line'} {lines[k]}"
            raise ValueError(f"{label}{place}: expected a number or NA, found {cell!r:.80}") from None
    return without_codes(values)


def without_codes(values: Vector) -> Vector:
    """Return phenotypes with NaN for the codes that mean missing."""
    values = np.where(values == -9.0, np.nan, values)
    if np.isin(values[~np.isnan(values)], (0.0, 1.0, 2.0)).all():
        values[values == 0.0] = np.nan
    return values

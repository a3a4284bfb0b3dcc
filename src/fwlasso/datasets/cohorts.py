"""What lies beside genotypes: phenotypes and lists of samples, found by FID and IID, and lists of variants."""

import csv
import math
from collections.abc import Callable, Sequence
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


def _read_records(file: Path, without_header: tuple[str, ...], nameless: str = "PHENO{}") -> Records | None:
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
        names = [*ids[: len(names)], *(nameless.format(k + 1) for k in range(len(names) - len(ids)))]
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


def _from_frame(pheno: Any, argument: str) -> Records | None:
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
        raise ValueError(f"{argument}: {_FORMS}; found {first_of(names)}")
    columns = [np.asarray(column, dtype=object).tolist() for column in all_columns(pheno)]
    return _records(argument, names, columns)


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
    source: str  # a file, or the name of the argument
    target: str  # for the record
    has_row: NDArray[np.bool_]


class Joined(NamedTuple):
    """Numbers for every sample by name, NaN where they are missing, and where they come from."""

    columns: dict[str, Vector]
    source: str  # a file, or the name of the argument
    has_row: NDArray[np.bool_]

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Which samples have all numbers."""
        numbers: Any = np.stack(list(self.columns.values()))
        return np.asarray(~np.isnan(numbers).any(axis=0))


class FileKind(NamedTuple):
    """What is known of numbers that are joined."""

    argument: str
    choose: Callable[[Records, str], list[str]]  # the columns to take, and what stands for the whole in messages
    clean: Callable[[Vector], Vector]  # makes NaN of codes that mean missing
    nameless: str = "PHENO{}"  # what columns without a name are called; the first is that of PLINK
    may_be_many: bool = False


def read_phenotype(pheno: Any, target: str | None, samples: Samples, fam: Path) -> Phenotype:
    """Return the phenotype of every sample, see `join`."""
    kind = FileKind("pheno", lambda records, label: [_one_of(records, target, label)], without_codes)
    found = join(kind, pheno, samples, fam)
    ((name, values),) = found.columns.items()
    file = Path(found.source).name
    told = file if not name else f"{name} in {file}" if isinstance(pheno, str | Path) else name
    return Phenotype(values, found.source, told, found.has_row)


def read_covariates(covariates: Any, samples: Samples, fam: Path) -> Joined:
    """Return all covariates of every sample, see `join`; -9 is missing, as PLINK has it."""
    kind = FileKind("covariates", _all_of, lambda values: np.where(values == -9.0, np.nan, values), "COVAR{}", True)
    return join(kind, covariates, samples, fam)


def read_beside(argument: str, file: Path, name: str | None, samples: Samples, fam: Path) -> Joined:
    """Return the weights or the offset of every sample, the column of a name, or the only one; see `join`."""
    kind = FileKind(argument, lambda records, label: [_one_of(records, name, label)], lambda values: values)
    return join(kind, file, samples, fam)


def join(kind: FileKind, given: Any, samples: Samples, fam: Path) -> Joined:
    """Return columns of a file, a frame, a series or an array for every sample.

    Rows are joined by FID and IID. Numbers without any are taken in the order of the samples, with a notice.
    """
    is_file, m = isinstance(given, str | Path), len(samples.sample_ids)
    label = str(given) if is_file else kind.argument
    if is_file:
        with naming(Path(given)):
            is_text = Path(given).suffix != ".npy"
            records = _read_records(Path(given), ("IID", kind.nameless.format(1)), kind.nameless) if is_text else None
            numbers = None if records else numbers_in(Path(given), fam.with_suffix(".bed"), is_text=is_text)
    else:
        given = given.to_frame() if hasattr(given, "to_frame") and hasattr(given, "index") else given
        records = None if frame_names(given) is None else _from_frame(given, kind.argument)
        numbers = None if records else all_columns(given)[0] if frame_names(given) is not None else given
    if records is None:
        return Joined(_without_ids(kind, np.asarray(numbers), label, m, fam), label, np.ones(m, np.bool_))
    names = kind.choose(records, label)
    places = find_samples(records.pairs, samples, label, fam)
    _check_places(places, records, samples, label, fam)
    is_there = places >= 0
    found = {name: np.full(m, np.nan) for name in names}
    for name, values in found.items():
        read = kind.clean(as_numbers(records.columns[name], label, records.lines, is_file=is_file))
        values[places[is_there]] = read[is_there]
    unknown = [_told(records.pairs[k]) for k in np.flatnonzero(~is_there)]
    if unknown:
        warn_of_doubt(
            f"{label}: of its {len(places)} rows {len(unknown)} are of no sample of {fam.name}: {first_of(unknown)}"
        )
    has_row = np.zeros(m, np.bool_)
    has_row[places[is_there]] = True
    return Joined(found, label, has_row)


def _without_ids(kind: FileKind, numbers: NDArray[Any], label: str, m: int, fam: Path) -> dict[str, Vector]:
    """Return numbers that are in the order of the samples, by name; a column by itself has none."""
    is_wide = kind.may_be_many and numbers.ndim == 2
    if numbers.shape[:1] != (m,) or not (numbers.ndim == 1 or is_wide):
        what = f"{numbers.size} numbers" if numbers.ndim == 1 else f"numbers of shape {numbers.shape},"
        raise ValueError(f"{label}: {what} without ids cannot be told apart for the {m} samples of {fam}; {_FORMS}")
    warn_of_doubt(f"{label} has no ids: its {m} numbers are taken for the samples by their order in {fam.name}")
    columns = numbers.reshape(m, -1).T.tolist()
    names = [kind.nameless.format(k + 1) if kind.may_be_many else "" for k in range(len(columns))]
    return {name: kind.clean(as_numbers(cells, label)) for name, cells in zip(names, columns, strict=True)}


def _all_of(records: Records, label: str) -> list[str]:
    if not records.columns:
        raise ValueError(f"{label}: there is no covariate in it, but FID and IID alone")
    return list(records.columns)


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


def as_numbers(
    cells: Sequence[Any], label: str, lines: Sequence[int] | None = None, *, is_file: bool = False
) -> Vector:
    """Return numbers, NaN where there is none."""
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        if cell is None or str(cell).strip().lower() in MISSING:
            values[k] = math.nan
            continue
        try:
            values[k] = float(cell)
        except (TypeError, ValueError):
            place = "" if lines is None else f", {'line' if is_file else 'row'} {lines[k]}"
            raise ValueError(f"{label}{place}: expected a number or NA, found {cell!r:.80}") from None
    return values


def without_codes(values: Vector) -> Vector:
    """Return phenotypes with NaN for what means missing: -9, and 0 where all are of 0, 1 and 2, cases and controls."""
    values = np.where(values == -9.0, np.nan, values)
    if np.isin(values[~np.isnan(values)], (0.0, 1.0, 2.0)).all():
        values[values == 0.0] = np.nan
    return values

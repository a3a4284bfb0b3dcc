"""Reading PLINK's .bed, .bim and .fam: the genotypes stay in the file, packed."""

import math
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.notices import warn_of_doubt
from ..data.cohort import Cohort
from ..data.frames import first_of
from ..data.genotypes import Genotypes, Samples, Variants
from .cohorts import (
    MISSING_CODES,
    Joined,
    Phenotype,
    choose_samples,
    choose_variants,
    read_beside,
    read_covariates,
    read_phenotype,
    without_codes,
)
from .source import Wanted

# Of every .bed file with one variant after the other. With 0 in the last place it is one sample after the other.
_MAGIC, _SAMPLE_MAJOR = b"\x6c\x1b\x01", b"\x6c\x1b\x00"
# Both .bim and .fam have six columns, the identifier in the second; the last one of .fam is the phenotype.
_N_COLUMNS = 6
_LONGEST_POSITION = 18  # in signs


class BedFile(NamedTuple):
    """What `open_bed` returns."""

    X: Genotypes | Cohort
    sample_ids: tuple[str, ...]
    feature_names: tuple[str, ...]
    phenotype: NDArray[np.float64] | None

    def __repr__(self) -> str:
        known = "no phenotype" if self.phenotype is None else "a phenotype"
        n_variants = self.X.shape[1]
        if isinstance(self.X, Cohort):
            n_variants, known = self.X.genotypes.shape[1], f"{known}, covariates {first_of(self.X.covariate_names)}"
        return f"<BedFile: {len(self.sample_ids):,} samples, {n_variants:,} variants, {known}>"


def open_bed(
    path: str | Path,
    pheno: Any = None,
    *,
    target: str | None = None,
    keep: Any = None,
    remove: Any = None,
    columns: Any = None,
    exclude: Any = None,
    covariates: Any = None,
) -> BedFile:
    r"""Open a PLINK .bed file, with its .bim and .fam beside it.

    The genotypes are mapped, not read, and stay packed. Their numbers are copies of the allele A1, as PLINK counts
    them; a missing call counts as the mean of the calls of its variant, in this file. A model carries the identifiers
    and the alleles of its variants: it finds them in another file in any order, among others, and counts the allele
    that it was fitted with also where A1 and A2 are exchanged.

    Parameters
    ----------
    path : path of the .bed file
    pheno : path, frame, series or array, optional
        Phenotypes in place of those in the .fam file, joined by the ids of samples, in any order: lines of FID, IID and
        phenotypes, or of IID and one phenotype, or a table (also csv, tsv) with names above its columns, one of them
        IID; or a frame with such a column, or indexed by IID. Samples without a phenotype (no row, NA or -9) are left
        out. Warnings count and name them, and rows of no sample. Numbers without ids (.npy, a column, an array) are
        taken in the order of the samples, with a warning.
    target : str, optional
        Of several phenotypes, the name of the one to take; PHENO1, PHENO2, ... where they have none. Without `pheno`,
        a file in the folder of the .bed file that stands for it.
    keep, remove : path or sequence, optional
        Samples to take, or to leave out: a file with FID and IID, or IID, a line; or IIDs, or pairs of both.
    columns, exclude : path or sequence of str, optional
        Variants to take, or to leave out: a file with an identifier a line, or identifiers. Samples and variants keep
        their order. What is chosen stays packed; unless it is all, it is copied to memory.
    covariates : path, frame or array, optional
        Such as age, sex and principal components, joined by the ids of samples as phenotypes are: all columns besides
        FID and IID. Paths have no penalty on them. Samples that lack one (no row, NA or -9) are left out, with a
        warning.

    Returns
    -------
    BedFile
        `X`, the genotypes for `lasso_path` and `Lasso`, with covariates a `Cohort` of both; `sample_ids` and
        `phenotype` of the .fam file; `feature_names`, those of covariates and the identifiers of the .bim file. Missing
        phenotypes are NaN: -9, what is not a number, and 0 where all are of 0, 1 and 2, the codes of cases and
        controls. Where all are missing, `phenotype` is None.
        With `pheno` or `target` none is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwlasso import lasso_path
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "cohort.bed")
    ...     _ = file.write_bytes(b"\x6c\x1b\x01" + bytes([0b11_10_00_11, 0b01_11_00_00]))
    ...     _ = file.with_suffix(".bim").write_text("1 rs10 0 100 A C\n1 rs20 0 200 A G\n")
    ...     _ = file.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 {i + 0.5}\n" for i in range(4)))
    ...     bed = open_bed(file)
    ...     other = Path(folder, "trait.txt")
    ...     _ = other.write_text("s3 9\ns1 7\ns2 NA\ns0 6\n")
    ...     chosen = open_bed(file, other, remove=["s0", "s2"], columns=["rs20"])
    >>> bed.X, bed.feature_names, bed.phenotype
    (<Genotypes: 4 samples, 2 variants, 2 bytes>, ('rs10', 'rs20'), array([0.5, 1.5, 2.5, 3.5]))
    >>> lasso_path(bed.X, bed.phenotype, alphas=5).feature_names
    ('rs10', 'rs20')
    >>> chosen.X, chosen.sample_ids, chosen.phenotype
    (<Genotypes: 2 samples, 1 variants, 1 bytes>, ('s1', 's3'), array([7., 9.]))
    """
    needs_response = pheno is not None or target is not None
    chosen = {"pheno": pheno, "keep": keep, "remove": remove, "covariates": covariates}
    return open_cohort(Path(path), Wanted(target, columns, exclude, needs_response=needs_response, **chosen))[0]


def open_cohort(path: Path, wanted: Wanted) -> tuple[BedFile, str, dict[str, Vector]]:
    """Open what is wanted of a file and of those beside it; and where the phenotype is from, weights and offset.

    If a response is needed, samples without a phenotype are left out; else they have NaN. So are samples without a
    covariate, a weight or an offset.
    """
    fam, bim = path.with_suffix(".fam"), path.with_suffix(".bim")
    X, ids, identifiers, in_fam = _open(path)
    rows, columns = np.ones(X.shape[0], np.bool_), np.ones(X.shape[1], np.bool_)
    if wanted.keep is not None:
        rows &= choose_samples("keep", wanted.keep, ids, fam)
    if wanted.remove is not None:
        rows &= ~choose_samples("remove", wanted.remove, ids, fam)
    if wanted.columns is not None:
        columns &= choose_variants("columns", wanted.columns, identifiers, bim)
    if wanted.exclude is not None and np.size(wanted.exclude):
        columns &= ~choose_variants("exclude", wanted.exclude, identifiers, bim)
    if not (rows.any() and columns.any()):
        raise ValueError(f"{path}: no {'variant' if rows.any() else 'sample'} is left")
    found = _phenotype(path, wanted, ids, in_fam)
    names = ids.names()
    without_row = [names[i] for i in np.flatnonzero(rows & ~found.has_row)]
    if without_row:
        of = f"{found.source}: of the {np.count_nonzero(rows)} samples {len(without_row)}"
        warn_of_doubt(f"{of} have no row in it: {first_of(without_row)}")
    if wanted.needs_response:
        rows = _with_phenotype(path, rows, found, names)
    beside = {role: _beside(path, role, name, wanted, ids) for role, name in wanted.beside.items()}
    if wanted.covariates is not None:
        beside["covariates"] = read_covariates(wanted.covariates, ids, fam)
    for what, joined in beside.items():
        rows = _with_all(path, rows, what.replace("_", " "), joined, names)
    y = found.values[rows]
    if not (rows.all() and columns.all()):
        X = X[slice(None) if rows.all() else rows, slice(None) if columns.all() else columns]
    numbers = {what: {name: values[rows] for name, values in joined.columns.items()} for what, joined in beside.items()}
    matrix: Genotypes | Cohort = X
    if (own := numbers.pop("covariates", None)) is not None:
        matrix = Cohort(X, np.stack(list(own.values()), axis=1), list(own))
    assert matrix.samples is not None
    assert matrix.feature_names is not None
    phenotype = None if np.isnan(y).all() else y
    by_sample = {role: values for role, columns in numbers.items() for values in columns.values()}
    return BedFile(matrix, matrix.samples.sample_ids, matrix.feature_names, phenotype), found.target, by_sample


def _beside(path: Path, role: str, name: str, wanted: Wanted, samples: Samples) -> Joined:
    """Return weights or an offset: a file in the folder, or a column of the file of phenotypes."""
    file, fam = path.parent / name, path.with_suffix(".fam")
    if file.is_file():
        return read_beside(role, file, None, samples, fam)
    if isinstance(wanted.pheno, str | Path):
        return read_beside(role, Path(wanted.pheno), name, samples, fam)
    raise FileNotFoundError(f"{file}: no such file; it should hold numbers for {path.name}, by FID and IID")


def _with_all(path: Path, kept: NDArray[np.bool_], what: str, found: Joined, names: list[str]) -> NDArray[np.bool_]:
    """Return which of the samples that are kept have all numbers; warn of the others."""
    known = kept & found.is_known
    if not known.any():
        raise ValueError(f"{found.source}: no sample has its {what} in it")
    if without := [names[i] for i in np.flatnonzero(kept & ~known)]:
        of = f"{path}: of the {np.count_nonzero(kept)} samples {len(without)}"
        warn_of_doubt(f"{of} lack {what} in {found.source}, and are left out: {first_of(without)}")
    return known


def _phenotype(path: Path, wanted: Wanted, samples: Samples, in_fam: tuple[str, ...]) -> Phenotype:
    """Return the phenotype that is wanted."""
    fam, pheno, target = path.with_suffix(".fam"), wanted.pheno, wanted.target
    if pheno is None and target is None:
        values = without_codes(np.array([_number(text) for text in in_fam]))
        return Phenotype(values, str(fam), f"the phenotype in {fam.name}", np.ones(values.size, np.bool_))
    if pheno is None:
        pheno, target = path.parent / str(target), None
    return read_phenotype(pheno, target, samples, fam)


def _with_phenotype(path: Path, kept: NDArray[np.bool_], found: Phenotype, names: list[str]) -> NDArray[np.bool_]:
    """Return which of the samples that are kept have a phenotype; warn of the others."""
    known = kept & ~np.isnan(found.values)
    is_in_fam = found.source == str(path.with_suffix(".fam"))
    if not known.any():
        if not is_in_fam:
            raise ValueError(f"{found.source}: no sample has a phenotype in it{MISSING_CODES}")
        raise ValueError(f"{path}: its .fam has no phenotypes; give a file of them as pheno (--pheno){MISSING_CODES}")
    missing = [names[i] for i in np.flatnonzero(kept & ~known)]
    if missing and np.ptp(found.values[known]) == 0.0:
        raise ValueError(
            f"{found.source}: there is no phenotype for {len(missing)} samples, of which the first is {missing[0]!r}, "
            f"and the same one for all others{MISSING_CODES}"
        )
    if missing:
        of = f"{path}: of the {np.count_nonzero(kept)} samples {len(missing)}"
        warn_of_doubt(f"{of} have no phenotype, and are left out: {first_of(missing)}")
    return known


def _open(path: Path) -> tuple[Genotypes, Samples, tuple[str, ...], tuple[str, ...]]:
    """Return all genotypes of a file, mapped, ids of samples and of variants, and phenotypes as its .fam has them."""
    _check_magic(path)
    records = [(fields[0], fields[1], fields[5]) for fields in _lines(path.with_suffix(".fam"))]
    family_ids, sample_ids, phenotypes = zip(*records, strict=True)
    feature_names, variants = _read_variants(path.with_suffix(".bim"))
    m, p = len(sample_ids), len(feature_names)
    n_bytes = -(-m // 4)
    size, expected = path.stat().st_size, len(_MAGIC) + p * n_bytes
    if size != expected:
        how = "cut off" if size < expected else "too long"
        raise ValueError(
            f"{path} has {size:,} bytes, not the {expected:,} of the {m:,} samples of its .fam and the {p:,} variants "
            f"of its .bim: it is {how}, or they belong to another file"
        )
    packed = np.memmap(path, np.uint8, "r", offset=len(_MAGIC), shape=(p, n_bytes))
    samples = Samples(family_ids, sample_ids)
    return Genotypes(packed, m, feature_names, variants, samples), samples, feature_names, phenotypes


def _check_magic(path: Path) -> None:
    with path.open("rb") as stream:
        magic = stream.read(len(_MAGIC))
    if magic == _SAMPLE_MAJOR:
        raise ValueError(f"{path} is stored sample by sample, not variant by variant: convert it with plink --make-bed")
    if magic != _MAGIC:
        raise ValueError(f"{path} is not a PLINK .bed file: it begins with other bytes")


def _read_variants(file: Path) -> tuple[tuple[str, ...], Variants]:
    """Return identifiers, and what else a .bim file tells; of alleles and chromosomes, every text is held once."""
    identifiers, chromosomes, positions = [], [], array("q")
    alleles: tuple[list[str], list[str]] = [], []
    for number, (chromosome, identifier, _, position, a1, a2) in enumerate(_lines(file), start=1):
        if not position.removeprefix("-").isdecimal() or len(position) > _LONGEST_POSITION:
            raise ValueError(f"{file}, line {number}: expected a position, found {position!r}")
        identifiers.append(identifier)
        chromosomes.append(sys.intern(chromosome))
        positions.append(int(position))
        for texts, allele in zip(alleles, (a1, a2), strict=True):
            texts.append(sys.intern(allele))
    variants = Variants(tuple(chromosomes), np.array(positions, dtype=np.int64), *map(tuple, alleles))
    return tuple(identifiers), variants


def _lines(file: Path) -> Iterator[list[str]]:
    """Yield the fields of every line."""
    number = 0
    with file.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            fields = line.split()
            if len(fields) != _N_COLUMNS:
                raise ValueError(f"{file}, line {number}: expected {_N_COLUMNS} columns, found {len(fields)}")
            yield fields
    if not number:
        raise ValueError(f"{file} is empty")


def _number(text: str) -> float:
    """Return a phenotype of a .fam file, where anything that is not a number is missing."""
    try:
        return float(text)
    except ValueError:
        return math.nan

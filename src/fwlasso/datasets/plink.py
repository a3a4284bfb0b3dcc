"""Reading PLINK's .bed, .bim and .fam: the genotypes stay in the file, packed."""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bed import Genotypes, Variants

# Of every .bed file with one variant after the other. With 0 in the last place it is one sample after the other.
_MAGIC, _SAMPLE_MAJOR = b"\x6c\x1b\x01", b"\x6c\x1b\x00"
# Both .bim and .fam have six columns, the identifier in the second; the last one of .fam is the phenotype.
_N_COLUMNS, _IDENTIFIER, _PHENOTYPE = 6, 1, 5
_CHROMOSOME, _POSITION, _A1, _A2 = 0, 3, 4, 5  # of .bim


class BedFile(NamedTuple):
    """What `open_bed` returns."""

    X: Genotypes
    sample_ids: tuple[str, ...]
    feature_names: tuple[str, ...]
    phenotype: NDArray[np.float64] | None


def open_bed(path: str | Path) -> BedFile:
    r"""Open a PLINK .bed file, with its .bim and .fam beside it.

    The genotypes are mapped, not read, and stay packed. Their numbers are copies of the allele A1, as PLINK counts
    them; a missing call counts as the mean of the calls of its variant, in this file. A model carries the identifiers
    and the alleles of its variants: it finds them in another file in any order, among others, and counts the allele
    that it was fitted with also where A1 and A2 are exchanged.

    Parameters
    ----------
    path : path of the .bed file

    Returns
    -------
    BedFile
        `X`, the genotypes for `lasso_path` and `Lasso`; `sample_ids` and `phenotype` of the .fam file;
        `feature_names`, the identifiers of the .bim file. Missing phenotypes are NaN: -9, what is not a number, and
        0 where all are of 0, 1 and 2, the codes of cases and controls. Where all are missing, `phenotype` is None.

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
    >>> bed.X, bed.feature_names, bed.phenotype
    (<Genotypes: 4 samples, 2 variants, 2 bytes>, ('rs10', 'rs20'), array([0.5, 1.5, 2.5, 3.5]))
    >>> lasso_path(bed.X, bed.phenotype, alphas=5).feature_names
    ('rs10', 'rs20')
    """
    path = Path(path)
    _check_magic(path)
    sample_ids, phenotypes = _read_columns(path.with_suffix(".fam"), _IDENTIFIER, _PHENOTYPE)
    bim = path.with_suffix(".bim")
    feature_names, *known = _read_columns(bim, _IDENTIFIER, _CHROMOSOME, _POSITION, _A1, _A2)
    variants = Variants(known[0], _positions(bim, known[1]), known[2], known[3])
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
    return BedFile(Genotypes(packed, m, feature_names, variants), sample_ids, feature_names, _numbers(phenotypes))


def _check_magic(path: Path) -> None:
    with path.open("rb") as stream:
        magic = stream.read(len(_MAGIC))
    if magic == _SAMPLE_MAJOR:
        raise ValueError(
            f"{path} has one sample after the other, and columns are needed: write it anew with plink --make-bed"
        )
    if magic != _MAGIC:
        raise ValueError(f"{path} is not a PLINK .bed file: it begins with other bytes")


def _read_columns(file: Path, *columns: int) -> list[tuple[str, ...]]:
    """Return some columns; texts that are there many times, such as alleles, take no memory of their own."""
    found: tuple[list[str], ...] = tuple([] for _ in columns)
    with file.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            fields = line.split()
            if len(fields) != _N_COLUMNS:
                raise ValueError(f"{file}, line {number}: expected {_N_COLUMNS} columns, found {len(fields)}")
            for texts, column in zip(found, columns, strict=True):
                texts.append(sys.intern(fields[column]))
    if not found[0]:
        raise ValueError(f"{file} is empty")
    return [tuple(texts) for texts in found]


def _positions(file: Path, texts: tuple[str, ...]) -> NDArray[np.int64]:
    for number, text in enumerate(texts, start=1):
        if not text.removeprefix("-").isdecimal() or len(text) > 18:
            raise ValueError(f"{file}, line {number}: expected a position, found {text!r}")
    return np.array(texts, dtype=np.int64)


def _numbers(phenotypes: tuple[str, ...]) -> NDArray[np.float64] | None:
    values = np.array([_number(text) for text in phenotypes])
    if np.isin(values[~np.isnan(values)], (0.0, 1.0, 2.0)).all():
        values[values == 0.0] = np.nan
    return None if np.isnan(values).all() else values


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return math.nan if number == -9.0 else number

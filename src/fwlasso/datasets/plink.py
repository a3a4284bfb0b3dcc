"""Reading PLINK's .bed, .bim and .fam: the genotypes stay in the file, packed."""

import math
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.genotypes import Genotypes, Variants

# Of every .bed file with one variant after the other. With 0 in the last place it is one sample after the other.
_MAGIC, _SAMPLE_MAJOR = b"\x6c\x1b\x01", b"\x6c\x1b\x00"
# Both .bim and .fam have six columns, the identifier in the second; the last one of .fam is the phenotype.
_N_COLUMNS = 6
_LONGEST_POSITION = 18  # in signs


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
    samples = [(fields[1], fields[5]) for fields in _lines(path.with_suffix(".fam"))]
    sample_ids, phenotypes = zip(*samples, strict=True)
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
    return BedFile(Genotypes(packed, m, feature_names, variants), sample_ids, feature_names, _numbers(phenotypes))


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

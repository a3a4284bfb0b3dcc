"""Genotypes packed as in a PLINK .bed file: a storage of the column protocol, and the matrix that users hold.

A column is a variant, its numbers are copies of the allele A1. Two bits make a genotype: 00 is two copies, 10 one,
11 none, and 01 a missing call, which stands for the mean of the calls of its column. A byte holds four samples, the
first in its lowest bits; every column begins with a byte of its own. The bits are decoded where they are multiplied:
a pass reads 1/32 of the bytes that float64 takes, and is bound by arithmetic, not by memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.bed import Bed, Packed, _multiply, fill_means
from .._core.columns import read_only
from .._core.jit import kernel
from .._core.threads import lazy
from .design import Design
from .variants import carry_over


class Variant(NamedTuple):
    """What is known of a variant besides its identifier."""

    chromosome: str
    position: int
    effect_allele: str  # A1, whose copies are counted
    other_allele: str  # A2
    mean: float | None = None  # of the copies in the data of a model, for where the variant is absent

    @property
    def alleles(self) -> tuple[str, str]:
        """A1 and A2."""
        return self.effect_allele, self.other_allele


#: What tables have of columns that are no variants, such as covariates.
NO_VARIANT = (None,) * len(Variant._fields)


class Variants(NamedTuple):
    """What a .bim file tells of all variants besides their identifiers, in the order of the columns."""

    chromosomes: tuple[str, ...]
    positions: NDArray[np.int64]
    effect_alleles: tuple[str, ...]
    other_alleles: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Variants: {len(self.positions):,}>"

    def at(self, j: int) -> Variant:
        """Return what is known of a column."""
        return Variant(self.chromosomes[j], int(self.positions[j]), self.effect_alleles[j], self.other_alleles[j])

    def take(self, places: NDArray[np.int64]) -> "Variants":
        """Return what is known of some columns."""
        chromosomes, first, second = (
            _taken(texts, places) for texts in (self.chromosomes, self.effect_alleles, self.other_alleles)
        )
        return Variants(chromosomes, self.positions[places], first, second)


class Samples(NamedTuple):
    """The identifiers of all samples, in the order of the rows."""

    family_ids: tuple[str, ...]  # FID; 0 where there is none
    sample_ids: tuple[str, ...]  # IID

    def names(self) -> list[str]:
        """Return what samples are called in messages."""
        return [" ".join(ids).removeprefix("0 ") for ids in zip(*self, strict=True)]


def _taken(texts: tuple[str, ...], places: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(texts[j] for j in places.tolist())


class Genotypes:
    """A matrix of genotypes, packed: samples by variants, copies of A1, missing calls the mean of their column.

    `fwlasso.datasets.open_bed` makes one of a file. `lasso_path` and `Lasso` take it as X, to fit and to predict;
    it is never decoded as a whole. ``X[rows]``, ``X[:, columns]`` and ``X[rows, columns]`` are some of its samples and
    variants, packed as well: by slices, indices and masks, and variants by their names, too. Neighbouring variants
    are used in place, others copied; missing calls are then the mean of the samples that are left.

    Parameters
    ----------
    packed : array of uint8 of shape (n_variants, ceil(n_samples / 4))
        The bytes of a .bed file behind its first three, a row per variant.
    n_samples : int
    feature_names : tuple of str, optional
        Names of the variants.
    variants : Variants, optional
        Their chromosomes, positions and alleles. With them a model finds its variants, and the alleles that it counts,
        in the genotypes of others.
    samples : Samples, optional
        Identifiers of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> X = Genotypes(np.array([[0b11_10_00]], np.uint8), n_samples=3)
    >>> X.shape, X @ np.array([10.0])
    ((3, 1), array([20., 10.,  0.]))
    >>> X[1:] @ np.array([10.0])
    array([10.,  0.])
    """

    ndim = 2

    def __init__(
        self,
        packed: Packed,
        n_samples: int,
        feature_names: tuple[str, ...] | None = None,
        variants: Variants | None = None,
        samples: Samples | None = None,
    ) -> None:
        n_bytes = -(-n_samples // 4)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != n_bytes or n_samples < 1:
            raise ValueError(
                f"packed must be an array of uint8 with {n_bytes} columns for {n_samples} samples, "
                f"got {packed.dtype} of shape {packed.shape}"
            )
        if feature_names is not None and len(feature_names) != packed.shape[0]:
            raise ValueError(f"feature_names has {len(feature_names)} names for {packed.shape[0]} variants")
        if variants is not None and any(len(column) != packed.shape[0] for column in variants):
            raise ValueError(f"variants must describe {packed.shape[0]} variants")
        if samples is not None and any(len(column) != n_samples for column in samples):
            raise ValueError(f"samples must describe {n_samples} samples")
        self.packed = read_only(np.ascontiguousarray(packed))
        self.shape = (n_samples, packed.shape[0])
        self.feature_names = feature_names
        self.variants = variants
        self.samples = samples

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Genotypes: {self.shape[0]:,} samples, {self.shape[1]:,} variants, {self.packed.nbytes:,} bytes>"

    def __matmul__(self, coefs: Any) -> NDArray[np.float64]:
        """Return the product with an array or a sparse matrix; only columns with a coefficient are read."""
        n_samples, n_variants = self.shape
        if coefs.shape[0] != n_variants:
            raise ValueError(f"{n_variants} variants cannot be multiplied with an array of shape {coefs.shape}")
        weights = sp.csc_array(coefs if coefs.ndim == 2 else coefs[:, np.newaxis])
        product = np.zeros((weights.shape[1], n_samples))
        _multiply(self._storage, weights.data, weights.indices, weights.indptr, product)
        return product.T if coefs.ndim == 2 else product[0]

    def __getitem__(self, key: Any) -> "Genotypes":
        """Return some of the samples, or of both samples and variants."""
        rows, *rest = key if isinstance(key, tuple) else (key,)
        if len(rest) > 1:
            raise IndexError(f"genotypes have samples and variants, and no {len(rest) + 1} axes")
        (m, p), (columns,) = self.shape, rest or (...,)
        samples, variants = _places(rows, m), _places(self._named(columns), p)
        if not (samples.size and variants.size):
            raise ValueError(f"no {'variant' if samples.size else 'sample'} is left")
        is_plain = isinstance(columns, slice) and columns.step in (None, 1)
        packed = self.packed if columns is ... else self.packed[columns if is_plain else variants]
        if not np.array_equal(samples, np.arange(m)):
            chosen = np.zeros((len(packed), -(-samples.size // 4)), np.uint8)
            _pack_samples(read_only(packed), samples, chosen)
            packed = chosen
        names, known = self.feature_names, self.variants
        return Genotypes(
            packed,
            samples.size,
            None if names is None else _taken(names, variants),
            None if known is None else known.take(variants),
            None if self.samples is None else Samples(*(_taken(ids, samples) for ids in self.samples)),
        )

    def _named(self, columns: Any) -> Any:
        """Return indices for names of variants, and anything else as it is."""
        names = [] if isinstance(columns, slice) or columns is ... or np.ndim(columns) != 1 else list(columns)
        if not names or not all(isinstance(name, str) for name in names):
            return columns
        if self.feature_names is None:
            raise ValueError("the variants have no names, and are chosen by slices, indices or masks")
        wanted = set(names)
        found: dict[str, int] = {}
        for j, name in enumerate(self.feature_names):
            if name in wanted and found.setdefault(name, j) != j:
                raise ValueError(f"there is more than one variant {name!r}")
        missing = next((name for name in names if name not in found), None)
        if missing is not None:
            raise ValueError(f"there is no variant {str(missing)!r}")
        return [found[name] for name in names]

    def facts_of(self, columns: Sequence[int]) -> dict[int, Variant]:
        """Return what a model keeps of some variants, with the means of their calls."""
        known = self.variants
        return {} if not known else {j: known.at(j)._replace(mean=float(self._storage.means[j])) for j in columns}

    carry_over = carry_over

    def check_order(self, y: Any) -> None:
        """Raise a ValueError if y is a series that is indexed by the ids of the samples, in another order."""
        if self.samples is None or not (hasattr(y, "index") and hasattr(y, "to_frame")):
            return
        ids = list(map(str, y.index.get_level_values(-1)))
        if ids != list(self.samples.sample_ids) and sorted(ids) == sorted(self.samples.sample_ids):
            raise ValueError("y has the ids of the samples in another order: open_bed(file, pheno=y) joins them")

    def as_design(self) -> Design:
        """Return the storage that is solved with; the first call reads all genotypes for the means."""
        return Design(self._storage, self.feature_names)

    @lazy
    def _storage(self) -> Bed:
        means = np.empty(self.shape[1])
        fill_means(self.packed, self.shape[0], means)
        return Bed(self.packed, read_only(means), self.shape[0])


def _places(key: Any, n: int) -> NDArray[np.int64]:
    """Return the places that a slice, indices or a mask choose of n."""
    chosen = np.arange(n)[np.asarray(key, np.int64) if np.size(key) == 0 else key]
    if chosen.ndim != 1:
        raise IndexError("genotypes are chosen by a slice, indices, a mask or, variants, by names")
    return np.ascontiguousarray(chosen)


@kernel
def _pack_samples(packed: Packed, samples: NDArray[np.int64], chosen: Packed) -> None:
    """Pack the bits of some samples of every variant; `chosen` is of zeros."""
    for j in range(packed.shape[0]):
        for i in range(samples.size):
            k = samples[i]
            code = (packed[j, k >> 2] >> ((k & 3) << 1)) & 3
            chosen[j, i >> 2] |= code << ((i & 3) << 1)

"""Genotypes packed as in a PLINK .bed file: a storage of the column protocol, and the matrix that users hold.

A column is a variant, its numbers are copies of the allele A1. Two bits make a genotype: 00 is two copies, 10 one,
11 none, and 01 a missing call, which stands for the mean of the calls of its column. A byte holds four samples, the
first in its lowest bits; every column begins with a byte of its own. The bits are decoded where they are multiplied:
a pass reads 1/32 of the bytes that float64 takes, and is bound by arithmetic, not by memory.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.bed import Bed, Packed, _fill_means, _multiply
from .._core.columns import read_only
from .._core.threads import lazy
from .design import Design


class Variant(NamedTuple):
    """What is known of a variant besides its identifier."""

    chromosome: str
    position: int
    effect_allele: str  # A1, whose copies are counted
    other_allele: str  # A2


class Variants(NamedTuple):
    """What a .bim file tells of all variants besides their identifiers, in the order of the columns."""

    chromosomes: tuple[str, ...]
    positions: NDArray[np.int64]
    effect_alleles: tuple[str, ...]
    other_alleles: tuple[str, ...]

    def at(self, j: int) -> Variant:
        """Return what is known of a column."""
        return Variant(self.chromosomes[j], int(self.positions[j]), self.effect_alleles[j], self.other_alleles[j])


class Genotypes:
    """A matrix of genotypes, packed: samples by variants, copies of A1, missing calls the mean of their column.

    `fwlasso.datasets.open_bed` makes one of a file. `lasso_path` and `Lasso` take it as X, to fit and to predict;
    it is never decoded as a whole.

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

    Examples
    --------
    >>> import numpy as np
    >>> X = Genotypes(np.array([[0b11_10_00]], np.uint8), n_samples=3)
    >>> X.shape, X @ np.array([10.0])
    ((3, 1), array([20., 10.,  0.]))
    """

    ndim = 2

    def __init__(
        self,
        packed: Packed,
        n_samples: int,
        feature_names: tuple[str, ...] | None = None,
        variants: Variants | None = None,
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
        self.packed = read_only(np.ascontiguousarray(packed))
        self.shape = (n_samples, packed.shape[0])
        self.feature_names = feature_names
        self.variants = variants

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

    def as_design(self) -> Design:
        """Return the storage that is solved with; the first call reads all genotypes for the means."""
        return Design(self._storage, self.feature_names)

    @lazy
    def _storage(self) -> Bed:
        means = np.empty(self.shape[1])
        _fill_means(self.packed, self.shape[0], means)
        return Bed(self.packed, read_only(means), self.shape[0])

"""Genotypes of PLINK, packed as they lie in the file; `fwlasso.datasets.open_bed` opens one."""

from .data.genotypes import Genotypes, Variant, Variants

__all__ = ["Genotypes", "Variant", "Variants"]

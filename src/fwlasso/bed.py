"""Genotypes of PLINK, packed as they lie in the file; `fwlasso.datasets.open_bed` opens one."""

from .data.cohort import Cohort
from .data.genotypes import Genotypes, Samples, Variant, Variants

__all__ = ["Cohort", "Genotypes", "Samples", "Variant", "Variants"]

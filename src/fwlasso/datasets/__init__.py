"""Data: product features, the embedded demonstration set, and files of every kind the package reads."""

from .demo import load_diabetes_products
from .files import Table, read_table
from .plink import BedFile, open_bed
from .products import product_features, product_names

__all__ = [
    "BedFile",
    "Table",
    "load_diabetes_products",
    "open_bed",
    "product_features",
    "product_names",
    "read_table",
]

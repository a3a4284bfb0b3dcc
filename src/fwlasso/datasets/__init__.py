"""Data: product features, the embedded demonstration set, and files of every kind the package reads."""

from .demo import load_diabetes_products
from .files import Table, read_table
from .libsvm import load_libsvm
from .libsvm_dump import dump_libsvm
from .libsvm_parts import Reading
from .products import product_features, product_names

__all__ = [
    "Reading",
    "Table",
    "dump_libsvm",
    "load_diabetes_products",
    "load_libsvm",
    "product_features",
    "product_names",
    "read_table",
]

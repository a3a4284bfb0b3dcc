"""Data: files of every kind, stores, product features and the embedded demonstration set."""

from ..data.progress import Step
from ..data.store import Store, open_store, verify_store
from ..data.table import Table
from .convert import convert
from .demo import load_diabetes_products
from .libsvm import load_libsvm
from .libsvm_dump import dump_libsvm
from .plink import BedFile, open_bed
from .products import product_features, product_names
from .readers import read_table
from .write import write_store

__all__ = [
    "BedFile",
    "Step",
    "Store",
    "Table",
    "convert",
    "dump_libsvm",
    "load_diabetes_products",
    "load_libsvm",
    "open_bed",
    "open_store",
    "product_features",
    "product_names",
    "read_table",
    "verify_store",
    "write_store",
]

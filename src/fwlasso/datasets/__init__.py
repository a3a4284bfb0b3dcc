"""Data: product features, the embedded demonstration set, files of every kind the package reads, and stores."""

from ..store import Step, Store, open_store, verify_store
from .convert import convert
from .demo import load_diabetes_products
from .files import Table, read_table
from .products import product_features, product_names
from .write import append_columns, write_store

__all__ = [
    "Step",
    "Store",
    "Table",
    "append_columns",
    "convert",
    "load_diabetes_products",
    "open_store",
    "product_features",
    "product_names",
    "read_table",
    "verify_store",
    "write_store",
]

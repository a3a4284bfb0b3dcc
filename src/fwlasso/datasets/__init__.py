"""Data: the sets of the paper, product features, the embedded demonstration set, and files of every kind read here."""

from .demo import load_diabetes_products
from .download import DamagedFileError, DownloadError, Transfer, UnreachableError
from .files import Table, read_table
from .libsvm import load_libsvm
from .libsvm_dump import dump_libsvm
from .libsvm_parts import Reading
from .paper_sets import PAPER_SETS, PaperSet, PaperSetSize, fetch_paper_set
from .products import product_features, product_names

__all__ = [
    "PAPER_SETS",
    "DamagedFileError",
    "DownloadError",
    "PaperSet",
    "PaperSetSize",
    "Reading",
    "Table",
    "Transfer",
    "UnreachableError",
    "dump_libsvm",
    "fetch_paper_set",
    "load_diabetes_products",
    "load_libsvm",
    "product_features",
    "product_names",
    "read_table",
]

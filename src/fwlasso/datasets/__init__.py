"""Data: the sets of the paper, product features, the embedded demonstration set, and files of every kind read here."""

from .demo import load_diabetes_products
from .download import DamagedFileError, DownloadError, Transfer, UnreachableError
from .files import Table, read_table
from .paper_sets import PAPER_SETS, PaperSet, PaperSetSize, fetch_paper_set
from .products import product_features, product_names

__all__ = [
    "PAPER_SETS",
    "DamagedFileError",
    "DownloadError",
    "PaperSet",
    "PaperSetSize",
    "Table",
    "Transfer",
    "UnreachableError",
    "fetch_paper_set",
    "load_diabetes_products",
    "product_features",
    "product_names",
    "read_table",
]

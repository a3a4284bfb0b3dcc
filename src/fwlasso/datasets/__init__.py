"""Data: the sets of the paper, product features, the embedded demonstration set, files of every kind, and stores."""

from ..progress import Step
from ..store import Store, open_store, verify_store
from ..table import Table
from .convert import convert
from .demo import load_diabetes_products
from .download import DamagedFileError, DownloadError, UnreachableError
from .files import read_table
from .libsvm import load_libsvm
from .libsvm_dump import dump_libsvm
from .paper_sets import PAPER_SETS, PaperSet, PaperSetSize, fetch_paper_set
from .plink import BedFile, open_bed
from .products import product_features, product_names
from .write import write_store

__all__ = [
    "PAPER_SETS",
    "BedFile",
    "DamagedFileError",
    "DownloadError",
    "PaperSet",
    "PaperSetSize",
    "Step",
    "Store",
    "Table",
    "UnreachableError",
    "convert",
    "dump_libsvm",
    "fetch_paper_set",
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

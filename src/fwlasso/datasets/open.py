"""Opening a file of any kind as a source that is read in blocks."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ..progress import Tell, silent
from .arrow_files import open_csv, open_parquet
from .binary_files import open_h5ad, open_npz
from .compressed import unpacked
from .files import ending_of, naming, read_table, response_beside
from .optional import optional
from .source import NO_STORE, Source, from_matrix
from .text_files import open_libsvm, open_matrix_market


@contextmanager
def open_source(file: Path, target: str | None, scratch: Path, tell: Tell = silent) -> Iterator[Source]:
    """Open a file or a store as a source, for the time of the context; `scratch` is an empty folder to unpack to."""
    with ExitStack() as stack:
        with naming(file):
            source = _open_source(file, target, scratch, tell, stack)
        yield source


def _open_source(file: Path, target: str | None, scratch: Path, tell: Tell, stack: ExitStack) -> Source:
    ending = ending_of(file) if file.is_file() else None
    source: Source | None = None
    if ending == ".bed":
        raise ValueError(f"{file}: {NO_STORE}")
    if ending == ".csv":
        source = open_csv(file, target, scratch, tell)
    elif ending == ".parquet":
        source = open_parquet(file, target)
    elif ending == ".mtx":
        y = response_beside(file, target)
        packed = stack.enter_context(file.open("rb"))
        source = open_matrix_market(file, packed, stack.enter_context(unpacked(packed, file)), y, scratch, tell)
    elif ending == ".h5ad":
        h5py = optional("h5py", ending)
        source = open_h5ad(file, stack.enter_context(h5py.File(file, "r")), target)
    elif ending == ".npz" and zipfile.is_zipfile(file):
        source = open_npz(file, target, scratch, tell)
        if source is not None and source.y is None:
            source = source._replace(y=response_beside(file, target))
    elif ending not in (None, ".npy", ".npz") and target is None:
        source = open_libsvm(file, scratch, tell)
    if source is None:  # a store, a file that is mapped, or one that the reader of tables has a word on
        table = read_table(file, target)
        source = from_matrix(table.X, np.asarray(table.y), table.feature_names)
    return source

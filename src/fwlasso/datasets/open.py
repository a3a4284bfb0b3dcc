"""Opening a file of any kind as a source that is read in blocks."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from ..progress import Tell, silent
from .arrow_files import Wanted, open_csv, open_parquet
from .binary_files import open_h5ad, open_npz
from .compressed import unpacked
from .files import BESIDE, LIBSVM, ending_of, naming, read_table, response_beside
from .optional import optional
from .source import NO_STORE, Source, from_matrix
from .text_files import open_libsvm, open_matrix_market


@contextmanager
def open_source(
    file: Path,
    wanted: Wanted,
    scratch: Path,
    tell: Tell = silent,
    zero_based: bool | Literal["auto"] = "auto",
) -> Iterator[Source]:
    """Open a file or a store as a source, for the time of the context; `scratch` is an empty folder to unpack to."""
    with ExitStack() as stack:
        with naming(file):
            source = _open_source(file, wanted, zero_based, scratch, tell, stack)
        yield source


def _open_source(
    file: Path,
    wanted: Wanted,
    zero_based: bool | Literal["auto"],
    scratch: Path,
    tell: Tell,
    stack: ExitStack,
) -> Source:
    ending, target = None if file.is_dir() else ending_of(file), wanted.target
    source: Source | None = None
    if ending == ".bed":
        raise ValueError(f"{file}: {NO_STORE}")
    if ending in (".csv", ".tsv"):
        source = open_csv(file, wanted, scratch, tell)
    elif ending == ".parquet":
        source = open_parquet(file, wanted)
    elif ending == ".mtx":
        y = response_beside(file, target)
        packed = stack.enter_context(file.open("rb"))
        source = open_matrix_market(file, packed, stack.enter_context(unpacked(packed, file)), y, scratch, tell)
        source = source._replace(target=target or BESIDE)
    elif ending == ".h5ad":
        h5py = optional("h5py", ending)
        source = open_h5ad(file, stack.enter_context(h5py.File(file, "r")), target)
    elif ending == ".npz" and zipfile.is_zipfile(file):
        source = open_npz(file, target, scratch, tell)
        if source is not None and source.y is None:
            source = source._replace(y=response_beside(file, target), target=target or BESIDE)
    elif ending in LIBSVM and target is None:
        source = open_libsvm(file, zero_based, scratch, tell)
    if source is None:  # a store, a file that is mapped, or one that the reader of tables has a word on
        table = read_table(file, target)
        source = from_matrix(table.X, np.asarray(table.y), table.feature_names)
        source = source._replace(target=table.target, first_index=table.first_index)
    return source

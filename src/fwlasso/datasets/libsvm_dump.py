"""Writing LIBSVM files: numbers come back as they were, and the file is there only when it is complete."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..data.checks import check_indices, check_kind
from ..data.compressed import replacing

_BLOCK_ENTRIES = 1 << 18  # about this many are written at a time


def dump_libsvm(
    X: Any, y: ArrayLike, path: str | Path, *, zero_based: bool = False, query_id: ArrayLike | None = None
) -> None:
    """Write a LIBSVM file, row by row.

    Numbers are written with as few digits as `load_libsvm` needs to read the same float64; the numbers of float32 are
    written as the float64 that they are. Zeros of dense matrices are left out; all stored entries of sparse ones are
    written.

    Parameters
    ----------
    X : array or sparse matrix, m x p
        Sparse ones are copied to CSR, unless they are that.
    y : array of m numbers
    path : path
        Packed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. An existing file is replaced in the end, at
        once.
    zero_based : bool
        Whether indices count from 0.
    query_id : array of m integers, optional
        Written as ``qid:``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "data.svm")
    ...     dump_libsvm([[0.1, 0.0], [0.0, 2.0]], [1, -1], file)
    ...     print(file.read_text())
    1 1:0.1
    -1 2:2
    """
    check_kind("X", X)
    check_kind("y", y)
    X = X if sp.issparse(X) else np.asarray(X)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise ValueError(f"X must be a matrix of real numbers, got {X.ndim} dimensions of {X.dtype}")
    queries = None if query_id is None else np.asarray(query_id)
    for name, values in (("y", y), ("query_id", queries)):
        if values is not None and values.shape != X.shape[:1]:
            raise ValueError(f"{name} must have {X.shape[0]} entries, one per row of X, got the shape {values.shape}")
    if queries is not None and queries.dtype.kind not in "ui":
        raise ValueError(f"query_id must be integers, got {queries.dtype}")
    if not np.isfinite(y).all():
        raise ValueError("y must be finite")
    if sp.issparse(X):
        check_indices(X)
        X = X.tocsr()
    n_rows = X.shape[0]
    size = X.nnz if sp.issparse(X) else X.size
    step = max(1, _BLOCK_ENTRIES * n_rows // max(1, size))
    with replacing(Path(path)) as stream:
        for begin in range(0, n_rows, step):
            rows = slice(begin, begin + step)
            part = sp.csr_array(X[rows].astype(np.float64))  # a copy: its entries may be put in order
            part.sum_duplicates()
            heads = _texts(y[rows])
            if queries is not None:
                heads = list(map("{} qid:{}".format, heads, queries[rows].tolist()))
            stream.write(_lines(heads, part, int(not zero_based)))


def _lines(heads: list[str], part: sp.csr_array, base: int) -> bytes:
    """Return rows as text."""
    if not np.isfinite(part.data).all():
        raise ValueError("X must be finite")
    columns = (part.indices + np.int64(base)).tolist()
    entries = list(map("{}:{}".format, columns, _texts(part.data)))
    ends = part.indptr.tolist()
    rows = (" ".join([head, *entries[lo:hi]]) for head, lo, hi in zip(heads, ends, ends[1:], strict=False))
    return "".join(row + "\n" for row in rows).encode("ascii")


def _texts(values: NDArray[np.float64]) -> list[str]:
    """Return numbers with the fewest digits that give the same float64, and whole ones without a point."""
    return [text.removesuffix(".0") for text in map(repr, values.tolist())]

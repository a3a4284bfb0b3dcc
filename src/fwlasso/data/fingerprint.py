"""The fingerprint of data: checksums that tell whether they are the same as before."""

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector, shape
from .design import Design
from .genotypes import Variants
from .store import Store

# Bytes copied at a time where an array does not lie in a row.
_CHUNK_BYTES = 1 << 26
_OF_RESPONSE = ("y", "feature_names")  # entries of a store that are no part of X


def fingerprint(
    design: Design, y: Vector, store: Store | None = None, variants: Variants | None = None
) -> dict[str, str]:
    """Return checksums of X, y, names and variants; of the X of a store those written with it, without reading it.

    CRC-32 finds what happens by accident, at the speed of memory. It is no proof against intent.
    """
    if store is None:
        parts = {
            name: _checksum(part) for name, part in design.columns._asdict().items() if isinstance(part, np.ndarray)
        }
        kind = type(design.columns).__name__.lower()
    else:
        parts = {name: sha for name, sha in store.digests.items() if name not in _OF_RESPONSE}
        kind = "store"
    m, p = shape(design.columns)
    known = {} if variants is None else {"variants (chromosome, position, A1, A2)": _crc_of_text(variants)}
    return {
        "shape": f"{m} x {p}",
        "X": " ".join([kind, *(f"{name}:{checksum}" for name, checksum in parts.items())]),
        "y": _checksum(y),
        "feature names": _crc_of_text(design.feature_names),
        **known,
    }


def _crc_of_text(names: tuple[Any, ...] | None) -> str:
    return f"{zlib.crc32(json.dumps(names, default=np.ndarray.tolist).encode()):08x}"


def _checksum(array: NDArray[Any]) -> str:
    """Return type and CRC-32 of an array, in the order in which it lies in memory."""
    rows = array.T  # of a column-major array, its columns
    n_rows = max(1, _CHUNK_BYTES // max(1, rows[:1].nbytes))
    crc = 0
    for first in range(0, len(rows), n_rows):
        crc = zlib.crc32(np.ascontiguousarray(rows[first : first + n_rows]).data, crc)
    return f"{array.dtype.name}-{crc:08x}"

"""Storages and kinds of input, and the numbers that they hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from fwlasso.bed import Genotypes

Maker = Callable[[np.ndarray], Any]


def with_int64_indices(X: sp.csc_array) -> sp.csc_array:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def pack(values: np.ndarray) -> np.ndarray:
    """Pack genotypes as in a .bed file; what is not 0, 1 or 2 is a missing call. The padding is not of zeros."""
    codes = np.select([values == 2, values == 1, values == 0], [0b00, 0b10, 0b11], 0b01).astype(np.uint8)
    codes = np.pad(codes, [(0, -len(codes) % 4), (0, 0)], constant_values=0b10)
    fours = codes.reshape(-1, 4, codes.shape[1]) << np.array([0, 2, 4, 6], np.uint8)[:, None]
    return np.bitwise_or.reduce(fours, axis=1).T


def impute(values: np.ndarray) -> np.ndarray:
    """Fill NaN by the mean of the other entries of the column, or by zero where there are none."""
    called = ~np.isnan(values)
    means = np.where(called, values, 0.0).sum(axis=0) / np.maximum(called.sum(axis=0), 1)
    return np.where(called, values, means)


def partly_sparse(frame: pd.DataFrame, fills: tuple[float, ...] = (0.0, 1.0, np.nan)) -> pd.DataFrame:
    """Make every other column sparse, with one fill value after the other."""
    for k, name in enumerate(frame.columns[::2]):
        frame[name] = pd.arrays.SparseArray(frame[name], fill_value=fills[k % len(fills)])
    return frame


#: Storages that hold any numbers, or those of single precision.
ANY_NUMBERS: dict[str, Maker] = {
    "dense64": np.asfortranarray,
    "dense32": lambda values: np.asfortranarray(values, dtype=np.float32),
    "csc64": sp.csc_array,
    "csc32": lambda values: sp.csc_matrix(values.astype(np.float32)),
    "csc64-int64": lambda values: with_int64_indices(sp.csc_array(values)),
}
#: All of them; genotypes hold 0, 1, 2 and NaN for a missing call.
STORAGES: dict[str, Maker] = {**ANY_NUMBERS, "bed": lambda values: Genotypes(pack(values), len(values))}
#: What else users come with: it is copied into one of these.
KINDS: dict[str, Maker] = {
    **STORAGES,
    "rows": np.ascontiguousarray,
    "frame": pd.DataFrame,
    "sparse-frame": lambda values: pd.DataFrame.sparse.from_spmatrix(sp.csc_array(values)),
    "mixed-frame": lambda values: partly_sparse(pd.DataFrame(values)),
    "integers": lambda values: values.astype(np.int64),
}


def fits(kind: str, values: np.ndarray) -> bool:
    """Tell whether a kind of input can hold these numbers; single precision rounds them, and must not overflow."""
    if kind == "bed":
        return bool((np.isnan(values) | np.isin(values, (0.0, 1.0, 2.0))).all())
    if kind == "integers":
        return bool((np.abs(values) < 2.0**53).all() and (values == np.floor(values)).all())
    return not kind.endswith("32") or bool(not (np.abs(values) > 1e38).any())


def held(kind: str, values: np.ndarray) -> np.ndarray:
    """Return what is held of these numbers."""
    filled = impute(values)
    return filled.astype(np.float32).astype(np.float64) if kind.endswith("32") else filled

"""The folder in which a problem goes to a peer, and coefficients come back. Read by both environments: numpy alone.

Peers get columns that are scaled already and, where X is dense, centred: none of it counts as their time. A sparse X
comes with the means of its columns, and the peer centres it by the means that it has.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Given(NamedTuple):
    """What a peer is given, an elastic net for every alpha, which at a ratio of one is the Lasso.

    min 1/(2m) ||y - (X - 1 offset') b||^2 + alpha (l1_ratio ||b||_1 + (1 - l1_ratio)/2 ||b||^2)
    """

    X: Any  # F-ordered array, or scipy.sparse.csc_matrix
    y: Vector  # centred
    offset: Vector | None  # means of the columns of a sparse X
    alphas: Vector
    l1_ratio: float = 1.0


class Scaled(NamedTuple):
    """A problem in the units of its solution."""

    given: Given
    factors: Vector  # of the columns: coefficients of the peer times these are for the columns as given


def scale(
    X: Any,
    y: Vector,
    mean: Vector,
    deviation: Vector,
    *,
    standardize: bool,
    n_points: int,
    eps: float,
    l1_ratio: float = 1.0,
) -> Scaled:
    """Return a problem as peers get it, with penalties from the largest down to `eps` times it."""
    factors = np.divide(1.0, deviation, out=np.zeros(mean.size), where=deviation > 0.0)
    if not standardize:
        factors = (deviation > 0.0).astype(float)  # a constant column is left out by every solver
    y = y - y.mean()
    offset = None
    if sp.issparse(X):
        data = X.data * np.repeat(factors, np.diff(X.indptr))
        Z = sp.csc_matrix((data, X.indices, X.indptr), shape=X.shape)
        offset = mean * factors
    else:
        Z = np.asfortranarray((X - mean) * factors)
    alpha_max = float(np.abs(Z.T @ y).max()) / y.size / l1_ratio
    return Scaled(Given(Z, y, offset, alpha_max * np.geomspace(1.0, eps, n_points), l1_ratio), factors)


def write(folder: Path, given: Given) -> None:
    """Write a problem."""
    np.save(folder / "y.npy", given.y)
    np.save(folder / "alphas.npy", given.alphas)
    np.save(folder / "l1_ratio.npy", given.l1_ratio)
    if given.offset is None:
        np.save(folder / "X.npy", given.X)
    else:
        np.save(folder / "offset.npy", given.offset)
        for part in ("data", "indices", "indptr"):
            np.save(folder / f"X-{part}.npy", getattr(given.X, part))


def read(folder: Path) -> Given:
    """Read a problem."""
    y, alphas, l1_ratio = (np.load(folder / f"{name}.npy") for name in ("y", "alphas", "l1_ratio"))
    if (folder / "X.npy").exists():
        return Given(np.load(folder / "X.npy"), y, None, alphas, float(l1_ratio))
    offset = np.load(folder / "offset.npy")
    parts = tuple(np.load(folder / f"X-{part}.npy") for part in ("data", "indices", "indptr"))
    return Given(sp.csc_matrix(parts, shape=(y.size, offset.size)), y, offset, alphas, float(l1_ratio))


def write_coefs(folder: Path, coefs: Any) -> None:
    """Write coefficients, a sparse matrix of columns by points."""
    coefs = sp.csc_array(coefs)
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"coefs-{part}.npy", getattr(coefs, part))


def read_coefs(folder: Path, p: int, n_points: int) -> sp.csc_array:
    """Read coefficients."""
    parts = tuple(np.load(folder / f"coefs-{part}.npy") for part in ("data", "indices", "indptr"))
    return sp.csc_array(parts, shape=(p, n_points))

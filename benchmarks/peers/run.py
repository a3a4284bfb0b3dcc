"""A path by a peer in one call."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fwlasso._core.columns import Vector

from . import handover
from .accuracy import Moments, moments, penalty_gaps
from .session import PEERS, PeerError, Session, why_missing


class PeerPath(NamedTuple):
    """A path over penalties by another package."""

    alphas: Vector
    coefs: sp.csc_array  # n_features x n_points, for the columns as given
    intercepts: Vector
    gaps: Vector  # relative duality gaps over all columns, recomputed
    times: list[float]  # seconds of the peer's own calls


def run_peer(
    name: str,
    X: Any,
    y: Any,
    *,
    alphas: int = 100,
    eps: float = 1e-2,
    standardize: bool = False,
    tol: float = 1e-7,
    time_limit: float = 3600.0,
    known: Moments | None = None,
    calls: int = 1,
) -> PeerPath:
    """Compute a path by another package, in a process of its own.

    Parameters
    ----------
    name : "glmnet", "skglm", "pycasso", "adelie", "celer", "sklearn", "sklearn_gram" or "lars"
        R's glmnet is run by Rscript; the others by the Python that the environment variable FWLASSO_PEERS names.
    X : array of shape (n_samples, n_features), or scipy sparse matrix in CSC format
    y : array of shape (n_samples,)
    alphas, eps : the grid: how many penalties, from the largest down to `eps` times it
    standardize : scale the columns to a mean square of one
    tol : the tolerance in the peer's own meaning
    time_limit : seconds for a call
    known : moments of the columns, where they are known already
    calls : how often it is computed, for as many times

    Returns
    -------
    PeerPath

    Raises
    ------
    PeerError
        Where the peer is not installed, fails, or takes longer than `time_limit`.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.peers import run_peer, why_missing
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((50, 200)))
    >>> if why_missing("glmnet") is None:
    ...     assert run_peer("glmnet", X, X[:, 0], alphas=10).coefs.shape == (200, 10)
    """
    if name not in PEERS:
        raise ValueError(f"name must be one of {', '.join(PEERS)}, got {name!r}")
    why = why_missing(name)
    if why is not None:
        raise PeerError(why)
    known = known or moments(X)
    y = np.asarray(y, dtype=np.float64)
    units: dict[str, Any] = {"standardize": standardize, "n_points": alphas, "eps": eps}
    with TemporaryDirectory(prefix="fwlasso-peer-") as folder:
        given, factors = handover.scale(X, y, *known, **units)
        handover.write(Path(folder), given)
        grid = given.alphas
        del given  # a copy of X: the peer has read its own
        try:
            with Session(name, Path(folder), X.shape[1], alphas) as session:
                answers = [session.ask(tol, time_limit) for _ in range(calls)]
        except TimeoutError:
            raise PeerError(f"{name} had no answer after {time_limit:.0f} s") from None
    coefs = answers[-1].coefs
    coefs.data *= factors[coefs.indices]
    intercepts = y.mean() - known.mean @ coefs
    gaps = penalty_gaps(X, y, coefs, grid, standardize, known)
    return PeerPath(grid, coefs, intercepts, gaps, [answer.seconds for answer in answers])

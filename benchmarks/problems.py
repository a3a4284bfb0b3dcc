"""The named problems of the comparison with other packages, real and made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fwlasso import LassoPath, lasso_path
from reproduction.data import standins
from reproduction.data.paper_sets import fetch_paper_set

from .peers.accuracy import Moments, penalty_gaps
from .peers.handover import Scaled, scale

N_POINTS = 100
Vector = NDArray[np.float64]
Load = Callable[[Path], tuple[Any, Vector]]


class Problem(NamedTuple):
    """A path to compute: 100 penalties from the largest down to `eps` times it, with an intercept."""

    X: Any  # F-ordered array or CSC
    y: Vector
    standardize: bool
    eps: float
    l1_ratio: float = 1.0

    def path(self, **settings: Any) -> LassoPath:
        """Compute our path, from the user's X."""
        asked = {"alphas": N_POINTS, "eps": self.eps, "standardize": self.standardize, "l1_ratio": self.l1_ratio}
        return lasso_path(self.X, self.y, **(asked | settings))

    def gaps(self, coefs: Any, alphas: Vector, known: Moments | None = None) -> Vector:
        """Return the recomputed gaps of coefficients for X."""
        return penalty_gaps(self.X, self.y, coefs, alphas, self.standardize, known, self.l1_ratio)

    def given(self, known: Moments) -> Scaled:
        """Return the problem in the units of the solution, as peers get it, and the factors of its columns."""
        units: dict[str, Any] = {"standardize": self.standardize, "eps": self.eps, "l1_ratio": self.l1_ratio}
        return scale(self.X, self.y, *known, n_points=N_POINTS, **units)


class Source(NamedTuple):
    """Where a problem comes from."""

    load: Load  # given the data folder
    standardize: bool
    is_real: bool  # needs the data folder
    eps: float = 0.01
    l1_ratio: float = 1.0

    def problem(self, data: Path | None) -> Problem:
        """Load or make the problem."""
        return Problem(*self.load(data or Path()), self.standardize, self.eps, self.l1_ratio)


def _paper_set(name: str, is_real: bool) -> Source:
    def load(data: Path) -> tuple[Any, Vector]:
        found = fetch_paper_set(name, data, download=False)
        return found.X, found.y

    return Source(load, standardize=True, is_real=is_real)


def _sparse(name: str, standardize: bool) -> Source:
    def load(data: Path) -> tuple[Any, Vector]:
        X = sp.csc_array(sp.load_npz(data / name / "X.npz"), dtype=np.float64)
        return X, np.load(data / name / "y.npy").astype(np.float64)

    return Source(load, standardize, is_real=True)


def _standin(make: Callable[[], standins.StandIn], eps: float) -> Source:
    def load(_: Path) -> tuple[Any, Vector]:
        made = make()
        return made.X, made.y

    return Source(load, standardize=False, is_real=False, eps=eps)


def _made(make: Callable[[np.random.Generator], tuple[Vector, Vector]], eps: float) -> Source:
    return Source(lambda _: make(np.random.default_rng(0)), standardize=False, is_real=False, eps=eps)


def few_matter(m: int, p: int, k: int, eps: float) -> Source:
    """Independent columns, of which `k` matter."""

    def make(rng: np.random.Generator) -> tuple[Vector, Vector]:
        X = np.empty((m, p), order="F")
        for lo in range(0, p, 64):
            X[:, lo : lo + 64] = rng.standard_normal((m, min(64, p - lo)))
        return X, X @ _relevant(rng, p, k) + rng.standard_normal(m)

    return _made(make, eps)


def _all_matter(m: int, p: int, eps: float) -> Source:
    """Independent columns, all of which matter a little: most become active."""

    def make(rng: np.random.Generator) -> tuple[Vector, Vector]:
        X = np.asfortranarray(rng.standard_normal((m, p)))
        return X, X @ rng.standard_normal(p) + np.sqrt(p) * rng.standard_normal(m)

    return _made(make, eps)


def _neighbours(m: int, p: int, k: int, rho: float, eps: float) -> Source:
    """Columns of which neighbours are correlated by `rho`; `k` of them matter."""

    def make(rng: np.random.Generator) -> tuple[Vector, Vector]:
        X = np.asfortranarray(rng.standard_normal((m, p)))
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
        return X, X @ _relevant(rng, p, k) + rng.standard_normal(m)

    return _made(make, eps)


def _text(m: int, p: int, words: int, k: int, eps: float) -> Source:
    """Columns of norm one of log(1 + count), counts by Zipf's law; k of the 3,000 commonest matter a little."""

    def load(_: Path) -> tuple[Any, Vector]:
        rng = np.random.default_rng(0)
        rows = np.repeat(np.arange(m), rng.poisson(words, m))
        ranks = ((p + 2.7) / 2.7) ** rng.random(rows.size) * 2.7 - 2.7  # as often as 1 / (rank + 2.7)
        columns = np.minimum(ranks.astype(np.int64), p - 1)
        X = sp.csc_array(sp.coo_array((np.ones(rows.size), (rows, columns)), shape=(m, p)))
        X.data = np.log1p(X.data)
        norms = np.sqrt(np.asarray((X * X).sum(axis=0)).ravel())
        X.data /= np.repeat(norms, np.diff(X.indptr))
        fit = X[:, rng.choice(3_000, k, replace=False)] @ rng.standard_normal(k)
        return X, fit + 3.0 * fit.std() * rng.standard_normal(m)

    return Source(load, standardize=False, is_real=False, eps=eps)


def _relevant(rng: np.random.Generator, p: int, k: int) -> Vector:
    coefs = np.zeros(p)
    coefs[rng.choice(p, k, replace=False)] = rng.standard_normal(k)
    return coefs


SOURCES = {
    "synthetic-10000-32": _paper_set("synthetic-10000-32", is_real=False),
    "synthetic-10000-100": _paper_set("synthetic-10000-100", is_real=False),
    "synthetic-50000-158": _paper_set("synthetic-50000-158", is_real=False),
    "synthetic-50000-500": _paper_set("synthetic-50000-500", is_real=False),
    "pyrim": _paper_set("pyrim", is_real=True),
    "triazines": _paper_set("triazines", is_real=True),
    "dorothea": _sparse("dorothea", standardize=False),
    "dorothea-standardized": _sparse("dorothea", standardize=True),
    "news20": _sparse("news20", standardize=False),
    "news20-standardized": _sparse("news20", standardize=True),
    "e2006-tfidf-standin": _standin(standins.tfidf, eps=0.01),
    "text-51000": _text(51_000, 1_300_000, 120, 300, eps=0.1),
    "e2006-log1p-standin": _standin(standins.log1p, eps=0.1),
}
# Tall, small, and with many active features.
SHAPES = {
    "50000x300": few_matter(50_000, 300, 30, eps=1e-3),
    "100000x100": few_matter(100_000, 100, 30, eps=1e-2),
    "10000x1000": _all_matter(10_000, 1_000, eps=1e-2),
    "1000x1000": _all_matter(1_000, 1_000, eps=1e-3),
    "2000x5000": _neighbours(2_000, 5_000, 1_000, 0.9, eps=1e-2),
    "442x64": few_matter(442, 64, 10, eps=1e-3),
    "100x10": few_matter(100, 10, 5, eps=1e-3),
}


def _as_nets(sources: dict[str, Source], ratios: dict[str, tuple[float, ...]]) -> dict[str, Source]:
    """Return the same problems as elastic nets, by "name-net-ratio"."""
    return {
        f"{name}-net-{ratio}": sources[name]._replace(l1_ratio=ratio) for name, some in ratios.items() for ratio in some
    }


SOURCES |= _as_nets(SOURCES, {"synthetic-10000-100": (0.5, 0.9), "synthetic-50000-500": (0.5, 0.9), "dorothea": (0.5,)})
SHAPES |= _as_nets(SHAPES, {"50000x300": (0.5,)})

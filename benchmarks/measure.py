"""Measuring: best of several, one line per requirement, and an independent check of accuracy."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def best_seconds(rounds: int, **actions: Callable[[], object]) -> dict[str, float]:
    """Return the shortest time of every action, run in turns: a noisy neighbour slows all of them, or none."""
    shortest = dict.fromkeys(actions, float("inf"))
    for _ in range(rounds):
        for name, action in actions.items():
            started = time.perf_counter()
            action()
            shortest[name] = min(shortest[name], time.perf_counter() - started)
    return shortest


@dataclass
class Results:
    """Lines of what was asked and what was measured, printed as they come and kept as JSON."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def section(self, title: str) -> None:
        """Print a heading."""
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def add(self, what: str, measured: float, unit: str = "", asked: str = "", holds: bool | None = None) -> None:
        """Record and print one line; `holds` tells whether the measured figure is as asked."""
        mark = {True: "ok ", False: "NO ", None: "   "}[holds]
        print(f"{mark} {what:<72} {measured:>12.4g} {unit:<12} {f'asked {asked}' if asked else ''}", flush=True)
        self.lines.append(asdict(Line(what, float(measured), unit, asked, holds)))

    def write(self, folder: Path) -> None:
        """Keep the lines as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(self.lines, indent=1))


@dataclass
class Line:
    """One measured figure."""

    what: str
    measured: float
    unit: str
    asked: str
    holds: bool | None


def moments(X: Any, chunk: int = 20_000) -> tuple[Vector, Vector]:
    """Return mean and root mean square deviation of every column, dense or sparse; 0 for a column that is constant."""
    p = X.shape[1]
    mean, deviation = np.zeros(p), np.zeros(p)
    for lo in range(0, p, chunk):
        part = slice(lo, min(lo + chunk, p))
        mean[part], deviation[part] = (_sparse_moments if sp.issparse(X) else _dense_moments)(X[:, part])
    return mean, deviation


def _dense_moments(X: Any) -> tuple[Vector, Vector]:
    mean = X.mean(axis=0)
    deviation = np.sqrt(((X - mean) ** 2).mean(axis=0))
    return mean, np.where(deviation > 1e-12 * np.abs(X).max(axis=0), deviation, 0.0)


def _sparse_moments(X: Any) -> tuple[Vector, Vector]:
    m, p = X.shape
    lengths = np.diff(X.indptr)
    column = np.repeat(np.arange(p), lengths)
    mean = np.bincount(column, X.data, p) / m
    squares = np.bincount(column, (X.data - mean[column]) ** 2, p) + (m - lengths) * mean**2
    deviation = np.sqrt(squares / m)
    largest = np.zeros(p)
    np.maximum.at(largest, column, np.abs(X.data))
    return mean, np.where(deviation > 1e-12 * largest, deviation, 0.0)


def ball_gaps(X: Any, y: Vector, coefs: Any, radii: Vector) -> Vector:
    """Relative duality gaps of the constrained form on standardised columns, in plain numpy: no code of the package.

    `coefs` (p x points) are for the columns as given; gap = radius max|Z'r| - a'Z'r, over 1/2 ||y||^2.
    """
    y_c, r, _, largest = _residuals(X, y, coefs, standardize=True)
    return np.asarray((radii * largest - ((y_c[:, None] - r) * r).sum(axis=0)) / (0.5 * y_c @ y_c))


def penalty_gaps(X: Any, y: Vector, coefs: Any, alphas: Vector, standardize: bool = True) -> Vector:
    """Relative duality gaps of the penalized form, in plain numpy and scipy: no code of the package.

    Columns are centred, and scaled to a mean square of one if `standardize`; `coefs` are for the columns as given. A
    sparse X stays sparse.
    """
    lam = alphas * y.size
    y_c, r, l1, largest = _residuals(X, y, coefs, standardize)
    rr, yr = (r**2).sum(axis=0), y_c @ r
    bound = np.divide(lam, largest, out=np.full(lam.size, np.inf), where=largest > 0.0)
    s = np.clip(np.divide(yr, rr, out=np.zeros(lam.size), where=rr > 0.0), -bound, bound)
    return np.asarray((0.5 * rr + lam * l1 - s * yr + 0.5 * s**2 * rr) / (0.5 * y_c @ y_c))


def _residuals(
    X: Any, y: Vector, coefs: Any, standardize: bool, chunk: int = 20_000
) -> tuple[Vector, NDArray[np.float64], Vector, Vector]:
    """Return y centred and, of every point, the residual, ||a||_1 and max|Z'r|, in the units of the columns Z."""
    coefs = sp.csc_array(coefs)
    mean, deviation = moments(X)
    scale = deviation if standardize else np.ones(mean.size)
    y_c = y - y.mean()
    active = np.unique(coefs.indices)
    fitted = X[:, active] @ coefs[active].toarray()
    r = np.ascontiguousarray(y_c[:, None] - (fitted - fitted.mean(axis=0)))
    l1 = np.asarray(abs(coefs.multiply(scale[:, None])).sum(axis=0)).ravel()
    largest = np.zeros(coefs.shape[1])
    for lo in range(0, mean.size, chunk):
        part = slice(lo, min(lo + chunk, mean.size))
        varies = deviation[part] > 0.0
        corr = X[:, part].T @ r - np.outer(mean[part], r.sum(axis=0))
        corr = np.divide(corr, scale[part, None], out=np.zeros_like(corr), where=varies[:, None])
        largest = np.maximum(largest, np.abs(corr).max(axis=0))
    return y_c, r, l1, largest

"""Measuring: best of several, one line per requirement, and an independent check of accuracy."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def ball_gaps(
    X: NDArray[np.float64], y: NDArray[np.float64], coefs: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Relative duality gaps of the constrained form on standardised columns, in plain numpy: no code of the package.

    `coefs` (p x points) are for the columns as given; gap = radius max|Z'r| - a'Z'r, over 1/2 ||y||^2.
    """
    return _scan(X, y, coefs, lambda largest, inner, r, l1, y_c: radii * largest - inner)


def penalty_gaps(
    X: NDArray[np.float64], y: NDArray[np.float64], coefs: NDArray[np.float64], alphas: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Relative duality gaps of the penalized form on standardised columns, in plain numpy."""
    lam = alphas * y.size

    def gap(largest: Any, inner: Any, r: Any, l1: Any, y_c: Any) -> Any:
        rr, yr = (r**2).sum(axis=0), y_c @ r
        s = np.clip(yr / rr, -lam / largest, lam / largest)
        return 0.5 * rr + lam * l1 - s * yr + 0.5 * s**2 * rr

    return _scan(X, y, coefs, gap)


def _scan(X: Any, y: Any, coefs: Any, gap: Callable[..., Any], chunk: int = 20_000) -> NDArray[np.float64]:
    y_c = y - y.mean()
    active = np.flatnonzero(np.any(coefs != 0.0, axis=1))
    fitted = X[:, active] @ coefs[active]
    r = y_c[:, None] - (fitted - fitted.mean(axis=0))
    largest, inner, l1 = np.zeros((3, coefs.shape[1]))
    for lo in range(0, X.shape[1], chunk):
        Z = X[:, lo : lo + chunk] - X[:, lo : lo + chunk].mean(axis=0)
        scale = np.sqrt((Z**2).mean(axis=0))
        varies = scale > 1e-12 * np.abs(X[:, lo : lo + chunk]).max(axis=0)
        corr = np.divide(Z, scale, out=np.zeros_like(Z), where=varies).T @ r
        a = coefs[lo : lo + chunk] * scale[:, None]
        largest = np.maximum(largest, np.abs(corr).max(axis=0))
        inner = inner + (a * corr).sum(axis=0)
        l1 = l1 + np.abs(a).sum(axis=0)
    return np.asarray(gap(largest, inner, r, l1, y_c) / (0.5 * y_c @ y_c))

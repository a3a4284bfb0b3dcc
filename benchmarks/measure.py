"""Measuring: best of several, and one line per requirement."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


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

    def write(self, folder: Path, name: str = "results") -> None:
        """Keep the lines as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(self.lines, indent=1))


@dataclass
class Line:
    """One measured figure."""

    what: str
    measured: float
    unit: str
    asked: str
    holds: bool | None

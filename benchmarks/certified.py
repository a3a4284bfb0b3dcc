"""Paths with a proven gap against other packages at equal accuracy: every gap is recomputed, over all columns."""

import json
import math
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .equal import NAMES, Arena, Best
from .measure import Results, best_seconds
from .peers import why_missing
from .problems import N_POINTS, SOURCES

_OUR_RUNS = 5  # between those of a peer
_MOST_PASSES, _FEW_ACTIVE = 16, 1000  # the passes allowed where fewer features than this are active at the end


class Ask(NamedTuple):
    """To reach `gap`, `times` faster than the fastest peer takes to reach `peer_gap`."""

    gap: float
    times: float
    peer_gap: float


class Table(NamedTuple):
    """What is asked on a problem."""

    asks: tuple[Ask, ...]
    limit: float = 300.0  # seconds for a run of a peer
    peers: tuple[str, ...] = NAMES
    most_seconds: float | None = None
    most_memory: float | None = None  # peak beyond X, as a share of it


_SYNTHETIC = Table((Ask(1e-4, 5.0, 1e-4), Ask(1e-6, 10.0, 1e-6)))
_PRODUCTS = Table((Ask(1e-6, 10.0, 1e-4),))
_SPARSE = Table((Ask(1e-4, 10.0, 1e-4), Ask(1e-6, 10.0, 1e-6)))
_NET, _WIDE_NET = (Table((Ask(1e-4, a, 1e-4), Ask(1e-6, b, 1e-6))) for a, b in ((5.0, 4.0), (10.0, 8.0)))
ASKED = {
    "synthetic-10000-32": _SYNTHETIC,
    "synthetic-10000-100": _SYNTHETIC,
    "synthetic-50000-158": _SYNTHETIC,
    "synthetic-50000-500": _SYNTHETIC,
    "pyrim": _PRODUCTS,
    "triazines": _PRODUCTS,
    "dorothea": _SPARSE,
    "dorothea-standardized": _SPARSE,
    "news20": _SPARSE,
    "news20-standardized": _SPARSE,
    **dict.fromkeys(("synthetic-10000-100-net-0.5", "synthetic-10000-100-net-0.9"), _NET),
    **dict.fromkeys(("synthetic-50000-500-net-0.5", "synthetic-50000-500-net-0.9"), _WIDE_NET),
    "dorothea-net-0.5": Table((Ask(1e-4, 10.0, 1e-4), Ask(1e-6, 6.0, 1e-6))),
    "e2006-tfidf-standin": Table((Ask(1e-4, 10.0, 1e-4),), limit=600.0),
    "e2006-log1p-standin": Table(
        (Ask(1e-6, 10.0, 1e-6),), limit=600.0, peers=("glmnet", "celer"), most_seconds=30.0, most_memory=0.25
    ),
}


def run(results: Results, data: Path | None, chosen: str = "", peers: Iterable[str] = NAMES) -> None:
    """Run the problems whose names begin with `chosen`, against the peers named that can be run here."""
    missing = {name: why_missing(name) for name in peers}
    for name, why in missing.items():
        if why is not None:
            print(f"\n{name}: left out, {why}")
    present = [name for name in peers if missing[name] is None]
    for name, table in ASKED.items():
        if not name.startswith(chosen):
            continue
        source = SOURCES[name]
        if source.is_real and data is None:
            print(f"\n{name}: left out, no data folder (set FWLASSO_DATA or give --data)")
            continue
        with Arena.of(source.problem(data)) as arena:
            _problem(results, name, table, arena, [peer for peer in present if peer in table.peers])


def _problem(results: Results, name: str, table: Table, arena: Arena, peers: list[str]) -> None:
    m, p = arena.problem.X.shape
    results.section(f"{name}: {m:,} x {p:,}, {N_POINTS} points to {arena.problem.eps:g} times the largest penalty")
    ours = {ask.gap: _ours(results, name, table, arena, ask.gap) for ask in table.asks}
    if table.most_memory is not None:
        share = _extra_memory(arena, table.asks[-1].gap)
        at_most(results, f"{name}: peak extra memory, of X", 100 * share, 100 * table.most_memory, "%")
    found = _peers(results, name, table, arena, peers)
    for ask in table.asks:
        if ask.peer_gap in found:
            versus(results, name, ask, ours[ask.gap], found[ask.peer_gap])


def at_most(results: Results, what: str, measured: float, bound: float | None, unit: str = "") -> None:
    """Record a figure; where there is a bound, it is asked to be no larger."""
    if bound is None:
        results.add(what, measured, unit)
    else:
        results.add(what, measured, unit, f"<= {bound:g}", measured <= bound)


def _ours(results: Results, name: str, table: Table, arena: Arena, gap: float) -> float:
    """Measure our path at one gap; return its seconds, of the whole call on the user's X."""
    path = arena.problem.path(tol=gap)  # compiles what was not compiled yet
    seconds = best_seconds(_OUR_RUNS, ours=lambda: arena.problem.path(tol=gap))["ours"]
    np.testing.assert_allclose(path.alphas, arena.alphas, rtol=1e-9)
    recomputed = float(arena.problem.gaps(path.coefs, arena.alphas).max())
    n_active = int(path.n_active[-1])

    line = f"{name}, gap {gap:.0e}"
    at_most(results, f"{line}: whole call", seconds, table.most_seconds, "s")
    at_most(results, f"{line}: largest gap, recomputed", recomputed, gap)
    results.add(f"{line}: largest gap, as claimed", float(path.gaps.max()))
    results.add(f"{line}: active features at the end", n_active)
    most_passes = _MOST_PASSES if n_active < _FEW_ACTIVE else None
    at_most(results, f"{line}: passes over the data", path.counters.passes, most_passes)
    return seconds


_MEMORY = """
import json, sys
from pathlib import Path
import fwlasso
from benchmarks.peers import handover
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))
X, y, *_ = handover.read(Path(sys.argv[1]))
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
settings = json.loads(sys.argv[2])
fwlasso.lasso_path(X[:, :1000], y, **settings)
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
fwlasso.lasso_path(X, y, **settings)
print((status("VmHWM") - before) * 1024 / size)
"""


def _extra_memory(arena: Arena, gap: float) -> float:
    """Return the peak memory of our path beyond X, as a share of X, on the columns as peers get them."""
    settings = json.dumps({"alphas": N_POINTS, "eps": arena.problem.eps, "tol": gap})
    command = [sys.executable, "-c", _MEMORY, str(arena.folder), settings]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _peers(results: Results, name: str, table: Table, arena: Arena, peers: list[str]) -> dict[float, list[Best]]:
    """Run the peers; one that takes more than twice as long as the fastest so far is ended."""
    gaps = sorted({ask.peer_gap for ask in table.asks}, reverse=True)
    our_gaps = {ask.peer_gap: ask.gap for ask in table.asks}
    fastest = dict.fromkeys(gaps, math.inf)

    def ours(gap: float) -> float:
        return best_seconds(_OUR_RUNS, ours=lambda: arena.problem.path(tol=our_gaps[gap]))["ours"]

    found: dict[float, list[Best]] = {}
    for peer in peers:
        limits = {gap: min(table.limit, 2.0 * fastest[gap] + 10.0) for gap in gaps}
        for gap, best in arena.compare(peer, limits, ours).items():
            found.setdefault(gap, []).append(best)
            if best.missed is None:
                fastest[gap] = min(fastest[gap], best.trial.seconds)
            missed = f", {best.missed}" if best.missed else ""
            results.add(f"{name}, gap {gap:.0e}: {peer} ({best.trial.gap:.1e}{missed})", best.trial.seconds, "s")
    return found


def versus(results: Results, name: str, ask: Ask, seconds: float, found: list[Best]) -> None:
    """Compare with the fastest peer that reached the gap; where none did, with the shortest time spent on it.

    Ours is the time in turns with that peer, where it was fast enough for turns; else `seconds`.
    """
    reached = [best for best in found if best.missed is None]
    fastest = min(reached or found, key=lambda best: best.trial.seconds)
    if math.isfinite(fastest.ours):
        seconds = fastest.ours
        results.add(f"{name}, gap {ask.gap:.0e}: whole call, in turns with the fastest peer", seconds, "s")
    ratio = fastest.trial.seconds / seconds
    against = "the fastest peer" if reached else "peers that did not get there, at least"
    line = f"{name}, gap {ask.gap:.0e}: against {against} at {ask.peer_gap:.0e}"
    results.add(line, ratio, "times", f">= {ask.times:g}", ratio >= ask.times)

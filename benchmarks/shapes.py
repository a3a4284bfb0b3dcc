"""Tall data, small data and many active features: against other packages, X'X by numpy, and another checkout.

python -m benchmarks.shapes --shape 442x64 --repeats 5 --before ../before
"""

import argparse
import math
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from . import certified, choosing
from .certified import at_most
from .checkout import HERE, Checkout
from .equal import NAMES, Arena, Best, calls_in_a_turn
from .measure import Results, best_seconds
from .peers import why_missing
from .problems import N_POINTS, SHAPES, Problem

_SERVE = str(Path(__file__).with_name("serve_ours.py"))
_CV_GAP = _FIT_GAP = 1e-4
_FIT_PENALTY = 0.1  # of the largest one


class Ask(NamedTuple):
    """A path to a gap: `times` as fast as the fastest peer, in at most the time of so many X'X."""

    gap: float
    times: float
    xtx: float | None = None


class Shape(NamedTuple):
    """What is asked on a shape."""

    asks: tuple[Ask, ...]
    against: tuple[str, ...] = NAMES  # the peers that `times` is about; the others are told
    of_before: float | None = None  # at most this share of the time of the other checkout
    of_pycasso: float | None = None  # at most so many times what pycasso takes on 442 x 64, the clock of small problems
    of_fit: float | None = None  # one fit, at most so many times scikit-learn's
    cv: tuple[float, float] | None = None  # 5 folds: at most so many paths, and so many times as fast as scikit-learn


_NOT_NEW = ("glmnet", "sklearn", "sklearn_gram")
ASKED = {
    "50000x300": Shape((Ask(1e-4, 2.2, xtx=1.4), Ask(1e-6, 2.2, xtx=1.4)), cv=(1.6, 12.0)),
    "50000x300-net-0.5": Shape((Ask(1e-4, 2.0), Ask(1e-6, 2.0)), against=("sklearn_gram",)),
    "100000x100": Shape((Ask(1e-4, 2.0, xtx=1.5), Ask(1e-6, 2.0, xtx=1.5))),
    "10000x1000": Shape((Ask(1e-4, 1.3, xtx=1.8), Ask(1e-6, 1.3, xtx=2.2)), cv=(2.2, 5.0)),
    "1000x1000": Shape((Ask(1e-4, 12.0), Ask(1e-6, 12.0))),
    "2000x5000": Shape((Ask(1e-4, 5.0), Ask(1e-6, 5.0)), of_before=0.7),
    "442x64": Shape((Ask(1e-6, 1.0),), against=_NOT_NEW, of_pycasso=1.15, of_fit=2.0),
    "100x10": Shape((Ask(1e-6, 1.0),), against=_NOT_NEW, of_pycasso=1.0),
}


class Settings(NamedTuple):
    """How it is measured."""

    repeats: int = 3  # turns with every peer
    before: Path | None = None  # another checkout
    limit: float = 60.0  # seconds for a run of a peer
    cold: bool = True  # begin with nothing compiled, and tell what the first path takes


#: A row of the table.
Row = dict[str, str]


class Ours:
    """What peers are compared with: this checkout, perhaps another one, and X'X by numpy. Keeps the shortest times."""

    def __init__(self, problem: Problem, checkouts: dict[str, Checkout]) -> None:
        self._problem, self._checkouts = problem, checkouts
        self.xtx = math.inf
        self.shortest: dict[tuple[str, float], float] = {}

    def path(self, name: str, gap: float, calls: int = 1) -> Any:
        """Return what a checkout tells of a path."""
        net = {} if self._problem.l1_ratio == 1.0 else {"l1_ratio": self._problem.l1_ratio}
        return self._checkouts[name].ask(call="path", tol=gap, eps=self._problem.eps, calls=calls, **net)

    def turn(self, gap: float) -> float:
        """Run all of them; return the seconds of this checkout."""
        X, turn = self._problem.X, {}
        self.xtx = min(self.xtx, best_seconds(calls_in_a_turn(self.xtx), xtx=lambda: X.T @ X)["xtx"])
        for name in self._checkouts:
            known = self.shortest.get((name, gap), math.inf)
            turn[name] = float(self.path(name, gap, calls_in_a_turn(known))["seconds"])
            self.shortest[name, gap] = min(turn[name], known)
        return turn["ours"]


def run(results: Results, chosen: str, peers: Iterable[str], settings: Settings) -> None:
    """Run the shapes whose names begin with `chosen`, against the peers named that can be run here."""
    missing = {name: why_missing(name) for name in peers}
    for name, why in missing.items():
        if why is not None:
            print(f"\n{name}: left out, {why}")
    present = [name for name in missing if missing[name] is None]
    rows = [
        row
        for name, shape in ASKED.items()
        if name.startswith(chosen)
        for row in _shape(results, name, shape, present, settings)
    ]
    heads = ["shape", "gap", "active", "X'X", "ours", *(["before"] if settings.before else []), *present]
    print("\nms, the shortest; the gap where a peer did not reach the asked one\n")
    for cells in (heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)):
        print(f"| {' | '.join(cells)} |")


def _shape(results: Results, name: str, shape: Shape, peers: list[str], settings: Settings) -> list[Row]:
    """Run a shape; return a row of the table for every gap."""
    problem = SHAPES[name].problem(None)
    m, p = problem.X.shape
    results.section(f"{name}: {m:,} x {p:,}, {N_POINTS} points to {problem.eps:g} times the largest penalty")
    with ExitStack() as stack:
        arena = stack.enter_context(Arena.of(problem))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="fwlasso-bench-")))
        choosing.write(folder, problem.X, problem.y, arena.alphas)
        checkouts = {}
        for which, sources in (("ours", HERE), ("before", settings.before)):
            if sources is not None:
                cache = stack.enter_context(TemporaryDirectory()) if settings.cold else None
                checkouts[which] = stack.enter_context(Checkout(sources, [_SERVE, str(folder)], cache))
        ours = Ours(problem, checkouts)
        for which in checkouts:
            seconds = ours.path(which, shape.asks[0].gap)["seconds"]
            if settings.cold:
                results.add(f"{name}: first path, nothing compiled, {which}", seconds, "s")
        rows = _paths(results, name, shape, arena, ours, peers, settings)
        if shape.of_fit is not None:
            _fit(results, name, shape.of_fit, arena, checkouts, settings.repeats)
        if shape.cv is not None:
            _cv(results, name, shape.cv, problem, folder, checkouts, settings.repeats)
    return rows


def _paths(
    results: Results, name: str, shape: Shape, arena: Arena, ours: Ours, peers: list[str], settings: Settings
) -> list[Row]:
    rows = []
    for ask in shape.asks:
        told = ours.path("ours", ask.gap)
        np.testing.assert_allclose(told["alphas"], arena.alphas[[0, -1]], rtol=1e-9)
        line = f"{name}, gap {ask.gap:.0e}"
        at_most(results, f"{line}: largest gap, recomputed, route {told['route']}", told["gap"], ask.gap)
        results.add(f"{line}: active features at the end", told["active"])
        rows.append({"shape": name, "gap": f"{ask.gap:.0e}", "active": f"{told['active']:,}"})
        for _ in range(settings.repeats):
            ours.turn(ask.gap)
    fastest = dict.fromkeys((ask.gap for ask in shape.asks), settings.limit)
    found: dict[float, dict[str, Best]] = {gap: {} for gap in fastest}
    for peer in peers:
        limits = {gap: min(settings.limit, 2.0 * seconds + 10.0) for gap, seconds in fastest.items()}
        for gap, best in arena.compare(peer, limits, ours.turn, settings.repeats).items():
            found[gap][peer] = best
            if best.missed is None:
                fastest[gap] = min(fastest[gap], best.trial.seconds)
    for ask, row in zip(shape.asks, rows, strict=True):
        _tell(results, name, shape, ask, ours, found[ask.gap])
        row["X'X"] = _ms(ours.xtx)
        row |= {which: _ms(seconds) for (which, gap), seconds in ours.shortest.items() if gap == ask.gap}
        for peer, best in found[ask.gap].items():
            missed = "" if best.missed is None else f" ({best.trial.gap:.0e})"
            row[peer] = f"{_ms(best.trial.seconds)}{missed}"
    return rows


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.3g}"


def _tell(results: Results, name: str, shape: Shape, ask: Ask, ours: Ours, found: dict[str, Best]) -> None:
    """Tell the times of a path: ours, the other checkout's, that of X'X, and those of the peers."""
    line = f"{name}, gap {ask.gap:.0e}"
    seconds = ours.shortest["ours", ask.gap]
    xtx, before = ours.xtx, ours.shortest.get(("before", ask.gap))
    results.add(f"{line}: whole call", seconds, "s")
    results.add(f"{line}: X'X by numpy", xtx, "s")
    at_most(results, f"{line}: whole call over X'X", seconds / xtx, ask.xtx, "times")
    if before is not None:
        results.add(f"{line}: the checkout before", before, "s")
        at_most(results, f"{line}: whole call over that of the checkout before", seconds / before, shape.of_before)
    for peer, best in found.items():
        missed = f", {best.missed}" if best.missed else ""
        results.add(f"{line}: {peer} (gap {best.trial.gap:.1e}{missed})", best.trial.seconds, "s")
    if shape.of_pycasso is not None and "pycasso" in found:
        what = f"{line}: whole call over that of pycasso on 442 x 64"
        at_most(results, what, seconds / _pycasso_seconds(ask.gap), shape.of_pycasso, "times")
    against = [best for peer, best in found.items() if peer in shape.against]
    if against:
        certified.versus(results, name, certified.Ask(ask.gap, ask.times, ask.gap), seconds, against)


def _pycasso_seconds(gap: float) -> float:
    with Arena.of(SHAPES["442x64"].problem(None)) as arena:
        return arena.compare("pycasso", {gap: Settings().limit})[gap].trial.seconds


def _fit(results: Results, name: str, most: float, arena: Arena, checkouts: dict[str, Checkout], repeats: int) -> None:
    """Time one fit of the estimator, ours and scikit-learn's in the same process."""
    shortest: dict[str, float] = {}
    calls = 1
    for _ in range(1 + repeats):
        for which, checkout in checkouts.items():
            for package in ("fwlasso", "sklearn"):
                model = {"alpha": float(_FIT_PENALTY * arena.alphas[0]), "tol": _FIT_GAP}
                told = checkout.ask(call="fit", package=package, calls=calls, **model)
                key = f"Lasso().fit, {package} (gap {told['gap']:.1e}){'' if which == 'ours' else ', ' + which}"
                shortest[key] = min(told["seconds"], shortest.get(key, math.inf))
        calls = 100
    for key, seconds in shortest.items():
        results.add(f"{name}: {key}", seconds, "s")
    ours, sklearn, *_ = shortest.values()
    at_most(results, f"{name}: Lasso().fit over scikit-learn's", ours / sklearn, most, "times")


def _cv(
    results: Results,
    name: str,
    asked: tuple[float, float],
    problem: Problem,
    folder: Path,
    checkouts: dict[str, Checkout],
    repeats: int,
) -> None:
    """Time cross-validation by five folds, beside one path and scikit-learn's LassoCV."""
    line = f"{name}, gap {_CV_GAP:.0e}"
    shortest: dict[tuple[str, str], float] = {}
    for _ in range(1 + repeats):
        for which, checkout in checkouts.items():
            for call in ("path", "cv"):
                told = checkout.ask(call=call, tol=_CV_GAP, eps=problem.eps, calls=1)
                shortest[which, call] = min(told["seconds"], shortest.get((which, call), math.inf))
                if (which, call) == ("ours", "cv"):
                    ours = told
    at_most(results, f"{line}: largest gap of all folds, as claimed", ours["gap"], _CV_GAP)
    for which in checkouts:
        results.add(f"{line}: 5 folds, {which}", shortest[which, "cv"], "s")
    seconds, most, times = shortest["ours", "cv"], *asked
    at_most(results, f"{line}: 5 folds over one path", seconds / shortest["ours", "path"], most, "times")
    if why_missing("sklearn") is None:
        answer = choosing.ask(folder, "sklearn", problem, _CV_GAP)
        if answer is not None:
            same = abs(answer.alpha / ours["alpha"] - 1.0) < 1e-9
            results.add(f"{line}: scikit-learn's LassoCV", answer.seconds, "s")
            results.add(f"{line}: its choice is ours", float(same), "", "1", bool(same))
            ratio = answer.seconds / seconds
            results.add(f"{line}: 5 folds against scikit-learn's", ratio, "times", f">= {times:g}", ratio >= times)


def main() -> None:
    """Run the shapes on their own, and keep the figures in shapes.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes", description=__doc__)
    parser.add_argument("--shape", default="", help="shapes whose names begin so")
    parser.add_argument("--repeats", type=int, default=Settings().repeats, help="turns with every peer")
    parser.add_argument("--peers", default=",".join(NAMES), help="names with commas between")
    parser.add_argument("--before", type=Path, help="another checkout, to be timed in turns with this one")
    parser.add_argument("--limit", type=float, default=Settings().limit, help="seconds for a run of a peer")
    parser.add_argument("--no-cold", action="store_true", help="use what is compiled already")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for shapes.json")
    given = parser.parse_args()
    results = Results()
    settings = Settings(given.repeats, given.before, given.limit, not given.no_cold)
    run(results, given.shape, [name for name in given.peers.split(",") if name], settings)
    results.write(given.out, "shapes")


if __name__ == "__main__":
    main()

"""Peers at equal accuracy: the loosest tolerance of their own at which the recomputed gap is as asked, and its time."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .peers import PEERS, PeerError, handover
from .peers.accuracy import moments
from .peers.session import Session
from .problems import Problem

_TRIES = 6
_LIMIT = 600.0  # seconds for a run at a given tolerance
_TOO_GOOD = 3.0  # a gap this many times below the asked one: a looser tolerance may do
# Runs shorter than this, in seconds, are repeated in so many turns with ours: calls that fill so many seconds, but at
# least so many, of which the first finds caches that are not its own, and at most so many.
_SHORT, _TURNS, _FILL, _FEW, _MANY = 10.0, 3, 0.1, 2, 200


class Rival(NamedTuple):
    """What is known of a peer's tolerance: gap = scale tol^power, roughly; the search corrects it."""

    scale: float
    power: float


RIVALS = {
    "celer": Rival(2.0, 1.0),  # bounds the gap over ||y||^2 / m
    "sklearn": Rival(2.0, 1.0),  # likewise
    "sklearn_gram": Rival(2.0, 1.0),
    "skglm": Rival(10.0, 1.0),  # the largest violation of the optimality conditions
    "adelie": Rival(30.0, 0.5),  # the largest change of the objective by a step
    "glmnet": Rival(30.0, 0.5),  # likewise
    "pycasso": Rival(3.0, 0.5),
}
NAMES = tuple(name for name in PEERS if name in RIVALS)  # LARS has no tolerance to search for


class Trial(NamedTuple):
    """A run of a peer, or one that was ended at the limit: then `gap` is infinite."""

    tol: float
    seconds: float
    gap: float


class Best(NamedTuple):
    """The shortest run of a peer that reached a gap; where none did, the closest, and why there are no more."""

    trial: Trial
    missed: str | None
    ours: float = math.inf  # seconds of our shortest run in turns with it; infinite where it was too slow for turns


#: Runs ours at a gap, some times, and returns the seconds of the shortest.
Ours = Callable[[float], float]


def calls_in_a_turn(seconds: float) -> int:
    """Return how often a run of so many seconds is repeated in a turn."""
    return max(_FEW, min(_MANY, int(_FILL / seconds)))


class Arena:
    """A problem written for peers. Their answers are judged on the user's X, not on what they were handed."""

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem, self.folder = problem, folder
        self._known = moments(problem.X)
        given, self._factors = problem.given(self._known)
        self.alphas = given.alphas
        handover.write(folder, given)

    @classmethod
    @contextmanager
    def of(cls, problem: Problem) -> Iterator["Arena"]:
        """Write a problem to a folder that is removed at the end."""
        with TemporaryDirectory(prefix="fwlasso-bench-") as folder:
            yield cls(problem, Path(folder))

    def compare(
        self, name: str, gaps: dict[float, float], ours: Ours | None = None, turns: int = _TURNS
    ) -> dict[float, Best]:
        """Return the best run of a peer for every gap, a dictionary of gaps and seconds allowed for a run.

        A noisy neighbour is to slow both or none: short runs are repeated in turns with ours.
        """
        found = {}
        known = RIVALS[name]
        try:
            with Session(name, self.folder, self.problem.X.shape[1], self.alphas.size) as session:
                for gap in sorted(gaps, reverse=True):
                    trials = self._search(session, name, known, gap, gaps[gap])
                    last, best = trials[-1], _best(trials, gap, gaps[gap])
                    if best.missed is None and best.trial.seconds < _SHORT and not math.isinf(last.gap):
                        best = self._take_turns(session, best, gap, ours, turns)
                    found[gap] = best
                    if math.isinf(last.gap):  # the process is busy still, and a smaller gap takes it longer
                        smaller = [other for other in gaps if other < gap]
                        return found | {other: Best(last, "not tried: a larger one took too long") for other in smaller}
                    known = known._replace(scale=last.gap / last.tol**known.power)
        except (PeerError, TimeoutError) as error:
            print(f"    {name}: {error or 'the problem was not read in time'}", flush=True)
        return found

    def run(self, name: str, tol: float, repeats: int) -> Trial:
        """Return the shortest of some runs of a peer at one tolerance."""
        with Session(name, self.folder, self.problem.X.shape[1], self.alphas.size) as session:
            return self._run(session, tol, _LIMIT, repeats)

    def _search(self, session: Session, name: str, known: Rival, asked: float, limit: float) -> list[Trial]:
        """Try tolerances, from the guess on, until the gap is just below the asked one."""
        trials: list[Trial] = []
        tol = (0.9 * asked / known.scale) ** (1.0 / known.power)
        while len(trials) < _TRIES:
            trial = self._run(session, tol, limit)
            trials.append(trial)
            print(f"    {name}, tolerance {tol:.1e}: {trial.seconds:.3f} s, gap {trial.gap:.2e}", flush=True)
            if math.isinf(trial.gap) or asked / _TOO_GOOD <= trial.gap <= asked:
                break
            if trial.gap < asked and len(trials) > 1 and trials[-2].gap > asked:
                break  # between this tolerance and the one before there is a jump
            change = (0.7 * asked / max(trial.gap, 1e-3 * asked)) ** (1.0 / known.power)
            tol *= change if trial.gap > asked else max(change, 3.0)
            if any(abs(math.log(tol / earlier.tol)) < 0.1 for earlier in trials):
                break
        return trials

    def _take_turns(self, session: Session, best: Best, asked: float, ours: Ours | None, turns: int) -> Best:
        """Repeat the best run of a peer, in turns with ours; return the shortest of both."""
        trials, shortest = [best.trial], math.inf
        calls = calls_in_a_turn(best.trial.seconds)
        for _ in range(turns):
            trials.append(self._run(session, best.trial.tol, _LIMIT, calls))
            if ours is not None:
                shortest = min(shortest, ours(asked))
        return _best(trials, asked, _LIMIT)._replace(ours=shortest)

    def _run(self, session: Session, tol: float, limit: float, calls: int = 1) -> Trial:
        try:
            answer = session.ask(tol, limit, calls)
        except TimeoutError:
            return Trial(tol, limit, math.inf)
        coefs = answer.coefs.copy()
        coefs.data *= self._factors[coefs.indices]
        return Trial(tol, answer.seconds, float(self.problem.gaps(coefs, self.alphas, self._known).max()))


def _best(trials: list[Trial], asked: float, limit: float) -> Best:
    reached = [trial for trial in trials if trial.gap <= asked]
    if reached:
        return Best(min(reached, key=lambda trial: trial.seconds), None)
    nearest = min(trials, key=lambda trial: trial.gap)
    if math.isinf(trials[-1].gap):
        return Best(nearest._replace(seconds=trials[-1].seconds), f"not within {limit:.0f} s")
    return Best(nearest, f"not in {len(trials)} tries")

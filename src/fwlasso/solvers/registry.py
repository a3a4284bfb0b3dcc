"""The solvers by name: an algorithm is one file and one line here, or registered from outside."""

from collections.abc import Callable
from typing import NamedTuple

from .away_steps import AwayFrankWolfe, away_step, pairwise_step
from .coordinate_descent import CoordinateDescent
from .frank_wolfe import FrankWolfe
from .run import Solver
from .sample_size import SampleSize

#: The stopping rules, and the tolerance of each by default.
STOPS = {"change": 1e-3, "paper": 1e-3, "gap": 1e-4}


class Draws(NamedTuple):
    """What a random solver is told; the others leave it aside."""

    sample_size: SampleSize
    block_size: int | None
    seed: int


class Entry(NamedTuple):
    """What is known of a solver by its name."""

    grids: tuple[str, ...]  # alphas: it solves the penalized form; radii: the constrained one; the first by default
    stops: tuple[str, ...]  # its stopping rules, the first by default
    make: Callable[[Draws], Solver] | None  # None: it does not go point by point, and has a driver of its own


_ON_GAP, _ON_CHANGE = ("gap", "change", "paper"), ("change", "paper", "gap")

_CERTIFIED = Entry(("alphas", "radii"), ("gap",), None)

#: The default takes the one of the next two that is expected to be faster: see `fwlasso.problem.route`.
DEFAULT_SOLVER = "certified"
SOLVERS = {
    DEFAULT_SOLVER: _CERTIFIED,
    "gram": _CERTIFIED,
    "working-set": _CERTIFIED,
    "sfw": Entry(("radii", "alphas"), _ON_CHANGE, lambda draws: FrankWolfe(*draws)),
    "fw": Entry(("radii", "alphas"), _ON_CHANGE, lambda draws: FrankWolfe(None, None, draws.seed)),
    "afw": Entry(("radii",), _ON_GAP, lambda _: AwayFrankWolfe(away_step)),
    "pfw": Entry(("radii",), _ON_GAP, lambda _: AwayFrankWolfe(pairwise_step)),
    "cd": Entry(("alphas",), _ON_GAP, lambda _: CoordinateDescent()),
}

# What solvers were once called, in programs and in saved paths.
_OLD_NAMES = {"corrective": DEFAULT_SOLVER}


def current_name(solver: str) -> str:
    """Return what a solver is called now."""
    return _OLD_NAMES.get(solver, solver)


def register(name: str, entry: Entry) -> None:
    """Let `lasso_path` know a solver from outside the package."""
    if SOLVERS.setdefault(name, entry) is not entry:
        raise ValueError(f"name: there is another solver {name!r}")

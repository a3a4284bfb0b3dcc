"""The solvers by name: an algorithm is one file and one line here, or registered from outside."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..gram.problem import AnyProblem
from ..problem.route import GRAM, POINTWISE, WORKING_SET
from .away_steps import AwayFrankWolfe, TakeStep, away_step, pairwise_step
from .certified import Certified
from .coordinate_descent import CoordinateDescent
from .frank_wolfe import VARIANTS, FrankWolfe
from .frank_wolfe_losses import FrankWolfeOfLosses
from .levels import draw_facts
from .pointwise import PointByPoint
from .protocol import PathSolver, SolverSettings, StepSolver
from .sample_size import ALL_COLUMNS, DEFAULT_SAMPLE_SIZE, SampleSize

#: The stopping rules, and the tolerance of each by default.
STOPS = {"change": 1e-3, "paper": 1e-3, "gap": 1e-4}


class Entry(NamedTuple):
    """What is known of a solver by its name."""

    grids: tuple[str, ...]  # alphas: it solves the penalized form; radii: the constrained one; the first by default
    stops: tuple[str, ...]  # its stopping rules, the first by default
    make: Callable[[SolverSettings], PathSolver]
    routes: tuple[str, ...] = (POINTWISE,)  # the ways that it may go
    sample_size: SampleSize | None = None  # by default, of those that can draw columns at random
    #: What it takes beside factors: a ridge, nonnegative coefficients, bounds, columns without a penalty, losses.
    takes: frozenset[str] = frozenset()
    #: By name: whether z_j'y of all columns, of the setup, is among the dot products that are counted.
    variants: Mapping[str, bool] = MappingProxyType({"default": True})
    #: What is recorded of a path besides its options.
    facts: Callable[[AnyProblem, SolverSettings], dict[str, Any]] = lambda problem, settings: {}


_ON_GAP, _ON_CHANGE = ("gap", "change", "paper"), ("change", "paper", "gap")

_ON_BALLS = frozenset({"ridge", "positive"})
_TERMS = _ON_BALLS | {"bounds", "unpenalized"}
_CERTIFIED = Entry(("alphas", "radii"), ("gap",), Certified, (GRAM, WORKING_SET), takes=_TERMS | {"losses"})


def pointwise(grids: tuple[str, ...], stops: tuple[str, ...], make: Callable[[SolverSettings], StepSolver]) -> Entry:
    """Return the entry of a solver that goes point by point."""
    return Entry(grids, stops, lambda settings: PointByPoint(make(settings), settings))


def _draws_of(settings: SolverSettings) -> FrankWolfe:
    of_loss = FrankWolfe if settings.is_quadratic else FrankWolfeOfLosses
    return of_loss(settings.sample_size, settings.block_size, settings.seed, VARIANTS[settings.variant])


def _away(take_step: TakeStep) -> Entry:
    def make(settings: SolverSettings) -> AwayFrankWolfe:
        return AwayFrankWolfe(take_step, settings.sample_size, settings.block_size, settings.seed)

    def facts(problem: AnyProblem, settings: SolverSettings) -> dict[str, Any]:
        return {} if settings.sample_size == ALL_COLUMNS else draw_facts(problem, settings)

    return pointwise(("radii",), _ON_GAP, make)._replace(sample_size=ALL_COLUMNS, facts=facts, takes=_ON_BALLS)


def _frank_wolfe(make: Callable[[SolverSettings], FrankWolfe]) -> Entry:
    variants = {name: not it.counts_like_paper for name, it in VARIANTS.items()}
    entry = pointwise(("radii", "alphas"), _ON_CHANGE, make)
    return entry._replace(variants=variants, takes=_ON_BALLS | {"losses"})


#: The default takes the one of the next two that is expected to be faster: see `fwlasso.problem.route`.
DEFAULT_SOLVER = "certified"
SOLVERS = {
    DEFAULT_SOLVER: _CERTIFIED,
    GRAM: _CERTIFIED._replace(routes=(GRAM,), takes=_TERMS),
    WORKING_SET: _CERTIFIED._replace(routes=(WORKING_SET,)),
    "sfw": _frank_wolfe(_draws_of)._replace(sample_size=DEFAULT_SAMPLE_SIZE, facts=draw_facts),
    "fw": _frank_wolfe(lambda it: _draws_of(it._replace(sample_size=None, block_size=None, seed=0))),
    "afw": _away(away_step),
    "pfw": _away(pairwise_step),
    "cd": pointwise(("alphas",), _ON_GAP, lambda _: CoordinateDescent())._replace(takes=_TERMS),
}

#: The names of solvers by those that they once had, in programs and in saved paths.
OLD_NAMES = {"corrective": DEFAULT_SOLVER}


def current_name(solver: str) -> str:
    """Return what a solver is called now."""
    return OLD_NAMES.get(solver, solver)


def register(name: str, entry: Entry) -> None:
    """Let `lasso_path` know a solver from outside the package."""
    if SOLVERS.setdefault(name, entry) is not entry:
        raise ValueError(f"name: there is already a solver {name!r}")

"""What a solver is: one of whole paths, or one that takes steps on a point, of which `pointwise` makes one of paths."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .._core.iterate import Iterate
from .._core.penalties import Penalty
from .._core.problem import Problem
from .._core.threads import Workers
from ..gram.problem import AnyProblem
from ..problem.points import Guess, SolvedPath, Tell
from ..status import Status
from .sample_size import SampleSize


class SolverSettings(NamedTuple):
    """What a solver is told when it is made; those that draw nothing leave the last ones aside."""

    rule: str  # when a point is done
    tol: float
    max_iter: int  # of a point
    seed: int = 0
    sample_size: SampleSize | None = None
    block_size: int | None = None
    variant: str = "default"
    is_quadratic: bool = True  # the loss
    polish: bool = True  # points of other losses than least squares are proved by their coefficients alone


class PathSolver(Protocol):
    """Solves the points of a path."""

    proves: bool  # its gaps are over all columns, and proved
    overlap: int  # how many points a segment solves once more: those that it starts from

    def solve(
        self, problem: AnyProblem, penalties: Sequence[Penalty], start: Guess | None, workers: Workers, tell: Tell
    ) -> SolvedPath:
        """Solve points from sparse to dense; `start` is near the first. There is always one, ended or not."""


class Stopping(NamedTuple):
    """Absolute thresholds. Minus infinity never holds: the gap of a sample may be any negative number."""

    change: float = -math.inf  # of the largest change of a coefficient in a step
    gap: float = -math.inf  # of the duality gap
    max_idle: int = np.iinfo(np.int64).max  # draws in a row without descent, or fewer if they look at all columns


class Burst(NamedTuple):
    """What is asked of the steps on a point: of a burst of them, or of all."""

    problem: Problem
    penalty: Penalty
    stopping: Stopping
    max_steps: int
    workers: Workers


class Advance(NamedTuple):
    """What some steps did: a burst of them, or all steps on a point."""

    iterate: Iterate
    n_iter: int
    n_dots: int
    gap: float  # over the columns looked at
    status: Status | None  # None: not done
    n_proofs: int = 0  # passes over all columns to prove a gap that the solver has told


class StepSolver(Protocol):
    """An algorithm that knows how to advance an iterate."""

    def columns_per_step(self, problem: Problem, iterate: Iterate) -> int:
        """Return how many columns the next step looks at; all of them make its gap a certificate."""

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take some steps, at least one and at most `burst.max_steps`."""

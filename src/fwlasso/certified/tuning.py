"""What the certified path is tuned by, and how far it goes at a time."""

import math
from collections.abc import Callable
from typing import NamedTuple


class Tuning(NamedTuple):
    """Constants of the path: none of them decides what is true, only how soon it is found."""

    # Fractions of the gap asked for.
    solve: float = 0.5  # to solve to on the working set: the rest is for columns outside of it
    accept: float = 0.65  # to accept a node with: the rest is for interpolation
    beyond: float = 0.5  # of that, for radii beyond all solutions
    mix: float = 0.85  # to interpolate with before the pass: the rest is for what the pass finds
    accept_guess: float = 0.999  # if a guess is all that is asked for: a solution is none the worse for another look
    # Distances of penalties, log(lam / lam').
    stride: float = 0.4  # at its end all columns are read
    longest_stride: float = 0.8  # beyond it, columns come in that were not predicted
    first_step: float = 0.1  # between nodes, until interpolation tells how far they may be apart
    shortest_step: float = 1e-6  # nodes in the middle do the rest
    # Factors.
    stretch: float = 1.4  # of a step, to end a stride with it: if it was too long, a node in its middle mends that
    shrink_step: float = 0.4  # of a step at most, if interpolation fails
    grow_step: float = 2.0  # of a step at most, if it does well
    gap_of_step: float = 0.4  # fraction of the gap asked for that interpolation between two nodes is to have
    stride_growth: float = 1.25  # of a stride after one that went well
    empty_stride_growth: float = 2.0  # of a stride after one without a point to answer
    many_more: float = (
        1.3  # active columns at the end of a stride to those at its start: of many new ones some are missed
    )
    # Columns that are predicted to matter.
    closeness: float = 0.93  # of their correlation to the penalty, relative to it
    farther: float = 0.04  # to take off it after a stride that missed one: solving again costs more than reading
    farthest: float = 0.85  # down to which it goes
    most_predicted: int = 1000  # columns, or
    times_active: int = 6  # times the active ones: as many are taken at most
    # What is read, in passes by one residual.
    more_residuals: float = 0.25  # that a pass takes longer for every residual more
    few_to_read: float = 0.1  # in the first strides: no more spare a pass. Later strides are too long
    fewest: float = 0.02  # for survivors: half as many anchors do in the next stride
    few_survivors: float = 0.005  # of all columns; fewer let the next stride be longer
    # Limits that are there to end.
    max_rounds: int = 50  # solving a node again with more columns
    max_depth: int = 40  # bisections between two nodes
    most_nodes: int = 200  # per point

    def cost(self, fraction: float, n_residuals: int) -> float:
        """Return what reading a fraction of all entries for so many residuals costs, in passes by one residual."""
        return fraction * (1.0 + self.more_residuals * (n_residuals - 1))


class Survived(NamedTuple):
    """What the lazy oracle left to read at most."""

    n_columns: int = 0
    cost: float = 0.0
    n_anchors: int = 0  # nodes that all columns were read for, since too many survived

    def with_more(self, other: "Survived") -> "Survived":
        """Return the larger ones of both."""
        n_columns, cost, n_anchors = map(max, zip(self, other, strict=True))
        return Survived(int(n_columns), cost, int(n_anchors))


class Pace:
    """How far the path goes at a time, which it learns as it goes."""

    def __init__(self, tuning: Tuning, n_columns: int, root: Callable[[float], float]) -> None:
        self._tuning = tuning
        self._root = root  # of the gap of an interpolation: it grows with that power of the distance
        self._n_columns = n_columns
        self.stride = tuning.stride
        self.step = tuning.first_step
        self.closeness = tuning.closeness
        self.n_anchors = 1  # nodes of a stride that are read with all columns at once
        self._was_easy = False

    def learn_step(self, distance: float, gap: float, goal: float) -> None:
        """Note the gap of interpolation over a distance: it is about quadratic in it, for other losses cubic."""
        tuning, longest = self._tuning, math.inf
        if gap > 0.0:
            longest = distance * max(tuning.shrink_step, self._root(tuning.gap_of_step * goal / gap))
        self.step = max(tuning.shortest_step, min(longest, tuning.grow_step * self.step, tuning.longest_stride))

    def learn_survivors(self, survived: Survived, n_solved: int) -> None:
        """Note what the lazy oracle left to read, and how many nodes were solved again."""
        tuning = self._tuning
        if n_solved > 0:
            self.closeness = max(tuning.farthest, self.closeness - tuning.farther)
        if survived.cost > tuning.more_residuals:  # one more anchor costs less
            self.n_anchors += max(1, survived.n_anchors)
        elif survived.cost < tuning.fewest:
            self.n_anchors = max(1, self.n_anchors // 2)
        few = survived.n_columns < tuning.few_survivors * self._n_columns
        self._was_easy = few and n_solved <= (0 if self.n_anchors > 1 else 1)

    def learn_stride(self, n_points: int, n_before: int, n_active: int) -> None:
        """Note how many points a stride answered, and the active columns before and after it."""
        tuning = self._tuning
        is_calm = self.n_anchors == 1 or n_active < tuning.many_more * n_before
        if n_points == 0:
            self.stride *= tuning.empty_stride_growth
        elif self._was_easy and is_calm:
            self.stride = min(tuning.stride_growth * self.stride, tuning.longest_stride)
        else:
            self.stride = tuning.stride

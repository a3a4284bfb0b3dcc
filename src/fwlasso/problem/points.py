"""Solved points of a path, and what solvers share."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Matrix, Vector
from ..status import Status

Indices = NDArray[np.int64]
#: Columns and coefficients to start from.
Guess = tuple[Indices, Vector]

#: Bytes of columns read in one burst: some milliseconds, after which time, callback and Ctrl-C are looked at.
BURST_BYTES = 1 << 27
#: A gap of no more than so many times its rounding is as small as float64 lets it become; else a method has stalled.
MOSTLY_ROUNDING = 10.0


def burst_steps(n_bytes: int, max_steps: int, n_most: int) -> int:
    """Return how many steps that read `n_bytes` each make a burst: at least one, at most `n_most`."""
    return max(1, min(max_steps, n_most, BURST_BYTES // max(1, n_bytes)))


class Tell(Protocol):
    """Told of the work on a point; names what ends the path, if anything does."""

    def __call__(self, point: int, n_active: int, n_iter: int, gap: float, *, done: bool) -> Status | None:
        """Take note of the iterations on a point and of its gap so far."""


class Solution(NamedTuple):
    """Coefficients a, and the sums that follow from them and q = X a; of another loss, with its slopes theta."""

    columns: Indices
    coefs: Vector
    qq: float  # q'q; the loss, above the least there can be
    qy: float  # q'y; q'theta of another loss
    l1: float  # ||a||_1
    intercept: float = 0.0  # of the columns as the solver has them, beside that of the null model


class SolvedPoint(NamedTuple):
    """A point of the path, and how the work on it ended."""

    solution: Solution
    status: Status
    gap: float  # over the columns looked at last
    n_iter: int
    n_dots: int
    n_read: int  # columns looked at, those of a working set left out
    n_multiplied: int  # their entries, each as often as there were residuals


#: Of a point that took no work.
NO_COUNTS = 0, 0, 0, 0


class SolvedPath(NamedTuple):
    """Solved points from sparse to dense, as arrays; coefficients are the parts of a CSC matrix."""

    indptr: Indices
    columns: Indices
    coefs: Vector
    sums: Matrix  # q'q, q'y, ||a||_1 and the intercept of every point, see `Solution`
    gaps: Vector
    counts: NDArray[np.int64]  # n_iter, n_dots, n_read and n_multiplied of every point
    statuses: tuple[Status, ...]
    ending: Status | None  # what ended the path early, if anything did

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.gaps.size

    def support(self, k: int) -> Guess:
        """Return the columns and the coefficients of a point."""
        here = slice(self.indptr[k], self.indptr[k + 1])
        return self.columns[here], self.coefs[here]

    def between(self, lo: int, hi: int) -> "SolvedPath":
        """Return the points lo..hi."""
        first, last = self.indptr[lo], self.indptr[hi]
        support = self.indptr[lo : hi + 1] - first, self.columns[first:last], self.coefs[first:last]
        numbers = self.sums[lo:hi], self.gaps[lo:hi], self.counts[lo:hi]
        return SolvedPath(*support, *numbers, statuses=self.statuses[lo:hi], ending=self.ending)

    def in_order(self) -> "SolvedPath":
        """Return the same points with the columns of each in increasing order, and without coefficients of zero."""
        columns, coefs, n = self.columns, self.coefs, self.gaps.size
        point_of = np.repeat(np.arange(n), np.diff(self.indptr))
        if not np.all((columns[1:] > columns[:-1]) | (point_of[1:] > point_of[:-1])):
            order = np.lexsort((columns, point_of))
            columns, coefs = columns[order], coefs[order]  # the points are in order
        there = coefs != 0.0
        if there.all():
            return self._replace(columns=columns, coefs=coefs)
        indptr = np.searchsorted(point_of[there], np.arange(n + 1))
        return self._replace(indptr=indptr, columns=columns[there], coefs=coefs[there])


def solved_path(points: Sequence[SolvedPoint], ending: Status | None = None) -> SolvedPath:
    """Return some points, at least one, as a path."""
    solutions = [point.solution for point in points]
    return SolvedPath(
        indptr=np.cumsum([0, *(solution.columns.size for solution in solutions)]),
        columns=np.concatenate([solution.columns for solution in solutions]),
        coefs=np.concatenate([solution.coefs for solution in solutions]),
        sums=np.array([solution[2:] for solution in solutions]),
        gaps=np.array([point.gap for point in points]),
        counts=np.array([point[3:] for point in points]),
        statuses=tuple(point.status for point in points),
        ending=ending,
    )


def joined(paths: Sequence[SolvedPath], ending: Status | None = None) -> SolvedPath:
    """Return the points of some paths, one after the other."""
    sizes = [np.diff(path.indptr) for path in paths]
    names = "columns", "coefs", "sums", "gaps", "counts"
    arrays = {name: np.concatenate([getattr(path, name) for path in paths]) for name in names}
    statuses = tuple(itertools.chain.from_iterable(path.statuses for path in paths))
    return SolvedPath(np.cumsum(np.concatenate([[0], *sizes])), **arrays, statuses=statuses, ending=ending)


def plus(path: SolvedPath, columns: Indices, coefs: Vector) -> SolvedPath:
    """Return points with the same numbers added to the coefficients of some columns; the sums stay as they are."""
    if columns.size == 0:
        return path
    n, shape = path.n_points, (1 + max(path.columns.max(initial=0), columns.max()), path.n_points)
    more = sp.csc_array(
        (np.tile(coefs, n), np.tile(columns, n), np.arange(n + 1) * columns.size), shape=shape, dtype=np.float64
    )
    total = (sp.csc_array((path.coefs, path.columns, path.indptr), shape=shape) + more).tocsc()
    total.sort_indices()
    return path._replace(indptr=total.indptr.astype(np.int64), columns=total.indices.astype(np.int64), coefs=total.data)


def zero_path(n_points: int, loss: float = 0.0) -> SolvedPath:
    """Return a = 0 for every point: there is nothing to explain, or nothing to do it with; `loss` as in `Solution`."""
    support = np.zeros(n_points + 1, np.int64), np.empty(0, np.int64), np.empty(0)
    numbers = np.tile([loss, 0.0, 0.0, 0.0], (n_points, 1)), np.zeros(n_points), np.zeros((n_points, 4), np.int64)
    return SolvedPath(*support, *numbers, statuses=(Status.CERTIFIED,) * n_points, ending=None)


class Traffic(NamedTuple):
    """What travelled between this process and a cluster.

    Attributes
    ----------
    round_trips, tasks : int
        Requests, and tasks in them: one for each part that was asked.
    bytes_out, bytes_in : int
        Of vectors, lists and columns; the columns themselves never go out.
    reopened : int
        Parts that were read again, since their worker was lost.
    """

    round_trips: int = 0
    tasks: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    reopened: int = 0

    def summary(self) -> str:
        """Return what travelled in a line."""
        again = f", {self.reopened} parts opened again" if self.reopened else ""
        return f"{self.round_trips} round trips, {self.bytes_out:,} bytes out, {self.bytes_in:,} in{again}"

    def and_(self, *more: int) -> "Traffic":
        """Return it with more round trips, tasks, bytes out, bytes in and parts."""
        return Traffic(*(old + new for old, new in zip(self, more, strict=True)))


def as_counters(record: dict[str, Any]) -> dict[str, Any]:
    """Return counters as they were saved: what travelled is a list there."""
    known = record.get("traffic")
    return {**record, "traffic": None if known is None else Traffic(*map(int, known))}


@dataclass(frozen=True, eq=False, repr=False)
class Counters:
    """What a path cost."""

    iterations: NDArray[np.int64]  # of every point
    dot_products: int  # z_j'v asked for by the solver, the z_j'y included: the paper's count
    passes: float  # columns read by setup, grid, solver and certificates over all columns, a working set left out
    seconds: dict[str, float]  # by phase: setup, grid, solve, certify; compile, if kernels had to be
    # Entries multiplied by residuals in these passes, in numbers of a pass for one residual: what passes take goes with
    # these. Zero for paths that were saved before they were counted.
    readings: float = 0.0
    traffic: Traffic | None = None  # with a cluster, in all of the call up to the end of this path

    def __repr__(self) -> str:
        n_iter, n_dots = int(self.iterations.sum()), self.dot_products
        there = "" if self.traffic is None else f", {self.traffic.summary()}"
        return f"<Counters: {n_iter:,} iterations, {n_dots:,} dot products, {self.passes:.1f} passes{there}>"

    @property
    def total_seconds(self) -> float:
        """Seconds of all phases."""
        return sum(self.seconds.values())

    @property
    def solving_seconds(self) -> float:
        """Seconds of all phases but compiling, which only the first call of a kind does."""
        return self.total_seconds - self.compile_seconds

    @property
    def compile_seconds(self) -> float:
        """Seconds of compiling kernels."""
        return self.seconds.get("compile", 0.0)

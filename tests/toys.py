"""Toys that plug into the engine: a loss, the cost of an elastic net, and a pass over columns in two processes."""

import multiprocessing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fwlasso._core.columns import Vector, read_only
from fwlasso._core.costs import Cost, at_columns
from fwlasso._core.csc import Csc
from fwlasso._core.dense import Dense
from fwlasso._core.losses import fenchel_term, reach, terms
from fwlasso._core.problem import Problem
from fwlasso._core.separable import Separable, make_cost
from fwlasso._core.standardized import Standardized
from fwlasso._core.sweeps import Indices
from fwlasso._core.threads import Workers
from fwlasso.problem.passes import Correlated, LocalPass, Probe, Summary, Taken


class Huber(NamedTuple):
    """1/2 (y - eta)^2 up to a distance of delta, and linear beyond it."""

    y: Vector
    weights: Vector
    offset: Vector
    delta: float = 1.0


@terms.register(Huber)
def _(loss, y, eta):
    r = y - eta
    inside = max(-loss.delta, min(loss.delta, r))
    return inside * (r - 0.5 * inside), inside, 1.0 if r == inside else 1e-8


@fenchel_term.register(Huber)
def _(loss, y, eta, theta):
    r = y - eta
    inside = max(-loss.delta, min(loss.delta, r))
    if abs(theta) > loss.delta * (1.0 + 1e-13):
        return np.inf, np.inf, inside, 1.0
    # Of f(eta) + f*(-theta) + theta eta what is beyond delta is linear.
    term = 0.5 * (inside - theta) ** 2 + (r - inside) * (inside - theta)
    return term, term + (abs(y) + abs(eta)) * (abs(inside) + abs(theta)), inside, 1.0


@reach.register(Huber)
def _(loss, d):
    return 0.0


def elastic_net(p: int, fixed: float = 0.0, share: float = 0.0) -> Cost:
    """lam ||a||_1 + (fixed + share lam) / 2 ||a||^2: share is (1 - l1_ratio) / l1_ratio."""
    return make_cost(p, 1.0, 1.0, -np.inf, np.inf, fixed=fixed, share=share)


def pick(X: Any, columns: Any) -> Any:
    """Return some columns of a storage, in arrays of their own."""
    if isinstance(X, Standardized):
        return Standardized(pick(X.columns, columns), read_only(X.means[columns]), read_only(X.factors[columns]))
    if isinstance(X, Csc):
        some = sp.csc_array((X.data, X.indices, X.indptr), shape=(X.n_rows, X.indptr.size - 1))[:, columns]
        arrays = zip((some.data, some.indices, some.indptr), X, strict=False)
        return Csc(*(read_only(mine.astype(its.dtype)) for mine, its in arrays), X.n_rows)
    return Dense(read_only(X.values[columns]))


def join(left: Any, right: Any) -> Any:
    """Return the columns of two storages of one type, side by side."""
    if isinstance(left, Standardized):
        pairs = zip(left[1:], right[1:], strict=True)
        return Standardized(join(left.columns, right.columns), *(read_only(np.concatenate(pair)) for pair in pairs))
    if isinstance(left, Csc):
        indptr = np.concatenate([left.indptr, right.indptr[1:] + left.indptr[-1]])
        data, indices = (np.concatenate(pair) for pair in zip(left[:2], right[:2], strict=True))
        return Csc(*map(read_only, (data, indices, indptr.astype(left.indptr.dtype))), left.n_rows)
    return Dense(read_only(np.concatenate([left.values, right.values])))


class _Columns(LocalPass):
    """A pass whose columns are not where they are asked for."""

    def take(self, columns: Indices) -> Taken:
        taken = super().take(columns)
        return taken._replace(X=pick(taken.X, columns), at=np.arange(columns.size))


def _serve(problem: Problem, calls: Any) -> None:
    """Answer calls of a pass, up to one that is None."""
    with Workers(1) as workers:
        columns = _Columns(problem, workers)
        while (call := calls.recv()) is not None:
            answer = getattr(columns, call[0])(*call[1:])
            calls.send((answer, (columns.n_read, columns.n_multiplied)))


class ForkedPass:
    """Reads each half of the columns in a process of its own; what it gets from there are numbers and few columns."""

    def __init__(self, problem: Problem) -> None:
        self._cut = problem.xty.size // 2
        self._pipes, self._processes, self._counts = [], [], [(0, 0), (0, 0)]
        summaries = []
        for lo, hi in ((0, self._cut), (self._cut, problem.xty.size)):
            part = problem._replace(
                X=pick(problem.X, slice(lo, hi)),
                xty=problem.xty[lo:hi].copy(),
                norms2=problem.norms2[lo:hi].copy(),
                cost=at_columns(problem.cost, np.arange(lo, hi)),
            )
            mine, its = multiprocessing.Pipe()
            process = multiprocessing.get_context("fork").Process(target=_serve, args=(part, its), daemon=True)
            process.start()
            self._pipes.append(mine)
            self._processes.append(process)
            summaries.append(LocalPass(part, Workers(1)).summary)
        left, right = summaries
        self._n_entries = left.n_entries, right.n_entries
        self.summary = Summary(*(a + b for a, b in zip(left[:3], right[:3], strict=True)), left.samples)

    def __enter__(self) -> "ForkedPass":
        return self

    def __exit__(self, *_: Any) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.send(None)
            process.join()

    @property
    def n_read(self) -> int:
        return sum(n_read for n_read, _ in self._counts)

    @property
    def n_multiplied(self) -> int:
        return sum(n_multiplied for _, n_multiplied in self._counts)

    def _ask(self, name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] = ((), ())) -> list[Any]:
        """Return what both halves answer, given arguments for both and for each."""
        for pipe, own in zip(self._pipes, each, strict=True):
            pipe.send((name, *own, *arguments))
        answers, self._counts = zip(*(pipe.recv() for pipe in self._pipes), strict=True)
        return list(answers)

    def _halves(self, columns: Indices) -> tuple[Indices, Indices]:
        return columns[columns < self._cut], columns[columns >= self._cut] - self._cut

    def _probes(self, probes: Sequence[Probe]) -> list[list[Probe]]:
        halves: list[list[Probe]] = [[], []]
        for probe in probes:
            for half, apart in zip(halves, self._halves(probe.apart), strict=True):
                half.append(probe._replace(apart=apart))
        return halves

    def zero(self, residual: Any) -> float:
        return max(self._ask("zero", residual))

    def zero_tops(self, lam: float, blur: float) -> Any:
        return _together(self._ask("zero_tops", lam, blur))

    def begin(self, lam: float, unit: float) -> float:
        return max(self._ask("begin", lam, unit))

    def restart(self) -> None:
        self._ask("restart")

    def correlate(self, probes: Sequence[Probe]) -> Any:
        return _together(self._ask("correlate", each=[(half,) for half in self._probes(probes)]))

    def insert(self, probes: Sequence[Probe]) -> Any:
        return _together(self._ask("insert", each=[(half,) for half in self._probes(probes)]))

    def survivors(self, growth: float, distance: float) -> Indices:
        left, right = self._ask("survivors", growth, distance)
        return np.concatenate([left, right + self._cut])

    def fraction(self, columns: Indices) -> float:
        fractions = self._ask("fraction", each=[(half,) for half in self._halves(columns)])
        return sum(f * n for f, n in zip(fractions, self._n_entries, strict=True)) / self.summary.n_entries

    def correlate_some(self, columns: Indices, probes: Sequence[Probe]) -> Correlated:
        left, right = self._ask(
            "correlate_some", each=list(zip(self._halves(columns), self._probes(probes), strict=True))
        )
        violators = np.concatenate([left.violators, right.violators + self._cut])
        return Correlated(_together([left.tops, right.tops]), violators)

    def near(self, lam: float, closeness: float) -> Any:
        (left, ratios), (right, others) = self._ask("near", lam, closeness)
        return np.concatenate([left, right + self._cut]), np.concatenate([ratios, others])

    def take(self, columns: Indices) -> Taken:
        left, right = self._ask("take", each=[(half,) for half in self._halves(columns)])
        order = np.argsort(columns >= self._cut, kind="stable")  # as they come, the left ones first
        at, numbers = np.empty(columns.size, np.int64), np.empty((2, columns.size))
        at[order] = np.arange(columns.size)
        numbers[:, order] = np.concatenate([left[2:4], right[2:4]], axis=1)
        cost = left.cost
        if isinstance(cost, Separable):
            pairs = zip(left.cost[:4], right.cost[:4], strict=True)  # of arrays that may be longer
            halves = (np.append(mine[: left.at.size], its[: right.at.size]) for mine, its in pairs)
            cost = at_columns(cost._replace(**dict(zip(cost._fields, halves, strict=False))), at)
        return Taken(join(left.X, right.X), at, *numbers, cost)


def _together(tops: Sequence[Any]) -> Any:
    """What two halves of the columns say together: the larger ones of numbers, and sums from the third on."""
    return np.concatenate([np.maximum(*tops)[..., :2], np.sum(tops, axis=0)[..., 2:]], axis=-1)

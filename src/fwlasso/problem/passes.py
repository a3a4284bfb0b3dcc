"""Who reads all columns: a pass owns what is as long as there are columns, and counts what it reads.

Its answers are numbers and few columns. So the columns may lie anywhere: in another process, or on several machines,
where only maxima, counts and lists come back.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Matrix, Vector, column_chunks, count_entries, nbytes, shape, stack, storage_of
from .._core.costs import Cost, at_columns, fill_pulls, n_tops
from .._core.problem import Problem, sizes_of
from .._core.samples import Samples
from .._core.sweeps import (
    Asked,
    Indices,
    Ratios,
    correlate_all,
    correlate_some,
    fill_norms,
    find_above,
    find_near,
    sum_tops,
)
from .._core.threads import Workers, even_cuts, n_chunks
from ..data.elsewhere import remote_of
from .certificate import refuse_altered

# Of the numbers that bound all columns, so many are largest ones; the others are sums, see `costs.take_in`.
_N_LARGEST = 2


class Probe(NamedTuple):
    """A residual whose correlations are asked for, relative to a lambda."""

    residual: Vector  # a sample vector
    lam: float
    apart: Indices  # columns, in increasing order, that the objective looks at itself
    blur: float  # what rounding may add to correlations


class Summary(NamedTuple):
    """What is told of all columns by numbers."""

    n_columns: int
    n_entries: int  # in memory
    nbytes: int  # that a pass reads
    samples: Samples


class Correlated(NamedTuple):
    """What some columns say about some probes."""

    tops: Matrix  # what bounds the correlations of every probe, see `costs.take_in`; largest ones are lambda at least
    violators: Indices  # with a pull above lambda for one of them, in increasing order


class Taken(NamedTuple):
    """A few columns: those `at` these numbers of a storage."""

    X: Columns
    at: Indices
    xty: Vector  # z_j'y
    norms2: Vector  # z_j'z_j
    cost: Cost

    @property
    def sizes(self) -> Vector:
        """Their norms before they were centred: what rounding is relative to."""
        return sizes_of(self.X, self.at, self.norms2)

    @property
    def n_entries(self) -> Indices:
        """How many numbers each of them has in memory."""
        return count_entries(self.X, self.at)


class ColumnPass(Protocol):
    """Reads the columns of a problem, wherever they are."""

    summary: Summary
    n_read: int  # columns read so far, those that were taken left out
    n_multiplied: int  # their entries, each as often as there were residuals

    def zero(self, residual: Vector | None) -> float:
        """Return the largest pull at a = 0; no residual: it is y, and nothing is read."""

    def zero_tops(self, lam: float, blur: float) -> Vector:
        """Return what bounds the correlations at a = 0, for this lambda; nothing is read."""

    def begin(self, lam: float, unit: float) -> float:
        """Let a = 0 be the first anchor, at this lambda; return how much larger norms in memory are than those of z_j.

        Distances will be in these units.
        """

    def correlate(self, probes: Sequence[Probe]) -> Matrix:
        """Read all columns once: return what bounds the correlations of every probe, and make anchors of them.

        Their lambdas decrease, and are below those before.
        """

    def insert(self, probes: Sequence[Probe]) -> Matrix:
        """Read all columns once, for probes that become anchors among those before, as `correlate` does."""

    def restart(self) -> None:
        """Let the last probe be the only anchor: a new stride begins."""

    def survivors(self, growth: float, distance: float) -> Indices:
        """Return the columns with growth ceiling_j + distance ||z_j|| > 1; X is not read."""

    def fraction(self, columns: Indices) -> float:
        """Return what fraction of all entries some columns have."""

    def correlate_some(self, columns: Indices, probes: Sequence[Probe]) -> Correlated:
        """Read some columns, in increasing order."""

    def near(self, lam: float, closeness: float) -> tuple[Indices, Vector]:
        """Return the columns that are likely to matter at lambda, and how close they are to it, relative to it."""

    def take(self, columns: Indices) -> Taken:
        """Return a few columns."""


class LocalPass(ColumnPass):
    """Reads columns that are in the memory of this process, or mapped into it.

    Of every column it keeps z_j'r / lambda at the last two anchors, the largest |z_j'r| / lambda of all anchors (its
    ceiling), and its norm, rounded up: sixteen bytes.
    """

    def __init__(self, problem: Problem, workers: Workers) -> None:
        self.summary = Summary(problem.xty.size, problem.n_entries, problem.nbytes, problem.samples)
        self.n_read = self.n_multiplied = 0
        self._problem = problem
        self._workers = workers
        self._corrs: Vector | Ratios = problem.xty  # at a = 0
        self._ratios = self._ceiling = self._norms = np.empty(0, np.float32)
        self._before: Ratios | None = None
        self._lam = self._lam_before = 0.0

    def zero(self, residual: Vector | None) -> float:
        if residual is None:
            return self._problem.lambda_max
        self._ratios, self._ceiling = (np.zeros(self._corrs.size, np.float32) for _ in range(2))
        tops = self._read_all([Probe(residual, 1.0, np.empty(0, np.int64), 0.0)], self._ratios)
        self._corrs = self._ratios
        return float(np.max(tops[0, :2]))

    def zero_tops(self, lam: float, blur: float) -> Vector:
        return sum_tops(self._problem.cost, lam, self._corrs, blur)  # type: ignore[no-any-return, arg-type]

    def begin(self, lam: float, unit: float) -> float:
        problem, p = self._problem, self._corrs.size
        self._lam = lam
        self._ratios, self._ceiling, self._norms = (np.empty(p, np.float32) for _ in range(3))
        np.divide(self._corrs, lam, out=self._ratios, casting="same_kind")
        self.restart()
        return float(fill_norms(problem.X, problem.norms2, unit, self._norms))

    def restart(self) -> None:
        fill_pulls(self._problem.cost, self._ratios, self._ceiling)

    def correlate(self, probes: Sequence[Probe]) -> Matrix:
        oldest = np.empty_like(self._ratios) if self._before is None else self._before
        self._before, self._ratios = self._ratios, oldest
        self._lam_before, self._lam = self._lam, probes[-1].lam
        return self._read_all(probes, self._ratios)

    def insert(self, probes: Sequence[Probe]) -> Matrix:
        return self._read_all(probes, np.empty_like(self._ratios))

    def _read_all(self, probes: Sequence[Probe], ratios: Ratios) -> Matrix:
        self.n_read += ratios.size
        self.n_multiplied += self.summary.n_entries * len(probes)
        return together(read_all(self._problem, probes, ratios, self._ceiling, self._workers), probes)

    def survivors(self, growth: float, distance: float) -> Indices:
        ceiling, p = self._ceiling, self._ceiling.size
        norms = self._norms if distance > 0.0 else ceiling  # zero times infinity is no number
        found = self._workers.map(
            lambda lo, hi: find_above(ceiling, growth, norms, distance, lo, hi), even_cuts(p, 8 * p)
        )
        return np.concatenate(found)

    def fraction(self, columns: Indices) -> float:
        return self._count(columns) / max(1, self.summary.n_entries)

    def _count(self, columns: Indices) -> int:
        return int(count_entries(self._problem.X, columns).sum())

    def correlate_some(self, columns: Indices, probes: Sequence[Probe]) -> Correlated:
        self.n_read += columns.size
        self.n_multiplied += self._count(columns) * len(probes)
        parts, violators = self._read_some(columns, probes)
        tops = together(parts, probes)
        tops[:, :2] = np.maximum(tops[:, :2], np.array([probe.lam for probe in probes])[:, None])
        return Correlated(tops, violators)

    def _read_some(self, columns: Indices, probes: Sequence[Probe]) -> tuple[Sequence[Vector], Indices]:
        return read_some(self._problem, columns, probes, self._workers)

    def near(self, lam: float, closeness: float) -> tuple[Indices, Vector]:
        # Correlations are taken as linear in lambda: relative to it they are a mix of those at the last two anchors.
        before, lam_before = self._before, self._lam_before
        if before is None:  # above lambda_max the solution is zero, and the correlations do not change
            before, lam_before = self._ratios, 2.0 * self._lam
        factor = (lam - self._lam) / (self._lam - lam_before)
        here, past = (1.0 + factor) * self._lam / lam, factor * lam_before / lam
        past *= 0.5 if self._before is None else 1.0
        return find_near(self._problem.cost, self._ratios, here, before, past, closeness)  # type: ignore[no-any-return]

    def take(self, columns: Indices) -> Taken:
        problem = self._problem
        xty, norms2 = problem.xty[columns], problem.norms2[columns]
        return Taken(problem.X, columns, xty, norms2, at_columns(problem.cost, columns))


def make_pass(problem: Problem, workers: Workers) -> ColumnPass:
    """Return who reads the columns of a problem, here or where they lie."""
    remote = remote_of(problem.X)
    return LocalPass(problem, workers) if remote is None else remote.make_pass(problem, workers)  # type: ignore[no-any-return]


def pieces(X: Columns) -> list[int]:
    """Return where columns are cut for sums over them: it does not matter then in which parts of pieces they lie."""
    p = shape(X)[1]
    n = min(p, n_chunks(nbytes(storage_of(X))))
    return [k * p // n for k in range(n + 1)]


def read_all(
    problem: Problem,
    probes: Sequence[Probe],
    ratios: Ratios,
    ceiling: Ratios,
    workers: Workers,
    cuts: Sequence[int] | None = None,
) -> list[Vector]:
    """Return what bounds the correlations of all columns, for `together`, piece by piece where that has sums.

    Fill in the ratios of the last probe, and raise the ceilings. `cuts` are those of all columns, for a part of them.
    """
    X, cost, asked = problem.X, problem.cost, _ask(problem.X, None, probes)
    if n_tops(cost) <= _N_LARGEST:
        cuts = column_chunks(X, len(probes))
    return workers.sweep(
        lambda lo, hi: correlate_all(X, cost, asked, lo, hi, ratios, ceiling), pieces(X) if cuts is None else cuts
    )


def read_some(
    problem: Problem, columns: Indices, probes: Sequence[Probe], workers: Workers, cuts: Sequence[int] | None = None
) -> tuple[list[Vector], Indices]:
    """Return what some columns, in increasing order, say about some probes, for `together`, and which exceed lambda."""
    X, cost, asked = problem.X, problem.cost, _ask(problem.X, columns, probes)
    violates = np.zeros(columns.size, np.bool_)
    if n_tops(cost) <= _N_LARGEST:
        of_list = even_cuts(columns.size, columns.size * (problem.nbytes // problem.xty.size))
    else:
        of_list = np.searchsorted(columns, pieces(X) if cuts is None else cuts).tolist()
    tops = workers.map(lambda lo, hi: correlate_some(X, cost, columns, asked, lo, hi, violates), of_list)
    return tops, columns[violates]


def _ask(X: Columns, columns: Indices | None, probes: Sequence[Probe]) -> Asked:
    """Return what kernels are asked about probes, on some columns, in increasing order, or on all."""
    residuals = stack(X, [probe.residual for probe in probes])
    lams, blurs = np.array([probe.lam for probe in probes]), np.array([probe.blur for probe in probes])
    if any(probe.apart.size for probe in probes):
        columns = np.unique(np.concatenate([probe.apart for probe in probes])) if columns is None else columns
        is_apart = np.stack([is_among(columns, probe.apart) for probe in probes], axis=1)
        return Asked(residuals, lams, blurs, columns, is_apart)
    return Asked(residuals, lams, blurs, np.empty(0, np.int64), np.empty((0, len(probes)), np.bool_))


def together(parts: Sequence[NDArray[np.float64]], probes: Sequence[Probe]) -> Matrix:
    """Return what chunks of the columns say together: largest ones, and sums from the third number on."""
    of_chunks = np.reshape(parts, (len(parts), len(probes), -1))
    found: Matrix = of_chunks.max(axis=0)
    if found.shape[1] > _N_LARGEST:
        found[:, 2:] = of_chunks[:, :, 2:].sum(axis=0)
    # Of finite columns pulls are finite; sums of conjugates need not be, next to a ridge of nothing.
    refuse_altered(found[:, :2].max(axis=1), [probe.residual for probe in probes])
    return found


def is_among(columns: Indices, others: Indices) -> NDArray[np.bool_]:
    """Tell which of some columns are among others, which are in increasing order: faster than `isin` for few."""
    if others.size == 0:
        return np.zeros(columns.size, np.bool_)
    found: NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, columns), others.size - 1)] == columns
    return found

"""Wide data in parts of columns: a pass that asks where they lie, and the columns that were fetched.

What is as long as there are columns stays here, 80 bytes of each: workers hold nothing that a file does not give back.
Within a column, what is computed does not depend on where it lies: a path has the bits of one machine with processors
of the same kind.
"""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, nbytes, read_only, samples, shape
from .._core.costs import Cost, at_columns, fill_pulls, n_tops
from .._core.csc import Csc
from .._core.elsewhere import Elsewhere, around
from .._core.problem import Problem
from .._core.standardized import Standardized, origins_of
from .._core.sweeps import Indices, Ratios
from .._core.threads import Workers
from ..data.design import Design
from ..data.elsewhere import Remote
from ..problem.build import Summaries
from ..problem.passes import LocalPass, Probe, Taken, pieces, together
from ..problem.points import Traffic
from .parts import Recipe, Scaled, fetch, join, open_part, packed, read_part, read_some_of_part, recipe_of, summarize
from .tasks import Calls, Tasks

_NO_COLUMNS = np.empty(0, np.int64)


class Columnar(NamedTuple):
    """A matrix that is read by columns: how each of its parts is, and what is known of it beforehand."""

    parts: list[Any]  # recipes, or arrays that others compute, side by side
    widths: list[int]
    entries: NDArray[np.int64]
    n_rows: int
    n_bytes: int  # that a pass reads
    n_bytes_kept: int  # in the memory of workers
    feature_names: tuple[str, ...] | None


class ClusterDesign(Remote):
    """A design matrix whose columns are in parts on the workers of a cluster."""

    ndim = 2

    def __init__(self, matrix: Columnar, tasks: Tasks) -> None:
        super().__init__()
        self.tasks, self.feature_names = tasks, matrix.feature_names
        self.cuts = [0, *itertools.accumulate(matrix.widths)]
        self.shape = matrix.n_rows, self.cuts[-1]
        self._storage = Elsewhere(read_only(matrix.entries), matrix.n_rows, matrix.n_bytes, self.number)
        self.parts = [tasks.keep(open_part, piece) for piece in matrix.parts]
        self.traffic = Traffic()
        self.table: Any = None  # with the response of a store
        self._lock = threading.RLock()
        self._held: Columns | None = None
        self._order = _NO_COLUMNS  # of the columns that are held
        self._tokens: dict[int, int] = {}
        self._scaled: list[Any] = []

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<ClusterDesign: {self.shape[0]:,} x {self.shape[1]:,} in {len(self.parts)} parts>"

    def as_design(self) -> Design:
        """Return the storage that is solved with: what is known here of the columns."""
        return Design(self._storage, self.feature_names)

    def begin(self, look: Callable[[], None]) -> None:
        """Begin to work for a call, and to count."""
        super().begin(look)
        self.traffic = Traffic()

    def end(self) -> None:
        """Give up the parts in the units of solvers; who refers to them yet does not keep them on the workers."""
        self.tasks.drop(*self._scaled)
        self._scaled.clear()

    def close(self) -> None:
        """Give up the columns on the workers: nothing can be asked of them any more."""
        self.end()
        self.tasks.drop(*self.parts)

    def spans(self) -> list[tuple[int, int]]:
        """Return the columns of every part."""
        return list(itertools.pairwise(self.cuts))

    def pieces(self) -> list[list[int]]:
        """Return how the columns of every part are cut for sums over them."""
        all_cuts = pieces(self._storage)
        return [[0, *(cut - lo for cut in all_cuts if lo < cut < hi), hi - lo] for lo, hi in self.spans()]

    def split(self, columns: Indices) -> list[tuple[int, slice]]:
        """Return the parts that have some columns, in increasing order, and which they have."""
        edges = np.searchsorted(columns, self.cuts)
        return [(k, slice(a, b)) for k, (a, b) in enumerate(itertools.pairwise(edges)) if a < b]

    @contextmanager
    def sharing(self, value: Any) -> Iterator[Any]:
        """Within this context something stands for a value that is given to several parts: a long one goes out once."""
        handle = self.tasks.share(value, nbytes(value))
        with self._lock:
            self.traffic = self.traffic.and_(0, 0, 0 if handle is value else nbytes(value), 0, 0)
        try:
            yield handle
        finally:
            self.tasks.drop(handle)

    def scale(self, X: Columns, cost: Cost) -> list[Any]:
        """Keep the parts in the units of a solver, whose columns are those of X."""
        means, factors = (X.means, X.factors) if isinstance(X, Standardized) else (None, None)
        origins, scaled = origins_of(X), []
        by_column = origins if origins.any() else None, means, factors
        with self.sharing(samples(X)) as shared:
            for part, (lo, hi), cuts in zip(self.parts, self.spans(), self.pieces(), strict=True):
                own = (None if it is None else it[lo:hi] for it in by_column)
                scaled.append(self.tasks.keep(Scaled, part, *own, shared, packed(cost, lo, hi), cuts))
        self._scaled += scaled
        return scaled

    def ask(self, function: Any, calls: Calls) -> list[Any]:
        """Return the answers of parts, in order, and count what travels."""
        found = self.tasks.ask(function, calls, self.look)
        out, back = (sum(map(nbytes, it)) for it in ([given for _, given in calls], found))
        with self._lock:
            self.traffic = self.traffic.and_(1, len(calls), out, back, 0)
        return found

    def note(self, tokens: Sequence[int]) -> None:
        """Count parts whose reading is another one than before."""
        with self._lock:
            again = sum(self._tokens.get(k, token) != token for k, token in enumerate(tokens))
            self.traffic = self.traffic.and_(0, 0, 0, 0, again)
            self._tokens.update(enumerate(tokens))

    def summarize(self, columns: Columns, y: Vector, fit_intercept: bool) -> Summaries:
        with self.sharing(y) as its_y, self.sharing(samples(columns)) as its_samples:
            found = self.ask(summarize, [(part, (its_y, its_samples, fit_intercept)) for part in self.parts])
        means, norms, xty = (np.concatenate([one[k] for one in found]) for k in range(3))
        origins = None
        if any(one.origins is not None for one in found):
            each = [np.zeros(one.means.size) if one.origins is None else one.origins for one in found]
            origins = np.concatenate(each)
        return Summaries(means, norms, xty, origins)

    def make_pass(self, problem: Problem, workers: Workers) -> "ClusterPass":
        return ClusterPass(self, problem, workers)

    def hold(self, columns: Indices) -> tuple[Columns, Indices, Indices]:
        with self._lock:
            new = np.setdiff1d(columns, self._order)
            if new.size or self._held is None:
                where = self.split(new) or [(0, slice(0))]
                calls = [(self.parts[k], (new[own] - self.cuts[k],)) for k, own in where]
                fetched = self.ask(fetch, calls)
                self._held = join(fetched if self._held is None else [self._held, *fetched])
                self._order = np.append(self._order, new)
            sorter = np.argsort(self._order)
            places = sorter[np.searchsorted(self._order, columns, sorter=sorter)] if columns.size else _NO_COLUMNS
            return self._held, places, self._order


class ClusterPass(LocalPass):
    """Reads columns where they lie; all that is kept of them is here."""

    def __init__(self, design: ClusterDesign, problem: Problem, workers: Workers) -> None:
        super().__init__(problem, workers)
        self._design, self._parts = design, design.scale(problem.X, problem.cost)

    def _asked(self, probes: Sequence[Probe], lo: int, hi: int) -> tuple[tuple[float, Indices, float], ...]:
        """Return what is asked of the columns lo..hi about probes besides their residuals."""
        asked = []
        for probe in probes:
            a, b = np.searchsorted(probe.apart, [lo, hi])
            asked.append((probe.lam, probe.apart[a:b] - lo, probe.blur))
        return tuple(asked)

    def _read_all(self, probes: Sequence[Probe], ratios: Ratios) -> NDArray[np.float64]:
        design = self._design
        with design.sharing(_residuals(probes)) as residuals:
            asked = (self._asked(probes, lo, hi) for lo, hi in design.spans())
            calls = [(part, (residuals, own)) for part, own in zip(self._parts, asked, strict=True)]
            found = design.ask(read_part, calls)
        design.note([one.token for one in found])
        ratios[:] = np.concatenate([one.ratios for one in found])
        pulls = np.empty_like(ratios)
        if len(probes) > 1:
            np.concatenate([one.ceiling for one in found], out=pulls)
        else:
            fill_pulls(self._problem.cost, ratios, pulls)
        np.maximum(self._ceiling, pulls, out=self._ceiling)
        self.n_read += ratios.size
        self.n_multiplied += self.summary.n_entries * len(probes)
        return together([top for one in found for top in one.tops], probes)

    def _read_some(self, columns: Indices, probes: Sequence[Probe]) -> tuple[Sequence[Vector], Indices]:
        design, where = self._design, self._design.split(columns)
        tops, violators = [np.zeros(len(probes) * n_tops(self._problem.cost))], [_NO_COLUMNS]
        if where:
            spans = [(design.cuts[k], design.cuts[k + 1]) for k, _ in where]
            with design.sharing(_residuals(probes)) as residuals:
                calls = [
                    (self._parts[k], (columns[own] - lo, residuals, self._asked(probes, lo, hi)))
                    for (k, own), (lo, hi) in zip(where, spans, strict=True)
                ]
                found = design.ask(read_some_of_part, calls)
            tops = [top for one, _ in found for top in one]
            violators = [its + lo for (_, its), (lo, _) in zip(found, spans, strict=True)]
        return tops, np.concatenate(violators)

    def take(self, columns: Indices) -> Taken:
        problem = self._problem
        held, places, order = self._design.hold(columns)
        X = around(problem.X, held, order)
        return Taken(X, places, problem.xty[columns], problem.norms2[columns], at_columns(problem.cost, columns))


def _residuals(probes: Sequence[Probe]) -> NDArray[np.float64]:
    return np.array([probe.residual for probe in probes])


def cut_recipe(recipe: Recipe, n_parts: int, all_cuts: Sequence[int]) -> tuple[list[Recipe], list[int]]:
    """Return the columns of a recipe in parts of about equal work, of whole pieces if they do, and their numbers."""
    p = recipe.n_columns
    places = np.array(all_cuts if len(all_cuts) > n_parts else range(p + 1))
    work = places if recipe.indptr is None else np.asarray(recipe.indptr)[places].astype(np.int64)
    shares = [k * int(work[-1]) // n_parts for k in range(1, n_parts)]
    spans = list(itertools.pairwise(sorted({0, *places[np.searchsorted(work, shares)].tolist(), p})))
    return [recipe.columns(lo, hi) for lo, hi in spans], [hi - lo for lo, hi in spans]


def columnar(storages: Sequence[Columns], n_parts: int, feature_names: tuple[str, ...] | None) -> Columnar:
    """Return storages that are mapped from files, side by side, in parts."""
    total = sum(map(nbytes, storages))
    m, entries, recipes = int(shape(storages[0])[0]), [], list(map(recipe_of, storages))
    n_kept = sum(recipe.nbytes for recipe in recipes)
    found = Columnar([], [], np.empty(0, np.int64), m, total, n_bytes_kept=n_kept, feature_names=feature_names)
    for X, recipe in zip(storages, recipes, strict=True):
        n_rows, p = shape(X)
        if n_rows != m:
            raise ValueError(f"X must have the same samples in all of its files: {m} in the first, and {n_rows}")
        share = max(1, round(n_parts * nbytes(X) / max(1, total)))
        parts, widths = cut_recipe(recipe, min(share, p), pieces(X))
        found.parts.extend(parts)
        found.widths.extend(widths)
        entries.append(np.diff(X.indptr).astype(np.int64) if isinstance(X, Csc) else np.full(p, m))
    return found._replace(entries=np.concatenate(entries))

"""The lazy exact oracle: which columns can matter, told from residuals whose correlations are known.

Anchors are residuals r_k at penalties lambda_k whose correlations with all columns were computed. Of those, a
*ceiling* is kept, max_k |z_j'r_k| / lambda_k for every column j. At a penalty lambda = (1 - t) lambda_1 + t lambda_2
between two anchors any residual r is the mix (1 - t) r_1 + t r_2 plus some e, so that

    |z_j'r| <= (1 - t) |z_j'r_1| + t |z_j'r_2| + ||z_j|| ||e|| <= lambda (ceiling_j + ||z_j|| ||e|| / lambda).

Below the last anchor it is that one plus some e, with |z_j'r_k| <= lambda ceiling_j lambda_k / lambda. One sweep over p
numbers, without touching X, leaves the *suspects*, columns that could exceed lambda; all others are proved not to. The
sweep serves all points at once, with the largest e and the largest lambda_k / lambda among them.

Rounding. With u = 2^-53, the dot product of m terms computed in any order is off by at most
m u / (1 - m u) ||x_j|| ||r||, and centring, z = f (x - mu 1), by no more again; the norms of the columns as given
are at most `spread` times those of z_j, except for columns that are suspects always (`reach` is infinite). The
mix, e and lambda are off by a few u ||r||. Together that is less than 4 (m + 8) u spread ||z_j|| ||r||, added to
||e|| in `Anchors.distance`. The ceiling is kept in float32: the ratio is off by 2^-24 of itself, or by 2^-150, and
is scaled up by more than that in the sweep. `reach` is rounded up likewise. The sweep itself is in float64.
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import (
    Columns,
    Vector,
    Vectors,
    column_shift,
    cut_columns,
    dot_column,
    dot_each,
    shape,
    side_by_side,
)
from .._core.jit import kernel
from .._core.problem import Problem
from .._core.threads import Workers, even_cuts
from .nodes import Node

Ratios = NDArray[np.float32]

# Columns whose mean is so much larger than their variation are suspects always: of them little can be proved.
_LARGEST_SPREAD = 1e4
# A float32 scaled up by this is at least the number it was rounded from; so is reach times eta, in float64.
_ROUND_UP = 1.0 + 2.0**-22
# Columns that are counted together.
_BLOCK = 256


class Reach(NamedTuple):
    """How far a change of the residual can move the correlation of every column."""

    norms: Ratios  # at least ||z_j|| / unit; infinite for columns that are suspects always
    unit: float  # lambda_max / ||y||: the norms are of moderate size, whatever the units of X
    rounding: float  # times ||r||: what rounding can add to ||e||


def make_reach(problem: Problem) -> Reach:
    """Return the norms of the columns, rounded up, and the rounding of their correlations."""
    m, p = problem.shape
    norms = np.empty(p, np.float32)
    unit = problem.lambda_max / np.sqrt(problem.yy)
    spread = _fill_norms(problem, unit, norms)
    return Reach(norms, unit, 4.0 * (m + 8) * 2.0**-53 * spread)


class Reference(NamedTuple):
    """The correlations of all columns at a penalty, relative to it."""

    weight: float
    ratios: Ratios  # z_j'r / lambda


def first_reference(problem: Problem) -> Reference:
    """Return the reference of a = 0, whose correlations are known."""
    ratios = np.empty(problem.xty.size, np.float32)
    np.divide(problem.xty, problem.lambda_max, out=ratios, casting="same_kind")
    return Reference(problem.lambda_max, ratios)


class Anchors:
    """Residuals with known correlations, from a knot to the next, and what they prove about all columns."""

    def __init__(self, reach: Reach, reference: Reference, residual: Vector) -> None:
        self._reach = reach
        self._weights = [reference.weight]
        self._residuals = [residual]
        self._ceiling = np.abs(reference.ratios)

    @property
    def are_one(self) -> bool:
        """Whether nothing was added to the first."""
        return len(self._weights) == 1

    def add(self, problem: Problem, nodes: Sequence[Node], workers: Workers) -> tuple[Reference, Vector]:
        """Price all columns for nodes at decreasing penalties, in one pass over the data.

        Return the reference of the last of them, and ||X'r||_inf of each.
        """
        self._weights += [node.lam for node in nodes]
        self._residuals += [node.residual for node in nodes]
        ratios = np.empty(problem.xty.size, np.float32)
        residuals, scales = side_by_side(problem.X, self._residuals[1:]), 1.0 / np.array(self._weights[1:])
        largest = workers.sweep(
            lambda lo, hi: _price_all(problem.X, residuals, scales, lo, hi, ratios, self._ceiling),
            cut_columns(problem.X, len(nodes)),
        )
        return Reference(self._weights[-1], ratios), np.max(largest, axis=0)

    def among(self, columns: NDArray[np.int64]) -> "Anchors":
        """Return what the anchors prove about some columns: these are its columns 0, 1, 2, ..."""
        few = copy.copy(self)
        few._reach = self._reach._replace(norms=self._reach.norms[columns])
        few._weights, few._residuals = self._weights.copy(), self._residuals.copy()
        few._ceiling = self._ceiling[columns]
        return few

    def put(self, node: Node, tops: Ratios) -> None:
        """Take a node for an anchor, whose |z_j'r| / lambda are known."""
        at = sum(weight > node.lam for weight in self._weights)
        self._weights.insert(at, node.lam)
        self._residuals.insert(at, node.residual)
        np.maximum(self._ceiling, tops, out=self._ceiling)

    def distance(self, node: Node) -> float:
        """Return ||e|| / lambda for a node below the first anchor, rounded up."""
        weights = self._weights
        right = min((k for k, weight in enumerate(weights) if weight <= node.lam), default=len(weights) - 1)
        left = right - 1 if weights[right] < node.lam else right
        width = weights[left] - weights[right]
        share = (weights[left] - node.lam) / width if width > 0.0 else 1.0
        e, r = _distance(self._residuals[left], self._residuals[right], share, node.residual)
        return (e + self._reach.rounding * r) / node.lam * (1.0 + 1e-12)

    def suspects(self, nodes: Sequence[Node], workers: Workers) -> NDArray[np.int64]:
        """Return the columns that could have |z_j'r| > lambda at one of these nodes below the first anchor."""
        norms = self._reach.norms
        scale, eta = self._farthest(nodes)
        cuts = even_cuts(norms.size, 8 * norms.size)
        return np.concatenate(workers.run(lambda lo, hi: _above(self._ceiling, scale, norms, eta, lo, hi), cuts))

    def share_of_suspects(self, nodes: Sequence[Node]) -> float:
        """Return what share of all columns the suspects are."""
        norms = self._reach.norms
        return _count_above(self._ceiling, *self._farthest(nodes), norms) / norms.size

    def _farthest(self, nodes: Sequence[Node]) -> tuple[float, float]:
        """Return the largest lambda_k / lambda of nodes below the last anchor, and the largest ||e|| / lambda."""
        scale = max(1.0, self._weights[-1] / min(node.lam for node in nodes))
        return scale, max(map(self.distance, nodes)) * self._reach.unit

    def violators(self) -> NDArray[np.int64]:
        """Return the columns that exceed lambda at an anchor, or nearly so."""
        return _above(self._ceiling, 1.0, self._ceiling, 0.0, 0, self._ceiling.size)


@kernel
def _fill_norms(problem: Problem, unit: float, norms: Ratios) -> float:
    """Fill ||z_j|| / unit; return how much larger norms in memory are than those of z_j."""
    m = shape(problem.X)[0]
    spread = 1.0
    for j in range(norms.size):
        norm2 = problem.norms2[j]
        norms[j] = max(np.sqrt(norm2) / unit * _ROUND_UP, 1e-30)
        if norm2 > 0.0:
            ratio = np.sqrt(1.0 + m * column_shift(problem.X, j) ** 2 / norm2)
            if ratio > _LARGEST_SPREAD:
                norms[j] = np.inf
            else:
                spread = max(spread, ratio)
    return spread


@kernel
def _price_all(
    X: Columns, residuals: Vectors, scales: Vector, lo: int, hi: int, ratios: Ratios, ceiling: Ratios
) -> Vector:
    n = scales.size
    largest, corrs = np.zeros(n), np.empty(residuals.n)
    only = residuals.rows[0]
    for j in range(lo, hi):
        if n == 1:  # of a few entries the sum takes no longer than to fill in a list
            corrs[0] = dot_column(X, j, only)
        else:
            dot_each(X, j, residuals, corrs)
        top = ceiling[j]
        ratio = np.float32(0.0)
        for k in range(n):
            largest[k] = max(largest[k], abs(corrs[k]))
            ratio = np.float32(corrs[k] * scales[k])
            top = max(top, abs(ratio))
        ratios[j] = ratio
        ceiling[j] = top
    return largest


@kernel
def _distance(left: Vector, right: Vector, share: float, residual: Vector) -> tuple[float, float]:
    """Return ||e|| and the largest of ||r||, ||r_1|| and ||r_2||, bounded by their sum."""
    total = norms = 0.0
    for i in range(residual.size - 1):
        total += (residual[i] - ((1.0 - share) * left[i] + share * right[i])) ** 2
        norms += residual[i] ** 2 + left[i] ** 2 + right[i] ** 2
    return np.sqrt(total), np.sqrt(norms)


@kernel
def _count_above(ceiling: Ratios, scale: float, eta: float, norms: Ratios) -> int:
    """Return how many columns `_above` finds."""
    n = 0
    for j in range(norms.size):
        n += (scale * float(ceiling[j]) + float(norms[j]) * eta) * _ROUND_UP > 1.0
    return n


@kernel
def _above(ceiling: Ratios, scale: float, norms: Ratios, eta: float, lo: int, hi: int) -> NDArray[np.int64]:
    """Return the columns of lo..hi with scale ceiling + norm eta above 1, rounded up."""
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # for a literal number numba would compile `_with_room` once more
    for first in range(lo, hi, _BLOCK):  # they are few: most blocks are only counted, by vector instructions
        last = min(first + _BLOCK, hi)
        tops, reaches = ceiling[first:last], norms[first:last]
        n_more = 0
        for i in range(tops.size):
            n_more += (scale * float(tops[i]) + float(reaches[i]) * eta) * _ROUND_UP > 1.0
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(tops.size):
            if (scale * float(tops[i]) + float(reaches[i]) * eta) * _ROUND_UP > 1.0:
                found[n] = first + i
                n += 1
    return found[:n]


@kernel
def near_columns(
    reference: Reference, before: Reference, weight: float, near: float
) -> tuple[NDArray[np.int64], Vector]:
    """Return the columns with |c| > near lambda here or at `weight`, and |c| / lambda; c taken as linear in lambda."""
    # c / lambda at `weight` is a mix of the ratios at the two references.
    factor = (weight - reference.weight) / (reference.weight - before.weight)
    here, past = (1.0 + factor) * reference.weight / weight, factor * before.weight / weight
    ratios, past_ratios = reference.ratios, before.ratios
    found = np.empty(_BLOCK, np.int64)
    n = int(np.int64(0))  # as in `_above`
    for first in range(0, ratios.size, _BLOCK):
        block, past_block = ratios[first : first + _BLOCK], past_ratios[first : first + _BLOCK]
        n_more = 0
        for i in range(block.size):
            n_more += (abs(here * block[i] - past * past_block[i]) > near) | (abs(block[i]) > near)
        if n_more == 0:
            continue
        if n + n_more > found.size:
            found = _with_room(found, n, n + n_more)
        for i in range(block.size):
            if abs(here * block[i] - past * past_block[i]) > near or abs(block[i]) > near:
                found[n] = first + i
                n += 1
    found = found[:n]
    sizes = np.empty(n)
    for i in range(n):
        j = found[i]
        sizes[i] = max(abs(here * ratios[j] - past * past_ratios[j]), abs(ratios[j]))
    return found, sizes


@kernel
def _with_room(items: NDArray[np.int64], n: int, n_least: int) -> NDArray[np.int64]:
    """Return the first n items, with room for `n_least` at least, and for twice as many as there was."""
    larger = np.empty(max(2 * items.size, n_least), np.int64)
    for i in range(n):  # a slice would bring numba's texts for errors of its shape, half a second to compile
        larger[i] = items[i]
    return larger

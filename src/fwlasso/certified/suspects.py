"""The columns that the lazy oracle cannot clear: they are multiplied out, and bound the correlations of all."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, Vectors, dot_each, side_by_side
from .._core.jit import kernel
from .._core.problem import Problem
from .._core.subproblem.copies import Indices
from .._core.threads import Workers, even_cuts, n_chunks
from .nodes import Node
from .references import Anchors, Ratios


class Found(NamedTuple):
    """What the suspects say about some nodes."""

    largest: list[float]  # max(lambda, ||X'r||_inf) of every node
    violators: Indices  # with |z_j'r| > lambda at one of them, in increasing order
    n_suspects: int
    n_priced: int  # columns read
    n_dots: int


def price_suspects(problem: Problem, anchors: Anchors, nodes: Sequence[Node], workers: Workers) -> Found:
    """Bound the correlations of nodes over all columns, by pricing the suspects.

    Of many suspects the node farthest from the anchors leaves few for the others: it is priced first, and is one more
    anchor for these columns. So it goes on as long as the suspects halve.
    """
    bytes_per_column = problem.nbytes // problem.xty.size
    suspects = anchors.suspects(nodes, workers)
    few, n_suspects, n_before = anchors.among(suspects), suspects.size, problem.xty.size
    rest, largest, violators = list(range(len(nodes))), [0.0] * len(nodes), []
    n_priced = n_dots = 0
    while rest:
        some, n_bytes = rest, suspects.size * bytes_per_column
        if len(rest) > 2 and n_chunks(n_bytes) > 1 and 2 * suspects.size < n_before:
            some = [max(rest, key=lambda k: few.distance(nodes[k]))]
        bounds, tops, violates = _price_on(problem, suspects, [nodes[k] for k in some], n_bytes, workers)
        for k, bound in zip(some, bounds, strict=True):
            largest[k] = bound
        violators.append(suspects[violates])
        n_before, n_priced, n_dots = suspects.size, n_priced + suspects.size, n_dots + suspects.size * len(some)
        rest = [k for k in rest if k not in some]
        if rest:
            few.put(nodes[some[0]], tops)
            left = few.suspects([nodes[k] for k in rest], workers)
            suspects, few = suspects[left], few.among(left)
    return Found(largest, np.unique(np.concatenate(violators)), n_suspects, n_priced, n_dots)


def _price_on(
    problem: Problem, columns: Indices, nodes: Sequence[Node], n_bytes: int, workers: Workers
) -> tuple[list[float], Ratios, NDArray[np.bool_]]:
    """Return what `_correlate` finds on some columns: of every node, and of every column."""
    residuals = side_by_side(problem.X, [node.residual for node in nodes])
    weights = np.array([node.lam for node in nodes])
    tops, violates = np.zeros(columns.size, np.float32), np.zeros(columns.size, np.bool_)
    largest = workers.run(
        lambda lo, hi: _correlate(problem.X, columns, residuals, weights, lo, hi, tops, violates),
        even_cuts(columns.size, n_bytes),
    )
    return np.max(largest, axis=0).tolist(), tops, violates


@kernel
def _correlate(
    X: Columns,
    columns: Indices,
    residuals: Vectors,
    weights: Vector,
    lo: int,
    hi: int,
    tops: Ratios,
    violates: NDArray[np.bool_],
) -> Vector:
    """Return max(lambda, |z_j'r|) of every residual over columns lo..hi.

    Fill in the largest |z_j'r| / lambda of every column, and whether it exceeds one.
    """
    largest, corrs = weights.copy(), np.empty(residuals.n)
    for k in range(lo, hi):
        dot_each(X, columns[k], residuals, corrs)
        for i in range(weights.size):
            size = abs(corrs[i])
            largest[i] = max(largest[i], size)
            tops[k] = max(tops[k], np.float32(size / weights[i]))
            violates[k] |= size > weights[i]
    return largest

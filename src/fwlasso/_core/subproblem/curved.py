"""A step of Newton's method for a loss that is no square: least squares in the metric of its curvatures.

With theta and h, slopes and curvatures at eta, some columns F and their coefficients b0, it is

    min over b of  1/2 (b - b0)'G (b - b0) - c'(b - b0) + sum_j cost_j(b_j),
    G = X_F'H X_F - s s'/(1'h),   c = X_F'theta - s (1'theta)/(1'h),   s = X_F'h,

without what is subtracted if there is no intercept. Block pivoting settles its signs: see `gram_nodes`.
"""

from typing import NamedTuple

import numpy as np

from ..cholesky import make_factor
from ..columns import Matrix, Vector
from ..costs import Cost, at_columns, exchange, settle, value
from ..gaps import magnitude_of
from ..gram_nodes import ABOVE, SOLVED, STUCK, Node, NodeState, Workspace, advance_node, begin, give_up
from ..jit import kernel
from ..losses import Loss, curve, has_diagonal
from ..moments import Moments
from ..sweeps import Indices
from .copies import Copies

# Samples of dense columns that are multiplied at a time: their products stay in the cache.
_BLOCK = 4096
# theta'H^-1 theta, which inner products do not tell where H is no diagonal, is taken for so many times sum |theta|. It
# decides when to stop, and nothing that is claimed; of too little no step would be found to be short enough.
_LONG = 1e3


class Slopes(NamedTuple):
    """Slopes and curvatures of a loss, by sample."""

    theta: Vector
    curvatures: Vector
    sums: tuple[float, float]

    def roots(self, copies: Copies) -> tuple[Vector, Vector]:
        """Return the roots of the curvatures, and these by what copies are multiplied with."""
        roots = np.sqrt(self.curvatures)
        return roots, np.divide(roots, copies.roots, out=np.zeros(roots.size), where=copies.roots > 0.0)


def minimise(
    copies: Copies,
    at: Slopes,
    places: Indices,
    corrs: Vector,
    coefs: Vector,
    *,
    lam: float,
    goal: float,
    loss: Loss,
) -> tuple[Vector, bool]:
    """Return the coefficients b of some places to a gap of at most `goal`, given X_F'theta, and whether they are."""
    if has_diagonal(loss):
        roots, scale = at.roots(copies)
        gram, sums = _products(copies, places, roots, scale)
        response = np.divide(at.theta, roots, out=np.zeros(roots.size), where=roots > 0.0)
        yy = size2 = float(np.sum(response * response))
    else:
        gram, sums = _curved_products(copies, places, at, loss), np.zeros(places.size)
        yy = size2 = _LONG * float(np.sum(np.abs(at.theta)))
    norms = np.sqrt(gram.diagonal())
    if copies.centred:
        slopes, total = at.sums
        gram -= np.outer(sums, sums / total)
        corrs, yy = corrs - sums * (slopes / total), max(0.0, yy - slopes * (slopes / total))
    image = gram @ coefs
    yy += float(coefs @ (image + 2.0 * corrs))
    y_norm = float(norms @ np.abs(coefs)) + np.sqrt(size2)
    cost, n = at_columns(copies.cost, places), places.size
    moments = Moments(gram, corrs + image, max(0.0, yy), norms, y_norm=y_norm, n_ops=2 * at.theta.size + 16, cost=cost)
    factor, state = make_factor(gram, norms), np.recarray(1, NodeState)
    work = Workspace(factor, np.zeros(n), np.zeros(n), np.empty(n), state)
    found = coefs.copy()
    return found, _pivot(moments, work, Node(lam, found, corrs.copy(), coefs.copy(), corrs, 0.0), goal)


def explained(copies: Copies, at: Slopes, places: Indices, corrs: Vector) -> Vector:
    """Return the coefficients of some columns that cost nothing, given X_F'theta."""
    gram, sums = _products(copies, places, *at.roots(copies))
    if copies.centred:
        slopes, total = at.sums
        gram, corrs = gram - np.outer(sums, sums / total), corrs - sums * (slopes / total)
    unit = np.sqrt(np.maximum(gram.diagonal(), np.finfo(float).tiny))
    found: Vector = np.linalg.lstsq(gram / np.outer(unit, unit), corrs / unit)[0] / unit
    return found


def _products(copies: Copies, places: Indices, roots: Vector, scale: Vector) -> tuple[Matrix, Vector]:
    """Return X_F'H X_F and X_F'h."""
    m, n = roots.size, places.size
    gram, sums = np.zeros((n, n)), np.zeros(n)
    step = _BLOCK if copies.dense else m
    for lo in range(0, m, step):
        part = np.empty((n, min(step, m - lo)))
        _spread(copies, places, scale, lo, part)
        gram += part @ part.T
        sums += part @ roots[lo : lo + step]
    return gram, sums


def _curved_products(copies: Copies, places: Indices, at: Slopes, loss: Loss) -> Matrix:
    """Return X_F'H X_F for an H that is no diagonal."""
    m = at.theta.size
    columns, bent = np.empty((places.size, m)), np.empty((places.size, m))
    _spread(copies, places, np.divide(1.0, copies.roots, out=np.zeros(m), where=copies.roots > 0.0), 0, columns)
    curve(loss, at.curvatures, columns, bent)
    gram: Matrix = columns @ bent.T
    gram += gram.T.copy()
    return 0.5 * gram


@kernel
def _spread(copies: Copies, places: Indices, scale: Vector, first: int, out: Matrix) -> None:
    """Fill in columns, by row, multiplied by `scale`: their samples from the first one on."""
    n = out.shape[1]
    for a in range(places.size):
        k, row = places[a], out[a]
        if copies.dense:
            for i in range(n):
                row[i] = scale[first + i] * copies.rows[k, first + i]
        else:
            shift = copies.shifts[k]
            for i in range(n):
                row[i] = -shift * copies.roots[i] * scale[i]
            for e in range(copies.starts[k], copies.stops[k]):
                i = copies.indices[e]
                row[i] += scale[i] * copies.data[e]


@kernel
def _pivot(moments: Moments, work: Workspace, node: Node, goal: float) -> bool:
    """Solve a node from where its coefficients are; tell whether that came to its end."""
    cost, own = moments.cost, magnitude_of(moments, node.b)[0]
    node = Node(node.lam, node.b, node.g, node.start_b, node.start_g, own)
    for j in range(node.b.size):
        work.sign[j], work.rest[j] = settle(cost, j, node.b[j])
        if work.factor.scale[j] > 0.0:
            if work.sign[j] == 0.0:
                sign, rest = exchange(cost, node.lam, j, 0.0, work.rest[j], node.b[j], node.g[j], ABOVE)
                work.sign[j], work.rest[j] = sign, rest
        else:
            work.sign[j] = 0.0
    begin(work)
    while work.state[0].next < SOLVED:
        advance_node(moments, work, node, goal)
    if work.state[0].next == STUCK:
        give_up(moments, node)
    return bool(work.state[0].next != STUCK)


@kernel
def entering(cost: Cost, lam: float, places: Indices, coefs: Vector, corrs: Vector) -> Indices:
    """Return the places with a coefficient that is free, or pulled off where it rests."""
    found = np.empty(places.size, np.int64)
    n = 0
    for k in places:
        sign, rest = settle(cost, k, coefs[k])
        if sign == 0.0:
            sign, _ = exchange(cost, lam, k, 0.0, rest, coefs[k], corrs[k], ABOVE)
        if sign != 0.0:
            found[n] = k
            n += 1
    return found[:n]


@kernel
def cost_of(cost: Cost, lam: float, places: Indices, coefs: Vector) -> float:
    """Return what the coefficients of some places cost, given one for each."""
    total = 0.0
    for i in range(places.size):
        total += value(cost, lam, places[i], coefs[i])
    return total

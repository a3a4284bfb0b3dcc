"""The closing pass: residuals of some points on the data, where the rounding of the Gram matrix is too large for them.

Its bounds are linear in the reach ||y|| + sum norms_j |w_j| of a point, where those of the Gram matrix are quadratic.
"""

from typing import Any, NamedTuple

import numpy as np

from .._core.columns import Columns, shape
from .._core.costs import is_plain
from .._core.gaps import GapTerms
from .._core.moments import Matrix, Moments, Vector, gamma
from .._core.samples import Samples, Unweighted, Weights, n_roundings, weight_vector
from .._core.threads import Workers, one_blas_thread
from .blocks import Piece, add_in_order, cut_folds, read_block
from .centring import Centre


class ResidualSums(NamedTuple):
    """What is summed over some rows."""

    sums: Matrix  # of the residual of every point: 1'r and r'r
    products: Matrix  # and with [X, y]
    n_ops: float  # roundings

    def plus(self, other: "ResidualSums") -> "ResidualSums":
        """Return the sums over the rows of both."""
        n_ops = max(self.n_ops, other.n_ops) + 1.0
        return ResidualSums(self.sums + other.sums, self.products + other.products, n_ops)


class _Room(NamedTuple):
    """Columns of [X, y] in a block of rows, and the sums over these."""

    block: Matrix
    sums: Matrix
    products: Matrix


def sums_on_data(
    X: Columns,
    y: Vector,
    moments: Moments,
    centre: Centre,
    weights: Matrix,
    workers: Workers,
    *,
    samples: Samples | None = None,
) -> tuple[GapTerms, Matrix]:
    """Return the terms of points, each an array of a number for every point, and z_j'r, by one pass over the data."""
    samples = Unweighted(y.size) if samples is None else samples
    found = residual_sums(X, y, centre, weights, workers, samples=samples)
    return with_bounds(found, moments, centre, weights)


def residual_sums(
    X: Columns, y: Vector, centre: Centre, weights: Matrix, workers: Workers, *, samples: Samples
) -> ResidualSums:
    """Return the sums over some rows of the residuals of points, block by block."""
    fold_of = None if isinstance(samples, Unweighted) else np.where(weight_vector(samples) > 0.0, 0, -1)
    coefs = weights * centre.factors
    constants = centre.y_mean - coefs @ centre.means
    n_points, p = weights.shape
    pieces = cut_folds(shape(X)[0], p, fold_of)
    most = max((piece.rows.size for piece in pieces), default=0)

    def compute(piece: Piece, room: _Room) -> None:
        block = room.block[:, : piece.rows.size]
        centre.coordinates.place(y[None, piece.rows], block[-1:], slice(-1, None))
        values = read_block(X, piece.rows, centre.coordinates, room.block[:-1])
        residuals = coefs @ values
        np.subtract(block[-1] - constants[:, None], residuals, out=residuals)
        weighted = residuals * samples.values[piece.rows] if isinstance(samples, Weights) else residuals
        np.sum(weighted, axis=1, out=room.sums[0])
        np.einsum("ki,ki->k", weighted, residuals, out=room.sums[1])
        np.matmul(weighted, values.T, out=room.products[:, :-1])
        np.matmul(weighted, block[-1], out=room.products[:, -1])

    sums, products = np.zeros((2, n_points)), np.zeros((n_points, p + 1))

    def add(_: Piece, room: _Room) -> None:
        np.add(sums, room.sums, out=sums)
        np.add(products, room.products, out=products)

    def make_room() -> _Room:
        return _Room(np.empty((p + 1, most)), np.empty((2, n_points)), np.empty((n_points, p + 1)))

    with one_blas_thread():
        left = iter(pieces)
        add_in_order(workers, len(pieces), lambda _: next(left, None), compute, add, make_room)
    return ResidualSums(sums, products, most + len(pieces) + 2.0 + n_roundings(samples))


def with_bounds(total: ResidualSums, moments: Moments, centre: Centre, weights: Matrix) -> tuple[GapTerms, Matrix]:
    """Return what the sums over all rows tell.

    With K = n_ops products with r err by gamma_K, r_i by gamma_{k+5} (|y_i| + |c| + sum |v_j x_ij|) with k coefficients
    and a constant c: see docs/method/rounding.md.
    """
    (sums, squares), n_ops = total.sums, total.n_ops
    norms = np.sqrt(squares) * (1.0 + gamma(n_ops + 2.0))
    corrs = (total.products[:, :-1] - sums[:, None] * centre.means) * centre.factors
    yr = total.products[:, -1] - sums * centre.y_mean
    rounding = gamma(2.0 * n_ops + moments.n_ops + 8.0) * norms
    limits = rounding[:, None] * moments.norms
    sizes = np.abs(weights)
    n_terms = np.count_nonzero(weights, axis=1).max(initial=0)
    lost = (sizes * (limits + gamma(n_terms + 2.0) * np.abs(corrs))).sum(axis=1)
    reach = sizes @ moments.norms
    per_reach = 2.1 * gamma(n_terms + 5.0) + (gamma(float(moments.n_ops)) if centre.is_rounded else 0.0)
    errors = per_reach * (moments.y_norm + reach)
    largest = (np.abs(corrs) + limits + errors[:, None] * moments.norms).max(axis=1, initial=0.0)
    zero: Any = np.zeros(len(weights))
    terms = GapTerms(
        qy=moments.yy - yr,
        qr=(weights * corrs).sum(axis=1),
        yr=yr,
        rr=squares,
        l1=sizes.sum(axis=1) if is_plain(moments.cost) else sizes @ moments.cost.slopes,
        largest=np.abs(corrs).max(axis=1, initial=0.0),
        bound=largest * (1.0 + gamma(4.0)),
        over=zero,
        corr_error=(rounding + errors) * (1.0 + gamma(4.0)),
        rr_error=(norms + errors) ** 2 - squares,
        yr_error=(rounding + errors) * moments.y_norm,
        qr_error=lost + errors * reach,
        error=zero,
        eps=zero,
        rounding=zero + gamma(n_terms + 12.0),
    )
    return terms, np.ascontiguousarray(corrs)

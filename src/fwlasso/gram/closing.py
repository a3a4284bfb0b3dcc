"""The closing pass: residuals of some points on the data, where the rounding of the Gram matrix is too large for them.

Its bounds are linear in the reach ||y|| + sum norms_j |w_j| of a point, where those of the Gram matrix are quadratic.
"""

from typing import NamedTuple

import numpy as np

from .._core.columns import Columns, shape
from .._core.moments import Matrix, Moments, Vector, gamma
from .._core.threads import Workers, one_blas_thread
from .blocks import Piece, add_in_order, cut_folds, read_block
from .centring import Centre


class Residuals(NamedTuple):
    """What can be told for certain of the residual r = y - Z w of every point, or the same as it was computed.

    With an intercept r stands for its centred part, which is no longer, and has the same products with columns and y.
    """

    norms: Vector  # at least ||r||
    yr: Vector  # at most y'r
    corrs: Vector  # at least max_j |z_j'r|
    fits: Vector  # at most sum_j w_j z_j'r

    def penalty_gaps(self, lams: Vector, l1: Vector) -> Vector:
        """Return bounds of the duality gaps of the penalised problem.

        theta = s r is feasible for s = min(lam / max|z_j'r|, y'r / r'r); then the gap is at most
        (1 + s^2) r'r / 2 + lam l1 - s y'r.
        """
        with np.errstate(all="ignore"):
            best = np.where(self.norms > 0.0, np.maximum(self.yr, 0.0) / self.norms**2, 0.0)
            s = np.where(self.corrs * best <= lams, best, lams / self.corrs) * (1.0 - gamma(4.0))
            terms = 0.5 * (1.0 + s * s) * self.norms**2, lams * l1, s * self.yr
            return terms[0] + terms[1] - terms[2] + gamma(12.0) * (terms[0] + terms[1] + np.abs(terms[2]))

    def ball_gaps(self, radii: Vector) -> Vector:
        """Return bounds of the gaps with ||w||_1 <= radius: radius max|z_j'r| - w'Z'r."""
        return radii * self.corrs - self.fits + gamma(8.0) * (radii * self.corrs + np.abs(self.fits))


def residuals_on_data(
    X: Columns, y: Vector, moments: Moments, centre: Centre, weights: Matrix, workers: Workers
) -> tuple[Residuals, Residuals]:
    """Return the residuals of points, in the units of `moments`, with one pass over the data: bounds, and as computed.

    Parameters
    ----------
    X : storage
    y : array
    moments, centre
        As `centring.moments` gave them.
    weights : array of shape (n_points, p)
        Coefficients of the columns z_j.
    workers : Workers
    """
    found = _Closing(X, y, centre, weights)
    found.run(workers)
    return found.bounds(moments)


class _Closing:
    """Products of residuals with [1, X, y] and with themselves, in the making."""

    def __init__(self, X: Columns, y: Vector, centre: Centre, weights: Matrix) -> None:
        self._X, self._y, self._centre, self._weights = X, y, centre, weights
        self._coefs = weights * centre.factors
        self._constants = centre.y_mean - self._coefs @ centre.means
        m, p = shape(X)
        self._sums, self._products = np.zeros((2, len(weights))), np.zeros((len(weights), p + 1))
        self._pieces = cut_folds(m, p, None)
        self._most = max(piece.rows.size for piece in self._pieces)

    def run(self, workers: Workers) -> None:
        """Pass over the rows."""
        n_points, p = self._weights.shape

        def make_room() -> _Room:
            return _Room(np.empty((p + 1, self._most)), np.empty((2, n_points)), np.empty((n_points, p + 1)))

        def add(_: Piece, room: _Room) -> None:
            np.add(self._sums, room.sums, out=self._sums)
            np.add(self._products, room.products, out=self._products)

        with one_blas_thread():
            left = iter(self._pieces)
            add_in_order(workers, len(self._pieces), lambda _: next(left, None), self._multiply, add, make_room)

    def _multiply(self, piece: Piece, room: "_Room") -> None:
        """Compute the residuals of a block, and their products."""
        coordinates, block = self._centre.coordinates, room.block[:, : piece.rows.size]
        coordinates.place(self._y[None, piece.rows], block[-1:], slice(-1, None))
        values = read_block(self._X, piece.rows, coordinates, room.block[:-1])
        residuals = self._coefs @ values
        np.subtract(block[-1] - self._constants[:, None], residuals, out=residuals)
        np.sum(residuals, axis=1, out=room.sums[0])
        np.einsum("ki,ki->k", residuals, residuals, out=room.sums[1])
        np.matmul(residuals, values.T, out=room.products[:, :-1])
        np.matmul(residuals, block[-1], out=room.products[:, -1])

    def bounds(self, moments: Moments) -> tuple[Residuals, Residuals]:
        """Return what the sums tell for certain, and what they are.

        A product of r with a column x' of the coordinates errs by gamma_K ||x'|| ||r||, K the rows of a block and the
        blocks; so does its sum, and the mean is off by gamma_{n_ops}, which has the rounding of the factors, too.
        r_i errs by gamma_{k+5} (|y_i| + |c| + sum |v_j x_ij|), k coefficients, and |c| sqrt(m) is at most the rest: r
        is off by a vector of a norm e, which moves its products by ||z_j|| e. An error of the constant c changes
        nothing in the centred part of r.
        """
        n_ops = self._most + len(self._pieces) + 2.0
        sums, squares = self._sums
        norms = np.sqrt(squares) * (1.0 + gamma(n_ops + 2.0))
        corrs = (self._products[:, :-1] - sums[:, None] * self._centre.means) * self._centre.factors
        yr = self._products[:, -1] - sums * self._centre.y_mean
        rounding = gamma(2.0 * n_ops + moments.n_ops + 8.0) * norms
        limits = rounding[:, None] * moments.norms
        sizes = np.abs(self._weights)
        n_terms = np.count_nonzero(self._weights, axis=1).max(initial=0)
        fits = (self._weights * corrs).sum(axis=1)
        lost = (sizes * (limits + gamma(n_terms + 2.0) * np.abs(corrs))).sum(axis=1)
        reach = moments.y_norm + sizes @ moments.norms
        per_reach = 2.1 * gamma(n_terms + 5.0) + (gamma(float(moments.n_ops)) if self._centre.is_standardized else 0.0)
        errors = per_reach * reach
        largest = (np.abs(corrs) + limits + errors[:, None] * moments.norms).max(axis=1, initial=0.0)
        certain = Residuals(
            norms + errors,
            yr - (rounding + errors) * moments.y_norm,
            largest * (1.0 + gamma(4.0)),
            fits - lost - errors * (sizes @ moments.norms),
        )
        computed = Residuals(np.sqrt(squares), yr, np.abs(corrs).max(axis=1, initial=0.0), fits)
        return certain, computed


class _Room(NamedTuple):
    """What a thread works in: the columns of [X, y] of a block, and what is summed over it."""

    block: Matrix
    sums: Matrix
    products: Matrix

"""Least squares on the support of every point of a path: what the Lasso would say without its shrinkage."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Columns, Matrix, Vector, add_column, dot_column, samples
from .._core.jit import kernel
from .._core.samples import center, n_samples, total_weight
from .._core.weighted import weighted
from ..data.design import Design
from ..data.inputs import Data
from ..data.predict import predict_rows
from ..result import LassoPath

#: Larger supports are not refitted: their least-squares fit takes the square of this many numbers.
LARGEST_SUPPORT = 1000
# Pivots of the normal equations below this are taken for zero: columns that depend on each other.
_RANK_TOL = 1e-10


class Relaxed(NamedTuple):
    """A path, least squares on its supports, and their mixes."""

    path: LassoPath
    coefs: sp.csc_array
    intercepts: Vector
    has_refit: NDArray[np.bool_]

    def predict(self, predict: Callable[[sp.csc_array, Vector], Matrix], blends: Sequence[float]) -> list[Matrix]:
        """Return predictions of every blend; NaN for points that were not refitted, if a blend needs it."""
        lasso = predict(self.path.coefs, self.path.intercepts)
        if blends == (1.0,):
            return [lasso]
        squares = predict(self.coefs, self.intercepts)
        squares[:, ~self.has_refit] = np.nan
        return [lasso if blend == 1.0 else blend * lasso + (1.0 - blend) * squares for blend in blends]

    def mix(self, blend: float, data: Data) -> LassoPath:
        """Return the mixes of the points with their refits, of which no gap is known; the path itself for 1."""
        path, y = self.path, data.response
        if blend == 1.0:
            return path
        values, intercepts = (
            blend * lasso + (1.0 - blend) * squares
            for lasso, squares in ((path.coefs.data, self.coefs.data), (path.intercepts, self.intercepts))
        )
        # Both have the support of the point, and so its scales.
        coefs, scaled = (
            sp.csc_array((entries, path.coefs.indices, path.coefs.indptr), shape=path.coefs.shape)
            for entries in (values, values * path.scaled_coefs.data / path.coefs.data)
        )
        residuals = y[:, np.newaxis] - predict_rows(data.design.columns, np.arange(y.size), coefs, intercepts)
        centred = y - y.mean() if path.settings["fit_intercept"] else y
        r2 = 1.0 - (residuals**2).sum(axis=0) / max(centred @ centred, np.finfo(np.float64).tiny)
        radii, gaps = np.asarray(np.abs(scaled).sum(axis=0)), np.full(len(path), np.nan)
        return replace(path, coefs=coefs, scaled_coefs=scaled, intercepts=intercepts, radii=radii, r2=r2, gaps=gaps)


def relax(
    design: Design, response: Vector, path: LassoPath, blends: Sequence[float], kept: NDArray[np.bool_] | None = None
) -> Relaxed:
    """Return a path and its refits on the samples that are kept; without blends that need them, only the path."""
    if blends == (1.0,):
        return Relaxed(path, path.coefs, path.intercepts, np.ones(len(path), np.bool_))
    return Relaxed(path, *refit_supports(design, response, path, kept))


def refit_supports(
    design: Design, response: Vector, path: LassoPath, kept: NDArray[np.bool_] | None = None
) -> tuple[sp.csc_array, Vector, NDArray[np.bool_]]:
    """Return coefficients and intercepts by least squares on the support of every point, and which points have them.

    Points have none whose support is larger than `LARGEST_SUPPORT`, or not smaller than the number of samples: they
    keep the Lasso's. If columns depend on each other, it is the solution with the smallest norm.
    """
    columns = weighted(design.columns, None if kept is None else kept.astype(np.float64))
    m = n_samples(samples(columns))
    fit_intercept = bool(path.settings["fit_intercept"])
    has_refit = path.n_active <= min(LARGEST_SUPPORT, m - 1 - fit_intercept)
    indptr, indices = path.coefs.indptr, path.coefs.indices
    used = np.unique(np.concatenate([indices[indptr[k] : indptr[k + 1]] for k in np.flatnonzero(has_refit)]))
    y = response if kept is None else np.where(kept, response, 0.0)
    y_mean = y.sum() / m if fit_intercept else 0.0
    gram, xty, means = np.zeros((used.size, used.size)), np.empty(used.size), np.empty(used.size)
    _normal_equations(columns, used.astype(np.int64), y, fit_intercept, gram, xty, means)
    data, intercepts = path.coefs.data.copy(), path.intercepts.copy()
    for k in np.flatnonzero(has_refit):
        support = slice(indptr[k], indptr[k + 1])
        at = np.searchsorted(used, indices[support])
        data[support] = _solve(gram[np.ix_(at, at)], xty[at])
        intercepts[k] = y_mean - means[at] @ data[support]
    return sp.csc_array((data, indices, indptr), shape=path.coefs.shape), intercepts, has_refit


def _solve(gram: NDArray[np.float64], xty: Vector) -> Vector:
    """Solve the normal equations, scaled to columns of norm one."""
    norms = np.sqrt(gram.diagonal())
    norms[norms == 0.0] = 1.0
    cosines = gram / np.outer(norms, norms)
    try:
        factor = scipy.linalg.cho_factor(cosines, lower=True)
        if factor[0].diagonal().min(initial=1.0) > np.sqrt(_RANK_TOL):
            return np.asarray(scipy.linalg.cho_solve(factor, xty / norms) / norms)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(cosines, xty / norms, rcond=_RANK_TOL)[0] / norms)


@kernel
def _normal_equations(
    columns: Columns,
    used: NDArray[np.int64],
    y: Vector,
    fit_intercept: bool,
    gram: NDArray[np.float64],
    xty: Vector,
    means: Vector,
) -> None:
    """Fill x_i'x_j and x_i'y of columns about their means, or about zero without an intercept, and the means."""
    v = np.empty(y.size + 1)
    for i in range(used.size):
        v[:] = 0.0
        add_column(columns, used[i], 1.0, v)
        total = product = 0.0
        for r in range(y.size):
            total += v[r]
        means[i] = total / total_weight(samples(columns)) if fit_intercept else 0.0
        v[-1] = total if fit_intercept else 0.0
        center(samples(columns), v)
        for r in range(y.size):
            product += v[r] * y[r]
        xty[i] = product
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot_column(columns, used[j], v)

"""Least squares on the support of every point of a path: what the Lasso would say without its shrinkage."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Columns, Matrix, Vector, add_column, dot_column, samples
from .._core.jit import kernel
from .._core.problem import Problem
from .._core.samples import Weights, center, rows_there, to_root
from .._core.standardized import origins_of
from .._core.threads import Workers
from ..data.inputs import Data
from ..data.predict import gather
from ..problem.build import build_problem
from ..problems import Part
from ..result import LassoPath

Indices = NDArray[np.int64]

#: Larger supports are not refitted: their least-squares fit takes the square of this many numbers.
LARGEST_SUPPORT = 1000
# The normal equations Z'Z = L L', of columns of norm one, lose twice the digits that the columns do. Where an entry of
# L's diagonal is below this, the columns themselves are decomposed.
_LEAST_PIVOT = 1e-4
# Columns of norm one depend on each other in a direction in which they have no more than this singular value.
_RANK_TOL = 1e-10
# Rows are decomposed by so many numbers.
_BLOCK = 1 << 23


class Relaxed(NamedTuple):
    """A path, least squares on its supports, and their mixes."""

    path: LassoPath
    coefs: sp.csc_array
    intercepts: Vector
    r2: Vector  # of the refits
    has_refit: NDArray[np.bool_]

    def predict(self, predict: Callable[[sp.csc_array, Vector], Matrix], blends: Sequence[float]) -> list[Matrix]:
        """Return predictions of every blend; NaN for points that were not refitted, if a blend needs it."""
        lasso = predict(self.path.coefs, self.path.intercepts)
        if blends == (1.0,):
            return [lasso]
        squares = predict(self.coefs, self.intercepts)
        squares[:, ~self.has_refit] = np.nan
        return [lasso if blend == 1.0 else blend * lasso + (1.0 - blend) * squares for blend in blends]

    def mix(self, blend: float) -> LassoPath:
        """Return the mixes of the points with their refits, of which no gap is known; the path itself for 1.

        What a refit leaves is orthogonal to the columns of its support, so that ||y - X b||^2 of a mix is that of the
        refit and blend^2 times what the Lasso's is more.
        """
        path = self.path
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
        r2 = self.r2 - blend**2 * (self.r2 - path.r2)
        radii, gaps = np.asarray(np.abs(scaled).sum(axis=0)), np.full(len(path), np.nan)
        return replace(path, coefs=coefs, scaled_coefs=scaled, intercepts=intercepts, radii=radii, r2=r2, gaps=gaps)


def relax(data: Data, path: LassoPath, blends: Sequence[float], workers: Workers, kept: Part | None = None) -> Relaxed:
    """Return a path and its refits on a part of the samples; without blends that need them, only the path.

    A refit is least squares on the support of a point. Points have none whose support is larger than `LARGEST_SUPPORT`,
    or not smaller than the number of samples: they keep the Lasso's. If columns depend on each other, it is the
    solution with the smallest norm, for columns of norm one.
    """
    if blends == (1.0,):
        return Relaxed(path, path.coefs, path.intercepts, path.r2, np.ones(len(path), np.bool_))
    # As solvers have them: columns far from zero lose no digits, and no square of a number leaves the range of float64.
    fit_intercept, weights = bool(path.settings["fit_intercept"]), data.weights
    problem = build_problem(data.design, data.response, fit_intercept, True, workers, kept, weights=weights)
    has_refit = path.n_active <= min(LARGEST_SUPPORT, problem.n_samples - 1 - problem.centred)
    indptr, indices = path.coefs.indptr, path.coefs.indices
    supports = {k: slice(indptr[k], indptr[k + 1]) for k in np.flatnonzero(has_refit & (path.n_active > 0)).tolist()}
    weights, losses = np.zeros(indices.size), np.full(len(path), problem.yy)
    for k, (found, loss) in _refits(data.design.columns, problem, {k: indices[at] for k, at in supports.items()}):
        weights[supports[k]], losses[k] = found, loss
    coefs, intercepts = problem.transform.to_user_units(indptr, indices, weights)
    coefs = np.where(np.repeat(has_refit, path.n_active), coefs, path.coefs.data)
    intercepts = np.where(has_refit, intercepts, path.intercepts)
    r2 = np.where(has_refit, _explained(problem, path, losses), path.r2)
    return Relaxed(path, sp.csc_array((coefs, indices, indptr), shape=path.coefs.shape), intercepts, r2, has_refit)


def _explained(problem: Problem, path: LassoPath, losses: Vector) -> Vector:
    """Return R2 of sums of squares, relative to the null model of the path: to columns without a penalty, if any."""
    if path.settings.get("unpenalized_columns"):
        null = np.ldexp(path.settings["null_objective"] * problem.total_weight, 2 * problem.units.y_power)
        return np.asarray(1.0 - 0.5 * losses / null)
    return np.asarray(0.5 * (problem.yy - losses) / problem.null_loss)


def _refits(
    columns: Columns, problem: Problem, supports: dict[int, Indices]
) -> Iterator[tuple[int, tuple[Vector, float]]]:
    """Yield the coefficients of z_j by least squares on every support, and their ||y - Z w||^2."""
    used, total = _union(supports.values()), problem.total_weight
    gram = np.empty((used.size, used.size))
    _fill_gram(problem.X, used, problem.centred, np.empty_like(problem.y), gram)
    unsafe = {}
    for k, support in supports.items():
        at = np.searchsorted(used, support)
        found = _solve(gram[np.ix_(at, at)] / total, problem.xty[support] / total)
        if found is None:
            unsafe[k] = support
        else:
            yield k, (found, problem.yy - float(found @ problem.xty[support]))
    if unsafe:
        used = _union(unsafe.values())
        triangle = _triangle(columns, problem, used)
        for k, support in unsafe.items():
            left, right = triangle[:, np.searchsorted(used, support)], triangle[:, -1]
            found = scipy.linalg.lstsq(left, right, _RANK_TOL, lapack_driver="gelsy")[0]
            yield k, (found, float(np.sum((right - left @ found) ** 2)))


def _union(supports: Iterable[Indices]) -> Indices:
    """Return the columns of some supports, in order."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *supports]))


def _solve(cosines: Matrix, xty: Vector) -> Vector | None:
    """Solve the normal equations; None where the columns nearly depend on each other."""
    try:
        factor = scipy.linalg.cho_factor(cosines, lower=True)
    except np.linalg.LinAlgError:
        return None
    return scipy.linalg.cho_solve(factor, xty) if factor[0].diagonal().min() > _LEAST_PIVOT else None


@kernel
def _fill_gram(X: Columns, used: Indices, centred: bool, v: Vector, gram: Matrix) -> None:
    """Fill z_i'z_j; v is room for a vector over samples."""
    for i in range(used.size):
        v[:] = 0.0
        add_column(X, used[i], 1.0, v)
        center(samples(X), v)
        if centred:  # what rounding has left of the mean
            v[-1] = np.sum(v)
            center(samples(X), v)
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot_column(X, used[j], v)


def _triangle(columns: Columns, problem: Problem, used: Indices) -> Matrix:
    """Return R of the decomposition Q R of some columns z_j and y, block of rows by block of rows.

    With weights both are multiplied by their roots.
    """
    X, n_rows = problem.X, max(2 * used.size, _BLOCK // (used.size + 1))
    origins, means, factors = (values[used, np.newaxis] for values in (origins_of(X), X.means, X.factors))
    rows, y = rows_there(problem.samples), to_root(problem.samples, problem.y)
    found: Matrix = np.empty((0, used.size + 1))
    for lo in range(0, rows.size, n_rows):
        part = rows[lo : lo + n_rows]
        block = np.empty((used.size + 1, part.size))
        gather(columns, used, part, block[:-1])
        block[:-1] = ((block[:-1] - origins) - means) * factors
        if isinstance(problem.samples, Weights):
            block[:-1] *= problem.samples.roots[part]
        block[-1] = y[part]
        found = np.linalg.qr(np.vstack([found, block.T]), mode="r")  # type: ignore[assignment]
    return found

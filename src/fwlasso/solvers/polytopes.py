"""Frank-Wolfe with sampled vertices on the simplex and on products of simplices: min f(u) = 1/2 ||X u||^2 - c'u.

The columns of X are the vertices of a polytope. Without c, its point of least norm is looked for: that of the Lasso
over a ball of l1 norm delta has the columns +-delta z_j - y (Jaggi, 2014), that of an L2-SVM its samples.

**One simplex** is a face of the ball ||u||_1 <= 1. On that face -K 1'u is constant; on the ball it draws the solution
there, if K is so large that no correlation is negative. So the solvers of the ball are those of the simplex, on a
problem whose z_j'y is c_j + K: they choose the vertices of Frank-Wolfe on the simplex, and take its steps.

**Several simplices**, one for each block of columns: a step draws a block at random, looks at its vertices or a sample
of them, and changes u within it (block-coordinate Frank-Wolfe: Lacoste-Julien, Jaggi, Schmidt and Pletscher, 2013).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import iterate as iterates
from .._core.columns import Vector, read_only, shape
from .._core.iterate import Iterate, refresh
from .._core.moments import rounding_bound as gamma
from .._core.penalties import L1Ball
from .._core.problem import Problem
from .._core.threads import Workers, resolve_threads
from ..data.checks import as_random_state, check, is_count
from ..data.design import as_design
from ..problem.build import build_problem
from ..problem.certificate import Claim, examine, prove, residual
from ..problem.points import MOSTLY_ROUNDING
from ..status import Status
from .away_steps import AwayFrankWolfe, away_step, pairwise_step
from .block_frank_wolfe import BlockFrankWolfe
from .correlations import correlations
from .frank_wolfe import FrankWolfe
from .protocol import Burst, StepSolver, Stopping
from .sample_size import SampleSize, as_sample_size

Indices = NDArray[np.int64]

_SOLVERS = ("sfw", "fw", "afw", "pfw")


class OnSimplices(NamedTuple):
    """A point of a simplex or of a product of simplices, and how exact it is.

    Parameters
    ----------
    u : array of shape (p,)
        Its coordinates: none is negative, and those of every simplex sum to one but for rounding.
    value : float
        1/2 ||X u||^2 - c'u.
    gap : float
        The duality gap over all vertices: `value` is above the minimum by no more. Rounding is in it.
    status : Status
        `CERTIFIED`, or what ended the work before.
    n_iter, n_dots : int
        Steps, and dot products with columns of X; with those that proved the gap.
    """

    u: Vector
    value: float
    gap: float
    status: Status
    n_iter: int
    n_dots: int

    def __repr__(self) -> str:
        return (
            f"<OnSimplices: value {self.value:.6g}, gap {self.gap:.2g}, {self.status.value}, "
            f"{np.count_nonzero(self.u):,} of {self.u.size:,} vertices, {self.n_iter:,} steps>"
        )


def minimise_on_simplices(
    X: Any,
    c: Any = None,
    *,
    sizes: Any = None,
    solver: str = "sfw",
    sample_size: Any = None,
    tol: float = 1e-3,
    max_iter: int = 1_000_000,
    random_state: Any = None,
    n_threads: int | None = None,
) -> OnSimplices:
    """Minimise 1/2 ||X u||^2 - c'u over u >= 0 that sums to one, or whose blocks do.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, p)
        Its columns are the vertices. Column-major arrays and CSC matrices are not copied.
    c : array of shape (p,), optional
        The linear term. Least squares to b has c = X'b, and the point of least norm has none.
    sizes : sequence of int, optional
        How many columns every simplex has, one block of neighbours after the other; by default, one has all.
    solver : {"sfw", "fw", "afw", "pfw"}
        Steps to the best of a sample of the vertices, or of all; on one simplex also away or pairwise steps, which
        converge faster. On several simplices a step draws one of them, and looks at its vertices alone.
    sample_size : int, float, rule or None
        Vertices that a step looks at, as in `lasso_path`: a hundredth, or at least 194, for "sfw" by default, and all
        for "afw" and "pfw".
    tol : float
        The work is done when the duality gap over all vertices is at most `tol` times the modulus of the objective. A
        minimum of zero has no such gap.
    max_iter : int
        Steps.
    random_state : int, RandomState or None
        Of the draws.
    n_threads : int or None
        Threads for scans of large data; by default all cores. The result is the same for any number of them.

    Returns
    -------
    OnSimplices

    Examples
    --------
    The point of a triangle that is closest to zero:

    >>> import numpy as np
    >>> from fwlasso.solvers.polytopes import minimise_on_simplices
    >>> found = minimise_on_simplices(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 3.0]]), solver="pfw")
    >>> found.u, found.value, found.status.value
    (array([0.5, 0.5, 0. ]), 0.25, 'certified')

    Two blocks: u_0 + u_1 = 1 and u_2 + u_3 = 1.

    >>> X = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    >>> minimise_on_simplices(X, [0.5, 0.0, 2.0, 0.0], sizes=[2, 2], random_state=0).u
    array([0.625, 0.375, 1.   , 0.   ])
    """
    check("solver", solver, solver in _SOLVERS, f"one of {', '.join(_SOLVERS)}")
    check("tol", tol, isinstance(tol, float | int) and 0.0 < tol < math.inf, "a positive number")
    check("max_iter", max_iter, is_count(max_iter), "an integer >= 1")
    check("n_threads", n_threads, n_threads is None or is_count(n_threads), "an integer >= 1 or None")
    rule = None
    if solver == "sfw" or (solver != "fw" and sample_size is not None):
        rule = as_sample_size(sample_size)
    try:
        seed = int(as_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise ValueError(f"random_state: {error}") from None
    with Workers(resolve_threads(n_threads)) as workers:
        design = as_design(X, workers)
        p = int(shape(design.columns)[1])
        linear, blocks = _as_linear(c, p), _as_sizes(sizes, p)
        n = blocks.size
        check("solver", solver, n == 1 or solver in ("sfw", "fw"), "sfw or fw for several simplices")
        problem = build_problem(design, np.zeros(design.n_samples), False, False, workers)
        if problem.units.x_power != 0:
            raise ValueError("X: the squares of its numbers are out of the range of float64. Scale them")
        # |c_j - z_j'X u| is at most half of K, wherever u is in the ball.
        K = 2.0 * (float(np.max(np.abs(linear))) + problem.largest**2) if n == 1 else 0.0
        problem = problem._replace(xty=read_only(linear + K))
        steps: StepSolver = BlockFrankWolfe(blocks, rule, seed) if n > 1 else _on_one(solver, rule, seed)
        # In every simplex, the vertex that is the lowest by itself.
        starts = np.cumsum(blocks) - blocks
        by_height = np.lexsort((0.5 * problem.norms2 - linear, np.repeat(np.arange(n), blocks)))
        start = iterates.at(problem, by_height[starts], np.ones(n))
        whole = Burst(problem, L1Ball(float(n)), Stopping(), max_iter, workers)
        return _solve(steps, whole, start, tol, linear, starts)


def _on_one(solver: str, rule: SampleSize | None, seed: int) -> StepSolver:
    if solver in ("sfw", "fw"):
        return FrankWolfe(rule, None, seed)
    return AwayFrankWolfe(away_step if solver == "afw" else pairwise_step, rule, None, seed)


def _as_linear(c: Any, p: int) -> Vector:
    linear = np.zeros(p) if c is None else np.asarray(c, np.float64)
    if linear.shape != (p,) or not np.isfinite(linear).all():
        raise ValueError(f"c must be {p} finite numbers, one for each column of X, got shape {linear.shape}")
    return linear


def _as_sizes(sizes: Any, p: int) -> Indices:
    blocks = np.asarray([p] if sizes is None else sizes)
    if blocks.ndim != 1 or blocks.dtype.kind not in "iu" or not (blocks >= 1).all() or blocks.sum() != p:
        raise ValueError(f"sizes must be integers >= 1 that sum to the {p} columns of X, got {sizes!r}")
    return blocks.astype(np.int64)


def _solve(solver: StepSolver, whole: Burst, iterate: Iterate, tol: float, c: Vector, starts: Indices) -> OnSimplices:
    """Take bursts of steps until the gap, proved after each, is at most `tol` times the objective."""
    problem, _, _, max_iter, workers = whole
    p = c.size
    n_iter = n_dots = 0
    status, aim = None, -math.inf
    while True:
        iterate = refresh(problem, iterate)
        columns, coefs = iterate.coefs()
        value = float(0.5 * iterate.qq - np.sum(c[columns] * coefs))
        gap, rounding = _certify(problem, c, starts, iterate, workers)
        n_dots += p
        if status is Status.CERTIFIED and gap <= 2.0 * aim:
            status = None  # the solver is right, but the objective has fallen since
        if gap <= tol * abs(value):
            status = Status.CERTIFIED
        elif status is not None:  # no descent, or a gap that is refuted
            status = Status.PRECISION if gap <= MOSTLY_ROUNDING * rounding else Status.STALLED
        elif n_iter >= max_iter:
            status = Status.MAX_ITER
        if status is not None:
            u = np.zeros(p)
            u[columns] = coefs
            return OnSimplices(u, value, gap, status, n_iter, n_dots)
        n_columns = solver.columns_per_step(problem, iterate)
        # The gap of a sample proves nothing. A proof looks at all columns, and so do the steps between two of them.
        aim, n_steps = (-math.inf, math.ceil(p / n_columns)) if n_columns < p else (0.5 * tol * abs(value), max_iter)
        burst = whole._replace(stopping=Stopping(gap=aim), max_steps=min(n_steps, max_iter - n_iter))
        done = solver.advance(burst, iterate)
        iterate, status = done.iterate, done.status
        n_iter += done.n_iter
        n_dots += done.n_dots


def _certify(problem: Problem, c: Vector, starts: Indices, iterate: Iterate, workers: Workers) -> Claim:
    """Return the gap that is proved for a point: the sum of max_j c_j - z_j'q over the simplices, plus q'q - c'u.

    With y = 0 it is that of the ball of radius n for n simplices, the mean of their maxima in the place of ||X'r||_inf,
    and c'u in that of y'r. The rounding of what c has added to both is taken off the latter.
    """
    columns, coefs = iterate.coefs()
    n = starts.size
    corrs, _ = correlations(problem._replace(xty=read_only(c)), iterate, workers)
    best = float(np.sum(np.maximum.reduceat(corrs, starts)))
    known = examine(problem, problem.sizes(columns), coefs, residual(problem, iterate), best / n)
    terms = c[columns] * coefs
    size = float(np.sum(np.abs(terms))) + n * (float(np.max(np.abs(c))) + problem.largest * known.r_size)
    cu = float(np.sum(terms))
    gap, _ = prove(problem, L1Ball(float(n)), known._replace(yr=cu - gamma(n + columns.size + 8) * size))
    return Claim(gap, gap - max(0.0, best + known.rr - cu))

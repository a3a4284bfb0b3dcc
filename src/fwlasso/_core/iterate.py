"""What moves: the solution so far, as a list of active columns and their fitted values.

A ridge 1/2 sum mu_j a_j^2 makes the columns longer by rows of their own: z_j has sqrt(mu_j) in one that is zero for y
and for all others. Then z_j'y stays, z_j'z_j is larger by mu_j, S = q'q by sum mu_j a_j^2, and z_j'(y - q) smaller by
mu_j a_j; the rows themselves are nowhere. `less_ridge` is that product, `correlation` the one without these rows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Vector, add_column, dot_column, samples
from .costs import Cost, curvature, has_ridge, minimise_1d
from .jit import kernel, part_of_kernel
from .penalties import Sums
from .problem import Problem
from .samples import center, total_weight


class Iterate(NamedTuple):
    """A point a and q = X a, both lazily scaled, so that the Frank-Wolfe shrink is one multiplication.

    The arrays are written in place; the numbers are replaced with every step, by a new Iterate.
    """

    active: NDArray[np.int64]  # columns, the first n_active of them in use
    unscaled: Vector  # a[active] = scale * unscaled
    fitted: Vector  # q = scale * fitted, a sample vector
    n_active: int
    scale: float
    qq: float  # S = q'q, with the rows of a ridge
    qy: float  # F = q'y
    l1: float  # ||a||_1
    age: int  # steps since q, S and F were last computed from a

    def coefs(self) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient, in increasing order, and the coefficients."""
        columns, coefs = self.active[: self.n_active], self.scale * self.unscaled[: self.n_active]
        there = np.argsort(columns)
        there = there[coefs[there] != 0.0]
        return columns[there], coefs[there]

    def with_room(self, n_more: int) -> "Iterate":
        """Return the same point with room for `n_more` further columns."""
        room = self.n_active + n_more - self.active.size
        if room <= 0:
            return self
        room += self.active.size  # double: steps stay cheap on average
        return self._replace(
            active=np.concatenate([self.active, np.empty(room, np.int64)]),
            unscaled=np.concatenate([self.unscaled, np.empty(room)]),
        )


class StepInfo(NamedTuple):
    """What a step of Frank-Wolfe tells of itself."""

    change: float  # largest change of a coefficient
    gap: float  # duality gap before the step, over the columns looked at
    n_dots: int
    n_idle: int  # draws in a row without descent
    done: bool
    shrink: float  # it went to shrink a + push e_j
    push: float


# q, S and F are computed again after this many recursive updates, or when the constant part of q is this large.
_REFRESH_EVERY, _LARGEST_CONSTANT = 1000, 1e6
# A lazily scaled vector is folded long before the scale leaves the range of float64.
_SMALLEST_SCALE = 1e-100


def zero(problem: Problem) -> Iterate:
    """Return a = 0."""
    return _unmoved(np.empty(16, np.int64), np.empty(16), problem.y.size, 0)


def at(problem: Problem, columns: NDArray[np.int64], coefs: Vector) -> Iterate:
    """Return the point with these coefficients; q, S and F follow from them."""
    active, unscaled = np.concatenate([columns, np.empty(16, np.int64)]), np.concatenate([coefs, np.empty(16)])
    return refresh(problem, _unmoved(active, unscaled, problem.y.size, columns.size))  # type: ignore[no-any-return]


def _unmoved(active: NDArray[np.int64], unscaled: Vector, size: int, n_active: int) -> Iterate:
    """Return a point whose fitted values and numbers are not computed yet."""
    zeros = np.zeros(size)
    return Iterate(active, unscaled, zeros, n_active, scale=1.0, qq=0.0, qy=0.0, l1=0.0, age=0)


@kernel
def sums_at(yy: float, iterate: Iterate) -> Sums:
    """Return what the objective and its gap are functions of."""
    return Sums(yy, iterate.qq, iterate.qy, iterate.l1)


def objective(problem: Problem, iterate: Iterate) -> float:
    """Return 1/2 ||y - q||^2 = 1/2 y'y + 1/2 S - F."""
    return 0.5 * problem.yy + 0.5 * iterate.qq - iterate.qy


@kernel
def correlation(problem: Problem, iterate: Iterate, j: int) -> float:
    """Return z_j'(y - q), from the stored z_j'y: y itself is not touched."""
    return problem.xty[j] - iterate.scale * dot_column(problem.X, j, iterate.fitted)  # type: ignore[no-any-return]


@kernel
def less_ridge(problem: Problem, iterate: Iterate, j: int, corr: float) -> float:
    """Return z_j'(y - q) - mu_j a_j, given z_j'(y - q)."""
    if has_ridge(problem.cost):
        for k in range(iterate.n_active):
            if iterate.active[k] == j:
                return less_ridge_at(problem, iterate, k, corr)  # type: ignore[no-any-return]
    return corr


@part_of_kernel
def less_ridge_at(problem: Problem, iterate: Iterate, k: int, corr: float) -> float:
    """Return `less_ridge` of the k-th active column."""
    if has_ridge(problem.cost):
        return float(corr - curvature(problem.cost, 0.0, iterate.active[k]) * iterate.scale * iterate.unscaled[k])
    return corr


@part_of_kernel
def norm2_with_ridge(cost: Cost, norms2: Vector, j: int) -> float:
    """Return z_j'z_j + mu_j."""
    return float(norms2[j] + curvature(cost, 0.0, j) if has_ridge(cost) else norms2[j])


@kernel
def steepest_ridge(problem: Problem, iterate: Iterate) -> float:
    """Return the largest mu_j |a_j|: `less_ridge` takes no more off."""
    largest = 0.0
    if has_ridge(problem.cost):
        for k in range(iterate.n_active):
            largest = max(largest, abs(less_ridge_at(problem, iterate, k, 0.0)))
    return largest


@kernel
def move(problem: Problem, iterate: Iterate, j: int, corr: float, shrink: float, push: float) -> tuple[Iterate, float]:
    """Go to shrink a + push e_j, where `corr` is z_j'(y - q), less its ridge.

    Return it and the largest change of a coefficient. S <- shrink^2 S + 2 shrink push z'q + push^2 z'z and
    F <- shrink F + push z'y.
    """
    active, unscaled, fitted = iterate.active, iterate.unscaled, iterate.fitted
    n, scale = iterate.n_active, iterate.scale
    where = n
    largest = 0.0  # of the other coefficients
    for k in range(n):
        if active[k] == j:
            where = k
        else:
            largest = max(largest, abs(unscaled[k]))
    before = scale * unscaled[where] if where < n else 0.0
    change = max(abs(1.0 - shrink) * abs(scale) * largest, abs((shrink - 1.0) * before + push))

    scale *= shrink
    if scale < _SMALLEST_SCALE or scale > 1.0 / _SMALLEST_SCALE:
        # Loops: array expressions would take three times as long to compile.
        for i in range(fitted.size):
            fitted[i] *= scale
        for k in range(n):
            unscaled[k] *= scale
        scale = 1.0
    if where == n:
        active[n] = j
        unscaled[n] = 0.0
        n += 1
    unscaled[where] += push / scale
    add_column(problem.X, j, push / scale, fitted)

    l1 = 0.0
    kept = 0
    for k in range(n):
        if unscaled[k] != 0.0:
            active[kept] = active[k]
            unscaled[kept] = unscaled[k]
            l1 += abs(unscaled[k])
            kept += 1
    norm2 = norm2_with_ridge(problem.cost, problem.norms2, j)
    qq = shrink**2 * iterate.qq + 2.0 * shrink * push * (problem.xty[j] - corr) + push**2 * norm2
    qy = shrink * iterate.qy + push * problem.xty[j]
    return Iterate(active, unscaled, fitted, kept, scale, max(qq, 0.0), qy, scale * l1, iterate.age + 1), change


@part_of_kernel
def minimise_along(problem: Problem, j: int, coef: float, corr: float, lam: float, fitted: Vector) -> float:
    """Return the best coefficient of column j, and bring the fitted values q to it.

    `corr` is z_j'(y - q); the column must not be constant.
    """
    norm2 = problem.norms2[j]
    new = minimise_1d(problem.cost, lam, j, coef * norm2 + corr, norm2)
    if new != coef:
        add_column(problem.X, j, new - coef, fitted)
    return float(new)


def rescale(iterate: Iterate, factor: float) -> Iterate:
    """Return factor a; a itself where that is beyond float64."""
    qq = factor * factor * iterate.qq  # a power of Python's would raise
    if not math.isfinite(qq + factor * (abs(iterate.qy) + iterate.l1)):
        return iterate
    if factor < _SMALLEST_SCALE:
        iterate.fitted[:] = 0.0
        return iterate._replace(n_active=0, scale=1.0, qq=0.0, qy=0.0, l1=0.0)
    return iterate._replace(
        scale=factor * iterate.scale,
        qq=qq,
        qy=factor * iterate.qy,
        l1=factor * iterate.l1,
    )


@kernel
def refresh(problem: Problem, iterate: Iterate) -> Iterate:
    """Compute q, S and F again from a: thousands of recursions drift."""
    active, unscaled, fitted, n = iterate.active, iterate.unscaled, iterate.fitted, iterate.n_active
    fitted[:] = 0.0
    for k in range(n):
        unscaled[k] *= iterate.scale
        if unscaled[k] != 0.0:
            add_column(problem.X, active[k], unscaled[k], fitted)
    center(samples(problem.X), fitted)
    fresh = Iterate(active, unscaled, fitted, n, 1.0, 0.0, 0.0, 0.0, 0)
    qq, qy, l1 = inner_products(problem, fresh)
    return Iterate(active, unscaled, fitted, n, 1.0, qq, qy, l1, 0)


@kernel
def inner_products(problem: Problem, iterate: Iterate) -> tuple[float, float, float]:
    """Return S, F and ||a||_1 from a and q: S = sum a_j z_j'q and F = sum a_j z_j'y hold for every storage."""
    qq = qy = l1 = 0.0
    for k in range(iterate.n_active):
        a, j = iterate.scale * iterate.unscaled[k], iterate.active[k]
        if a != 0.0:
            qq += a * iterate.scale * dot_column(problem.X, j, iterate.fitted)
            if has_ridge(problem.cost):
                qq += curvature(problem.cost, 0.0, j) * a * a
            qy += a * problem.xty[j]
            l1 += abs(a)
    return max(qq, 0.0), qy, l1


def is_stale(problem: Problem, iterate: Iterate) -> bool:
    """Tell whether q, S and F should be computed again: after many steps, or with a large constant part in q."""
    if iterate.age >= _REFRESH_EVERY:
        return True
    total = iterate.scale * float(iterate.fitted[-1])  # 1'q, and ||mean(q) 1||^2 = (1'q)^2 / m
    return bool(total * total > _LARGEST_CONSTANT * iterate.qq * total_weight(problem.samples))

"""How exact a solution is: duality gaps over all columns, proved in float64, independent of any solver.

The gap bounds how far the objective is above its minimum. It needs M = ||X'r||_inf over all p columns, one pass over
the data for any number of residuals r.

With r as it is stored, rounding is bounded by three numbers, see docs/method/rounding.md:

- correlations are off by E = gamma(4 m + 32) largest ||r||, `largest` being the largest size f_j ||x_j - o_j|| of a
  column before it is centred;
- r itself by e = gamma(n + 12) (y_size + sum |a_k| w_k) + gamma(2 m + 8) ||r||, n active columns of sizes w_k;
- y'r and r'r by gamma(m + 8) of y_size ||r|| and ||r||^2.

A mix of points has the same mix of M, E, e and the l1 norm as a bound, since all of these are convex.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns, Vector, Vectors, column_chunks, dot_each, stack
from .._core.costs import larger, largest_pull
from .._core.iterate import Iterate, sums_at
from .._core.jit import kernel
from .._core.moments import rounding_bound as gamma
from .._core.penalties import Penalty, gap_of_products, quadratic_gap
from .._core.problem import Problem
from .._core.samples import inner, n_roundings, sample_vector
from .._core.threads import Workers

_NO_COLUMNS = np.empty(0, np.int64)


class ResidualTerms(NamedTuple):
    """What is known of a point by its residual r as it is stored."""

    rr: float  # r'r
    yr: float  # y'r
    l1: float  # ||a||_1
    error: float  # e: at least ||r - (y - X a)||, but for constants
    r_size: float  # at least ||r||: what the rounding of M is relative to
    max_corr: float  # M: ||X'r||_inf up to E, or a bound of it

    def bounded_by(self, tops: Vector) -> "ResidualTerms":
        """Return it with another bound of the correlations, see `costs.take_in`."""
        return self._replace(max_corr=float(tops[0]))

    @property
    def apart(self) -> tuple[NDArray[np.int64], float]:
        """Columns that the objective looks at itself, none, and what rounding may add to others: it is added later."""
        return _NO_COLUMNS, 0.0


class Claim(NamedTuple):
    """A duality gap that is proved, and how much of it stands for rounding."""

    gap: float
    rounding: float  # between the gap and the smallest that it may be in truth


def examine(problem: Problem, sizes: Vector, coefs: Vector, residual: Vector, max_corr: float) -> ResidualTerms:
    """Return what is known of coefficients, given their residual, a sample vector that was computed from them.

    Sizes are those of their columns, before these are centred.
    """
    m, own, magnitudes = problem.n_samples, problem.samples, np.abs(coefs)
    with np.errstate(over="ignore", invalid="ignore"):
        rr, yr = inner(own, residual, residual), inner(own, problem.y, residual)
        l1, size = float(np.add.reduce(magnitudes)), float(sizes @ magnitudes)
    r_size = math.sqrt(rr) * (1.0 + 1e-8)
    n_more = n_roundings(own)
    n_ops = coefs.size + 12 + n_more + problem.units.n_ops
    error = gamma(n_ops) * (problem.y_size + size) + gamma(2 * m + 8 + n_more) * r_size
    return ResidualTerms(rr, yr, l1, error, r_size, max_corr)


def is_null(problem: Problem) -> bool:
    """Tell whether a = 0 solves every lambda: with all rounding, no column is pulled to where it may go."""
    known = examine(problem, np.empty(0), np.empty(0), problem.y, 0.0)
    blur = corr_error(problem, known) + problem.largest * known.error
    return all(largest_pull(problem.cost, problem.xty + off) == 0.0 for off in (blur, -blur))


def proved_gap(problem: Problem, penalty: Penalty, known: ResidualTerms) -> float:
    """Return the duality gap that is proved for a point.

    It is never below zero. Of a point that is not finite nothing is known: its gap is infinite. Coefficients have a
    residual r + d, ||d|| <= e: that moves correlations by `largest` e, r'r by 2 ||r|| e + e^2, y'r by ||y|| e, and q'r
    by (q - r)'d, where ||q|| is at most l1 times `largest`.
    """
    # No record of these: a path asks for some hundred gaps, and to make one takes longer than to compute them.
    rr, yr, l1, error, r_size, max_corr = known
    blur, y_size, y_norm = gamma(problem.n_samples + 8), problem.y_size, math.sqrt(problem.yy)
    # |y'r| <= ||y|| ||r||: of what products may be off by, `blur` times the terms of the formula is a part.
    gap, terms = gap_of_products(
        penalty,
        penalty[0],
        rr + error * (2.0 * math.sqrt(rr) + error) + blur * r_size * r_size,
        yr - y_norm * error - blur * max(0.0, r_size * y_size - abs(yr)),
        yr - rr - error * (l1 * problem.largest + r_size) - blur * max(0.0, r_size * (r_size + y_size) - abs(yr - rr)),
        l1,
        max_corr + corr_error(problem, known) + problem.largest * error,
    )
    # The last factor: what the gap is relative to, y'y, is rounded, too.
    gap = (gap + blur * terms) * (1.0 + blur * (1.0 + y_size / (y_norm or 1.0)))
    return max(0.0, gap) if math.isfinite(gap + sum(known)) else math.inf


def prove(problem: Problem, penalty: Penalty, known: ResidualTerms) -> Claim:
    """Return the duality gap that is proved for a point, and how much of it is rounding."""
    gap = proved_gap(problem, penalty, known)
    if gap == math.inf:
        return Claim(gap, 0.0)
    rr, yr, l1, error, _, max_corr = known
    # In truth the residual, and with it M, may be as much smaller as rounding has moved them: zero, if it is all of M.
    least = max(0.0, max_corr - (corr_error(problem, known) + problem.largest * error))
    plain, _ = gap_of_products(penalty, penalty[0], rr, yr, yr - rr, l1, least)
    return Claim(gap, min(gap, gap - max(0.0, plain)))


def corr_error(problem: Problem, known: ResidualTerms) -> float:
    """Return E, what rounding adds to a correlation."""
    return gamma(4 * problem.n_samples + 32) * problem.largest * known.r_size


def max_correlations(X: Columns, residuals: Sequence[Vector], workers: Workers) -> Vector:
    """Return ||X'r||_inf for every one of some residuals, in one pass over the data.

    Infinite where ||r|| is not finite. Where it is, all products are, or X has changed: that is a ValueError.
    """
    together, n = stack(X, residuals), len(residuals)
    found = workers.sweep(lambda lo, hi: _max_correlations(X, together, lo, hi), column_chunks(X, n))
    largest: Vector = np.max(found, axis=0)[:n]
    refuse_altered(largest, residuals)
    known = _are_finite(residuals)
    if not known.all():
        refuse_altered_columns(X, residuals[0].size - 1, workers)
    return np.where(known, largest, np.inf)


def refuse_altered_columns(X: Columns, n_rows: int, workers: Workers) -> None:
    """Raise a ValueError if a column is not finite any more: it may be why a residual is not."""
    max_correlations(X, [sample_vector(np.ones(n_rows))], workers)


def refuse_altered(largest: Vector, residuals: Sequence[Vector]) -> None:
    """Raise a ValueError if residuals of a finite norm have correlations that are not finite.

    The first pass has found finite norms of all columns: they are no more what they were.
    """
    if not np.isfinite(largest).all() and (~np.isfinite(largest) & _are_finite(residuals)).any():
        raise altered()


def altered() -> ValueError:
    """Return the error for columns that were finite in the first pass, and are not any more."""
    what = "it contains NaN or infinity now, and did not when it was read first"
    return ValueError(f"X was altered while the path was computed: {what}")


def _are_finite(residuals: Sequence[Vector]) -> NDArray[np.bool_]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([np.isfinite(np.sum(r[:-1] ** 2)) for r in residuals])


@kernel
def _max_correlations(X: Columns, residuals: Vectors, lo: int, hi: int) -> Vector:
    largest, corrs = np.zeros(residuals.n), np.empty(residuals.n)
    for j in range(lo, hi):
        dot_each(X, j, residuals, corrs)
        for k in range(corrs.size):
            largest[k] = larger(largest[k], abs(corrs[k]))
    return largest


def residual(problem: Problem, iterate: Iterate) -> Vector:
    """Return y - q as a sample vector, with its own sum: what centring takes off is off by no more than it rounds."""
    return sample_vector(problem.y[:-1] - iterate.scale * iterate.fitted[:-1])


@np.errstate(over="ignore")
def estimate_gap(problem: Problem, penalty: Penalty, iterate: Iterate, max_corr: float) -> float:
    """Return the gap of `iterate` by its own numbers S and F, which a solver goes by: no claim, as these may drift."""
    gap = float(quadratic_gap(penalty, sums_at(problem.yy, iterate), max_corr))
    return max(0.0, gap) if math.isfinite(gap + iterate.l1 + max_corr) else math.inf

"""Least squares by its inner products, in the place of a `Problem` that reads columns, and paths on it."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Columns
from .._core.costs import Cost, clip, is_plain
from .._core.gaps import GapTerms, gap_at, magnitude_of, terms_of
from .._core.gram_targets import Targets, claim_at
from .._core.jit import kernel
from .._core.moments import Matrix, Moments, NullModel, Vector, gamma, null_model
from .._core.penalties import Penalty
from .._core.problem import Problem
from .._core.samples import Mask, Samples, Weights, as_samples, n_samples, rows_there, weight_vector
from .._core.targets import fraction_inside
from .._core.threads import Workers
from .._core.transform import Transform, Units
from .._core.weighted import weighted
from ..data.terms import PLAIN, Terms
from ..monitor import PathEnded
from ..problem.certificate import altered
from ..problem.points import NO_COUNTS, Solution, SolvedPath, SolvedPoint, Tell, solved_path
from ..problem.unpenalized import free_on_data, with_free
from ..status import Status
from .centring import Centre, moments
from .closing import sums_on_data
from .folds import constant_columns, copied_columns
from .follow import GramPath, follow_gram, rows_held, statuses_of, targets_of
from .row_sums import RowSums

# Where rounding may be more than this share of the null loss, fits are computed on the data.
_BLURRED = 1e-7


#: Makes a pass over the data for points, given their weights.
OnData: TypeAlias = Callable[[Moments, Centre, Matrix, Workers], tuple[GapTerms, Matrix]]


class GramProblem(NamedTuple):
    """Least squares on all columns by their inner products, and what leads back to the user's units."""

    moments: Moments
    centre: Centre
    n_samples: int  # of which the weight is not zero
    total_weight: float  # the sum of the weights: lambda is so many times alpha
    copies: NDArray[np.bool_]  # columns that are copies of earlier ones: they never become active
    null: NullModel
    units: Units  # those of the transform
    l1_ratio: float = 1.0  # lambda is alpha times the total weight times that
    on_data: OnData | None = None  # what proves gaps that products cannot, see `sums_on_data`
    by_columns: Callable[[Workers], Problem] | None = None  # the same problem on its columns, where points stay open

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and of features."""
        return self.n_samples, self.moments.xty.size

    @property
    def cost(self) -> Cost:
        """What coefficients cost."""
        return self.moments.cost

    @property
    def xty(self) -> Vector:
        """z_j'y."""
        return self.moments.xty

    @property
    def yy(self) -> float:
        """Y'y."""
        return self.moments.yy

    @property
    def null_loss(self) -> float:
        """1/2 y'y, the loss of b = 0; one where y is zero."""
        return self.null.loss or 1.0

    @property
    def lambda_max(self) -> float:
        """The smallest penalty with a zero solution."""
        return self.null.lam

    @property
    def largest(self) -> float:
        """At least the largest norm of a column, but for those that nothing is known of."""
        norms = self.moments.norms
        return float(norms.max(where=np.isfinite(norms), initial=0.0))

    @property
    def transform(self) -> Transform:
        """What leads from the columns of users to z_j."""
        return self.centre.transform

    def from_user_units(self, coefs: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the columns with a nonzero coefficient, and that of z_j."""
        return self.transform.from_user_units(coefs)


#: Least squares by its columns, or by their inner products.
AnyProblem: TypeAlias = Problem | GramProblem


def gram_problem(
    sums: RowSums,
    X: Columns,
    y: Vector,
    samples: Samples,
    kept: Mask | None,
    *,
    fit_intercept: bool,
    standardize: bool,
    terms: Terms = PLAIN,
    names: tuple[str, ...] | None = None,
) -> GramProblem:
    """Return the problem on all samples or on those that are kept, given the sums over these."""
    rows = rows_there(samples, kept)
    total = math.fsum(samples.values[rows]) if isinstance(samples, Weights) else float(rows.size)
    constant = constant_columns(X, y, sums, rows, fit_intercept)
    found, centre = moments(sums, fit_intercept, standardize, constant, terms=terms)
    null_loss = None
    if terms is not PLAIN:
        cost = terms.cost(centre.transform, total)
        if terms.unpenalized.size:
            there = weighted(X, as_samples(y.size, weight_vector(samples), kept))
            cost, null_loss = free_on_data(there, y, cost, centred=fit_intercept, names=names)
        found = found._replace(cost=cost)
    problem = as_problem(found, centre, rows.size, total, terms.l1_ratio)
    if null_loss is not None:
        problem = problem._replace(null=problem.null._replace(loss=null_loss * centre.y_scale**2))
    if is_plain(problem.moments.cost):  # with a ridge copies share a coefficient, with bounds they add up
        problem = problem._replace(
            copies=copied_columns(X, found.gram, rows, None if terms is PLAIN else terms.divisors)
        )
    if rows.size < n_samples(samples):
        return problem
    return problem._replace(on_data=partial(sums_on_data, X, y, samples=samples))


def as_problem(found: Moments, centre: Centre, n_samples: int, total_weight: float, l1_ratio: float) -> GramProblem:
    """Return the problem of these moments."""
    no_copies = np.zeros(found.xty.size, np.bool_)
    own = null_model(found), centre.transform.units, l1_ratio
    return GramProblem(found, centre, n_samples, total_weight, no_copies, *own)


def free_in_sums(found: Moments, cost: Cost) -> Cost:
    """Return a cost with its kappa, by the cosines of columns without a penalty; constant ones are fixed at zero.

    Each cosine is off by gamma(N) n_i n_j / (||z_i|| ||z_j||), and so are eigenvalues by the sum of those with i = j.
    """
    if is_plain(cost) or not (cost.slopes == 0.0).any():
        return cost
    free = np.flatnonzero((cost.slopes == 0.0) & (found.norms > 0.0))
    sizes = np.sqrt(found.gram.diagonal()[free])
    cosines = found.gram[np.ix_(free, free)] / sizes / sizes[:, np.newaxis]
    off = gamma(found.n_ops + 8.0 * free.size) * float(np.sum((found.norms[free] / sizes) ** 2))
    least = float(np.linalg.eigvalsh(cosines).min(initial=1.0)) - off
    if not least > 0.0:
        raise ValueError("unpenalized: columns without a penalty depend on each other, as far as sums can tell")
    return with_free(cost, free, 1.0 / math.sqrt(least))


def solve_on_gram(
    problem: GramProblem,
    penalties: Sequence[Penalty],
    goal: float,
    max_iter: int,
    workers: Workers,
    tell: Tell,
    *,
    start: tuple[NDArray[np.int64], Vector] | None = None,
) -> SolvedPath:
    """Solve points from sparse to dense to duality gaps of at most `goal`.

    A `start` that is a solution of the first point within the gap is kept as it is.
    """
    found, n_points = problem.moments, len(penalties)
    targets = targets_of(penalties, found, goal)
    if start is not None and n_points == 1:
        kept = _at(problem, targets, start[0], clip(found.cost, *start))
        if kept.gap <= goal:
            return solved_path([kept])

    def look(n_done: int) -> Status | None:
        return tell(n_done, 0, 0, math.inf, done=False) if n_done < n_points else None

    path = follow_gram(found, targets, goal, max_iter, look, problem.copies)
    if not path.statuses:  # there is always an answer
        assert path.ending is not None
        zero = _at(problem, targets, np.empty(0, np.int64), np.empty(0))
        return solved_path([zero._replace(status=path.ending)], path.ending)
    solved = _prove_on_data(problem, targets, _solved_path(path), path.answers["rounding"], goal, workers)
    numbers = np.diff(solved.indptr).tolist(), solved.counts[:, 0].tolist(), solved.gaps.tolist()
    for k, (n_active, n_iter, gap) in enumerate(zip(*numbers, strict=True)):
        ending = tell(k, n_active, n_iter, gap, done=True)
        if ending is not None and k + 1 < n_points:
            return solved.between(0, k + 1)._replace(ending=ending)
    return solved


def _solved_path(path: GramPath) -> SolvedPath:
    """Return the points with the columns that are active in them."""
    counts = np.zeros((len(path.answers), 4), np.int64)
    counts[:, 0] = path.answers["n_rounds"]
    return SolvedPath(
        indptr=path.indptr,
        columns=path.columns,
        coefs=path.coefs,
        sums=np.stack([*(path.answers[name] for name in ("qq", "qy", "l1")), np.zeros(path.answers.size)], axis=1),
        gaps=path.answers["gap"].copy(),
        counts=counts,
        statuses=path.statuses,
        ending=path.ending,
    )


def _at(problem: GramProblem, targets: Targets, columns: NDArray[np.int64], coefs: Vector) -> SolvedPoint:
    """Return some coefficients as the first point, with the gap that inner products prove."""
    found = problem.moments
    b = np.zeros(found.xty.size)
    b[columns] = coefs
    gap, qy, qr, l1 = _first_claim(targets, found, b, found.xty - b @ found.gram)
    return SolvedPoint(Solution(columns, coefs, qy - qr, qy, l1), Status.CERTIFIED, gap, *NO_COUNTS)


@kernel
def _first_claim(targets: Targets, moments: Moments, b: Vector, g: Vector) -> tuple[float, float, float, float]:
    """Return the gap of the first point, infinite outside of the ball, q'y, q'r and the l1 norm."""
    magnitude, n_active, _ = magnitude_of(moments, b)
    terms, size = terms_of(moments, b, g, magnitude, n_active), targets.values[0]
    gap, _ = gap_at(moments.cost, targets.penalty, size, terms.bound, moments, b, g, terms)
    is_inside = fraction_inside(targets.penalty, size, terms.l1) == 1.0
    return gap if is_inside else np.inf, terms.qy, terms.qr, terms.l1


@kernel
def claims(targets: Targets, moments: Moments, coefs: Matrix, corrs: Matrix, terms: Matrix) -> Matrix:
    """Return bounds of the gaps of points, and how much of them is rounding; `terms` has a row for each `GapTerms`."""
    found = np.empty((2, targets.values.size))
    for k in range(targets.values.size):
        t = terms[:, k]
        own = GapTerms(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14])
        found[0, k], found[1, k] = claim_at(targets, k, own.bound, moments, coefs[k], corrs[k], own)
    return found


def _prove_on_data(
    problem: GramProblem, targets: Targets, path: SolvedPath, roundings: Vector, goal: float, workers: Workers
) -> SolvedPath:
    """Compute points once more that rounding has blurred, with residuals on the data: one pass for many of them."""
    is_blurred = (roundings > _BLURRED * problem.null_loss).tolist()
    every = [k for k, status in enumerate(path.statuses) if status is Status.PRECISION or is_blurred[k]]
    if problem.on_data is None:
        return path
    statuses, n_together = list(path.statuses), rows_held(problem.moments.xty.size)
    for first in range(0, len(every), n_together):
        points = every[first : first + n_together]
        try:
            proved = _proved(problem, targets, path, points, goal, workers)
        except PathEnded as ended:  # of rows on other machines; all points are solved
            return path._replace(statuses=tuple(statuses), ending=ended.status)
        for k, gap, status in zip(points, *proved, strict=True):
            if gap < path.gaps[k]:
                path.gaps[k], statuses[k] = gap, status
    return path._replace(statuses=tuple(statuses))


def _proved(
    problem: GramProblem, targets: Targets, path: SolvedPath, points: list[int], goal: float, workers: Workers
) -> tuple[list[float], tuple[Status, ...]]:
    """Return the gaps of some points by residuals on the data, and their statuses; fill in their sums."""
    assert problem.on_data is not None
    weights = np.zeros((len(points), problem.moments.xty.size))
    for row, k in zip(weights, points, strict=True):
        support = slice(path.indptr[k], path.indptr[k + 1])
        row[path.columns[support]] = path.coefs[support]
    sums, corrs = problem.on_data(problem.moments, problem.centre, weights, workers)
    if not np.isfinite(sums.rr).all():  # as inner products of the same columns were
        raise altered()
    own = targets._replace(values=targets.values[points])
    gaps, roundings = claims(own, problem.moments, weights, corrs, np.array(sums))
    path.sums[points, 0] = np.maximum(0.0, sums.qy - sums.yr + sums.rr)  # r = y - q
    path.sums[points, 1] = sums.qy
    return gaps.tolist(), statuses_of(gaps, roundings, False, goal)

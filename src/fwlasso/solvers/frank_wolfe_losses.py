"""Frank-Wolfe for losses that are no squares: the same draws and stopping rules, and a step that is proved to descend.

At b with eta = X b + b0, theta = -F'(eta) and H = F''(eta), a step goes along d = X ((shrink - 1) b + push e_j) + g 1,
the step of the quadratic model with the constant g that belongs to it. With slope = theta'd less what the penalty rises
by, q = d'Hd and delta the reach of d,

    F(eta + t d) - F(eta) <= -t theta'd + q (e^(t delta) - t delta - 1) / delta^2,

which is least at t = log(1 + slope delta / q) / delta; where F'' <= L, -t theta'd + L/2 t^2 ||d||^2 is a bound, too,
and the t that promises more is taken. The paper's variant repeats that along d until it stands still: the exact search.
One or two Newton steps of at most one see to the intercept, which descend as well.
"""

from typing import NamedTuple

import numpy as np

from .._core.columns import Vector, add_column, samples
from .._core.costs import pull
from .._core.draws import Sampler, draw, round_length
from .._core.iterate import Iterate, StepInfo, move
from .._core.jit import by_type, kernel
from .._core.losses import add_best_constant, fenchel, fill_slopes, reach, smoothness
from .._core.oracle import parallel_scan, scan, scan_active
from .._core.penalties import L1, L1Ball, Penalty, Sums, quadratic_gap, quadratic_step, warm_scale
from .._core.problem import Problem
from .._core.samples import total_weight
from .._core.threads import n_chunks
from .frank_wolfe import VARIANTS, FrankWolfe, Sizes, Variant
from .protocol import Advance, Burst, Stopping
from .sample_size import SampleSize

# The best constant has so many digits at the beginning of a burst; after a step it is moved by so many Newton steps, or
# until they are short.
_EXACT, _SETTLED, _MOST_NEWTON = 1e-12, 1e-6, 2
# Steps of an exact search, which ends with one that is so short; of the search for a warm start, which is rough.
_MOST_SEARCHES, _SHORT, _WARM_SEARCHES = 60, 1e-9, 8


class Slopes(NamedTuple):
    """A loss at a point, in arrays that are written in place."""

    eta: Vector  # the linear predictor, by sample
    theta: Vector
    curvatures: Vector
    fitted: Vector  # y - theta, a sample vector: columns are correlated with theta as with the residual of a square
    column: Vector  # z_j, a sample vector
    d: Vector  # the direction, by sample


class Model(NamedTuple):
    """The quadratic model along a point and a column: of products in the metric of the curvatures, less constants."""

    sums: Sums  # b'X'HX b, that plus theta'X b, and the l1 norm
    cross: float  # z'HX b + z'theta
    norm2: float  # z'Hz
    product: float  # z'X b in the metric of the weights
    means: tuple[float, float]  # the constants of X b and z


class FrankWolfeOfLosses(FrankWolfe):
    """Frank-Wolfe with a sampled oracle, for a loss that is no square."""

    _at: Slopes | None = None

    def __init__(
        self, sample_size: SampleSize | None, block_size: int | None, seed: int, variant: Variant = VARIANTS["default"]
    ) -> None:
        super().__init__(sample_size, block_size, seed, variant._replace(covariance_bytes=0))  # H changes

    def advance(self, burst: Burst, iterate: Iterate) -> Advance:
        """Take steps as `FrankWolfe` does; the first of a point scales it as far out as the objective falls."""
        if burst.penalty != self._penalty and not self._variant.always_scaled and iterate.l1 > 0.0:
            at, g = self._look(burst.problem, iterate)
            iterate, _ = _scale_out(burst.problem, burst.penalty, iterate, at, g)
        return super().advance(burst, iterate)

    def _look(self, problem: Problem, iterate: Iterate) -> tuple[Slopes, float]:
        """Return the slopes at a point with its best constant."""
        m = problem.y.size - 1
        if self._at is None:
            self._at = Slopes(*map(np.zeros, (m, m, m, m + 1, m + 1, m)))
        _fill_predictor(problem, iterate, self._at, 0.0)
        g = float(add_best_constant(problem.loss, self._at.eta, _EXACT)) if problem.centred else 0.0
        return self._at, float(_fill(problem, self._at, g))

    def _take_steps(
        self, burst: Burst, iterate: Iterate, n_idle: int, fewest: int
    ) -> tuple[Iterate, StepInfo, int, int]:
        problem, penalty, stopping, max_steps, workers = burst
        n_sampled, sampler, variant = self.columns_per_step(problem, iterate), self._sampler, self._variant
        assert sampler is not None
        n_searches = _MOST_SEARCHES if variant.always_scaled else 1
        at, g = self._look(problem, iterate)
        n_bytes = self._bytes_per_column * n_sampled
        if n_chunks(n_bytes) == 1:
            sizes = Sizes(self._sizes, fewest, n_sampled)
            taken: tuple[Iterate, StepInfo, int, int] = _burst(
                problem, penalty, iterate, at, g, sampler, sizes, stopping, variant, n_searches, n_idle, max_steps
            )
            return taken
        n_blocks = draw(sampler, n_sampled, min(n_idle, variant.longest_round))
        j, corr = parallel_scan(problem, _as_residual(iterate, at), sampler, n_blocks, n_bytes, workers)
        iterate, step, _ = _take_step(
            problem, penalty, iterate, at, g, j, corr, n_sampled, n_idle, stopping, variant, n_searches
        )
        return iterate, step, 1, n_sampled + step.n_dots


@kernel
def _burst(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    at: Slopes,
    g: float,
    sampler: Sampler,
    sizes: Sizes,
    stopping: Stopping,
    variant: Variant,
    n_searches: int,
    n_idle: int,
    n_steps: int,
) -> tuple[Iterate, StepInfo, int, int]:
    """Take up to `n_steps` steps as `frank_wolfe._burst` does."""
    step = StepInfo(np.inf, np.inf, 0, n_idle, False, 1.0, 0.0)
    n_dots = taken = 0
    n_sampled = sizes.of_active[iterate.n_active]
    while taken < n_steps and not step.done and sizes.fewest <= n_sampled <= sizes.most:
        n_blocks = draw(sampler, n_sampled, min(step.n_idle, variant.longest_round))
        j, corr = scan(problem, _as_residual(iterate, at), sampler, 0, n_blocks)
        iterate, step, g = _take_step(
            problem, penalty, iterate, at, g, j, corr, n_sampled, step.n_idle, stopping, variant, n_searches
        )
        n_dots += n_sampled + step.n_dots
        taken += 1
        n_sampled = sizes.of_active[iterate.n_active]
    return iterate, step, taken, n_dots


@kernel
def _as_residual(iterate: Iterate, at: Slopes) -> Iterate:
    """Return the point with fitted values for which the slopes are the residual."""
    active, unscaled, _, n_active, _, qq, qy, l1, age = iterate
    return Iterate(active, unscaled, at.fitted, n_active, 1.0, qq, qy, l1, age)


@kernel
def _fill_predictor(problem: Problem, iterate: Iterate, at: Slopes, g: float) -> None:
    """Fill eta = X b + g 1."""
    weights, scale = problem.loss.weights, iterate.scale
    constant = scale * iterate.fitted[-1] / total_weight(samples(problem.X)) - g
    for i in range(weights.size):
        at.eta[i] = scale * iterate.fitted[i] / weights[i] - constant if weights[i] > 0.0 else 0.0


@kernel
def _fill(problem: Problem, at: Slopes, g: float) -> float:
    """Fill the slopes at eta, move its constant g to where they add up to about zero, and return that."""
    loss = problem.loss
    slopes, bends = fill_slopes(loss, at.eta, at.theta, at.curvatures)
    for _ in range(_MOST_NEWTON if problem.centred else 0):
        step = max(-1.0, min(1.0, slopes / bends)) if bends > 0.0 else 0.0
        if not abs(step) > _SETTLED:
            break
        for i in range(at.eta.size):
            at.eta[i] += step
        g += step
        slopes, bends = fill_slopes(loss, at.eta, at.theta, at.curvatures)
    for i in range(at.theta.size):
        at.fitted[i] = problem.y[i] - at.theta[i]
    at.fitted[-1] = problem.y[-1] - slopes
    return g


@kernel
def _take_step(
    problem: Problem,
    penalty: Penalty,
    iterate: Iterate,
    at: Slopes,
    g: float,
    j: int,
    corr: float,
    n_sampled: int,
    n_idle: int,
    stopping: Stopping,
    variant: Variant,
    n_searches: int,
) -> tuple[Iterate, StepInfo, float]:
    """Step towards column j, the best of a sample, as `frank_wolfe.take_step` does; return the constant as well."""
    n_dots = 0
    model, shrink, push = _search(problem, penalty, iterate, at, j, corr)
    if shrink == 1.0 and push == 0.0 and 0 < iterate.n_active <= variant.most_looked_at:
        active_j, active_corr = scan_active(problem, _as_residual(iterate, at))
        n_dots = iterate.n_active
        if not pull(problem.cost, active_j, active_corr) <= pull(problem.cost, j, corr):
            j, corr = active_j, active_corr
            model, shrink, push = _search(problem, penalty, iterate, at, j, corr)
    gap = _gap_told(penalty, problem, at, model.sums, pull(problem.cost, j, corr))
    if gap <= stopping.gap:
        return iterate, StepInfo(0.0, gap, n_dots, n_idle, True, 1.0, 0.0), g
    t = 0.0
    if shrink != 1.0 or push != 0.0:
        constant = _fill_direction(problem, iterate, at, model, shrink, push)
        t = _length(problem, penalty, iterate.l1, at, shrink, push, n_searches)
    if t == 0.0:
        n_round = round_length(problem.xty.size, n_sampled)
        is_round = n_round <= variant.longest_round and n_idle + 1 >= n_round
        done = is_round or n_idle + 1 >= stopping.max_idle
        return iterate, StepInfo(0.0, gap, n_dots, n_idle + 1, done, 1.0, 0.0), g
    shrink, push = 1.0 + t * (shrink - 1.0), t * push
    iterate, change = move(problem, iterate, j, problem.xty[j] - model.product, shrink, push)
    _fill_predictor(problem, iterate, at, g + t * constant)
    g = _fill(problem, at, g + t * constant)
    return iterate, StepInfo(change, gap, n_dots, 0, change <= stopping.change, shrink, push), g


@kernel
def _search(
    problem: Problem, penalty: Penalty, iterate: Iterate, at: Slopes, j: int, corr: float
) -> tuple[Model, float, float]:
    """Return the model along column j, and its best shrink and push; (1, 0), no descent, where it is not finite."""
    at.column[:] = 0.0
    add_column(problem.X, j, 1.0, at.column)
    model = _model(problem, iterate, at, corr)
    sums = model.sums
    shrink, push = quadratic_step(penalty, sums, corr, model.cross, model.norm2)
    push = push if corr != 0.0 or problem.norms2[j] > 0.0 else 0.0
    is_finite = np.isfinite(sums.qq + sums.qy + sums.l1 + corr + shrink + push)
    return (model, shrink, push) if is_finite else (model, 1.0, 0.0)


@kernel
def _model(problem: Problem, iterate: Iterate, at: Slopes, corr: float) -> Model:
    """Return the quadratic model along the column that is filled in."""
    weights, scale, total = problem.loss.weights, iterate.scale, total_weight(samples(problem.X))
    of_point, of_column = scale * iterate.fitted[-1] / total, at.column[-1] / total
    qq = zz = qz = hq = hz = bends = slope = product = 0.0
    for i in range(weights.size):
        w = weights[i]
        if w > 0.0:
            q, z, h = scale * iterate.fitted[i] / w - of_point, at.column[i] / w - of_column, at.curvatures[i]
            qq += h * q * q
            zz += h * z * z
            qz += h * q * z
            hq += h * q
            hz += h * z
            bends += h
            slope += at.theta[i] * q
            product += w * q * z
    means = (0.0, 0.0)
    if problem.centred and bends > 0.0:
        means = (hq / bends, hz / bends)
        qq, zz, qz = max(0.0, qq - hq * means[0]), max(0.0, zz - hz * means[1]), qz - hq * means[1]
    return Model(Sums(0.0, qq, qq + slope, iterate.l1), qz + corr, zz, product, means)


@kernel
def _fill_direction(problem: Problem, iterate: Iterate, at: Slopes, model: Model, shrink: float, push: float) -> float:
    """Fill in d, and return its constant."""
    weights, kept, total = problem.loss.weights, (shrink - 1.0) * iterate.scale, total_weight(samples(problem.X))
    constant = -((shrink - 1.0) * model.means[0] + push * model.means[1])
    less = (kept * iterate.fitted[-1] + push * at.column[-1]) / total - constant
    for i in range(weights.size):
        at.d[i] = (kept * iterate.fitted[i] + push * at.column[i]) / weights[i] - less if weights[i] > 0.0 else 0.0
    return constant


@kernel
def _length(
    problem: Problem, penalty: Penalty, l1: float, at: Slopes, shrink: float, push: float, n_searches: int
) -> float:
    """Return how far to go along d, at most once its length; slopes and eta are spoilt by more than one search."""
    loss, d = problem.loss, at.d
    delta, rise, t = reach(loss, d), _rise(penalty, l1, shrink, push), 0.0
    for k in range(n_searches):
        slope, bend, size = -rise, 0.0, 0.0
        for i in range(d.size):
            slope += at.theta[i] * d[i]
            bend += at.curvatures[i] * d[i] * d[i]
            size += loss.weights[i] * d[i] * d[i]
        step = _safe_step(slope, bend, delta, smoothness(loss) * size, 1.0 - t)
        t += step
        if not (step > _SHORT * t and t < 1.0 and k + 1 < n_searches):
            break
        for i in range(d.size):
            at.eta[i] += step * d[i]
        fill_slopes(loss, at.eta, at.theta, at.curvatures)
    return t


@kernel
def _safe_step(slope: float, bend: float, delta: float, most_bend: float, most: float) -> float:
    """Return the step, at most `most`, that brings the most descent for sure; 0: none does."""
    if not slope > 0.0:
        return 0.0
    best = promised = 0.0
    if bend > 0.0:
        x = slope * delta / bend
        t = min(most, slope / bend * (np.log1p(x) / x if x > 1e-8 else 1.0))
        u = t * delta
        share = (np.expm1(u) - u) / (u * u) if u > 1e-3 else 0.5 + u * (1.0 / 6.0 + u / 24.0)
        best, promised = t, t * slope - bend * t * t * share
    if 0.0 < most_bend < np.inf:
        t = min(most, slope / most_bend)
        if t * slope - 0.5 * most_bend * t * t > promised:
            return t
    return best if promised > 0.0 else 0.0


@kernel
def _scale_out(problem: Problem, penalty: Penalty, iterate: Iterate, at: Slopes, g: float) -> tuple[Iterate, float]:
    """Return the point scaled as far out as the objective falls, inside the ball, and its constant."""
    active, unscaled, fitted, n_active, scale, qq, qy, l1, age = iterate
    at.column[:] = 0.0
    for _ in range(_WARM_SEARCHES):
        here = Iterate(active, unscaled, fitted, n_active, scale, qq, qy, l1, age)
        model = _model(problem, here, at, 0.0)
        further = warm_scale(penalty, model.sums)
        if not 1.0 + _SETTLED < further < np.inf:
            break
        constant = _fill_direction(problem, here, at, model, further, 0.0)
        t = _length(problem, penalty, l1, at, further, 0.0, 1)
        if t == 0.0:
            break
        factor = 1.0 + t * (further - 1.0)
        scale, qq, qy, l1 = factor * scale, factor * factor * qq, factor * qy, factor * l1
        here = Iterate(active, unscaled, fitted, n_active, scale, qq, qy, l1, age)
        _fill_predictor(problem, here, at, g + t * constant)
        g = _fill(problem, at, g + t * constant)
    return Iterate(active, unscaled, fitted, n_active, scale, qq, qy, l1, age), g


@by_type
def _rise(penalty: Penalty, l1: float, shrink: float, push: float) -> float:
    """Return by how much a penalty rises from b to shrink b + push e_j."""


@by_type
def _gap_told(penalty: Penalty, problem: Problem, at: Slopes, sums: Sums, max_corr: float) -> float:
    """Return the duality gap over the columns looked at, for a multiple of the slopes."""


@_rise.register(L1)
def _(penalty, l1, shrink, push):
    return penalty.lam * ((shrink - 1.0) * l1 + abs(push))


@_rise.register(L1Ball)
def _(penalty, l1, shrink, push):
    return 0.0


@_gap_told.register(L1Ball)
def _(penalty, problem, at, sums, max_corr):
    return quadratic_gap(penalty, sums, max_corr)


@_gap_told.register(L1)
def _(penalty, problem, at, sums, max_corr):
    s = penalty.lam / max_corr if max_corr > penalty.lam else 1.0
    return fenchel(problem.loss, at.eta, at.theta, s)[0] + penalty.lam * sums.l1 - s * (sums.qy - sums.qq)

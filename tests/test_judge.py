"""The judges are judged: by closed forms, other programs, objectives written down again, and points that are not best.

A gap is that of long double and, within rounding, that of fractions: `gap_of_both` asks both of them.
"""

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls
from sklearn.linear_model import ElasticNet, LogisticRegression

import judge as wide_judge
from attack import judge as exact_judge
from attack.cases import make_case
from attack.duality import PLAIN, General, ball_gap, cost_of, dual_loss, golden_section, lowest, penalized_gap, vertex
from attack.options import ENABLED, OPTIONS, is_solved
from attack.storages import held
from fwlasso import LassoPath, Status, lasso_path
from fwlasso._core.penalties import L1, L1Ball
from fwlasso.solvers.registry import SOLVERS
from judge import Exact, Logistic, exact, objective, ray_of, recomputed_gap, wide

INF = np.inf


class Given(NamedTuple):
    """A general problem at one alpha."""

    X: np.ndarray
    y: np.ndarray
    asked: General
    alpha: float
    fit_intercept: bool = False
    standardize: bool = False

    @property
    def exact(self) -> Exact:
        return exact(self.X, self.y, self.fit_intercept, self.standardize, self.asked)

    @property
    def weights(self) -> np.ndarray:
        return wide(np.ones(len(self.y)) if self.asked.sample_weight is None else self.asked.sample_weight)

    @property
    def lam(self) -> np.longdouble:
        return self.weights.sum() * wide(self.alpha) * wide(self.asked.l1_ratio)

    def centred(self, numbers: np.ndarray) -> np.ndarray:
        w = self.weights
        return wide(numbers) - (w @ wide(numbers) / w.sum() if self.fit_intercept else 0)

    def scales(self) -> np.ndarray:
        """The deviations of the columns, or ones."""
        if not self.standardize:
            return wide(np.ones(self.X.shape[1]))
        return np.sqrt(self.weights @ self.centred(self.X) ** 2 / self.weights.sum())

    def value(self, b: np.ndarray) -> np.longdouble:
        """The objective of coefficients in the units of users, as it is in textbooks."""
        w, v = self.weights, self.asked.factors(b.size)
        shift = 0 if self.asked.offset is None else wide(self.asked.offset)
        r = self.centred(wide(self.y) - shift - wide(self.X) @ b)
        a, mu = (
            self.scales() * b,
            w.sum() * (wide(self.asked.ridge) + wide(self.alpha) * (1 - wide(self.asked.l1_ratio))),
        )
        some = v < INF
        return w @ r**2 / 2 + v[some] @ (self.lam * np.abs(a) + mu * a**2 / 2)[some]

    def inside(self, b: np.ndarray) -> np.ndarray:
        return np.clip(b, *self.asked.bounds(b.size))


def gap_of_both(given: Given, b: np.ndarray, radius: Any = None, rel: float = 1e-9) -> np.longdouble:
    """The relative gap of coefficients in the units of users, in which float64 holds them."""
    truth = given.exact
    penalty = L1(given.lam) if radius is None else L1Ball(radius)
    gap = recomputed_gap(truth, penalty, wide(b) / truth.factors)
    found = exact_judge.truth_of(given.X, given.y, given.fit_intercept, given.standardize, given.asked)
    point = exact_judge.point_of(found, coefs_in(found, b))
    grid, value = ("alphas", fraction(given.lam)) if radius is None else ("radii", fraction(radius))
    other = exact_judge.gap_of(found, point, grid, value)
    assert float(gap) == pytest.approx(float(other), rel=rel, abs=1e-16)
    assert other >= 0
    return gap


def coefs_in(truth: exact_judge.Truth, b: np.ndarray) -> exact_judge.Coefs:
    """Coefficients for the columns z_j, of those in the units of users."""
    return exact_judge.boxed(truth, {j: Fraction(x) / truth.factors[j] for j, x in enumerate(b.tolist()) if x})


def fraction(number: np.longdouble) -> Fraction:
    return Fraction(*np.longdouble(number).as_integer_ratio())


KINDS = ["plain", "weights", "offset", "factors", "positive", "box", "mixed", "net", "ridge", "net in a box", "all"]


def draw(rng: np.random.Generator, kind: str, X: np.ndarray, y: np.ndarray) -> Given:
    """Return a problem of a kind, in which some coefficients are zero, some at a bound, and some free."""
    m, p = X.shape
    options: dict[str, Any] = {}
    if kind in ("weights", "all"):
        options["sample_weight"] = 10.0 ** rng.uniform(-1.5, 1.5, m) * (rng.random(m) < 0.8)
    if kind in ("offset", "all"):
        options["offset"] = rng.standard_normal(m)
    if kind in ("factors", "all"):
        v = rng.uniform(0.3, 3.0, p)
        v[rng.choice(p, 3, replace=False)] = [0.0, 0.0, INF]
        options["penalty_factor"] = v
    ends = np.abs(rng.standard_normal((2, p)))
    if kind == "positive":
        options["positive"] = True
    if kind in ("box", "net in a box"):
        options |= {"lower": -0.3 * ends[0], "upper": 0.3 * ends[1]}
    if kind in ("mixed", "all"):
        options |= {
            "lower": np.choose(rng.integers(0, 3, p), [np.zeros(p), -0.3 * ends[0], np.full(p, -INF)]),
            "upper": np.choose(rng.integers(0, 3, p), [np.zeros(p), 0.3 * ends[1], np.full(p, INF)]),
        }
    if kind == "all":
        for name, end in (("lower", -INF), ("upper", INF)):
            options[name][options["penalty_factor"] == 0.0] = end
    if kind == "ridge":
        options["ridge"] = 10.0 ** rng.uniform(-3.0, 0.0)
    if kind in ("net", "net in a box", "all"):
        options["l1_ratio"] = rng.choice([0.2, 0.9])
    return Given(X, y, General(**options), rng.uniform(0.01, 0.3), *(bool(x) for x in rng.random(2) < 0.5))


def random_given(seed: int, kind: str, m: int = 14, p: int = 8) -> Given:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = rng.standard_normal((m, p)) * 10.0 ** rng.uniform(-0.5, 0.5, p) + rng.standard_normal(p)
    return draw(rng, kind, X, X[:, :4] @ [1.0, -1.0, 0.5, 0.3] + rng.standard_normal(m) + 2.0)


def solution(given: Given) -> np.ndarray:
    """Coordinate descent on the textbook's objective, to the last bit that float64 has."""
    p = given.X.shape[1]
    w, v, f = given.weights, given.asked.factors(p), given.scales()
    Z, mu = given.centred(given.X) / f, given.weights.sum() * given.asked.ridge
    mu = mu + given.lam * (1 - wide(given.asked.l1_ratio)) / wide(given.asked.l1_ratio)
    shift = 0 if given.asked.offset is None else wide(given.asked.offset)
    a, r = wide(np.zeros(p)), given.centred(wide(given.y) - shift)
    lower, upper = given.asked.bounds(p) * f
    for _ in range(100_000):
        before = a.copy()
        for j in np.flatnonzero(v < INF):
            norm2 = w @ Z[:, j] ** 2
            x = norm2 * a[j] + Z[:, j] @ (w * r)
            new = np.clip(np.sign(x) * max(np.abs(x) - given.lam * v[j], 0) / (norm2 + mu * v[j]), lower[j], upper[j])
            r, a[j] = r + (a[j] - new) * Z[:, j], new
        if np.abs(a - before).max() <= 1e-18 * np.abs(a).max():
            break
    return given.inside((a / f).astype(float))


@pytest.mark.parametrize("kind", KINDS)
def test_solutions_have_no_gap_and_other_points_at_least_their_excess(kind):
    n_active = n_held = 0
    for seed in range(5):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        b = solution(given)
        null, best = given.exact.half_yy, given.value(b)
        assert gap_of_both(given, b) <= 1e-14
        n_active += np.count_nonzero(b)
        n_held += ((b == given.asked.bounds(b.size)) & (b != 0)).sum()
        for size in (1e-6, 1e-3, 1.0):
            for share in (0.2, 1.0):
                moved = given.inside(b + size * rng.standard_normal(b.size) * (rng.random(b.size) < share))
                gap, excess = gap_of_both(given, moved), (given.value(moved) - best) / null
                assert gap >= excess - 1e-15
                assert gap <= 50 * (size + size**2)
                assert gap > 0 or (moved == b).all()
    assert n_active > 10
    assert n_held > 2 or kind in ("plain", "weights", "offset", "factors", "positive", "net", "ridge")


def best_of_a_grid(given: Given, b: np.ndarray) -> np.longdouble:
    """The dual objective of the best of many multiples of the residual, as it is in textbooks."""
    v, f, w = given.asked.factors(b.size), given.scales(), given.weights
    Z, shift = given.centred(given.X) / f, 0 if given.asked.offset is None else wide(given.asked.offset)
    response, roots, costly = given.centred(wide(given.y) - shift), np.sqrt(w), (v > 0) & (v < INF)
    r, free = roots * (response - Z @ (f * b)), (roots[:, None] * Z)[:, v == 0.0].astype(float)
    q = r - free @ np.linalg.pinv(free) @ r.astype(float)
    q = q * np.sign((roots * response) @ q)
    qq, yq, c = q @ q, (roots * response) @ q, (Z.T @ (roots * q))[costly]
    v, lower, upper = v[costly], *((given.asked.bounds(b.size) * f)[:, costly])
    mu = v * w.sum() * (wide(given.asked.ridge) + wide(given.alpha) * (1 - wide(given.asked.l1_ratio)))

    def dual(s: np.longdouble) -> np.longdouble:
        beyond = np.sign(c) * np.maximum(np.abs(s * c) - given.lam * v, 0)
        with np.errstate(all="ignore"):
            t = np.clip(np.where(beyond != 0, beyond / mu, 0), lower, upper)
            costs = np.where(beyond * t != 0, beyond * t - mu * t * t / 2, 0)
        return -INF if np.isinf(t).any() else s * yq - s * s * qq / 2 - costs.sum()

    grid = np.concatenate([yq / qq * np.linspace(0, 1, 2001), given.lam * v / np.abs(c)]) * (1 - wide(1e-15))
    return max(map(dual, grid[grid <= yq / qq]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_is_primal_less_dual(kind):
    n_beyond = 0
    for seed in range(4):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        free = given._replace(asked=given.asked._replace(lower=None, upper=None, positive=False))
        # Coefficients of any kind, and some far beyond those of y: a multiple below zero is best for these.
        for b in map(given.inside, (rng.standard_normal(8) * (rng.random(8) < 0.5), 4.0 * solution(free))):
            gap = gap_of_both(given, b) * given.exact.half_yy
            nearest = given.value(b) - best_of_a_grid(given, b)
            assert gap <= nearest + 1e-9
            assert gap >= nearest - 1e-3 * (1 + np.abs(nearest))
            n_beyond += ray_of(given.exact, wide(b) / given.exact.factors).longest < 0
    assert n_beyond > 0 or kind in ("box", "mixed", "net in a box", "all")


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_fits_of_scikit_learn_have_no_gap(l1_ratio, positive, fit_intercept):
    for seed in range(3):
        given = random_given(seed, "weights", m=60, p=15)
        asked = given.asked._replace(l1_ratio=l1_ratio, positive=positive)
        given = given._replace(asked=asked, standardize=False, fit_intercept=fit_intercept)
        settings = {"tol": 1e-15, "max_iter": 10**6, "positive": positive, "fit_intercept": fit_intercept}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ElasticNet(given.alpha, l1_ratio=l1_ratio, **settings)
            model.fit(given.X, given.y, sample_weight=asked.sample_weight)
        assert np.count_nonzero(model.coef_) > 2
        assert gap_of_both(given, given.inside(model.coef_)) <= 3e-14
        other = given._replace(alpha=1.001 * given.alpha)
        assert gap_of_both(other, given.inside(model.coef_)) > 1e-9


def test_least_squares_in_boxes_of_scipy_have_no_gap():
    """There is no penalty, and a dual point only where no side is without a bound."""
    for seed in range(4):
        given = random_given(seed, "box", m=40, p=12)._replace(alpha=0.0, fit_intercept=False, standardize=False)
        found = lsq_linear(given.X, given.y, given.asked.bounds(12), tol=1e-15, max_iter=1000, method="bvls").x
        assert gap_of_both(given, given.inside(found)) <= 1e-15
        assert gap_of_both(given, given.inside(0.999 * found)) > 1e-6
        given = given._replace(asked=General(positive=True), alpha=1e-12)
        found, _ = nnls(given.X, given.y)
        assert (found > 0.0).sum() > 3
        assert gap_of_both(given, found) <= 1e-10
        assert gap_of_both(given, 0.999 * found) > 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_orthonormal_columns_have_a_closed_form(kind):
    """b_j = clip(soft(c_j, v_j lam) / (1 + v_j mu)): a judge that errs in one term sees a gap, or overlooks a point."""
    for seed in range(10):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        given = draw(rng, kind, np.zeros((14, 8)), 3.0 * rng.standard_normal(14))
        w = np.maximum(given.weights.astype(float), 1e-3 * (kind != "plain"))
        roots, W = np.sqrt(w), w.sum()
        basis, _ = np.linalg.qr(np.column_stack([roots, rng.standard_normal((14, 8))]))
        X = basis[:, 1:] / roots[:, None] + given.fit_intercept * rng.standard_normal(8)
        asked = given.asked._replace(sample_weight=None if given.asked.sample_weight is None else w)
        given = given._replace(X=X, asked=asked, alpha=given.alpha / W)
        v, ratio, f = asked.factors(8), asked.l1_ratio, np.sqrt(W) if given.standardize else 1.0
        shift = 0.0 if asked.offset is None else asked.offset
        c = f * (given.centred(X).astype(float).T @ (w * (given.y - shift)))
        lam, mu = W * given.alpha * ratio, W * (asked.ridge + given.alpha * (1.0 - ratio))
        with np.errstate(invalid="ignore"):
            b = f * np.sign(c) * np.maximum(np.abs(c) - v * lam, 0.0) / (f**2 + v * mu)
        b = given.inside(np.where(v < INF, b, 0.0))
        assert gap_of_both(given, b) <= 1e-14
        j = rng.choice(np.flatnonzero((v < INF) & (np.abs(c) > 1e-3)))
        for size in (-1e-3, 1e-3):
            other = given.inside(b + size * (np.arange(8) == j))
            gap = gap_of_both(given, other)
            assert gap >= (given.value(other) - given.value(b)) / given.exact.half_yy - 1e-15
            assert gap > 1e-10 or (other == b).all()


@pytest.mark.parametrize("kind", ["plain", "weights", "offset", "factors", "positive", "ridge"])
def test_solutions_in_a_ball_have_no_gap_and_other_points_at_least_their_excess(kind):
    for seed in range(6):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        if seed % 2:
            given = given._replace(asked=given.asked._replace(ridge=0.1))
        b, v = solution(given), given.asked.factors(8)
        some = (v > 0.0) & (v < INF)
        f = given.scales()
        radius = v[some] @ np.abs(f * b)[some] * (1 + 1e-15)
        assert gap_of_both(given, b, radius) <= 1e-13
        free = given._replace(alpha=0.0)  # whose value has no penalty but the ridge
        for size in (1e-6, 1e-3, 1.0):
            moved = given.inside(b + size * rng.standard_normal(8))
            moved[some] *= float(min(1, radius / (v[some] @ np.abs(f * moved)[some])) * (1 - 1e-15))
            gap, excess = gap_of_both(given, moved, radius), (free.value(moved) - free.value(b)) / given.exact.half_yy
            assert gap >= excess - 1e-15
            assert gap <= 50 * (size + size**2)


def test_the_best_kappa_and_s_of_a_ball_are_found():
    for seed in range(4):
        given = random_given(seed, "ridge").exact
        ray = ray_of(given, wide(np.random.default_rng(seed).standard_normal(8)))
        radius, mu = np.abs(ray.b).sum(), given.cost.curvatures(0)

        def gap(
            s: float, kappa: float, ray: Any = ray, given: Exact = given, mu: Any = mu, radius: Any = radius
        ) -> Any:
            soft = np.maximum(np.abs(s * ray.c) - kappa, 0)
            own = (mu * ray.b**2).sum() / 2 + (soft**2 / mu).sum() / 2 - s * ray.b @ ray.c + kappa * radius
            return ((given.y - given.Z @ ray.b - s * (given.y - given.Z @ ray.b)) ** 2).sum() / 2 + own

        found, largest = ball_gap(given.cost, ray, radius), np.abs(ray.c).max()
        grid = [gap(s, s * k) for s in np.linspace(0, 2, 81) for k in np.linspace(0, largest, 81)]
        assert found <= min(grid) * (1 + 1e-12)
        assert found >= 0.9 * min(grid) - 1e-3


@pytest.mark.parametrize("inside", [vertex, golden_section])
def test_the_lowest_place_is_found_between_kinks(inside):
    kinks = [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(2), Fraction(5)]
    for kink in kinks:
        assert lowest(lambda s, k=kink: 10**300 * abs(s - k), kinks, inside) == kink
    for place in (Fraction(1, 7), Fraction(3), Fraction(49, 10)):
        assert abs(lowest(lambda s, k=place: (s - k) ** 2, kinks, inside) - place) < Fraction(1, 10**9)
    assert lowest(lambda s: s, [Fraction(1)], inside) == 1
    assert inside(lambda s: s, Fraction(1), Fraction(2)) < Fraction(1000001, 1000000)
    assert inside(lambda s: s * s, Fraction(0), Fraction(1)) < Fraction(1, 10**9)
    assert inside(lambda s: -s, wide(1.0), wide(2.0)) > 2.0 - 1e-15


@pytest.mark.parametrize("kind", KINDS)
def test_a_dual_point_beside_another_loses_no_more_than_is_said(kind):
    for seed in range(6):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        a = wide(given.inside(rng.standard_normal(8) * (rng.random(8) < 0.5))) / given.exact.factors
        truth, penalty = given.exact, L1(given.lam)
        ray, own = ray_of(truth, a), recomputed_gap(truth, penalty, a)
        r = truth.y - truth.Z @ a
        for d in (1e-9, 1e-3, 0.1):
            sizes = (d, np.sqrt(truth.y @ truth.y), np.sqrt(r @ r))
            said = dual_loss(truth.cost, ray, given.lam, truth.norms * d, sizes) / truth.half_yy
            for _ in range(8):
                e = wide_judge.projected(truth.free, wide(rng.standard_normal(r.size)))
                near = wide_judge.projected(truth.free, r) + d * e / np.sqrt(e @ e)
                assert recomputed_gap(truth, penalty, a, near) <= own + said + 1e-15
            assert said >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_of_pulls_that_may_be_off_is_that_of_the_worst(kind):
    for seed in range(4):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        truth = given.exact
        ray, off = ray_of(truth, wide(np.zeros(8))), 0.01 * truth.norms * truth.cost.slopes
        worst = penalized_gap(truth.cost, ray, given.lam, off)
        for signs in (np.sign(ray.c), -np.sign(ray.c), rng.uniform(-1.0, 1.0, 8)):
            assert penalized_gap(truth.cost, ray._replace(c=ray.c + signs * off), given.lam) <= worst * (1 + 1e-15)
        largest = penalized_gap(truth.cost, ray._replace(c=ray.c + np.sign(ray.c) * off), given.lam)
        assert worst == pytest.approx(float(largest), rel=1e-3)
        said = dual_loss(truth.cost, ray, given.lam, off, (0.0, 0.0, 0.0))
        assert said == worst - penalized_gap(truth.cost, ray, given.lam)


def test_a_residual_that_is_off_across_all_columns_loses_what_is_said_at_a_small_lambda():
    """No pull changes, and the dual objective falls by s |y| d."""
    y, e = wide([1.0, 1.0, 0.0]), wide([0.0, -1.0, 0.0])
    truth = exact(np.eye(3)[:, :1], y, False, False)
    for lam, d in ((0.01, 0.1), (0.5, 0.5)):
        ray = ray_of(truth, wide([0.0]))
        said = dual_loss(truth.cost, ray, wide(lam), wide([0.0]), (d, np.sqrt(y @ y), np.sqrt(y @ y)))
        gaps = [recomputed_gap(truth, L1(lam), wide([0.0]), y + own) * truth.half_yy for own in (0 * e, d * e)]
        assert 0 < gaps[1] - gaps[0] <= said <= 4 * (gaps[1] - gaps[0])


def test_rounding_of_bounds_is_no_fault():
    n_held = n_rounded = 0
    for seed in range(8):
        given = random_given(seed, "box")
        b, truth = solution(given), given.exact
        near = (b / truth.factors).astype(float)
        n_rounded += truth.is_outside(wide(near))
        assert recomputed_gap(truth, L1(given.lam), wide(near)) <= 1e-14
        n_held += (b == given.asked.bounds(8)).any()
    assert n_held > 3
    assert n_rounded > 0


@pytest.mark.parametrize(("lower", "upper"), [(-0.1, INF), (-INF, 0.1), (0.0, 0.1), (-0.1, 0.0)])
def test_coefficients_outside_of_their_bounds_have_no_gap(lower, upper):
    given = random_given(0, "plain")
    given = given._replace(asked=General(lower=np.full(8, lower), upper=np.full(8, upper)))
    truth = given.exact
    for end in {lower, upper} - {-INF, INF}:
        b = np.full(8, end) / truth.factors
        assert np.isfinite(recomputed_gap(truth, L1(given.lam), b))
        b[3] += 1e-9 * (1.0 if end == upper else -1.0)
        assert recomputed_gap(truth, L1(given.lam), b) == INF


def test_means_columns_without_a_penalty_and_extreme_weights_lose_no_digits():
    """Fractions are the truth: a column of ones far from zero without a penalty, and weights of 1e-150 and 1e150."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 5))
    X[:, 4] = 1e9 + rng.standard_normal(12)
    for weights in (rng.choice([1e-150, 1e150], 12), rng.choice([1e-150, 1.0], 12), None):
        asked = General(sample_weight=weights, penalty_factor=np.array([1.0, 1.0, 2.0, 0.0, 0.0]))
        given = Given(X, rng.standard_normal(12) + 3.0, asked, 0.01, True, True)
        assert gap_of_both(given, np.zeros(5)) > 0


def test_dependent_columns_without_a_penalty_are_projected_once():
    rng = np.random.default_rng(1)
    X = rng.integers(-9, 10, (10, 5)).astype(float)
    X[:, 2] = X[:, 0] - 2.0 * X[:, 1]
    given = Given(X, rng.standard_normal(10), General(penalty_factor=np.array([0.0, 0.0, 0.0, 1.0, 1.0])), 0.05)
    gap_of_both(given, np.array([0.25, -0.5, 0.125, 0.0, 0.5]))
    truth = exact_judge.truth_of(X, given.y, False, False, given.asked)
    q, _ = exact_judge.project(truth, truth.y)
    assert q.any()
    assert not (truth.Z[:, :3].T @ q).any()


@pytest.mark.parametrize("kind", KINDS)
def test_better_dual_points_are_found_and_are_dual_points(kind):
    for seed in range(3):
        given, rng = random_given(seed, kind), np.random.default_rng(seed)
        truth = exact_judge.truth_of(given.X, given.y, given.fit_intercept, given.standardize, given.asked)
        lam = fraction(given.lam)
        a = given.inside(solution(given) * (1.0 + 1e-6 * rng.standard_normal(8)))
        near = exact_judge.descend(truth, coefs_in(truth, a), lam)
        for _ in range(4):
            near = exact_judge.newton(truth, near, exact_judge.point_of(truth, near), lam)
        best = exact_judge.point_of(truth, near)
        assert exact_judge.gap_of(truth, best, "alphas", lam) <= Fraction(1, 10**40)
        excess = float(given.value(a) - given.value(solution(given))) / float(truth.null_loss)
        smallest = exact_judge.smallest_gap(truth, coefs_in(truth, a), lam)
        own = exact_judge.gap_of(truth, exact_judge.point_of(truth, coefs_in(truth, a)), "alphas", lam)
        assert smallest <= own
        assert float(smallest) == pytest.approx(excess, rel=1e-6, abs=1e-16)


# Problems of the attack --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIONS)
def test_both_judges_understand_what_an_attack_may_ask(name):
    for number in range(4):
        case = make_case(0, number, (name,))
        asked, X, rng = case.data.asked, held(case.kind, case.data.X), np.random.default_rng(number)
        assert asked.keywords() or name == "several"
        assert set(asked.keywords()) <= set(General._fields)
        assert is_solved(asked, case.options["solver"], "radii" if "radii" in case.options else "alphas")
        given = Given(X, case.data.y, asked, 1.0, case.options["fit_intercept"], case.options["standardize"])
        truth = given.exact
        largest = np.abs(ray_of(truth, wide(np.zeros(X.shape[1]))).c).max()
        given = given._replace(alpha=float(0.1 * largest / truth.total))
        unit = (truth.factors * np.sqrt(2 * truth.half_yy) / np.where(truth.norms > 0, truth.norms, 1)).astype(float)
        for share in (0.0, 0.3):
            some = rng.random(unit.size) < share
            b = given.inside(unit * rng.standard_normal(unit.size) * some * (asked.factors(unit.size) > 0.0))
            gap = gap_of_both(given, b, rel=1e-6)
            assert gap >= 0
            if asked.lower is None and asked.upper is None and asked.l1_ratio == 1.0:
                radius = float(truth.cost.l1(wide(b) / truth.factors)) * (1.0 + 1e-15)
                assert gap_of_both(given, b, radius, rel=1e-6) >= 0


def test_the_plain_lasso_asks_for_nothing():
    assert PLAIN.keywords() == {}
    assert all(is_solved(PLAIN, solver, grid) for solver in SOLVERS for grid in ("alphas", "radii"))
    assert not set(ENABLED) - set(OPTIONS)


# Another loss ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_another_loss_is_one_object(fit_intercept):
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((60, 6)) + 1.0, rng.uniform(0.5, 2.0, 60)
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(60) > 0.0).astype(float)
    C = 0.3
    model = LogisticRegression(
        l1_ratio=1.0, C=C, solver="saga", tol=1e-14, max_iter=10**5, fit_intercept=fit_intercept
    ).fit(X, y, sample_weight=w)
    given, penalty = exact(X, y, fit_intercept, False, loss=Logistic(y, w)), L1(1 / C)
    b = wide(model.coef_[0])
    assert 1 < np.count_nonzero(b) < 7
    assert recomputed_gap(given, penalty, b) <= 1e-12
    best = objective(given, penalty, b)
    for size in (1e-5, 1e-2, 1.0):
        other = b + size * rng.standard_normal(6)
        gap = recomputed_gap(given, penalty, other) * given.half_yy
        assert gap >= objective(given, penalty, other) - best > 0
        assert gap <= 100 * (size + size**2) * given.half_yy
    null = objective(given, penalty, np.zeros(6))
    assert given.half_yy == pytest.approx(float(null))  # of 0 and 1 nothing is left of the best fit there is


# Paths -------------------------------------------------------------------------------------------------------------


class Disguised(NamedTuple):
    """A plain path that is one of a general problem, too."""

    path: LassoPath
    X: np.ndarray
    y: np.ndarray
    asked: General


def disguised(name: str, grid: str, fit_intercept: bool, standardize: bool) -> Disguised:
    rng = np.random.default_rng(len(name))
    X = rng.standard_normal((25, 10)) + 1.0
    y = X[:, :4] @ [3.0, 2.0, -1.5, 1.0] + rng.standard_normal(25)
    settings = {grid: 5, "fit_intercept": fit_intercept, "standardize": standardize, "eps": 1e-2}
    settings |= {"solver": "cd" if grid == "alphas" else "fw", "stop": "gap", "tol": 1e-3}  # whose gaps are no rounding
    if name == "repeated":
        times = rng.integers(0, 4, 25)
        path = lasso_path(np.repeat(X, times, axis=0), np.repeat(y, times), **settings)
        path = replace(path, settings={**path.settings, "n_samples": np.count_nonzero(times)})
        return Disguised(path, X, y, General(sample_weight=times.astype(float)))
    if name == "shifted":
        shift = np.round(8.0 * rng.standard_normal(25)) / 8.0
        path = lasso_path(X, np.round(8.0 * y) / 8.0 - shift, **settings)
        return Disguised(path, X, np.round(8.0 * y) / 8.0, General(offset=shift))
    if name == "scaled":
        v = 2.0 ** rng.integers(-2, 3, 10)
        path = lasso_path(X / v, y, **{**settings, "standardize": False})
        return Disguised(replace(path, coefs=(path.coefs.T * (1.0 / v)).T.tocsc()), X, y, General(penalty_factor=v))
    if name == "boxed":
        path = lasso_path(X, y, **settings)
        ends = path.coefs.toarray()
        return Disguised(
            path, X, y, General(lower=2.0 * ends.min(axis=1), upper=np.maximum(2.0 * ends.max(axis=1), 0.0))
        )
    assert name == "ridge below"
    roots = np.full(10, np.sqrt(4.0))
    path = lasso_path(
        np.vstack([X, np.diag(roots)]),
        np.append(y, np.zeros(10)),
        **{**settings, "fit_intercept": False, "standardize": False},
    )
    path = replace(path, settings={**path.settings, "n_samples": 25}, alphas=path.alphas * 35.0 / 25.0)
    null = 0.5 * y @ y
    residuals = y[:, None] - X @ path.coefs.toarray()
    return Disguised(replace(path, r2=1.0 - 0.5 * (residuals**2).sum(axis=0) / null), X, y, General(ridge=4.0 / 25.0))


class WithOffset:
    """A path that takes off what its response was shifted by."""

    def __init__(self, path: LassoPath) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(self.path, name)

    def __len__(self) -> int:
        return len(self.path)

    def predict(self, X: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
        return (self.path.predict(X).T + offset).T


def verdicts(given: Disguised, asked: General) -> tuple[bool, set[str]]:
    """Whether the one judge finds a path true, and what the other finds wrong with it."""
    try:
        wide_judge.judge(given.path, given.X, given.y, asked)
        is_true = True
    except AssertionError:
        is_true = False
    verdict = exact_judge.judge(WithOffset(given.path), given.X, given.X, given.y, asked)
    return is_true, set(verdict.counts())


@pytest.mark.parametrize(
    ("name", "grid", "standardize"),
    [
        *((name, grid, True) for name in ("repeated", "shifted") for grid in ("alphas", "radii")),
        *((name, grid, False) for name in ("scaled", "ridge below") for grid in ("alphas", "radii")),
        ("boxed", "alphas", True),
    ],
)
def test_paths_of_general_problems_are_found_true_or_false(name, grid, standardize):
    given = disguised(name, grid, name != "ridge below", standardize)
    assert set(given.path.statuses) == {Status.CERTIFIED}
    assert verdicts(given, given.asked) == (True, set())
    if name != "boxed":  # a plain Lasso it is, too
        is_true, faults = verdicts(given, PLAIN)
        assert not is_true
        assert faults & {"below truth", "wrong"}
    below = given._replace(path=replace(given.path, gaps=1e-3 * given.path.gaps))
    assert verdicts(below, given.asked) == (False, {"below truth"})
    outside = given.asked._replace(lower=np.zeros(10))
    is_true, faults = verdicts(given, outside)
    assert not is_true
    assert "wrong" in faults


def test_an_excluded_column_has_no_coefficient():
    given = disguised("boxed", "alphas", True, False)
    v = np.where(np.arange(10) == given.path.coefs.indices[-1], INF, 1.0)
    is_true, faults = verdicts(given, General(penalty_factor=v))
    assert not is_true
    assert "wrong" in faults


def test_a_coefficient_beyond_its_bound_by_its_last_digit_is_found():
    given = disguised("boxed", "alphas", True, True)
    coefs = given.path.coefs.toarray()
    j = int(np.argmax(coefs[:, -1]))
    asked = General(upper=np.where(np.arange(10) == j, coefs[j].max(), INF))
    assert verdicts(given, asked) == (True, set())
    beyond = given.path.coefs.copy()
    beyond.data[beyond.data == coefs[j].max()] = np.nextafter(coefs[j].max(), INF)
    assert verdicts(given._replace(path=replace(given.path, coefs=beyond)), asked) == (False, {"wrong"})


@pytest.mark.parametrize("standardize", [True, False])
def test_a_scaled_coefficient_outside_of_its_bound_is_found(standardize):
    """Bounds in these units are rounded, those of standardised columns more often: up to that it is inside."""
    given = disguised("boxed", "alphas", True, standardize)
    coefs, scaled = given.path.coefs.toarray(), given.path.scaled_coefs.copy()
    j = int(np.argmax(coefs[:, -1]))
    asked = General(upper=np.where(np.arange(10) == j, coefs[j].max(), INF))
    largest = scaled.toarray()[j].max()
    for size, is_told in ((2e-16, False), (1e-15, not standardize), (1e-13, True)):
        scaled.data[scaled.data >= largest] = largest * (1.0 + size)
        path = replace(given.path, scaled_coefs=scaled)
        faults = exact_judge.judge(path, given.X, given.X, given.y, asked).faults
        assert any("scaled coefficients outside" in fault.text for fault in faults) == is_told


def test_arrays_of_a_cost_are_by_column():
    cost = cost_of(General(l1_ratio=0.5, ridge=2.0, upper=3.0), wide([2.0, 4.0]), wide(10.0), wide)
    assert cost.upper.tolist() == [1.5, 0.75]
    assert (cost.curvatures(7.0) == 27.0).all()
    assert cost.values(wide([1.0, -1.0]), 7.0).tolist() == [20.5, 20.5]

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from conftest import Case, all_coefs, make_case, on_gap, random_values, solve_point
from fwlasso import AdaptiveRule, FixedSize, FractionOfColumns, QuantileRule, Status, lasso_path
from fwlasso._core import threads
from fwlasso._core.iterate import objective, zero
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.solvers.frank_wolfe import VARIANTS, FrankWolfe, take_step
from fwlasso.solvers.protocol import Burst, Stopping

NEVER = Stopping(max_idle=10**9)
SAMPLES = {"full": None, "single columns": (FixedSize(10), 1), "blocks": (FractionOfColumns(0.3), 4)}


def solver(sample: str, seed: int = 0) -> FrankWolfe:
    size, block = SAMPLES[sample] or (None, None)
    return FrankWolfe(size, block, seed)


def trace(case: Case, penalty, method: FrankWolfe, n_steps: int):
    """Yield the iterate and its coefficients as an array after every step."""
    iterate = zero(case.problem)
    with Workers(1) as workers:
        for _ in range(n_steps):
            iterate = method.advance(Burst(case.problem, penalty, NEVER, 1, workers), iterate).iterate
            a = np.zeros(case.Z.shape[1])
            active, coefs = iterate.coefs()
            a[active] = coefs
            yield iterate, a


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("make", [lambda problem: L1Ball(2.5), lambda problem: L1(0.1 * problem.lambda_max)])
def test_every_iterate_is_feasible_and_the_objective_falls(case: Case, sample, make):
    penalty, last = make(case.problem), np.inf
    for iterate, a in trace(case, penalty, solver(sample), 40):
        loss = 0.5 * ((case.y - case.Z @ a) ** 2).sum()
        assert objective(case.problem, iterate) == pytest.approx(loss, rel=1e-7)
        assert not isinstance(penalty, L1Ball) or np.abs(a).sum() <= 2.5 * (1 + 1e-12)
        value = loss + getattr(penalty, "lam", 0.0) * iterate.l1
        assert value <= last * (1 + 1e-9) + 1e-12
        last = value


@pytest.mark.compiled
def test_the_deterministic_method_keeps_its_rate(rng):
    """f(a_k) - f* <= 4 C / (k + 3), where C = 1/2 delta^2 max ||z_i -+ z_j||^2 is the curvature on the ball."""
    case = make_case(rng.standard_normal((15, 25)), 5 * rng.standard_normal(15), units="standardized")
    radius = 3.0
    vertices = radius * np.hstack([case.Z, -case.Z])
    gram = vertices.T @ vertices
    curvature = 0.5 * (np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram).max()
    with Workers(1) as workers:
        run = FrankWolfe(None, None, 0)
        best = zero(case.problem)
        for _ in range(60):
            best = run.advance(Burst(case.problem, L1Ball(radius), NEVER, 1000, workers), best).iterate
    for k, (_, a) in enumerate(trace(case, L1Ball(radius), FrankWolfe(None, None, 0), 200), start=1):
        loss = 0.5 * ((case.y - case.Z @ a) ** 2).sum()
        assert loss - objective(case.problem, best) <= 4 * curvature / (k + 3)


def test_the_smallest_gap_so_far_falls_as_one_over_k(rng):
    """min g_i <= 27/4 C / (k + 2) over the first k steps (Jaggi, 2013)."""
    case = make_case(rng.standard_normal((15, 25)), 5 * rng.standard_normal(15), units="standardized")
    curvature = 9.0 * 4.0 * case.problem.norms2.max()  # radius^2 max ||z_i -+ z_j||^2, at most
    solver, iterate, smallest = FrankWolfe(None, None, 0), zero(case.problem), np.inf
    with Workers(1) as workers:
        for k in range(1, 500):
            iterate, _, _, gap, *_ = solver.advance(Burst(case.problem, L1Ball(3.0), NEVER, 1, workers), iterate)
            smallest = min(smallest, gap)
            assert smallest * (k + 2) <= 6.75 * curvature


RULES = {
    "adaptive": AdaptiveRule(confidence=0.5, at_least=3, at_most=0.5),
    "up and down": lambda p, n_active: 3 + 7 * n_active % 20,
    "all at first": lambda p, n_active: p if n_active < 3 else 4,
    "asked for what happens only": lambda p, n_active: [20, 20, 10, 8][min(n_active, 3)] if n_active <= 25 else None,
}


@pytest.mark.parametrize("is_threaded", [False, True])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_rule_is_that_of_every_step_however_many_make_a_burst(rule, is_threaded, rng, monkeypatch):
    case = make_case(rng.standard_normal((15, 25)), 5 * rng.standard_normal(15), units="standardized")
    if is_threaded:
        monkeypatch.setattr(threads, "_CHUNK_BYTES", 8)
    samples_only = VARIANTS["default"]._replace(most_looked_at=0)
    runs = {}
    with Workers(2) as workers:
        for longest in (1, 7, 60):
            solver, iterate, sizes, n_dots, n_taken = FrankWolfe(rule, 1, 0, samples_only), zero(case.problem), [], 0, 0
            while n_taken < 60:
                sizes.append(min(rule(25, iterate.n_active), 25))
                n_steps = min(longest, 60 - n_taken)
                done = solver.advance(Burst(case.problem, L1Ball(3.0), NEVER, n_steps, workers), iterate)
                iterate, n_dots, n_taken = done.iterate, n_dots + done.n_dots, n_taken + done.n_iter
                assert sizes[-1] < 25 or done.n_dots == 25 * done.n_iter  # the gap of all columns, or of a sample
            runs[longest] = n_dots, *(array.tobytes() for array in iterate.coefs())
            if longest == 1:
                assert n_dots == sum(sizes)
                assert len(set(sizes)) > 2 or rule is RULES["all at first"]
    assert runs[1] == runs[7] == runs[60]


def rows_of(case: Case, n: int):
    """The variant that keeps X'z_j of n columns."""
    return VARIANTS["default"]._replace(covariance_bytes=n * case.problem.xty.nbytes)


@pytest.mark.parametrize("make", [L1Ball, L1])
def test_active_covariates_and_residuals_take_the_same_steps(case: Case, make):
    """Along a path: warm starts are scaled, and points are computed anew once their gap is told."""
    values = [0.3, 1.0, 2.5] if make is L1Ball else case.problem.lambda_max * np.array([0.8, 0.3, 0.1])
    found, counts = {}, {}
    for n_rows in (40, 3, 1, 0):  # all fit, some do, one at a time, none: by residuals
        method, point = FrankWolfe(None, None, 0, rows_of(case, n_rows)), None
        found[n_rows], counts[n_rows], n_steps = [], 0, 0
        for value in values:
            done = solve_point(case, method, make(value), on_gap(case, 2e-3), point)
            point, n_steps, counts[n_rows] = done.iterate, n_steps + done.n_iter, counts[n_rows] + done.n_dots
            found[n_rows].append(all_coefs(point, 40))
        np.testing.assert_allclose(found[n_rows], found[40], rtol=1e-10, atol=1e-12)
        assert counts[n_rows] <= 40 * (n_steps + len(values))
    assert n_steps > 40
    assert counts[40] < 0.5 * counts[3] + 0.5 * counts[0]
    assert counts[3] < counts[1]


def soft(x: np.ndarray, threshold: float) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


@pytest.mark.parametrize(
    ("method", "tol", "name"),
    [
        pytest.param("fw", 1e-4, "radii", marks=pytest.mark.compiled),
        pytest.param("sfw", 1e-4, "radii", marks=pytest.mark.compiled),
        ("cd", 1e-10, "alphas"),
        ("afw", 1e-8, "radii"),
        ("pfw", 1e-8, "radii"),
        ("certified", 1e-10, "alphas"),
        ("certified", 1e-10, "radii"),
    ],
)
def test_orthogonal_designs_have_a_closed_form(method, tol, name, rng):
    Q, _ = np.linalg.qr(rng.standard_normal((30, 12)))
    y = Q @ (10 * rng.standard_normal(12)) + rng.standard_normal(30)
    lam = 3.0
    expected = soft(Q.T @ y, lam)
    grid = {name: [lam / 30 if name == "alphas" else np.abs(expected).sum()]}
    path = lasso_path(
        Q, y, solver=method, stop="gap", tol=tol, fit_intercept=False, sample_size=0.5, max_iter=200_000,
        random_state=0, **grid,
    )  # fmt: skip
    # ||a - a*||^2 <= 2 gap: the objective is strongly convex with constant one.
    distance = np.linalg.norm(path.coef(0) - expected)
    assert distance <= np.sqrt(2 * path.gaps[0] * 0.5 * y @ y) + 1e-9
    assert path.gaps[0] <= tol


@pytest.mark.parametrize("settings", [{"block_size": 4}, {"variant": "paper"}], ids=str)
@pytest.mark.parametrize("factor", [2.0**10, -(2.0**-12)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*ended by a step of length zero:UserWarning")
def test_rescaling_or_reflecting_y_rescales_the_path(factor, settings, rng):
    X, y = random_values(rng, 20, 50), rng.standard_normal(20)
    radii = np.array([0.5, 1.0, 2.0])
    settings = {"solver": "sfw", "random_state": 3, "sample_size": 15, **settings}
    path = lasso_path(X, y, radii=radii, **settings)
    scaled = lasso_path(X, factor * y, radii=abs(factor) * radii, **settings)
    np.testing.assert_array_equal(scaled.coefs.toarray(), factor * path.coefs.toarray())
    np.testing.assert_array_equal(scaled.counters.iterations, path.counters.iterations)
    np.testing.assert_allclose(scaled.gaps, path.gaps, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_without_a_better_vertex_takes_no_step_backwards(sample, rng):
    """Only one column matters; a sample that misses it has a negative gap, and must not spoil the solution."""
    values = np.eye(40)
    y = np.zeros(40)
    y[17] = 5.0
    case = make_case(values, y)
    for _, a in trace(case, L1Ball(2.0), solver(sample), 60):
        assert set(np.flatnonzero(a)) <= {17} or a[17] == 0.0
    assert a[17] == pytest.approx(2.0)


@pytest.mark.filterwarnings("ignore:.*all models are empty")
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 30), st.floats(0.0, 20.0))
def test_any_small_problem_ends_feasible_with_an_honest_gap(seed, m, p, radius):
    """Property: whatever the shape and the radius, the path ends, is inside the ball, and its gap is a true bound."""
    rng = np.random.default_rng(seed)
    X = random_values(rng, m, p)
    X[:, rng.random(p) < 0.2] = 1.5
    y = rng.standard_normal(m)
    path = lasso_path(
        X, y, radii=[radius], solver="sfw", random_state=seed, sample_size=0.5, fit_intercept=bool(seed % 2)
    )
    coef = path.coef(0)
    assert np.abs(coef).sum() <= radius * (1 + 1e-9)
    loss = ((y - X @ coef - path.intercepts[0]) ** 2).sum()
    half_yy = 0.5 * ((y - y.mean() * (seed % 2)) ** 2).sum() or 1.0
    for trial in rng.standard_normal((50, p)) * rng.random((50, 1)):
        b = trial * min(1.0, radius / np.abs(trial).sum())
        r = y - X @ b
        r -= r.mean() * (seed % 2)
        assert 0.5 * (loss - r @ r) <= path.gaps[0] * half_yy + 1e-9


@pytest.mark.parametrize("penalty", [L1Ball(2.0), L1Ball(np.inf), L1(0.1)])
@pytest.mark.parametrize("lost", ["corr", "qq", "qy", "l1"])
def test_no_step_is_taken_towards_what_is_not_a_number(penalty, lost, rng):
    case = make_case(rng.standard_normal((10, 6)), rng.standard_normal(10))
    point = zero(case.problem)
    corr = np.nan if lost == "corr" else 0.5
    if lost != "corr":
        point = point._replace(**{lost: np.nan})
    after, step = take_step(case.problem, penalty, point, 3, corr, 1, 0, NEVER, VARIANTS["default"])
    assert after.n_active == 0
    assert step.n_idle == 1


@pytest.mark.parametrize("radius", [1e78, 1e200, 1e300])
@pytest.mark.parametrize("name", ["fw", "sfw", "afw", "pfw"])
def test_radii_beyond_all_squares_stay_finite(name, radius, data):
    with pytest.warns(ConvergenceWarning):  # of the gap, radius M, and of nothing else
        path = lasso_path(*data, solver=name, radii=[1.0, radius], stop="gap", tol=1e-3, max_iter=300, random_state=0)
    assert np.isfinite(path.coefs.toarray()).all()
    assert np.isfinite(path.r2).all()
    assert path.r2[1] >= path.r2[0]
    assert path.gaps[1] > 1e-3  # infinite, or what is true


def letter(data, **settings):
    """Return a path by Algorithm 2 to the letter, and the texts of its warnings."""
    known = {"solver": "sfw", "variant": "paper", "stop": "paper", "standardize": True, "random_state": 0, "radii": 20}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        path = lasso_path(*data, **known | settings)
    assert not any(issubclass(warning.category, ConvergenceWarning) for warning in told)
    return path, [str(warning.message) for warning in told]


@pytest.fixture(scope="module")
def wide_data():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((200, 500)))
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(200)


@pytest.mark.parametrize("settings", [{}, {"stop": "change"}, {"sample_size": 0.01}], ids=str)
def test_a_step_of_length_zero_meets_the_rule_of_the_paper(settings, wide_data):
    path, _ = letter(wide_data, **settings)
    assert all(status.converged for status in path.statuses)
    assert Status.ZERO_STEP in path.statuses
    assert Status.ZERO_STEP.value in str(path)


def test_where_all_columns_were_looked_at_a_step_of_length_zero_says_more(wide_data):
    path, told = letter(wide_data, sample_size=500, radii=[0.1])
    assert (path.statuses, told) == ((Status.SETTLED,), [])


def test_a_sample_that_is_smaller_than_any_of_the_paper_is_told_of(wide_data):
    path, (text,) = letter(wide_data, sample_size=0.01)
    n_ended = path.statuses.count(Status.ZERO_STEP)
    assert text == (
        f"{n_ended} of 20 points ended by a step of length zero: no column of a sample of 5 of 500 brought descent. "
        "Such a sample has one of the best 2 % of columns with a probability of 9.6 %; for 98 % the paper's quantile "
        f"rule takes 194: increase sample_size, or leave it out. "
        f"The largest relative duality gap is {path.gaps.max():.2e}."
    )
    assert "gap" not in letter(wide_data, sample_size=193, certify=False)[1][0]
    for enough in (194, None, QuantileRule(0.1, 0.9), 1.0):
        assert letter(wide_data, sample_size=enough)[1] == []
    assert letter(wide_data, sample_size=5, radii=[0.1], stop="gap", tol=0.5)[1] == []  # a gap is proved

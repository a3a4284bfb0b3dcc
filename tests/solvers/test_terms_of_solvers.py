"""Ridges, nonnegative coefficients and bounds in the solvers that go point by point: judged apart from all of them."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from attack.duality import General
from conftest import STORAGES, UNITS, held, random_values
from fwlasso import LassoPath, Status, lasso_path
from fwlasso._core import threads
from fwlasso._core.penalties import L1, L1Ball
from fwlasso.solvers.coordinate_descent import CoordinateDescent
from fwlasso.solvers.registry import SOLVERS, pointwise
from judge import exact, judge, objective, recomputed_gap, wide

P = 20
ENDS = [0.0, 0.05, 0.5, np.inf]
OPTIONS = {
    "ridge": lambda rng: General(ridge=10.0 ** rng.uniform(-4.0, 0.0)),
    "net": lambda rng: General(l1_ratio=rng.choice([0.1, 0.5, 0.9])),
    "positive": lambda rng: General(positive=True),
    "positive ridge": lambda rng: General(positive=True, ridge=0.01, penalty_factor=2.0 ** rng.uniform(-2.0, 2.0, P)),
    "positive net": lambda rng: General(positive=True, l1_ratio=0.5),
    "bounds": lambda rng: General(lower=-rng.choice(ENDS, P), upper=rng.choice(ENDS, P)),
    "bounds and net": lambda rng: General(lower=-rng.choice(ENDS, P), upper=rng.choice(ENDS, P), l1_ratio=0.7),
}
FREE = np.where(np.arange(P) % 7, 1.0, 0.0)
OPTIONS |= {
    "free": lambda rng: General(penalty_factor=FREE),
    "free and net": lambda rng: General(penalty_factor=FREE, l1_ratio=0.6),
    "free and bounds": lambda rng: General(penalty_factor=FREE, upper=np.where(FREE, rng.choice(ENDS, P), np.inf)),
}
OVER_RADII = ["ridge", "positive", "positive ridge"]
SOLVED = [
    *(("cd", "alphas", name) for name in OPTIONS),
    *((solver, "alphas", name) for solver in ("fw", "sfw") for name in [*OVER_RADII, "net", "positive net"]),
    *((solver, "radii", name) for solver in ("fw", "sfw", "afw", "pfw") for name in OVER_RADII),
]


def some_data(rng: np.random.Generator, storage: str = "dense64", m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    values = held(storage, random_values(rng, m, P, rng.choice([0.4, 1.0])))
    return values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 1.0


def solve(X, y, solver: str, asked: General, **settings) -> LassoPath:
    grid = {} if settings.keys() & {"alphas", "radii"} else {settings.pop("grid"): 4}
    drawn = {"sample_size": 7} if solver == "sfw" else {}
    known = {"stop": "gap", "random_state": 1, "max_iter": 100_000, "n_threads": 1, **drawn, **grid, **asked.keywords()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lasso_path(X, y, solver=solver, **known | settings)


@pytest.mark.parametrize(("solver", "grid", "option"), SOLVED)
def test_claims_are_true_and_tolerances_are_met(solver, grid, option):
    tol = 1e-2 if solver in {"fw", "sfw"} else 1e-7
    for seed in range(8):
        storage = "csc64" if seed % 2 and solver in {"cd", "sfw"} else "dense64"
        units = ["centred", "standardized"][seed // 2 % 2]
        rng = np.random.default_rng(seed)
        values, y = some_data(rng, storage, [40, 15][seed // 4])
        asked = OPTIONS[option](rng)
        fit_intercept, standardize = UNITS[units]
        settings = {"fit_intercept": fit_intercept, "standardize": standardize, "tol": tol, "grid": grid, "eps": 0.05}
        judge(solve(STORAGES[storage](values), y, solver, asked, **settings), values, y, asked)


@pytest.mark.parametrize("rule", ["change", "paper"])
@pytest.mark.parametrize(("solver", "grid", "option"), [SOLVED[k] for k in (3, 6, 9, 15, 20, 25)])
def test_gaps_of_points_that_ended_by_another_rule_are_true(solver, grid, option, rule):
    rng = np.random.default_rng(0)
    (values, y), asked = some_data(rng), OPTIONS[option](rng)
    path = solve(values, y, solver, asked, grid=grid, stop=rule, tol=1e-2)
    given = exact(values, y, True, False, asked)
    for k, gap in enumerate(path.gaps):
        a = wide(path.scaled_coefs.toarray()[:, k])
        value = L1(wide(40 * asked.l1_ratio * path.alphas[k])) if grid == "alphas" else L1Ball(wide(path.radii[k]))
        assert gap >= recomputed_gap(given, value, a) - 1e-15


def test_elastic_nets_and_nonnegative_models_are_those_of_scikit_learn(rng):
    values, y = some_data(rng)
    for asked in (
        General(l1_ratio=0.5),
        General(l1_ratio=0.1),
        General(positive=True),
        General(positive=True, l1_ratio=0.7),
    ):
        path = solve(values, y, "cd", asked, grid="alphas", tol=1e-13)
        given = exact(values, y, True, False, asked)
        for k, alpha in enumerate(path.alphas):
            penalty = L1(wide(40 * asked.l1_ratio * alpha))
            own = ElasticNet(alpha=alpha, l1_ratio=asked.l1_ratio, positive=asked.positive, tol=1e-14, max_iter=10**6)
            ours, theirs = (objective(given, penalty, wide(b)) for b in (path.coef(k), own.fit(values, y).coef_))
            assert ours <= theirs + 1e-12 * given.half_yy


def test_without_a_penalty_bounds_and_signs_are_those_of_scipy(rng):
    values, y = some_data(rng)
    low, high = -rng.choice([0.1, 1.0], P), rng.choice([0.1, 1.0], P)
    settings = {"alphas": [0.1, 0.0], "fit_intercept": False, "max_iter": 10_000}
    path = solve(values, y, "cd", General(lower=low, upper=high), tol=1e-11, **settings)
    best = lsq_linear(values, y, (low, high), tol=1e-15).cost
    assert path.statuses[-1] is Status.CERTIFIED  # no side is hard: also least squares have gaps
    assert 0.5 * ((y - values @ path.coef(-1)) ** 2).sum() <= best * (1 + 1e-12)
    path = solve(values, y, "cd", General(positive=True), stop="change", tol=1e-13, **settings)
    np.testing.assert_allclose(path.coef(-1), nnls(values, y)[0], atol=1e-8)


ASKED = {
    "l1_ratio, ridge: it is for the Lasso": {"ridge": 0.1},
    "positive: it is for all signs": {"positive": True},
    "lower, upper: a vertex": {"lower": -1.0, "alphas": 3},
    "unpenalized, penalty_factor: a vertex": {"unpenalized": [0]},
    "unpenalized, .*: a vertex of the ball has no column": {"penalty_factor": {1: 0.0}},
}


@pytest.mark.parametrize(
    ("solver", "why"),
    [
        *itertools.product(["fw", "sfw"], list(ASKED)[2:]),
        *itertools.product(["afw", "pfw"], list(ASKED)[3:]),
        *itertools.product(["other"], ASKED),
    ],
)
def test_terms_that_a_method_has_no_room_for_are_refused_by_name(solver, why, rng, monkeypatch):
    monkeypatch.setitem(SOLVERS, "other", pointwise(("alphas",), ("gap",), lambda _: CoordinateDescent()))
    with pytest.raises(ValueError, match=f"^{why}.*: solver='{solver}' has none, take 'certified' or 'cd'"):
        lasso_path(*some_data(rng), solver=solver, **ASKED[why])


@pytest.mark.parametrize("asked", [{"ridge": 0.1}, {"positive": True}])
def test_no_level_is_told_with_a_ridge_or_signs(asked, rng):
    known = {"solver": "sfw", "variant": "paper", "radii": [0.5], "random_state": 0, "sample_size": 5, **asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = lasso_path(*some_data(rng), **known)
    with pytest.raises(ValueError, match=f"{next(iter(asked))}: the constant of a level"):
        path.confidence(0.9)
    assert path.gaps[0] < 2.0


@pytest.mark.parametrize("variant", ["paper", "default"])
@pytest.mark.parametrize("solver", ["sfw", "fw"])
def test_a_ridge_is_rows_below_the_columns(solver, variant, rng):
    """The steps of Frank-Wolfe on these, with the same draws; 2 m times the objective has m ridge ||b||^2."""
    values, y = some_data(rng, m=30)
    ridge, radii = 0.05, [0.3, 1.0, 2.0]
    below = np.vstack([values, np.sqrt(30 * ridge) * np.eye(P)])
    known = {"radii": radii, "fit_intercept": False, "variant": variant, "tol": 0.0, "max_iter": 60}
    path = solve(values, y, solver, General(ridge=ridge), **known)
    plain = solve(below, np.append(y, np.zeros(P)), solver, General(), **known)
    np.testing.assert_allclose(path.coefs.toarray(), plain.coefs.toarray(), rtol=1e-9, atol=1e-11)
    if solver == "sfw":  # whose steps are not ended by a gap of zero
        assert path.counters.dot_products == plain.counters.dot_products


@pytest.mark.parametrize("solver", ["sfw", "afw"])
def test_a_ridge_and_signs_have_the_same_bits_for_any_number_of_threads(solver, rng, monkeypatch):
    monkeypatch.setattr(threads, "_CHUNK_BYTES", 8)
    values, y = some_data(rng)
    known = {"radii": 4, "sample_size": 10, "tol": 1e-2, "max_iter": 500}
    asked = General(ridge=0.1, positive=True)
    first, second = (solve(values, y, solver, asked, **known, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(first.coefs.toarray(), second.coefs.toarray())


def test_a_ridge_of_nothing_is_no_reason_to_doubt_the_columns(rng):
    values, y = some_data(rng, m=12)
    path = solve(values, 1e6 * y, "cd", General(l1_ratio=0.5), alphas=[1e5, 1e-307], max_iter=1)
    assert path.statuses[1] is Status.MAX_ITER  # where sums of conjugates are infinite
    assert path.gaps[1] > 0.0

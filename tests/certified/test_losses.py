"""Paths of other losses than least squares: every claim, computed again in long double from the coefficients alone."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import judge
from attack.duality import General
from fwlasso import Status
from fwlasso._core import losses
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.certified import newton
from fwlasso.certified.driver import follow
from fwlasso.data.design import as_design
from fwlasso.data.terms import PLAIN, as_terms
from fwlasso.problem.build import build_problem
from fwlasso.problem.points import SolvedPath, plus

LOSSES = {"logistic": (losses.Logistic, judge.Logistic), "poisson": (losses.Poisson, judge.Poisson)}
# One for each kind of `with_terms`.
N_SEEDS = 6
SAMPLES = ["plain", "weights", "fold", "offset", "counts", "rare"]


class Case(NamedTuple):
    """A problem, in float64 and in long double."""

    X: np.ndarray
    y: np.ndarray
    asked: General
    fit_intercept: bool
    standardize: bool


def with_terms(case: Case, seed: int) -> Case:
    """Return a case with what a Lasso is not, one after the other: the first seed is one."""
    rng, X = np.random.default_rng(seed), case.X
    spread, p = X.std(axis=0) + 1e-3, X.shape[1]
    free = np.where(np.arange(p) < min(3, len(X) // 8), 0.0, 1.0)
    terms = [
        General(),
        General(positive=True),
        General(lower=-0.3 * rng.random(p) / spread, upper=np.where(rng.random(p) < 0.7, 0.3 / spread, np.inf)),
        General(l1_ratio=float(rng.choice([0.99, 0.5, 0.1]))),
        General(penalty_factor=free, ridge=0.01 * (rng.random() < 0.5)),
        General(penalty_factor=rng.choice([0.5, 1.0, 2.0, np.inf], p), ridge=0.1, positive=bool(rng.random() < 0.5)),
    ][seed % N_SEEDS]
    return case._replace(asked=terms._replace(sample_weight=case.asked.sample_weight, offset=case.asked.offset))


def make_case(name: str, kind: str, seed: int, *, m: int = 0, p: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    m, p = m or int(rng.integers(4, 40)), p or int(rng.integers(1, 60))
    X = rng.standard_normal((m, p)) * 10.0 ** rng.uniform(-1, 1, p)
    X += (rng.random() < 0.3) * 5.0 * rng.standard_normal(p)
    X[:, rng.random(p) < 0.3] *= rng.random((m, 1)) < 0.3
    if p > 3:
        X[:, -1] = X[:, 0]
    eta = X @ (rng.standard_normal(p) * (rng.random(p) < 0.2) / (1.0 + np.abs(X).max(axis=0)))
    if kind == "rare":
        eta -= 3.0
    y = rng.poisson(np.exp(np.minimum(eta, 5.0))) if name == "poisson" else rng.random(m) < 1.0 / (1.0 + np.exp(-eta))
    y = y.astype(float)
    y[:2] = 0.0, 1.0 if name == "logistic" else 3.0
    weights = offset = None
    if kind in ("weights", "fold", "counts"):
        weights = {"weights": rng.exponential(size=m), "fold": np.ones(m), "counts": rng.integers(0, 4, m)}[kind] + 0.0
        weights[2:][rng.random(m - 2) < 0.2] = 0.0
        weights[:2] = np.maximum(weights[:2], 1.0)
    if kind == "offset":
        offset = rng.standard_normal(m)
    asked = General(sample_weight=weights, offset=offset)
    return Case(X, y, asked, bool(rng.random() < 0.7), bool(rng.random() < 0.3))


def solve(
    case: Case, name: str, storage: str, tol: float, *, eps: float, polish: bool, radii: Any = None
) -> tuple[SolvedPath, Any, Any]:
    X = sp.csc_array(case.X) if storage == "csc" else np.asfortranarray(case.X)
    of_columns = case.asked._replace(sample_weight=None, offset=None).keywords()
    with Workers(1) as workers:
        problem = build_problem(
            as_design(X), case.y, case.fit_intercept, case.standardize, workers,
            weights=case.asked.sample_weight, offset=case.asked.offset, loss=LOSSES[name][0],
            terms=PLAIN if not of_columns else as_terms(case.X.shape[1], None, **of_columns),
        )  # fmt: skip
        penalties = [L1(lam) for lam in problem.lambda_max * np.geomspace(1.05, eps, 12)]
        penalties = penalties if radii is None else list(map(L1Ball, radii))
        path = follow(problem, penalties, tol * problem.null_loss, 1000, workers, lambda *_, **__: None, polish=polish)
    return plus(path, *problem.null[:2]), problem, penalties


def check(name: str, kind: str, storage: str, seed: int, mode: str, tol: float = 1e-6, eps: float = 1e-2) -> None:
    """Judge a path: polished, of pairs, or over radii, which are of pairs."""
    case = with_terms(make_case(name, kind, seed), seed)
    if mode == "radii" and (case.asked.l1_ratio < 1.0 or case.asked.lower is not None):
        return
    try:
        path, problem, penalties = solve(case, name, storage, tol, eps=eps, polish=mode == "polished")
    except ValueError as error:
        if "have no model" in str(error) or "leave nothing" in str(error):  # columns without a penalty
            return
        raise
    if problem.lambda_max == 0.0:  # no column is free to explain anything
        return
    radii = path.sums[:, 2] if mode == "radii" else None
    if mode == "radii":
        path, problem, penalties = solve(case, name, storage, tol, eps=eps, polish=True, radii=radii)
    there = slice(None) if case.asked.sample_weight is None else case.asked.sample_weight > 0.0
    own = case.asked.on(there)
    weights, offset = (own.sample_weight if own.sample_weight is not None else np.ones(case.y[there].size)), own.offset
    loss = LOSSES[name][1](case.y[there], weights, 0.0 if offset is None else offset)
    given = judge.exact(case.X, case.y, case.fit_intercept, case.standardize, case.asked, loss)
    null = float(given.half_yy)
    assert problem.null_loss == pytest.approx(null, rel=1e-12)
    assert set(path.statuses) <= {Status.CERTIFIED, Status.PRECISION}, path.statuses
    coefs = sp.csc_array((path.coefs, path.columns, path.indptr), shape=(case.X.shape[1], path.gaps.size)).toarray()
    if mode != "polished":
        best = solve(case, name, storage, 1e-3 * tol, eps=eps, polish=True, radii=radii)[0]
        better = sp.csc_array((best.coefs, best.columns, best.indptr), shape=coefs.shape).toarray()
    for k, (penalty, claimed) in enumerate(zip(penalties, path.gaps / null, strict=True)):
        a, slack = given.inside(judge.wide(coefs[:, k])), 1e-13 * (1.0 + np.abs(path.sums[k, 0]) / null)
        assert claimed <= tol or path.statuses[k] is Status.PRECISION
        if mode == "polished":
            gap = float(judge.recomputed_gap(given, penalty, a))
        else:
            b = given.inside(judge.wide(better[:, k]))
            gap = float(judge.objective(given, penalty, a) - judge.objective(given, penalty, b)) / null
        assert gap <= claimed + slack, (k, gap, claimed)
        if radii is not None:
            assert given.cost.l1(a) <= penalty.radius * (1 + 1e-13)


@pytest.mark.parametrize("mode", ["polished", "pairs", "radii"])
@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("storage", ["dense", "csc"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_claim_holds_in_long_double(name, storage, kind, mode):
    for seed in range(N_SEEDS):
        check(name, kind, storage, seed, mode)


@pytest.mark.parametrize("storage", ["dense", "csc"])
@pytest.mark.parametrize("name", LOSSES)
def test_models_that_are_too_large_for_inner_products_are_solved_without(name, storage, monkeypatch):
    monkeypatch.setattr(newton, "_MOST_COLUMNS", 2)
    for kind in ("plain", "weights", "fold"):
        for seed in (0, 2, 4):
            check(name, kind, storage, seed, "polished")


@pytest.mark.parametrize("far", [-300.0, 260.0, 1e6])
@pytest.mark.parametrize("loss", [losses.Logistic, losses.Poisson])
def test_the_best_constant_is_found_from_afar(loss, far):
    y, weights = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.5, 3.0])
    given = loss(y, weights, np.zeros(4))
    near, away = (losses.add_best_constant(given, np.full(5, start), 1e-12) for start in (0.0, far))
    assert away + far == pytest.approx(near, abs=1e-9)

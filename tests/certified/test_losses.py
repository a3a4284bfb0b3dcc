"""Paths of other losses than least squares: every claim, computed again in long double from the coefficients alone."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import judge
from attack.duality import General
from fwlasso import Status
from fwlasso._core import losses
from fwlasso._core.penalties import L1
from fwlasso._core.threads import Workers
from fwlasso.certified import newton
from fwlasso.certified.driver import follow
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.problem.points import SolvedPath

LOSSES = {"logistic": (losses.Logistic, judge.Logistic), "poisson": (losses.Poisson, judge.Poisson)}
SAMPLES = ["plain", "weights", "fold", "offset", "counts", "rare"]


class Case(NamedTuple):
    """A problem, in float64 and in long double."""

    X: np.ndarray
    y: np.ndarray
    asked: General
    fit_intercept: bool
    standardize: bool


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


def solve(case: Case, name: str, storage: str, tol: float, *, eps: float, polish: bool) -> tuple[SolvedPath, Any, Any]:
    X = sp.csc_array(case.X) if storage == "csc" else np.asfortranarray(case.X)
    with Workers(1) as workers:
        problem = build_problem(
            as_design(X), case.y, case.fit_intercept, case.standardize, workers,
            weights=case.asked.sample_weight, offset=case.asked.offset, loss=LOSSES[name][0],
        )  # fmt: skip
        penalties = [L1(lam) for lam in problem.lambda_max * np.geomspace(1.05, eps, 12)]
        path = follow(problem, penalties, tol * problem.null_loss, 1000, workers, lambda *_, **__: None, polish=polish)
    return path, problem, penalties


def check(name: str, kind: str, storage: str, seed: int, *, polish: bool, tol: float = 1e-6, eps: float = 1e-2) -> None:
    case = make_case(name, kind, seed)
    path, problem, penalties = solve(case, name, storage, tol, eps=eps, polish=polish)
    there = slice(None) if case.asked.sample_weight is None else case.asked.sample_weight > 0.0
    own = case.asked.on(there)
    weights, offset = (own.sample_weight if own.sample_weight is not None else np.ones(case.y[there].size)), own.offset
    loss = LOSSES[name][1](case.y[there], weights, 0.0 if offset is None else offset)
    given = judge.exact(case.X, case.y, case.fit_intercept, case.standardize, case.asked, loss)
    null = float(given.half_yy)
    assert problem.null_loss == pytest.approx(null, rel=1e-12)
    assert set(path.statuses) <= {Status.CERTIFIED, Status.PRECISION}, path.statuses
    coefs = sp.csc_array((path.coefs, path.columns, path.indptr), shape=(case.X.shape[1], path.gaps.size)).toarray()
    if not polish:
        best = solve(case, name, storage, 1e-3 * tol, eps=eps, polish=True)[0]
        better = sp.csc_array((best.coefs, best.columns, best.indptr), shape=coefs.shape).toarray()
    for k, (penalty, claimed) in enumerate(zip(penalties, path.gaps / null, strict=True)):
        a, slack = judge.wide(coefs[:, k]), 1e-13 * (1.0 + np.abs(path.sums[k, 0]) / null)
        assert claimed <= tol or path.statuses[k] is Status.PRECISION
        if polish:
            gap = float(judge.recomputed_gap(given, penalty, a))
        else:
            b = judge.wide(better[:, k])
            gap = float(judge.objective(given, penalty, a) - judge.objective(given, penalty, b)) / null
        assert gap <= claimed + slack, (k, gap, claimed)


@pytest.mark.parametrize("polish", [True, False], ids=["polished", "pairs"])
@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("storage", ["dense", "csc"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_claim_holds_in_long_double(name, storage, kind, polish):
    for seed in range(4):
        check(name, kind, storage, seed, polish=polish)


@pytest.mark.parametrize("storage", ["dense", "csc"])
@pytest.mark.parametrize("name", LOSSES)
def test_models_that_are_too_large_for_inner_products_are_solved_without(name, storage, monkeypatch):
    monkeypatch.setattr(newton, "_MOST_COLUMNS", 2)
    for kind in ("plain", "weights", "fold"):
        check(name, kind, storage, 1, polish=True)

"""A loss, a penalty and a pass from outside of the package go through the certified path: the judge is long double."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from attack.duality import General
from fwlasso import Status
from fwlasso._core.dense import Dense
from fwlasso._core.penalties import L1
from fwlasso._core.problem import Problem
from fwlasso._core.separable import make_cost
from fwlasso._core.threads import Workers
from fwlasso.certified.driver import follow
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.problem.passes import LocalPass, Probe
from fwlasso.problem.points import SolvedPath
from fwlasso.problem.unpenalized import without_free
from judge import Loss, exact, objective, ray_of, recomputed_gap, wide
from toys import ForkedPass, Huber, elastic_net

TOL = 1e-7
# A loss, and the parts of a ridge: as it is, and of lambda.
OBJECTIVES = {
    "huber": (Huber, 0.0, 0.0),
    "a ridge": (None, 3.0, 0.0),
    "elastic net": (None, 0.0, 1.0),
}


def make_problem(
    storage: str, fit_intercept: bool, workers: Workers, loss: Any = None
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Sixty samples of 500 columns, of which some are outliers; far more columns than the working set has."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 500)) * (rng.random((60, 500)) < (1.0 if storage == "dense" else 0.2))
    y = X[:, :8] @ rng.standard_normal(8) + 0.5 * rng.standard_normal(60) + 2.0
    y[::7] += 20.0 * rng.standard_normal(9)
    design = as_design(sp.csc_array(X) if storage == "csc" else np.asfortranarray(X))
    return build_problem(design, y, fit_intercept, False, workers, loss=loss), X, y


def tell(*_: Any, **__: Any) -> None:
    """Nothing ends the path."""


class HuberLoss(Loss):
    """The loss of `Huber` as the judge has it."""

    def __init__(self, y: np.ndarray, delta: float) -> None:
        self.y, self.delta = y, delta

    def values(self, eta: np.ndarray) -> np.ndarray:
        r = np.abs(self.y - eta)
        inside = np.minimum(r, self.delta)
        return inside**2 / 2 + self.delta * (r - inside)

    def residual(self, eta: np.ndarray) -> np.ndarray:
        return np.clip(self.y - eta, -self.delta, self.delta)

    def conjugates(self, theta: np.ndarray) -> np.ndarray:
        return np.where(np.abs(theta) <= self.delta, theta * (theta / 2 - self.y), np.inf)


def coefs_of(path: SolvedPath, p: int) -> np.ndarray:
    coefs = sp.csc_array((path.coefs, path.columns, path.indptr), shape=(p, path.gaps.size))
    return coefs.toarray().astype(np.longdouble).T


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("storage", ["dense", "csc"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_another_loss_and_another_cost_are_certified(name, storage, fit_intercept):
    loss, fixed, share = OBJECTIVES[name]
    with Workers(1) as workers:
        problem, X, y = make_problem(storage, fit_intercept, workers, loss)
        asked = General(ridge=fixed / 60.0, l1_ratio=1.0 / (1.0 + share))
        huber = None if loss is None else HuberLoss(wide(y), 1.0)
        given = exact(X, y, fit_intercept, False, asked, huber)
        largest = float(np.abs(ray_of(given, np.zeros(500, np.longdouble)).c).max())
        penalties = [L1(lam) for lam in largest * np.geomspace(1.1, 0.03, 14)]
        goal, problem = TOL * float(given.half_yy), problem._replace(cost=elastic_net(500, fixed, share))
        path = follow(problem, penalties, goal, 10_000, workers, tell, polish=loss is not None)
        best = follow(problem, penalties, 1e-2 * goal, 10_000, workers, tell, polish=loss is not None)
    assert set(path.statuses) == {Status.CERTIFIED}
    assert path.columns[: path.indptr[1]].size == 0
    assert np.diff(path.indptr)[-1] > 20
    for penalty, claimed, a, better in zip(penalties, path.gaps, coefs_of(path, 500), coefs_of(best, 500), strict=True):
        gaps = [recomputed_gap(given, penalty, coefs) * given.half_yy for coefs in (a, better)]
        assert gaps[0] <= 1.5 * claimed + 1e-3 * goal  # by another dual point
        assert gaps[1] <= 0.05 * goal
        assert objective(given, penalty, a) - objective(given, penalty, better) <= claimed <= goal


@pytest.mark.parametrize(("share", "n_free"), [(0.0, 0), (1.0, 0), (0.0, 3)], ids=["lasso", "elastic net", "free"])
@pytest.mark.parametrize(("storage", "fit_intercept"), [("dense", True), ("csc", False)])
def test_columns_in_two_processes_have_the_same_bits_as_in_one(share, n_free, storage, fit_intercept):
    with Workers(1) as workers:
        problem, _, _ = make_problem(storage, fit_intercept, workers)
        problem = problem._replace(cost=elastic_net(500, share=share))
        if n_free:
            slopes = np.where(np.isin(np.arange(500), [7, 249, 400]), 0.0, 1.0)
            cost = make_cost(500, slopes, 0.0, -np.inf, np.inf, fixed=0.0, share=0.0)
            problem = without_free(problem._replace(cost=cost), workers)
        penalties = [L1(lam) for lam in problem.lambda_max * np.geomspace(1.1, 0.02, 40)]
        here = follow(problem, penalties, TOL * problem.yy, 1000, workers, tell)
        m = problem.y.size - 1
        without = problem._replace(X=Dense(np.empty((0, m))), xty=np.empty(0), norms2=np.empty(0))
        with ForkedPass(problem) as columns:
            there = follow(without, penalties, TOL * problem.yy, 1000, workers, tell, columns=columns)
    assert set(here.statuses) == {Status.CERTIFIED}
    assert here.counts[:, 2].sum() > 3 * 500  # columns were read
    for mine, its in zip(here[:-2], there[:-2], strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("share", [0.0, 1.0], ids=["lasso", "elastic net"])
def test_a_pass_leaves_out_columns_that_the_objective_looks_at(share):
    rng = np.random.default_rng(4)
    with Workers(1) as workers:
        problem, X, _ = make_problem("dense", False, workers)
        problem = problem._replace(cost=elastic_net(500, share=share))
        columns, active, residual = LocalPass(problem, workers), np.array([3, 99, 250]), rng.standard_normal(61)
        lam = 0.2 * problem.lambda_max
        columns.begin(problem.lambda_max, 1.0)
        others, corrs = ~np.isin(np.arange(500), active), np.abs(X.T @ residual[:-1])
        residual *= 2.0 * lam / corrs.max()
        corrs *= 2.0 * lam / corrs.max()
        probe, excess = Probe(residual, lam, active, 0.0), np.maximum(corrs - lam, 0.0)

        def expected(which: np.ndarray, least: float) -> list[float]:
            largest = corrs[which].max(initial=least)
            return [largest] if share == 0.0 else [least, largest, float((excess[which] ** 2).sum() / (2.0 * lam))]

        assert columns.correlate([probe])[0] == pytest.approx(expected(others, 0.0))
        for some in (np.arange(500), np.array([3, 7]), np.array([7]), np.empty(0, np.int64)):
            found = columns.correlate_some(some, [probe])
            assert found.tops[0] == pytest.approx(expected(some[others[some]], lam))
            np.testing.assert_array_equal(found.violators, some[(corrs[some] > lam) & others[some]])

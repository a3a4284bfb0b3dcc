"""Penalties below rounding, and radii beyond all solutions: the work on a point has a bound, and its status a reason.

Work is counted, in rounds and in nodes: no clock is asked.
"""

import warnings
from functools import partial

import numpy as np
import pytest

from conftest import make_case
from fwlasso import Lasso, LassoPath, Status, lasso_path
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.subproblem.solve import Reached
from fwlasso._core.threads import Workers
from fwlasso.certified import follow
from fwlasso.certified.tuning import Tuning
from fwlasso.certified.working_set import WorkingSet
from fwlasso.problem.route import GRAM, WORKING_SET

ROUTES = pytest.mark.parametrize("solver", [GRAM, WORKING_SET])
FAR = {"alphas": np.geomspace(1.0, 1e-310, 60), "radii": np.geomspace(1e-2, 1e300, 60)}


def solved(X, y, **options) -> LassoPath:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lasso_path(X, y, **options)


def n_rounds(path: LassoPath) -> int:
    return int(path.counters.iterations.sum())


@pytest.fixture
def tall(rng):
    X = rng.standard_normal((200, 20))
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(200)


@pytest.fixture
def nodes(monkeypatch) -> list[tuple[Status, Reached]]:
    """What became of every penalty that a working set was solved for."""
    solved, solve = [], WorkingSet.solve

    def noted(self, members, aim, look):
        solved.append(solve(self, members, aim, look))
        return solved[-1]

    monkeypatch.setattr(WorkingSet, "solve", noted)
    return solved


def laeuchli(size: float, p: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ones above `size` times the identity: X'X has a condition of p / size^2."""
    return np.vstack([np.ones(p), size * np.eye(p)]), y[: p + 1]


@pytest.mark.parametrize("solver", ["certified", GRAM, WORKING_SET])
def test_a_penalty_below_rounding_takes_no_more_than_one_above(solver, tall, nodes):
    model = Lasso(1e-100, max_iter=50, solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*tall)
    path = model.path_
    assert path.statuses == (Status.PRECISION,)
    assert n_rounds(path) <= 50
    assert len(nodes) <= 60
    exact, *_ = np.linalg.lstsq(np.column_stack([tall[0], np.ones(200)]), tall[1], rcond=None)
    np.testing.assert_allclose(model.coef_, exact[:20], rtol=1e-10)


@ROUTES
@pytest.mark.parametrize("grid", FAR)
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_far_beyond_all_solutions_rounding_is_the_reason(solver, grid, tol, tall, nodes):
    path = solved(*tall, solver=solver, tol=tol, **{grid: FAR[grid]})
    assert path.ending is None
    assert set(path.statuses) == {Status.CERTIFIED, Status.PRECISION}
    # How many nodes are below rounding is for rounding to say: each of them ends a hundred rounds after the last gain.
    below = [reached.n_rounds for status, reached in nodes if status is Status.PRECISION]
    assert n_rounds(path) - sum(below) <= 150
    assert max(below, default=0) <= 150
    assert len(below) <= 20
    assert len(nodes) <= 200


@ROUTES
@pytest.mark.parametrize("size", [1e-4, 1e-8, 1e-10])
@pytest.mark.parametrize("grid", FAR)
def test_the_path_of_a_matrix_that_is_nearly_of_rank_one_ends(solver, size, grid, rng, nodes):
    X, y = laeuchli(size, 20, rng.standard_normal(21))
    path = solved(X, y, solver=solver, max_iter=200, tol=1e-8, **{grid: FAR[grid]})
    assert path.ending is None
    assert n_rounds(path) <= 60 * 200
    assert len(nodes) <= 60 * Tuning().most_nodes
    # The Gram matrix in float64 is of rank one, where it stalls; columns are not.
    assert set(path.statuses) - {Status.STALLED if solver == GRAM else None} <= {
        Status.CERTIFIED, Status.PRECISION, Status.MAX_ITER,
    }  # fmt: skip


@ROUTES
@pytest.mark.parametrize("target", [{"alphas": [1e-6]}, {"radii": [5.0]}], ids=str)
def test_the_iteration_limit_is_one_of_a_point_and_not_of_every_node(solver, target, rng):
    X = rng.standard_normal((60, 40))
    y = X[:, :20] @ np.ones(20) + rng.standard_normal(60)
    whole = solved(X, y, solver=solver, tol=1e-10, **target)
    assert whole.statuses == (Status.CERTIFIED,)
    (n_needed,) = whole.counters.iterations
    cut = solved(X, y, solver=solver, tol=1e-10, max_iter=int(n_needed) - 1, **target)
    assert cut.statuses == (Status.MAX_ITER,)
    assert 0 < n_rounds(cut) < n_needed
    assert cut.gaps[0] > 1e-10
    again = solved(X, y, solver=solver, tol=1e-10, max_iter=2 * int(n_needed), **target)
    np.testing.assert_array_equal(again.coefs.toarray(), whole.coefs.toarray())


@ROUTES
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_points_share_their_rounds_and_none_is_left_out(solver, grid, rng):
    X = rng.standard_normal((60, 40))
    y = X[:, :20] @ np.ones(20) + rng.standard_normal(60)
    path = solved(X, y, solver=solver, tol=1e-10, max_iter=2, **{grid: 30})
    assert len(path) == 30
    assert path.ending is None
    assert n_rounds(path) <= 30 * 2
    assert Status.MAX_ITER in path.statuses
    assert set(path.statuses) <= {Status.CERTIFIED, Status.MAX_ITER}
    assert np.isfinite(path.gaps).all()


@pytest.mark.parametrize("penalty", [L1, L1Ball])
def test_nodes_have_a_bound_of_their_own(penalty, tall, nodes):
    problem = make_case(*tall, units="centred").problem
    values = (problem.lambda_max if penalty is L1 else 1e-3) * FAR["alphas" if penalty is L1 else "radii"][::20]
    goal, ask = 1e-12 * problem.null_loss, partial(follow, workers=Workers(1), tell=lambda *_, **__: None)
    path = ask(problem, list(map(penalty, values)), goal, 10_000, tuning=Tuning(most_nodes=3))
    assert len(path.gaps) == 3
    assert len(nodes) <= 3 * 3


@pytest.mark.parametrize("solver", ["cd", "sfw", "fw", "afw", "pfw"])
@pytest.mark.parametrize("rule", ["gap", "change"])
def test_a_solver_of_single_points_ends_at_its_limit(solver, rule, tall):
    grid = "radii" if solver in ("afw", "pfw") else "alphas"
    path = solved(*tall, solver=solver, stop=rule, max_iter=100, random_state=0, **{grid: FAR[grid][-2:]})
    assert (path.counters.iterations <= 100).all()
    assert path.ending is None
    assert set(path.statuses) <= {Status.MAX_ITER, Status.SETTLED, Status.PRECISION}

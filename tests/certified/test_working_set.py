"""The penalized problem on some columns is solved to the gap asked for, whatever the columns are like."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso as ReferenceLasso

from conftest import UNITS, Case, make_case, random_values
from copied import copied, gap_and_objective, working_set
from fwlasso._core.penalties import L1
from fwlasso._core.subproblem.descent import SubIterate, descend, refresh
from fwlasso._core.subproblem.newton import newton_by_qr
from fwlasso._core.subproblem.products import MANY_ENTRIES
from fwlasso._core.subproblem.rounds import DONE, first_round
from fwlasso._core.threads import Workers
from fwlasso.certified.nodes import Start
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.status import Status
from judge import exact, recomputed_gap

NOTHING = np.empty(0, np.int64)
PENALIZED = -1.0  # a radius that asks for nothing


def look(n_rounds, gap):
    """Nothing ends the work."""


def solved(case: Case, columns, weight: float, tol: float, *, start=None, max_rounds=10_000, radius=PENALIZED):
    """Solve on `columns`; return the coefficients of all columns, what was said of them, and the node."""
    columns = np.asarray(columns, np.int64)
    with Workers(1) as workers:
        work = working_set(case.problem, workers)
        members = work.places(columns)
        if start is not None:
            work.start_at(Start(*start))
        result = work.solve(members, work.aim(weight, radius, tol * 0.5 * case.problem.yy, max_rounds), look)
        node = work.node(members, weight)
    a = np.zeros(case.problem.xty.size)
    a[node.columns] = node.coefs
    return a, result, node


def objective(case: Case, weight, a):
    return 0.5 * ((case.y - case.Z @ a) ** 2).sum() + weight * np.abs(a).sum()


def test_the_gap_asked_for_is_reached_for_every_storage_and_unit(case):
    for share in (0.5, 0.1, 0.01):
        weight = share * case.problem.lambda_max
        a, result, node = solved(case, np.arange(40), weight, 1e-9)
        assert result[0] is Status.CERTIFIED
        assert result[1].gap <= 1e-9 * 0.5 * case.problem.yy
        given = exact(case.Z, case.y, False, False)
        assert recomputed_gap(given, L1(weight), a.astype(np.longdouble)) <= 1e-9 + 1e-12
        best = ReferenceLasso(weight / 30, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(case.Z, case.y).coef_
        assert objective(case, weight, a) - objective(case, weight, best) <= 1e-9 * 0.5 * case.problem.yy
        np.testing.assert_allclose(case.Z @ a, case.Z @ best, atol=1e-4 * np.linalg.norm(case.y))
        assert node.lam == weight


def test_a_limit_on_rounds_is_named_and_the_gap_is_that_of_the_point(rng):
    case = make_case(rng.standard_normal((30, 60)), rng.standard_normal(30))
    weight = 0.01 * case.problem.lambda_max
    a, result, _ = solved(case, np.arange(60), weight, 1e-12, max_rounds=1)
    assert result[0] is Status.MAX_ITER
    assert result[1].n_rounds == 1
    given = exact(case.Z, case.y, False, False)
    true = recomputed_gap(given, L1(weight), a.astype(np.longdouble)) * given.half_yy
    assert result[1].gap == pytest.approx(float(true), rel=1e-6)


def test_the_gap_is_that_of_a_node_even_where_all_correlations_are_below_the_penalty(rng):
    """Too long a start leaves |z'r| < lambda; a node knows no more than that none is above it."""
    case = make_case(random_values(rng, 30, 5), rng.standard_normal(30))
    best = np.abs(case.problem.xty).argmax()
    weight = 0.5 * case.problem.lambda_max
    norm2 = case.problem.norms2[best]
    for excess in (1e-3, 1e-2, 0.1):
        long = case.problem.xty[best] * (0.5 + excess) / norm2
        _, result, node = solved(case, [best], weight, 1.0, start=(np.array([best]), np.array([long])))
        assert result[1].n_rounds == 0
        # lambda ||a||_1 - q'r with z'r = (0.5 - excess) z'y, where lambda = 0.5 z'y
        assert result[1].gap == pytest.approx(excess * abs(long * case.problem.xty[best]))
        assert result[1].gap == pytest.approx(weight * node.known.l1 - node.known.yr + node.known.rr)


@pytest.mark.parametrize("radius", [0.0, 1.0, 1e3, 1e6])
def test_a_large_ball_asks_for_small_correlations(radius, rng):
    """Beyond the norm of the solution the gap is radius ||X'r||_inf - q'r, whatever the gap for the penalty is."""
    X = rng.standard_normal((20, 6))
    case = make_case(X, X @ rng.standard_normal(6))  # without a rest all penalized gaps are tiny
    goal = 1e-6 * 0.5 * case.problem.yy
    weight = 0.3 * goal / max(radius, 10.0)
    a, result, node = solved(case, np.arange(6), weight, 1e-6, radius=radius)
    largest = np.abs(case.Z.T @ (case.y - case.Z @ a)).max()
    gap = max(radius, node.known.l1) * largest - node.known.yr + node.known.rr
    assert result[0] is Status.CERTIFIED
    assert gap <= goal + 1e-13 * max(radius, 1.0) * case.problem.lambda_max


def test_short_bursts_make_progress_and_the_look_between_them_can_end_the_work(monkeypatch, rng):
    """One look at all members may read more than a burst is meant to: columns are long where samples are many."""
    monkeypatch.setattr("fwlasso.certified.working_set.BURST_BYTES", 1)
    case = make_case(rng.standard_normal((30, 60)), rng.standard_normal(30))
    looks = []

    def ending(n_rounds, gap):
        looks.append((n_rounds, gap))
        if len(looks) == 3:
            raise KeyboardInterrupt
        assert len(looks) < 10_000, "no progress"

    with Workers(1) as workers:
        work = working_set(case.problem, workers)
        members = work.places(np.arange(60))
        with pytest.raises(KeyboardInterrupt):
            work.solve(
                members, work.aim(0.01 * case.problem.lambda_max, PENALIZED, 1e-12 * case.problem.yy, 1000), ending
            )
        assert [n for n, _ in looks] == sorted(n for n, _ in looks)
        result = work.solve(
            members, work.aim(0.01 * case.problem.lambda_max, PENALIZED, 1e-9 * case.problem.yy, 1000), ending
        )
    assert result[0] is Status.CERTIFIED


@pytest.mark.compiled
@pytest.mark.parametrize("units", ["raw", "standardized"])
def test_more_active_columns_than_cosines_are_kept_for(units):
    rng = np.random.default_rng(5)
    m, p = 3000, 2500
    looks: list[tuple[int, float]] = []
    X = sp.csc_array(sp.random(m, p, density=0.002, random_state=7) + sp.eye(m, p))
    y = X @ rng.standard_normal(p) + 0.1 * rng.standard_normal(m)
    with Workers(1) as workers:
        problem = build_problem(as_design(X), y, *UNITS[units], workers)
        work = working_set(problem, workers)
        members = work.places(np.arange(p))
        weight = 1e-4 * problem.lambda_max
        aim = work.aim(weight, PENALIZED, 1e-7 * 0.5 * problem.yy, 10_000)
        result = work.solve(members, aim, lambda *seen: looks.append(seen))
        node = work.node(members, weight)
    assert node.columns.size > 1500
    assert looks  # these steps are long: the clock is looked at after each
    assert result[0] is Status.CERTIFIED
    a = np.zeros(p)
    a[node.columns] = node.coefs
    Z, y = exact(X, y, *UNITS[units])[:2]
    Z, y = Z.astype(float), y.astype(float)
    r = y - Z @ a
    scale = min(1.0, weight / np.abs(Z.T @ r).max())
    dual = 0.5 * y @ y - 0.5 * ((y - scale * r) ** 2).sum()
    assert (0.5 * r @ r + weight * np.abs(a).sum() - dual) / (0.5 * y @ y) <= 1e-7 + 1e-12


def test_columns_of_many_entries_are_correlated_on_threads_and_the_threads_change_no_bit(rng):
    values = random_values(rng, 3000, 120, density=1.0)
    case = make_case(values, values[:, :20] @ rng.standard_normal(20) + rng.standard_normal(3000), units="standardized")
    weight = 0.01 * case.problem.lambda_max
    assert values.size > MANY_ENTRIES
    coefs = []
    for n_threads in (1, 2, 3):
        with Workers(n_threads) as workers:
            work = working_set(case.problem, workers)
            members = work.places(np.arange(120))
            result = work.solve(members, work.aim(weight, PENALIZED, 1e-9 * 0.5 * case.problem.yy, 100), look)
            node = work.node(members, weight)
        assert result[0] is Status.CERTIFIED
        coefs.append(np.zeros(120))
        coefs[-1][node.columns] = node.coefs
    np.testing.assert_array_equal(coefs[1], coefs[0])
    np.testing.assert_array_equal(coefs[2], coefs[0])
    residual = case.y - case.Z @ coefs[0]
    np.testing.assert_allclose(node.residual[:-1] - node.residual[-1] / 3000, residual, atol=1e-9)
    assert np.abs(case.Z.T @ residual).max() <= weight * (1 + 1e-4)


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
def test_nearly_equal_columns_are_told_apart_by_qr(storage, monkeypatch, rng):
    """One minus their cosine is rounding; where epochs and the factor of cosines lead nowhere, this one does."""
    base = rng.standard_normal(20)
    values = np.column_stack([base, base + 1e-9 * rng.standard_normal(20)])
    case = make_case(values, values @ [3e3, -3e3] + base, storage)
    weight = 1e-20 * case.problem.lambda_max
    copies, members = copied(case.problem), np.arange(2)
    best = np.linalg.lstsq(values, case.y, rcond=1e-16)[0]
    work = SubIterate(0.5 * best, np.zeros(2), np.zeros(21))
    refresh(copies, work, members)
    _, before = gap_and_objective(copies, work, members, weight)
    assert newton_by_qr(copies, work, members, weight) > 0
    _, after = gap_and_objective(copies, work, members, weight)
    assert after < before
    np.testing.assert_allclose(values @ work.coefs, case.y, atol=1e-7 * np.linalg.norm(case.y))
    monkeypatch.setattr("fwlasso._core.subproblem.newton._MOST_NUMBERS", 10)
    assert newton_by_qr(copies, work, members, weight) == 0


def test_numbers_that_are_not_finite_never_look_like_a_solution(rng):
    case = make_case(rng.standard_normal((20, 6)), rng.standard_normal(20))
    copies, members = copied(case.problem), np.arange(6)
    for coefs in (np.zeros(6), np.ones(6)):
        work = SubIterate(coefs.copy(), np.zeros(6), np.full(21, np.nan))
        gap, objective = gap_and_objective(copies, work, members, 0.1)
        assert np.isnan(gap)
        assert np.isnan(objective)
        descend(copies, work, members, 0.1, 0.0, 1.0)
        np.testing.assert_array_equal(work.coefs, coefs)  # no step was taken
    with Workers(1) as workers:
        work = working_set(case.problem, workers)
        members = work.places(members)
        work.start_at(Start(NOTHING, np.empty(0), np.full(21, np.nan)))
        result = work.solve(
            members, work.aim(0.1 * case.problem.lambda_max, PENALIZED, 1e-9 * case.problem.yy, 100), look
        )
        node = work.node(members, 0.1 * case.problem.lambda_max)
    assert np.isfinite(node.residual).all()
    assert result[0] is Status.CERTIFIED


def test_stalling_is_told_from_rounding(rng, monkeypatch):
    case = make_case(rng.standard_normal((30, 60)), rng.standard_normal(30))
    weight = 0.01 * case.problem.lambda_max
    _, result, _ = solved(case, np.arange(60), weight, 0.0)
    assert result[0] is not Status.STALLED
    with Workers(1) as workers:
        work = working_set(case.problem, workers)
        members = work.places(np.arange(60))
        ended = first_round(DONE)  # at once, with a gap that is large

        def end(copies, work, *_):
            gap_and_objective(copies, work, members, weight)
            return ended

        monkeypatch.setattr("fwlasso._core.subproblem.solve.advance", end)
        result = work.solve(members, work.aim(weight, PENALIZED, 1e-6, 100), look)
    assert result[0] is Status.STALLED

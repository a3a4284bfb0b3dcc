import numpy as np

from conftest import Case, make_case, random_values
from fwlasso._core.iterate import at, refresh, zero
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.solvers import covariances
from fwlasso.solvers.coordinate_descent import _cycle_over
from fwlasso.solvers.covariances import ActiveCovariates, Covariances, cycle_by_covariances


def test_more_columns_than_fit_are_forgotten(case: Case, monkeypatch):
    monkeypatch.setattr(covariances, "_MOST_COLUMNS", 6)
    known, G = Covariances(), case.Z.T @ case.Z
    for columns in (np.arange(5), np.arange(3, 8), np.arange(20, 26)):
        np.testing.assert_allclose(known.among(case.problem, columns), G[np.ix_(columns, columns)], atol=1e-9)
    assert known.n_missing(np.arange(20, 26)) == 0
    assert known.n_missing(np.arange(5)) == 15  # they would have to be bought again
    assert not known.pay_off(case.problem, np.arange(7))


def test_they_are_bought_once_as_much_is_spent(rng):
    case, known, columns = make_case(rng.standard_normal((30, 40)), np.ones(30)), Covariances(), np.array([1, 2, 3])
    assert not known.pay_off(case.problem, columns)
    known.spend(5)
    assert not known.pay_off(case.problem, columns)
    known.spend(1)
    assert known.pay_off(case.problem, columns)
    known.among(case.problem, columns[:2])
    assert known.n_missing(columns[1:]) == 2 + 1


def test_a_cycle_is_the_same_by_covariances_and_by_residuals(case: Case, rng):
    n_cycles = 5
    columns = np.flatnonzero(case.problem.norms2 > 0)[:12]
    start = zero(case.problem)._replace(active=columns, unscaled=rng.standard_normal(12), n_active=12)
    lam, places = 0.1 * case.problem.lambda_max, np.array([0, 2, 3, 7, 11])
    points = []
    for _ in range(2):
        point = start._replace(unscaled=start.unscaled.copy(), fitted=start.fitted.copy())
        points.append(refresh(case.problem, point))
    _cycle_over(case.problem, lam, points[0], places, -1.0, n_cycles)
    gram = Covariances().among(case.problem, columns[places])
    assert cycle_by_covariances(case.problem, lam, points[1], places, gram, -1.0, max_cycles=n_cycles) == n_cycles
    np.testing.assert_allclose(points[1].unscaled, points[0].unscaled, atol=1e-9)
    fresh = [refresh(case.problem, point).fitted for point in points]
    np.testing.assert_allclose(fresh[1], fresh[0], atol=1e-8)


def test_products_are_kept_of_as_many_columns_as_there_is_room_for(case: Case, rng):
    look_at_products(case.problem, case.Z, rng)


def test_products_of_a_fold_are_those_of_its_samples(rng):
    values, y, kept = random_values(rng, 30, 40), rng.standard_normal(30), np.arange(30) < 25
    problem = build_problem(as_design(values), y, True, False, Workers(1), kept)
    look_at_products(problem, (values - values[kept].mean(axis=0))[kept], rng)


def look_at_products(problem: Problem, Z: np.ndarray, rng: np.random.Generator) -> None:
    known, G, workers = ActiveCovariates(problem, 3 * problem.xty.nbytes), Z.T @ Z, Workers(1)
    for j in (4, 7, 9, 11, 13):
        assert known.take_in(problem, j, workers) == 40
    for columns, n_dots in (((9, 11, 13), 0), ((4, 9), 40), ((), 0)):  # the first two were forgotten
        point = at(problem, np.array(columns, np.int64), rng.standard_normal(len(columns)))
        products, spent = known.at(problem, point, workers)
        assert spent == n_dots
        np.testing.assert_allclose(products.at_point, G[:, columns] @ point.unscaled[: len(columns)], atol=1e-9)
        np.testing.assert_allclose(products.rows[products.row_of[[9, 11, 13]]], G[[9, 11, 13]], atol=1e-9)
    products.at_point[:] = 7.0
    assert known.at(problem, point._replace(scale=2.0, age=5), workers)[0].at_point[0] == 7.0  # the same, but scaled
    known.leave(point._replace(age=5))
    assert known.at(problem, point, workers)[0].at_point[0] == 0.0  # q was computed anew

import numpy as np
import pytest

from conftest import Case, make_case, random_values
from fwlasso.certificate import gap_of, max_correlations, residual, true_gap
from fwlasso.columns import sample_vector
from fwlasso.forms import Ball, Penalty
from fwlasso.iterate import correlation, move, zero
from fwlasso.parallel import Workers


def independent_gap(case: Case, form, a: np.ndarray) -> float:
    """The duality gap from its definition, on formed columns: primal minus the dual value of the scaled residual."""
    r = case.y - case.Z @ a
    largest = np.abs(case.Z.T @ r).max()
    if isinstance(form, Ball):
        return form.radius * largest - a @ (case.Z.T @ r)
    s = np.clip(case.y @ r / (r @ r), -form.weight / largest, form.weight / largest)
    primal = 0.5 * r @ r + form.weight * np.abs(a).sum()
    return primal - (0.5 * case.y @ case.y - 0.5 * ((case.y - s * r) ** 2).sum())


@pytest.mark.parametrize("form", [Ball(3.0), Penalty(0.7)])
def test_the_gap_is_the_one_from_the_definition(case: Case, form, rng):
    iterate, a = zero(case.problem), np.zeros(40)
    for j in (3, 9, 3, 21):
        push = rng.uniform(-0.5, 0.5)
        iterate, _ = move(case.problem, iterate, j, correlation(case.problem, iterate, j), 0.9, push)
        a *= 0.9
        a[j] += push
    with Workers(2) as workers:
        gap = true_gap(case.problem, form, iterate, workers)
    assert gap == pytest.approx(independent_gap(case, form, a), rel=1e-8)


def test_many_residuals_are_priced_in_one_pass(case: Case, rng):
    residuals = np.array([sample_vector(rng.standard_normal(30)) for _ in range(5)])
    with Workers(2) as workers:
        largest = max_correlations(case.problem.X, residuals, workers)
    np.testing.assert_allclose(largest, np.abs(residuals[:, :-1] @ case.Z).max(axis=1), rtol=1e-9)


def test_the_residual_knows_its_sum(rng):
    case = make_case(random_values(rng, 12, 5), rng.standard_normal(12), "csc64", "centred")
    iterate, _ = move(case.problem, zero(case.problem), 1, 0.0, 1.0, 2.0)
    r = residual(case.problem, iterate)
    assert r[-1] == pytest.approx(r[:-1].sum(), abs=1e-12)


def test_a_gap_is_never_reported_below_zero(rng):
    case = make_case(rng.standard_normal((6, 3)), rng.standard_normal(6))
    iterate = zero(case.problem)._replace(qq=1.0, qy=1.0 + 1e-15)
    assert gap_of(case.problem, Ball(0.0), iterate, 1.0) == 0.0


def test_of_a_point_that_is_not_a_number_nothing_is_known(case: Case):
    residuals = np.array([case.problem.y, np.full(case.problem.y.size, np.nan), case.problem.y])
    with Workers(2) as workers:
        largest = max_correlations(case.problem.X, residuals, workers)
    assert (np.isfinite(largest) == [True, False, True]).all()
    for form in (Ball(1.0), Penalty(0.5)):
        assert gap_of(case.problem, form, zero(case.problem), largest[1]) == np.inf

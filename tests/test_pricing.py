import numpy as np
import pytest

from conftest import Case, make_case
from fwlasso import parallel
from fwlasso.iterate import refresh, rescale, zero
from fwlasso.parallel import Workers
from fwlasso.solvers.pricing import correlations, largest


@pytest.fixture
def coefs(rng) -> np.ndarray:
    return rng.standard_normal(40) * (rng.random(40) < 0.3)


def point(case: Case, coefs: np.ndarray):
    active = np.flatnonzero(coefs)
    return refresh(
        case.problem, zero(case.problem)._replace(active=active, weights=coefs[active], n_active=active.size)
    )


def test_correlations_are_those_with_the_residual(case: Case, coefs):
    with Workers(1) as workers:
        corrs, n_dots = correlations(case.problem, rescale(point(case, coefs), 0.5), workers)
    expected = case.Z.T @ (case.y - 0.5 * case.Z @ coefs)
    np.testing.assert_allclose(corrs, expected, atol=1e-9)
    assert largest(corrs) == np.abs(corrs).max()
    assert n_dots == 40


def test_at_zero_they_are_known(case: Case):
    with Workers(1) as workers:
        corrs, n_dots = correlations(case.problem, zero(case.problem), workers)
    np.testing.assert_array_equal(corrs, case.problem.xty)
    assert n_dots == 0
    corrs[0] = 7.0  # they are the caller's own


def test_the_same_bits_for_any_number_of_threads(monkeypatch, rng):
    case = make_case(rng.standard_normal((30, 500)) + 1.0, rng.standard_normal(30), units="standardized")
    monkeypatch.setattr(parallel, "_CHUNK_BYTES", case.problem.nbytes // 20)
    a = rng.standard_normal(500)
    found = []
    for n_threads in (1, 2, 4):
        with Workers(n_threads) as workers:
            corrs, _ = correlations(case.problem, point(case, a), workers)
            found.append(corrs.tobytes())
    assert found[0] == found[1] == found[2]

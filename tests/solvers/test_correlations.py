"""Sums over all columns, at a point that is scaled."""

import numpy as np

from conftest import Case
from fwlasso._core.iterate import at, rescale, zero
from fwlasso._core.threads import Workers
from fwlasso.solvers.correlations import correlations


def test_they_are_those_of_numpy(case: Case, rng):
    coefs = rng.standard_normal(40) * (rng.random(40) < 0.3)
    active = np.flatnonzero(coefs)
    point = rescale(at(case.problem, active, coefs[active]), 0.5)
    with Workers(1) as workers:
        corrs, n_dots = correlations(case.problem, point, workers)
        known, none = correlations(case.problem, zero(case.problem), workers)
    np.testing.assert_allclose(corrs, case.Z.T @ (case.y - 0.5 * case.Z @ coefs), atol=1e-9)
    np.testing.assert_array_equal(known, case.problem.xty)
    assert (n_dots, none) == (40, 0)
    known[0] += 1.0  # they are the caller's own
    assert known[0] != case.problem.xty[0]

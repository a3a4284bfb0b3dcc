"""X that changes under a path: columns that are NaN by now are no columns without any correlation."""

from contextlib import contextmanager

import numpy as np
import pytest

from attack.altered import IN_PLACE, altered_after_first_pass, judge_altered
from attack.generators import altered_in_place
from attack.storages import STORAGES
from fwlasso import lasso_path
from fwlasso._core.costs import Plain
from fwlasso._core.gaps import GapTerms
from fwlasso._core.gram_targets import Targets
from fwlasso._core.moments import Moments
from fwlasso._core.penalties import L1
from fwlasso._core.samples import sample_vector
from fwlasso._core.sweeps import find_above
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.gram.problem import claims
from fwlasso.problem.build import build_problem
from fwlasso.problem.certificate import max_correlations
from fwlasso.problem.passes import LocalPass, Probe
from fwlasso.solvers.registry import SOLVERS


@contextmanager
def suppress_refusals():
    """Keep a ValueError for what was altered; others go on."""
    kept = []
    try:
        yield kept
    except ValueError as error:
        if not str(error).startswith("X was altered while the path was computed"):
            raise
        kept.append(error)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("storage", IN_PLACE)
@pytest.mark.filterwarnings("ignore")
def test_no_point_is_certified_on_columns_that_are_nan_by_now(solver, storage):
    n_refused = 0
    for seed in range(6):
        data = altered_in_place(np.random.default_rng(seed))
        X = STORAGES[storage](data.X)
        settings = {"solver": solver, "max_iter": 50, "random_state": seed, SOLVERS[solver].grids[0]: 5}
        with altered_after_first_pass(X, data.altered, (np.nan, np.inf)[seed % 2]), suppress_refusals() as refused:
            assert judge_altered(lasso_path(X, data.y, **settings, stop="gap")) == ()
        n_refused += len(refused)
    assert n_refused > 0 or solver == "gram"


@pytest.mark.parametrize("j", [0, 3, 7])
@pytest.mark.parametrize("n_residuals", [1, 2])
def test_a_pass_raises_wherever_the_column_is(j, n_residuals, rng):
    values = np.asfortranarray(rng.standard_normal((20, 8)))
    problem = build_problem(as_design(values), rng.standard_normal(20), True, False, Workers(1))
    residuals = [sample_vector(rng.standard_normal(20)) for _ in range(n_residuals)]
    probes = [Probe(residual, 1.0, np.empty(0, np.int64), 0.0) for residual in residuals]
    everything = LocalPass(problem, Workers(1))
    everything.begin(problem.lambda_max, 1.0)
    readings = (
        lambda: everything.correlate(probes),
        lambda: everything.insert(probes),
        lambda: everything.correlate_some(np.arange(8), probes).tops,
        lambda: max_correlations(problem.X, residuals, Workers(1)),
    )
    assert all(np.isfinite(read()).all() for read in readings)
    values[4, j] = np.nan
    for read in readings:
        with pytest.raises(ValueError, match="X was altered while the path was computed"):
            read()
    assert j in everything.survivors(1.0, 0.0)


def test_a_column_of_which_nothing_is_known_survives():
    ceiling, norms = np.array([0.5, np.nan, np.inf, 0.5], np.float32), np.array([0.1, 0.1, 0.1, np.nan], np.float32)
    assert find_above(ceiling, 1.0, norms, 1.0, 0, 4).tolist() == [1, 2, 3]
    assert find_above(ceiling, 1.0, ceiling, 0.0, 0, 4).tolist() == [1, 2]
    assert find_above(ceiling, 1.0, ceiling, np.nan, 0, 4).tolist() == [0, 1, 2, 3]


def test_a_dual_point_for_correlations_that_are_no_numbers_proves_nothing():
    terms, nothing = GapTerms(*np.linspace(0.1, 1.1, len(GapTerms._fields))), np.zeros((1, 1))
    moments = Moments(np.eye(1), np.ones(1), 1.0, np.ones(1), 1.0, 1, Plain())

    def claimed(terms):
        return claims(Targets(L1(0.5), np.array([0.5]), 0.0), moments, nothing, nothing, np.array([terms]).T)

    assert np.isfinite(claimed(terms)).all()
    assert (claimed(terms._replace(largest=np.nan, bound=np.nan)) == np.inf).all()

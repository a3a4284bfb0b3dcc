"""What is claimed of a point, by its residual alone, against long double."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import UNITS, Case, make_case, random_values
from fwlasso._core.iterate import at, correlation, move, refresh, zero
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.samples import sample_vector
from fwlasso._core.threads import Workers
from fwlasso.problem.certificate import estimate_gap, examine, max_correlations, prove, residual
from fwlasso.problem.claims import certify_iterates
from judge import U_JUDGE, U, exact, gap_of_residual, moved, rounding, untold


@pytest.mark.parametrize("penalty", [L1Ball(3.0), L1(0.7)])
def test_the_gap_is_the_one_from_the_definition(case: Case, penalty, rng):
    iterate, a = zero(case.problem), np.zeros(40)
    for j in (3, 9, 3, 21):
        push = rng.uniform(-0.5, 0.5)
        iterate, _ = move(case.problem, iterate, j, correlation(case.problem, iterate, j), 0.9, push)
        a *= 0.9
        a[j] += push
    iterate = refresh(case.problem, iterate)
    with Workers(2) as workers:
        ((gap, blur),) = certify_iterates(case.problem, [penalty], [iterate], workers)
        largest = max_correlations(case.problem.X, [residual(case.problem, iterate)], workers)
    given = exact(case.Z, case.y, False, False)
    truth = float(given.half_yy * gap_of_residual(given, penalty, a.astype(np.longdouble)))
    assert gap == pytest.approx(truth, rel=1e-8)
    assert gap - blur == pytest.approx(estimate_gap(case.problem, penalty, iterate, largest[0]), rel=1e-10)


def test_many_residuals_are_correlated_in_one_pass(case: Case, rng):
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
    assert estimate_gap(case.problem, L1Ball(0.0), iterate, 1.0) == 0.0
    known = examine(case.problem, case.problem.sizes(np.array([0])), np.array([1e-9]), case.problem.y, 1e-30)
    assert prove(case.problem, L1Ball(0.0), known._replace(yr=2.0 * known.rr)).gap == 0.0


def test_of_a_point_that_is_not_a_number_nothing_is_known(case: Case):
    residuals = np.array([case.problem.y, np.full(case.problem.y.size, np.nan), case.problem.y])
    residuals[2, 3] = np.inf
    with Workers(2) as workers:
        largest = max_correlations(case.problem.X, residuals, workers)
    assert (np.isfinite(largest) == [True, False, False]).all()
    one = np.array([1])
    for penalty in (L1Ball(1.0), L1(0.5)):
        assert estimate_gap(case.problem, penalty, zero(case.problem), largest[1]) == np.inf
        known = examine(case.problem, np.empty(0), np.empty(0), residuals[0], float(largest[0]))
        assert np.isfinite(prove(case.problem, penalty, known).gap)
        for field in known._fields:
            for bad in (np.nan, np.inf):
                assert prove(case.problem, penalty, known._replace(**{field: bad})) == (np.inf, 0.0)
        for r in residuals[1:]:  # even if somebody passed over what is not a number
            assert prove(case.problem, penalty, examine(case.problem, np.empty(0), np.empty(0), r, 1.0)).gap == np.inf
        for bad in (np.nan, np.inf):
            known = examine(case.problem, case.problem.sizes(one), np.array([bad]), residuals[0], 1.0)
            assert prove(case.problem, penalty, known).gap == np.inf


def points(rng: np.random.Generator, given, p: int):
    """Coefficients of all kinds: of few columns and of many, small and large, and those of least squares."""
    unit = np.sqrt(2 * given.half_yy) / given.norms
    best = np.linalg.lstsq((given.Z / given.norms).astype(float), given.y.astype(float), rcond=None)[0] / given.norms
    yield np.zeros(p)
    for share, size in ((0.1, 1.0), (1.0, 0.01), (0.5, 1e3), (0.3, 1e-9)):
        yield (size * rng.standard_normal(p) * unit * (rng.random(p) < share)).astype(float)
    yield best.astype(float)
    yield (best * (1 + 1e-9 * rng.standard_normal(p))).astype(float)
    few = np.argsort(-np.abs(given.Z.T @ given.y) / given.norms)[:2]
    best = np.zeros(p)
    best[few] = np.linalg.lstsq(given.Z[:, few].astype(float), given.y.astype(float), rcond=None)[0]
    yield best


@pytest.mark.long
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.sampled_from([2, 3, 8, 40]),
    p=st.sampled_from([2, 6, 20]),
    mean=st.sampled_from([0.0, 1.0, 3.0, 20.0, 1e2, 1e4, 1e8, 1e12, 1e14]),
    storage=st.sampled_from(["dense64", "dense32", "csc64", "csc32"]),
    units=st.sampled_from(list(UNITS)),
)
def test_a_claim_is_never_below_the_truth(seed, m, p, mean, storage, units):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((m, p)) + mean * rng.uniform(0.5, 1.0, p)
    if mean < 1e2:
        values *= rng.random((m, p)) < rng.choice([0.5, 1.0])
    if storage.endswith("32"):
        values = values.astype(np.float32).astype(float)
    values[:, np.ptp(values, axis=0) == 0.0] = np.eye(m)[:, :1]
    y = values[:, 0] - values[:, -1] + rng.choice([0.0, 0.1]) * rng.standard_normal(m) + rng.choice([0.0, 1.0, 1e9])
    if np.ptp(y) == 0.0:
        y[0] += 1.0
    case = make_case(values, y, storage, units)
    fit_intercept, standardize = UNITS[units]
    given = exact(values, y, fit_intercept, standardize)
    for a in points(rng, given, p):
        columns = np.flatnonzero(a)
        iterate = at(case.problem, columns, a[columns])
        wide, l1 = a.astype(np.longdouble), float(np.abs(a).sum())
        r = residual(case.problem, iterate)[:-1]
        lams = [share * given.lambda_max for share in (2.0, 1.0, 0.3, 1e-3, 1e-9)]
        penalties = [*map(L1, lams), *map(L1Ball, (l1, 1.5 * l1, 10.0 * l1 + 0.1))]
        claims = certify_iterates(case.problem, penalties, [iterate] * len(penalties), Workers(1))
        for penalty, (gap, blur) in zip(penalties, claims, strict=True):
            truth = gap_of_residual(given, penalty, wide, r)
            claimed = gap / case.problem.null_loss
            assert claimed >= truth - untold(given, penalty, wide), f"{penalty} claimed {claimed:.3e}, is {truth:.3e}"
            # No more is added than the formulas have, and by far the most of a gap that is one is told.
            sizes = [rounding(given, penalty, wide, standardized=standardize, stored=v) for v in (None, r)]
            most = 16.0 * max(sizes) + 1e-12 * claimed + untold(given, penalty, wide) * float(U / U_JUDGE)
            most += 4.0 * moved(given, penalty, wide, standardized=standardize)  # claims hold for both residuals
            assert 0.0 <= blur <= gap
            # Else the dual point is zero, or the residual is rounding, of which a claim takes the worst.
            is_told = np.linalg.norm(r) > 1e-7 * float(given.y_size + given.sizes @ np.abs(a))
            if isinstance(penalty, L1Ball) or (is_told and case.problem.y[:-1] @ r > 0.0):
                assert claimed <= truth * (1.0 + 1e-6) + most

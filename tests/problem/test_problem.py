import numpy as np
import pytest
import scipy.sparse as sp

from conftest import STORAGES, UNITS, Case, formed, make_case
from fwlasso._core.standardized import origins_of
from fwlasso._core.threads import Workers
from fwlasso.data.checks import as_response
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from judge import exact


def test_one_pass_tells_products_and_norms(case: Case):
    problem = case.problem
    np.testing.assert_allclose(problem.xty, case.Z.T @ case.y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(problem.norms2, (case.Z**2).sum(axis=0), rtol=1e-9, atol=1e-12)
    assert problem.yy == pytest.approx(case.y @ case.y)
    assert problem.lambda_max == pytest.approx(np.abs(case.Z.T @ case.y).max())
    assert problem.shape == case.Z.shape


def test_coefficients_go_back_to_the_units_of_the_user(case: Case, rng):
    active = np.array([1, 5, 6])
    weights = rng.standard_normal(3)
    coefs, (intercept, without) = case.problem.transform.to_user_units(np.array([0, 3, 3]), active, weights)
    y_mean = case.problem.units.y_mean + case.problem.units.y_origin
    assert without == y_mean
    raw = case.problem.X.columns if hasattr(case.problem.X, "columns") else case.problem.X
    dense = formed(raw)
    expected = case.Z[:, active] @ weights + y_mean
    np.testing.assert_allclose(dense[:, active] @ coefs + intercept, expected, rtol=1e-9, atol=1e-9)


def test_coefficients_come_back_from_the_units_of_the_user(case: Case, rng):
    active = np.array([1, 5, 6, 33])
    weights = rng.standard_normal(4)
    coefs = np.zeros(40)
    coefs[active], _ = case.problem.transform.to_user_units(np.array([0, 4]), active, weights)
    indices, back = case.problem.from_user_units(coefs)
    np.testing.assert_array_equal(indices, active)
    np.testing.assert_allclose(back, weights, rtol=1e-15)


@pytest.mark.parametrize("units", ["centred", "standardized"])
def test_coefficients_of_constant_columns_do_not_come_back(units, rng):
    values = np.column_stack([rng.standard_normal(7), np.full(7, 3.0), rng.standard_normal(7)])
    problem = make_case(values, rng.standard_normal(7), units=units).problem
    indices, weights = problem.from_user_units(np.array([2.0, 5.0, -1.0]))
    np.testing.assert_array_equal(indices, [0, 2])
    back, _ = problem.transform.to_user_units(np.array([0, 2]), indices, weights)
    np.testing.assert_allclose(back, [2.0, -1.0], rtol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("wrap", [np.asfortranarray, sp.csc_array])
def test_nan_infinity_and_overflow_in_x_are_found_in_the_first_pass(bad, wrap):
    values = np.ones((3, 4))
    values[1, 2] = bad
    with pytest.raises(ValueError, match=r"X contains NaN, infinity.* in column 2$"):
        build_problem(as_design(wrap(values)), np.arange(3.0), True, False, Workers(1))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
        ([1.0, np.inf, 2.0], "y contains NaN"),
        (np.ones((3, 2)), "y should be a 1d array"),
        (["a", "b", "c"], "convert string|y"),
    ],
)
def test_bad_responses_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        as_response(y, 3)


def far_columns(rng, m=30):
    """Near zero, years, times, an identifier of 1e14, and no more than thirty spreads from zero."""
    X = rng.standard_normal((m, 5))
    X[:, 1] = 1990 + np.arange(m) % 30
    X[:, 2] = 1.7e9 + np.round(86400 * rng.random(m))
    X[:, 3] = 1e14 + np.round(100 * X[:, 3])
    X[:, 4] += 20.0
    return X


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
@pytest.mark.parametrize("standardize", [False, True])
def test_far_columns_are_counted_from_a_number_of_their_own(storage, standardize, rng):
    values = far_columns(rng)
    y = values[:, 0] + 1e-5 * (values[:, 2] - 1.7e9) + rng.standard_normal(30)
    units = "standardized" if standardize else "centred"
    problem = make_case(values, y, storage, units).problem
    origins = origins_of(problem.X)
    np.testing.assert_array_equal(origins != 0.0, [False, True, True, True, False])
    for j in (1, 2, 3):
        assert origins[j] in values[:, j]
    assert (np.abs(problem.X.means) < 2.0 * values.std(axis=0) + 25.0).all()
    given = exact(values, y, True, standardize)
    np.testing.assert_allclose(problem.norms2, (given.norms**2).astype(float), rtol=1e-13)
    np.testing.assert_allclose(problem.xty, (given.Z.T @ given.y).astype(float), rtol=1e-12)
    sizes = problem.sizes(np.arange(5))
    assert sizes.max() == pytest.approx(problem.largest)
    assert (sizes >= np.sqrt(problem.norms2)).all()
    assert (sizes[1:4] <= 2.0 * np.sqrt(problem.norms2[1:4])).all()


def test_ordinary_columns_and_those_without_an_intercept_are_counted_from_zero(rng):
    near = rng.standard_normal((30, 3)) + 5.0
    assert not origins_of(make_case(near, near[:, 0], units="standardized").problem.X).any()
    problem = make_case(far_columns(rng), near[:, 0], units="raw").problem
    assert not origins_of(problem.X).any()
    # A zero that is not stored stays one.
    values = far_columns(rng)
    values[3, 1] = 0.0
    origins = origins_of(make_case(values, near[:, 0], "csc64", "centred").problem.X)
    np.testing.assert_array_equal(origins != 0.0, [False, False, True, True, False])


@pytest.mark.parametrize("storage", ["dense64", "dense32", "csc64"])
@pytest.mark.parametrize("units", ["centred", "standardized"])
def test_what_varies_by_the_last_bit_is_data(storage, units, rng):
    kind = np.float32 if storage == "dense32" else np.float64
    values = np.full((9, 3), kind(0.1))
    values[:, 2] = rng.standard_normal(9)
    values[4, 0] = np.nextafter(kind(0.1), kind(1.0))
    y = rng.standard_normal(9)
    problem = make_case(values, y, storage, units).problem
    assert problem.norms2[1] == problem.xty[1] == 0.0
    given = exact(values, y, *UNITS[units])
    np.testing.assert_allclose(problem.norms2, (given.norms**2).astype(float), rtol=1e-14)
    np.testing.assert_allclose(problem.xty, (given.Z.T @ given.y).astype(float), rtol=1e-10)


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
@pytest.mark.parametrize("n_rows", [7, 10, 1000])
def test_exactly_constant_columns_are_dropped_also_of_some_samples(storage, n_rows, rng):
    values = rng.standard_normal((n_rows, 4))
    values[:, 0] = 0.1
    values[:, 1] = np.where(np.arange(n_rows) < 3, 7.0, 0.1)
    values[:, 2] = np.where(np.arange(n_rows) < 3, 1.0, 0.0)
    kept = np.arange(n_rows) >= 3
    for standardize in (False, True):
        problem = build_problem(
            as_design(STORAGES[storage](values)), rng.standard_normal(n_rows), True, standardize, Workers(1), kept
        )
        np.testing.assert_array_equal(problem.norms2[:3], 0.0)
        np.testing.assert_array_equal(problem.xty[:3], 0.0)
        np.testing.assert_array_equal(problem.X.factors[:3], 0.0)
        assert problem.norms2[3] > 0.0


def test_samples_that_are_left_out_have_no_say(rng):
    """Neither in the number that columns and y are counted from, nor in the power of two they are scaled by."""
    values, y = far_columns(rng), rng.standard_normal(30)
    kept = np.arange(30) >= 3
    others, other_y = values.copy(), y.copy()
    others[:3] = [0.0, -1e100, 3.0, 5.0, 1e150], [1.0] * 5, [0.0] * 5
    other_y[:3] = 1e200, -1e300, 7.0
    one, other = (
        build_problem(as_design(np.asfortranarray(X)), v, True, True, Workers(1), kept)
        for X, v in ((values, y), (others, other_y))
    )
    assert one.units == other.units
    assert one.yy == other.yy > 0.0
    for mine, theirs in ((one.xty, other.xty), (one.norms2, other.norms2), (one.y, other.y)):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(origins_of(one.X), origins_of(other.X))


@pytest.mark.parametrize("mean", [0.0, 1.7e9, -1e15])
def test_a_response_far_from_zero_keeps_its_digits(mean, rng):
    y = mean + np.round(rng.standard_normal(20), 1) * (1e-4 if abs(mean) < 1e12 else 10.0)
    problem = make_case(rng.standard_normal((20, 3)), y, units="centred").problem
    given = exact(np.eye(20), y, True, False)
    assert problem.units.y_origin in y
    np.testing.assert_allclose(problem.y[:-1], given.y.astype(float), rtol=1e-13, atol=1e-15 * np.abs(given.y).max())
    assert problem.yy == pytest.approx(float(2 * given.half_yy), rel=1e-14)
    assert problem.y_size <= 1.5 * np.sqrt(problem.yy)


def test_a_constant_response_is_zero(rng):
    problem = make_case(rng.standard_normal((7, 2)), np.full(7, 0.1), units="centred").problem
    assert problem.yy == problem.lambda_max == problem.y_size == 0.0
    assert problem.null_loss == 1.0
    assert problem.transform.to_user_units(np.array([0, 0]), np.empty(0, np.int64), np.empty(0))[1] == [0.1]


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e300])
def test_a_response_of_extreme_size_is_scaled_by_a_power_of_two(unit, rng):
    values, y = rng.standard_normal((20, 4)), rng.standard_normal(20) + 2.0
    problem = make_case(values, unit * y, units="centred").problem
    assert 0.25 <= np.abs(np.ldexp(unit * y, problem.units.y_power)).max() <= 1.0
    assert 1e-3 < problem.yy < 1e3
    coefs, intercept = problem.transform.to_user_units(np.array([0, 1]), np.array([2]), np.array([0.5]))
    assert coefs == np.ldexp(0.5, -problem.units.y_power)
    mean = (unit * y).astype(np.longdouble).mean()
    assert float(intercept[0] - (mean - coefs[0] * values[:, 2].mean())) == pytest.approx(
        0.0, abs=4e-16 * unit + 1e-323
    )
    indices, weights = problem.from_user_units(np.array([0.0, 0.0, coefs[0], 0.0]))
    assert (indices.tolist(), weights.tolist()) == ([2], [0.5])


@pytest.mark.parametrize("unit", [1e-170, 1e-150, 1e150])
@pytest.mark.parametrize("units", UNITS)
def test_columns_of_extreme_size_make_the_same_problem(unit, units, rng):
    values, y = rng.standard_normal((20, 4)), rng.standard_normal(20) + 2.0
    unit = 2.0 ** np.round(np.log2(unit))
    plain, problem = make_case(values, y, units=units).problem, make_case(unit * values, y, units=units).problem
    assert (problem.units.x_power == 0) == UNITS[units][1]
    scale = np.ldexp(unit, problem.units.x_power) if problem.units.x_power else 1.0
    np.testing.assert_allclose(problem.norms2, scale**2 * plain.norms2, rtol=1e-14)
    np.testing.assert_allclose(problem.xty, scale * plain.xty, rtol=1e-13)
    active, weights = np.array([0, 3]), np.array([0.5, -2.0])
    coefs, intercepts = problem.transform.to_user_units(np.array([0, 2]), active, weights)
    expected, intercept = plain.transform.to_user_units(np.array([0, 2]), active, scale * weights)
    np.testing.assert_allclose(coefs, expected / unit, rtol=1e-14)
    np.testing.assert_allclose(intercepts, intercept, rtol=1e-13, atol=1e-13)
    indices, back = problem.from_user_units(np.array([coefs[0], 0.0, 0.0, coefs[1]]))
    np.testing.assert_array_equal(indices, active)
    np.testing.assert_allclose(back, weights, rtol=1e-15)


def test_columns_that_vary_too_little_are_refused_by_name(rng):
    values = rng.standard_normal((20, 3)) * [1.0, 1e-202, 1.0]
    for units in UNITS:
        with pytest.raises(ValueError, match=r"varies by less than 1e-200.* in column 1$"):
            make_case(values, rng.standard_normal(20), units=units)
    make_case(values * [1.0, 1e4, 1.0], rng.standard_normal(20))


def test_intercepts_are_added_up_in_long_double(rng):
    """Of means of 1e14 and coefficients that cancel nothing is lost but the rounding of the result."""
    values = far_columns(rng)
    problem = make_case(values, rng.standard_normal(30), units="centred").problem
    coefs, (intercept,) = problem.transform.to_user_units(
        np.array([0, 3]), np.array([0, 2, 3]), np.array([1.0, -3.0, 2.0**-10])
    )
    wide = values.astype(np.longdouble)
    y_mean = np.longdouble(problem.units.y_mean) + problem.units.y_origin
    means = [(v - v[0]).mean() + v[0] for v in wide[:, [0, 2, 3]].T]
    assert abs(intercept - (y_mean - coefs @ np.array(means))) <= 2.0**-53 * abs(intercept) * 1.01

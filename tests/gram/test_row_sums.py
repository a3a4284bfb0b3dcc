"""The pass over rows: sums, moments, folds and the closing pass, against long double."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import STORAGES, UNITS, held, random_values
from fwlasso._core.gram_targets import Targets
from fwlasso._core.moments import gamma
from fwlasso._core.penalties import L1, L1Ball
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.gram.blocks import cut_rows
from fwlasso.gram.centring import moments
from fwlasso.gram.closing import sums_on_data
from fwlasso.gram.folds import constant_columns, held_out_errors, total_sums, training_sums
from fwlasso.gram.problem import claims
from fwlasso.gram.row_sums import row_sums

LONG = np.longdouble
#: Small enough for one block without BLAS, and too large for it.
SHAPES = [(1, 1), (2, 3), (40, 7), (3000, 60)]


def sums_of(X, y, fit_intercept=True, n_threads=1, fold_of=None):
    with Workers(n_threads) as workers:
        return row_sums(as_design(X).columns, y, fit_intercept, workers, fold_of)


def exact_columns(values, y, fit_intercept, standardize):
    """Return z_j and y in long double."""
    Z, v = values.astype(LONG), y.astype(LONG)
    if fit_intercept:
        Z, v = Z - Z[0], v - v[0]  # exact, and the means have more digits
        Z, v = Z - Z.mean(axis=0), v - v.mean()
    if standardize:
        scale = np.sqrt((Z**2).mean(axis=0))
        Z = Z / np.where(scale > 0.0, scale, 1.0)
    return Z, v


def assert_bounds_hold(found, Z, y):
    """Of `Moments`, as its docstring says."""
    unit = gamma(float(found.n_ops))
    assert (np.abs(found.gram - Z.T @ Z) <= unit * np.outer(found.norms, found.norms)).all()
    assert (np.abs(found.xty - Z.T @ y) <= unit * found.norms * found.y_norm).all()
    assert abs(found.yy - y @ y) <= unit * found.y_norm**2
    assert (np.sqrt((Z**2).sum(axis=0)) <= found.norms * (1 + 1e-15)).all()
    assert np.sqrt(y @ y) <= found.y_norm * (1 + 1e-15)
    assert (found.gram == found.gram.T).all()


@pytest.mark.parametrize("m_p", SHAPES, ids=str)
@pytest.mark.parametrize("folds", ["none", "blocks", "mixed"])
def test_sums_are_those_of_long_double_with_any_number_of_threads(storage, m_p, folds, rng):
    m, p = m_p
    for density in (0.05, 0.7):
        values = held(storage, random_values(rng, m, p, density))
        y = rng.standard_normal(m) + 100.0
        fold_of = {"none": None, "blocks": np.arange(m) * 3 // m, "mixed": rng.integers(0, 3, m)}[folds]
        for fit_intercept in (True, False):
            X = STORAGES[storage](values)
            found, *others = (sums_of(X, y, fit_intercept, n, fold_of) for n in (1, 2, 3))
            for other in others:
                assert all((a.products == b.products).all() for a, b in zip(found, other, strict=True))
            for fold, sums in enumerate(found):
                kept = slice(None) if fold_of is None else fold_of == fold
                Z = np.column_stack([np.ones(m), values, y])[kept].astype(LONG) - sums.coordinates.shifts
                limit = gamma(float(sums.n_ops)) * np.sqrt(np.outer(sums.norms2, sums.norms2))
                assert (np.abs(sums.products - Z.T @ Z) <= limit).all()
                assert (sums.products == sums.products.T).all()
                assert sums.n_rows == len(Z)


def test_full_columns_far_from_zero_are_shifted_by_a_number_of_theirs(rng):
    values = rng.standard_normal((50, 3)) + np.array([0.0, 1e9, 1e9])
    values[0, 1] = 0.0  # which is not stored
    for X, expected in ((values[:, [0, 2]], [False, True]), (sp.csc_array(values), [False, False, True])):
        (sums,) = sums_of(X, rng.standard_normal(50))
        shifts = sums.coordinates.shifts[1:-1]
        assert (shifts != 0.0).tolist() == expected
        assert shifts[-1] in values[:, 2]


def test_a_shift_that_the_sample_gets_wrong_is_mended(rng):
    values = 1e-8 * rng.standard_normal((4000, 2))
    values[np.arange(4000) % 500 > 20] += 1.0  # most of the runs of rows that are looked at are not shifted
    values[3000:] += 1e8
    y = rng.standard_normal(4000)
    (sums,) = sums_of(values, y)
    found, _ = moments(sums, True, True)
    assert_bounds_hold(found, *exact_columns(values, y, True, True))


def test_rows_are_cut_into_few_blocks_of_even_size():
    for m, p in itertools.product((1, 255, 256, 5000, 12_289, 100_000), (1, 300, 5000)):
        sizes = np.diff(cut_rows(m, p))
        assert sizes.sum() == m
        assert np.ptp(sizes) <= 1
        assert sizes.max() <= 1024
        assert sizes.size == 1 or sizes.min() >= 128


@pytest.mark.parametrize(
    ("storage", "m_p", "bad"),
    [
        ("dense64", (30, 4), np.nan),
        ("dense64", (3000, 60), np.inf),
        ("dense32", (3000, 60), np.nan),
        ("csc64", (30, 4), -np.inf),
        ("csc64", (3000, 60), np.nan),
    ],
)
def test_what_is_not_finite_is_named(storage, m_p, bad, rng):
    values = random_values(rng, *m_p, density=0.05)
    values[m_p[0] // 2, [1, 3]] = bad
    for n_threads in (1, 2):
        with pytest.raises(ValueError, match=r"X contains NaN, infinity .* in columns 1, 3$"):
            sums_of(STORAGES[storage](values), np.ones(m_p[0]), n_threads=n_threads)
    columns, names = as_design(STORAGES[storage](values)).columns, ("a", "b", "c", "d", *map(str, range(4, m_p[1])))
    with Workers(1) as workers, pytest.raises(ValueError, match=r"in columns 'b', 'd'$"):
        row_sums(columns, np.ones(m_p[0]), True, workers, None, names)


@pytest.mark.parametrize(("storage", "m_p"), [("dense64", (30, 4)), ("dense64", (3000, 60)), ("csc64", (3000, 60))])
@pytest.mark.parametrize("exponent", [-1060, -520, 510, 1000])
@pytest.mark.parametrize("standardize", [False, True])
def test_squares_beyond_the_range_are_scaled(storage, exponent, standardize, m_p, rng):
    values = random_values(rng, *m_p, density=0.08)
    values[0] = 1.0
    y = rng.standard_normal(m_p[0])
    (plain,) = sums_of(STORAGES[storage](values), y)
    (scaled,) = sums_of(STORAGES[storage](np.ldexp(values, exponent)), y)
    expected, _ = moments(plain, True, standardize)
    found, centre = moments(scaled, True, standardize)
    x_scale = np.ldexp(1.0, centre.transform.units.x_power)
    if standardize:
        np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12, atol=1e-9)
    else:
        unit = np.ldexp(x_scale, exponent)
        np.testing.assert_allclose(found.gram / unit / unit, expected.gram, rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(centre.factors * scaled.coordinates.scales[1:-1], x_scale)
    assert_bounds_hold(found, *exact_columns(np.ldexp(values, exponent) * LONG(x_scale), y, True, standardize))


def test_a_column_beyond_the_range_beside_others(rng):
    values = rng.standard_normal((60, 4))
    values *= [1.0, 1e-200, 1e-320 / np.abs(values[:, 2]).max(), 1e200]
    y = 1e-170 * rng.standard_normal(60)
    (sums,) = sums_of(values, y)
    found, centre = moments(sums, True, True)
    assert_bounds_hold(found, *(part.astype(LONG) for part in _scaled(values, y, centre)))
    (sums,) = sums_of(values[:, :3], y)
    found, centre = moments(sums, True, False)
    assert centre.transform.units.x_power == 0
    assert_bounds_hold(found, *_scaled(values[:, :3], y, centre, standardize=False))


def _scaled(values, y, centre, standardize=True):
    return exact_columns(values.astype(LONG), y * LONG(centre.y_scale), True, standardize)


HARD = {
    "plain": lambda X, rng: X,
    "means 1e9 spreads": lambda X, rng: X + 1e9 * rng.standard_normal(X.shape[1]),
    "unix times": lambda X, rng: 1.7e9 + np.sort(86400 * rng.random(X.shape), axis=0),
    "uniform": lambda X, rng: rng.random(X.shape),
    "scales": lambda X, rng: X * 10.0 ** rng.integers(-12, 12, X.shape[1]),
    "copies": lambda X, rng: X[:, [0] * X.shape[1]] + 1e-9 * X,
    "one ulp": lambda X, rng: 1.0 + 2.0**-52 * (rng.random(X.shape) < 0.3),
    "outliers": lambda X, rng: np.where(rng.random(X.shape) < 2 / len(X), 1e8, 1.0) * X,
    "ids": lambda X, rng: 1e9 + np.arange(X.size).reshape(X.shape[::-1]).T,
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("m", [25, 5000])
def test_the_bounds_of_moments_hold(kind, m, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = HARD[kind](rng.standard_normal((m, 12)), rng)
    y = values[:, 0] - values[:, 1] + 1e4 + rng.standard_normal(m)
    (sums,) = sums_of(values, y, fit_intercept)
    found, _ = moments(sums, fit_intercept, standardize)
    assert_bounds_hold(found, *exact_columns(values, y, fit_intercept, standardize))
    if fit_intercept:
        assert (found.norms <= 10.0 * np.sqrt(found.gram.diagonal())).all()


@pytest.mark.parametrize(
    ("storage", "m_p"), [("dense64", (30, 4)), ("dense32", (3000, 60)), ("csc64", (3000, 60)), ("bed", (30, 4))]
)
def test_constant_columns_become_zero_columns(storage, m_p, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = held(storage, random_values(rng, *m_p))
    values[:, 1], values[:, 3] = 0.0, 2.0 if storage == "bed" else 0.1
    if storage == "dense32":
        values = values.astype(np.float32).astype(np.float64)
    (sums,) = sums_of(STORAGES[storage](values), rng.standard_normal(m_p[0]), fit_intercept)
    found, centre = moments(sums, fit_intercept, standardize)
    is_zero = ~values.any(axis=0) | (fit_intercept & (np.ptp(values, axis=0) == 0.0))
    assert is_zero[1]
    assert is_zero[3] == fit_intercept
    assert ((centre.factors == 0.0) == is_zero).all()
    assert not found.gram[is_zero].any()
    assert not found.xty[is_zero].any()
    assert not found.norms[is_zero].any()


@pytest.mark.parametrize("m_p", [(30, 4), (3000, 60)], ids=str)
def test_a_constant_response_is_zero(m_p, rng):
    (sums,) = sums_of(rng.standard_normal(m_p), np.full(m_p[0], 0.1))
    found, centre = moments(sums, True, False)
    assert found.yy == found.y_norm == 0.0
    assert not found.xty.any()
    assert centre.coordinates.shifts[-1] + centre.y_mean == 0.1


def rare(values):
    """Put all that is large of a column into the first fold."""
    values[:, 2] = 1e-3 * values[:, 2]
    values[0, 2] = 1e6
    return values


@pytest.mark.parametrize("storage", ["dense64", "dense32", "csc64", "bed"])
@pytest.mark.parametrize("change", [lambda values: values, rare], ids=["by subtraction", "by addition"])
def test_training_sums(storage, change, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = held(storage, random_values(rng, 400, 8))
    if storage != "bed":
        values = change(values).astype(np.float32).astype(np.float64)
    y, fold_of = rng.standard_normal(400) + 5.0, rng.permutation(np.arange(400) % 5)
    fold_of[0], fold_of[np.flatnonzero(fold_of == 0)[0]] = 0, fold_of[0]
    X = STORAGES[storage](values)
    folds = sums_of(X, y, fit_intercept, fold_of=fold_of)
    total = total_sums(folds)
    for k in range(5):
        training, rows = training_sums(folds, total, k), np.flatnonzero(fold_of != k)
        assert training.n_rows == rows.size
        assert (training.norms2 <= 900.1 * training.products.diagonal()).all()
        constant = constant_columns(as_design(X).columns, y, training, rows, fit_intercept)
        assert not constant.any()
        found, _ = moments(training, fit_intercept, standardize, constant)
        assert_bounds_hold(found, *exact_columns(values[rows], y[rows], fit_intercept, standardize))


@pytest.mark.parametrize("storage", ["dense64", "dense32", "csc64", "bed"])
def test_columns_that_are_constant_on_the_training_rows_are_found_on_the_data(storage, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = held(storage, random_values(rng, 90, 5, 0.9))
    fold_of = np.arange(90) * 3 // 90
    constant, zero = (2.0, 0.0) if storage == "bed" else (np.float32(0.1), 0.0)
    values[fold_of != 1, 1], values[fold_of != 1, 3] = constant, zero
    X = STORAGES[storage](values)
    y = np.where(fold_of == 1, rng.standard_normal(90), 0.3)
    folds = sums_of(X, y, fit_intercept, fold_of=fold_of)
    values = as_design(X).columns if storage == "bed" else values
    for k in range(3):
        training, rows = training_sums(folds, total_sums(folds), k), np.flatnonzero(fold_of != k)
        found = constant_columns(as_design(X).columns, y, training, rows, fit_intercept)
        assert found.tolist() == [False, k == 1 and fit_intercept, False, k == 1, False, k == 1 and fit_intercept]
        assert np.isfinite(moments(training, fit_intercept, standardize, found)[0].norms).all()


@pytest.mark.parametrize("kind", ["plain", "means 1e9 spreads", "outliers"])
def test_held_out_errors_are_those_of_predictions(kind, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = HARD[kind](rng.standard_normal((300, 6)), rng)
    y = values[:, 0] - values[:, 1] + rng.standard_normal(300)
    fold_of = np.minimum(np.arange(300), 3)  # three folds of one row
    folds = sums_of(values, y, fit_intercept, fold_of=fold_of)
    shifts = folds[0].coordinates.shifts
    for k in range(4):
        training, held_out = training_sums(folds, total_sums(folds), k), fold_of == k
        _, centre = moments(training, fit_intercept, standardize)
        weights = rng.standard_normal((7, 6))
        errors, limits = held_out_errors(folds[k], centre, weights)
        Z = values[held_out].astype(LONG) - shifts[1:-1] - centre.means
        v = y[held_out].astype(LONG) - shifts[-1] - centre.y_mean
        expected = ((v[:, None] - (Z * centre.factors) @ weights.T.astype(LONG)) ** 2).mean(axis=0)
        assert (np.abs(errors - expected) <= limits + 1e-14 * errors).all()
        assert (limits <= 1e-9 * (1.0 + errors)).all() or kind != "plain"


@pytest.mark.parametrize("kind", ["plain", "means 1e9 spreads", "copies", "scales"])
@pytest.mark.parametrize("m", [40, 3000])
def test_the_closing_pass_bounds_gaps_on_the_data(kind, m, units, rng):
    fit_intercept, standardize = UNITS[units]
    values = HARD[kind](rng.standard_normal((m, 8)), rng)
    y = (values[:, 0] - values[:, 1]) / np.abs(values[:, 0]).max() + 10.0 + rng.standard_normal(m)
    (sums,) = sums_of(values, y, fit_intercept)
    found, centre = moments(sums, fit_intercept, standardize)
    weights = np.vstack([np.zeros(8), rng.standard_normal((3, 8)) / found.norms])
    (told, told_corrs), (again, again_corrs) = (on_data(values, y, found, centre, weights, n) for n in (2, 1))
    np.testing.assert_array_equal(told_corrs, again_corrs)
    assert all((a == b).all() for a, b in zip(told, again, strict=True))
    Z, v = exact_columns(values, y, fit_intercept, standardize)
    R = v[:, None] - Z @ weights.T.astype(LONG)
    rr, yr, corrs = (R**2).sum(axis=0), v @ R, Z.T @ R
    largest = np.abs(corrs).max(axis=0)
    assert (rr <= (told.rr + told.rr_error) * (1 + 1e-15)).all()
    assert (yr >= (told.yr - told.yr_error) * (1 - 1e-15)).all()
    assert (largest <= told.bound * (1 + 1e-15)).all()
    np.testing.assert_allclose(told.rr, rr.astype(float), rtol=1e-9)
    lams, l1 = 0.3 * told.bound, np.abs(weights).sum(axis=1)
    s = np.minimum(lams / largest, yr / rr)
    gaps = rr / 2 + lams * l1 - s * yr + s**2 * rr / 2
    claimed, rounding = claims(Targets(L1(0.0), lams, 0.0), found, weights, told_corrs, np.array(told))
    assert (claimed >= gaps * (1 - 1e-12)).all()
    assert (rounding < 1e-6 * claimed + 1e-9 * found.yy).all()
    np.testing.assert_allclose(claimed, gaps.astype(float), rtol=1e-6, atol=1e-9 * found.yy)
    radii = 2.0 * l1 + 1.0
    gaps = radii * largest - (corrs * weights.T).sum(axis=0)
    claimed, _ = claims(Targets(L1Ball(0.0), radii, 0.0), found, weights, told_corrs, np.array(told))
    assert (claimed >= gaps * (1 - 1e-12)).all()
    np.testing.assert_allclose(claimed, gaps.astype(float), rtol=1e-6)


def on_data(values, y, found, centre, weights, n_threads=1):
    with Workers(n_threads) as workers:
        return sums_on_data(as_design(values).columns, y, found, centre, weights, workers)


def test_a_residual_that_is_no_number_certifies_nothing(rng):
    values, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    (sums,) = sums_of(values, y)
    found, centre = moments(sums, True, False)
    weights = np.array([[0.0, np.nan, 0.0], [0.0, 0.0, 0.0]])
    told, corrs = on_data(values, y, found, centre, weights)
    gaps, _ = claims(Targets(L1(0.0), np.ones(2), 0.0), found, weights, corrs, np.array(told))
    assert not gaps[0] <= 1e300
    assert gaps[1] <= 1e300

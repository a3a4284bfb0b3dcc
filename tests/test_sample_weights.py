"""Weights of the samples below the public options: every route and solver, judged apart from all of them."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from conftest import SOME_PAIRS, STORAGES, UNITS, held, random_values
from fwlasso import LassoPath, Status
from fwlasso._core.moments import gamma
from fwlasso._core.samples import as_samples
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.gram.centring import moments
from fwlasso.gram.closing import sums_on_data
from fwlasso.gram.problem import AnyProblem
from fwlasso.gram.row_sums import row_sums
from fwlasso.gram.subsets import GramSubsets
from fwlasso.options import Options
from fwlasso.path import Context, solve, solve_context
from fwlasso.problem.build import build_problem

#: How weights are made: three decades with zeros, whole numbers, a few that count, all sizes.
WEIGHTS = ["decades", "integers", "few", "sevens", "huge", "tiny"]
RADIAL = {"fw", "sfw", "afw", "pfw"}


def make_weights(kind: str, m: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "integers":
        return rng.integers(0, 4, m).astype(float)
    if kind == "sevens":
        return np.full(m, 7.0)
    w = 10.0 ** rng.uniform(-1.5, 1.5, m)
    w[rng.random(m) < 0.2] = 0.0
    if kind == "few":
        w[rng.random(m) < 0.5] *= 1e-9
    w[:3] = 1.0, 0.5, 2.0
    return w * {"huge": 1e150, "tiny": 1e-150}.get(kind, 1.0)


class Made(NamedTuple):
    X: Any
    values: np.ndarray
    y: np.ndarray
    w: np.ndarray


def make(storage: str, kind: str, m: int, p: int, seed: int) -> Made:
    rng = np.random.default_rng(seed)
    values = held(storage, random_values(rng, m, p, rng.choice([0.15, 0.5, 1.0])))
    if seed % 3 == 0 and not storage.startswith(("csc", "bed")):
        values = values + np.where(np.arange(p) % 4 == 0, 1000.0, 0.0)  # means far from zero
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 3.0
    return Made(STORAGES[storage](values), values, y, make_weights(kind, m, rng))


def make_problem(context: Context, way: str, weights: np.ndarray | None, kept: np.ndarray | None) -> AnyProblem:
    data, units = context.data, (context.options.fit_intercept, context.options.standardize)
    if way == "gram":
        masks = [] if kept is None else [kept]
        grams = GramSubsets(data, masks, *units, context.workers, weights=weights)
        return grams.whole() if kept is None else grams.part(0)
    return build_problem(data.design, data.response, *units, context.workers, kept, weights=weights)


def solve_weighted(
    way: str, X: Any, y: np.ndarray, weights: np.ndarray | None, units: str, *, kept: Any = None, **settings: Any
) -> LassoPath:
    """Solve by a route of the certified path, or by a solver."""
    fit_intercept, standardize = UNITS[units]
    grid = {} if settings.keys() & {"alphas", "radii"} else {"radii" if way in RADIAL else "alphas": 6}
    asked = {**grid, "tol": 1e-7, "stop": "gap", "max_iter": 200_000, **settings}
    options = Options(
        solver=way, n_threads=1, random_state=0, fit_intercept=fit_intercept, standardize=standardize, **asked
    )
    with solve_context(X, y, options) as context, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return solve(*context.begin(), make_problem(context, way, weights, kept))


def judged(path: LassoPath, values: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Check every claim of a path by its gaps in long double, in the metric of the weights; return them."""
    Z, v, w = (given.astype(np.longdouble) for given in (values, y, w / w.max()))
    total, mean = w.sum(), np.longdouble(0.0)
    if path.settings["fit_intercept"]:
        mean = w @ v / total
        Z, v = Z - w @ Z / total, v - mean
    if path.settings["standardize"]:
        scale = np.sqrt(w @ Z**2 / total)
        Z = np.divide(Z, scale, out=np.zeros_like(Z), where=scale > 1e-15 * np.abs(values).max(axis=0))
    half_yy, gaps = w @ v**2 / 2, []
    for k, a in enumerate(path.scaled_coefs.toarray().T.astype(np.longdouble)):
        r = v - Z @ a
        c = Z.T @ (w * r)
        largest, rr, yr, l1 = np.abs(c).max(), w @ r**2, w @ (v * r), np.abs(a).sum()
        if path.settings["grid"] == "radii":
            gap = path.radii[k] * largest - a @ c
            assert l1 <= path.radii[k] * (1 + 1e-13)
        else:
            lam = path.alphas[k] * total
            s = min(lam / largest, yr / rr)
            gap = rr / 2 + lam * l1 - s * yr + s * s * rr / 2
        gaps.append(gap / half_yy)
        assert path.gaps[k] >= gaps[-1] - 1e-15, f"point {k}: claimed {path.gaps[k]:.2e}, is {gaps[-1]:.2e}"
        # Coefficients of users make the same predictions on the samples that are there.
        there = w > 0
        predicted = values[there].astype(np.longdouble) @ path.coefs.toarray()[:, k] + path.intercepts[k]
        size = np.abs(values[there]) @ np.abs(path.coefs.toarray()[:, k]) + np.abs(y[there]).max()
        assert (np.abs(predicted - ((Z @ a)[there] + mean)) <= 1e-13 * size).all()
    return np.array(gaps, float)


@pytest.mark.parametrize(("storage", "units"), [("dense32", "scaled"), ("bed", "centred"), *SOME_PAIRS])
@pytest.mark.parametrize("way", ["working-set", "gram"])
def test_certified_paths_are_true_and_reach_their_gaps(way, storage, units):
    for seed in range(24):
        kind = WEIGHTS[seed % len(WEIGHTS)]
        m, p = [(30, 12), (24, 50)][seed // 6 % 2]
        made = make(storage, kind, m, p, seed)
        path = solve_weighted(way, made.X, made.y, made.w, units)
        judged(path, made.values, made.y, made.w)
        # Where columns vary by samples of little weight alone, rounding may be what is left.
        assert all(status is Status.CERTIFIED for status in path.statuses) or kind == "few", (kind, path.statuses)


@pytest.mark.parametrize("way", ["working-set", "gram"])
def test_certified_paths_over_radii_are_true(way, some_storage, some_units):
    for seed in range(12):
        kind = WEIGHTS[seed % len(WEIGHTS)]
        made = make(some_storage, kind, 30, [12, 40][seed // 6], seed)
        path = solve_weighted(way, made.X, made.y, made.w, some_units, radii=6)
        judged(path, made.values, made.y, made.w)
        assert all(status is Status.CERTIFIED for status in path.statuses) or kind == "few", (kind, path.statuses)


@pytest.mark.parametrize("way", ["working-set", "gram"])
def test_folds_of_weighted_samples_are_true(way, some_storage, some_units):
    for seed in range(24):
        kind = WEIGHTS[seed % len(WEIGHTS)]
        m, p = [(40, 12), (30, 50)][seed // 6 % 2]
        made = make(some_storage, kind, m, p, seed)
        kept = np.random.default_rng(seed).random(m) < 0.7
        kept[:5] = True
        path = solve_weighted(way, made.X, made.y, made.w, some_units, kept=kept)
        judged(path, made.values, made.y, made.w * kept)
        assert all(status is Status.CERTIFIED for status in path.statuses) or kind == "few", (kind, path.statuses)
        assert path.settings["n_samples"] == np.count_nonzero(made.w * kept)


@pytest.mark.parametrize("way", ["cd", "fw", "sfw", "afw", "pfw"])
def test_other_solvers_are_true_and_reach_their_gaps(way, some_storage, some_units):
    for seed in range(12):
        kind = WEIGHTS[seed % len(WEIGHTS)]
        made = make(some_storage, kind, 30, [12, 40][seed // 6], seed)
        path = solve_weighted(way, made.X, made.y, made.w, some_units, tol=1e-2 if way in {"fw", "sfw"} else 1e-6)
        judged(path, made.values, made.y, made.w)
        assert all(status is Status.CERTIFIED for status in path.statuses) or kind == "few", (kind, path.statuses)


@pytest.mark.parametrize("way", ["working-set", "gram", "cd", "fw", "sfw"])
def test_whole_numbers_repeat_zero_removes_and_all_may_be_larger(way, some_storage, some_units):
    for seed in range(6):
        made = make(some_storage, "integers", 30, [12, 40][seed % 2], seed)
        times, settings = made.w.astype(int), {"tol": 1e-3 if way in {"fw", "sfw"} else 1e-13}
        path = solve_weighted(way, made.X, made.y, made.w, some_units, **settings)
        settings["radii" if way in RADIAL else "alphas"] = path.radii if way in RADIAL else path.alphas
        rows, there = np.repeat(np.arange(times.size), times), times > 0
        repeated = STORAGES[some_storage](made.values[rows])
        assert_same(solve_weighted(way, repeated, made.y[rows], None, some_units, **settings), path)
        assert_same(solve_weighted(way, made.X, made.y, 7.0 * made.w, some_units, **settings), path)
        w = np.where(there, 0.3 + times, 0.0)
        assert_same(
            solve_weighted(
                way, STORAGES[some_storage](made.values[there]), made.y[there], w[there], some_units, **settings
            ),
            solve_weighted(way, made.X, made.y, w, some_units, **settings),
        )


def assert_same(path: LassoPath, other: LassoPath, atol: float = 1e-10) -> None:
    """Compare all that is told in units that do not depend on the sum of weights."""
    for name in ("alphas", "radii", "r2", "intercepts"):
        found, expected = getattr(path, name), getattr(other, name)
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol * max(1.0, np.abs(expected).max()), err_msg=name)
    found, expected = path.coefs.toarray(), other.coefs.toarray()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol * np.abs(expected).max())


@pytest.mark.parametrize("way", ["working-set", "gram", "cd", "sfw"])
def test_weights_of_one_are_none_to_the_bit(way, some_storage, some_units):
    made = make(some_storage, "integers", 30, 40, 1)
    path = solve_weighted(way, made.X, made.y, np.ones(30), some_units)
    plain = solve_weighted(way, made.X, made.y, None, some_units)
    for name in ("alphas", "radii", "r2", "intercepts", "gaps"):
        np.testing.assert_array_equal(getattr(path, name), getattr(plain, name))
    np.testing.assert_array_equal(path.coefs.toarray(), plain.coefs.toarray())


def test_samples_of_weight_zero_have_no_say(rng):
    made = make("dense64", "decades", 30, 20, 4)
    out = made.w == 0.0
    X, y = np.where(out[:, None], 77.0, made.X), np.where(out, -99.0, made.y)
    for way in ("working-set", "gram", "cd"):
        path, other = (
            solve_weighted(way, np.asfortranarray(Z), v, made.w, "standardized") for Z, v in ((made.X, made.y), (X, y))
        )
        np.testing.assert_array_equal(path.coefs.toarray(), other.coefs.toarray())


@pytest.mark.parametrize(
    "weights", [[1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [0.0, 0.0], [1.0], [[1.0, 1.0]]], ids=str
)
def test_what_are_no_weights_is_refused_by_name(weights):
    with pytest.raises(ValueError, match="weights"):
        as_samples(2, np.array(weights))
    with pytest.raises(ValueError, match="weights"):
        as_samples(2, np.array([0.0, 1.0]), np.array([True, False]))


def in_metric(values: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centred columns and the response, times the roots of the weights, in long double."""
    Z, v, w = (given.astype(np.longdouble) for given in (values, y, w))
    return (Z - w @ Z / w.sum()) * np.sqrt(w)[:, None], (v - w @ v / w.sum()) * np.sqrt(w)


@pytest.mark.parametrize("density", [0.05, 0.9])  # by the entries of sparse rows, and in blocks
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_rounding_of_weighted_sums_and_residuals_is_within_its_bounds(density, shift, rng):
    m, p = 3000, 60
    values = (rng.standard_normal((m, p)) + shift) * (rng.random((m, p)) < density)
    y, w = values[:, 0] + rng.standard_normal(m) + 100.0, make_weights("decades", m, rng)
    Z, v = in_metric(values, y, w)
    for X in (np.asfortranarray(values), sp.csc_array(values)):
        with Workers(1) as workers:
            samples = as_samples(m, w)
            (sums,) = row_sums(as_design(X).columns, y, True, workers, samples=samples)
            found, centre = moments(sums, True, False)
            assert sums.n_rows == np.count_nonzero(w)
            coefs = np.vstack([np.zeros(p), rng.standard_normal((3, p)) / found.norms])
            told, _ = sums_on_data(as_design(X).columns, y, found, centre, coefs, workers, samples=samples)
        unit = gamma(float(found.n_ops))
        assert (np.abs(found.gram - Z.T @ Z) <= unit * np.outer(found.norms, found.norms)).all()
        assert (np.abs(found.xty - Z.T @ v) <= unit * found.norms * found.y_norm).all()
        assert abs(found.yy - v @ v) <= unit * found.y_norm**2
        np.testing.assert_allclose(found.yy, float(v @ v), rtol=1e-11)
        R = v[:, None] - Z @ coefs.T.astype(np.longdouble)
        rr, largest = (R**2).sum(axis=0), np.abs(Z.T @ R).max(axis=0)
        assert (rr <= (told.rr + told.rr_error) * (1 + 1e-15)).all()
        assert (v @ R >= (told.yr - told.yr_error) * (1 - 1e-15)).all()
        assert (largest <= told.bound * (1 + 1e-15)).all()
        np.testing.assert_allclose(told.rr, rr.astype(float), rtol=1e-9)
        np.testing.assert_allclose(told.bound, largest.astype(float), rtol=1e-6)


def test_a_column_may_vary_by_samples_of_little_weight_alone(some_units):
    # Nearly all of the weight is where it has entries, all alike: what is left of a difference would be rounding.
    m = 12
    values, w = np.zeros((m, 2)), np.where(np.arange(m) < 9, 0.1, 1e-17 * (1.0 + np.arange(m)))
    values[:9, 0], values[:, 1] = 5.0, np.arange(m) % 3
    fit_intercept, standardize = UNITS[some_units]
    with Workers(1) as workers:
        design, y = as_design(sp.csc_array(values)), np.arange(m) % 5.0
        problem = build_problem(design, y, fit_intercept, standardize, workers, weights=w)
    Z, _ = in_metric(values, y, w) if fit_intercept else (values * np.sqrt(w)[:, None], y)
    norms2 = np.full(2, w.sum()) if standardize else (Z**2).sum(axis=0).astype(float)
    np.testing.assert_allclose(problem.norms2, norms2, rtol=1e-9)
    if standardize:
        np.testing.assert_allclose(problem.X.factors, np.sqrt(w.sum() / (Z**2).sum(axis=0)).astype(float), rtol=1e-9)


@pytest.mark.parametrize("way", ["working-set", "gram"])
def test_a_column_that_is_constant_where_there_is_weight_stays_out(way, some_storage):
    made = make(some_storage, "decades", 30, 12, 1)
    values = made.values.copy()
    values[made.w > 0.0, 0] = 0.1
    path = solve_weighted(way, STORAGES[some_storage](values), made.y, made.w, "standardized")
    assert not path.coefs.toarray()[0].any()
    judged(path, values.astype(np.float32).astype(float) if some_storage.endswith("32") else values, made.y, made.w)

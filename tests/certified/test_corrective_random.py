"""The certified path on random and degenerate problems, before the same judge as in test_corrective.py."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import STORAGES
from fwlasso import LassoPath, Status, lasso_path
from judge import Exact, exact, forms_of, judge, rounding, solve

pytestmark = pytest.mark.filterwarnings("ignore:.*all models are empty")  # as they are, on some of the problems


class Given(NamedTuple):
    """A random problem and what is asked of it."""

    values: np.ndarray
    y: np.ndarray
    options: dict[str, Any]
    storage: str

    @property
    def exact(self) -> Exact:
        return exact(self.values, self.y, self.options["fit_intercept"], self.options["standardize"])

    def solve(self, **grid: Any) -> LassoPath:
        return solve(STORAGES[self.storage](self.values), self.y, **self.options, **grid)


def plain(rng, X):
    return X


def integers(rng, X):
    return rng.integers(-3, 4, X.shape).astype(float)


def zeros_and_constants(rng, X):
    X = X * (rng.random(X.shape[1]) < 0.7)
    X[:, rng.random(X.shape[1]) < 0.3] = rng.choice([1.0, 0.1, -7.0])
    return X


def thinned(rng, X):
    return X * (rng.random(X.shape) < 0.3)


def copied(rng, X):
    p = X.shape[1]
    return X[:, rng.integers(0, p, p)] * rng.choice([-1.0, 1.0], p)


def nearly_copied(rng, X):
    p = X.shape[1]
    return X[:, rng.integers(0, max(1, p // 3), p)] * rng.choice([-1.0, 1.0], p) + (
        10.0 ** rng.integers(-12, -2) * rng.standard_normal(X.shape)
    )


def correlated(rng, X):
    return X + np.sqrt(999.0) * rng.standard_normal((X.shape[0], 1))  # at .999


def rescaled(rng, X):
    return X * 10.0 ** rng.integers(-8, 9, X.shape[1])


def dependent(rng, X):
    return X[:, :2] @ rng.standard_normal((X[:, :2].shape[1], X.shape[1]))


TWISTS = [plain, integers, zeros_and_constants, thinned, copied, nearly_copied, correlated, rescaled, dependent]


@st.composite
def problems(draw, twists=TWISTS, smallest_tol=-9):
    m, p = draw(st.sampled_from([1, 2, 3, 5, 12, 25])), draw(st.sampled_from([1, 2, 4, 10, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((m, p))
    for twist in draw(st.lists(st.sampled_from(twists), min_size=1, max_size=2)):
        X = twist(rng, X)
    signal = X[:, :3] @ rng.standard_normal(min(3, p)) / (np.abs(X[:, :3]).max() or 1.0)
    noise = draw(st.sampled_from([0.0, 0.1, 1.0]))
    y = signal + noise * rng.standard_normal(m) + draw(st.sampled_from([0.0, 5.0]))
    options = {
        "fit_intercept": draw(st.booleans()),
        "standardize": draw(st.booleans()),
        "tol": 10.0 ** draw(st.integers(smallest_tol, -4)),
    }
    return Given(X, y, options, draw(st.sampled_from(["dense64", "csc64"])))


def shares(values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=8)


def unit_norm(given: Given) -> float:
    """||y|| over the largest ||z_j||: the l1 norm of a solution is some multiple of it."""
    return float(1 / given.exact.size(1.0)) if given.exact.norms.max() > 0 else 1.0


@settings(max_examples=200)
@given(problems(), shares([1.5, 1.0, 0.999, 0.9, 0.5, 0.3, 0.1, 0.05, 0.01, 0.003, 0.001]))
def test_penalized_paths_are_certified(given, alphas):
    path = given.solve(alphas=given.exact.lambda_max / given.y.size * np.array(alphas))
    assert len(path) == len(alphas)
    judge(path, given.values, given.y)


@settings(max_examples=200)
@given(problems(), shares([0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0, 100.0, 1e4]))
def test_constrained_paths_are_certified(given, radii):
    path = given.solve(radii=unit_norm(given) * np.array(radii))
    assert len(path) == len(radii)
    judge(path, given.values, given.y)


@settings(max_examples=100)
@given(problems([nearly_copied]), st.booleans(), st.integers(2, 20))
def test_automatic_grids_over_near_duplicates_are_certified(given, over_radii, n_points):
    path = given.solve(eps=1e-2, **{"radii" if over_radii else "alphas": n_points})
    assert len(path) == n_points
    judge(path, given.values, given.y)


TO_ZERO = st.sampled_from([(0.0,), (1.0, 0.1, 0.0), (1e-3, 1e-12, 0.0), (0.0, 0.0)])


@settings(max_examples=60)
@given(problems([twist for twist in TWISTS if twist is not nearly_copied], smallest_tol=-6), TO_ZERO)
def test_paths_down_to_no_penalty_are_least_squares(given, alphas):
    """With no penalty there is no dual point, and the last points need not be certified.

    They are answered at 1e-9 lambda_max. Least squares cannot be better than that answer by more than its own penalty
    there.
    """
    path = given.solve(alphas=given.exact.lambda_max / given.y.size * np.array(alphas))
    judge(path, given.values, given.y, certified=False)
    best = np.linalg.lstsq(given.exact.Z.astype(float), given.exact.y.astype(float), rcond=1e-13)[0]
    objective = ((given.exact.y - given.exact.Z @ best) ** 2).sum() / 2
    objective += 1e-9 * given.exact.lambda_max * abs(best).sum()
    assert path.r2[-1] >= 1 - objective / given.exact.half_yy - 1e-4 or given.exact.lambda_max == 0.0


@settings(max_examples=60)
@given(problems([plain, integers, thinned, rescaled]), st.integers(-100, 100), st.booleans())
def test_units_of_the_response_do_not_matter(given, exponent, over_radii):
    """By a power of two, not even for the bits."""
    unit = 2.0**exponent
    one = unit_norm(given) if over_radii else given.exact.lambda_max / given.y.size
    grid = one * np.array([0.7, 0.2, 0.05])
    name = "radii" if over_radii else "alphas"
    path, scaled = given.solve(**{name: grid}), given._replace(y=unit * given.y).solve(**{name: unit * grid})
    np.testing.assert_array_equal(scaled.coefs.toarray(), unit * path.coefs.toarray())
    np.testing.assert_array_equal(scaled.gaps, path.gaps)
    assert scaled.statuses == path.statuses


@pytest.mark.parametrize("unit", [1e-100, 1e-30, 1e30, 1e100])
@pytest.mark.parametrize("of", ["response", "columns"])
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_extreme_units_are_certified(unit, of, grid, data):
    values, y = data
    values, y = (values, unit * y) if of == "response" else (unit * values, y)
    path = lasso_path(values, y, tol=1e-6, **{grid: 6})
    assert set(path.statuses) == {Status.CERTIFIED}
    judge(path, values, y)


@pytest.mark.compiled
@pytest.mark.parametrize("tol", [0.0, 1e-17])
@pytest.mark.parametrize("grid", [{"alphas": 30, "eps": 1e-4}, {"radii": 30}, {"radii": [1.0, 1.0 + 1e-15, 100.0]}])
def test_a_tolerance_below_rounding_ends_with_what_rounding_leaves(tol, grid, data):
    values, y = data
    path = solve(values, y, tol=tol, **grid)
    given = exact(values, y, True, False)
    for gap, penalty, a in zip(judge(path, values, y), forms_of(path), path.scaled_coefs.toarray().T, strict=True):
        assert gap <= 10 * rounding(given, penalty, a)


@pytest.mark.parametrize("tol", [0.0, 1e-6])
def test_penalties_that_crowd_ever_closer_end(tol, data):
    values, y = data
    crowd = 0.3 * (1.0 + 0.3 ** np.arange(40))
    for grid in ({"alphas": crowd}, {"radii": crowd[::-1]}):
        path = solve(values, y, tol=tol, **grid)
        assert len(path) == 40
        judge(path, values, y, certified=tol > 0.0)

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as ReferenceLasso

from conftest import POINTWISE, STORAGES, UNITS, held, make_case, plain_columns, random_values
from fwlasso import AdaptiveRule, QuantileRule, Status, lasso_path
from fwlasso._core.iterate import zero
from fwlasso._core.penalties import L1Ball
from fwlasso.problem.certificate import estimate_gap
from fwlasso.solvers.registry import SOLVERS
from judge import exact, forms_of, gap_of_residual

HUGE_RANGE = np.array([[1e-8, 1e8], [2e-8, -1e8], [0.0, 1e8]])
BOTH = pytest.mark.parametrize("solver", ["certified", "sfw"])


@pytest.mark.parametrize("solver", POINTWISE)
def test_claimed_gaps_are_the_true_ones_for_every_storage_unit_and_solver(solver, storage, units, data):
    """Each gap is computed again, on formed columns; those of the certified path in certified/test_corrective.py."""
    values, y = data
    fit_intercept, standardize = UNITS[units]
    values = held(storage, values)
    X = STORAGES[storage](values)
    grid = {"alphas": 4} if SOLVERS[solver].grids[0] == "alphas" else {"radii": [0.2, 0.8, 1.6]}
    path = lasso_path(
        X, y, solver=solver, fit_intercept=fit_intercept, standardize=standardize, random_state=0, eps=0.1, **grid
    )
    given, coefs = exact(values, y, fit_intercept, standardize), path.scaled_coefs.toarray()
    for k, penalty in enumerate(forms_of(path)):
        gap = float(gap_of_residual(given, penalty, coefs[:, k].astype(np.longdouble)))
        assert path.gaps[k] == pytest.approx(gap, rel=1e-5, abs=1e-9)
    fitted = (given.Z @ coefs).astype(float) + (y.mean() if fit_intercept else 0.0)
    np.testing.assert_allclose(path.predict(values), fitted, atol=1e-8)
    np.testing.assert_allclose(path.r2, 1 - ((y[:, None] - fitted) ** 2).sum(0) / float(2 * given.half_yy), atol=1e-9)


@BOTH
def test_the_automatic_grid_of_radii_is_that_of_the_paper(rng, solver):
    values, y = random_values(rng, 30, 40), rng.standard_normal(30)
    case = make_case(values, y, units="standardized")
    radii = lasso_path(values, y, radii=3, eps=0.01, solver=solver, standardize=True, random_state=0).radii
    exact = ReferenceLasso(0.01 * case.problem.lambda_max / 30, fit_intercept=False, tol=1e-12, max_iter=10**6)
    assert radii[-1] == pytest.approx(np.abs(exact.fit(case.Z, case.y).coef_).sum(), rel=1e-2)
    np.testing.assert_allclose(radii / radii[-1], [0.01, 0.1, 1.0])


@pytest.mark.parametrize(("shape", "eps"), [((30, 20), 1e-4), ((20, 20), 1e-4), ((20, 30), 1e-2)])
@pytest.mark.parametrize(("solver", "grid"), [("certified", "alphas"), ("sfw", "radii")])
def test_the_default_grid_is_by_shape_and_solver(shape, eps, solver, grid, rng):
    X, y = random_values(rng, *shape), rng.standard_normal(shape[0])
    path = lasso_path(X, y, solver=solver, max_iter=10, random_state=0, certify=False, tol=0.1)
    assert (path.settings["grid"], path.settings["eps"], len(path)) == (grid, eps, 100)
    values = getattr(path, grid)
    assert values.min() == pytest.approx(eps * values.max())
    if grid == "alphas":
        assert values[0] == pytest.approx(np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / len(y))
        assert path.n_active[0] == 0


@pytest.mark.compiled
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_path(solver, data):
    values, y = data
    grid = {SOLVERS[solver].grids[-1]: 5}
    paths = [lasso_path(values, y, solver=solver, random_state=7, **grid) for _ in range(2)]
    np.testing.assert_array_equal(paths[0].coefs.toarray(), paths[1].coefs.toarray())
    np.testing.assert_array_equal(paths[0].gaps, paths[1].gaps)


def test_different_seeds_differ(data):
    values, y = data
    options = {"radii": [2.0], "solver": "sfw", "sample_size": 5}
    a, b = (lasso_path(values, y, random_state=seed, **options).coefs.toarray() for seed in (1, 2))
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_the_certified_path_draws_nothing(grid, data):
    a, b = (lasso_path(*data, random_state=seed, **{grid: 7}).coefs.toarray() for seed in (1, 2))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "sample_size", [7, 0.3, 1.0, QuantileRule(0.1, 0.9), AdaptiveRule(at_least=5), None, lambda p, n: 2 * p]
)
@pytest.mark.parametrize("block_size", [None, 1, 8])
def test_every_sample_size_and_block_size_solves(sample_size, block_size, data):
    values, y = data
    settings = {"radii": [0.5, 1.0], "solver": "sfw", "random_state": 0, "stop": "gap", "tol": 0.02}
    assert lasso_path(values, y, sample_size=sample_size, block_size=block_size, **settings).gaps.max() <= 0.02


def test_dot_products_are_counted_as_in_the_paper(data):
    values, y = data
    options = {"radii": [0.5, 1.0], "solver": "sfw", "stop": "paper", "tol": 1e-2}
    path = lasso_path(values, y, sample_size=10, random_state=0, **options)
    n_steps = int(path.counters.iterations.sum())
    # z_j'y of every column once, then ten columns a step; looks at active columns come on top.
    assert 40 + 10 * n_steps <= path.counters.dot_products <= 40 + 10 * n_steps + path.n_active.max() * n_steps
    assert path.counters.passes == pytest.approx(path.counters.dot_products / 40 + 1)
    assert set(path.counters.seconds) == {"setup", "grid", "solve", "certify"}


def test_passes_leave_out_the_working_set(rng):
    X = rng.standard_normal((50, 2000))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(50)
    path = lasso_path(X, y, tol=1e-6)
    assert 3 < path.counters.passes < 60
    assert path.counters.dot_products > 2000
    assert set(path.counters.seconds) == {"setup", "grid", "solve", "certify"}


def test_the_paper_rule_is_absolute_and_the_change_rule_relative(data):
    values, y = data
    options = {"solver": "sfw", "random_state": 0, "sample_size": 10}
    steps = {
        stop: [
            lasso_path(values, c * y, radii=[c], stop=stop, **options).counters.iterations[0] for c in (1.0, 2.0**12)
        ]
        for stop in ("paper", "change")
    }
    assert steps["change"][0] == steps["change"][1]
    assert steps["paper"][0] < steps["paper"][1]


def test_many_points_are_certified_in_batches(data, monkeypatch):
    values, y = data
    whole = lasso_path(values, y, radii=np.linspace(0.1, 2, 7), solver="sfw", random_state=0)
    monkeypatch.setattr("fwlasso.assembly._RESIDUAL_BYTES", 3 * 31 * 8)
    batched = lasso_path(values, y, radii=np.linspace(0.1, 2, 7), solver="sfw", random_state=0)
    np.testing.assert_allclose(batched.gaps, whole.gaps, rtol=1e-12, atol=1e-15)
    assert batched.counters.passes == whole.counters.passes + 2


@BOTH
def test_radius_zero_is_the_intercept_alone(solver, data):
    values, y = data
    path = lasso_path(values, y, radii=[0.0, 1.0], solver=solver, random_state=0)
    assert path.n_active[0] == 0
    assert path.intercepts[0] == pytest.approx(y.mean())
    assert path.gaps[0] <= 1e-13  # the rounding of y'y


@pytest.mark.parametrize(("solver", "distance"), [("certified", 0.01), ("fw", 0.05)])
def test_a_radius_beyond_least_squares_is_least_squares(rng, solver, distance):
    X = rng.standard_normal((40, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.1 * rng.standard_normal(40)
    exact, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)
    path = lasso_path(X, y, radii=[20.0], solver=solver, stop="gap", tol=1e-4, max_iter=200_000)
    np.testing.assert_allclose(path.coef(0), exact[:3], atol=distance)
    assert path.gaps[0] <= 1e-4
    assert np.abs(path.coef(0)).sum() < 20.0


@pytest.mark.parametrize(
    ("solver", "grid"),
    [("certified", "alphas"), ("certified", "radii"), *((name, SOLVERS[name].grids[-1]) for name in POINTWISE)],
)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 2.0])),  # p = 1
        (np.array([[1.0, 2.0, -1.0]]), np.array([3.0])),  # m = 1
        (np.zeros((4, 3)), np.arange(4.0)),  # nothing but zeros
        (np.ones((4, 3)), np.arange(4.0)),  # nothing but constants
        (np.eye(4), np.ones(4)),  # constant y
        (np.eye(4), np.zeros(4)),  # zero y
        (np.tile(np.arange(5.0)[:, None], 6), np.array([1.0, 0.0, 2.0, 1.0, 3.0])),  # duplicates
        (HUGE_RANGE, np.array([1.0, 2.0, 3.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:.*all models are empty")
@pytest.mark.parametrize(("fit_intercept", "standardize"), [(True, True), (False, False)])
def test_degenerate_problems_end_well(solver, grid, X, y, fit_intercept, standardize):
    options = {"fit_intercept": fit_intercept, "standardize": standardize, "solver": solver, "random_state": 0}
    options["stop"] = "gap" if solver == "certified" else "change"
    if solver == "certified" and X is HUGE_RANGE and not standardize:
        with warnings.catch_warnings():  # the rounding of the large column is more than the penalty
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = lasso_path(X, y, **{grid: 5}, **options)
        assert set(path.statuses) <= {Status.CERTIFIED, Status.PRECISION}
    else:
        path = lasso_path(X, y, **{grid: 5}, **options)
        assert all(status.converged for status in path.statuses)
    assert len(path) == 5
    assert np.isfinite(path.coefs.data).all()
    assert np.isfinite(path.intercepts).all()
    # No point is worse than zero: its gap is at most 1/2 ||y||^2 for a penalty, and radius ||X'y||_inf for a radius.
    # The claim of a point that rounding keeps from a certificate covers what rounding could hide: it may be larger.
    Z, r = plain_columns(X, fit_intercept, standardize), y - y.mean() if fit_intercept else y
    most = 1.0 if grid == "alphas" else path.radii * np.abs(Z.T @ r).max() / (0.5 * r @ r or 1.0)
    lost = X is HUGE_RANGE and not standardize and grid == "radii"  # to rounding: steps on one column hide the other
    most = np.where([status is Status.PRECISION or lost for status in path.statuses], np.inf, most)
    assert ((path.gaps >= 0) & (path.gaps <= most + 1e-9)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@BOTH
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_what_rounding_keeps_from_a_certificate_is_still_solved(grid, solver):
    path = lasso_path(HUGE_RANGE, np.array([1.0, 2.0, 3.0]), solver=solver, random_state=0, **{grid: 5})
    assert path.r2[-1] > 0.99


@pytest.mark.parametrize("solver", ["certified", "fw"])
def test_the_first_of_duplicate_columns_gets_the_coefficient(rng, solver):
    x = rng.standard_normal(20)
    X = np.column_stack([rng.standard_normal(20), x, x, -x])
    path = lasso_path(X, 2 * x, radii=[1.0], solver=solver)
    assert path.coefs.indices.tolist() == [1]


@pytest.mark.parametrize("bad", [{"tol": -1.0}, {"alphas": [np.nan]}])
def test_a_bad_argument_is_named_before_any_work(bad, monkeypatch):
    monkeypatch.setattr("fwlasso.data.inputs.as_design", lambda X: pytest.fail("work started"))
    with pytest.raises(ValueError, match=next(iter(bad))):
        lasso_path(np.eye(3), np.ones(3), **bad)


@pytest.mark.parametrize(("solver", "max_iter"), [("certified", 1), ("sfw", 5)])
def test_points_that_do_not_converge_warn_with_gap_tolerance_and_remedy(rng, solver, max_iter):
    X = rng.standard_normal((60, 300)) + 3.0 * rng.standard_normal((60, 1))  # correlated columns
    y = X[:, :10].sum(axis=1) + rng.standard_normal(60)
    options = {"solver": solver, "stop": "gap", "tol": 1e-8, "max_iter": max_iter}
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 points .*tol=1e-08.*increase max_iter.*gap is \d") as caught:
        path = lasso_path(X, y, alphas=[0.05, 0.02], random_state=0, **options)
    assert path.statuses == (Status.MAX_ITER, Status.MAX_ITER)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("solver", ["sfw", "fw"])
def test_a_point_that_is_solved_already_is_done_at_once(solver, data):
    values, y = data
    path = lasso_path(values, y, radii=[1.0, 1.0], solver=solver, stop="gap", tol=1e-2, random_state=0, sample_size=10)
    # The warm start goes out to the boundary, which lowers the objective and may cost a few steps for the gap.
    assert path.counters.iterations[1] <= path.counters.iterations[0] // 20
    assert path.r2[1] >= path.r2[0]


@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_a_point_that_is_solved_already_costs_the_certified_path_nothing(grid, data):
    path = lasso_path(*data, **{grid: [0.5, 0.5]})
    assert path.counters.iterations[0] > 0
    assert path.counters.iterations[1] == 0
    np.testing.assert_array_equal(path.coef(1), path.coef(0))


def test_numbers_out_of_range_are_refused_not_certified(rng):
    X, y = rng.standard_normal((20, 10)), rng.standard_normal(20)
    for x_unit, y_unit, settings in (
        (1e-150, 1e200, {}),  # coefficients of 1e350
        (1e-50, 1e300, {"fit_intercept": False}),
        (1e150, 1e-310, {}),  # of 1e-460
        (1e150, 1e200, {}),  # alphas of 1e350
        (1e-150, 1e-310, {}),
        (1.0, 1e-310, {}),  # with fewer digits than others
        (1e137, 1e-208, {"standardize": True}),
    ):
        for solver in ("gram", "working-set"):
            with pytest.raises(ValueError, match="X and y: their numbers differ so much in size"):
                lasso_path(x_unit * X, y_unit * y, alphas=5, solver=solver, **settings)
    point = make_case(X, y).problem
    assert estimate_gap(point, L1Ball(1.0), zero(point)._replace(l1=np.nan, qq=np.nan), 1.0) == np.inf


@pytest.mark.parametrize("size", [0, -3, 2.5, "all"])
def test_a_rule_that_gives_nonsense_is_refused(size, data):
    with pytest.raises(ValueError, match="sample_size"):
        lasso_path(*data, radii=[1.0], solver="sfw", sample_size=lambda p, n_active: size)


def test_idle_draws_end_a_point_however_short_the_bursts(data, monkeypatch):
    monkeypatch.setattr("fwlasso.problem.points.BURST_BYTES", 1)
    settings = {"radii": [0.0], "solver": "sfw", "sample_size": 5, "max_iter": 50, "random_state": 0}
    path = lasso_path(*data, **settings)
    assert path.statuses == (Status.SETTLED,)
    assert path.counters.iterations[0] == 1 + 40 // 5  # the first draw, and those of a round over all columns
    with pytest.warns(ConvergenceWarning, match="increase sample_size"):
        path = lasso_path(*data, stop="paper", **settings)
    assert path.statuses == (Status.STALLED,)


def test_a_certificate_is_looked_for_once_for_as_many_looks_however_short_the_bursts(data, monkeypatch):
    settings = {"radii": [1.0], "solver": "sfw", "sample_size": 4, "stop": "gap", "tol": 1e-3, "random_state": 0}
    whole = lasso_path(*data, **settings)
    monkeypatch.setattr("fwlasso.problem.points.BURST_BYTES", 1)
    short = lasso_path(*data, **settings)
    assert short.counters.passes == whole.counters.passes
    np.testing.assert_array_equal(short.coef(0), whole.coef(0))


@pytest.mark.parametrize("solver", ["certified", "cd"])
def test_what_the_solver_has_certified_stays_certified_without_the_closing_pass(data, solver):
    path = lasso_path(*data, solver=solver, alphas=4, stop="gap", certify=False)
    assert path.gaps.max() <= 1e-4


@BOTH
def test_passes_include_the_search_for_the_largest_radius(data, solver):
    automatic = lasso_path(*data, radii=5, solver=solver, random_state=0)
    given = lasso_path(*data, radii=automatic.radii, solver=solver, random_state=0)
    assert automatic.counters.dot_products == given.counters.dot_products
    assert automatic.counters.passes > given.counters.passes + 1


@BOTH
@pytest.mark.parametrize("grid", ["alphas", "radii"])
def test_a_constant_response_has_no_active_feature(rng, solver, grid):
    X, y = rng.standard_normal((300, 40)), np.full(300, 0.1)
    with pytest.warns(UserWarning, match="The response is constant"):
        path = lasso_path(X, y, solver=solver, random_state=0, **{grid: 5})
    assert path.n_active.max() == 0


def test_least_squares_by_coordinate_descent_ends(rng):
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    with pytest.warns(ConvergenceWarning, match="stop='gap'"):  # with no penalty there is no dual point to certify it
        path = lasso_path(X, y, alphas=[0.0], solver="cd", stop="gap")
    assert path.statuses == (Status.SETTLED,)
    exact, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(50)]), y, rcond=None)
    np.testing.assert_allclose(path.coef(0), exact[:4], atol=1e-8)


@pytest.mark.parametrize("column", [-1, 40, 2**40])
@BOTH
def test_a_column_that_does_not_exist_is_not_taken_from_a_solver(column, solver, data, monkeypatch):
    def make(settings):
        made = SOLVERS[solver].make(settings)

        def solve(*arguments):
            path = type(made).solve(made, *arguments)
            path.columns[-1] = column
            return path

        made.solve = solve
        return made

    monkeypatch.setitem(SOLVERS, "spoilt", SOLVERS[solver]._replace(make=make))
    with pytest.raises(RuntimeError, match=r"a column outside 0\.\.39"):
        lasso_path(*data, solver="spoilt", radii=3, random_state=0)

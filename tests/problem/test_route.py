"""The way a certified path is computed is a function of the problem's size alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import lasso_path
from fwlasso.options import Options
from fwlasso.problem.route import GRAM, MEMORY_SHARE, WORKING_SET, choose_route, gram_bytes, n_threads_of_sums

GB = 1 << 30


def route(m, p, n_stored=None, *, n_points=100, tol=1e-4, eps=1e-4, memory=16 * GB, n_folds=1):
    n_stored = m * p if n_stored is None else n_stored
    return choose_route(m, p, n_stored, n_points, tol, eps=eps, is_float64=True, memory=memory, n_folds=n_folds)


@pytest.mark.parametrize(
    ("m", "p", "name"),
    [
        (50_000, 300, GRAM),
        (100_000, 100, GRAM),
        (10_000, 1_000, GRAM),
        (1_000, 1_000, GRAM),
        (442, 64, GRAM),
        (2, 1, GRAM),
        (999, 1_000, WORKING_SET),
        (200, 10_000, WORKING_SET),
        (74, 201_376, WORKING_SET),
    ],
)
def test_tall_data_go_by_the_gram_matrix_and_wide_data_by_a_working_set(m, p, name):
    assert route(m, p)[0] == name
    assert route(m, p, tol=1e-8)[0] == name
    assert set(route(m, p)[1]) == {GRAM, WORKING_SET}
    assert all(seconds > 0.0 for seconds in route(m, p)[1].values())


def test_more_columns_are_taken_where_that_is_expected_to_pay():
    """Beyond the columns that always are: for a tight gap rather than for a loose one."""
    ways = {(p, tol): route(10 * p, p, tol=tol)[1] for p in (1_500, 3_000) for tol in (1e-4, 1e-6)}
    for (p, tol), seconds in ways.items():
        assert route(10 * p, p, tol=tol)[0] == min(seconds, key=seconds.__getitem__)
    for p in (1_500, 3_000):
        loose, tight = ways[p, 1e-4], ways[p, 1e-6]
        assert loose[GRAM] / loose[WORKING_SET] > tight[GRAM] / tight[WORKING_SET]
    assert route(200_000, 2_000, 4_000_000)[1][GRAM] < route(200_000, 2_000)[1][GRAM]  # sparse


@pytest.mark.parametrize(
    ("m", "p", "density", "eps", "name"),
    [
        # Beside `docs/notes/measured.md`: nearly all columns are active at the end of a long grid, whatever the signal.
        *((m, p, 1.0, 1e-4, GRAM) for m, p in [(1_500, 1_200), (3_000, 2_400), (6_000, 3_200), (10_000, 3_200)]),
        (3_000, 1_600, 1.0, 0.5, WORKING_SET),
        (10_000, 3_200, 1.0, 0.1, WORKING_SET),
        (10_000, 1_500, 0.1, 1e-4, WORKING_SET),
        (10_000, 3_000, 0.1, 1e-2, WORKING_SET),
        (30_000, 4_000, 0.003, 1e-4, WORKING_SET),
    ],
)
def test_beyond_a_thousand_columns_the_end_of_the_grid_and_the_density_count(m, p, density, eps, name):
    assert route(m, p, int(density * m * p), eps=eps)[0] == name


def test_the_longer_a_grid_the_more_columns_are_expected():
    seconds = [route(6_000, 2_400, eps=eps)[1][WORKING_SET] for eps in (0.5, 1e-1, 1e-2, 1e-3, 1e-4, 0.0)]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 50 * seconds[0]
    assert route(6_000, 2_400, eps=None)[0] == route(6_000, 2_400, eps=3e-2)[0] == WORKING_SET
    assert route(6_000, 2_400, eps=1e-4, n_points=1)[1] == route(6_000, 2_400, eps=None, n_points=1)[1]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, GRAM),
        ({"eps": 0.9}, WORKING_SET),
        ({"radii": 2, "eps": 0.9}, WORKING_SET),
        ({"alphas": np.array([1.0, 1e-4])}, GRAM),
        ({"alphas": np.array([1e-4, 0.0])}, GRAM),
        ({"alphas": np.array([1.0, 0.9])}, WORKING_SET),
        ({"alphas": np.array([0.0])}, WORKING_SET),
        ({"radii": np.array([1e-3, 1e3])}, WORKING_SET),  # these do not tell
    ],
)
def test_how_far_a_path_goes_is_read_off_its_grid(asked, name):
    options = Options(**asked)
    points = {"n_points": options.n_points, "tol": options.tolerance, "eps": options.reach((3_000, 1_600))}
    assert route(3_000, 1_600, **points)[0] == name


def test_matrices_that_do_not_fit_are_not_made():
    p = 1_000
    memory = int(gram_bytes(p, 2) / MEMORY_SHARE) + 1
    assert route(10_000, p, memory=memory)[0] == GRAM
    assert route(10_000, p, memory=memory // 2)[0] == WORKING_SET
    assert route(10_000, p, memory=memory, n_folds=6)[0] == WORKING_SET


def test_the_number_of_threads_does_not_change_the_way(rng):
    """Bits depend on the way. These data lie where four threads would be faster by the Gram matrix."""
    X, y = np.asfortranarray(rng.standard_normal((5_000, 1_200))), rng.standard_normal(5_000)
    ways = {lasso_path(X, y, alphas=100, eps=0.9, n_threads=n).settings["route"] for n in (1, 2, 4, 16)}
    assert ways == {WORKING_SET}
    assert n_threads_of_sums(1_000, 16 * GB) > 100
    assert n_threads_of_sums(20_000, 16 * GB) == 2


@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array, lambda X: np.asfortranarray(X, np.float32)])
@pytest.mark.parametrize(("m", "p"), [(60, 20), (20, 60)])
def test_the_way_is_told_and_can_be_asked_for(form, m, p, rng):
    X, y = form(rng.standard_normal((m, p))), rng.standard_normal(m)
    chosen = lasso_path(X, y, alphas=8, eps=0.05, tol=1e-9)
    assert chosen.settings["route"] == (GRAM if m > p else WORKING_SET)
    for name in (GRAM, WORKING_SET):
        asked = lasso_path(X, y, alphas=8, eps=0.05, tol=1e-9, solver=name)
        assert asked.settings["route"] == name
        np.testing.assert_allclose(asked.coefs.toarray(), chosen.coefs.toarray(), atol=1e-4)
    assert lasso_path(X, y, alphas=3, solver="cd").settings["route"] == "pointwise"

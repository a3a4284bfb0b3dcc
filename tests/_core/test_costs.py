"""What a coefficient costs: every function against minimisation on a grid, as plain Python and compiled."""

import math

import numpy as np
import pytest

from fwlasso._core.costs import (
    Plain,
    bounds,
    conjugate,
    curvature,
    exchange,
    is_hard,
    is_plain,
    lean,
    minimise_1d,
    piece,
    pull,
    slope,
    value,
)
from fwlasso._core.jit import kernel
from fwlasso._core.separable import Separable, make_cost

INF = math.inf
LAM = 0.7
# s_j, r_j, l_j, u_j of a column each
COLUMNS = {
    "lasso": (1.0, 0.0, -INF, INF),
    "ridge": (1.0, 2.0, -INF, INF),
    "positive": (1.0, 0.0, 0.0, INF),
    "negative": (1.0, 1.0, -INF, 0.0),
    "box": (1.0, 0.0, -0.5, 1.5),
    "box and ridge": (1.0, 3.0, -0.5, 0.25),
    "fixed at zero": (1.0, 0.0, 0.0, 0.0),
    "no penalty": (0.0, 0.0, -INF, INF),
}
ALL = list(COLUMNS)
COST = Separable(*(np.repeat(values, 2)[::2] for values in zip(*COLUMNS.values(), strict=True)), 0.3, 0.5, 0.0)
GRID = np.linspace(-8.0, 8.0, 160_001)


def column(name):
    s, r, low, high = COLUMNS[name]
    mu = (0.3 + 0.5 * LAM) * r
    t = GRID[(low <= GRID) & (high >= GRID)]
    return t, LAM * s * np.abs(t) + 0.5 * mu * t**2


@kernel
def compiled_value(cost, lam, j, b):
    return value(cost, lam, j, b)


@kernel
def compiled_conjugate(cost, lam, j, corr):
    return conjugate(cost, lam, j, corr)


@kernel
def compiled_minimise(cost, lam, j, aim, norm2):
    return minimise_1d(cost, lam, j, aim, norm2)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("corr", [-3.0, -1.0, -0.2, 0.0, 0.5, 0.9, 2.5])
def test_conjugate_is_the_supremum(name, corr):
    t, cost = column(name)
    gains = corr * t - cost
    found = conjugate(COST, LAM, ALL.index(name), corr)
    assert compiled_conjugate(COST, LAM, ALL.index(name), corr) == found
    if gains.max() > 0.0 and abs(t[np.argmax(gains)]) == GRID[-1]:
        assert found == INF
        assert is_hard(COST, LAM, ALL.index(name), corr)
    else:
        np.testing.assert_allclose(found, gains.max(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("aim", [-4.0, -0.6, 0.0, 0.3, 1.2, 5.0])
def test_minimise_1d_and_value(name, aim):
    j, (t, cost) = ALL.index(name), column(name)
    best = t[np.argmin(0.5 * 1.7 * t**2 - aim * t + cost)]
    np.testing.assert_allclose(minimise_1d(COST, LAM, j, aim, 1.7), best, atol=1e-4)
    assert compiled_minimise(COST, LAM, j, aim, 1.7) == minimise_1d(COST, LAM, j, aim, 1.7)
    np.testing.assert_allclose(compiled_value(COST, LAM, j, t[0]), cost[0], rtol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_a_minimum_is_where_nothing_is_exchanged(name):
    """Started at rest at zero, exchanges and one-dimensional steps end at the minimum, for slopes c - h t of a loss."""
    j, h = ALL.index(name), 1.3
    t, cost = column(name)
    for aim in (-4.0, -1.0, -0.1, 0.2, 1.1, 6.0):
        sign = rest = b = 0.0
        for _ in range(6):
            sign, rest = exchange(COST, LAM, j, sign, rest, b, aim - h * b, 1.0 + 1e-13)
            b = rest
            if sign != 0.0:  # the minimum of the smooth piece, which may be beyond its ends
                s = sign if slope(COST, j) else 0.0
                b = (aim - LAM * s) / (h + curvature(COST, LAM, j))
                np.testing.assert_allclose(lean(COST, LAM, j, sign, b), aim - h * b, rtol=1e-12)
        best = t[np.argmin(0.5 * h * t**2 - aim * t + cost)]
        np.testing.assert_allclose(b, best, atol=1e-4, err_msg=f"{aim}")


def test_plain_agrees_with_a_separable_cost_of_no_shape():
    cost = Separable(*(np.repeat([v], 2)[::2] for v in (1.0, 0.0, -INF, INF)), 0.0, 0.0, 0.0)
    for corr in (-2.0, -0.7, 0.0, 0.69, 3.0):
        for function in (
            lambda c, x: pull(c, 0, x),
            lambda c, x: conjugate(c, LAM, 0, x),
            lambda c, x: value(c, LAM, 0, x),
        ):
            assert function(cost, corr) == function(Plain(), corr)
        assert minimise_1d(cost, LAM, 0, corr, 2.0) == minimise_1d(Plain(), LAM, 0, corr, 2.0)
        for sign, b in ((0.0, 0.0), (1.0, 0.4), (1.0, -0.4), (-1.0, -0.4)):
            mine, its = (exchange(c, LAM, 0, sign, 0.0, b, corr, 1.0) for c in (Plain(), cost))
            assert mine[0] == its[0]
    assert bounds(Plain(), 0) == bounds(cost, 0)
    assert [piece(Plain(), 0, s) for s in (1.0, -1.0)] == [piece(cost, 0, s) for s in (1.0, -1.0)]


def test_pull_counts_open_sides_of_penalised_columns():
    found = {name: (pull(COST, j, 2.0), pull(COST, j, -2.0)) for j, name in enumerate(ALL)}
    assert found["positive"] == (2.0, 0.0)
    assert found["negative"] == (0.0, 2.0)
    assert found["fixed at zero"] == found["no penalty"] == (0.0, 0.0)
    assert found["box"] == found["lasso"] == (2.0, 2.0)


def test_make_cost_is_plain_whenever_it_can_be():
    assert is_plain(make_cost(3, 1.0, 5.0, -INF, INF, fixed=0.0, share=0.0))
    for changed in (
        {"slopes": [1.0, 0.0, 1.0]},
        {"lower": 0.0},
        {"upper": [1.0, INF, INF]},
        {"fixed": 0.1},
        {"share": 1.0},
    ):
        arguments = {"slopes": 1.0, "bent": 1.0, "lower": -INF, "upper": INF, "fixed": 0.0, "share": 0.0} | changed
        cost = make_cost(3, **arguments)
        assert not is_plain(cost)
        assert {array.flags.c_contiguous for array in cost[:4]} == {False}  # one layout: kernels compile once

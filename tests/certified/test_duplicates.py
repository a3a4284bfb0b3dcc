"""Copies of columns are found, verified, and left out after the first of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import UNITS, make_case, random_values
from fwlasso._core.separable import make_cost
from fwlasso._core.threads import Workers
from fwlasso.certified import duplicates
from fwlasso.certified.duplicates import Duplicates
from fwlasso.problem.passes import LocalPass


def case_of(values, storage="dense64", units="raw"):
    return make_case(values, np.arange(values.shape[0], dtype=float), storage, units)


def _duplicates(case):
    return Duplicates(LocalPass(case.problem, Workers(1)))


def distinct(case, columns):
    return _duplicates(case).distinct(np.asarray(columns, np.int64)).tolist()


@pytest.fixture
def base(rng):
    return random_values(rng, 15, 6, density=0.8)


def test_copies_with_either_sign_are_found_and_the_first_is_kept(some_storage, some_units, base):
    X = np.column_stack([base[:, 2], base[:, 0], -base[:, 2], base[:, 1], base[:, 0], base[:, 2], -base[:, 0]])
    assert distinct(case_of(X, some_storage, some_units), range(7)) == [0, 1, 3]


INF = np.inf


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"lower": 0.0}, [0, 1, 3]),  # the turned one may be pulled where its original is not
        ({"upper": 0.0}, [0, 1, 3]),
        ({"lower": [0.0, 0.0, -INF, -INF, -INF]}, [0, 1, 2, 3]),
        ({"slopes": [0.0, 1.0, 1.0, 1.0, 1.0]}, [0, 1, 2]),
        ({"fixed": 1.0}, range(5)),
        ({"upper": 1.0}, range(5)),
    ],
)
def test_copies_of_another_cost_stay_and_so_do_those_that_share_a_coefficient(asked, left, base):
    X, usual = base[:, [0, 1, 0, 1, 1]] * [1, 1, 1, -1, 1], {"slopes": 1.0, "bent": 1.0, "lower": -INF, "upper": INF}
    cost = make_cost(5, **{**usual, "fixed": 0.0, "share": 0.0, **asked})
    case = case_of(X)
    duplicates = Duplicates(LocalPass(case.problem._replace(cost=cost), Workers(1)))
    assert duplicates.distinct(np.arange(5)).tolist() == list(left)


def test_zero_and_constant_columns_are_left_out(some_storage, base):
    X = np.column_stack([np.zeros(15), base[:, 0], np.full(15, 3.0), np.zeros(15), base[:, 1]])
    assert distinct(case_of(X, some_storage, "standardized"), range(5)) == [1, 4]
    assert distinct(case_of(X, some_storage, "raw"), range(5)) == [1, 2, 4]


@pytest.mark.parametrize("units", ["scaled", "standardized"])
def test_multiples_by_a_power_of_two_are_copies_once_they_are_scaled(units, base):
    X = np.column_stack([base[:, 0], 4.0 * base[:, 0], -0.25 * base[:, 0], base[:, 1]])
    assert distinct(case_of(X, units=units), range(4)) == [0, 3]
    assert distinct(case_of(X), range(4)) == [0, 1, 2, 3]


def test_columns_may_come_in_any_order_and_are_returned_in_theirs(base):
    X = np.column_stack([base[:, 0], base[:, 1], base[:, 0], base[:, 2], -base[:, 1]])
    assert distinct(case_of(X), [4, 3, 2, 1, 0]) == [0, 1, 3]
    assert distinct(case_of(X), [4, 2]) == [2, 4]
    assert distinct(case_of(X), []) == []
    assert distinct(case_of(X), [3]) == [3]


def test_what_was_once_a_copy_stays_out(base):
    X = np.column_stack([base[:, 0], base[:, 1], base[:, 0], -base[:, 1]])
    found = _duplicates(case_of(X))
    assert found.distinct(np.arange(4)).tolist() == [0, 1]
    assert found.distinct(np.array([2, 3])).tolist() == []
    assert found.distinct(np.array([1, 2])).tolist() == [1]


def test_near_copies_are_not_copies(base):
    X = np.repeat(base[:, :1], 4, axis=1)
    X[7, 1] = np.nextafter(X[7, 1], np.inf)
    X[3, 2] += 1e-12
    X[14, 3] = -X[14, 3] + 1.0
    assert distinct(case_of(X), range(4)) == [0, 1, 2, 3]


def test_the_same_hash_is_not_trusted(some_storage, some_units, base, monkeypatch):
    monkeypatch.setattr(duplicates, "_hashes", lambda X, columns, vector: np.ones(columns.size))
    X = np.column_stack([base, -base[:, 0], base[:, 0]])
    assert np.isin(range(6), distinct(case_of(X, some_storage, some_units), range(8))).all()


def test_a_collision_does_not_hide_other_copies_of_the_first(base, monkeypatch):
    monkeypatch.setattr(duplicates, "_hashes", lambda X, columns, vector: np.ones(columns.size))
    X = np.column_stack([base[:, 0], base[:, 1], base[:, 0], -base[:, 0]])
    assert distinct(case_of(X), range(4)) == [0, 1]


def test_shifted_columns_are_never_mistaken_for_each_other(base):
    """Of centred columns the constant is left out where they are added up: x and -x + 5 must not be confused."""
    X = np.column_stack([base[:, 0], 5.0 - base[:, 0], base[:, 0] + 5.0, base[:, 1]])
    kept = distinct(case_of(X, units="centred"), range(4))
    assert kept[0] == 0
    assert kept[-1] == 3


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(UNITS)), st.sampled_from(["dense64", "dense32", "csc64"]))
def test_random_copies_are_found_and_nothing_else(seed, units, storage):
    rng = np.random.default_rng(seed)
    base = rng.integers(-3, 4, (9, 5)).astype(float) * (rng.random((9, 5)) < 0.8)
    which = rng.integers(0, 5, 12)
    X = base[:, which] * rng.choice([-1.0, 1.0], 12)
    case = case_of(X, storage, units)
    wanted, seen = [], []
    for j in range(12):
        if case.problem.norms2[j] > 0 and not any(np.array_equal(X[:, j], s * v) for v in seen for s in (1, -1)):
            wanted.append(j)
            seen.append(X[:, j])
    found = distinct(case, range(12))
    if units in ("scaled", "standardized"):  # more may be copies of each other once they are scaled
        assert set(found) <= set(wanted)
        for j in set(wanted) - set(found):
            assert any(np.allclose(case.Z[:, j], s * case.Z[:, k], atol=1e-12) for k in found if k < j for s in (1, -1))
    else:
        assert found == wanted

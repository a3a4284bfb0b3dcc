"""The factor is that of the cosines plus the ridge, whatever was appended and deleted before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Case, make_case, random_values
from copied import copied
from fwlasso._core.subproblem import gram as grams
from fwlasso._core.subproblem.gram import append, delete, empty_gram, factorize, with_cosines, with_places
from fwlasso._core.threads import Workers

RIDGE = 1e-12


def unit_columns(case: Case, columns) -> np.ndarray:
    Z = case.Z[:, columns]
    return Z / np.linalg.norm(Z, axis=0)


def gram_of(case: Case, columns: np.ndarray, places=None):
    """A Gram whose place k holds columns[k], with the cosines of some places."""
    places = np.arange(columns.size) if places is None else np.asarray(places)
    with Workers(1) as workers:
        empty = with_places(empty_gram(len(case.y)), columns.size)
        return with_cosines(copied(case.problem, columns), empty, places, workers)


def cosines_between(gram, places) -> np.ndarray:
    slots = gram.slot_of[places]
    assert (slots >= 0).all()
    return gram.cosines[np.ix_(slots, slots)]


def assert_factor(gram, unit: np.ndarray, places, atol=1e-10):
    """The factor is that of these places, in some order: L L' = cosines + ridge, and L is lower triangular."""
    n = int(gram.size[0])
    assert sorted(gram.place_of[:n].tolist()) == sorted(places)
    rows = gram.place_of[:n]
    np.testing.assert_array_equal(gram.row_of[rows], np.arange(n))
    assert (np.delete(gram.row_of, rows) == -1).all()
    L = np.tril(gram.lower[:n, :n])
    wanted = unit[:, rows].T @ unit[:, rows] + RIDGE * np.eye(n)
    np.testing.assert_allclose(L @ L.T, wanted, rtol=0, atol=atol)
    assert (np.diag(L) > 0).all()
    if n and np.linalg.eigvalsh(wanted).min() > 1e-6:
        np.testing.assert_allclose(L, np.linalg.cholesky(wanted), rtol=0, atol=1e-7)


@pytest.fixture
def problem(rng):
    return make_case(random_values(rng, 30, 20, density=0.8), rng.standard_normal(30))


@pytest.mark.parametrize("mean", [0.0, 1e6])
@pytest.mark.parametrize("order", [1, -1])
def test_cosines_of_sparse_columns_are_exact_beside_a_full_one_with_a_mean(mean, order, rng):
    values = random_values(rng, 60, 12, density=0.1)
    values[:, 0] = rng.standard_normal(60) + mean
    values[:2] = rng.standard_normal((2, 12))  # no zero columns
    case = make_case(values, rng.standard_normal(60), storage="csc64", units="centred")
    columns = np.arange(12)
    gram = gram_of(case, columns, columns[::order][:6])  # the full one is old, or new
    with Workers(1) as workers:
        gram = with_cosines(copied(case.problem), gram, columns, workers)
    Z = values.astype(np.longdouble) - values.astype(np.longdouble).mean(axis=0)
    unit = (Z / np.sqrt((Z**2).sum(axis=0))).astype(float)
    wanted = unit.T @ unit + RIDGE * np.eye(12)
    np.testing.assert_allclose(cosines_between(gram, columns), wanted, rtol=0, atol=1e-13)


def test_cosines_beyond_the_cap_are_forgotten_and_those_asked_for_are_there(problem, monkeypatch):
    monkeypatch.setattr(grams, "LARGEST_GRAM", 8)
    columns, gram = np.arange(20), gram_of(problem, np.arange(20), [0, 1, 2, 3, 4])
    with Workers(1) as workers:
        copies = copied(problem.problem)
        gram = with_cosines(copies, gram, np.array([10, 11, 2, 12, 13]), workers)
    places = np.array([10, 11, 2, 12, 13])
    unit = unit_columns(problem, places)
    np.testing.assert_allclose(cosines_between(gram, places), unit.T @ unit, rtol=0, atol=1e-11)
    assert (gram.slot_of[[0, 1, 3, 4]] == -1).all()
    factorize(copies, gram, places, 0.0)
    assert_factor(gram, unit_columns(problem, columns), places.tolist())


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 10, 40]), st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_random_changes_lead_to_the_factor_of_what_is_left(seed, m, moves):
    """Each move is one of the ten places: in if it is out, out if it is in. With m = 4 columns are dependent."""
    rng = np.random.default_rng(seed)
    case = make_case(rng.standard_normal((m, 10)) * 10.0 ** rng.integers(-3, 4, 10), rng.standard_normal(m))
    gram, copies = gram_of(case, np.arange(10)), copied(case.problem)
    unit = unit_columns(case, np.arange(10))
    inside: list[int] = []
    for place in moves:
        if place in inside:
            delete(gram, int(gram.row_of[place]))
            inside.remove(place)
        else:
            append(copies, gram, place, 0.0)
            inside.append(place)
        # Beyond the rank the factor has the ridge, or a little more where rounding is more than that.
        assert_factor(gram, unit, inside, atol=1e-10 if len(inside) <= m else 1e-9)
    factorize(copies, gram, np.array(inside, np.int64), 0.0)
    assert_factor(gram, unit, inside, atol=1e-9)


def test_columns_far_from_zero_have_cosines_and_a_factor_of_finite_numbers(rng):
    """Their products are rounding, larger than their norms, and pivots below zero; nothing grows from row to row."""
    means = 1e9 * rng.uniform(1.0, 2.0, 40)
    case = make_case(means + 0.06 * rng.standard_normal((26, 40)), rng.standard_normal(26), units="centred")
    columns = np.flatnonzero(case.problem.norms2 > 0)
    gram, copies = gram_of(case, columns), copied(case.problem, columns)
    n = gram.slot_of.size
    assert n > 20
    assert np.abs(cosines_between(gram, np.arange(n))).max() <= 1.0 + RIDGE
    for place in range(n):
        append(copies, gram, place, 0.0)
    assert (np.linalg.norm(np.tril(gram.lower[:n, :n]), axis=1) <= 1.0 + 1e-9).all()


def test_deletions_among_near_copies_keep_the_factor(rng):
    """A downdate that is no rotation multiplies its errors by up to the condition: it was off by 3e-11 after 14."""
    values = rng.standard_normal((60, 1)) + 1e-6 * rng.standard_normal((60, 30))
    case = make_case(values, rng.standard_normal(60))
    gram, copies = gram_of(case, np.arange(30)), copied(case.problem)
    for place in range(30):
        append(copies, gram, place, 0.0)
    for _ in range(14):
        delete(gram, 0)
    n = int(gram.size[0])
    L = np.tril(gram.lower[:n, :n])
    wanted = cosines_between(gram, gram.place_of[:n])
    np.testing.assert_allclose(L @ L.T, wanted, rtol=0, atol=1e-14)

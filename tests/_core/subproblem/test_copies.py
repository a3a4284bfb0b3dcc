"""Copies are the columns of the problem, whatever the storage; they have a budget, and places that nobody asks for."""

import numpy as np
import pytest

from conftest import make_case, random_values
from copied import copied, make_copier, working_set
from fwlasso._core.problem import Problem
from fwlasso._core.subproblem.copies import Copies, entries_of
from fwlasso._core.subproblem.products import Products
from fwlasso._core.threads import Workers
from fwlasso.certified import copier as copying
from fwlasso.certified.copier import NoRoom
from fwlasso.certified.nodes import Start
from fwlasso.certified.working_set import WorkingSet
from fwlasso.problem.passes import LocalPass
from fwlasso.status import Status


def columns_of(copies: Copies, n: int) -> np.ndarray:
    """Return z_k of the first n places, as columns."""
    with Workers(1) as workers:
        return np.column_stack([Products(copies, np.array([k]), workers).combine(np.ones(1))[:-1] for k in range(n)])


def test_copies_are_the_columns_for_every_storage_and_unit(every_case):
    case = every_case
    columns = np.arange(40)[::-1].copy()
    copies = copied(case.problem, columns)
    Z = case.Z[:, columns]
    np.testing.assert_allclose(columns_of(copies, 40), Z, atol=1e-12 * np.abs(Z).max())
    np.testing.assert_allclose(copies.norms2[:40], (Z**2).sum(axis=0), rtol=1e-12, atol=1e-20)
    np.testing.assert_allclose(copies.xty[:40], Z.T @ case.y, atol=1e-11 * np.abs(Z.T @ case.y).max())


def test_the_type_of_copies_is_one_for_all_storages(case):
    def kinds(copies: Copies) -> list:
        return [(type(x), getattr(x, "dtype", None), getattr(x, "ndim", None)) for x in copies]

    plain = make_case(np.eye(3), np.ones(3)).problem
    assert kinds(copied(case.problem)) == kinds(copied(plain))
    assert all(x.flags.writeable and x.flags.c_contiguous for x in copied(case.problem) if isinstance(x, np.ndarray))


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
@pytest.mark.parametrize("mean", [1e3, 1e6])
def test_columns_far_from_zero_are_centred_to_the_last_bits(rng, storage, mean):
    values = random_values(rng, 60, 12, density=0.1)
    values[:, 0] = mean + rng.standard_normal(60)
    copies = copied(make_case(values, rng.standard_normal(60), storage, "centred").problem)
    exact = values.astype(np.longdouble) - values.astype(np.longdouble).mean(axis=0)
    Z = columns_of(copies, 12)
    assert np.abs(Z.sum(axis=0)).max() <= 1e-14 * 60
    np.testing.assert_allclose(Z, exact.astype(float), atol=1e-15 * mean)
    np.testing.assert_allclose(copies.norms2[0], float((exact[:, 0] ** 2).sum()), rtol=1e-14 * mean)
    if storage == "csc64":
        assert copies.shifts[0] == 0.0  # as a whole
        assert entries_of(copies, np.arange(12)) < 60 * 6


def test_the_same_copies_for_any_number_of_threads(monkeypatch, case):
    monkeypatch.setattr("fwlasso._core.threads._CHUNK_BYTES", 512)
    found = []
    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            copier = make_copier(case.problem, workers)
            copier.copy(LocalPass(case.problem, workers).take(np.arange(40)), np.arange(40))
        found.append(columns_of(copier.copies, 40))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_places_are_used_again_and_entries_of_dropped_columns_make_room(rng, density):
    values = random_values(rng, 40, 300, density)
    values[0] = 1.0
    problem = make_case(values, rng.standard_normal(40), "dense64" if density == 1.0 else "csc64").problem
    with Workers(1) as workers:
        copier, columns = make_copier(problem, workers), LocalPass(problem, workers)
        held = np.full(60, -1)
        for _ in range(40):
            places = rng.permutation(60)[:20]
            copier.drop(places[held[places] >= 0])
            held[places] = rng.permutation(300)[:20]
            copier.copy(columns.take(held[places]), places)
            there = np.flatnonzero(held >= 0)
            rows = [Products(copier.copies, np.array([k]), workers).combine(np.ones(1))[:-1] for k in there]
            np.testing.assert_allclose(np.array(rows), values[:, held[there]].T, atol=1e-15)
        n_bytes = 8 * 40 * there.size if density == 1.0 else 12 * np.count_nonzero(values[:, held[there]])
        assert copier.nbytes == n_bytes
        assert copier.copies.data.size <= 4 * np.count_nonzero(values[:, :60])


def solve(work: WorkingSet, problem: Problem, columns: np.ndarray, share: float) -> np.ndarray:
    work.start_at(Start(np.empty(0, np.int64), np.empty(0)))
    weight, members = share * problem.lambda_max, work.together(work.places(columns))
    status, _ = work.solve(members, work.aim(weight, -1.0, 1e-10 * problem.yy, 1000), lambda *_: None)
    assert status is Status.CERTIFIED
    node = work.node(members, weight)
    a = np.zeros(problem.xty.size)
    a[node.columns] = node.coefs
    return a


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
def test_columns_that_were_not_asked_for_in_two_strides_are_forgotten(rng, storage):
    case = make_case(random_values(rng, 30, 200, 0.4), rng.standard_normal(30), storage, "centred")
    problem = case.problem
    with Workers(1) as workers:
        work = working_set(problem, workers)
        nbytes = []
        for stride in range(12):
            work.next_stride()
            columns = np.arange(15 * stride, 15 * stride + 30) if stride < 11 else np.arange(30)
            with_old = solve(work, problem, columns, 0.1)
            fresh = solve(working_set(problem, workers), problem, columns, 0.1)
            np.testing.assert_allclose(with_old, fresh, atol=1e-7)
            nbytes.append(work._copier.nbytes)
        assert work.subproblem.copies.norms2.size <= 200
        assert max(nbytes[3:]) <= 1.6 * min(nbytes[2:])  # of three strides, 60 columns or so
        assert work._columns[work.places(np.arange(30))].tolist() == list(range(30))


@pytest.mark.parametrize("storage", ["dense64", "csc64"])
def test_more_columns_than_the_budget_has_room_for_are_refused(rng, storage, monkeypatch):
    problem = make_case(random_values(rng, 30, 60, 0.4), rng.standard_normal(30), storage).problem
    with Workers(1) as workers:
        room = make_copier(problem, workers)
        room.copy(LocalPass(problem, workers).take(np.arange(20)), np.arange(20))
        monkeypatch.setattr(copying, "MOST_BYTES", room.nbytes)
        work = working_set(problem, workers)
        places = work.places(np.arange(20))
        with pytest.raises(NoRoom):
            work.places(np.arange(40))
        np.testing.assert_array_equal(work.places(np.arange(20)), places)  # nothing has changed
        before = solve(work, problem, np.arange(20), 0.1)
        work.next_stride()
        with pytest.raises(NoRoom):  # all of them are asked for in one stride
            work.together(work.places(np.arange(10)), work.places(np.arange(10, 50)))
        work.next_stride()
        solve(work, problem, np.arange(25, 35), 0.1)  # older ones make room
        np.testing.assert_allclose(solve(working_set(problem, workers), problem, np.arange(20), 0.1), before)

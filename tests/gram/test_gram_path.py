"""Paths on a Gram matrix: every claim is true of the data, whatever they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from fwlasso import Status
from fwlasso._core.gram_path import Limits, Walk, advance, make_walk
from fwlasso._core.moments import Moments
from fwlasso._core.penalties import L1, L1Ball
from fwlasso.gram import follow
from fwlasso.gram.follow import GramPath, follow_gram, targets_of
from gram_cases import hard_cases, moments_of, true_gaps

CASES = {name: (X, y) for name, X, y in hard_cases()}
MANY = 1_000_000


def dense(path: GramPath, moments: Moments) -> GramPath:
    """The same, with a row of coefficients for every point."""
    shape = len(path.statuses), moments.xty.size
    return path._replace(coefs=sp.csr_array((path.coefs, path.columns, path.indptr), shape).toarray())


def on_penalties(moments: Moments, lams: np.ndarray, tol: float = 1e-6, max_rounds: int = MANY) -> GramPath:
    goal = tol * moments.yy / 2
    targets = targets_of(list(map(L1, lams)), moments, goal)
    return dense(follow_gram(moments, targets, goal, max_rounds, lambda _: None), moments)


def on_radii(moments: Moments, values: np.ndarray, tol: float = 1e-6) -> GramPath:
    goal = tol * moments.yy / 2
    targets = targets_of(list(map(L1Ball, values)), moments, goal)
    return dense(follow_gram(moments, targets, goal, MANY, lambda _: None), moments)


def lams_of(moments: Moments, n: int = 40, smallest: float = 1e-3) -> np.ndarray:
    return np.geomspace(1.0, smallest, n) * np.abs(moments.xty).max()


def assert_true(path: GramPath, X, y, moments: Moments, tol: float, **targets) -> None:
    """Gaps and sums are those of the data, and a point is certified if and only if its gap is small."""
    assert np.isfinite(path.coefs).all()
    gaps = true_gaps(X, y, path.coefs, **targets)
    assert (gaps <= path.answers["gap"]).all()
    assert (path.answers["rounding"] <= path.answers["gap"]).all()
    certified = np.array([status is Status.CERTIFIED for status in path.statuses])
    assert (certified == (path.answers["gap"] <= tol * moments.yy / 2)).all()
    np.testing.assert_allclose(path.answers["l1"], np.abs(path.coefs).sum(axis=1), rtol=1e-12)
    fitted = (X - X.astype(np.longdouble).mean(axis=0)) @ path.coefs.T
    assert (
        np.abs(path.answers["qq"] - (fitted**2).sum(axis=0)) <= 4 * path.answers["rounding"] + 1e-12 * moments.yy
    ).all()


def assert_solved(path: GramPath, goal: float) -> None:
    """Every point is certified, unless rounding does not let it be."""
    for status, rounding in zip(path.statuses, path.answers["rounding"], strict=True):
        assert status is Status.CERTIFIED or (status is Status.PRECISION and rounding > 0.5 * goal)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("name", CASES)
def test_every_claim_over_penalties_is_true(name, tol):
    X, y = CASES[name]
    moments = moments_of(X, y)
    lams = lams_of(moments)
    path = on_penalties(moments, lams, tol)
    assert_true(path, X, y, moments, tol, lams=lams)
    assert_solved(path, tol * moments.yy / 2)
    # Of y without a part in the span, every correlation is rounding.
    assert set(path.statuses) == {Status.CERTIFIED} or tol < 1e-6 or name == "y orthogonal"


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("name", CASES)
def test_every_claim_over_radii_is_true(name, tol):
    X, y = CASES[name]
    moments = moments_of(X, y)
    most = on_penalties(moments, lams_of(moments)).answers["l1"][-1]
    values = np.concatenate([[0.0, 1e-300], np.geomspace(1e-3, 1.0, 30) * most, np.array([2.0, 1e10, 1e300]) * most])
    path = on_radii(moments, values, tol)
    with np.errstate(over="ignore"):
        assert_true(path, X, y, moments, tol, radii=values)
    assert (path.answers["l1"] <= values * (1 + 1e-13)).all()
    # For huge radii the rounding of a correlation is multiplied by them.
    provable = path._replace(statuses=path.statuses[:-2], answers=path.answers[:-2])
    assert_solved(provable, tol * moments.yy / 2)
    assert set(provable.statuses) == {Status.CERTIFIED} or tol < 1e-6
    assert set(path.statuses[-2:]) <= {Status.CERTIFIED, Status.PRECISION, Status.STALLED}


def test_penalties_may_begin_and_end_anywhere():
    X, y = CASES["plain"]
    moments = moments_of(X, y)
    top = np.abs(moments.xty).max()
    lams = top * np.array([2.0, 1.0, 1.0, 0.31, 0.3, 0.3, 0.3, 1e-4, 1e-7, 0.0, 0.0])
    path = on_penalties(moments, lams, 1e-8)
    assert_true(path, X, y, moments, 1e-8, lams=lams)
    assert (path.coefs[:3] == 0.0).all()
    assert (path.coefs[4:7] == path.coefs[4]).all()
    # No multiple of the residual is a dual point for lambda = 0: least squares, but no proof of it.
    assert path.statuses == (Status.CERTIFIED,) * 9 + (Status.STALLED,) * 2
    best = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(path.coefs[-1], best, atol=1e-6)
    below = on_penalties(moments, lams[3:4], 1e-8)
    np.testing.assert_allclose(below.coefs[0], path.coefs[3], atol=1e-5)
    assert set(below.statuses) == {Status.CERTIFIED}


@pytest.mark.parametrize("name", ["plain", "condition 1e8", "Vandermonde"])
def test_small_bursts_give_the_same_bits(name, monkeypatch):
    X, y = CASES[name]
    moments = moments_of(X, y)
    values = np.geomspace(1e-2, 3.0, 30)
    whole = on_penalties(moments, lams_of(moments)), on_radii(moments, values)
    monkeypatch.setattr(follow, "_BURST", 1.0)
    parts = on_penalties(moments, lams_of(moments)), on_radii(moments, values)
    for one, other in zip(whole, parts, strict=True):
        for expected, found in zip(one, other, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["plain", "condition 1e8"])
def test_few_rows_at_a_time_give_the_same_bits(name, monkeypatch):
    """Of a long path a window is held, however many points one node answers."""
    X, y = CASES[name]
    moments, held = moments_of(X, y), []
    top = np.abs(moments.xty).max()
    lams = np.concatenate([np.linspace(2.0, 1.0, 300), np.geomspace(1.0, 1e-3, 500), np.geomspace(1e-20, 1e-300, 300)])
    radii = np.concatenate([np.zeros(300), np.geomspace(1e-2, 3.0, 90), np.geomspace(1e20, 1e30, 600)])
    whole = on_penalties(moments, lams * top), on_radii(moments, radii)

    def noted(walk: Walk):
        held.append(len(walk.coefs))
        return _take_rows(walk)

    _take_rows = follow._take_rows
    monkeypatch.setattr(follow, "_take_rows", noted)
    monkeypatch.setattr(follow, "_ROW_BYTES", 1)
    parts = on_penalties(moments, lams * top), on_radii(moments, radii)
    assert len(held) >= 20
    assert set(held) == {follow._FEWEST_ROWS}
    for one, other in zip(whole, parts, strict=True):
        for expected, found in zip(one, other, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_where_pivoting_cycles_the_primal_active_set_takes_over():
    for name in ("condition 1e8", "condition 1e12", "Vandermonde", "Hilbert"):
        X, y = CASES[name]
        moments = moments_of(X, y)
        path = on_penalties(moments, lams_of(moments))
        assert path.n_descents > 0
        assert set(path.statuses) == {Status.CERTIFIED}


@pytest.mark.parametrize("where", ["factor", "node", "signs"])
def test_a_nan_between_two_bursts_makes_no_false_claim(where):
    X, y = CASES["plain"]
    moments = moments_of(X, y)
    goal, lams = 1e-6 * moments.yy / 2, lams_of(moments)
    targets, walk = targets_of(list(map(L1, lams)), moments, 0.0), make_walk(moments, lams.size)
    while walk.standing[0].n_done < lams.size:
        if 15 <= walk.standing[0].n_done < 20:
            planted = {"factor": walk.work.factor.upper, "node": walk.nodes.g, "signs": walk.work.sign}[where]
            planted[...] = np.nan
        advance(targets, moments, walk, Limits(goal, MANY), 1.0)
    finite = np.isfinite(walk.coefs).all(axis=1)
    gaps = walk.answers.gap
    assert (gaps[~finite] == np.inf).all()
    assert (true_gaps(X, y, walk.coefs[finite], lams=lams[finite]) <= gaps[finite]).all()
    if where == "factor":  # it is made afresh
        assert (gaps <= goal).all()


def test_a_gram_of_nan_ends_with_no_claim():
    moments = moments_of(*CASES["plain"])
    moments.gram[3, 5] = moments.gram[5, 3] = moments.gram[2, 2] = np.nan
    path = on_penalties(moments, lams_of(moments))
    assert len(path.answers["gap"]) == 40
    assert np.isfinite(path.coefs[np.isfinite(path.answers["gap"])]).all()


def test_so_many_roundings_prove_nothing():
    moments = moments_of(*CASES["plain"])._replace(n_ops=10**15)
    path = on_penalties(moments, lams_of(moments))
    assert (path.answers["gap"] == np.inf).all()
    assert set(path.statuses) == {Status.STALLED}


def test_a_look_may_end_it(monkeypatch):
    monkeypatch.setattr(follow, "_BURST", 1.0)
    moments, seen = moments_of(*CASES["plain"]), []

    def look(n_done: int) -> Status | None:
        seen.append(n_done)
        return Status.STOPPED if n_done >= 10 else None

    targets = targets_of(list(map(L1, lams_of(moments))), moments, 0.0)
    path = dense(follow_gram(moments, targets, 1e-6 * moments.yy / 2, MANY, look), moments)
    assert path.ending is Status.STOPPED
    assert len(path.coefs) == len(path.answers["gap"]) == len(path.statuses) == seen[-1] < 40
    assert seen == sorted(seen)
    whole = on_penalties(moments, lams_of(moments))
    assert whole.ending is None
    np.testing.assert_array_equal(path.coefs, whole.coefs[: seen[-1]])


def test_a_point_takes_no_more_rounds_than_allowed():
    X, y = CASES["condition 1e8"]
    moments = moments_of(X, y)
    lams = lams_of(moments)
    path = on_penalties(moments, lams, 1e-10, max_rounds=1)
    assert Status.MAX_ITER in path.statuses
    assert path.answers["n_rounds"].sum() <= lams.size
    assert_true(path, X, y, moments, 1e-10, lams=lams)


def test_nothing_smaller_than_rounding_can_be_asked_for():
    X, y = CASES["plain"]
    moments = moments_of(X, y)
    lams = lams_of(moments)
    path = on_penalties(moments, lams, 0.0)
    assert_true(path, X, y, moments, 0.0, lams=lams)
    assert set(path.statuses) == {Status.PRECISION}
    assert path.answers["gap"].max() < 1e-11 * moments.yy


def test_a_copy_does_not_come_beside_the_first():
    X, y = CASES["plain"]
    first, twice = X[:, :12], np.c_[X[:, :12], X[:, :12]]
    lams = lams_of(moments_of(first, y))
    alone = on_penalties(moments_of(first, y), lams, 1e-10)
    moments = moments_of(twice, y)
    targets, walk = targets_of(list(map(L1, lams)), moments, 0.0), make_walk(moments, lams.size)
    walk.work.factor.scale[12:] = 0.0  # until the first ones are active, as if they had no length
    while walk.standing[0].n_done < lams.size:
        advance(targets, moments, walk, Limits(1e-10 * moments.yy / 2, MANY), 1.0)
        if np.count_nonzero(walk.work.sign) == 12:
            walk.work.factor.scale[12:] = walk.work.factor.scale[:12]
    assert walk.work.factor.scale.all()
    assert (walk.coefs[:, 12:] == 0.0).all()
    np.testing.assert_allclose(walk.coefs[:, :12], alone.coefs, atol=1e-5)


def test_many_columns_are_followed(rng):
    """Enough of them for blocks, rotations and rows that are computed again."""
    X = rng.standard_normal((220, 200))
    y = X @ rng.standard_normal(200) + 5.0 * rng.standard_normal(220)
    moments = moments_of(X, y)
    lams = lams_of(moments, 50)
    path = on_penalties(moments, lams)
    assert_true(path, X, y, moments, 1e-6, lams=lams)
    assert set(path.statuses) == {Status.CERTIFIED}
    assert np.count_nonzero(path.coefs[-1]) > 150
    assert path.n_nodes <= 50
    assert path.answers["n_rounds"].sum() < 5 * path.n_nodes

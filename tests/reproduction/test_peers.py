"""Peers: what is handed over, how answers are judged, and a session with a peer that every environment has."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import enet_path

from attack.duality import General
from benchmarks import peers
from benchmarks.equal import Arena
from benchmarks.peers import PeerError, handover, run_peer, session, with_lars
from benchmarks.peers.accuracy import ball_gaps, moments, penalty_gaps
from benchmarks.problems import Problem
from fwlasso import lasso_path
from fwlasso._core.penalties import L1
from judge import exact, recomputed_gap

FOLDER = Path(peers.__file__).parent


@pytest.fixture
def data(rng):
    X = np.asfortranarray(rng.standard_normal((30, 50)) * 2.0 ** rng.integers(-2, 3, 50) + 1.0)
    X[:, 7] = 3.0
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30) + 5.0


@pytest.fixture
def _own_python(monkeypatch):
    monkeypatch.setattr(session, "PYTHON", sys.executable)


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csc_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_gaps_are_those_of_the_package(data, store, standardize):
    X, y = data
    path = lasso_path(store(X), y, alphas=8, standardize=standardize, solver="cd", stop="change", tol=1e-2)
    np.testing.assert_allclose(penalty_gaps(store(X), y, path.coefs, path.alphas, standardize), path.gaps, atol=1e-10)


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csc_array])
def test_gaps_of_the_constrained_form_too(data, store):
    X, y = data
    path = lasso_path(store(X), y, radii=8, standardize=True, solver="sfw", sample_size=20, random_state=0)
    known = moments(store(X))
    np.testing.assert_allclose(ball_gaps(store(X), y, path.coefs, path.radii, known), path.gaps, atol=1e-10)


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csc_array])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("l1_ratio", [0.9, 0.1])
def test_gaps_of_elastic_nets_are_no_smaller_than_the_least_ones(data, store, standardize, l1_ratio):
    X, y = data
    given = exact(X, y, True, standardize, General(l1_ratio=l1_ratio))
    alphas = given.lambda_max / 30.0 / l1_ratio * np.array([0.5, 0.1])
    factors = given.factors.astype(float)
    Z = (X - X.mean(axis=0)) * factors
    for tol, most in ((1e-2, 0.3), (1e-14, 1e-12)):
        a = enet_path(Z, y - y.mean(), l1_ratio=l1_ratio, alphas=alphas, tol=tol, max_iter=10**5)[1]
        gaps = penalty_gaps(store(X), y, a * factors[:, None], alphas, standardize, l1_ratio=l1_ratio)
        least = [recomputed_gap(given, L1(30 * l1_ratio * alphas[k]), a[:, k].astype(np.longdouble)) for k in range(2)]
        assert (gaps >= np.array(least, float) - 1e-14).all()
        assert (gaps <= most).all()


@pytest.mark.usefixtures("_own_python")
def test_a_peer_solves_an_elastic_net(data):
    with Arena.of(Problem(*data, True, 0.1, l1_ratio=0.5)) as arena:
        assert arena.run("sklearn_gram", 1e-12, 1).gap <= 1e-10


def test_moments_of_a_constant_column_are_none(data):
    X, _ = data
    for store in (np.asfortranarray, sp.csc_array):
        mean, deviation = moments(store(X))
        np.testing.assert_allclose(mean, X.mean(axis=0))
        np.testing.assert_allclose(deviation, np.where(np.arange(50) == 7, 0.0, X.std(axis=0)), atol=1e-12)


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csc_array])
def test_what_is_written_is_read(data, tmp_path, store):
    X, y = data
    given, _ = handover.scale(store(X), y, *moments(X), standardize=True, n_points=5, eps=0.1)
    handover.write(tmp_path, given)
    found = handover.read(tmp_path)
    for wanted, read in zip(given, found, strict=True):
        if sp.issparse(wanted):
            assert abs(wanted - read).max() == 0.0
        elif wanted is None:
            assert read is None
        else:
            np.testing.assert_array_equal(wanted, read)


@pytest.mark.usefixtures("_own_python")
@pytest.mark.parametrize("name", ["sklearn", "sklearn_gram", "lars"])
def test_a_peer_solves_the_path(data, name):
    X, y = data
    found = run_peer(name, X, y, alphas=10, standardize=True, tol=1e-10)
    exact = lasso_path(X, y, alphas=10, standardize=True, tol=1e-10)
    assert found.gaps.max() <= 1e-8
    assert found.times[0] > 0.0
    np.testing.assert_allclose(found.alphas, exact.alphas)
    np.testing.assert_allclose(found.coefs.toarray(), exact.coefs.toarray(), atol=1e-3)
    np.testing.assert_allclose(found.intercepts, exact.intercepts, atol=1e-3)


@pytest.mark.usefixtures("_own_python")
def test_some_calls_give_the_answer_of_one(data, tmp_path):
    X, y = data
    given, _ = handover.scale(X, y, *moments(X), standardize=True, n_points=5, eps=0.1)
    handover.write(tmp_path, given)
    with session.Session("sklearn", tmp_path, X.shape[1], 5) as peer:
        one, some = peer.ask(1e-8, 60.0), peer.ask(1e-8, 60.0, calls=3)
    assert one.coefs.nnz > 0
    np.testing.assert_array_equal(one.coefs.toarray(), some.coefs.toarray())


@pytest.mark.usefixtures("_own_python")
def test_a_peer_that_fails_says_so(data):
    X, y = data
    with pytest.raises(PeerError, match="dense columns only"):
        run_peer("lars", sp.csc_array(X), y, alphas=5)


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csc_array])
def test_the_gap_of_no_coefficients_is_that_of_y(data, store):
    X, y = data
    zero, alphas = np.zeros((X.shape[1], 2)), np.array([1e9, 1e-9])
    np.testing.assert_allclose(penalty_gaps(store(X), y, zero, alphas), [0.0, 1.0], atol=1e-6)


@pytest.mark.usefixtures("_own_python")
def test_a_peer_that_takes_too_long_says_so(data, monkeypatch):
    def wait(*_):
        raise TimeoutError

    monkeypatch.setattr(session.Session, "ask", wait)
    with pytest.raises(PeerError, match="sklearn had no answer after 60 s"):
        run_peer("sklearn", *data, alphas=5, time_limit=60.0)


def test_a_peer_that_is_not_there_says_so(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(session, "PYTHON", "no-such-python")
    with pytest.raises(PeerError, match="no-such-python has no celer: set FWLASSO_PEERS"):
        run_peer("celer", X, y)
    monkeypatch.setattr(session.shutil, "which", lambda _: None)
    with pytest.raises(PeerError, match="R with glmnet is not installed"):
        run_peer("glmnet", X, y)


def test_an_unknown_peer_is_refused(data):
    with pytest.raises(ValueError, match="name must be one of glmnet"):
        run_peer("lasso", *data)


def test_lars_leaves_the_columns_in_their_places(data):
    X, y = data
    given, _ = handover.scale(X, y, *moments(X), standardize=True, n_points=5, eps=0.1)
    solve = with_lars.solver(given)
    first, again = (with_lars.coefs(solve(0.0)).toarray() for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_scikit_learn_needs_no_environment_of_the_peers(monkeypatch):
    monkeypatch.setattr(session, "PYTHON", "no-such-python")
    assert session.why_missing("lars") is None


def test_lars_is_linear_between_its_knots():
    knots = with_lars.Knots(
        np.array([1.0, 0.5, 0.1]), np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), np.array([0.75, 0.3])
    )
    np.testing.assert_allclose(with_lars.coefs(knots).toarray(), [[1.0, 2.5], [0.0, 0.0]])


@pytest.mark.parametrize("file", ["serve.py", "handover.py", *sorted(file.name for file in FOLDER.glob("with_*.py"))])
def test_what_runs_in_the_other_environment_needs_nothing_of_the_package(file):
    source = (FOLDER / file).read_text()
    assert "from .." not in source
    assert "import fwlasso" not in source
    assert "from fwlasso" not in source

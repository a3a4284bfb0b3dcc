"""Simplices beside a reference QP, a plain Frank-Wolfe, the Lasso on a ball, and support vector machines."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

from fwlasso import Status, lasso_path
from fwlasso.solvers.polytopes import minimise_on_simplices


def reference(X, c, sizes):
    """The minimum, by sequential quadratic programming."""
    ends = np.cumsum(sizes)
    sums = [
        {"type": "eq", "fun": lambda u, lo=end - size, hi=end: u[lo:hi].sum() - 1.0}
        for size, end in zip(sizes, ends, strict=True)
    ]
    found = minimize(
        lambda u: 0.5 * np.sum((X @ u) ** 2) - c @ u,
        np.repeat(1.0 / np.array(sizes), sizes),
        jac=lambda u: X.T @ (X @ u) - c,
        bounds=[(0.0, 1.0)] * c.size,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.fun


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("sizes", "solver"),
    [([10], "sfw"), ([10], "fw"), ([10], "afw"), ([10], "pfw"), ([3, 1, 4, 2], "sfw"), ([3, 1, 4, 2], "fw")],
)
def test_the_gap_bounds_the_distance_to_the_minimum(sizes, solver, seed):
    rng = np.random.default_rng(seed)
    X, c = np.asfortranarray(rng.standard_normal((6, 10)) + 0.5), rng.standard_normal(10)
    found = minimise_on_simplices(X, c, sizes=sizes, solver=solver, sample_size=2, tol=5e-3, random_state=seed)
    best = reference(X, c, sizes)
    assert found.status is Status.CERTIFIED
    assert found.value == pytest.approx(0.5 * np.sum((X @ found.u) ** 2) - c @ found.u, rel=1e-12)
    assert -1e-9 <= found.value - best <= found.gap <= 5e-3 * abs(found.value)
    assert (found.u >= 0.0).all()
    np.testing.assert_allclose(np.add.reduceat(found.u, np.cumsum(sizes) - sizes), 1.0, rtol=1e-13)


def test_the_steps_are_those_of_frank_wolfe_on_the_simplex(rng):
    X, c = np.asfortranarray(rng.standard_normal((5, 8))), rng.standard_normal(8)
    u = np.zeros(8)
    u[np.argmin(0.5 * np.sum(X**2, axis=0) - c)] = 1.0
    for n_iter in range(1, 8):
        downhill = c - X.T @ (X @ u)
        vertex = np.eye(8)[np.argmax(downhill)]
        step = downhill @ (vertex - u) / np.sum((X @ (vertex - u)) ** 2)
        u += min(1.0, step) * (vertex - u)
        found = minimise_on_simplices(X, c, solver="fw", tol=1e-12, max_iter=n_iter)
        assert found.status is Status.MAX_ITER
        np.testing.assert_allclose(found.u, u, atol=1e-12)


@pytest.mark.parametrize("sizes", [[30], [10, 20]])
def test_the_objective_falls_and_a_seed_gives_the_same_bits(sizes, rng):
    X = sp.csc_array(rng.standard_normal((12, 30)) * (rng.random((12, 30)) < 0.5) + 0.2)
    asked = {"sizes": sizes, "sample_size": 4, "tol": 1e-9, "random_state": 1}
    runs = [minimise_on_simplices(X, max_iter=n, **asked) for n in (1, 2, 5, 20, 100)]
    values = [run.value for run in runs]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]
    again = minimise_on_simplices(X, max_iter=100, n_threads=1, **asked)
    np.testing.assert_array_equal(again.u, runs[-1].u)
    assert again[1:] == runs[-1][1:]
    other = minimise_on_simplices(X, max_iter=100, **(asked | {"random_state": 2}))
    assert not np.array_equal(other.u, again.u)


@pytest.mark.compiled
@pytest.mark.parametrize(("solver", "tol"), [("sfw", 1e-2), ("pfw", 1e-9)])
def test_the_lasso_is_a_point_of_least_norm(solver, tol, rng):
    Z = rng.standard_normal((30, 40))
    y = Z[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(30)
    path = lasso_path(Z, y, radii=[5.0], fit_intercept=False, tol=1e-10)
    residual = y - path.predict(Z, point=0)
    vertices = np.hstack([5.0 * Z, -5.0 * Z]) - y[:, None]
    found = minimise_on_simplices(vertices, solver=solver, sample_size=20, tol=tol, random_state=0)
    assert found.status is Status.CERTIFIED
    assert -1e-9 <= found.value - 0.5 * residual @ residual <= found.gap
    # ||Z (b - b*)||^2 / 2 is no more than what the objective is above its minimum.
    fitted = 5.0 * Z @ (found.u[:40] - found.u[40:])
    assert 0.5 * np.sum((y - residual - fitted) ** 2) <= 2.0 * found.gap + 1e-9
    # Without the 2 p columns less y: the linear term is that of least squares.
    balls = np.hstack([5.0 * Z, -5.0 * Z])
    same = minimise_on_simplices(balls, balls.T @ y, solver=solver, sample_size=20, tol=tol, random_state=0)
    assert abs(same.value + 0.5 * y @ y - found.value) <= same.gap + found.gap


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.compiled
@pytest.mark.parametrize(("solver", "tol"), [("sfw", 3e-2), ("pfw", 1e-6)])
def test_an_l2_svm_has_the_objective_of_linear_svc(solver, tol):
    X, target = load_breast_cancer(return_X_y=True)
    X, y, C = with_constant(scale(X)), 2.0 * target - 1.0, 0.1
    vertices = sp.vstack([sp.csc_array((y[:, None] * X).T), sp.eye_array(y.size) / np.sqrt(2.0 * C)], format="csc")
    found = minimise_on_simplices(vertices, solver=solver, sample_size=60, tol=tol, random_state=0)
    peer = LinearSVC(C=C, tol=1e-9, max_iter=100_000, random_state=0).fit(X[:, :-1], target)
    q = vertices @ found.u

    def objective(w):
        return 0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - y * (X @ w)) ** 2)

    ours, theirs = objective(q[: X.shape[1]] / (q @ q)), objective(np.append(peer.coef_, peer.intercept_))
    assert found.status is Status.CERTIFIED
    assert ours == pytest.approx(theirs, rel=tol)
    # The reciprocal of the least squared distance, halved, is a lower bound, and close by as much.
    assert (1.0 - tol) * theirs <= 0.5 / (q @ q) <= (1.0 + 1e-8) * theirs


@pytest.mark.compiled
def test_one_simplex_per_class_is_an_svm_with_a_free_intercept():
    X, target = load_iris(return_X_y=True)
    X, is_first = scale(X), target == 0
    vertices = np.hstack([X[is_first].T, -X[~is_first].T])
    found = minimise_on_simplices(vertices, sizes=[50, 100], sample_size=20, tol=1e-3, random_state=0)
    peer = SVC(kernel="linear", C=1e6, tol=1e-9).fit(X, is_first)
    theirs = 0.5 * np.sum(peer.coef_**2)
    assert found.status is Status.CERTIFIED
    assert 1.0 / found.value <= (1.0 + 1e-8) * theirs
    assert theirs <= (1.0 + 1e-8) / (found.value - found.gap) <= 1.01 * theirs


@pytest.mark.compiled
@pytest.mark.parametrize(("solver", "sample_size"), [("fw", None), ("sfw", 1)])
def test_one_simplex_per_sample_is_the_svm_of_crammer_and_singer(solver, sample_size):
    X, target = load_iris(return_X_y=True)
    X, C, tol = with_constant(scale(X)), 0.5, 1e-3
    n, d = X.shape
    is_class = np.eye(3)[target]
    # The vertices of sample i are C (e_target - e_k) x_i for the classes k, and their losses those of a wrong one.
    vertices = C * np.einsum("ikc,id->cdik", is_class[:, None] - np.eye(3), X).reshape(3 * d, 3 * n)
    losses = C * (1.0 - is_class).ravel()
    found = minimise_on_simplices(
        vertices, losses, sizes=[3] * n, solver=solver, sample_size=sample_size, tol=tol, random_state=0
    )
    peer = LinearSVC(C=C, multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000, random_state=0)
    peer.fit(X[:, :-1], target)

    def objective(W):
        scores = X @ W.T
        own = np.sum(scores * is_class, axis=1, keepdims=True)
        return 0.5 * np.sum(W**2) + C * np.sum(np.max(scores - own + 1.0 - is_class, axis=1))

    ours, theirs = objective((vertices @ found.u).reshape(3, d)), objective(np.c_[peer.coef_, peer.intercept_])
    assert found.status is Status.CERTIFIED
    assert ours + found.value == pytest.approx(found.gap, rel=1e-6)  # its gap is that of the SVM
    assert ours == pytest.approx(theirs, rel=tol)


def test_a_gap_that_cannot_be_proved_is_said_to_be_rounding():
    X = np.array([[1.0, 1.0, 2.0], [1.0, -1.0, 0.3]])
    assert minimise_on_simplices(X, solver="pfw", tol=1e-300).status is Status.PRECISION


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": [1.0]}, "c must be 4 finite"),
        ({"c": [1.0, np.nan, 0.0, 0.0]}, "c must be 4 finite"),
        ({"sizes": [2, 1]}, "sizes must be"),
        ({"sizes": [4, 0]}, "sizes must be"),
        ({"sizes": [2.0, 2.0]}, "sizes must be"),
        ({"solver": "cd"}, "solver must be"),
        ({"solver": "pfw", "sizes": [2, 2]}, "solver must be sfw or fw"),
        ({"sample_size": 0}, "sample_size must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"random_state": "one"}, "random_state"),
    ],
)
def test_bad_arguments_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        minimise_on_simplices(np.eye(4), **given)


@pytest.mark.parametrize("X", [np.full((2, 2), np.nan), np.full((2, 2), 1e200)])
def test_bad_vertices_are_named(X):
    with pytest.raises(ValueError, match="X"):
        minimise_on_simplices(X)

import numpy as np
import pytest

from fwlasso import lasso_path

pytestmark = [
    pytest.mark.usefixtures("baselines"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 80))
    return X, X[:, :3] @ [2.0, -1.0, 1.0] + 0.1 * rng.standard_normal(40)


def objectives(data, solver, max_iter, **more):
    """The objective at every point of a short path, with and without centred columns, sparse ones as dense."""
    X, y = data
    path = lasso_path(X, y, alphas=[0.5, 0.2], solver=solver, stop="gap", tol=0.0, max_iter=max_iter, **more)
    left = y[:, None] - path.predict(X)
    return 0.5 * (left**2).mean(axis=0) + path.alphas * abs(path.scaled_coefs).sum(axis=0), path


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("solver", ["sgd", "smidas"])
def test_it_goes_to_the_certified_solution(data, solver, standardize):
    X, y = data
    exact = lasso_path(X, y, alphas=[0.5, 0.2], tol=1e-9, standardize=standardize)
    best = 0.5 * ((y[:, None] - exact.predict(X)) ** 2).mean(axis=0) + exact.alphas * exact.radii
    few, many = (objectives(data, solver, n, standardize=standardize, random_state=0)[0] for n in (10, 600))
    start = 0.5 * np.var(y)
    assert np.all((many - best) / (start - best) < 0.03)
    assert np.all(best <= many * (1 + 1e-9))
    assert np.all(many < few)


@pytest.mark.parametrize("solver", ["sgd", "smidas"])
def test_the_seed_decides_and_an_epoch_is_three_products(data, solver):
    one, again, other = (objectives(data, solver, 4, random_state=seed, certify=False)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coefs.toarray(), again.coefs.toarray())
    assert not np.array_equal(one.coefs.toarray(), other.coefs.toarray())
    looks = one.counters.dot_products - 80 * (1 + 3 * 8)  # of the gap, after every five epochs
    assert 0 < looks <= 2 * 80 * 2

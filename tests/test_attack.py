"""Data that break arithmetic, on guarded pages: no memory that is not ours, no index outside, no NaN untold."""

import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from attack.generators import means, near_copies, scales_side_by_side, unix_times
from conftest import STORAGES
from fwlasso import lasso_path
from fwlasso.solvers.registry import DEFAULT_SOLVER, SOLVERS
from guarded import guarded, guarded_results, guarded_storage

# Sets for every solver and storage; all of them together are more than two hundred.
N_SETS = int(os.environ.get("FWLASSO_ATTACK_SETS", "4"))


SETS = [means, unix_times, near_copies, scales_side_by_side]
#: Kernels of a storage are the same in all solvers: one of them reads every storage, and all read two.
READERS = [(storage, name) for storage in STORAGES for name in SOLVERS]
READERS = [it for it in READERS if it[0] in ("dense64", "csc64") or it[1] == DEFAULT_SOLVER or it == ("bed", "sfw")]


@pytest.mark.parametrize(("storage", "solver"), READERS)
def test_whatever_the_data_nothing_outside_is_read_or_told(storage, solver):
    n_active = 0
    for number in range(N_SETS):
        rng = np.random.default_rng([number, len(solver)])
        values, y, *_ = SETS[number % len(SETS)](rng)
        X = STORAGES[storage](values if storage != "bed" else rng.integers(0, 4, values.shape))
        settings = {"solver": solver, "max_iter": 10, "tol": 1e-12, "random_state": number}
        settings[SOLVERS[solver].grids[0]] = 2 if number % 2 else 5
        if "change" in SOLVERS[solver].stops:
            settings["stop"] = ("gap", "change")[number // 4 % 2]
        at_end = bool(number % 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for X_, y_, context in (
                (X, y, warnings.catch_warnings()),  # compiles
                (guarded_storage(X, at_end=at_end), guarded(y, at_end=at_end), guarded_results(at_end=at_end)),
            ):
                try:
                    with context:
                        path = lasso_path(X_, y_, **settings)
                except ValueError as error:
                    if "radii: no end was found" not in str(error):
                        raise
                    continue
                indices = path.coefs.indices
                assert ((indices >= 0) & (indices < path.coefs.shape[0])).all()
                n_active += indices.size
                is_finite = np.isfinite(path.coefs.toarray()).all(axis=0) & np.isfinite(path.intercepts)
                told = ~(path.gaps <= 1.0) & [status.value != "certified" for status in path.statuses]
                assert (is_finite | told).all()
    assert n_active > 0


@pytest.mark.parametrize("solver", ["sfw", "fw", "certified"])
def test_a_column_of_times_has_an_automatic_grid(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30))
    X[:, 7] = 1.7e12 + np.round(rng.uniform(0.0, 6e4, 40))  # unix milliseconds over a minute among ordinary columns
    y = X[:, :3] @ [1.0, 2.0, 3.0] + rng.standard_normal(40)
    path = lasso_path(X, y, solver=solver, radii=3, random_state=0)
    assert np.isfinite(path.radii).all()
    assert path.radii[-1] > 0.0


@pytest.mark.parametrize("seed", range(200))
def test_a_needle_is_found(seed):
    """One column of 2,000 explains y, and no other has any correlation with it: a draw without it brings no descent."""
    rng = np.random.default_rng(seed)
    j = rng.integers(2000)
    X = np.zeros((40, 2000), order="F")
    X[20:] = rng.standard_normal((20, 2000))
    X[:, j] = np.repeat([1.0, -1.0, 0.0], [10, 10, 20])
    path = lasso_path(X, 3.0 * X[:, j], solver="sfw", radii=[1.0], random_state=seed)
    np.testing.assert_array_equal(path.coefs.indices, [j])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        path = lasso_path(X, 3.0 * X[:, j], solver="sfw", stop="paper", radii=[1.0], random_state=seed)
    assert path.coefs.indices.size == 1 or [w.category for w in told] == [ConvergenceWarning]

"""Every solver that has a name can be used by it."""

import numpy as np
import pytest

from fwlasso import Lasso, lasso_path
from fwlasso.solvers.registry import SOLVERS, register

GRIDS = {"alphas": [0.3, 0.1], "radii": [0.5, 1.0]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((30, 50)))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 0.1 * rng.standard_normal(30)


@pytest.mark.parametrize(
    ("solver", "grid", "stop"),
    [(name, grid, stop) for name, entry in SOLVERS.items() for grid in entry.grids for stop in entry.stops],
)
def test_a_solver_solves_its_forms_by_its_rules(data, solver, grid, stop):
    settings = {"solver": solver, "stop": stop, "random_state": 0, grid: GRIDS[grid]}
    path = lasso_path(*data, tol=1e-2 if stop == "gap" else None, **settings)
    assert all(status.converged for status in path.statuses)
    assert path.gaps.max() <= (1e-2 if stop == "gap" else 0.5)
    assert (path.settings["solver"], path.settings["stop"]) == (solver, stop)


@pytest.mark.parametrize("name", SOLVERS)
def test_estimators_take_every_solver(data, name):
    penalty = {"alpha": 0.1} if SOLVERS[name].grids[0] == "alphas" else {"radius": 1.0}
    model = Lasso(solver=name, tol=1e-2, random_state=0, **penalty).fit(*data)
    assert model.relative_gap_ <= 1e-2
    assert model.score(*data) > 0.3


def test_a_solver_from_outside_has_a_name_of_its_own(data, monkeypatch):
    entry = SOLVERS["cd"]._replace(stops=("change",))
    monkeypatch.setitem(SOLVERS, "mine", entry)
    register("mine", entry)  # again is as good as once
    assert lasso_path(*data, alphas=3, solver="mine").settings["stop"] == "change"
    with pytest.raises(ValueError, match="already a solver 'cd'"):
        register("cd", entry)


@pytest.mark.filterwarnings("ignore:.*ended by a step of length zero:UserWarning")
def test_the_entry_of_a_solver_says_how_it_draws_and_counts(data, monkeypatch):
    monkeypatch.setitem(SOLVERS, "mine", SOLVERS["sfw"])
    asked = {"radii": 3, "variant": "paper", "sample_size": 7, "random_state": 0}
    ours, mine = (lasso_path(*data, solver=name, **asked) for name in ("sfw", "mine"))
    assert mine.settings == ours.settings | {"solver": "mine"}
    assert mine.settings["first_sample"] == 7
    assert mine.counters.dot_products == ours.counters.dot_products

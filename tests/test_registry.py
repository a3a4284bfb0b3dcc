"""Every solver that has a name can be used by it, and only for what it solves."""

import numpy as np
import pytest

from fwlasso import Lasso, lasso_path
from fwlasso.solvers.registry import SOLVERS, STOPS, register

GRIDS = {"alphas": [0.3, 0.1], "radii": [0.5, 1.0]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((30, 50)))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 0.1 * rng.standard_normal(30)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(("solver", "grid"), [(name, grid) for name, entry in SOLVERS.items() for grid in entry.grids])
def test_a_solver_solves_its_forms_by_its_rules(data, solver, grid, stop):
    settings = {"solver": solver, "stop": stop, "random_state": 0, grid: GRIDS[grid]}
    if stop not in SOLVERS[solver].stops:
        with pytest.raises(ValueError, match=r"^stop: "):
            lasso_path(*data, **settings)
        return
    path = lasso_path(*data, tol=1e-2 if stop == "gap" else None, **settings)
    assert all(status.converged for status in path.statuses)
    assert path.gaps.max() <= (1e-2 if stop == "gap" else 0.5)
    assert (path.settings["solver"], path.settings["stop"]) == (solver, stop)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_form_that_it_does_not_solve_is_named(name):
    for grid in set(GRIDS) - set(SOLVERS[name].grids):
        with pytest.raises(ValueError, match=rf"^{grid}: solver='{name}' solves the \w+ form, give \w+ instead$"):
            lasso_path(np.eye(3), np.ones(3), solver=name, **{grid: GRIDS[grid]})
        with pytest.raises(ValueError, match=grid):
            Lasso(solver=name, radius=1.0 if grid == "radii" else None).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize("name", SOLVERS)
def test_estimators_take_every_solver(data, name):
    form = {"alpha": 0.1} if SOLVERS[name].grids[0] == "alphas" else {"radius": 1.0}
    model = Lasso(solver=name, tol=1e-2, random_state=0, **form).fit(*data)
    assert model.dual_gap_ <= 1e-2
    assert model.score(*data) > 0.3


@pytest.mark.parametrize("name", SOLVERS)
def test_every_name_is_told_to_the_user(name):
    assert f'"{name}"' in lasso_path.__doc__
    with pytest.raises(ValueError, match=rf"solver must be one of .*\b{name}\b"):
        lasso_path(np.eye(3), np.ones(3), solver="none")


def test_rules_have_tolerances_and_defaults_are_what_a_solver_can_do():
    for entry in SOLVERS.values():
        assert set(entry.stops) <= set(STOPS)
        assert set(entry.grids) <= set(GRIDS)


def test_a_solver_from_outside_has_a_name_of_its_own(data, monkeypatch):
    entry = SOLVERS["cd"]._replace(stops=("change",))
    monkeypatch.setitem(SOLVERS, "mine", entry)
    register("mine", entry)  # again is as good as once
    assert lasso_path(*data, alphas=3, solver="mine").settings["stop"] == "change"
    with pytest.raises(ValueError, match="another solver 'cd'"):
        register("cd", entry)

"""Options: what is left open is settled by the solver, and a bad argument is named."""

import inspect
import json

import numpy as np
import pytest

from fwlasso import lasso_path
from fwlasso.options import Options
from fwlasso.solvers.registry import SOLVERS, STOPS

DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(lasso_path).parameters.items()
    if name not in ("X", "y")
}


def make(**given):
    return Options(**{**DEFAULTS, **given})


def test_the_solver_by_default_is_the_certified_path():
    assert DEFAULTS["solver"] == next(iter(SOLVERS)) == "corrective"
    assert DEFAULTS["stop"] is DEFAULTS["tol"] is None


@pytest.mark.parametrize(
    ("solver", "rule", "tolerance", "grid_name"),
    [
        ("corrective", "gap", 1e-4, "alphas"),
        ("cd", "gap", 1e-4, "alphas"),
        ("sfw", "change", 1e-3, "radii"),
        ("fw", "change", 1e-3, "radii"),
        ("afw", "gap", 1e-4, "radii"),
        ("pfw", "gap", 1e-4, "radii"),
    ],
)
def test_what_is_left_open_is_settled_by_the_solver(solver, rule, tolerance, grid_name):
    options = make(solver=solver)
    assert (options.rule, options.tolerance, options.grid_name, options.grid) == (rule, tolerance, grid_name, 100)
    expected = {"solver": solver, "stop": rule, "tol": tolerance, "grid": grid_name}
    assert expected.items() <= options.record().items()


@pytest.mark.parametrize("solver", ["sfw", "fw", "cd"])
@pytest.mark.parametrize(("stop", "tolerance"), [("gap", 1e-4), ("change", 1e-3), ("paper", 1e-3)])
def test_the_tolerance_by_default_is_that_of_the_rule(solver, stop, tolerance):
    options = make(solver=solver, stop=stop)
    assert (options.rule, options.tolerance) == (stop, tolerance)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tol", [0.0, 1e-9, 0, np.float32(0.5)])
def test_a_given_tolerance_is_taken(solver, tol):
    options = make(solver=solver, tol=tol)
    assert options.tolerance == options.record()["tol"] == tol
    assert type(options.tolerance) is float


@pytest.mark.parametrize("grid", [{"alphas": [0.1, 0.3]}, {"radii": [0.3, 0.1]}], ids=["alphas", "radii"])
@pytest.mark.parametrize("solver", ["corrective", "sfw", "fw"])
def test_a_given_grid_is_taken_from_sparse_to_dense(solver, grid):
    options = make(solver=solver, **grid)
    assert {options.grid_name} == set(grid)
    np.testing.assert_array_equal(options.grid, [0.3, 0.1] if "alphas" in grid else [0.1, 0.3])


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_record_is_json_and_has_what_shapes_the_result(solver):
    record = make(solver=solver, max_iter=np.int64(7), fit_intercept=np.False_, callback=print).record()
    assert json.loads(json.dumps(record)) == record
    assert not {"alphas", "radii", "callback", "random_state", "n_threads"} & set(record)
    assert (record["max_iter"], record["fit_intercept"]) == (7, False)


@pytest.mark.parametrize("stop", sorted(set(STOPS) - {"gap"}))
def test_the_certified_path_stops_on_the_gap_only(stop):
    with pytest.raises(ValueError, match=f"^stop: solver='corrective' stops on the gap, got stop='{stop}'$"):
        make(stop=stop)
    assert make(stop="gap").rule == "gap"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"solver": "auto"}, f"solver must be one of {', '.join(SOLVERS)}, got 'auto'"),
        ({"solver": None}, "solver must be one of"),
        ({"stop": "soon"}, "stop must be one of change, paper, gap or None, got 'soon'"),
        ({"stop": ""}, "stop must be one of"),
        ({"tol": -1e-9}, "tol must be a number >= 0 or None, got -1e-09"),
        ({"tol": np.inf}, "tol must be a number"),
        ({"tol": True}, "tol must be a number"),
        ({"tol": "1e-3"}, "tol must be a number"),
        ({"max_iter": None}, "max_iter must be an integer >= 1"),
        ({"time_limit": np.nan}, "time_limit must be seconds > 0 or None"),
        ({"alphas": 3, "radii": 3}, "give alphas or radii, not both"),
        ({"solver": "cd", "radii": 3}, "radii: solver='cd' solves the penalized form"),
        ({"solver": "pfw", "alphas": 3}, "alphas: solver='pfw' solves the constrained form, give radii"),
        ({"solver": ["cd"]}, "solver must be one of"),
    ],
)
def test_a_bad_argument_is_named(bad, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the message is looked at below
        make(**bad)
    assert message in str(caught.value)

"""Options: what is left open is settled by the solver, and a bad argument is named."""

import inspect
import json

import numpy as np
import pytest

from fwlasso import (
    AdaptiveRule,
    CoxLassoCV,
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticLasso,
    LogisticLassoCV,
    PoissonLasso,
    PoissonLassoCV,
    lasso_path,
)
from fwlasso.cli.app import command as command_of
from fwlasso.options import SPECS, Options
from fwlasso.solvers.registry import SOLVERS, STOPS
from fwlasso.solvers.sample_size import DEFAULT_SAMPLE_SIZE

# Estimators leave what becomes of a path to `lasso_path`.
FOR_PATHS = {"callback", "certify", "checkpoint", "feature_names", "in_segments", "loss"}
GRID = {"alphas", "radii", "eps"}


def parameters_of(function):
    return {name: it.default for name, it in inspect.signature(function).parameters.items() if name in SPECS}


@pytest.mark.parametrize(
    ("function", "without", "other"),
    [
        (lasso_path, {"in_segments"}, {}),
        (Lasso, {*FOR_PATHS, *GRID}, {"stop": "gap", "max_iter": 100_000}),
        (LassoCV, FOR_PATHS, {"eps": 1e-3}),
        (ElasticNet, {*FOR_PATHS, *GRID}, {"stop": "gap", "max_iter": 100_000, "l1_ratio": 0.5}),
        (ElasticNetCV, FOR_PATHS, {"eps": 1e-3, "l1_ratio": 0.5}),
        *((it, {*FOR_PATHS, *GRID}, {"stop": "gap", "max_iter": 100_000}) for it in (LogisticLasso, PoissonLasso)),
        *((it, FOR_PATHS, {"eps": 1e-3}) for it in (LogisticLassoCV, PoissonLassoCV, CoxLassoCV)),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_signatures_have_every_option_with_its_default(function, without, other):
    expected = {name: getattr(Options, name) for name in SPECS if name not in without}
    assert parameters_of(function) == expected | other


@pytest.mark.parametrize("command", ["path", "cv"])
def test_commands_have_every_option_with_its_default(command):
    called = command_of(command)
    flags = {it.name: it for it in called.params if it.name in SPECS}
    assert list(flags) == [name for name, spec in SPECS.items() if spec.help]
    assert {name: flag.help for name, flag in flags.items()} == {name: SPECS[name].help for name in flags}
    python = {name: getattr(Options, name) for name in flags}
    assert {name: flag.default for name, flag in flags.items()} == python | {"random_state": 0}
    renamed = {name: flag.opts[0] for name, flag in flags.items() if flag.opts[0] != f"--{name.replace('_', '-')}"}
    assert renamed == {"fit_intercept": "--intercept", "random_state": "--seed", "n_threads": "--threads"}


def test_where_the_share_of_columns_is_told_so_is_the_least_number():
    for text in (SPECS["sample_size"].help, lasso_path.__doc__, AdaptiveRule.__doc__):
        assert f"at least {DEFAULT_SAMPLE_SIZE.at_least}" in " ".join(text.split())


def test_the_old_name_of_the_certified_path_is_understood():
    with pytest.warns(FutureWarning, match="solver='corrective' is now called 'certified'") as warned:
        options = Options(solver="corrective")
    assert (options.solver, options.record()["solver"], len(warned)) == ("certified", "certified", 1)


@pytest.mark.parametrize(
    ("solver", "rule", "tolerance", "grid_name"),
    [
        ("certified", "gap", 1e-4, "alphas"),
        ("cd", "gap", 1e-4, "alphas"),
        ("sfw", "change", 1e-3, "radii"),
        ("fw", "change", 1e-3, "radii"),
        ("afw", "gap", 1e-4, "radii"),
        ("pfw", "gap", 1e-4, "radii"),
    ],
)
def test_what_is_left_open_is_settled_by_the_solver(solver, rule, tolerance, grid_name):
    options = Options(solver=solver)
    assert (options.rule, options.tolerance, options.grid_name, options.grid) == (rule, tolerance, grid_name, 100)
    expected = {"solver": solver, "stop": rule, "tol": tolerance, "grid": grid_name}
    assert expected.items() <= options.record().items()


@pytest.mark.parametrize("solver", ["sfw", "fw", "cd"])
@pytest.mark.parametrize(("stop", "tolerance"), [("gap", 1e-4), ("change", 1e-3), ("paper", 1e-3)])
def test_the_tolerance_by_default_is_that_of_the_rule(solver, stop, tolerance):
    options = Options(solver=solver, stop=stop)
    assert (options.rule, options.tolerance) == (stop, tolerance)


@pytest.mark.parametrize("tol", [0.0, 1e-9, 0, np.float32(0.5)])
def test_a_given_tolerance_is_taken(tol):
    options = Options(tol=tol)
    assert options.tolerance == options.record()["tol"] == tol
    assert type(options.tolerance) is float


@pytest.mark.parametrize("grid", [{"alphas": [0.1, 0.3]}, {"radii": [0.3, 0.1]}], ids=["alphas", "radii"])
@pytest.mark.parametrize("solver", ["certified", "sfw"])
def test_a_given_grid_is_taken_from_sparse_to_dense(solver, grid):
    options = Options(solver=solver, **grid)
    assert {options.grid_name} == set(grid)
    np.testing.assert_array_equal(options.grid, [0.3, 0.1] if "alphas" in grid else [0.1, 0.3])


@pytest.mark.parametrize("solver", ["certified", "sfw"])
def test_the_record_is_json_and_has_what_shapes_the_result(solver):
    record = Options(solver=solver, max_iter=np.int64(7), fit_intercept=np.False_, callback=print).record()
    assert json.loads(json.dumps(record)) == record
    assert not {"alphas", "radii", "callback", "random_state", "n_threads"} & set(record)
    assert (record["max_iter"], record["fit_intercept"]) == (7, False)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_a_solver_cannot_do_is_named(solver):
    entry = SOLVERS[solver]
    for stop in set(STOPS) - set(entry.stops):
        with pytest.raises(ValueError, match=f"^stop: solver='{solver}' stops on the .*, got stop='{stop}'$"):
            Options(solver=solver, stop=stop)
    for grid in {"alphas", "radii"} - set(entry.grids):
        with pytest.raises(ValueError, match=rf"^{grid}: solver='{solver}' solves the \w+ form, give \w+ instead$"):
            Options(solver=solver, **{grid: 3})
    assert set(entry.stops) <= set(STOPS)


# The one list of bad arguments: functions, estimators and commands show with a case or two that they ask here.
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"solver": "auto"}, f"solver must be one of {', '.join(SOLVERS)}, got 'auto'"),
        ({"solver": None}, "solver must be one of"),
        ({"solver": ["cd"]}, "solver must be one of"),
        ({"stop": "soon"}, "stop must be one of change, paper, gap or None, got 'soon'"),
        ({"stop": ""}, "stop must be one of"),
        ({"tol": -1e-9}, "tol must be a number >= 0 or None, got -1e-09"),
        ({"tol": np.inf}, "tol must be a number"),
        ({"tol": np.nan}, "tol must be a number"),
        ({"tol": True}, "tol must be a number"),
        ({"tol": "1e-3"}, "tol must be a number"),
        ({"tol": 10**400}, "tol must be a number >= 0 or None, got 1000"),
        ({"time_limit": 10**400}, "time_limit must be seconds > 0 or None"),
        ({"alphas": 10**30}, f"alphas: {10**30} points are more than memory holds"),
        ({"radii": 10**30}, f"radii: {10**30} points are more than memory holds"),
        ({"eps": 0.0}, "eps must be a number in (0, 1) or None"),
        ({"eps": 1.0}, "eps must be"),
        ({"max_iter": None}, "max_iter must be an integer >= 1"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"block_size": 0}, "block_size must be an integer >= 1 or None"),
        ({"n_threads": 0}, "n_threads must be an integer >= 1 or None"),
        ({"sample_size": 0}, "sample_size must be"),
        ({"time_limit": np.nan}, "time_limit must be seconds > 0 or None"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"callback": 3}, "callback must be"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"fit_intercept": None}, "fit_intercept must be True or False"),
        ({"certify": 2}, "certify must be True or False"),
        ({"checkpoint": 3}, "checkpoint must be a folder or None"),
        ({"feature_names": ["a", 1]}, "feature_names must be a sequence of texts or None"),
        ({"feature_names": "ab"}, "feature_names must be"),
        ({"random_state": "x"}, "random_state: "),
        ({"alphas": 3, "radii": 3}, "give alphas or radii, not both"),
        ({"solver": "cd", "radii": 3}, "radii: solver='cd' solves the penalized form"),
        ({"solver": "pfw", "alphas": 3}, "alphas: solver='pfw' solves the constrained form, give radii"),
        ({"alphas": 0}, "alphas must be a number of points >= 1 or an array of values"),
        ({"alphas": [-1.0]}, "alphas"),
        ({"alphas": [np.nan]}, "alphas"),
        ({"alphas": []}, "alphas"),
        ({"alphas": "many"}, "alphas"),
        ({"alphas": [0.1, "0.2"]}, "alphas must be a number of points >= 1 or an array of values"),
        ({"radii": [np.inf]}, "radii"),
        ({"radii": [[1.0]]}, "radii"),
        ({"radii": True}, "radii"),
    ],
)
def test_a_bad_argument_is_named(bad, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the message is looked at below
        Options(**bad)
    assert message in str(caught.value)


@pytest.mark.parametrize("solver", ["certified", "gram", "working-set"])
def test_more_iterations_than_can_be_counted_are_no_limit(solver, rng):
    rows = rng.standard_normal((20, 5))
    path = lasso_path(rows, rows[:, 0], alphas=3, max_iter=10**30, solver=solver)
    assert path.summary_of_statuses() == "3 certified"


TERMS = {
    "a number": (-2, -2),
    "a mapping": ({"b*": 2.0, 3: np.inf}, "{'b*': 2.0, 3: float('inf')}"),
    "names": (["age", 0], "['age', 0]"),
    "an array": (np.ones(30), "<30 values>"),
    "a long list": ([1.0] * 30, "<30 values>"),
}


@pytest.mark.parametrize("what", TERMS)
def test_terms_of_columns_are_recorded_as_text(what):
    given, told = TERMS[what]
    assert Options(upper=given).record()["upper"] == told
    assert json.loads(json.dumps(Options(upper=given).run_record()))["upper"] == told

"""What is imported when: numba takes a third of a second, scikit-learn a second or two."""

import inspect
import sys
from importlib import import_module

import pytest

import fwlasso
from fwlasso.cli.app import COMMANDS
from programs import run_program

HEAVY = ["numba", "sklearn", "scipy.stats", "pandas", "pyarrow", "matplotlib", "rich", "typer"]
LOADED = f"import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
COMMAND_LINE = """
import sys
from fwlasso.cli import main
sys.argv = ["fwlasso", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""
SMALL_PATH = """
import numpy as np, scipy.sparse as sp
from fwlasso import lasso_path
X = np.random.default_rng(0).standard_normal((20, 30))
for given in (np.asfortranarray(X), X, np.float32(X), sp.csc_array(X), sp.csc_matrix(X)):
    path = lasso_path(given, X[:, 0], alphas=3, random_state=0)
    assert path.predict(given).shape == (20, 3)
assert path[-1].predict(given).shape == (20,)
"""
PROGRAMS = {
    "import fwlasso": ("", []),
    "import lasso_path": ("from fwlasso import lasso_path", ["numba"]),
    "a path, its predictions and a model": (SMALL_PATH, ["numba"]),
    "fwlasso --version": (COMMAND_LINE, ["rich", "typer"]),
    "fwlasso --help": (COMMAND_LINE, ["rich", "typer"]),
    **{f"fwlasso {name} --help": (COMMAND_LINE, ["numba", "rich", "typer"]) for name in ("path", "convert")},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_imported_that_is_not_needed(name):
    code, expected = PROGRAMS[name]
    arguments = name.split()[1:] if name.startswith("fwlasso ") else []
    done = run_program(f"import fwlasso\n{code}\n{LOADED}", *arguments, NUMBA_DISABLE_JIT=1)
    assert done.stdout.splitlines()[-1].split() == expected


def test_a_lasso_needs_no_selection_of_features_and_no_files():
    absent = {"sklearn.feature_selection", "fwlasso.datasets", "scipy.io"}
    run_program(f"import sys; from fwlasso import Lasso; assert not {absent} & set(sys.modules)")


def test_every_name_is_where_the_package_says():
    assert set(fwlasso.__all__) <= set(dir(fwlasso))
    for name in fwlasso.__all__:
        assert inspect.getmodule(getattr(fwlasso, name)).__name__.startswith("fwlasso.")
    source = inspect.getsource(fwlasso).partition("if TYPE_CHECKING:")[2].partition("# Where")[0]
    told = {line.split(" as ")[-1]: line.split()[1].lstrip(".") for line in source.split("\n") if "import" in line}
    assert told == fwlasso._HOME_OF  # type checkers are told the same


def test_modules_are_attributes_of_the_package_and_nothing_else_is():
    for module in ("datasets", "bed", "plots", "solvers"):
        assert getattr(fwlasso, module) is sys.modules[f"fwlasso.{module}"]
    for name in ("lasso", "_missing", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'fwlasso' has no attribute '{name}'"):
            getattr(fwlasso, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_docstring(name):
    module, line = COMMANDS[name]
    function = getattr(import_module(f"fwlasso.cli.{module}"), name.replace("-", "_"))
    assert inspect.getdoc(function).partition("\n\n")[0].replace("\n", " ") == line

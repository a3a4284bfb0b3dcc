"""Two modules speak, and nothing else; what they warn of is told on the user's line."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import fwlasso
from fwlasso import Lasso, lasso_cv, lasso_path

HOME = Path(fwlasso.__file__).parent
SPEAKERS = {
    "notices.py": "warnings and the log of the package",
    "cli_show.py": "all that the command line shows",
}
SPEECH = {"print", "warnings.warn", "typer.echo", "Console", "sys.stdout", "sys.stderr"}


def speech_in(source):
    """What a module says, or could say, by the names that it calls or takes."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found.add(ast.unparse(node.func))
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            found |= {"logging" for module in modules if module == "logging"}
    return found & (SPEECH | {"logging"})


def test_nothing_else_speaks():
    said = {str(file.relative_to(HOME)): speech_in(file.read_text(encoding="utf-8")) for file in HOME.rglob("*.py")}
    assert {name for name, speech in said.items() if speech} == set(SPEAKERS), said


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("print(1)", "print"),
        ("import warnings; warnings.warn('no')", "warnings.warn"),
        ("import logging", "logging"),
        ("from logging import getLogger", "logging"),
        ("sys.stdout.write('')", "sys.stdout"),
        ("console = Console()", "Console"),
    ],
)
def test_speech_is_found(line, found):
    assert speech_in(line) == {found}


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: lasso_path(X, y, tol=1e-12, max_iter=1, alphas=2),
        lambda X, y: lasso_cv(X, y, tol=1e-12, max_iter=1, alphas=2, cv=2),
        lambda X, y: Lasso(alpha=0.01, tol=1e-12, max_iter=1).fit(X, y),
    ],
)
def test_warning_is_told_on_the_line_of_the_user(call):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(X, y)
    assert any("did not meet" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}

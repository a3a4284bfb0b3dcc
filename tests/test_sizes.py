"""No module, function or call by position is too large; kernels take their arrays one by one."""

import ast
from pathlib import Path

import pytest

import fwlasso

MODULES = sorted(Path(fwlasso.__file__).parent.rglob("*.py"))
LINES_OF_MODULE, LINES_OF_FUNCTION, POSITIONAL = 450, 60, 6
COMPILED = ("kernel", "by_type", "register", "otherwise", "intrinsic", "_gather", "overload")
COMMANDS = "fwlasso/cli/"  # whose parameters are the options of the command line


def is_compiled(function: ast.FunctionDef) -> bool:
    return any(word in ast.unparse(it) for it in function.decorator_list for word in COMPILED)


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


KERNELS = {it.name for file in MODULES for it in functions(ast.parse(file.read_text())) if is_compiled(it)}


def faults(text: str, is_command: bool) -> list[str]:
    tree = ast.parse(text)
    inside = {id(node) for it in functions(tree) if is_compiled(it) for node in ast.walk(it)}
    found = ["module"] if text.count("\n") > LINES_OF_MODULE else []
    for it in functions(tree):
        first = it.body[1 if ast.get_docstring(it) and len(it.body) > 1 else 0]
        found += [f"{it.name}: lines"] if it.body[-1].end_lineno - first.lineno >= LINES_OF_FUNCTION else []
        n_given = sum(argument.arg not in ("self", "cls") for argument in it.args.args)
        found += [it.name] if n_given > POSITIONAL and not (id(it) in inside or is_command) else []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in inside]
    long = [ast.unparse(call.func) for call in calls if len(call.args) > POSITIONAL]
    return found + [name for name in long if name.rpartition(".")[2] not in KERNELS]


@pytest.mark.parametrize("file", MODULES, ids=lambda file: "/".join(file.parts[-2:]))
def test_nothing_is_too_large(file: Path):
    assert faults(file.read_text(), COMMANDS in file.as_posix()) == []


def test_what_is_too_large_is_found():
    long = (
        "def f():\n"
        + "    x = 1\n" * 61
        + "f(1, 2, 3, 4, 5, 6, 7)\n"
        + "def g(a, b, c, d, e, f, g): ...\n"
        + "\n" * 400
    )
    assert faults(long, False) == ["module", "f: lines", "g", "f"]

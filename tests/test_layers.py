"""Dependencies point one way, as pyproject.toml says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fwlasso

ROOT = Path(__file__).parents[1]


def lint(package_root: Path) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        cwd=package_root,
        env={**os.environ, "PYTHONPATH": str(package_root), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_hold():
    done = lint(Path(fwlasso.__file__).parents[1])
    assert done.returncode == 0, done.stdout
    assert "Contracts: 3 kept, 0 broken." in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("columns.py", "from .path import lasso_path", "fwlasso.columns -> fwlasso.path"),
        ("solvers/run.py", "import numba", "fwlasso.solvers.run -> numba"),
        ("options.py", "import reproduction.solvers", "fwlasso.options -> reproduction"),
    ],
)
def test_a_forbidden_import_is_found(module, line, broken, tmp_path):
    shutil.copytree(
        Path(fwlasso.__file__).parent, tmp_path / "fwlasso", ignore=shutil.ignore_patterns("__pycache__", "*.nb*")
    )
    with (tmp_path / "fwlasso" / module).open("a") as text:
        text.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert broken in done.stdout.replace("\n", " ")

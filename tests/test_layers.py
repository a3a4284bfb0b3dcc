"""Dependencies point one way, as pyproject.toml says."""

import os
import subprocess
import sys
from pathlib import Path

import fwlasso

ROOT = Path(__file__).parents[1]


def test_the_layers_hold():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    package_root = Path(fwlasso.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        cwd=package_root,
        env={**os.environ, "PYTHONPATH": str(package_root), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "Contracts: 5 kept, 0 broken." in done.stdout

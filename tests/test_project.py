"""Files beside the sources: they say the same as the package."""

import re
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import fwlasso
from attack.storages import STORAGES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("file", ["CITATION.cff", "conda/recipe.yaml"])
def test_the_version_is_one(file):
    (told,) = re.findall(r"^ *version: \"?(\d[\d.]*)\"?$", (ROOT / file).read_text(), re.MULTILINE)
    assert told == fwlasso.__version__


def test_the_conda_recipe_asks_for_the_dependencies_of_the_package():
    project, recipe = ((ROOT / name).read_text() for name in ("pyproject.toml", "conda/recipe.yaml"))
    (listed,) = re.findall(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)
    for needed in re.findall(r'"(.*?)"', listed):
        assert "- " + needed.replace(">=", " >=") in recipe


def test_every_target_of_a_workflow_is_one_of_make():
    made = re.findall(r"^([\w.%-]+)(?=.*:)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for file in (ROOT / ".github" / "workflows").iterdir():
        for target in re.findall(r"run: make ([\w-]+)", file.read_text()):
            assert target in made, file.name


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("storage", ["dense64", "csc64"])
def test_the_solver_for_benchopt_solves_its_problem(monkeypatch, rng, storage, fit_intercept):
    monkeypatch.setitem(sys.modules, "benchopt", types.SimpleNamespace(BaseSolver=object))
    spec = spec_from_file_location("benchopt_solver", ROOT / "benchmarks" / "benchopt" / "fwlasso.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    X = rng.standard_normal((30, 50))
    y = X[:, 0] + rng.standard_normal(30) + 5.0
    lmbd = 0.1 * np.abs(X.T @ (y - y.mean())).max()
    solver = module.Solver()
    solver.set_objective(STORAGES[storage](X), y, lmbd, fit_intercept)
    for tolerance in (1e38, 1e-10, 0.0):  # as benchopt begins, goes on, and ends
        solver.run(tolerance)
    beta = solver.get_result()["beta"]
    coef, intercept = (beta[:-1], beta[-1]) if fit_intercept else (beta, 0.0)
    corr = X.T @ (y - X @ coef - intercept)
    np.testing.assert_allclose(np.abs(corr[coef != 0.0]), lmbd, rtol=1e-4)
    assert np.abs(corr).max() <= lmbd * (1.0 + 1e-4)

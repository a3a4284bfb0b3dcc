"""Every script of the tutorials and every block of code in the guide runs; every public name is on an API page."""

import importlib
import re
import runpy

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from code_blocks import ROOT, blocks, run_commands, run_python

pytestmark = pytest.mark.long

mpl.use("agg")

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [
    "README.md",
    "docs/index.md",
    *sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("coming-from-*.md")),
    *sorted(f"docs/guide/{file.name}" for file in (ROOT / "docs/guide").glob("*.md")),
]
FIRST_HOUR = "docs/FIRST_HOUR.md"

#: Command lines of the first hour that are not run here, by how they begin, and why.
LEFT_OUT = {
    "python -m venv": "the environment is that of the tests",
    ". .venv/bin/activate": "likewise",
    "pip install": "likewise",
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.mark.compiled
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_tutorial_runs(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.compiled
@pytest.mark.parametrize("page", PAGES)
def test_python_of_a_page_runs(page, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40, 9))
    dump_svmlight_file(values, values[:, 0] - values[:, 1], str(tmp_path / "train.svm"))  # README speaks of it
    run_python(page, {})
    if page.startswith("docs/guide"):
        run_commands(page, LEFT_OUT)  # on the files that its Python has written


@pytest.mark.compiled
def test_readme_prints_what_it_says(tmp_path, capsys):
    first = blocks("README.md", "python")[0]
    run_python("README.md", {}, slice(1))
    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"^print\(.*\)  # (.*)$", first, re.MULTILINE)
    assert len(printed) == len(said) >= 3
    assert [text[: len(line)] for line, text in zip(printed, said, strict=True)] == printed


@pytest.mark.compiled
def test_first_hour(tmp_path):
    """A new user makes the files, types the commands, and does the same in Python."""
    names = {}
    run_python(FIRST_HOUR, names, slice(1))
    assert len(run_commands(FIRST_HOUR, LEFT_OUT)) >= 8
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 43
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    run_python(FIRST_HOUR, names, slice(1, None))
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("module", ["fwlasso", "fwlasso.datasets"])
def test_every_public_name_is_on_an_api_page(module):
    listed = set()
    for file in (ROOT / "docs" / "api").glob("*.rst"):
        # The names below a line that says of which module they are.
        parts = re.split(r"^\.\. currentmodule:: (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name == module:
                listed.update(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    assert listed == set(importlib.import_module(module).__all__)

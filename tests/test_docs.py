"""Every command line of README.md and docs/CLI.md runs, and does what it says; pages make the same claims."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from cli_cases import COMMANDS
from code_blocks import ROOT, blocks, run_commands, run_python
from fwlasso.cli import app as cli

pytestmark = pytest.mark.long

PAGES = ("README.md", "docs/CLI.md")

#: How long the first call compiles: in the same words wherever it is said.
COMPILING = "ten to twenty seconds"

#: Lines that are not run here, by how they begin, and why.
LEFT_OUT = {
    "make ": "builds an environment of its own; make test is what runs this",
    "pip install": "changes the environment that the tests run in",
    "fwlasso --install-completion": "changes the user's shell; tests/test_cli_models.py asks for completions instead",
}


def write_files(folder):
    """The files that the pages speak of."""
    rng = np.random.default_rng(0)
    values = np.round(rng.standard_normal((60, 9)), 2)
    price = np.round(4.0 * values[:, 0] - values[:, 3] + 0.1 * rng.standard_normal(60) + 10.0, 3)
    for name, rows in (("train", slice(40)), ("held", slice(40, 50)), ("test", slice(50, 60))):
        dump_svmlight_file(values[rows], price[rows], str(folder / f"{name}.svm"))
    dump_svmlight_file(values[:40], price[:40] > 10.0, str(folder / "mails.svm"))
    np.savetxt(folder / "weights.txt", np.arange(40) % 3)
    header = ["rooms", "age", *(f"f{j}" for j in range(7)), "price"]
    for name, rows in (("table", slice(40)), ("new", slice(40, 60))):
        lines = [",".join(map(repr, row)) for row in np.column_stack([values, price])[rows].tolist()]
        (folder / f"{name}.csv").write_text("\n".join([",".join(header), *lines, ""]))
    (folder / "june.csv").write_text("Wind,Temp\n7.4,67\nNA,72\n")
    rows = [f"{'NA' if k % 7 == 0 else 40 + k % 11},{'NA' if k % 5 == 0 else k % 9},{50 + k % 13}" for k in range(60)]
    (folder / "airquality.csv").write_text("\n".join(["Ozone,Wind,Temp", *rows, ""]))


@pytest.mark.compiled
@pytest.mark.parametrize("page", PAGES)
def test_command_lines_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    assert len(run_commands(page, LEFT_OUT)) >= 5


def test_python_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python("docs/CLI.md", {})


def test_every_command_is_on_the_page():
    text = (ROOT / "docs/CLI.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"`fwlasso {command}" in text
        assert f"\nfwlasso {command} " in text


def test_layout_of_a_run_is_that_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    for arguments in (["path", "train.svm", "--validation", "held.svm"], ["cv", "train.svm", "--resume"]):
        done = CliRunner().invoke(cli.app, [*arguments, "--quiet", "--out", "result"], catch_exceptions=False)
        assert done.exit_code == 0
    (layout,) = (block for block in blocks("docs/CLI.md", "") if block.startswith("result/"))
    told = {line.split()[0] for line in layout.splitlines()[1:]}
    there = {file.relative_to("result").as_posix() for file in Path("result").rglob("*") if file.is_file()}
    assert {"subsets/5/settings.json", "subsets/5/segments/3.npz"} < there
    there = {"subsets/1/" if name.startswith("subsets/") else name for name in there}
    assert told == {name for name in there if not name.startswith("segments/") or name == "segments/1.npz"}


def read(page):
    """The text of a page, on one line."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_pages_claim_the_speed_of_the_table():
    table, _ = (ROOT / "docs/BENCHMARKS.md").read_text(encoding="utf-8").split("## How it is measured")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]
    ratios = [float(bound) for row in rows for bound in row[-1].split(" to ")]
    claim = f"{math.floor(min(ratios))} to {math.ceil(max(ratios))} times faster than the fastest alternative"
    for page in ("README.md", "docs/index.md", "docs/BENCHMARKS.md"):
        said = re.findall(r"\d+ to \d+ times (?:less|faster)[\w ]*", read(page))
        assert {words[: len(claim)] for words in said} == {claim}, page
    (quoted,) = re.findall(r"\| (dorothea.*) \|", (ROOT / "README.md").read_text(encoding="utf-8"))
    (measured,) = (row for row in rows if row[0].startswith("dorothea"))
    name, _, gap, ours, _, peer, ratio = measured
    assert quoted == " | ".join([name, gap, ours, peer.removeprefix("glmnet, "), ratio])


@pytest.mark.parametrize(
    "page", ["README.md", "docs/FIRST_HOUR.md", "docs/guide/speed.md", "src/fwlasso/_core/notices.py"]
)
def test_pages_agree_on_the_time_of_compiling(page):
    said = [line for line in re.split(r"(?<=[.]) ", read(page)) if re.search(r"compil.* (seconds|minute)", line)]
    assert said
    assert all(COMPILING in line for line in said)

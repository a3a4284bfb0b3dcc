"""The study on small data under the names of the paper's sets: what it runs, writes, keeps and refuses."""

import csv
import hashlib
import json
import os
import signal
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.image import imread

from benchmarks.peers import PeerError
from reproduction import differences, main, measuring, sets
from reproduction.__main__ import main as run
from reproduction.data.paper_sets import PaperSet
from reproduction.methods import METHODS
from reproduction.study import Findings, Part, Setup, Task

pytestmark = pytest.mark.usefixtures("python_handles_interrupts", "baselines")

mpl.use("Agg")

COMPLETE, BAD_INPUT, INCOMPLETE = 0, 2, 3
EVERY = dict(METHODS)
SMALL = ("cd", "glmnet", "sfw-1", "sfw-1-blocks", "certified", "certified-radii")


def made_set(name, folder, *, download, random_state=None):
    """A small set under a name of the paper's, sparse for E2006."""
    assert not download
    rng = np.random.default_rng(len(name))
    X, X_test = rng.standard_normal((2, 30, 120))
    model = np.zeros(120)
    model[:4] = 3.0, -2.0, 2.0, 1.0
    y, y_test = (rows @ model + 0.1 * rng.standard_normal(30) for rows in (X, X_test))
    is_sparse = name.startswith("e2006")
    store = sp.csc_array if is_sparse else np.asfortranarray
    title = f"{name.capitalize()} (stand-in)" if is_sparse else name.capitalize()
    if name in ("pyrim", "triazines"):
        return PaperSet(name, title, store(X), y, None, None, None, False)
    relevant = None if is_sparse else np.arange(4)
    return PaperSet(name, title, store(X), y, store(X_test), y_test, relevant, is_sparse)


@pytest.fixture(autouse=True)
def _small_study(monkeypatch):
    """Small data, few methods, no peers and nothing beyond the paper."""

    def no_peer(*_, **__):
        raise PeerError("R is not installed")

    sets.load.cache_clear()
    sets.print_of_files.cache_clear()
    monkeypatch.setattr(sets, "fetch_paper_set", made_set)
    monkeypatch.setattr(measuring, "run_peer", no_peer)
    monkeypatch.setattr("reproduction.beyond.PARTS", [])
    monkeypatch.delenv("FWLASSO_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    for key in set(METHODS) - set(SMALL):
        monkeypatch.delitem(METHODS, key)
    yield
    sets.load.cache_clear()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "pyrim_scale").write_text("1 1:1\n")
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def call(capsys):
    """Runs the command, and returns what it tells on stderr."""

    def run_with(*arguments, exit_code=COMPLETE):
        found = run([str(argument) for argument in arguments])
        told = capsys.readouterr().err
        assert found == exit_code, told
        return told

    return run_with


def test_a_set_gives_tables_figures_and_a_page(call, data, out):
    call("--set", "pyrim", "--seeds", 2, "--data", data, "--out", out)
    tables = {file.name for file in (out / "tables").iterdir()}
    assert tables == {
        f"{name}.{ending}" for name in ("data", "files", "cost-pyrim", "accuracy-pyrim") for ending in ("md", "csv")
    }
    figures = {file.name for file in (out / "figures").iterdir()}
    assert figures == {f"{name}.{ending}" for name in ("sparsity-pyrim", "errors-pyrim") for ending in ("png", "svg")}
    assert imread(out / "figures" / "errors-pyrim.png").std() > 0.05
    page = (out / "RESULTS.md").read_text()
    assert "not run: R is not installed" in page
    assert "![Pyrim: active features](figures/sparsity-pyrim.png)" in page
    assert "| no. | what the paper says | where | here | on |" in page
    assert "Not measured" in page.partition("## Data")[0]
    assert "E2006-log1p was left out of this study" in page
    assert "--seeds 2 --threads 1`" in page
    assert hashlib.sha256(b"1 1:1\n").hexdigest() in page
    assert "large/pyrim/cd/0,iterations," in (out / "records.csv").read_text()
    with (out / "tables" / "cost-pyrim.csv").open() as stream:
        runs = {line["method"]: int(line["runs"]) for line in csv.DictReader(stream)}
    assert runs == {"cd": 1, "sfw-1": 2, "sfw-1-blocks": 2, "certified": 1, "certified-radii": 1}


@pytest.mark.compiled
def test_gaps_in_records_are_true_and_paths_are_on_the_papers_grids(call, data, out):
    call("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out, "--part", "large")
    records = {
        key: json.loads((out / "records" / "large" / "pyrim" / key / "0.json").read_text())["record"]
        for key in ("cd", "sfw-1", "certified", "certified-radii")
    }
    assert all(len(record["gaps"]) == 100 for record in records.values())
    assert max(records["certified"]["gaps"]) <= 1.01e-6
    assert max(records["sfw-1"]["gaps"]) > 1e-6
    ends = [record["l1"][-1] for record in records.values()]
    np.testing.assert_allclose(ends, ends[2], rtol=0.05)
    assert records["certified-radii"]["l1"][-1] / records["certified-radii"]["l1"][0] == pytest.approx(100.0, rel=1e-3)
    # Equal l1 norms: no model has a smaller error than the exact one.
    assert (np.array(records["sfw-1"]["train_mse"]) >= 0.999 * np.array(records["certified-radii"]["train_mse"])).all()


@pytest.mark.compiled
def test_synthetic_sets_show_growth_and_test_error(call, out):
    call("--set", "synthetic-10000-32", "--set", "synthetic-10000-100", "--seeds", 2, "--out", out)
    assert {file.stem for file in (out / "figures").iterdir()} == {
        "growth-synthetic-10000-32",
        "growth-synthetic-10000-100",
        "test-error-synthetic-10000-100",
    }
    page = (out / "RESULTS.md").read_text()
    assert "FW follows the 10 most relevant coefficients" in page
    assert "| 372 | " in page


@pytest.mark.compiled
def test_stand_ins_are_labelled(call, out):
    call("--set", "e2006-tfidf", "--seeds", 5, "--out", out)
    page = (out / "RESULTS.md").read_text()
    assert "E2006-tfidf (stand-in): cost" in page
    assert "E2006-tfidf (stand-in): true gaps" not in page
    assert "A stand-in is a matrix that is made to the size" in page
    assert "(0.883, " in page  # the published seconds


@pytest.mark.parametrize("method", ["cd", "apg-ball", "sfw-1", "certified"])
def test_models_are_looked_at_in_parts_with_the_same_numbers(data, monkeypatch, method):
    """However many coefficients there is room for; and they are those of the path itself."""
    loaded = sets.load("pyrim", data, None)
    whole = measuring.measure(loaded, EVERY[method], 0, 1)
    path = measuring.run(loaded, EVERY[method], 0, 1).path
    monkeypatch.setattr("reproduction.batches.MOST_COEFS", 20)
    parts = measuring.measure(loaded, EVERY[method], 0, 1)
    same = whole.keys() - {"seconds", "times", "solve_seconds"}
    for name in same - {"gaps", "train_mse", "l1"}:
        assert parts[name] == whole[name]
    for name in ("gaps", "train_mse", "l1"):
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-10, atol=1e-13)
    assert whole["n_active"] == path.n_active.tolist()
    assert whole["dot_products"] == path.counters.dot_products
    np.testing.assert_allclose(whole["l1"], abs(path.scaled_coefs).sum(axis=0), rtol=1e-12)


@pytest.mark.compiled
def test_a_second_run_computes_nothing(call, data, out, monkeypatch):
    arguments = ("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out)
    call(*arguments)

    def never(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr("reproduction.large_part.measure", never)
    monkeypatch.delitem(METHODS, "glmnet")  # what is missing is tried again
    assert "were there" in call(*arguments)
    assert "Pyrim: cost" in (out / "RESULTS.md").read_text()


def test_other_data_are_computed_again(call, data, out):
    arguments = ("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out, "--part", "data")
    assert "were there" not in call(*arguments)
    assert "were there" in call(*arguments)
    (data / "pyrim_scale").write_text("2 1:1\n")
    sets.print_of_files.cache_clear()
    assert "were there" not in call(*arguments)


@pytest.mark.compiled
@pytest.mark.parametrize(("option", "kept"), [("--tables", "tables"), ("--figures", "figures")])
def test_tables_or_figures_alone(call, data, out, option, kept):
    call("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out, option)
    assert {path.name for path in out.iterdir()} == {"records", "records.csv", "RESULTS.md", kept}


def test_by_default_it_runs_what_is_at_hand(data):
    assert main.choose_sets([], False, data) == (*sets.SYNTHETIC, "pyrim", "e2006-log1p")
    assert main.choose_sets([], True, data) == (*sets.SYNTHETIC, "pyrim", "e2006-tfidf", "e2006-log1p")
    assert main.choose_sets(["e2006-log1p"], False, data) == ("e2006-log1p",)


def test_differences_are_computed_from_what_is_published():
    setup = Setup(("news20",), 1, None, Path(), 1)
    text = " ".join(differences.DIFFERENCES.show(setup, {}).sentences)
    assert "fits 11 of the 12 published cells" in text
    assert "The odd one is E2006-tfidf, FW 1 %" in text
    assert "372 (s = 121; 379), 324 (s = 139; 329), 1,616 (s = 140; 1,643) and 1,572 (s = 144; 1,597)" in text
    records = {f"large/pyrim/sfw-1/{seed}": {"iterations": 250 + seed} for seed in range(3)}
    found = differences.DIFFERENCES.show(setup, {"data/pyrim": {"is_standin": False}, **records}).sentences
    assert any("FW 1 % on Pyrim -9 % [-10 %, -8 %]" in sentence for sentence in found)
    assert "News20 stand for them" in differences.ABSENT.show(setup, {}).sentences[0]


def test_ctrl_c_keeps_records_and_writes_what_is_there(call, data, out, monkeypatch):
    measure = measuring.measure

    def interrupted(loaded, method, seed, n_threads):
        if method.key == "sfw-1":
            os.kill(os.getpid(), signal.SIGINT)
        return measure(loaded, method, seed, n_threads)

    monkeypatch.setattr("reproduction.large_part.measure", interrupted)
    arguments = ("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out)
    told = call(*arguments, exit_code=INCOMPLETE)
    assert "goes on from there" in told
    assert "Pyrim: cost" in (out / "RESULTS.md").read_text()
    assert not (out / "records" / "large" / "pyrim" / "sfw-1").exists()
    monkeypatch.setattr("reproduction.large_part.measure", measure)
    assert "(2 of them were there)" in call(*arguments)


def test_what_fails_is_named_and_the_rest_is_written(call, data, out, monkeypatch):
    def fail(*_):
        raise RuntimeError("broken")

    broken = Part("broken", "Broken", lambda _: [Task("broken/task", 1.0, fail)], fail)
    monkeypatch.setattr("reproduction.beyond.PARTS", [broken])
    told = call(
        "--set", "pyrim", "--data", data, "--out", out, "--part", "data", "--part", "broken", exit_code=INCOMPLETE
    )
    assert "broken/task" in told
    page = (out / "RESULTS.md").read_text()
    assert "`broken`: RuntimeError: broken" in page
    assert "### Data sets" in page


def test_parts_share_tasks(out):
    ran = []
    task = Task("shared", 1.0, lambda: ran.append(1) or {})
    parts = [Part(name, name, lambda _: [task], lambda *_: Findings([], [], ["said"])) for name in ("a", "b")]
    done = main.run_study(Setup((), 1, None, out, None), parts, ["tables"])
    assert len(ran) == 1
    assert done.page.read_text().count("- said\n") == 2


def refused(capsys, *arguments):
    """What is said of bad input."""
    with pytest.raises(SystemExit) as ended:
        run([str(argument) for argument in arguments])
    assert ended.value.code == BAD_INPUT
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--set", "iris"), "--set must be one of synthetic-10000-32"),
        (("--set", "triazines"), "--set triazines: there is no file triazines_scale"),
        (("--part", "nothing"), "--part must be one of data, differences, synthetic, large"),
        (("--seeds", "0"), "--seeds must be at least 1"),
        (("--threads", "0"), "--threads must be at least 1"),
        (("--data", "no-such-folder"), "--data: no-such-folder is not a folder"),
    ],
)
def test_bad_input_is_named_before_any_work(capsys, data, out, arguments, named):
    assert named in refused(capsys, "--out", out, *(("--data", data) if "--data" not in arguments else ()), *arguments)
    assert not out.exists()


def test_out_must_be_a_folder(capsys, data, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert f"--out: {file} is not a folder" in refused(capsys, "--out", file, "--data", data)


def test_the_page_and_the_code_hold_no_path_of_this_machine(call, data, out):
    call("--set", "pyrim", "--seeds", 1, "--data", data, "--out", out, "--part", "data")
    assert str(data) not in (out / "RESULTS.md").read_text()
    assert Path.home().as_posix() not in (out / "RESULTS.md").read_text()

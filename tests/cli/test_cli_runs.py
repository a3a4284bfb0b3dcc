"""Runs on the command line: resumed, begun again, and killed at any moment."""

import os
import signal
import sys

import numpy as np
import pytest

from cli_cases import BAD_INPUT, COMPLETE, INCOMPLETE, SAVED, call, call_json, plain, saved_in
from fwlasso import LassoPath, Status, lasso_path
from fwlasso.checkpoints.folder import alone_in
from fwlasso.cli import path as cli_path
from fwlasso.cli import save as cli_save
from fwlasso.datasets import read_table
from programs import run_program
from run_cases import assert_same_bits


@pytest.mark.parametrize("options", ["", "--radii 10 --standardize", "--solver sfw --radii 10 --seed 4"])
def test_stopped_run_goes_on_with_the_same_bits(table, tmp_path, do_after, options):
    call("convert", table, tmp_path / "store", "--quiet")
    arguments = ("path", tmp_path / "store" if not options else table, *options.split(), "--quiet", "--out")
    call(*arguments, tmp_path / "whole")
    n_points = 10 if options else 100
    for stop in (0.1, 0.45, 0.8):
        do_after(round(stop * n_points))
        call(*arguments, tmp_path / "parts", "--resume", exit_code=INCOMPLETE)
        part, report = saved_in(tmp_path / "parts")
        assert part.ending is Status.STOPPED
        assert Status.STOPPED.sentence in report
    do_after(None)
    call(*arguments, tmp_path / "parts", "--resume")
    whole, _ = saved_in(tmp_path / "whole")
    path, report = saved_in(tmp_path / "parts")
    assert_same_bits(path, whole)
    assert "complete" in report


def test_complete_run_is_told(table, tmp_path):
    arguments = ("path", table, "--out", tmp_path / "run", "--resume")  # without a run, it is begun
    call(*arguments, "--quiet")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()}
    result = call(*arguments)
    assert "holds this run already, and it is complete: nothing to do" in plain(result.stderr)
    assert result.stdout == ""
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()} == before
    assert len(call_json(*arguments)["points"]) == 100


def test_run_killed_before_its_results_were_kept_goes_on(table, tmp_path, monkeypatch):
    """All segments are there, but no report."""
    monkeypatch.setattr(cli_path, "save", lambda *_, **__: sys.exit(9))
    call("path", table, "--out", tmp_path / "run", exit_code=9)
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == ["segments", "settings.json"]
    monkeypatch.undo()
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "nothing to do" not in plain(result.stderr)
    assert len(saved_in(tmp_path / "run")[0]) == 100


@pytest.mark.parametrize("is_begun_here", [True, False])
def test_what_python_has_completed_is_saved_once(table, tmp_path, do_after, is_begun_here):
    arguments = ("path", table, "--out", tmp_path / "run", "--resume")
    if is_begun_here:
        do_after(50)
        call(*arguments, "--quiet", exit_code=INCOMPLETE)
        do_after(None)
    lasso_path(read_table(table), random_state=0, checkpoint=tmp_path / "run")
    result = call(*arguments)
    assert "saved in" in plain(result.stderr)
    assert len(saved_in(tmp_path / "run")[0]) == 100
    assert "nothing to do" in plain(call(*arguments).stderr)


def test_folder_with_other_files_is_used_and_they_stay(table, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    for _ in range(2):
        call("path", table, "--alphas", 5, "--out", tmp_path / "run", "--overwrite", "--quiet")
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == sorted([*SAVED, "notes.txt"])


def test_overwrite_leaves_the_run_of_another_process_alone(table, tmp_path, call_main):
    call("path", table, "--alphas", 5, "--out", tmp_path / "run", "--quiet")
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    with alone_in(tmp_path / "run"):  # as another process has it
        ended = call_main("path", table, "--alphas", 5, "--out", tmp_path / "run", "--overwrite", "--quiet")
    assert ended == (BAD_INPUT, "", f"fwlasso: {tmp_path / 'run'}: another process is at work on this run")
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()} == before


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from fwlasso import LassoPath, cli

place, n_kills, options = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
draw = random.Random(0)

def run(folder):
    command, *rest = options
    sys.argv = ["fwlasso", command, str(place / "data.npz"), *rest, "--quiet", "--resume", "--out", str(folder)]
    try:
        cli.main()
    except SystemExit as ending:
        assert ending.code == 0, ending.code

def kill_one(folder, n_segments, seconds):
    victim = os.fork()
    if victim == 0:
        try:
            run(folder)
        finally:
            os._exit(0)
    # Half of the moments are any, half come soon after some segment, however fast the machine is.
    ended = 0
    while not ended and len(list(folder.glob("**/segments/*.npz"))) < n_segments:
        time.sleep(0.001)
        ended, _ = os.waitpid(victim, os.WNOHANG)
    time.sleep(seconds)
    if not ended:
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)

run(place / "compiles")
started = time.perf_counter()
run(place / "whole")
duration = time.perf_counter() - started
n_segments = len(list((place / "whole").glob("**/segments/*.npz")))
states = []
for kill in range(n_kills):
    folder = place / f"run{kill}"
    if kill % 2:
        kill_one(folder, draw.randint(0, n_segments), draw.uniform(0.0, 0.02))
    else:
        kill_one(folder, 0, draw.uniform(0.0, 1.1 * duration))
    if kill % 3 == 2:  # killed twice
        kill_one(folder, 0, draw.uniform(0.0, 1.1 * duration))
    states.append((len(list(folder.glob("**/segments/*.npz"))), (folder / "report.html").exists()))
    run(folder)
    assert not list(folder.rglob(".*.part")), list(folder.rglob("*"))
print(f"{duration:.2f} s a run; segments and reports that were there:", states)
"""


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options",
    [
        "path --alphas 200 --tol 1e-9",
        "path --solver sfw --radii 20 --stop gap --tol 1e-2",
        "cv --alphas 50 --folds 3 --rule 1se",
    ],
)
def test_killed_run_goes_on_with_the_same_bits(tmp_path, options):
    n_kills = int(os.environ.get("FWLASSO_KILLS", "4"))
    rng = np.random.default_rng(0)
    values = rng.standard_normal((300, 3000))
    y = values[:, :30] @ rng.standard_normal(30) + rng.standard_normal(300)
    np.savez(tmp_path / "data.npz", X=np.asfortranarray(values), y=y)
    done = run_program(KILLS, tmp_path, n_kills, *options.split(), MPLBACKEND="Agg")
    sys.stdout.write(done.stdout)
    whole = LassoPath.load(tmp_path / "whole" / "path.npz")
    for kill in range(n_kills):
        assert_same_bits(LassoPath.load(tmp_path / f"run{kill}" / "path.npz"), whole)
        if options.startswith("cv"):
            for name in ("choice.json", "model.json"):
                assert (tmp_path / f"run{kill}" / name).read_text() == (tmp_path / "whole" / name).read_text()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["path", "cv --folds 2"])
def test_signal_while_results_are_kept_leaves_a_run_to_go_on_with(
    table, tmp_path, monkeypatch, call_main, command, name
):
    monkeypatch.setattr(cli_save, "write_report", lambda *_: signal.raise_signal(signal.Signals[name]))
    arguments = (*command.split(), table, "--alphas", 5, "--out", tmp_path / "run")
    exit_code, _, told = call_main(*arguments)
    assert exit_code == INCOMPLETE
    assert "run holds the solved points. --resume continues from here" in told
    early = f"{tmp_path / 'run'}: this run ended early; --resume continues it"
    prediction = ("predict", tmp_path / "run", table, "--point", 5)
    assert early in plain(call(*prediction).stderr)
    assert early in call_json(*prediction)["notices"]
    monkeypatch.undo()
    assert call(*arguments, "--resume").exit_code == COMPLETE
    assert early not in call_json(*prediction)["notices"]

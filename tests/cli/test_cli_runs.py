"""Runs on the command line: resumed, refused, begun again, and killed at any moment."""

import json
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

import test_cli
from fwlasso import LassoPath, Status, lasso_path
from fwlasso.cli import path as cli_path
from fwlasso.cli import read as cli_read
from fwlasso.cli import save as cli_keep
from fwlasso.data.files import lock
from fwlasso.datasets import read_table, write_store
from programs import run_program
from test_cli import BAD_INPUT, COMPLETE, INCOMPLETE, KEPT, X, Y, call, call_json, kept_in, plain, write_csv
from test_segments import assert_same_bits, stop_at

call_main = test_cli.call_main
_wide_and_colourless = test_cli._wide_and_colourless


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "table.csv")


@pytest.fixture
def stop_after(monkeypatch):
    """Let the next paths end after some point, as if the time was over."""
    solve_path = cli_path.solve_path

    def stop(point):
        def stopped(data, y, options):
            return solve_path(data, y, replace(options, callback=stop_at(point)))

        monkeypatch.setattr(cli_path, "solve_path", solve_path if point is None else stopped)

    return stop


@pytest.mark.parametrize("options", ["", "--radii 10 --standardize", "--solver sfw --radii 10 --seed 4"])
def test_stopped_run_goes_on_with_the_same_bits(table, tmp_path, stop_after, options):
    arguments = ("path", table, *options.split(), "--quiet", "--out")
    call(*arguments, tmp_path / "whole")
    n_points = 10 if options else 100
    for stop in (0.1, 0.45, 0.8):
        stop_after(round(stop * n_points))
        call(*arguments, tmp_path / "parts", "--resume", exit_code=INCOMPLETE)
        part, report = kept_in(tmp_path / "parts")
        assert part.ending is Status.STOPPED
        assert Status.STOPPED.sentence in report
    stop_after(None)
    call(*arguments, tmp_path / "parts", "--resume")
    whole, _ = kept_in(tmp_path / "whole")
    path, report = kept_in(tmp_path / "parts")
    assert_same_bits(path, whole)
    assert "complete" in report


def test_where_to_go_on_is_told(table, tmp_path, stop_after):
    stop_after(50)
    result = call("path", table, "--out", tmp_path / "run", exit_code=INCOMPLETE)
    assert "--resume goes on from here" in plain(result.stderr)
    stop_after(None)
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "100/100" in plain(result.stderr)


def test_complete_run_is_told(table, tmp_path):
    call("path", table, "--out", tmp_path / "run", "--quiet")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()}
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "holds this run already, and it is complete: nothing to do" in plain(result.stderr)
    assert result.stdout == ""
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()} == before
    assert len(call_json("path", table, "--out", tmp_path / "run", "--resume")["points"]) == 100


def test_run_killed_before_its_results_were_kept_goes_on(table, tmp_path, monkeypatch):
    """All segments are there, but no report."""
    monkeypatch.setattr(cli_path, "save", lambda *_, **__: sys.exit(9))
    call("path", table, "--out", tmp_path / "run", exit_code=9)
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == ["segments", "settings.json"]
    monkeypatch.undo()
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "nothing to do" not in plain(result.stderr)
    assert len(kept_in(tmp_path / "run")[0]) == 100


def test_run_that_python_has_completed_is_complete_and_its_results_are_kept_once(table, tmp_path):
    lasso_path(read_table(table), random_state=0, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="run holds a complete run: --resume goes on with it"):
        call("path", table, "--out", tmp_path / "run")
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "nothing to do" not in plain(result.stderr)
    assert "saved in" in plain(result.stderr)
    assert len(kept_in(tmp_path / "run")[0]) == 100
    assert "nothing to do" in plain(call("path", table, "--out", tmp_path / "run", "--resume").stderr)


def test_part_that_was_kept_is_kept_again_when_python_has_completed_the_run(table, tmp_path, stop_after):
    stop_after(50)
    call("path", table, "--out", tmp_path / "run", "--quiet", exit_code=INCOMPLETE)
    stop_after(None)
    lasso_path(read_table(table), random_state=0, checkpoint=tmp_path / "run")
    result = call("path", table, "--out", tmp_path / "run", "--resume")
    assert "nothing to do" not in plain(result.stderr)
    assert len(kept_in(tmp_path / "run")[0]) == 100


def test_resume_without_a_run_begins_one(table, tmp_path):
    call("path", table, "--alphas", 5, "--out", tmp_path / "run", "--resume", "--quiet")
    assert len(kept_in(tmp_path / "run")[0]) == 5


def test_folder_with_other_files_is_used_and_they_stay(table, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    for _ in range(2):
        call("path", table, "--alphas", 5, "--out", tmp_path / "run", "--overwrite", "--quiet")
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == sorted([*KEPT, "notes.txt"])


def test_run_on_a_store(tmp_path, stop_after):
    write_store(tmp_path / "store", X, Y, feature_names=test_cli.NAMES)
    stop_after(50)
    call("path", tmp_path / "store", "--out", tmp_path / "run", "--quiet", exit_code=INCOMPLETE)
    stop_after(None)
    call("path", tmp_path / "store", "--out", tmp_path / "run", "--quiet", "--resume")
    call("path", tmp_path / "store", "--out", tmp_path / "whole", "--quiet")
    assert_same_bits(kept_in(tmp_path / "run")[0], kept_in(tmp_path / "whole")[0])
    assert "store" in json.loads((tmp_path / "run" / "settings.json").read_text())["data"]["X"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out run", "run holds an unfinished run: --resume goes on with it, --overwrite begins again"),
        ("--out done", "done holds a complete run: --resume"),
        ("--out results", "results holds results: --overwrite replaces them"),
        ("--out results --resume", "results holds results"),
        ("--out run --resume --tol 1e-9", "run holds another run: tol was 0.0001, and is 1e-09"),
        ("--out done --resume --alphas 7", "done holds another run: points was 100, and is 7"),
        ("--out run --resume --target f3", "run holds another run: the data have changed: X was different"),
        ("--out run --resume --overwrite", "give --resume or --overwrite, not both"),
        ("--resume", "--resume and --overwrite need --out"),
        ("--overwrite", "--resume and --overwrite need --out"),
        ("--out broken --resume", "settings.json: not a fwlasso-run"),
        ("--out torn --resume", "1.npz: not a fwlasso-segment"),
        ("--out table.csv", "--out: table.csv is not a folder"),
        ("--out run --overwrite --tol -1", "tol must be"),
        ("--out run --overwrite --target zz", "there is no column 'zz'"),
    ],
)
def test_bad_folder_ends_with_a_line(table, tmp_path, monkeypatch, stop_after, call_main, options, message):
    monkeypatch.chdir(tmp_path)
    call("path", "table.csv", "--out", "done", "--quiet")
    stop_after(50)
    for name in ("run", "torn", "results"):
        call("path", "table.csv", "--out", name, "--quiet", exit_code=INCOMPLETE)
    stop_after(None)
    (tmp_path / "torn" / "segments" / "1.npz").write_bytes(b"PK")
    (tmp_path / "results" / "settings.json").unlink()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "settings.json").write_text("{}")
    before = (tmp_path / "run" / "settings.json").read_bytes()
    exit_code, stdout, stderr = call_main("path", "table.csv", *options.split(), "--quiet")
    assert exit_code == BAD_INPUT
    assert stdout == ""
    assert stderr.startswith("fwlasso: ")
    assert message in stderr
    assert (tmp_path / "run" / "settings.json").read_bytes() == before  # an unfinished run is not lost by a typo


def test_overwrite_leaves_the_run_of_another_process_alone(table, tmp_path, call_main):
    call("path", table, "--alphas", 5, "--out", tmp_path / "run", "--quiet")
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    held = lock(tmp_path / "run")  # as whoever is at work on it has it
    try:
        ended = call_main("path", table, "--alphas", 5, "--out", tmp_path / "run", "--overwrite", "--quiet")
    finally:
        os.close(held)
    assert ended == (BAD_INPUT, "", f"fwlasso: {tmp_path / 'run'}: another process is at work on this run")
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()} == before


# Kills -------------------------------------------------------------------------------------------------------

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


def test_main_says_that_it_was_interrupted(table, monkeypatch, call_main):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_read, "read_table", interrupted)
    assert call_main("path", table) == (130, "", "fwlasso: interrupted")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["path", "cv --folds 2"])
def test_signal_while_results_are_kept_leaves_a_run_to_go_on_with(
    table, tmp_path, monkeypatch, call_main, command, name
):
    monkeypatch.setattr(cli_keep, "write_report", lambda *_: signal.raise_signal(signal.Signals[name]))
    arguments = (*command.split(), table, "--alphas", 5, "--out", tmp_path / "run")
    exit_code, _, told = call_main(*arguments)
    assert exit_code == INCOMPLETE
    assert "run holds what is solved. --resume goes on from here" in told
    early = f"{tmp_path / 'run'}: this run ended early; --resume goes on"
    prediction = ("predict", tmp_path / "run", table, "--point", 5)
    assert early in plain(call(*prediction).stderr)
    assert early in call_json(*prediction)["notices"]
    monkeypatch.undo()
    assert call(*arguments, "--resume").exit_code == COMPLETE
    assert early not in call_json(*prediction)["notices"]


def test_main_says_that_memory_is_short(table, monkeypatch, call_main):
    def short(*_, **__):
        raise MemoryError

    monkeypatch.setattr(cli_read, "read_table", short)
    exit_code, stdout, stderr = call_main("path", table)
    assert (exit_code, stdout) == (BAD_INPUT, "")
    assert "not enough memory" in stderr


def test_no_command_shows_the_help(call_main):
    exit_code, stdout, _ = call_main()
    assert exit_code == COMPLETE
    assert "predict" in stdout

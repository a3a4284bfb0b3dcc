"""Fixtures of tests that call commands."""

import contextlib
import shutil
import sys
from dataclasses import replace

import pytest

from cli_cases import Y, call, plain, write_csv
from fwlasso.cli import app as cli
from fwlasso.cli import path as cli_path


@pytest.fixture(autouse=True)
def _wide_and_colourless(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "table.csv")


@pytest.fixture(scope="session")
def folder_of_a_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with contextlib.chdir(folder):
        write_csv(folder / "table.csv")
        write_csv(folder / "test.csv", y=Y + 0.25)
        call("path", "table.csv", "--validation", "test.csv", "--alphas", 20, "--quiet", "--out", "run")
    return folder


@pytest.fixture
def run(folder_of_a_run, tmp_path, monkeypatch):
    """A copy of a run with a chosen model, in the present folder, and its files."""
    shutil.copytree(folder_of_a_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


@pytest.fixture
def call_main(monkeypatch, capsys):
    """Run the entry point in this process; an exception that would end in a traceback fails the test."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["fwlasso", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            cli.main()
        output = capsys.readouterr()
        return ending.value.code, output.out, plain(output.err)

    return run


@pytest.fixture
def do_after(monkeypatch):
    """Let the next paths do something after some point, such as to end; None: let them be."""
    solve_path = cli_path.solve_path

    def use(point, do=lambda: True):
        def changed(data, y, options):
            def show(now):
                options.callback(now)
                return do() if now.done and now.point >= point else None

            return solve_path(data, y, replace(options, callback=show))

        monkeypatch.setattr(cli_path, "solve_path", solve_path if point is None else changed)

    return use

"""The command line: the path that it computes, what it prints and saves, and how it ends."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import fwlasso
from cli_cases import BAD_INPUT, COMPLETE, INCOMPLETE, NAMES, M, P, X, Y, call, call_json, plain, saved_in, write_csv
from fwlasso import Status, lasso_path
from fwlasso.cli.ending import EXIT_UNMET
from run_cases import assert_same_bits

SETTINGS = {
    "": {},
    "--alphas 4 --tol 1e-6 --stop gap --max-iter 500 --threads 2": {"alphas": 4, "tol": 1e-6, "max_iter": 500},
    "--radii 3 --standardize --no-intercept": {"radii": 3, "standardize": True, "fit_intercept": False},
    "--solver cd --alphas 3 --eps 0.1": {"solver": "cd", "alphas": 3, "eps": 0.1},
    "--solver sfw --radii 3 --sample-size 0.5 --seed 7": {
        "solver": "sfw",
        "radii": 3,
        "sample_size": 0.5,
        "random_state": 7,
    },
    "--solver sfw --radii 2 --sample-size 2 --block-size 1 --stop paper --time-limit 1000": {
        "solver": "sfw",
        "radii": 2,
        "sample_size": 2,
        "block_size": 1,
        "stop": "paper",
        "time_limit": 1000.0,
    },
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", SETTINGS)
def test_path_is_that_of_the_library(table, tmp_path, options):
    record = call_json("path", table, *options.split(), "--out", tmp_path / "out")
    path, report = saved_in(tmp_path / "out")
    expected = lasso_path(
        X, Y, checkpoint=tmp_path / "again", feature_names=NAMES, **{"random_state": 0, **SETTINGS[options]}
    )
    known = {"conversion": None, "target": "y"}
    path.settings.update(known)
    expected.settings.update(known)
    assert_same_bits(path, expected)
    assert "table.csv" in report
    # The same numbers as JSON.
    assert set(record) == {
        "response",
        "notices",
        "points",
        "ending",
        "dot_products",
        "passes",
        "readings",
        "seconds",
        "settings",
    }
    assert {name: record[name] for name in ("response", "ending")} == {"response": "y", "ending": None}
    columns = {name: [point[name] for point in record["points"]] for name in record["points"][0]}
    assert columns == path.point_columns()
    counters = path.counters
    assert (record["dot_products"], record["passes"]) == (counters.dot_products, counters.passes)


@pytest.mark.parametrize(("n_points", "shown"), [(1, 1), (12, 12), (20, 12)])
def test_points_and_progress_are_printed(table, n_points, shown):
    result = call("path", table, "--radii", n_points)
    rows = re.findall(r"^ +(\d+)  .*certified", result.stdout, re.MULTILINE)
    assert (len(rows), rows[0], rows[-1]) == (shown, "1", str(n_points))
    assert re.search(r"largest coefficients of the last point: f0 \+\d[^,]*, f4 -\d", plain(result.stdout))
    assert f"table.csv: {M} samples, {P} features" in plain(result.stderr)
    assert f"{n_points}/{n_points}" in plain(result.stderr)


def test_verbose_shows_all_points_and_the_settings(table):
    text = call("path", table, "--alphas", 30, "--verbose").stdout
    assert [int(row) for row in re.findall(r"^ +(\d+)  .*certified", text, re.MULTILINE)] == list(range(1, 31))
    assert "solver=certified" in plain(text)


def test_path_without_active_features_is_printed(tmp_path):
    file = write_csv(tmp_path / "flat.csv", y=np.ones(M))
    result = call("path", file, "--radii", 3, "--out", tmp_path / "new" / "out")
    assert "largest coefficients of the last point: none" in plain(result.stdout)
    assert "path.npz, path.png, report.html" in plain(result.stderr)
    assert saved_in(tmp_path / "new" / "out")[0].coefs.nnz == 0


@pytest.mark.parametrize(
    ("options", "advice"), [("--solver sfw --alphas 3 --max-iter 1", "max_iter"), ("--alphas 30 --tol 0", "tol")]
)
def test_points_short_of_the_tolerance_are_told(table, options, advice):
    arguments = ("path", table, *options.split())
    shown = call(*arguments, exit_code=EXIT_UNMET).stderr
    assert re.search(rf"points did not meet stop=.* increase {advice}", plain(shown))
    assert call(*arguments, "--json", exit_code=EXIT_UNMET).stderr == ""
    assert call(*arguments, "--quiet", exit_code=EXIT_UNMET).output == ""


@pytest.mark.filterwarnings("default::FutureWarning")
def test_the_old_name_of_a_solver_is_told_in_a_line(table, call_main):
    ended = call_main("path", table, "--solver", "corrective", "--alphas", 2, "--quiet")
    assert ended == (COMPLETE, "", "fwlasso: solver='corrective' is now called 'certified', and will be removed")


@pytest.mark.parametrize("name", ["[/f0]", "[bold]"])
def test_brackets_in_names_are_no_markup(tmp_path, name):
    file = write_csv(tmp_path / f"table{name.replace('/', '')}.csv", names=(name, *NAMES[1:]))
    result = call("path", file, "--radii", 2)
    assert f"coefficients of the last point: {name} " in plain(result.stdout)
    assert f"{file.name}: {M} samples" in plain(result.stderr)


@pytest.mark.parametrize("n_signs", [40, 60, 80])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_digit_of_a_table_is_cut_off(run, monkeypatch, n_signs, is_terminal):
    monkeypatch.setenv("COLUMNS", str(n_signs))
    monkeypatch.setenv("TTY_COMPATIBLE", str(int(is_terminal)))
    arguments = ("path", "table.csv", "--validation", "test.csv", "--alphas", 7)
    text = re.sub(r"\x1b\[[0-9;]*m", "", call(*arguments).stdout)
    assert "…" not in text
    rows = [line.split() for line in text.replace(" *", "").splitlines() if re.match(r" +\d+ ", line)]
    for row, point in zip(rows, call_json(*arguments)["points"], strict=True):
        assert row[-2:] == [f"{point[name]:.4g}" for name in ("validation_mse", "validation_r2")]
        assert is_terminal or len(row) == 10


@pytest.mark.parametrize("grid", ["--alphas 4", "--radii 4", "--solver sfw --radii 4"])
def test_time_limit_keeps_what_is_solved(table, tmp_path, grid):
    arguments = ("path", table, *grid.split(), "--time-limit", 1e-9)
    result = call(*arguments, exit_code=INCOMPLETE)
    assert "The path has 1 of 4 points. The time limit was reached" in plain(result.stderr)
    record = call_json(*arguments, "--out", tmp_path / "out", exit_code=INCOMPLETE)
    path, report = saved_in(tmp_path / "out")
    assert (record["ending"], path.ending, len(path)) == ("timed_out", Status.TIMED_OUT, 1)
    assert Status.TIMED_OUT.sentence in report


@pytest.mark.usefixtures("python_handles_interrupts")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("solver", ["certified", "sfw"])
def test_signal_keeps_what_is_solved(table, tmp_path, do_after, call_main, solver, name):
    do_after(1, lambda: signal.raise_signal(signal.Signals[name]))
    arguments = ("path", table, "--solver", solver, "--radii", 4, "--out", tmp_path / "out")
    exit_code, _, told = call_main(*arguments)
    assert exit_code == INCOMPLETE
    assert "--resume continues from here" in told
    path, report = saved_in(tmp_path / "out")
    assert (path.ending, len(path)) == (Status.INTERRUPTED, 2)
    assert np.isnan(path.gaps).all() == (solver == "sfw")  # no closing pass
    assert Status.INTERRUPTED.sentence in report
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_before_there_is_anything_to_save_ends_with_a_line(table, monkeypatch, call_main):
    monkeypatch.setattr("fwlasso.cli.read.read_table", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    assert call_main("path", table) == (143, "", "fwlasso: terminated")


@pytest.mark.parametrize(("name", "argument"), [("fwlasso", "path"), ("-m", "fwlasso")])
def test_interrupt_during_imports_ends_with_a_line(name, argument):
    """However the command is called; whoever imports the package gets the exception."""
    code = f"""
import importlib.abc, signal, sys

class Interrupted(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "numba":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
try:
    import fwlasso.path
except KeyboardInterrupt:
    pass
else:
    sys.exit("nothing was raised")
sys.argv[0], sys.orig_argv[1:] = {name!r}, [{name!r}, {argument!r}]
from fwlasso.cli import main
sys.argv[1:] = ["path", "--help"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fwlasso: interrupted\n")


@pytest.mark.compiled
def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("demo", "--order", 2)
    assert "442 samples, 66 features" in plain(result.stderr)
    assert "bmi" in result.stdout
    path, report = saved_in(tmp_path / "fwlasso-demo")
    assert path.coefs.shape == (66, 100)
    assert path.feature_names[:3] == ("1", "age", "sex")
    expected = {"solver": "certified", "stop": "gap", "tol": 1e-6, "standardize": True, "grid": "alphas"}
    assert expected.items() <= path.settings.items()
    assert set(path.statuses) == {Status.CERTIFIED}
    assert "diabetes, products of order 2" in report
    points = [call_json("demo", "--order", 2, "--threads", n)["points"] for n in (1, 2)]
    assert points[0] == points[1]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "stream", "text"),
    [
        (["--version"], COMPLETE, "stdout", fwlasso.__version__),
        (["path", "missing.csv"], BAD_INPUT, "stderr", "fwlasso: missing.csv: no such file"),
    ],
)
def test_module_runs_as_a_program(tmp_path, arguments, exit_code, stream, text):
    program = [sys.executable, "-m", "fwlasso", *arguments]
    ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == exit_code
    assert plain(getattr(ended, stream)) == text
    assert getattr(ended, "stderr" if stream == "stdout" else "stdout") == ""


@pytest.mark.parametrize(
    ("line", "expected"), [("fwlasso p", {"path", "predict"}), ("fwlasso path --solver a", {"afw"})]
)
def test_shell_completion(monkeypatch, line, expected):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_FWLASSO_COMPLETE": "complete_bash"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    program = "import sys; sys.argv[0] = 'fwlasso'; from fwlasso.cli.app import app; app(prog_name='fwlasso')"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == expected, done.stderr

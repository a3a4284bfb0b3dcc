"""The command line: what it prints, what it keeps, and how it ends."""

import gzip
import json
import re
import signal
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.image import imread
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import fwlasso
from fwlasso import LassoPath, Status, lasso_path
from fwlasso.cli import app as cli
from fwlasso.cli import path as cli_path
from fwlasso.cli import read as cli_read

mpl.use("Agg")

M, P = 30, 8
NAMES = tuple(f"f{j}" for j in range(P))
COMPLETE, BAD_INPUT, INCOMPLETE = 0, 2, 3
KEPT = ["path.npz", "path.png", "report.html", "segments", "settings.json"]


def make_data():
    rng = np.random.default_rng(11)
    X = rng.integers(-8, 9, (M, P)) / 4.0
    return np.asfortranarray(X), 3.0 * X[:, 0] - 2.0 * X[:, 4] + np.round(rng.standard_normal(M), 2) + 5.0


X, Y = make_data()


def write_csv(file, names=NAMES, y=Y, x=X):
    rows = [",".join(map(repr, row)) for row in np.column_stack([x, y]).tolist()]
    file.write_text("\n".join([",".join([*names, "y"]), *rows, ""]), encoding="utf-8")
    return file


def write_svm(file):
    dump_svmlight_file(X, Y, str(file))
    return file


def write_npy(file):
    np.save(file, X)
    np.save(file.parent / "y.npy", Y)
    return file


def write_sparse(file):
    sp.save_npz(file, sp.csc_array(X))
    np.save(file.parent / "y.npy", Y)
    return file


@pytest.fixture(autouse=True)
def _wide_and_colourless(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "table.csv")


def call(*arguments, exit_code=COMPLETE):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == exit_code, result.output
    return result


def call_json(*arguments, exit_code=COMPLETE):
    """The whole of stdout as JSON, read by its letter: NaN and Infinity are none."""
    stdout = call(*arguments, "--json", exit_code=exit_code).stdout
    return json.loads(stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


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


def plain(text):
    """Text without colours, frames and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─┃━]", " ", re.sub(r"\x1b\[[0-9;]*m", "", text)).split())


def assert_equal_points(first, second):
    np.testing.assert_array_equal(first.coefs.toarray(), second.coefs.toarray())
    for name in ("alphas", "radii", "intercepts", "gaps", "r2"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    assert first.statuses == second.statuses
    assert first.ending == second.ending


def kept_in(folder):
    assert sorted(file.name for file in folder.iterdir()) == KEPT
    picture = imread(folder / "path.png")
    assert picture.ndim == 3
    assert picture.std() > 0  # it is not blank
    return LassoPath.load(folder / "path.npz"), (folder / "report.html").read_text(encoding="utf-8")


def test_version():
    assert call("--version").stdout == f"{fwlasso.__version__}\n"


# A path ------------------------------------------------------------------------------------------------------

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
    call("path", table, *options.split(), "--quiet", "--out", tmp_path / "out")
    path, _ = kept_in(tmp_path / "out")
    expected = lasso_path(X, Y, checkpoint=tmp_path / "again", **{"random_state": 0, **SETTINGS[options]})
    assert_equal_points(path, expected)
    assert path.feature_names == NAMES
    assert {**path.settings, "conversion": None} == {**expected.settings, "conversion": None, "target": "y"}


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.csv", write_csv), ("a.svm", write_svm), ("a.npy", write_npy), ("a.npz", write_sparse)],
)
def test_files_of_every_kind_give_the_same_path(tmp_path, name, write):
    options = ("--radii", 3, "--stop", "gap", "--tol", 1e-2)
    points = call_json("path", write(tmp_path / name), *options)["points"]
    expected = lasso_path(X, Y, radii=3, stop="gap", tol=1e-2, random_state=0)
    np.testing.assert_allclose([point["radius"] for point in points], expected.radii, rtol=1e-6)
    np.testing.assert_allclose([point["r2"] for point in points], expected.r2, atol=1e-6)


def test_path_is_certified_unless_told_otherwise(table):
    record = call_json("path", table)
    expected = {"solver": "certified", "stop": "gap", "tol": 1e-4, "grid": "alphas"}
    assert expected.items() <= record["settings"].items()
    assert {point["status"] for point in record["points"]} == {"certified"}
    assert len(record["points"]) == 100
    assert max(point["gap"] for point in record["points"]) <= 1e-4


def test_target_is_chosen_by_name(table, tmp_path):
    call("path", table, "--target", "f3", "--alphas", 3, "--quiet", "--out", tmp_path / "out")
    path, _ = kept_in(tmp_path / "out")
    assert path.feature_names == ("f0", "f1", "f2", "f4", "f5", "f6", "f7", "y")
    others = np.column_stack([np.delete(X, 3, axis=1), Y])
    expected = lasso_path(others, X[:, 3], alphas=3, random_state=0, checkpoint=tmp_path / "again")
    assert_equal_points(path, expected)


def test_table_and_progress_are_printed(table):
    result = call("path", table, "--radii", 20)
    rows = re.findall(r"^ +(\d+)  .*certified", result.stdout, re.MULTILINE)
    assert len(rows) == 12
    assert (rows[0], rows[-1]) == ("1", "20")
    assert re.search(r"largest coefficients of the last point: f0 \+\d[^,]*, f4 -\d", plain(result.stdout))
    assert f"table.csv: {M} samples, {P} features" in plain(result.stderr)
    assert "20/20" in plain(result.stderr)


@pytest.mark.parametrize("n_points", [1, 12])
def test_short_path_is_printed_in_full(table, n_points):
    rows = re.findall(r"^ +(\d+)  .*certified", call("path", table, "--alphas", n_points).stdout, re.MULTILINE)
    assert rows == [str(k + 1) for k in range(n_points)]


def test_path_without_active_features_is_printed(tmp_path):
    file = write_csv(tmp_path / "flat.csv", y=np.ones(M))
    result = call("path", file, "--radii", 3, "--out", tmp_path / "out")
    assert "largest coefficients of the last point: none" in plain(result.stdout)
    assert kept_in(tmp_path / "out")[0].coefs.nnz == 0


UNFINISHED = ("--solver", "sfw", "--alphas", 3, "--max-iter", 1)


def test_quiet_prints_nothing(table):
    result = call("path", table, *UNFINISHED, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert call("path", table, *UNFINISHED, "--json").stderr == ""


def test_points_short_of_the_tolerance_are_told(table):
    result = call("path", table, *UNFINISHED)
    assert re.search(r"points did not meet stop='change', tol=0.001\. .* increase max_iter", plain(result.stderr))


def test_points_that_rounding_keeps_from_the_tolerance_are_told(table):
    result = call("path", table, "--alphas", 30, "--tol", 0)
    assert re.search(r"points did not meet stop='gap', tol=0\. .* increase tol", plain(result.stderr))


def test_where_the_result_is_kept_is_told(table, tmp_path):
    result = call("path", table, "--radii", 2, "--out", tmp_path / "new" / "out")
    assert "path.npz, path.png, report.html" in plain(result.stderr)
    path, report = kept_in(tmp_path / "new" / "out")
    assert len(path) == 2
    assert "table.csv" in report
    assert "f0" in report


def test_kept_results_are_replaced(table, tmp_path):
    for n_points in (2, 3):
        call("path", table, "--radii", n_points, "--quiet", "--out", tmp_path / "out", "--overwrite")
    assert len(kept_in(tmp_path / "out")[0]) == 3


# JSON --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "grid", "scale"), [("certified", "--alphas", 1.0), ("sfw", "--radii", 1e-9)])
def test_json_has_the_numbers_of_the_kept_path(tmp_path, grid, scale, solver):
    file = write_csv(tmp_path / "table.csv", y=scale * Y)
    record = call_json("path", file, grid, 4, "--solver", solver, "--out", tmp_path / "out")
    path, _ = kept_in(tmp_path / "out")
    assert set(record) == {"response", "notices", "points", "ending", "dot_products", "passes", "seconds", "settings"}
    frame = path.to_frame()
    assert [list(point) for point in record["points"]] == [list(frame)] * 4
    for name in frame:
        values = [point[name] for point in record["points"]]
        if name in ("status", "n_active", "iterations"):
            assert values == frame[name].tolist()
        else:
            np.testing.assert_allclose(values, frame[name], rtol=1e-12, err_msg=name)
    assert record["ending"] is None
    assert record["settings"] == path.settings
    assert record["dot_products"] == path.counters.dot_products
    assert record["passes"] == path.counters.passes
    assert record["seconds"] == path.counters.seconds


# Early endings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", ["--alphas 4", "--radii 1", "--solver sfw --radii 4"])
def test_time_limit_keeps_what_is_solved(table, tmp_path, grid):
    limit = ("--time-limit", 1e-9)
    record = call_json("path", table, *grid.split(), *limit, "--out", tmp_path / "out", exit_code=INCOMPLETE)
    assert record["ending"] == "timed_out"
    path, report = kept_in(tmp_path / "out")
    assert len(record["points"]) == len(path) == 1
    assert path.ending is Status.TIMED_OUT
    assert Status.TIMED_OUT.sentence in report


def test_time_limit_is_told(table):
    result = call("path", table, "--radii", 4, "--time-limit", 1e-9, exit_code=INCOMPLETE)
    assert "The path has 1 of 4 points. The time limit was reached" in plain(result.stderr)


@pytest.mark.usefixtures("python_handles_interrupts")
@pytest.mark.parametrize("solver", ["certified", "sfw"])
def test_interrupt_keeps_what_is_solved(table, tmp_path, monkeypatch, solver):
    solve_path = cli_path.solve_path

    def interrupted(X, y, options):
        def show(now):
            options.callback(now)
            if now.point == 1 and now.done:
                signal.raise_signal(signal.SIGINT)

        return solve_path(X, y, replace(options, callback=show))

    monkeypatch.setattr(cli_path, "solve_path", interrupted)
    options = ("--solver", solver, "--radii", 4, "--out", tmp_path / "out")
    record = call_json("path", table, *options, exit_code=INCOMPLETE)
    assert record["ending"] == "interrupted"
    if solver == "sfw":  # no closing pass
        assert [point["gap"] for point in record["points"]] == [None, None]
    else:  # these are known already
        assert max(point["gap"] for point in record["points"]) <= 1e-4
    path, report = kept_in(tmp_path / "out")
    assert path.ending is Status.INTERRUPTED
    assert len(path) == 2
    assert Status.INTERRUPTED.sentence in report


def test_sigterm_keeps_what_is_solved(table, tmp_path, monkeypatch, call_main):
    solve_path = cli_path.solve_path

    def terminated(X, y, options):
        def show(now):
            if now.point == 1 and now.done:
                signal.raise_signal(signal.SIGTERM)

        return solve_path(X, y, replace(options, callback=show))

    monkeypatch.setattr(cli_path, "solve_path", terminated)
    exit_code, _, told = call_main("path", table, "--radii", 4, "--out", tmp_path / "out")
    assert exit_code == INCOMPLETE
    assert "--resume goes on from here" in told
    path, _ = kept_in(tmp_path / "out")
    assert path.ending is Status.INTERRUPTED
    assert len(path) == 2
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_before_there_is_anything_to_keep_ends_with_a_line(table, monkeypatch, call_main):
    monkeypatch.setattr(cli_read, "read_table", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    assert call_main("path", table) == (143, "", "fwlasso: terminated")


@pytest.mark.parametrize(("name", "argument"), [("fwlasso", "path"), ("-m", "fwlasso")])
def test_interrupt_during_imports_ends_with_a_line(name, argument):
    """However the command is called; whoever imports the package gets the exception."""
    code = f"""
import importlib.abc, signal, sys

class Interrupted(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "sklearn":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
try:
    import fwlasso
except KeyboardInterrupt:
    pass
else:
    sys.exit("nothing was raised")
sys.argv[0], sys.orig_argv[1:] = {name!r}, [{name!r}, {argument!r}]
from fwlasso.cli import main
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fwlasso: interrupted\n")


# Bad input ---------------------------------------------------------------------------------------------------

BAD_FILES = {  # what is in them, and what is said about it
    "[missing].csv": (None, r"\[missing\]\.csv: no such file"),
    "missing[/b].csv": (None, r"missing\[/b\]\.csv: no such file"),
    "table.xls": (b"1", r"table\.xls: the ending of the name"),
    "bad.svm": (b"1 1:2\n2 1:2 3:x\n", r"bad\.svm:2:9:"),
    "nan.csv": (b"a,y\n1,2\nnan,3\n", "NaN|finite"),
    "torn.svm.gz": (gzip.compress(b"1 1:2\n" * 999)[:20], r"torn\.svm\.gz"),
}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("path {}", "matrix.npz"),
        ("info {}", "both.npz"),
        ("convert {} store", "array.npy"),
        ("path table.csv --test {}", "both.npz"),
        ("predict run.npz {} --point 2", "array.npy"),
    ],
)
def test_response_of_another_length_names_the_file(call_main, table, tmp_path, monkeypatch, command, name):
    monkeypatch.chdir(tmp_path)
    np.savez("both.npz", X=X, y=Y[1:])
    write_sparse(tmp_path / "matrix.npz")
    write_npy(tmp_path / "array.npy")
    np.save("y.npy", Y[1:])
    lasso_path(X, Y, alphas=3).save("run.npz")
    target = ("--target", "y.npy") if "predict" in command and name != "both.npz" else ()
    exit_code, _, stderr = call_main(*command.format(name).split(), *target)
    assert exit_code == BAD_INPUT
    assert f"fwlasso: {name}: " in stderr
    assert f"{M - 1}" in stderr


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_ends_with_a_sentence(call_main, tmp_path, name):
    content, message = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    exit_code, stdout, stderr = call_main("path", tmp_path / name)
    assert exit_code == BAD_INPUT
    assert stdout == ""
    assert re.search(f"fwlasso: .*({message})", stderr)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--tol -1", "fwlasso: --tol must be"),
        ("--max-iter 0", "fwlasso: --max-iter must be"),
        ("--threads 0", "fwlasso: --threads must be"),
        ("--sample-size nan", "fwlasso: --sample-size must be"),
        ("--alphas 3 --radii 3", "alphas or radii"),
        ("--stop change", "fwlasso: --stop: solver='certified' stops on the gap, got stop='change'"),
        ("--target price", "there is no column 'price'"),
        ("--radii many", "--radii"),
        ("--unknown", "--unknown"),
    ],
)
def test_bad_option_ends_with_a_sentence(call_main, table, options, message):
    exit_code, stdout, stderr = call_main("path", table, *options.split())
    assert exit_code == BAD_INPUT
    assert stdout == ""
    assert message in stderr


@pytest.mark.parametrize(
    "arguments",
    [("path",), ("paths",), ("demo", "--order", "-1")],
)
def test_bad_command_ends_with_a_sentence(call_main, arguments):
    exit_code, stdout, stderr = call_main(*arguments)
    assert exit_code == BAD_INPUT
    assert stdout == ""
    assert stderr


def test_folder_that_cannot_be_made_ends_with_a_sentence(call_main, table):
    exit_code, _, stderr = call_main("path", table, "--radii", 2, "--quiet", "--out", table)
    assert exit_code == BAD_INPUT
    assert "table.csv" in stderr


def test_main_ends_with_the_exit_code_of_the_path(call_main, table):
    assert call_main("path", table, "--radii", 3, "--quiet") == (COMPLETE, "", "")
    assert call_main("path", table, "--radii", 3, "--quiet", "--time-limit", 1e-9) == (INCOMPLETE, "", "")


@pytest.mark.parametrize("name", ["[/f0]", "[bold]"])
def test_brackets_in_names_are_no_markup(tmp_path, name):
    file = write_csv(tmp_path / f"table{name.replace('/', '')}.csv", names=(name, *NAMES[1:]))
    result = call("path", file, "--radii", 2)
    assert f"coefficients of the last point: {name} " in plain(result.stdout)
    assert f"{file.name}: {M} samples" in plain(result.stderr)


# The demonstration -------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("demo", "--order", 2)
    assert "442 samples, 66 features" in plain(result.stderr)
    assert "bmi" in result.stdout
    path, report = kept_in(tmp_path / "fwlasso-demo")
    assert path.coefs.shape == (66, 100)
    assert path.feature_names[:3] == ("1", "age", "sex")
    expected = {"solver": "certified", "stop": "gap", "tol": 1e-6, "standardize": True, "grid": "alphas"}
    assert expected.items() <= path.settings.items()
    assert path.gaps.max() <= 1e-6
    assert set(path.statuses) == {Status.CERTIFIED}
    assert "diabetes, products of order 2" in report


def test_demo_as_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = (call_json("demo", "--order", 1, "--out", "kept", "--threads", n)["points"] for n in (1, 2))
    assert first == second
    assert len(first) == len(kept_in(tmp_path / "kept")[0]) == 100


# As a program ------------------------------------------------------------------------------------------------


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

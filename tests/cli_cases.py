"""Data, calls and results of commands, for the tests of the command line."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from fwlasso import LassoPath
from fwlasso.cli.app import app

M, P = 30, 8
NAMES = tuple(f"f{j}" for j in range(P))
COMMANDS = ("path", "cv", "predict", "report", "convert", "info", "verify", "demo")
COMPLETE, BAD_INPUT, INCOMPLETE = 0, 2, 3
SAVED = ["path.npz", "path.png", "report.html", "segments", "settings.json"]


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


def call(*arguments, exit_code=COMPLETE):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == exit_code, result.output
    return result


def call_json(*arguments, exit_code=COMPLETE):
    """The whole of stdout as JSON, read by its letter: NaN and Infinity are none."""
    stdout = call(*arguments, "--json", exit_code=exit_code).stdout
    return json.loads(stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def predictions(*arguments):
    header, *rows = call("predict", *arguments).stdout.splitlines()
    assert header == "prediction"
    return np.array(rows, dtype=np.float64)


def plain(text):
    """Text without colours, frames and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─┃━]", " ", re.sub(r"\x1b\[[0-9;]*m", "", text)).split())


def saved_in(folder):
    """The path and the report of a run; the picture is not blank."""
    assert sorted(file.name for file in folder.iterdir()) == SAVED
    from matplotlib.image import imread  # not for tests of everything else

    assert imread(folder / "path.png").std() > 0
    return LassoPath.load(folder / "path.npz"), (folder / "report.html").read_text(encoding="utf-8")

"""The two walks of docs/ARCHITECTURE.md, gone: every stop is a function that is called, and in this order."""

import importlib
import inspect
import re
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from code_blocks import ROOT
from fwlasso import Lasso, cli

WALKS = ("path", "fit")
STOP = re.compile(r" +(\d+|\.) +(\d+|\.) +([\w.]+)  +\S.*")


def told_stops(walk):
    """The stops of a walk as the page tells them, in the order of their numbers."""
    section = (
        (ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Two walks")[2].partition("\n## ")[0]
    )
    lines = section.split("```")[1].strip("\n").splitlines()
    assert lines[0].split() == list(WALKS)
    stops = [match.groups() for match in map(STOP.fullmatch, lines[1:]) if match]
    assert len(stops) == len(lines) - 1
    numbered = [(stop[WALKS.index(walk)], stop[2]) for stop in stops if stop[WALKS.index(walk)] != "."]
    assert [number for number, _ in numbered] == [str(k + 1) for k in range(len(numbered))]
    return [name for _, name in numbered]


def code_of(name):
    """The code of a function of the package, or of the constructor of a class."""
    parts = name.split(".")
    for n in range(len(parts) - 1, 0, -1):  # a module may have the name of a function that its package has, too
        try:
            found = importlib.import_module(".".join(["fwlasso", *parts[:n]]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return inspect.unwrap(found.__init__ if inspect.isclass(found) else found).__code__
    raise AssertionError(f"{name} is in no module")


def first_calls(go, codes):
    """The codes that `go` calls, in the order of their first calls, as the main thread makes them."""
    called = {}

    def look(frame, event, _argument):
        if event == "call" and frame.f_code in codes:
            called.setdefault(frame.f_code, None)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        go()
    finally:
        sys.setprofile(before)
    return list(called)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((20, 30)))
    return X, 3.0 * X[:, 0] - X[:, 1] + rng.standard_normal(20)


@pytest.fixture
def ways(data, tmp_path, monkeypatch):
    """What is called at the start of every walk."""
    X, y = data
    dump_svmlight_file(X, y, str(tmp_path / "file.svm"))
    words = ["path", str(tmp_path / "file.svm"), "--out", str(tmp_path / "result"), "--overwrite", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["fwlasso", *words, "--alphas", "6"])

    def run_command():
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0

    return {"path": run_command, "fit": lambda: Lasso(alpha=0.1, standardize=True).fit(X, y)}


@pytest.mark.parametrize("walk", WALKS)
def test_the_walk_is_as_the_page_tells(walk, ways):
    stops = told_stops(walk)
    name_of = {code_of(name): name for name in stops}
    ways[walk]()  # compiles, which would take several times as long while calls are looked at
    assert [name_of[code] for code in first_calls(ways[walk], set(name_of))] == stops

"""Compiling is not solving: it is a phase of its own."""

from types import SimpleNamespace

import numba
import pytest
from numba.core import event

from fwlasso._core import compiling as _compiling
from fwlasso._core.compiling import compile_seconds, is_compiling, timed
from fwlasso.cli import show as cli_show


@pytest.mark.compiled
def test_compiling_is_a_phase_of_its_own():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return 2 * inner(x)

    seconds: dict[str, float] = {}
    before = compile_seconds()
    with timed(seconds, "solve"):
        assert outer(1.0) == 4.0
    assert seconds["compile"] == compile_seconds() - before > 0.0
    assert seconds["solve"] >= 0.0
    with timed(seconds, "certify"):
        outer(2.0)
    assert seconds["compile"] == compile_seconds() - before  # it was compiled once
    assert not is_compiling()


def test_kernels_within_kernels_are_counted_once(monkeypatch):
    now = SimpleNamespace(at=0.0)
    monkeypatch.setattr(_compiling, "time", SimpleNamespace(perf_counter=lambda: now.at))
    before = compile_seconds()
    with event.trigger_event("numba:compile"):
        now.at = 2.0
        with event.trigger_event("numba:compile"):
            now.at = 5.0
        assert is_compiling()
        assert compile_seconds() - before == pytest.approx(5.0)
    assert compile_seconds() - before == pytest.approx(5.0)
    now.at = 9.0
    assert compile_seconds() - before == pytest.approx(5.0)


def test_the_bar_says_so():
    task = SimpleNamespace(description="path")
    column = cli_show._Phase("{task.description}")
    assert str(column.render(task)) == "path"
    with event.trigger_event("numba:compile"):
        assert str(column.render(task)) == "compiling"

import pytest

from cli_cases import call, call_json, plain
from fwlasso import warmup
from fwlasso._core import shipped


@pytest.fixture
def compiled(monkeypatch):
    """The numbers of processes that tables were compiled with."""
    jobs: list[int] = []
    monkeypatch.setattr(warmup, "compile_table", jobs.append)
    return jobs


def test_check_says_which_kernels_are_used_and_compiles_none(compiled, monkeypatch, tmp_path):
    assert "Kernels of the wheel: not used, this installation has none." in plain(call("warm-up", "--check").stdout)
    found = call_json("warm-up", "--check")
    assert found["why_not"] == "this installation has none"
    assert found["kernels"] >= 0
    monkeypatch.setattr("fwlasso.cli.warm.why_not", lambda: "")
    assert f"used, for {shipped.baseline()[0]}." in plain(call("warm-up", "--check").stdout)
    assert call_json("warm-up", "--check")["why_not"] is None
    assert compiled == []


def test_the_table_is_compiled_by_so_many_processes(compiled):
    assert call("warm-up", "--jobs", 3).stdout.startswith("Kernels of the wheel: ")
    assert compiled == [3]

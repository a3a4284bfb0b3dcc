"""Kernels that come with a wheel: used where they can run, and a reason named where they cannot."""

import json
import platform
import random
import re
import shutil
import sys

import llvmlite
import numba
import pytest

from fwlasso._core import cache as caching
from fwlasso._core import notices, shipped
from fwlasso._core.jit import kernel
from test_cache import ANSWERS, CALLS, DAMAGES, call_all

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder of shipped kernels, as `make wheel` builds one."""
    place = tmp_path_factory.mktemp("wheel")
    folder = place / "_kernels"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as building:
        building.setattr(numba.config, "CACHE_DIR", str(place / "own"))
        building.setattr(shipped, "BUILT", folder)
        assert call_all() == (ANSWERS, 0)
    (folder / shipped.MANIFEST).write_text(json.dumps(shipped.manifest()))
    assert not list((place / "own").rglob("*.nb?"))  # while a wheel is built, nothing else is written
    return folder


@pytest.fixture
def wheel(built, tmp_path, monkeypatch):
    """A copy of the folder, and an empty cache of one's own."""
    folder = shutil.copytree(built, tmp_path / "_kernels")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(notices, "_said", set())
    monkeypatch.setattr(shipped, "FOLDER", folder)
    shipped.why_not.cache_clear()
    yield folder
    shipped.why_not.cache_clear()


def own_files(wheel):
    return sorted((wheel.parent / "own").rglob("*.nb?"))


def test_nothing_is_compiled_and_nothing_written(wheel):
    before = {file: file.read_bytes() for file in wheel.iterdir()}
    assert len(before) == 8  # a manifest, and an index each with four sets of types
    assert (shipped.why_not(), call_all()) == ("", (ANSWERS, len(CALLS)))
    assert own_files(wheel) == []
    assert {file: file.read_bytes() for file in wheel.iterdir()} == before


def test_another_processor_with_the_instructions_is_served(wheel, monkeypatch):
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    monkeypatch.setattr(type(codegen), "magic_tuple", lambda _: ("another", "processor", ""))
    assert call_all() == (ANSWERS, len(CALLS))


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_compiled_and_kept_in_the_own_cache(wheel, caplog, damage):
    for file in sorted(wheel.glob("*.nb?")):
        content = file.read_bytes()
        file.write_bytes(damage(content, random.Random(0)))
        damaged = file.read_bytes()
        results, n_found = call_all()
        assert results == ANSWERS
        assert n_found < len(CALLS)
        assert own_files(wheel)
        assert call_all() == (ANSWERS, len(CALLS))
        assert file.read_bytes() == damaged  # a wheel is not written to
        file.write_bytes(content)
        shutil.rmtree(wheel.parent / "own")
        caching._made.cache_clear()
    assert sum(str(wheel) in message for message in caplog.messages) == 1


REASONS = {
    "none": (lambda _: shipped.FOLDER.joinpath(shipped.MANIFEST).unlink(), "this installation has none"),
    "numba": (lambda patch: patch.setattr(numba, "__version__", "0.1"), r"for numba \S+, and this is 0\.1"),
    "llvmlite": (lambda patch: patch.setattr(llvmlite, "__version__", "0.1"), r"for llvmlite \S+, and this is 0\.1"),
    "system": (lambda patch: patch.setattr(sys, "platform", "win32"), r"for system \S+, and this is win32-"),
    "machine": (lambda patch: patch.setattr(platform, "machine", lambda: "riscv64"), "for baseline .*, and this is $"),
    "Python": (
        lambda patch: patch.setattr(shipped, "manifest", lambda: json_manifest() | {"Python": "cpython-399"}),
        r"for Python \S+, and this is cpython-399",
    ),
    "instructions": (
        lambda patch: patch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: {"sse2": True}),
        "this machine lacks .*avx2",
    ),
    **{
        f"NUMBA_{name}": (
            lambda patch, name=name, value=value: patch.setattr(numba.config, name, value),
            f"NUMBA_{name} is set",
        )
        for name, value in {"OPT": 1, "CPU_NAME": "generic", "BOUNDSCHECK": 1, "ENABLE_AVX": 0}.items()
    },
}


def json_manifest():
    return json.loads((shipped.FOLDER / shipped.MANIFEST).read_text())


@pytest.mark.parametrize("reason", REASONS)
def test_the_reason_is_named_where_they_are_not_used(wheel, monkeypatch, reason):
    if reason == "instructions" and not shipped.baseline()[1]:
        pytest.skip("every machine of this kind has the instructions")
    change, expected = REASONS[reason]
    with monkeypatch.context() as patch:
        change(patch)
        shipped.why_not.cache_clear()
        why = shipped.why_not()
    assert re.search(expected, why), why
    function, arguments = CALLS[0]
    assert kernel(function)(*arguments) == ANSWERS[0]  # compiled here
    assert own_files(wheel)


def test_settings_that_are_watched_are_those_of_numba():
    for name, usual in shipped._SETTINGS.items():
        assert getattr(numba.config, name) == usual, name

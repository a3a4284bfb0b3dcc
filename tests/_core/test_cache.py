"""The cache of compiled kernels: a file that is torn or altered is not used, never run, and written anew.

``FWLASSO_FUZZ=1000 pytest tests/_core/test_cache.py -k damaged_files`` damages so many, others every time.
"""

import os
import random
import shutil
import sys
import time
from typing import Any

import numba
import numpy as np
import pytest

from fwlasso._core import cache as caching
from fwlasso._core import notices
from fwlasso._core.jit import kernel
from programs import run_program

pytestmark = pytest.mark.compiled


def total(numbers):
    found = 0.0
    for number in numbers:
        found += number
    return found


def scaled(factor, number):
    return 3.0 * factor - number


def larger(first, second):
    return first if first > second else second


CALLS = [
    (total, (np.arange(9.0),)),
    (total, (np.arange(5, dtype=np.float32),)),
    (scaled, (2, 1.5)),
    (larger, (3.0, 7.0)),
]
ANSWERS = [36.0, 10.0, 4.5, 7.0]
DAMAGES = {
    "emptied": lambda content, draw: b"",
    "cut": lambda content, draw: content[: draw.randrange(len(content))],
    "flipped": lambda content, draw: flip(content, draw.randrange(8 * len(content))),
    "replaced": lambda content, draw: draw.randbytes(len(content)),
}


def flip(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def call_all():
    """Call the kernels as a new process does; return the results, and how many were in the cache."""
    kernels = {function: kernel(function) for function, _ in CALLS}
    results = [kernels[function](*arguments) for function, arguments in CALLS]
    return results, sum(sum(each.stats.cache_hits.values()) for each in kernels.values())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder that holds the kernels of these tests."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(notices, "_said", set())
    assert call_all() == (ANSWERS, 0)
    assert call_all() == (ANSWERS, 4)
    return tmp_path / "cache"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_compiled_again_and_written_anew(cache, caplog, damage):
    draw = random.Random(None if "FWLASSO_FUZZ" in os.environ else 0)
    n_cases = int(os.environ.get("FWLASSO_FUZZ", "60")) // len(DAMAGES)
    caplog.clear()
    n_compiled = 0
    for case in range(n_cases):
        files = sorted(cache.rglob("*.nb?"))
        assert len(files) == 7  # an index each, and four sets of types
        file = files[case % len(files)]
        file.write_bytes(damage(file.read_bytes(), draw))
        results, n_found = call_all()
        assert results == ANSWERS, file
        assert n_found < len(CALLS), file
        n_compiled += len(CALLS) - n_found
        assert call_all() == (ANSWERS, len(CALLS)), file
    sys.stdout.write(f"{n_cases} files damaged, {n_compiled} kernels compiled again")
    (said,) = [message for message in caplog.messages if "cache of compiled kernels" in message]
    assert str(cache) in said


def test_data_of_other_types_or_of_another_state_of_the_sources_are_not_run(cache, monkeypatch):
    integers, floats = sorted(cache.rglob("*total*.nbc"))
    shutil.copy(integers, floats)  # whole, but not what the index says
    assert call_all() == (ANSWERS, 3)
    before = {file: file.read_bytes() for file in cache.rglob("*.nbc")}
    monkeypatch.setattr(caching, "stamp_of", lambda file: "another")
    assert call_all() == (ANSWERS, 0)
    for file, content in before.items():  # as if the writer had died after the index
        name, _stamp, number, kind = file.name.rsplit(".", 3)
        anew = file.with_name(f"{name}.another.{number}.{kind}")
        assert anew.exists()
        anew.write_bytes(content)
    assert call_all() == (ANSWERS, 0)


def test_the_cache_is_in_the_folder_of_the_user_and_keeps_three_states(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    base = tmp_path / "fwlasso"
    for age in range(1, 7):  # hours: the last three, and what was in use within a day
        (base / f"state{age}").mkdir(parents=True)
        os.utime(base / f"state{age}", (time.time() - age * 3600 * 10,) * 2)
    assert call_all() == (ANSWERS, 0)
    (folder,) = {file.parent for file in tmp_path.rglob("*.nb?")}
    assert folder.parent == base
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {each.name for each in base.iterdir()} == {folder.name, "state1", "state2"}
    assert call_all() == (ANSWERS, 4)


def test_a_function_without_a_file_is_compiled_and_not_kept(cache):
    names: dict[str, Any] = {}
    exec(compile("def typed_in(x): return x + 1.0", "<stdin>", "exec"), names)
    n_files = len(list(cache.rglob("*")))
    assert kernel(names["typed_in"])(1.0) == 2.0
    assert len(list(cache.rglob("*"))) == n_files


def test_a_full_disk_costs_the_cache_and_no_result(cache, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    shutil.rmtree(cache)
    monkeypatch.setattr(caching.SealedFiles, "_open_for_write", refuse)
    assert call_all() == (ANSWERS, 0)
    assert sum("No space left on device" in message for message in caplog.messages) == 1


PATH = """
import sys, numpy as np, fwlasso
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 50))
path = fwlasso.lasso_path(X, X[:, :3] @ [3.0, -2.0, 1.0], solver="sfw", radii=[0.5, 2.0], random_state=0)
print(path.coefs.toarray().tobytes().hex())
"""


def test_a_path_over_a_cache_in_pieces_has_the_same_bits(tmp_path):
    whole = run_program(PATH, NUMBA_CACHE_DIR=tmp_path, NUMBA_DISABLE_JIT=None)
    draw = random.Random(0)
    for kind in ("nbi", "nbc"):
        for file, damage in zip(sorted(tmp_path.rglob(f"*.{kind}")), DAMAGES.values(), strict=False):
            file.write_bytes(damage(file.read_bytes(), draw))
    again = run_program(PATH, NUMBA_CACHE_DIR=tmp_path, NUMBA_DISABLE_JIT=None)
    assert again.stdout == whole.stdout
    assert again.stderr.count("is damaged") == 1
    after = run_program(PATH, NUMBA_CACHE_DIR=tmp_path, NUMBA_DISABLE_JIT=None)
    assert (after.stdout, after.stderr) == (whole.stdout, "")


# Two functions of one name and type, too long to be compiled into their callers.
PARTS = """
from typing import NamedTuple
import numpy as np
from fwlasso._core.jit import by_type, kernel

class Kind(NamedTuple):
    size: float

@by_type
def one(kind, v): ...

@by_type
def two(kind, v): ...

""" + "".join(
    f"""
@{name}.register(Kind)
def _(kind, v):
    total = np.zeros(9)
    for i in range(v.size):
        for k in range(9):
            total[k] += np.cos(total[i % 9]) if v[i] > kind.size else np.sin(v[i]) + np.tan(v[k])
    total[:] = {value}
    return total

@kernel
def call_{name}(kind, v):
    return {name}(kind, v)[0] + {name}(kind, v[1:])[1]
"""
    for name, value in (("one", 1.0), ("two", 2.0))
)


def test_a_kernel_runs_its_own_parts_whatever_was_loaded_before(tmp_path):
    """Both are compiled by processes of their own, in which functions have the same names."""
    (tmp_path / "parts_of_two.py").write_text(PARTS)
    folders = {"PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)]), "NUMBA_CACHE_DIR": tmp_path}

    def call(*names):
        code = "import sys, numpy as np, parts_of_two as parts\nfor name in sys.argv[1:]:\n"
        code += "    print(getattr(parts, 'call_' + name)(parts.Kind(0.5), np.ones(9)))"
        done = run_program(code, *names, **folders, NUMBA_DISABLE_JIT=None, PYTHONHASHSEED=0)
        return [float(number) for number in done.stdout.split()]

    assert [call("one"), call("two")] == [[2.0], [4.0]]
    assert [call("one", "two"), call("two", "one")] == [[2.0, 4.0], [4.0, 2.0]]

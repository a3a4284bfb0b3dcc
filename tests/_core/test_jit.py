"""The cache of compiled kernels, running without a cache or without compiling, and dispatch by type.

Every process of these tests has its own cache directory, so that none of them sees what others have compiled.
"""

import hashlib
import importlib
import json
import os
import pickle
import pkgutil
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import fwlasso
import reproduction.solvers
from fwlasso._core import cache, notices
from fwlasso._core.iterate import correlation, sums_at, zero
from fwlasso._core.jit import IN_ORDER, by_type
from fwlasso._core.oracle import scan_active
from fwlasso._core.penalties import L1Ball, quadratic_gap
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem.build import build_problem
from fwlasso.solvers.frank_wolfe import VARIANTS, take_step
from fwlasso.solvers.protocol import Stopping
from programs import run_program

pytestmark = pytest.mark.long

PACKAGE = Path(fwlasso.__file__).parent


def run_python(code, *args, **env):
    """Run `code` in a new process that leaves nothing in the package's folder.

    It compiles, unless it is told not to, whatever this process does.
    """
    return run_program(code, *args, **{"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_DISABLE_JIT": None, **env})


@pytest.fixture
def package_copy(tmp_path):
    """A copy of the package's sources, to be imported with its folder in PYTHONPATH."""
    folder = tmp_path / "copy"
    shutil.copytree(PACKAGE, folder / "fwlasso", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


# Two kernels that call what is edited: a function of _core, and that of a penalty of somebody else.
SOME_KERNELS = """
import sys, pathlib, numpy as np
from fwlasso._core.dense import Dense
from fwlasso._core.costs import Plain
from fwlasso.problem.build import _summarize
from fwlasso.solvers.covariances import _cycle_on_gram

assert _summarize.py_func.__code__.co_filename.startswith(sys.argv[1])
print(len(list(pathlib.Path(sys.argv[2]).rglob("*.nb?"))))

def best(cost):
    coefs = np.zeros(1)
    _cycle_on_gram(cost, 0.25, np.zeros(1, np.int64), np.eye(1), np.ones(1), coefs, 1e-9, 9)
    return coefs[0]

numbers = np.empty((3, 1))
_summarize(Dense(np.ones((1, 2))), np.arange(1), np.array([3.0, 4.0, 7.0]), *numbers)
print(numbers[2, 0], best(Plain()))
for what in ("cache_hits", "cache_misses"):
    print(sum(sum(getattr(k.stats, what).values()) for k in (_summarize, _cycle_on_gram)))
if len(sys.argv) > 3:
    from toy import Toy
    print(best(Toy(0.25)))
"""
TOY = """
from typing import NamedTuple
from fwlasso._core.costs import minimise_1d
class Toy(NamedTuple):
    size: float
@minimise_1d.register(Toy)
def _(cost, lam, j, aim, norm2):
    return cost.size
"""


@pytest.mark.compiled
def test_a_second_process_compiles_nothing_and_one_with_edited_sources_trusts_nothing(tmp_path, package_copy):
    cache, toy = tmp_path / "cache", package_copy / "toy.py"

    def run(*more):
        done = run_python(SOME_KERNELS, package_copy, cache, *more, NUMBA_CACHE_DIR=cache, PYTHONPATH=package_copy)
        return [float(number) for number in done.stdout.split()], done.stderr

    toy.write_text(TOY)
    found, said = run("toy")
    assert found == [0, 7.0, 0.75, 0, 2, 0.25]  # importing compiles nothing
    assert said.count("compiling its kernels") == 1  # why it takes its time, once
    written = {file: file.read_bytes() for file in cache.rglob("*.nb?")}
    assert {file.suffix for file in written} == {".nbc", ".nbi"}
    # A process that does not know the type of somebody else has nothing to compile, and nothing to say.
    assert run() == ([len(written), 7.0, 0.75, 2, 0], "")
    assert {file: file.read_bytes() for file in cache.rglob("*.nb?")} == written
    # Edits of other files than that of a kernel, and a type by another name.
    toy.write_text(TOY.replace("return cost.size", "return 2.0 * cost.size"))
    source = package_copy / "fwlasso" / "_core" / "dense.py"
    head, first, rest = source.read_text().partition("@dot_column.register(Dense)")
    source.write_text(head + first + rest.replace("return total", "return 2 * total", 1))
    for source in package_copy.rglob("*.py"):
        source.write_text(re.sub(r"\bPlain\b", "Norm", source.read_text()))
    code = SOME_KERNELS.replace("Plain", "Norm")
    done = run_python(code, package_copy, cache, "toy", NUMBA_CACHE_DIR=cache, PYTHONPATH=package_copy)
    assert [float(number) for number in done.stdout.split()][1:] == [14.0, 0.75, 0, 2, 0.5]


def kernels_outside_core():
    for package in (fwlasso, reproduction):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith("fwlasso._core.") and not found.name.endswith("__main__"):
                module = importlib.import_module(found.name)
                yield from ((module, k) for k in vars(module).values() if isinstance(k, Dispatcher))


@pytest.mark.compiled
def test_kernels_call_kernels_of_their_own_file_and_of_core():
    """What they are compiled from is what the stamp of their cache covers."""
    n_kernels = 0
    for module, k in kernels_outside_core():
        if k.py_func.__module__ == module.__name__:
            n_kernels += 1
            for name in k.py_func.__code__.co_names:
                called = vars(module).get(name)
                home = getattr(getattr(called, "py_func", called), "__module__", "") if callable(called) else ""
                is_ours = home.startswith(("fwlasso.", "reproduction."))
                assert not is_ours or home == module.__name__ or home.startswith("fwlasso._core."), (k, name)
    assert n_kernels > 50


@pytest.mark.compiled
def test_kernels_without_a_writable_cache(tmp_path, package_copy):
    a_file = tmp_path / "file"  # where a folder would have to be: not even root can write a cache there
    a_file.touch()
    nowhere = a_file / "below"
    env = {"NUMBA_CACHE_DIR": nowhere, "HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTHONPATH": package_copy}
    done = run_python(SOME_KERNELS, package_copy, tmp_path, **env)
    assert done.stdout.split()[:3] == ["0", "7.0", "0.75"]
    assert done.stderr.count("set NUMBA_CACHE_DIR") == 1
    assert list(tmp_path.rglob("*.nb?")) == []


# A cache is made of pickles, and loading one runs what it says.


@pytest.fixture
def place(tmp_path):
    """A folder for a cache, with a file of compiled code in it."""
    folder = tmp_path / "above" / "cache"
    folder.mkdir(parents=True)
    (folder / "kernel.nbi").touch()
    return folder


def test_a_folder_that_only_the_user_can_write_to_is_private(place):
    place.chmod(0o755)
    assert cache.shared_place(place) is None


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o772, 0o770])
@pytest.mark.parametrize("name", [".", "kernel.nbi", ".."])
def test_what_others_can_write_to_is_found(monkeypatch, place, name, mode):
    monkeypatch.setattr(cache, "_is_shared", lambda gid: True)
    loose = (place / name).resolve()
    loose.chmod(mode)
    can_be_replaced = name != ".." or mode != 0o1777  # what lies in a sticky folder is safe from others
    assert cache.shared_place(place) == (loose if can_be_replaced else None)


@pytest.mark.posix
def test_a_folder_of_somebody_else_is_shared(monkeypatch, place):
    if os.geteuid() == 0:
        os.chown(place, 12345, -1)
    else:
        monkeypatch.setattr(cache, "_ROOT", Path("/"))  # of root
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.shared_place(place) == place


def test_a_group_of_ones_own_is_not_shared():
    assert not cache._is_shared(0)
    assert cache._is_shared(987654321)  # nobody knows who is in it


class Evil:
    """What makes a file when it is loaded from a pickle."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


@pytest.mark.compiled
def test_a_shared_cache_is_passed_over_with_a_word(monkeypatch, tmp_path, caplog):
    (tmp_path / "doubling.py").write_text(
        "from fwlasso._core.jit import kernel\n@kernel\ndef double(x): return 2 * x\n"
    )
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "private"))
    monkeypatch.setattr(notices, "_said", set())
    monkeypatch.syspath_prepend(tmp_path)
    double = importlib.import_module("doubling").double
    shared = tmp_path / "fwlasso" / cache._core_digest().hexdigest()[:16]
    shared.mkdir(parents=True)
    index = shared / f"doubling.double-2.{cache.stamp_of(tmp_path / 'doubling.py')[:12]}.nbi"
    content = pickle.dumps(numba.__version__) + pickle.dumps(Evil(tmp_path / "hacked"))
    index.write_bytes(content + hashlib.sha256(content).digest())
    shared.chmod(0o777)
    assert double(2.0) == 4.0
    assert not (tmp_path / "hacked").exists()
    assert [file.name for file in shared.iterdir()] == [index.name]
    (private,) = {file.parent for file in (tmp_path / "private").rglob("*.nb?")}
    assert private.stat().st_mode & 0o777 == 0o700
    assert (private / index.name).exists()
    (said,) = [message for message in caplog.messages if "others can write" in message]
    assert str(shared) in said
    assert "NUMBA_CACHE_DIR" in said


METHODS = [
    ("certified", "gap", "alphas"),
    ("certified", "gap", "radii"),
    ("sfw", "change", "radii"),
    ("sfw", "gap", "radii"),
    ("fw", "change", "radii"),
    ("fw", "gap", "radii"),
    ("cd", "change", "alphas"),
    ("cd", "gap", "alphas"),
    ("afw", "gap", "radii"),
    ("pfw", "gap", "radii"),
]
ALL_PATHS = """
import numpy as np, scipy.sparse as sp, fwlasso
rng = np.random.default_rng(3)
X = np.asfortranarray(rng.standard_normal((15, 25)) * (rng.random((15, 25)) < 0.5))
y = X[:, :3] @ [2.0, -1.0, 1.0] + 0.1 * rng.standard_normal(15)
found = {}
grids = {"alphas": [0.5, 0.1], "radii": [0.5, 2.0]}
for solver, stop, name in methods:
    for kind, design in {"dense": X, "sparse": sp.csc_array(X)}.items():
        path = fwlasso.lasso_path(
            design, y, solver=solver, stop=stop, tol=1e-12 if solver in ("certified", "pfw") else None,
            standardize=True, sample_size=8, random_state=0, **{name: grids[name]}
        )
        found[f"{solver} {stop} {name} {kind}"] = np.vstack([path.coefs.toarray(), path.intercepts, path.gaps])
"""
PLAINLY = f"""
import json, sys, types, fwlasso._core.oracle
assert isinstance(fwlasso._core.oracle.scan, types.FunctionType)  # nothing is compiled
methods = json.loads(sys.argv[2])
{ALL_PATHS}
np.savez(sys.argv[1], **found)
"""


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory):
    """The same paths by plain Python and by compiled code."""
    file = tmp_path_factory.mktemp("both_ways") / "plain.npz"
    run_python(PLAINLY, file, json.dumps(METHODS), NUMBA_DISABLE_JIT=1)
    here = {"methods": METHODS}
    exec(ALL_PATHS, here)
    with np.load(file) as arrays:
        return dict(arrays), here["found"]


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_plain_python_gives_the_compiled_answer(both_ways, method):
    for kind in ("dense", "sparse"):
        plain, compiled = (found[" ".join([*method, kind])] for found in both_ways)
        assert np.count_nonzero(compiled[:25]) > 2
        # An exact pairwise step leaves two columns equally correlated, and rounding decides which one is next.
        np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-5 if method[0] == "pfw" else 1e-12)


def steps(problem, penalty, columns):
    """Take a step towards each of the columns in turn, from zero; return the point and the last step."""
    rules = Stopping(change=1e-9, gap=-1.0, max_idle=3)
    point = zero(problem)
    for j in columns:
        point, step = take_step(
            problem, penalty, point, j, correlation(problem, point, j), 1, 0, rules, VARIANTS["default"]
        )
    return point, step


def small_problem(seed):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((15, 25)))
    y = X[:, :4] @ [3.0, -2.0, 2.0, 1.0] + 0.1 * rng.standard_normal(15)
    return build_problem(as_design(X), y, True, True, Workers(1))


# What compiled and plain sums differ in is rounding. It must not decide whether a point is done: drawing the same
# column again after an exact line search gives a gap of zero, plus or minus 1e-16.


def test_drawing_the_vertex_where_we_stand_is_no_step():
    for seed in range(20):
        problem, penalty = small_problem(seed), L1Ball(0.01)
        vertex, _ = steps(problem, penalty, [seed])
        assert (vertex.n_active, vertex.l1) == (1, 0.01)
        _, step = steps(problem, penalty, [seed, seed])
        assert (step.n_idle, step.done) == (1, False)


def test_drawing_the_last_column_again_looks_at_the_active_ones():
    for seed in range(6):
        problem, penalty = small_problem(seed), L1Ball(4.0)
        point, _ = steps(problem, penalty, [0, 1, 2])
        _, corr = scan_active(problem, point)
        assert quadratic_gap(penalty, sums_at(problem.yy, point), abs(corr)) > 1e-3
        _, step = steps(problem, penalty, [0, 1, 2, 2])
        assert step.change > 1e-6
        assert not step.done


class Left(NamedTuple):
    value: float


class Right(NamedTuple):  # the same fields: only the type tells them apart
    value: float


class Unknown(NamedTuple):
    value: float


@by_type
def worth(thing, factor):
    """Return what a thing is worth."""


@worth.register(Left)
def _(thing, factor):
    return factor * thing.value


@worth.register(Right, IN_ORDER)
def _(thing, factor):
    return -factor * thing.value


@by_type
def size(thing):
    """Return how large a thing is."""


@size.register(Left)
def _(thing):
    return thing.value


@size.otherwise
def _(thing):
    return 0.0


@numba.njit
def compiled_worth(thing, factor):
    return worth(thing, factor)


@numba.njit
def compiled_size(thing):
    return size(thing)


@pytest.mark.parametrize("function", [worth, compiled_worth])
def test_dispatch_chooses_by_type(function):
    assert function(Left(2.0), 3.0) == 6.0
    assert function(Right(2.0), 3.0) == -6.0


@pytest.mark.parametrize("function", [size, compiled_size])
def test_dispatch_takes_the_default_for_all_other_types(function):
    assert function(Left(2.0)) == 2.0
    assert function(Right(2.0)) == function(Unknown(2.0)) == 0.0


@pytest.mark.parametrize("function", [worth, compiled_worth])
@pytest.mark.parametrize("stranger", [Unknown(1.0), (1.0,), 1.0])
def test_dispatch_refuses_unknown_types(function, stranger):
    with pytest.raises(TypeError, match=r"^worth: \w+ is none of the types it is registered for: Left, Right$"):
        function(stranger, 1.0)

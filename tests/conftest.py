"""Designs that every storage, solver and dtype is tested with, and their plain numpy counterparts."""

import os
import signal
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from attack.storages import ANY_NUMBERS, STORAGES, impute
from fwlasso import LassoPath
from fwlasso._core.columns import Columns, add_column, shape
from fwlasso._core.iterate import Iterate, zero
from fwlasso._core.jit import kernel
from fwlasso._core.penalties import Penalty
from fwlasso._core.problem import Problem
from fwlasso._core.threads import Workers
from fwlasso.data.design import as_design
from fwlasso.problem import route
from fwlasso.problem.build import build_problem
from fwlasso.solvers.pointwise import solve_point as solve_one
from fwlasso.solvers.protocol import Advance, Burst, StepSolver, Stopping
from fwlasso.solvers.registry import SOLVERS
from reproduction.solvers import BASELINES

pytest_plugins = ["cli_fixtures"]

# The same cases in every run; the first call of a kernel compiles it, so examples have no deadline.
settings.register_profile("fwlasso", deadline=None, derandomize=True)
settings.load_profile("fwlasso")

# Of --fast: storages that are taken, and what a test calls that starts a process or a browser.
_FAST_STORAGES = {"dense64", "csc64"}
_PROCESSES = {"run_program", "run_measured", "subprocess", "Popen", "Chromium", "start"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out other storages, processes and what takes long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    of_posix = os.name != "posix" or config.pluginmanager.has_plugin("no_posix")
    left_out = [item for item in items if of_posix and item.get_closest_marker("posix")]
    if config.getoption("--fast"):
        left_out += [item for item in items if not _is_fast(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _is_fast(item: pytest.Item) -> bool:
    called = getattr(getattr(item, "function", None), "__code__", None)
    starts = called is not None and not _PROCESSES.isdisjoint(called.co_names)
    params = item.callspec.params if hasattr(item, "callspec") else {}
    is_slow = isinstance(params.get("storage"), str) and params["storage"] not in _FAST_STORAGES
    return not starts and not is_slow and item.get_closest_marker("long") is None


POINTWISE = [name for name, entry in SOLVERS.items() if entry.routes == (route.POINTWISE,)]
#: Storages and units for code that reaches X by the column protocol alone, which test_columns.py proves for all pairs.
#: `fwlasso.warmup` compiles the kernels of these.
SOME_PAIRS = [("dense64", "raw"), ("csc64", "standardized")]
UNITS = {"raw": (False, False), "centred": (True, False), "scaled": (False, True), "standardized": (True, True)}


def held(storage: str, values: np.ndarray) -> np.ndarray:
    """What a storage can hold of `values`: of genotypes the signs, with the largest of a column for missing calls."""
    if storage in ANY_NUMBERS:
        return values
    size = np.abs(values)
    return impute(np.where((size == size.max(axis=0)) & (size > 0.0), np.nan, 1.0 + np.sign(values)))


class Case(NamedTuple):
    """A problem as the solvers see it, and its columns z_j and response as plain arrays."""

    problem: Problem
    Z: np.ndarray
    y: np.ndarray


def random_values(rng: np.random.Generator, m: int, p: int, density: float = 0.4) -> np.ndarray:
    """Random columns of different scales, with zeros, that float32 holds exactly."""
    values = rng.integers(-8, 9, (m, p)) / 4.0 * (rng.random((m, p)) < density)
    return values * 2.0 ** rng.integers(-2, 3, p)


def dense_problem(rng: np.random.Generator, m: int = 60, p: int = 150, rho: float = 0.0) -> tuple[Any, Any]:
    """A response of four among many dense columns, which `rho` makes correlated."""
    X = rng.standard_normal((m, p)) + rho * rng.standard_normal((m, 1))
    return X, X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + rng.standard_normal(m) + 7.0


def plain_columns(values: np.ndarray, fit_intercept: bool, standardize: bool) -> np.ndarray:
    """The columns z_j, formed."""
    Z = values - values.mean(axis=0) if fit_intercept else values.copy()
    if standardize:
        scale = np.sqrt((Z**2).mean(axis=0))
        Z = np.divide(Z, scale, out=np.zeros_like(Z), where=scale > 0)
    return Z


def formed(X: Columns) -> np.ndarray:
    """The columns in memory, added to zero one by one."""
    m, p = shape(X)
    columns = np.zeros((p, m + 1))
    for j in range(p):
        _add(X, j, columns[j])
    return columns[:, :-1].T


@kernel
def _add(X, j, v):
    add_column(X, j, 1.0, v)


def make_case(values: np.ndarray, y: np.ndarray, storage: str = "dense64", units: str = "raw") -> Case:
    fit_intercept, standardize = UNITS[units]
    design = as_design(STORAGES[storage](values))
    problem = build_problem(design, np.asarray(y, dtype=float), fit_intercept, standardize, Workers(1))
    return Case(problem, plain_columns(values, fit_intercept, standardize), y - y.mean() if fit_intercept else y)


def solve_point(
    case: Case,
    solver: StepSolver,
    penalty: Penalty,
    stopping: Stopping,
    start: Iterate | None = None,
    max_iter: int = 100_000,
) -> Advance:
    """Run a solver on one point, from zero or from `start`."""
    with Workers(1) as workers:
        iterate = zero(case.problem) if start is None else start
        return solve_one(solver, Burst(case.problem, penalty, stopping, max_iter, workers), iterate, lambda *_: None)


def on_gap(case: Case, tol: float) -> Stopping:
    """The thresholds of stop="gap"."""
    return Stopping(-1.0, tol * 0.5 * case.problem.yy, 1)


def all_coefs(iterate: Iterate, p: int) -> np.ndarray:
    """The coefficients as an array."""
    a = np.zeros(p)
    active, weights = iterate.coefs()
    a[active] = weights
    return a


def assert_begins(path: LassoPath, whole: LassoPath) -> None:
    """The points of `path` are, to the bit, the first ones of `whole`."""
    n = len(path)
    assert path.statuses == whole.statuses[:n]
    np.testing.assert_array_equal(path.coefs.toarray(), whole.coefs[:, :n].toarray())
    np.testing.assert_array_equal(path.radii, whole.radii[:n])
    np.testing.assert_array_equal(path.intercepts, whole.intercepts[:n])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20150101)


@pytest.fixture(params=UNITS)
def units(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=SOME_PAIRS, ids="-".join)
def some_pair(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def some_units(some_pair: tuple[str, str]) -> str:
    return some_pair[1]


@pytest.fixture
def some_storage(some_pair: tuple[str, str]) -> str:
    return some_pair[0]


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Thirty samples, forty columns, a response of three of them with noise."""
    values = random_values(rng, 30, 40)
    return values, values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30) + 3.0


def random_case(storage: str, units: str, rng: np.random.Generator) -> Case:
    """Thirty samples, forty columns."""
    values = held(storage, random_values(rng, 30, 40))
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(30) + 3.0
    return make_case(values, y, storage, units)


@pytest.fixture
def case(some_storage: str, some_units: str, rng: np.random.Generator) -> Case:
    """Two storages, each in units of its own."""
    return random_case(some_storage, some_units, rng)


@pytest.fixture
def every_case(storage: str, units: str, rng: np.random.Generator) -> Case:
    """All storages in all units."""
    return random_case(storage, units, rng)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of the watch, at a standstill unless a test moves it."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("fwlasso.monitor.time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


@pytest.fixture
def python_handles_interrupts():
    """Python's own handler of Ctrl-C, which is ignored in the background, and at the end whatever was there."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The baselines of the reproduction are solvers of `lasso_path`, until the test is over."""
    for name, entry in BASELINES.items():
        monkeypatch.setitem(SOLVERS, name, entry)

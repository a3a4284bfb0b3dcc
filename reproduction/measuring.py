"""One method on one data set: its cost, measured without certificates, and how exact and how sparse its path is."""

import math
import statistics
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.peers import PeerError, run_peer
from benchmarks.peers.accuracy import ball_gaps, penalty_gaps
from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path
from fwlasso.result import LassoPath
from fwlasso.status import Status

from .batches import Look, looked_at
from .methods import Method
from .sets import Loaded
from .study import Record
from .units import EPS, N_POINTS, UNITS

_SHORT = 15.0  # seconds: shorter runs of methods that are not random are made some times
_CALLS = 3


class Measured(NamedTuple):
    """A path, and the times of all runs that computed it."""

    path: LassoPath
    times: list[float]
    solve_times: list[float]

    @property
    def seconds(self) -> float:
        """The median time of the whole call."""
        return statistics.median(self.times)

    @property
    def solve_seconds(self) -> float:
        """The median time of the solver."""
        return statistics.median(self.solve_times)


def measure(loaded: Loaded, method: Method, seed: int, n_threads: int | None) -> Record:
    """Return the record of a method: one run for a seed, or the times of three where runs are short and all alike."""
    if method.peer is not None:
        return _measure_peer(loaded, method)
    models = _Models(loaded, method)
    ours = run(loaded, method, seed, n_threads, models)
    path = ours.path
    return {
        "seconds": ours.seconds,
        "times": ours.times,
        "solve_seconds": ours.solve_seconds,
        "iterations": int(path.counters.iterations.sum()),
        "dot_products": int(path.counters.dot_products),
        "passes": float(path.counters.passes),
        "unfinished": sum(not status.converged and status is not Status.STALLED for status in path.statuses),
        "stalled": idle_points(path),
        **models.record,
    }


class _Models:
    """What is known of every model of a path, filled in part by part: the coefficients are not kept."""

    def __init__(self, loaded: Loaded, method: Method) -> None:
        self._loaded, self._grid = loaded, method.points(loaded.grids)
        self._gaps_of: Callable[..., Vector] = penalty_gaps if method.grid == "alphas" else ball_gaps
        self.record: Record = {}

    def __call__(self, coefs: sp.csc_array, intercepts: Vector) -> None:
        data, known = self._loaded.data, len(self.record.get("l1", ()))
        grid = self._grid[known : known + intercepts.size]
        gaps = self._gaps_of(data.X, data.y, coefs, grid, known=self._loaded.moments)
        for name, values in {"gaps": numbers(gaps), **_models(self._loaded, coefs, intercepts)}.items():
            self.record.setdefault(name, []).extend(values)


def run(
    loaded: Loaded, method: Method, seed: int, n_threads: int | None, look: Look | None = None, **more: Any
) -> Measured:
    """Run a method on its grid in the paper's units, compiled beforehand, without certificates.

    Where `look` is given, it is shown all models, and none is a part of the path; it takes no time of the method's.
    """
    X, y = loaded.data.X, loaded.data.y
    settings: dict[str, Any] = {
        method.grid: method.points(loaded.grids),
        "certify": False,
        "random_state": seed,
        "n_threads": n_threads,
        **UNITS,
        **method.settings,
        **more,
    }
    _compile(method.settings["solver"], method.grid, bool(sp.issparse(X)))
    paths = [_solve(X, y, settings, look)]
    while not method.is_random and len(paths) < _CALLS and paths[0].counters.total_seconds < _SHORT:
        paths.append(_solve(X, y, settings, look and (lambda *_: None)))
    whole = [float(path.counters.total_seconds) for path in paths]
    return Measured(paths[-1], whole, [float(path.counters.seconds["solve"]) for path in paths])


def _solve(X: Any, y: Vector, settings: dict[str, Any], look: Look | None = None) -> LassoPath:
    with warnings.catch_warnings(), looked_at(settings["solver"], look) as seconds:
        warnings.simplefilter("ignore", UserWarning)  # what points ended by is counted in the record
        path = lasso_path(X, y, **settings)
    path.counters.seconds["solve"] -= sum(seconds)
    if path.ending is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return path


@cache
def _compile(solver: str, grid: str, sparse: bool) -> None:
    """Run a solver on a small problem of the same kind, so that nothing is compiled while the clock runs."""
    rng = np.random.default_rng(0)
    values = np.asfortranarray(rng.standard_normal((20, 40)))
    X = sp.csc_array(values) if sparse else values
    _solve(X, values[:, 0] + values[:, 1], {"solver": solver, grid: 5, "standardize": True, "random_state": 0})


def _measure_peer(loaded: Loaded, method: Method) -> Record:
    assert method.peer is not None
    X, y = loaded.data.X, loaded.data.y
    units: dict[str, Any] = {"alphas": N_POINTS, "eps": EPS, **UNITS}
    try:
        found = run_peer(method.peer, X, y, known=loaded.moments, calls=_CALLS, **units, **method.settings)
    except PeerError as error:
        return {"missing": str(error)}
    return {
        "seconds": statistics.median(found.times),
        "times": found.times,
        "gaps": numbers(found.gaps),
        **_models(loaded, found.coefs, found.intercepts),
    }


def _models(loaded: Loaded, coefs: sp.csc_array, intercepts: Vector) -> Record:
    """Return what is known of every model: l1 norm, active features and errors."""
    data = loaded.data
    weights = abs(coefs).multiply(loaded.moments.deviation[:, None])
    errors = {"train_mse": numbers(loaded.mse(data.X, data.y, coefs, intercepts))}
    if data.y_test is not None:
        errors["test_mse"] = numbers(loaded.mse(data.X_test, data.y_test, coefs, intercepts))
    return {
        "l1": numbers(np.asarray(weights.sum(axis=0)).ravel()),
        "n_active": [int(n) for n in np.diff(sp.csc_array(coefs).indptr)],
        **errors,
    }


def idle_points(path: LassoPath) -> list[int]:
    """Return the points that ended on draws without descent: one to the letter, which is its rule, or three in a row.

    Records call them stalled.
    """
    return [k for k, status in enumerate(path.statuses) if status in (Status.ZERO_STEP, Status.STALLED)]


def numbers(values: NDArray[Any]) -> list[float | None]:
    """Return an array as JSON has it: what is not finite is None."""
    return [float(value) if math.isfinite(value) else None for value in values]

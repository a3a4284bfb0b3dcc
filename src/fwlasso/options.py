"""The options of a path, validated once at the border."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._core.columns import Vector
from ._core.notices import warn_of_old_name
from ._core.threads import resolve_threads
from .data.checks import check, is_count
from .monitor import Callback
from .problem.grid import as_grid
from .solvers.registry import DEFAULT_SOLVER, SOLVERS, STOPS, Draws, Entry, current_name
from .solvers.sample_size import SampleSize, as_sample_size

_DEFAULT_POINTS = 100
# The grid is recorded by itself, names and seeds are a part of the result, and the others change no bit of it.
_NOT_RECORDED = {
    "alphas",
    "radii",
    "callback",
    "random_state",
    "n_threads",
    "checkpoint",
    "feature_names",
    "in_segments",
}
_FORMS = {"alphas": "penalized", "radii": "constrained"}


@dataclass(frozen=True)
class Options:
    """What `lasso_path` was asked to do; building one raises a ValueError that names a bad argument."""

    alphas: Any = None
    radii: Any = None
    eps: float | None = None
    solver: str = DEFAULT_SOLVER
    stop: str | None = None
    tol: float | None = None
    sample_size: Any = None
    block_size: int | None = None
    standardize: bool = False
    fit_intercept: bool = True
    random_state: Any = None
    max_iter: int = 10_000
    time_limit: float | None = None
    callback: Callback | None = None
    certify: bool = True
    n_threads: int | None = None
    checkpoint: Path | str | None = None
    feature_names: Any = None
    in_segments: bool = False  # solve as runs do, kept or not: so that a folder changes no bit

    def __post_init__(self) -> None:
        known = isinstance(self.solver, str) and current_name(self.solver) in SOLVERS
        check("solver", self.solver, known, f"one of {', '.join(SOLVERS)}")
        if current_name(self.solver) != self.solver:
            warn_of_old_name(f"solver={self.solver!r}", f"{current_name(self.solver)!r}")
            object.__setattr__(self, "solver", current_name(self.solver))
        check("stop", self.stop, self.stop is None or self.stop in STOPS, f"one of {', '.join(STOPS)} or None")
        eps = self.eps
        check("eps", eps, eps is None or (_is_real(eps) and 0.0 < eps < 1.0), "a number in (0, 1) or None")
        tol = self.tol
        check("tol", tol, tol is None or (_is_real(tol) and tol >= 0.0), "a number >= 0 or None")
        check("max_iter", self.max_iter, is_count(self.max_iter), "an integer >= 1")
        for name in ("block_size", "n_threads"):
            value = getattr(self, name)
            check(name, value, value is None or is_count(value), "an integer >= 1 or None")
        for name in ("standardize", "fit_intercept", "certify"):
            value = getattr(self, name)
            check(name, value, isinstance(value, bool | np.bool_), "True or False")
        limit = self.time_limit
        check("time_limit", limit, limit is None or (_is_real(limit) and limit > 0.0), "seconds > 0 or None")
        check("callback", self.callback, self.callback is None or callable(self.callback), "callable or None")
        place = self.checkpoint
        check("checkpoint", place, place is None or isinstance(place, str | Path), "a folder or None")
        names = self.feature_names
        are_names = names is None or (np.ndim(names) == 1 and all(isinstance(name, str) for name in names))
        check("feature_names", names, are_names, "a sequence of texts or None")
        if self.alphas is not None and self.radii is not None:
            raise ValueError("give alphas or radii, not both")
        if self.rule not in self.entry.stops:
            rules = " or ".join(self.entry.stops)
            raise ValueError(f"stop: solver={self.solver!r} stops on the {rules}, got stop={self.stop!r}")
        if self.grid_name not in self.entry.grids:
            (other,) = self.entry.grids
            raise ValueError(
                f"{self.grid_name}: solver={self.solver!r} solves the {_FORMS[other]} form, give {other} instead"
            )
        # The grid, the rule and the seed are checked before any work starts, too.
        _ = self.grid, self.size_rule
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None

    @property
    def entry(self) -> Entry:
        """What is known of the solver."""
        return SOLVERS[self.solver]

    @property
    def grid_name(self) -> str:
        """The name of the argument that gives the grid: alphas or radii."""
        if self.alphas is None and self.radii is None:
            return self.entry.grids[0]
        return "alphas" if self.radii is None else "radii"

    @property
    def rule(self) -> str:
        """The stopping rule."""
        return self.entry.stops[0] if self.stop is None else self.stop

    @property
    def tolerance(self) -> float:
        """The tolerance of the stopping rule."""
        return STOPS[self.rule] if self.tol is None else float(self.tol)

    @cached_property
    def grid(self) -> int | Vector:
        """A number of points, or values from sparse to dense."""
        given = getattr(self, self.grid_name)
        return as_grid(_DEFAULT_POINTS if given is None else given, self.grid_name)

    def for_shape(self, shape: tuple[int, int]) -> "Options":
        """Return the options for data of a shape, with the ratio of the ends of an automatic grid.

        Where there are more features than samples, models soon have as many of them as samples, and more fit noise;
        else the best model may be close to least squares.
        """
        m, p = shape
        return self if self.eps is not None else replace(self, eps=1e-2 if p > m else 1e-4)

    @property
    def ratio(self) -> float:
        """The ratio of the ends of an automatic grid; known of options `for_shape`."""
        assert self.eps is not None
        return float(self.eps)

    def on_grid(self, values: Vector) -> "Options":
        """Return the same options for other points."""
        return replace(self, alphas=values) if self.grid_name == "alphas" else replace(self, radii=values)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.grid if isinstance(self.grid, int) else self.grid.size

    @property
    def size_rule(self) -> SampleSize:
        """The rule for the number of columns a step looks at."""
        return as_sample_size(self.sample_size)

    @property
    def threads(self) -> int:
        """The number of threads."""
        return resolve_threads(self.n_threads)

    def draws(self, seed: int) -> Draws:
        """Return what a random solver is told."""
        return Draws(self.size_rule, self.block_size, seed)

    def draw_seed(self) -> int:
        """Return the seed of the draws, by scikit-learn's conventions for `random_state`."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def record(self) -> dict[str, Any]:
        """Return the options that shape the result, for the record, as JSON has them."""
        kept = (field.name for field in fields(self) if field.name not in _NOT_RECORDED)
        plain = {name: _plain(getattr(self, name)) for name in kept}
        settled = {"stop": self.rule, "tol": self.tolerance, "sample_size": repr(self.size_rule)}
        return {**plain, **settled, "grid": self.grid_name}

    def run_record(self) -> dict[str, Any]:
        """Return the options that must be the same when a run is gone on with; how long it may take is none of them."""
        grid = self.grid if isinstance(self.grid, int) else self.grid.tolist()
        return {name: value for name, value in self.record().items() if name != "time_limit"} | {"points": grid}


def options_of(caller: str, settings: dict[str, Any]) -> Options:
    """Return the options of a path that a function of another name was given."""
    unknown = sorted(settings.keys() - {field.name for field in fields(Options)})
    if unknown:
        raise TypeError(f"{caller}() got an unexpected keyword argument {unknown[0]!r}")
    return Options(**settings)


def check_seeded(options: Options, what: str) -> None:
    """Raise a ValueError where a run would draw other samples when it is gone on with."""
    if options.checkpoint is not None and options.random_state is None:
        raise ValueError(f"random_state must be given with a checkpoint: {what} must be drawn again as they were")


def _plain(value: Any) -> Any:
    """Return a number as JSON has it: numpy's scalars as Python's."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))

"""The options of a path, validated once at the border.

An option is one field here: its default, its check, its flag and what help says of it. The command line, the record of
a result and the call in a report are made of the fields; the signatures of functions and estimators are tested against
them.
"""
# ruff: noqa: RUF009 -- an option is a field with a default that never changes

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._core.columns import Vector
from ._core.notices import warn_of_old_name
from .data.checks import as_random_state, check, is_count
from .data.terms import Terms, as_terms
from .monitor import Callback
from .problem.build import LOSSES
from .problem.grid import MOST_EPS_OF_RADII, as_grid
from .problem.route import WORKING_SET
from .solvers.protocol import SolverSettings
from .solvers.registry import DEFAULT_SOLVER, OLD_NAMES, SOLVERS, STOPS, Entry
from .solvers.sample_size import ALL_COLUMNS, DEFAULT_SAMPLE_SIZE, SampleSize, as_sample_size

_DEFAULT_POINTS = 100
_MOST_ITERATIONS = int(np.iinfo(np.int64).max)  # that kernels count to: no limit, as any larger number
_WITH_VARIANTS = [name for name, entry in SOLVERS.items() if len(entry.variants) > 1]
_VARIANTS = tuple(SOLVERS[_WITH_VARIANTS[0]].variants)
_FORMS = {"alphas": "penalized", "radii": "constrained"}
# Of the terms of columns, so many are recorded, as text.
_OF_COLUMNS, _FEW = ("lower", "upper", "penalty_factor", "unpenalized"), 20
_TERMS = "l1_ratio", "ridge", "positive", "lower", "upper", "penalty_factor", "unpenalized"
_BY_RADIUS = ", ".join(name for name, entry in SOLVERS.items() if entry.grids[0] == "radii")
_BY_CHANGE = ", ".join(name for name, entry in SOLVERS.items() if entry.stops[0] == "change")


class Check(NamedTuple):
    """What an option must be; None is always allowed if it is the default."""

    must_be: str
    holds: Callable[[Any], bool]


class Spec(NamedTuple):
    """What is known of an option beside its name, its type and its default."""

    check: Check | None = None  # None: the whole of the options is looked at
    help: str | None = None  # None: it is no option of the command line
    flag: str | None = None  # there, if its name is another one: shorter, or that of other tools
    kind: Any = None  # there, if its type is another one
    preset: Any = None  # its default there, if it is another one
    values: Iterable[str] = ()  # for shells that complete them
    is_recorded: bool = True  # it shapes the result, and is among its settings
    is_drawing: bool = False  # it is for solvers that draw columns at random


def _option(default: Any, check: Check | None = None, **known: Any) -> Any:
    return field(default=default, metadata={"spec": Spec(check, **known)})


def _is_real(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
    except OverflowError:  # an integer beyond float64
        return False


_BOOL = Check("True or False", lambda value: isinstance(value, bool | np.bool_))
_COUNT = Check("an integer >= 1", is_count)
_SHARE = Check("a number in (0, 1)", lambda value: _is_real(value) and 0.0 < value < 1.0)
_NONNEGATIVE = Check("a number >= 0", lambda value: _is_real(value) and value >= 0.0)
_SECONDS = Check("seconds > 0", lambda value: _is_real(value) and value > 0.0)
_FOLDER = Check("a folder", lambda value: isinstance(value, str | Path))
_IN_A_NET = "a number in (0, 1], as 0 is ridge regression, which selects nothing: see sklearn.linear_model.Ridge"
_L1_RATIO = Check(_IN_A_NET, lambda value: _is_real(value) and 0.0 < value <= 1.0)
_TEXTS = Check("a sequence of texts", lambda value: np.ndim(value) == 1 and all(isinstance(it, str) for it in value))
_SOLVER = Check(
    f"one of {', '.join(SOLVERS)}", lambda value: isinstance(value, str) and value in SOLVERS.keys() | OLD_NAMES
)
_STOP = Check(f"one of {', '.join(STOPS)}", lambda value: value in STOPS)
_LOSS = Check(f"one of {', '.join(LOSSES)}", lambda value: isinstance(value, str) and value in LOSSES)
_VARIANT = Check(f"one of {', '.join(_VARIANTS)}", lambda value: isinstance(value, str) and value in _VARIANTS)
_LOSS_HELP = "squared, logistic for two classes, poisson for counts, cox for times (negative: censored)."
_EPS = "Ratio of the ends of the grid. Default: 0.01 with more features than samples, else 0.0001."
_TOL = "Tolerance of the stopping rule. Default: 1e-4 for gap, 1e-6 for cv, else 1e-3."

# A grid is recorded by itself; names and seeds are a part of the result.
_grid_option = partial(_option, None, kind=int | None, is_recorded=False)


@dataclass(frozen=True)
class Options:
    """What `lasso_path` was asked to do; building one raises a ValueError that names a bad argument."""

    alphas: Any = _grid_option(help="Points on a grid of penalties. Default: 100.")
    radii: Any = _grid_option(help=f"Points on a grid of l1 norms. Default for {_BY_RADIUS}: 100.")
    eps: float | None = _option(None, _SHARE, help=_EPS)
    loss: str = _option(
        "squared",
        _LOSS,
        help=_LOSS_HELP,
        values=LOSSES,
    )
    solver: str = _option(DEFAULT_SOLVER, _SOLVER, help=f"One of {', '.join(SOLVERS)}.", values=SOLVERS)
    stop: str | None = _option(
        None, _STOP, help=f"gap, change or paper. Default: gap; change for {_BY_CHANGE}.", values=STOPS
    )
    tol: float | None = _option(None, _NONNEGATIVE, help=_TOL)
    sample_size: Any = _option(
        None,
        help="Columns per step: a number, or a share below 1. Default: 1 %, at least 194; afw, pfw: all.",
        kind=float | None,
        is_drawing=True,
    )
    block_size: int | None = _option(None, _COUNT, help="Neighbouring columns drawn together.", is_drawing=True)
    variant: str = _option("default", _VARIANT, help="paper: sfw and fw to the letter of the paper.", values=_VARIANTS)
    standardize: bool = _option(False, _BOOL, help="Scale the columns to a mean square of one.")
    fit_intercept: bool = _option(True, _BOOL, help="Fit an intercept.", flag="--intercept/--no-intercept")
    random_state: Any = _option(
        None, help="Seed of the random draws.", flag="--seed", kind=int, preset=0, is_recorded=False, is_drawing=True
    )
    l1_ratio: float = _option(1.0, _L1_RATIO, help="Share of |b| in the penalty of an elastic net; the rest is b^2.")
    ridge: float = _option(0.0, _NONNEGATIVE, help="A penalty ridge/2 b^2 besides, the same for all points.")
    positive: bool = _option(False, _BOOL, help="No coefficient is negative.")
    lower: Any = _option(None, help="Lower bounds of coefficients: a number, or NAME=NUMBER,...", kind=str | None)
    upper: Any = _option(None, help="Upper bounds of coefficients, likewise.", kind=str | None)
    penalty_factor: Any = _option(
        None,
        help="What penalties of columns are multiplied by, NAME=NUMBER,...: 0 is none, inf leaves a column out.",
        kind=str | None,
    )
    unpenalized: Any = _option(None, help="Columns without a penalty: NAME,...", kind=str | None)
    max_active: int | None = _option(None, _COUNT, help="End the path at a model with more active columns.")
    max_iter: int = _option(10_000, _COUNT, help="Iterations per point.")
    time_limit: float | None = _option(
        None, _SECONDS, help="Seconds for the solver; the points solved by then are returned."
    )
    callback: Callback | None = _option(None, Check("callable", callable), is_recorded=False)
    certify: bool = _option(True, _BOOL)
    n_threads: int | None = _option(
        None, _COUNT, help="Threads for scans of large data. Default: all cores.", flag="--threads", is_recorded=False
    )
    checkpoint: Path | str | None = _option(None, _FOLDER, is_recorded=False)
    feature_names: Any = _option(None, _TEXTS, is_recorded=False)
    # Solve as runs do, saved or not: so that a folder changes no bit.
    in_segments: bool = _option(False, _BOOL, is_recorded=False)

    def __post_init__(self) -> None:
        for name, (asked, *_) in SPECS.items():
            value, default = getattr(self, name), getattr(Options, name)
            if asked is not None and value is not default:
                check(name, value, asked.holds(value), f"{asked.must_be} or None" if default is None else asked.must_be)
        if self.solver in OLD_NAMES:
            warn_of_old_name(f"solver={self.solver!r}", f"{OLD_NAMES[self.solver]!r}")
            object.__setattr__(self, "solver", OLD_NAMES[self.solver])
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
        if self.variant not in self.entry.variants or (self.variant != "default" and self.grid_name != "radii"):
            which = " and ".join(_WITH_VARIANTS)
            got = f"variant={self.variant!r} with solver={self.solver!r} over {self.grid_name}"
            raise ValueError(f"variant: the paper's method is that of {which} over radii, got {got}")
        if self.asked_of_columns:
            self._check_terms()
        if self.loss != "squared":
            self._check_loss()
        # The grid, the rule and the seed are checked before any work starts, too.
        _ = self.grid, self.size_rule
        if self.grid_name == "radii" and isinstance(self.grid, int) and self.eps is not None:
            fits = self.eps < MOST_EPS_OF_RADII
            check("eps", self.eps, fits, f"below {MOST_EPS_OF_RADII:g} for an automatic grid of radii, or give radii")
        try:
            as_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None

    @cached_property
    def asked_of_columns(self) -> dict[str, Any]:
        """The options that give columns terms of their own, without those that are as in a plain Lasso."""
        given = {name: (getattr(self, name), getattr(Options, name)) for name in _TERMS}
        return {name: it for name, (it, usual) in given.items() if it is not usual and (np.ndim(it) or it != usual)}

    def _check_terms(self) -> None:
        """Raise a ValueError for terms of columns that the solver, or its grid, does not have."""
        if self.l1_ratio < 1.0 and self.grid_name == "radii":
            raise ValueError(
                f"l1_ratio={self.l1_ratio:g}: the ridge would follow alpha, and over radii there is none: give alphas, "
                "or ridge=... in its place"
            )
        if self.l1_ratio < 1.0 and self.ridge > 0.0:
            raise ValueError("give l1_ratio or ridge, not both")
        is_bounded = self.lower is not None or self.upper is not None
        if is_bounded and self.grid_name == "radii":
            raise ValueError("lower, upper: bounds are for alphas: over radii give positive=True, or leave them out")
        asked = {"bounds": is_bounded, "unpenalized": self.unpenalized is not None, "positive": self.positive}
        asked["ridge"] = self.l1_ratio < 1.0 or self.ridge > 0.0
        for name in (name for name, given in asked.items() if given and name not in self.entry.takes):
            raise ValueError(self.refusal(name))

    def _check_loss(self) -> None:
        """Raise a ValueError for what other losses than least squares do not have."""
        what = f"loss={self.loss!r}"
        if self.loss == "cox" and (WORKING_SET not in self.entry.routes or self.grid_name == "radii"):
            raise ValueError(f"solver, radii: {what} is solved over alphas by 'certified' alone")
        if "losses" not in self.entry.takes:
            others = [repr(name) for name, entry in SOLVERS.items() if "losses" in entry.takes]
            raise ValueError(
                f"{what}: solver={self.solver!r} solves least squares alone, take one of {', '.join(others)}"
            )
        others = [name for name in self.asked_of_columns if name != "penalty_factor"]
        if others and WORKING_SET not in self.entry.routes:
            raise ValueError(f"{others[0]}: {what} has penalty factors alone with {self.solver!r}: take 'certified'")
        if self.grid_name == "alphas" and not isinstance(self.grid, int) and self.grid[-1] == 0.0:
            raise ValueError(f"alphas: {what} may have no solution for alpha=0: give small alphas")

    def refusal(self, terms: str) -> str:
        """Return why the solver takes no such terms of columns, and which does."""
        why = {
            "bounds": "lower, upper: a vertex of a ball within bounds is no column",
            "unpenalized": "unpenalized, penalty_factor: a vertex of the ball has no column without a penalty",
            "ridge": "l1_ratio, ridge: it is for the Lasso alone",
            "positive": "positive: it is for all signs",
        }[terms]
        return f"{why}: solver={self.solver!r} has none, take 'certified' or 'cd'"

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

    def ratio(self, shape: tuple[int, int]) -> float:
        """Return the ratio of the ends of an automatic grid for data of a shape.

        With more features than samples, models soon have as many of them as samples, and more fit noise;
        else the best model may be close to least squares.
        """
        m, p = shape
        return float(self.eps) if self.eps is not None else 1e-2 if p > m else 1e-4

    def reach(self, shape: tuple[int, int]) -> float | None:
        """Return how far penalties go down, as a fraction of the largest; None: radii were given, which do not tell."""
        if isinstance(self.grid, int):
            return self.ratio(shape)
        return float(self.grid[-1] / self.grid[0]) if self.grid_name == "alphas" and self.grid[0] > 0.0 else None

    def terms(self, p: int, names: Sequence[str] | None) -> Terms:
        """Return what is asked of p columns."""
        found = as_terms(p, names, **self.asked_of_columns)
        if found.unpenalized.size and "unpenalized" not in self.entry.takes:
            raise ValueError(self.refusal("unpenalized"))
        if found.unpenalized.size and self.loss == "cox":
            raise ValueError(f"unpenalized, penalty_factor: loss={self.loss!r} has no columns without a penalty")
        return found

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
        default = self.entry.sample_size or DEFAULT_SAMPLE_SIZE
        return default if self.sample_size is None else as_sample_size(self.sample_size, default)

    def solver_settings(self, seed: int, *, polish: bool = True) -> SolverSettings:
        """Return what a solver is told."""
        rule = SolverSettings(self.rule, self.tolerance, min(self.max_iter, _MOST_ITERATIONS), seed)
        rule = rule._replace(sample_size=self.size_rule, block_size=self.block_size, variant=self.variant)
        return rule._replace(is_quadratic=self.loss == "squared", polish=polish)

    def record(self) -> dict[str, Any]:
        """Return the options that shape the result, for the record, as JSON has them."""
        plain = {name: _plain(getattr(self, name)) for name, spec in SPECS.items() if spec.is_recorded}
        given = {name: it for name, it in self.asked_of_columns.items() if name in _OF_COLUMNS}
        plain |= dict.fromkeys(_OF_COLUMNS) | {name: _column_text(it) for name, it in given.items()}
        settled = {"stop": self.rule, "tol": self.tolerance, "sample_size": repr(self.size_rule)}
        return {**plain, **settled, "grid": self.grid_name}

    def run_record(self) -> dict[str, Any]:
        """Return the options that must be the same when a run is gone on with; how long it may take is none of them."""
        grid = self.grid if isinstance(self.grid, int) else self.grid.tolist()
        return {name: value for name, value in self.record().items() if name != "time_limit"} | {"points": grid}


#: By name.
SPECS: dict[str, Spec] = {each.name: each.metadata["spec"] for each in fields(Options)}


def draws_columns(settings: dict[str, Any]) -> bool:
    """Tell by its record whether a path looked at random columns; solvers that look at all do only if asked to."""
    entry = SOLVERS.get(str(settings.get("solver")))
    default = None if entry is None else entry.sample_size
    return default is not None and (default is not ALL_COLUMNS or settings.get("sample_size") != repr(ALL_COLUMNS))


def check_seeded(options: Options, what: str) -> None:
    """Raise a ValueError if a run would draw other samples when it is resumed."""
    if options.checkpoint is not None and options.random_state is None:
        raise ValueError(f"random_state must be given with a checkpoint: a resumed call must draw the same {what}")


def _plain(value: Any) -> Any:
    """Return a number as JSON has it: numpy's scalars as Python's."""
    if value is None or isinstance(value, str):  # most are: to ask whether they are numbers takes longer
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _column_text(value: Any) -> Any:
    """Return terms of columns as text of Python if it is short; a number is one."""
    if isinstance(value, Real):
        return _plain(value)
    if not isinstance(value, Mapping | list | tuple) or len(value) > _FEW:
        return f"<{len(value)} values>"
    texts = [repr(it) if isinstance(it, str) else _number_text(it) for it in value]
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_number_text(it)}' for key, it in zip(texts, value.values(), strict=True))}}}"
    return f"[{', '.join(texts)}]"


def _number_text(value: Any) -> str:
    number = _plain(value)
    return repr(number) if np.isfinite(number) else f"float('{number}')"

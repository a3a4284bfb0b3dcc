"""What users ask of single columns beyond lambda |b_j|: factors, bounds and a ridge, in their own units."""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.costs import Cost
from .._core.separable import make_cost
from .._core.transform import Transform
from .checks import check, check_kind
from .frames import listed

# Factors beyond these are beyond what float64 tells apart from zero and infinity beside others.
_LEAST_FACTOR, _LARGEST_FACTOR = 1e-10, 1e10


class Terms(NamedTuple):
    """What is asked of the columns; None where nothing is.

    With W the total weight, users have

        1/(2W) sum_i w_i (y_i - (X b)_i - b0)^2 + sum_j v_j (alpha l1_ratio |b_j| + 1/2 mu b_j^2),   l_j <= b_j <= u_j,

    mu = alpha (1 - l1_ratio) + ridge, with the coefficients of scaled columns in the penalty if these are scaled.
    """

    factors: Vector | None = None  # v_j: 0 leaves a column without a penalty, infinity leaves it out
    lower: Vector | None = None  # l_j
    upper: Vector | None = None  # u_j
    l1_ratio: float = 1.0
    ridge: float = 0.0

    @property
    def unpenalized(self) -> NDArray[np.int64]:
        """The columns without a penalty."""
        return np.empty(0, np.int64) if self.factors is None else np.flatnonzero(self.factors == 0.0)

    @property
    def excluded(self) -> NDArray[np.int64]:
        """The columns that are left out."""
        return np.empty(0, np.int64) if self.factors is None else np.flatnonzero(np.isinf(self.factors))

    @property
    def divisors(self) -> Vector | None:
        """What columns are divided by, so that all penalties are alike: v_j, and one where there is no penalty."""
        return None if self.factors is None else np.where(self.factors > 0.0, self.factors, 1.0)

    @property
    def n_ops(self) -> int:
        """How many roundings there are in a factor f_j / v_j: none, or one, and one for the product with it."""
        divisors = self.divisors
        return 0 if divisors is None or (np.frexp(divisors[np.isfinite(divisors)])[0] == 0.5).all() else 2

    def cost(self, transform: Transform, total: float) -> Cost:
        """Return the cost of columns in the units of a solver, for a total weight.

        With b_j = factors_j a_j, a user's penalty on 2^coef_power a_j is mu = 2^(2 x_power) of the user's.
        """
        factors, units = transform.factors, transform.units
        slopes: float | Vector = 1.0
        bent: float | Vector = 1.0
        if self.factors is not None:
            v = self.factors
            slopes = np.where((factors > 0.0) & (v == 0.0), 0.0, 1.0)
            bent = np.divide(1.0, v, out=np.zeros(v.size), where=v > 0.0)
        lower, upper = (_within(ends, factors) for ends in (self.lower, self.upper))
        return make_cost(
            factors.size,
            slopes,
            bent,
            -np.inf if lower is None else lower,
            np.inf if upper is None else upper,
            fixed=float(np.ldexp(total * self.ridge, 2 * units.x_power)),
            share=float(np.ldexp((1.0 - self.l1_ratio) / self.l1_ratio, units.coef_power)),
        )

    def fingerprint(self) -> dict[str, str]:
        """Return checksums of what was given by column."""
        given = {"penalty factors": self.factors, "lower bounds": self.lower, "upper bounds": self.upper}
        return {
            name: f"{zlib.crc32(np.ascontiguousarray(values).data):08x}"
            for name, values in given.items()
            if values is not None
        }

    def facts(self, names: Sequence[str] | None) -> dict[str, Any]:
        """Return what is told of the columns, for the record of a path."""
        bounds = [values for values in (self.lower, self.upper) if values is not None]
        n_bounded = np.count_nonzero(np.any([np.isfinite(values) for values in bounds], axis=0)) if bounds else 0
        facts: dict[str, Any] = {}
        if self.unpenalized.size:
            facts["unpenalized_columns"] = self.unpenalized.tolist()
        if self.excluded.size:
            facts["excluded"] = _shown(self.excluded, names)
        if self.factors is not None:
            finite = self.factors[np.isfinite(self.factors) & (self.factors > 0.0)]
            if finite.size and finite.min() < finite.max():
                facts["factors"] = f"{finite.min():g} to {finite.max():g}"
        if any(np.any(np.isfinite(values) & (values != 0.0)) for values in bounds):
            facts["ends"] = [_told(values) for values in bounds]
        return facts | ({"n_bounded": int(n_bounded)} if n_bounded else {})


def _told(ends: Vector) -> float | list[float | None]:
    """Return bounds as JSON has them: one number for all, or one for each column, None where there is none."""
    alike = np.isfinite(ends[0]) and (ends == ends[0]).all()
    return float(ends[0]) if alike else [end if math.isfinite(end) else None for end in ends.tolist()]


#: The Lasso.
PLAIN = Terms()


def as_terms(
    p: int,
    names: Sequence[str] | None,
    *,
    l1_ratio: float = 1.0,
    ridge: float = 0.0,
    positive: bool = False,
    lower: Any = None,
    upper: Any = None,
    penalty_factor: Any = None,
    unpenalized: Any = None,
) -> Terms:
    """Return the terms of p columns, or raise a ValueError that names the argument.

    Numbers by column are a number, an array, or a mapping of names, patterns such as ``"age*"`` and places; columns are
    a sequence of these.
    """
    factors = _by_column("penalty_factor", penalty_factor, 1.0, p, names)
    if unpenalized is not None:
        factors = np.ones(p) if factors is None else factors
        factors[find_columns("unpenalized", unpenalized, p, names)] = 0.0
    if factors is not None:
        _check_factors(factors, p)
    low, high = (_by_column(name, given, end, p, names) for name, given, end in _ends(lower, upper))
    _check_bounds(low, high)
    if positive:
        low = np.zeros(p) if low is None else np.maximum(low, 0.0)
    terms = Terms(factors, low, high, float(l1_ratio), float(ridge))
    free = terms.unpenalized
    for name, values in (("positive" if positive else "lower", low), ("upper", high)):
        if values is not None and np.isfinite(values[free]).any():
            few = f"columns without a penalty have no bounds, {_shown(free, names)} among them"
            raise ValueError(f"{name}: {few}: bound the other columns by name")
    return terms


def _within(ends: Vector | None, factors: Vector) -> Vector | None:
    """Return bounds of coefficients in the units of a solver, of which those of users are never beyond the bounds."""
    if ends is None:
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = np.divide(ends, factors, out=ends.copy(), where=factors > 0.0)
        is_beyond = np.abs(found * factors) > np.abs(ends)
        return np.where(is_beyond, np.nextafter(found, 0.0), found)


def _ends(lower: Any, upper: Any) -> Iterable[tuple[str, Any, float]]:
    return ("lower", lower, -np.inf), ("upper", upper, np.inf)


def _check_factors(factors: Vector, p: int) -> None:
    usual = (factors >= _LEAST_FACTOR) & (factors <= _LARGEST_FACTOR)
    if not (usual | (factors == 0.0) | np.isposinf(factors)).all():
        raise ValueError(
            f"penalty_factor must be from {_LEAST_FACTOR:g} to {_LARGEST_FACTOR:g}, 0 for no penalty, or infinite to "
            f"leave a column out; got {factors[~(usual | (factors == 0.0) | np.isposinf(factors))][0]}"
        )
    if p and not (factors > 0.0).any():
        raise ValueError("penalty_factor: all columns are without a penalty, which is least squares: there is no path")


def _check_bounds(lower: Vector | None, upper: Vector | None) -> None:
    for name, values, is_right in (("lower", lower, np.less_equal), ("upper", upper, np.greater_equal)):
        if values is not None and not is_right(values, 0.0).all():
            sign = "<= 0" if name == "lower" else ">= 0"
            raise ValueError(f"{name} must be {sign}, so that zero is allowed: got {values[~is_right(values, 0.0)][0]}")


def _by_column(name: str, given: Any, default: float, p: int, names: Sequence[str] | None) -> Vector | None:
    """Return a number for every column, None if none was given."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        values = np.full(p, default)
        for key, value in given.items():
            _check_number(name, value)
            values[find_columns(name, [key], p, names)] = float(value)
        return values
    check_kind(name, given)
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iuf" or numbers.ndim > 1 or (numbers.ndim == 1 and numbers.size != p):
        raise ValueError(f"{name} must be a number, one for each of the {p} columns, or a mapping of names to numbers")
    values = np.array(np.broadcast_to(numbers.astype(np.float64), p))
    check(name, given, not np.isnan(values).any(), "numbers, none of them NaN")
    return values


def _check_number(name: str, value: Any) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and not np.isnan(float(value))
    check(name, value, is_number, "numbers")


def find_columns(argument: str, keys: Any, p: int, names: Sequence[str] | None) -> NDArray[np.int64]:
    """Return the columns that names, patterns or places stand for; a ValueError names those that stand for none."""
    if isinstance(keys, str) or not np.iterable(keys):
        raise ValueError(f"{argument} must be a sequence of names, patterns or places of columns, got {keys!r}")
    places = None if names is None else {name: k for k, name in reversed(list(enumerate(names)))}
    found: list[int] = []
    for key in keys:
        if isinstance(key, Integral) and not isinstance(key, bool | np.bool_):
            if not -p <= int(key) < p:
                raise ValueError(f"{argument}: there is no column {key}, there are {p}")
            found.append(int(key) % p)
        elif not isinstance(key, str):
            raise ValueError(f"{argument} must be names, patterns or places of columns, got {key!r}")
        elif places is None:
            raise ValueError(f"{argument}: the columns of X have no names, so there is no {key!r}: give its place")
        elif key in places:
            found.append(places[key])
        else:
            alike = [k for k, name in enumerate(names or ()) if fnmatchcase(name, key)]
            if not alike:
                raise ValueError(f"{argument}: no column is called {key!r}, or matches it")
            found += alike
    return np.unique(np.array(found, np.int64))


def _shown(columns: NDArray[np.int64], names: Sequence[str] | None) -> str:
    """Return columns by name, or by place, in a few words."""
    few = listed([j if names is None else names[j] for j in columns.tolist()])
    return few if columns.size < 2 else f"{columns.size:,} columns: {few}"


# Settings that a plain Lasso does not have, or has with other values.
_BESIDE = (
    *("is_weighted", "has_offset", "l1_ratio", "ridge", "positive", "lower", "upper", "penalty_factor", "unpenalized"),
    *("factors", "n_bounded", "excluded", "unpenalized_columns"),
)
_PLAIN = {"l1_ratio": 1.0}


def beside_the_lasso(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those settings of a path that a plain Lasso does not have."""
    known = {name: settings.get(name) for name in _BESIDE}
    return {name: value for name, value in known.items() if value not in (None, False, _PLAIN.get(name))}


def name_of_norm(terms: Mapping[str, Any]) -> str:
    """Return what a radius is, given the settings of a path that a plain Lasso does not have."""
    return "weighted l1 norm" if terms.keys() & {"factors", "unpenalized_columns"} else "l1 norm"

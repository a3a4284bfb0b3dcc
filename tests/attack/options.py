"""Problems beyond a plain Lasso: every generator of OPTIONS is a function of a numpy Generator, as those of data are.

Those named in ENABLED take turns with the generators of data; a test proves that the judge understands all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .duality import General
from .generators import Data, Rng, draw_shape, integers, near_copies, normal, response

#: What `lasso_path` has; an option is added when it is there.
ENABLED: tuple[str, ...] = (
    "weights", "counts", "offset", "factors", "excluded", "unpenalized", "positive", "box", "mixed_sides", "l1_ratio",
    "ridge", "weights_in_folds", "counts_in_folds", "offset_in_folds", "factors_in_folds", "unpenalized_in_folds",
    "positive_in_folds", "box_in_folds", "l1_ratio_in_folds", "ridge_in_folds", "weighted_folds", "several",
    "ridge_of_nothing", "bounds_beyond_numbers", "pulled_hard", "copies_with_signs", "nothing_is_positive",
    "one_pull_at_a_time", "hard_beside_soft", "on_the_edge", "free_and_dependent", "free_and_far",
    "weights_beyond_numbers", "factors_beyond_use", "ridges_in_any_unit",
)  # fmt: skip

_STEPS = ("sfw", "fw", "afw", "pfw")


def is_solved(asked: General, solver: str, grid: str) -> bool:
    """Tell whether a solver takes these options over such a grid."""
    v = asked.penalty_factor
    is_bounded, is_free = (asked.lower is not None or asked.upper is not None), v is not None and bool((v == 0.0).any())
    if solver in _STEPS:
        return not (is_bounded or is_free) and (asked.l1_ratio == 1.0 or (solver in ("sfw", "fw") and grid == "alphas"))
    return grid == "alphas" or not (is_bounded or asked.l1_ratio < 1.0)


def plain(rng: Rng) -> Data:
    V = normal(rng)
    V = V * 10.0 ** rng.uniform(-0.5, 0.5, V.shape[1]) + rng.standard_normal(V.shape[1])
    return Data(V, response(rng, V) + 3.0)


def asking(data: Data, **options: Any) -> Data:
    return data._replace(asked=data.asked._replace(**options))


# What each option is drawn from; they can be added to any data. ------------------------------------------------------


def weights(rng: Rng, data: Data) -> Data:
    """Weights of three decades, some of them zero, whose sum may be far from the number of samples."""
    m = len(data.y)
    w = 10.0 ** rng.uniform(-1.5, 1.5, m) * (rng.random(m) < rng.choice([0.7, 1.0])) * 10.0 ** rng.integers(-3, 4)
    w[rng.integers(m)] = 1.0
    return asking(data, sample_weight=w)


def counts(rng: Rng, data: Data) -> Data:
    """Integer weights."""
    w = rng.integers(0, 4, len(data.y)).astype(float)
    w[rng.integers(len(w))] = 1.0
    return asking(data, sample_weight=w)


def offset(rng: Rng, data: Data) -> Data:
    """An offset and a response in eighths, so that no digit is lost by taking one off the other."""
    shift = np.round(8.0 * rng.choice([1.0, 100.0]) * rng.standard_normal(len(data.y))) / 8.0
    return asking(data._replace(y=np.round(8.0 * data.y) / 8.0), offset=shift)


def factors(rng: Rng, data: Data) -> Data:
    """Penalty factors of one decade."""
    return asking(data, penalty_factor=rng.uniform(0.3, 3.0, data.X.shape[1]))


def excluded(rng: Rng, data: Data) -> Data:
    """Factors, of which one is infinite; its column may be the best one."""
    return asking(data, penalty_factor=_with(rng, factors(rng, data), np.inf))


def unpenalized(rng: Rng, data: Data) -> Data:
    """Factors, of which one is zero, and one is infinite if there are so many columns."""
    v = _with(rng, factors(rng, data), 0.0)
    some = np.flatnonzero(v > 0.0)
    if some.size > 1:
        v[rng.choice(some)] = np.inf
    return asking(data, penalty_factor=v)


def _with(rng: Rng, data: Data, value: float) -> np.ndarray:
    v = np.array(data.asked.penalty_factor)
    v[rng.integers(v.size)] = value
    return v


def positive(_: Rng, data: Data) -> Data:
    return asking(data, positive=True)


def box(rng: Rng, data: Data) -> Data:
    """Bounds on both sides, some of which are active."""
    ends = _sizes(data) * 10.0 ** rng.uniform(-2.0, 0.5, (2, data.X.shape[1]))
    return asking(data, lower=-ends[0], upper=ends[1])


def mixed_sides(rng: Rng, data: Data) -> Data:
    """Every side is closed, bounded or open, whatever the other is; both may be closed."""
    p = data.X.shape[1]
    ends = _sizes(data) * 10.0 ** rng.uniform(-2.0, 0.5, (2, p))
    lower, upper = (np.choose(rng.integers(0, 3, p), [np.zeros(p), end, np.full(p, np.inf)]) for end in ends)
    return asking(data, lower=-lower, upper=upper)


def l1_ratio(rng: Rng, data: Data) -> Data:
    return asking(data, l1_ratio=float(rng.choice([0.999, 0.9, 0.5, 0.1])))


def ridge(rng: Rng, data: Data) -> Data:
    """A ridge that is hardly one, up to one that is most of the curvature."""
    size = float(np.nanmean((data.X - np.nanmean(data.X, axis=0)) ** 2)) or 1.0
    return asking(data, ridge=size * 10.0 ** rng.uniform(-12.0, 1.0))


def _sizes(data: Data) -> np.ndarray:
    """The size of coefficients."""
    spread = (data.X - data.X.mean(axis=0)).std(axis=0)
    return (data.y.std() or 1.0) / np.where(spread > 0.0, spread, 1.0)


ASPECTS: dict[str, Callable[[Rng, Data], Data]] = {
    make.__name__: make
    for make in (weights, counts, offset, factors, excluded, unpenalized, positive, box, mixed_sides, l1_ratio, ridge)
}


def several(rng: Rng) -> Data:
    """Weights or counts, factors of any kind, bounds of any kind and a ridge, each of them or not."""
    data, sides = plain(rng), (positive, box, mixed_sides)
    of_factors = (factors, excluded, unpenalized)
    for group in ((weights, counts), (offset,), sides, of_factors, (l1_ratio, ridge)):
        if rng.random() < 0.7:
            data = group[rng.integers(len(group))](rng, data)
    asked = data.asked
    if asked.penalty_factor is None or not (free := asked.penalty_factor == 0.0).any():
        return data
    if asked.positive:  # columns without a penalty have no sign, and no bounds
        return asking(data, penalty_factor=np.where(free, 1.0, asked.penalty_factor))
    if asked.lower is not None:
        data = asking(data, lower=np.where(free, -np.inf, asked.lower), upper=np.where(free, np.inf, asked.upper))
    return data


# Hostile ones. -------------------------------------------------------------------------------------------------------


def ridge_of_nothing(rng: Rng) -> Data:
    """Copies and dependent columns, held apart by a ridge of 1e-12 and less alone."""
    data = near_copies(rng)
    X = np.hstack([data.X, data.X[:, :2], -data.X[:, :1]])
    return asking(Data(X, data.y), ridge=10.0 ** -rng.integers(12, 16))


def bounds_beyond_numbers(rng: Rng) -> Data:
    """Bounds of 1e300 and 1e-300: none, and zero, but for arithmetic."""
    data = plain(rng)
    p = data.X.shape[1]
    ends = rng.choice([1e300, 1e-300, 1.0], (2, p))
    data = asking(data, lower=-ends[0], upper=ends[1])
    return l1_ratio(rng, data) if rng.random() < 0.3 else data


def pulled_hard(rng: Rng) -> Data:
    """Coefficients at tiny bounds with correlations far above lambda, beside others that are free."""
    data = plain(rng)
    p = data.X.shape[1]
    ends = np.where(rng.random(p) < 0.6, 1e-4 * _sizes(data), np.inf)
    return asking(data, lower=-ends, upper=ends)


def copies_with_signs(rng: Rng) -> Data:
    """Copies of columns, some of them with the opposite sign, that a sign or a ridge tells apart."""
    data = plain(rng)
    X = np.hstack([data.X, data.X[:, :3], -data.X[:, :3]])
    return (positive, box, l1_ratio)[rng.integers(3)](rng, Data(X, data.y))


def nothing_is_positive(rng: Rng) -> Data:
    """All correlations are negative, but for one, or none: the model that must be positive is empty."""
    data = plain(rng)
    y = data.y - data.y.mean()
    X = data.X - data.X.mean(axis=0)
    signs = -np.sign(X.T @ y)
    signs[: rng.integers(0, 2)] *= -1.0
    return positive(rng, Data(data.X * signs, data.y))


def one_pull_at_a_time(rng: Rng) -> Data:
    """Signs matter: columns that are to be positive and come late, since their correlations begin far below zero."""
    m, p = int(rng.integers(20, 50)), int(rng.integers(5, 40))
    shared = rng.standard_normal((m, 1))
    X = 0.3 * rng.standard_normal((m, p)) + shared * rng.choice([-1.0, 1.0], p)
    return positive(rng, Data(X, 3.0 * shared[:, 0] + 0.5 * X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(m)))


def hard_beside_soft(rng: Rng) -> Data:
    """Near copies of columns with bounds that have none: the hardest pull is just above lambda."""
    data = plain(rng)
    p = data.X.shape[1]
    near = data.X * (1.0 + 10.0 ** -rng.integers(3, 17) * rng.standard_normal(data.X.shape))
    ends = np.append(_sizes(data) * 10.0 ** rng.uniform(-1.0, 1.0, p), np.full(p, np.inf))
    return asking(Data(np.hstack([data.X, near]), data.y), lower=-ends, upper=ends)


def on_the_edge(rng: Rng) -> Data:
    """Columns with equal correlations in integers, just above or on lambda together."""
    data = integers(rng)
    X = np.hstack([data.X, data.X[:, ::-1]])
    return (factors, positive, l1_ratio, box)[rng.integers(4)](rng, Data(X, data.y))


def free_and_dependent(rng: Rng) -> Data:
    """Columns without a penalty that are nearly dependent, by 1e-1 to 1e-7."""
    m, p = int(rng.integers(20, 50)), int(rng.integers(6, 40))
    X = rng.standard_normal((m, p))
    X[:, 1] = X[:, 0] + 10.0 ** -rng.integers(1, 8) * X[:, 1]
    v = np.ones(p)
    v[:3] = 0.0
    return asking(Data(X, response(rng, X)), penalty_factor=v)


def free_and_far(rng: Rng) -> Data:
    """Columns without a penalty whose means are 1e9 or less, one of them a column of ones."""
    m, p = int(rng.integers(20, 50)), int(rng.integers(6, 40))
    V = rng.standard_normal((m, p))
    X = V.copy()
    X[:, :2] += 10.0 ** rng.integers(0, 10, 2)
    X[:, 2] = 1.0
    v = np.ones(p)
    v[:3] = 0.0
    return asking(Data(X, response(rng, V) + 5.0), penalty_factor=v)


def weights_beyond_numbers(rng: Rng) -> Data:
    """Weights of 1e-150 and 1e150, by themselves or beside ones: those of 1e-200 of the largest are none."""
    data = plain(rng)
    w = rng.choice([1e-150, 1.0, 1e150], len(data.y), p=[[0.2, 0.8, 0.0], [0.0, 0.8, 0.2]][rng.integers(2)])
    w = w if rng.random() < 0.5 else rng.choice([1e-150, 1e150]) * rng.uniform(0.5, 2.0, len(w))
    return asking(data._replace(extreme=True), sample_weight=w)


def factors_beyond_use(rng: Rng) -> Data:
    """Factors over twenty decades, the limits of what is taken."""
    data = plain(rng)
    return asking(data, penalty_factor=10.0 ** rng.uniform(-10.0, 10.0, data.X.shape[1]))


def ridges_in_any_unit(rng: Rng) -> Data:
    """A response of 1e-60 to 1e60 with a ridge: bounds scale as coefficients, a ridge as columns squared."""
    data = plain(rng)
    y, x = 10.0 ** rng.integers(-60, 61), 10.0 ** rng.integers(-30, 31)
    data = ridge(rng, Data(data.X * x, data.y * y, extreme=True))  # in units of scaled columns it may be all
    return box(rng, data) if rng.random() < 0.3 else data


def weighted_folds(rng: Rng) -> Data:
    """Weights of which whole blocks are zero: a fold may have nothing to train on, and is refused by name."""
    m, p = draw_shape(rng)
    V = rng.standard_normal((m, p))
    w = np.where(np.arange(m) < int(0.9 * m) * rng.integers(0, 2), 0.0, rng.uniform(0.1, 10.0, m))
    return asking(Data(V, response(rng, V), extreme=True, folds="many"), sample_weight=w)


OPTIONS: dict[str, Callable[[Rng], Data]] = {
    **{name: lambda rng, make=make: make(rng, plain(rng)) for name, make in ASPECTS.items()},
    **{
        f"{name}_in_folds": lambda rng, make=make: make(rng, plain(rng))._replace(folds="many")
        for name, make in ASPECTS.items()
    },
    **{
        make.__name__: make
        for make in (
            several, ridge_of_nothing, bounds_beyond_numbers, pulled_hard, copies_with_signs, nothing_is_positive,
            one_pull_at_a_time, hard_beside_soft, on_the_edge, free_and_dependent, free_and_far, weights_beyond_numbers,
            factors_beyond_use, ridges_in_any_unit, weighted_folds,
        )
    },
}  # fmt: skip

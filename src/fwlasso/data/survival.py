"""Times and events of survival data, as users have them and as one number by sample.

Cox's model knows the order of times alone. So a sample is told by one whole number: its stratum times a large power of
two, plus the rank of its time, negative if it was censored. Weights, folds and scores need to know nothing of that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Matrix, Vector
from .._core.cox import Cox, make_cox
from .._core.losses import loss_value
from .checks import by_itself
from .frames import frame_names

#: What strata are multiplied by.
_STRATUM = 2.0**32
_WANTED = "times and events, one column each, or one column of times that are negative where a sample was censored"


def as_survival(y: Any, n_samples: int, strata: Any = None, weights: Vector | None = None) -> Vector:
    """Return times and events as one number by sample, or raise a ValueError that names y or strata."""
    times, is_event, *rest = _columns_of(y)
    if times.size != n_samples:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_samples, times.size]}")
    if not np.isfinite(times).all():
        raise ValueError("y: some times are NaN or infinite")
    if (times < 0.0).any():
        raise ValueError("y: some times are negative")
    if not np.isin(is_event, (0, 1)).all():
        raise ValueError("y: the events, its second column, must be 0 or 1")
    events = is_event.astype(np.bool_)
    if not (events if weights is None else events & (weights > 0.0)).any():
        raise ValueError("y: there is no event, and nothing to explain: all samples are censored")
    codes = np.unique(times, return_inverse=True)[1] + 1.0
    for labels in rest if strata is None else [np.asarray(strata)]:
        if labels.shape != (n_samples,):
            raise ValueError(f"strata must be one label for each of the {n_samples} samples, got {labels.shape}")
        known = labels.astype(str) if labels.dtype.kind == "O" else labels
        codes += _STRATUM * np.unique(known, return_inverse=True)[1]
    return np.where(events, codes, -codes)


def _columns_of(y: Any) -> list[NDArray[Any]]:
    """Return times, events, and strata if there are any."""
    if y is None:
        raise ValueError(f"y is None: loss='cox' needs {_WANTED}")
    names, given = frame_names(y), None
    if names is not None:
        columns = [np.asarray(y[name]) for name in getattr(y, "columns", names)]
    else:
        given = np.asarray(y if getattr(getattr(y, "dtype", None), "names", None) else by_itself("y", y))
        names = given.dtype.names
        columns = [given[name] for name in names] if names else list(given.T) if given.ndim == 2 else [given]
    if not (1 <= len(columns) <= 3 and all(it.dtype.kind in "biuf" and it.ndim == 1 for it in columns[:2])):
        raise ValueError(f"y must be {_WANTED}")
    if len(columns) == 1:
        times = columns[0].astype(np.float64)
        if (times == 0.0).any():
            raise ValueError("y: a time of zero does not tell whether it is an event: give times and events")
        return [np.abs(times), times > 0.0]
    first, second, *rest = columns
    if first.dtype.kind == "b":  # as in scikit-survival
        first, second = second, first
    return [first.astype(np.float64), second, *rest]


def cox_of(y: Vector, weights: Vector, offset: Vector) -> Cox:
    """Return the loss of times and events that are one number each."""
    sizes = np.abs(y)
    events, strata = (y > 0.0).astype(np.float64), np.floor(sizes / _STRATUM)
    return make_cox(np.mod(sizes, _STRATUM), events, strata, weights=weights, offset=offset)


def partial_deviances(eta: Matrix, y: Vector, weights: Vector) -> Vector:
    """Return twice the partial likelihood's logarithm below that of a saturated model, for every column of eta."""
    loss = cox_of(y, weights, np.zeros(y.size))
    deaths = loss.deaths[loss.deaths > 0.0]
    least = float(np.sum(deaths * np.log(deaths)))
    return np.array([2.0 * (float(loss_value(loss, np.ascontiguousarray(column))) - least) for column in eta.T])


def concordance(y: Vector, eta: Vector, weights: Vector | None = None) -> float:
    """Return Harrell's share of pairs in which who has the event first has the larger predictor; ties are halves.

    A pair counts if the earlier time is an event, in the same stratum; times that are equal do if one is censored.
    """
    sizes, events = np.abs(y), y > 0.0
    weights = np.ones(y.size) if weights is None else weights
    there, right = 0.0, 0.0
    for i in np.flatnonzero(events & (weights > 0.0)):
        later = (sizes > sizes[i]) | ((sizes == sizes[i]) & ~events)
        later &= np.floor(sizes / _STRATUM) == np.floor(sizes[i] / _STRATUM)
        pairs = weights[i] * weights[later]
        there += pairs.sum()
        right += pairs @ ((eta[later] < eta[i]) + 0.5 * (eta[later] == eta[i]))
    return float(right / there) if there > 0.0 else np.nan

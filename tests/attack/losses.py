"""Classes and counts that break arithmetic, and their judge: the gap of the coefficients alone, in long double."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fwlasso import LassoPath, Status

from .duality import General
from .generators import Data, Rng, copies, draw_shape, integers, means_of, near_copies, normal, scales_side_by_side
from .judge import Fault, Verdict
from .options import asking, several


def respond(rng: Rng, data: Data, *, shift: float = 0.0, scale: float = 1.0) -> Data:
    """Return classes or counts of the response that there is, at least one of either kind."""
    eta = data.y - data.y.mean()
    eta = scale * eta / (eta.std() or 1.0) + shift
    loss = str(rng.choice(["logistic", "poisson"]))
    y = (
        rng.random(eta.size) < 1.0 / (1.0 + np.exp(-eta))
        if loss == "logistic"
        else rng.poisson(np.exp(eta.clip(-9, 5)))
    )
    y = y.astype(float)
    first, second = rng.choice(y.size, 2, replace=False)
    y[first], y[second] = 0.0, max(y[second], 1.0)
    weights = data.asked.sample_weight
    if weights is not None:
        weights = np.array(weights)
        weights[[first, second]] = np.maximum(weights[[first, second]], np.median(weights[weights > 0.0]))
        data = asking(data, sample_weight=weights)
    return data._replace(y=y, loss=loss, extreme=True)


def of_normal(rng: Rng) -> Data:
    V = normal(rng)
    return Data(V * 10.0 ** rng.uniform(-1.0, 1.0, V.shape[1]), V[:, :2] @ [1.0, -1.0])


def unbalanced(rng: Rng) -> Data:
    """One of a class, or a single count, among as many as a thousand."""
    m, p = int(rng.choice([30, 300, 1000])), int(rng.integers(3, 12))
    X = rng.standard_normal((m, p))
    return respond(rng, Data(X, X[:, 0]), shift=-9.0)


def separable(rng: Rng) -> Data:
    """Columns that tell the classes, or the zeros, exactly; the path goes on to lambda_max / 1e6."""
    data = respond(rng, of_normal(rng))
    sign = np.where(data.y > 0.0, 1.0, -1.0)
    X = data.X.copy()
    for j in range(int(rng.integers(1, 4))):
        X[:, j % X.shape[1]] = sign * np.abs(X[:, j % X.shape[1]])
    return data._replace(X=X)


def counts_of_zeros(rng: Rng) -> Data:
    """Hardly a count but zeros, and one that is very large."""
    data = respond(rng, of_normal(rng), shift=-3.0)._replace(loss="poisson")
    y = np.array(data.y)
    y[rng.integers(y.size)] = 10.0 ** rng.integers(0, 7)
    return data._replace(y=y)


def classes_without_weight(rng: Rng) -> Data:
    """Weights of zero, and of many decades beside each other."""
    data = respond(rng, of_normal(rng))
    m = data.y.size
    weights = 10.0 ** rng.uniform(-6.0, 3.0, m) * (rng.random(m) < rng.choice([0.3, 0.8]))
    weights[np.unique(data.y, return_index=True)[1]] = 1.0
    return asking(data, sample_weight=weights)


def columns_on_the_bound(rng: Rng) -> Data:
    """Equal correlations in integers, copies of both signs, bounds that many coefficients are at."""
    data = (integers, copies, near_copies)[rng.integers(3)](rng)
    X = np.hstack([data.X, -data.X[:, ::-1]])
    data = respond(rng, Data(X, data.y))
    ends = 10.0 ** rng.uniform(-3.0, 1.0, X.shape[1]) / (np.abs(X).max(axis=0) + 1e-300)
    asked = ({}, {"positive": True}, {"lower": -ends, "upper": ends}, {"l1_ratio": 0.9})[rng.integers(4)]
    return asking(data, **asked)


def classes_far_from_zero(rng: Rng) -> Data:
    """Columns with means of up to 1e8 times their spread, or of all scales."""
    data = means_of(rng, normal(rng), 10.0 ** rng.integers(1, 9)) if rng.random() < 0.5 else scales_side_by_side(rng)
    return respond(rng, data)


def offsets_beyond_reason(rng: Rng) -> Data:
    """Offsets that all but decide the classes, or rates of many decades."""
    data = respond(rng, of_normal(rng))
    return asking(data, offset=rng.choice([1.0, 5.0, 15.0]) * rng.standard_normal(data.y.size))


def several_of_classes(rng: Rng) -> Data:
    """Weights, factors, bounds, ridges, columns without a penalty, each of them or not."""
    return respond(rng, several(rng))


def few_of_classes(rng: Rng) -> Data:
    """Two to five samples."""
    m, p = int(rng.integers(2, 6)), draw_shape(rng)[1]
    X = rng.standard_normal((m, p))
    return respond(rng, Data(X, X[:, 0]))


LOSSES: dict[str, Callable[[Rng], Data]] = {
    make.__name__: make
    for make in (
        unbalanced, separable, counts_of_zeros, classes_without_weight, columns_on_the_bound, classes_far_from_zero,
        offsets_beyond_reason, several_of_classes, few_of_classes,
    )
}  # fmt: skip


def draw_options(rng: Rng, data: Data) -> dict[str, Any]:
    """Return settings of a path: down to lambda_max / 1e6 for classes."""
    eps = float(rng.choice([1e-1, 1e-2, 1e-4, 1e-6] if data.loss == "logistic" else [1e-1, 1e-2, 1e-3]))
    return {
        "loss": data.loss,
        "solver": "certified",
        "alphas": int(rng.integers(1, 11)),
        "eps": eps,
        "tol": float(rng.choice([1e-4, 1e-6, 1e-8])),
        "fit_intercept": bool(rng.random() < 0.8),
        "standardize": bool(rng.random() < 0.4),
        "n_threads": int(rng.choice([1, 1, 2])),
    }


def judge(path: LassoPath, values: np.ndarray, y: np.ndarray, asked: General) -> Verdict:
    """Judge a path of another loss than least squares."""
    sys.path.append(str(Path(__file__).parents[1]))
    try:
        from judge import judge_loss  # it is a module of tests by itself
    finally:
        sys.path.pop()
    n_certified = path.statuses.count(Status.CERTIFIED)
    faults: tuple[Fault, ...] = ()
    if not all(np.isfinite(numbers).all() for numbers in (path.coefs.data, path.intercepts, path.r2)):
        faults = (Fault("non-finite", "coefficients"),)
    else:
        try:
            judge_loss(path, values, y, asked, tuple(Status))
        except AssertionError as error:
            faults = (Fault("below truth" if "claimed" in str(error) else "wrong", str(error).split("\n")[0]),)
    return Verdict(len(path), n_certified, faults)

"""From linear predictors to what users ask for: probabilities, rates, labels; and how good they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from .._core.columns import Matrix, Vector
from .checks import check, numpy_defaults
from .labels import Classes
from .survival import partial_deviances

KINDS = "mean", "link", "class"
#: What the exponential of a coefficient is called.
RATIOS = {"logistic": "odds ratio", "poisson": "rate ratio", "cox": "hazard ratio"}


def from_link(loss: str, eta: NDArray[np.float64], kind: str | None, classes: Classes) -> NDArray[Any]:
    """Return predictions of a kind: means, the linear predictor, or labels; by default labels if there are classes."""
    kind = ("mean" if classes is None else "class") if kind is None else kind
    check("kind", kind, kind in KINDS, "'mean', 'link', 'class' or None")
    if kind == "class":
        if classes is None:
            raise ValueError(f"kind: loss={loss!r} has no classes")
        return np.array(classes)[(eta > 0.0).astype(np.int64)]
    if kind == "link" or loss == "squared":
        return eta
    with np.errstate(over="ignore"):
        return np.asarray(expit(eta) if loss == "logistic" else np.exp(eta))


def ratios_of(loss: str, coefs: Vector) -> dict[str, Vector]:
    """Return a column of the factors that a unit of a feature has on odds or rates; none of least squares."""
    if loss not in RATIOS:
        return {}
    with np.errstate(over="ignore"):
        return {RATIOS[loss].replace(" ", "_"): np.exp(coefs)}


@numpy_defaults()
def mean_deviances(loss: str, eta: Matrix, y: Vector, weights: Vector | None = None) -> Vector:
    """Return the mean deviance of every column of linear predictors, 2 (f(eta) - min f)."""
    if loss == "cox":
        own = np.ones(y.size) if weights is None else weights
        return np.asarray(partial_deviances(eta, y, own) / own.sum())
    y = y[:, np.newaxis]
    if loss == "squared":
        terms = (y - eta) ** 2
    elif loss == "logistic":
        terms = 2.0 * (np.logaddexp(0.0, eta) - y * eta - xlogy(y, y) - xlogy(1.0 - y, 1.0 - y))
    else:
        with np.errstate(over="ignore"):
            terms = 2.0 * (np.exp(eta) - y * eta + xlogy(y, y) - y)
    return np.asarray(np.average(terms, axis=0, weights=weights))


def explained_shares(loss: str, eta: Matrix, y: Vector, weights: Vector | None = None) -> Vector:
    """Return D^2 of every column of linear predictors: what share of the deviance of their mean they explain."""
    if loss == "cox":
        null = mean_deviances(loss, np.zeros((y.size, 1)), y, weights)[0]
        return np.asarray(
            1.0 - mean_deviances(loss, eta, y, weights) / null if null > 0.0 else np.full(eta.shape[1], np.nan)
        )
    mean = float(np.average(y, weights=weights))
    if not 0.0 < mean < (1.0 if loss == "logistic" else np.inf):
        return np.full(eta.shape[1], np.nan)
    constant = np.log(mean) - (np.log1p(-mean) if loss == "logistic" else 0.0)
    null = mean_deviances(loss, np.full((y.size, 1), constant), y, weights)[0]
    return np.asarray(
        1.0 - mean_deviances(loss, eta, y, weights) / null if null > 0.0 else np.full(eta.shape[1], np.nan)
    )

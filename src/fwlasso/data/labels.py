"""The response of every loss: numbers, two labels, or counts."""

from typing import Any

import numpy as np

from .._core.columns import Vector
from .checks import as_response, by_itself
from .survival import as_survival

#: Two labels, the second of which has the value one; None where the response is numbers.
Classes = tuple[Any, Any] | None


def as_target(
    loss: str, y: Any, n_samples: int, weights: Vector | None = None, strata: Any = None
) -> tuple[Vector, Classes]:
    """Return the response as a loss has it, and the labels of its two classes, or raise a ValueError that names y.

    Samples without a weight have no say.
    """
    if loss == "cox":
        return as_survival(y, n_samples, strata, weights), None
    if loss == "logistic":
        return _as_labels(y, n_samples, weights)
    response = as_response(y, n_samples)
    if loss == "poisson":
        if (response < 0.0).any():
            raise ValueError("y: some values are out of the range of the Poisson loss, counts >= 0")
        if not (response if weights is None else response * weights).any():
            raise ValueError("y: all counts are zero, and there is no best rate")
    return response, None


def _as_labels(y: Any, n_samples: int, weights: Vector | None) -> tuple[Vector, Classes]:
    from sklearn.utils import check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    if y is None:
        raise ValueError("y is None: this estimator requires y to be passed, but the target y is None")
    labels = np.asarray(column_or_1d(by_itself("y", y), warn=True))
    check_consistent_length(np.empty(n_samples), labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    if any(label is None or label != label for label in labels.tolist()):  # noqa: PLR0124 -- NaN among texts
        raise ValueError("y contains NaN or None")
    check_classification_targets(labels)
    classes, places = np.unique(labels, return_inverse=True)
    if classes.size > 2:
        what = "take OneVsRestClassifier(LogisticLasso()) of sklearn.multiclass for more classes"
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass: y has {classes.size} "
            f"labels; {what}"
        )
    there = places if weights is None else places[weights > 0.0]
    if classes.size < 2 or there.min() == there.max():
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{classes.tolist()[there[0]]!r}"
        )
    first, second = classes.tolist()
    return places.astype(np.float64), (first, second)


def encoded(loss: str, y: Any, classes: Classes, n_samples: int) -> Vector:
    """Return a response of other samples as a fitted loss has it."""
    if classes is None:
        return as_target("squared" if loss == "logistic" else loss, y, n_samples)[0]
    from sklearn.utils import check_consistent_length, column_or_1d

    labels = np.asarray(column_or_1d(np.asarray(y) if isinstance(y, list | tuple) else y))
    check_consistent_length(np.empty(n_samples), labels)
    is_known = np.isin(labels, np.array(classes))
    if not is_known.all():
        raise ValueError(f"y has the label {labels[~is_known][0]!r}: the model knows {classes[0]!r} and {classes[1]!r}")
    return np.asarray(labels == classes[1], np.float64)


def plain_label(label: Any) -> Any:
    """Return a label as it mostly stands in a file: 1, not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def as_classes(known: Any) -> Classes:
    """Return the classes that a record has, or raise a ValueError."""
    if known is None:
        return None
    is_pair = isinstance(known, list | tuple) and len(known) == 2 and known[0] != known[1]
    if not (is_pair and all(isinstance(label, str | bool | int | float) for label in known)):
        raise ValueError("the classes are not two labels")
    first, second = known
    return first, second

"""Pictures of predictions of held-out samples, as the report of a choice shows them: lines, points and bars."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from ..data.labels import Classes, plain_label
from ..data.links import from_link

_GROUPS = 10  # of samples by their predictions
_PLACES = np.linspace(0.0, 1.0, 101)
_WITHIN = 1.96  # standard errors: 95 % of a normal distribution


class Judged(NamedTuple):
    """Held-out samples of a fold."""

    truth: Vector
    eta: Vector  # linear predictors, the offset included
    weights: Vector


class Line(NamedTuple):
    """A line through places, or these alone."""

    x: list[float]
    y: list[float]
    kind: str = "line"  # or "fold", a thin one; "bar", of two points; "dots", its points alone


class Picture(NamedTuple):
    """Lines in a frame, with a word on them."""

    title: str
    x_label: str
    y_label: str
    note: str
    lines: tuple[Line, ...]
    has_diagonal: bool = False

    def record(self) -> dict[str, Any]:
        """Return the picture as JSON has it."""
        return self._asdict() | {"lines": [line._asdict() for line in self.lines]}


def pictures_of(loss: str, classes: Classes, folds: Sequence[Judged]) -> tuple[Picture, ...]:
    """Return what shows how good predictions of held-out samples are, by the loss."""
    if loss == "squared" or not folds:
        return ()
    calibration = _calibration(loss, classes, folds)
    return (calibration,) if classes is None else (_roc(folds), calibration)


def read_pictures(records: Any) -> tuple[Picture, ...]:
    """Return the pictures that a record has; raise an error of any kind if they are none."""
    found = []
    for record in records:
        lines = tuple(Line(_numbers(it["x"]), _numbers(it["y"]), str(it["kind"])) for it in record["lines"])
        texts = {name: str(record[name]) for name in ("title", "x_label", "y_label", "note")}
        found.append(Picture(**texts, lines=lines, has_diagonal=bool(record["has_diagonal"])))
    return tuple(found)


def _numbers(values: Any) -> list[float]:
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError("the lines of a picture are no numbers")
    return _short(numbers)


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]


def _pooled(folds: Sequence[Judged]) -> Judged:
    return Judged(*map(np.concatenate, zip(*folds, strict=True)))


def _roc(folds: Sequence[Judged]) -> Picture:
    """Return the true positive rate against the false positive one: of every fold, and their mean."""
    from sklearn.metrics import auc, roc_curve

    if not all(0.0 < np.average(it.truth, weights=it.weights) < 1.0 for it in folds):  # such as of a sample
        folds = [_pooled(folds)]
    rates = [roc_curve(it.truth, it.eta, sample_weight=it.weights) for it in folds]
    areas = [auc(false, true) for false, true, _ in rates]
    lines = [np.interp(_PLACES, false, true) for false, true, _ in rates]
    spread = f", the mean of {len(areas)} folds from {min(areas):.3f} to {max(areas):.3f}" if len(areas) > 1 else ""
    thin = [Line([0.0, *_short(_PLACES)], [0.0, *_short(line)], "fold") for line in lines[1:] and lines]
    mean = Line([0.0, *_short(_PLACES)], [0.0, *_short(np.mean(lines, axis=0))])
    note = f"Area under the curve {np.mean(areas):.3f}{spread}."
    return Picture("ROC curve", "false positive rate", "true positive rate", note, (*thin, mean), has_diagonal=True)


def _calibration(loss: str, classes: Classes, folds: Sequence[Judged]) -> Picture:
    """Return the mean of the response against that of its predictions, of groups of samples by their predictions."""
    truth, eta, weights = _pooled(folds)
    predicted = from_link(loss, eta, "mean", None)
    edges = np.unique(np.quantile(predicted, np.linspace(0.0, 1.0, _GROUPS + 1)[1:-1]))
    group = np.searchsorted(edges, predicted, side="left")
    sums = np.stack([np.bincount(group, weights * it) for it in (truth**0, predicted, truth, truth**2, weights)])
    total = sums[:, sums[0] > 0.0]
    x, y, y2, weight = total[1:] / total[0]
    n_alike = total[0] / weight  # as many samples of one weight say as much
    # As Wilson has it of shares: a group in which nothing happened has an interval, too.
    error = _WITHIN * np.sqrt(np.maximum(y2 - y**2, 0.0) / n_alike + (_WITHIN / (2.0 * n_alike)) ** 2)
    high = y + error if classes is None else np.minimum(y + error, 1.0)
    bars = [
        Line(_short(np.array([at, at])), _short(np.array(ends)), "bar")
        for at, *ends in zip(x, np.maximum(y - error, 0.0), high, strict=True)
    ]
    note = f"{x.size} groups of held-out samples by their predictions, with intervals of about 95 %."
    what = ("rate", "mean count") if classes is None else ("probability", f"share of {plain_label(classes[1])}")
    return Picture(
        "Calibration",
        f"predicted {what[0]}",
        what[1],
        note,
        (*bars, Line(_short(x), _short(y), "dots")),
        has_diagonal=True,
    )

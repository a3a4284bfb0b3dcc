"""What the scripts of the page are told about a path: its points, the traces to draw, and the choice."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from ..data.links import RATIOS
from ..data.terms import name_of_norm
from ..result import LassoPath
from ..selection.choice import Choice
from .traces import Traces, labels_of

# Traces beyond these are not drawn, which keeps a page at a few megabytes.
_MAX_TRACES = 2_000
_MAX_VALUES = 200_000
# Digits for drawing; the table of the home model has all of them.
_DIGITS = 7


class Model(NamedTuple):
    """A model in full precision: the one the page shows first, and comes back to."""

    point: int
    features: NDArray[np.int64]  # the strongest first
    coefs: Vector
    scaled_coefs: Vector
    intercept: float


def home_model(path: LassoPath, traces: Traces, choice: Choice | None) -> Model:
    """Return the chosen model, or that of the last point."""
    point = len(path) - 1 if choice is None else choice.point
    column = path.coefs[:, [point]] if choice is None else choice.coef.tocsc()
    features, coefs = column.indices.astype(np.int64), column.data
    # A refitted model is scaled as the columns are; the points have their scaled coefficients as they were solved.
    factors = dict(zip(traces.features.tolist(), traces.factors.tolist(), strict=True))
    scaled = coefs / np.array([factors.get(j, np.nan) for j in features.tolist()])
    solved = path.coef(point)[features] == coefs
    scaled[solved] = path.coef(point, scaled=True)[features[solved]]
    order = np.lexsort((features, -np.abs(np.nan_to_num(scaled))))
    intercept = float(path.intercepts[point] if choice is None else choice.intercept)
    return Model(point, features[order], coefs[order], scaled[order], intercept)


def drawn_traces(traces: Traces) -> Traces:
    """Return the strongest traces, as many as the page has room for."""
    sizes = np.cumsum(np.count_nonzero(traces.values, axis=1))
    n_drawn = min(_MAX_TRACES, int(np.searchsorted(sizes, _MAX_VALUES, side="right")))
    return Traces(traces.features[:n_drawn], traces.values[:n_drawn], traces.factors[:n_drawn])


def share_name(path: LassoPath) -> str:
    """Return what the explained share is called."""
    return "R²" if path.loss == "squared" else "Deviance explained"


def page_data(path: LassoPath, traces: Traces, model: Model, choice: Choice | None) -> str:
    """Return what the scripts are told, as JSON that can stand in a page."""
    drawn = drawn_traces(traces)
    indices = drawn.features + (path.first_index or 0)
    data = {
        "points": {
            "alpha": _rounded(path.alphas),
            "radius": _rounded(path.radii),
            "active": path.n_active.tolist(),
            "r2": _rounded(path.r2),
            "gap": _rounded(path.gaps),
            "intercept": _rounded(path.intercepts),
            "status": [status.value for status in path.statuses],
        },
        "traces": [
            _trace(*row)
            for row in zip(labels_of(path, drawn.features), indices, drawn.factors, drawn.values, strict=True)
        ],
        "share": share_name(path),
        "ratio": RATIOS.get(path.loss),
        "norm": name_of_norm(path.terms),
        "everActive": int(traces.features.size),
        "standardized": bool(path.settings.get("standardize")),
        "tolerance": path.gap_tolerance,
        "home": {
            "point": model.point,
            "intercept": model.intercept,
            "chosen": choice is not None,
            "refitted": None if choice is None or choice.blend == 1.0 else _refitted(choice),
        },
        "scores": None if choice is None else _scores(choice),
    }
    # Within a script element "</script>" and "<!--" would be markup, even in a string.
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", r"\u003c")


def _trace(name: str, feature: np.int64, factor: np.float64, values: Vector) -> dict[str, Any]:
    """Return a trace from its first point with a nonzero coefficient to its last one."""
    nonzero = np.flatnonzero(values)
    first, last = int(nonzero[0]), int(nonzero[-1])
    return {
        "name": name,
        "index": int(feature),
        "factor": float(factor),
        "first": first,
        "values": _rounded(values[first : last + 1]),
    }


def _refitted(choice: Choice) -> dict[str, Any]:
    """Return what the readout tells of a model that is not on the path, in place of what it tells of its point."""
    radius, r2 = _rounded(np.array([choice.radius, choice.r2]))
    return {"radius": radius, "r2": r2, "active": int(choice.coef.count_nonzero()), "gap": None, "status": "refitted"}


def score_name(choice: Choice) -> str:
    """Return what the scores are, told apart from R² on the training data, which the page has of every point."""
    n_folds = 0 if choice.fold_scores is None else choice.fold_scores.shape[1]
    if choice.criterion != "r2" or n_folds == 0:
        return choice.label
    return f"{'cross-validated' if n_folds > 1 else 'held-out'} {choice.label}"


def _scores(choice: Choice) -> dict[str, Any]:
    folds, errors = choice.fold_scores, choice.standard_errors
    return {
        "criterion": score_name(choice),
        "means": _rounded(choice.scores),
        "best": choice.best,
        "errors": None if errors is None else _rounded(errors),
        "folds": [] if folds is None else [_rounded(fold) for fold in folds.T],
    }


def _rounded(values: Vector) -> list[float | int | None]:
    """Return numbers for drawing, short; None for what is not finite, since JSON has no word for it."""
    return [_short(value) if np.isfinite(value) else None for value in values.tolist()]


def _short(value: float) -> float | int:
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 10**_DIGITS else rounded

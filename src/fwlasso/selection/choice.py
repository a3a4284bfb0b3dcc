"""The choice of a model on a path, and what it rests on."""

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.columns import Matrix, Vector
from ..data.checks import check
from ..result import LassoPath
from ..views import curves, small_html, spread
from .criteria import Rule, best_point, information, within_one_error
from .pictures import Picture
from .scoring import Scoring

T = TypeVar("T")


@dataclass(frozen=True, repr=False, eq=False)
class Choice:
    """Which point of a path was chosen, by which rule, and by which scores.

    Attributes
    ----------
    rule : str
        "min", "1se", "aic", "bic", "ebic", or the name of a function of the user's.
    point : int
        The chosen point of the path, from 0.
    criterion : str
        What was compared, as text for an axis: "mean squared error", "BIC", or the name of a scorer.
    scores : array of shape (n_points,)
        The criterion at every point: the mean over the folds, or the information criterion.
    greater_is_better : bool
        Whether large scores are good, as with R^2; False for errors and information criteria.
    fold_scores : array of shape (n_points, n_folds), optional
        The criterion on every held-out part; None if there were no folds.
    standard_errors : array of shape (n_points,), optional
        Of the means over the folds; None with fewer than two folds.
    blend : float
        1 for the Lasso's coefficients, 0 for a least-squares refit on its support, a mix of both between them.
    coef : scipy.sparse.csc_array of shape (n_features, 1)
        Coefficients of the chosen model, for the columns as given.
    intercept : float
    radius, r2 : float
        Of the chosen model, as a path has them of its points: its l1 norm, and R^2 on the training data.
    pictures : tuple of Picture
        Of classes and counts: how good predictions of the held-out samples are, for the report.
    """

    rule: str
    point: int
    criterion: str
    scores: Vector
    greater_is_better: bool
    coef: sp.csc_array
    intercept: float
    fold_scores: NDArray[np.float64] | None = None
    standard_errors: Vector | None = None
    blend: float = 1.0
    radius: float = math.nan
    r2: float = math.nan
    pictures: tuple[Picture, ...] = ()

    def __repr__(self) -> str:
        return f"<Choice: {self.summary()}>"

    def _repr_html_(self) -> str:
        places = sorted({*spread(len(self.scores)), self.point})
        errors = () if self.standard_errors is None else (self.standard_errors,)
        rows = [(k, *(float(values[k]) for values in (self.scores, *errors))) for k in places]
        head = ("point", self.label, "standard error")[: 2 + len(errors)]
        picture = curves(np.arange(len(self.scores), dtype=np.float64), self.scores[np.newaxis], self.point)
        return small_html(repr(self), head, rows, picture, places.index(self.point))

    def summary(self) -> str:
        """Return what was chosen, and how good it is, as a line of text."""
        errors = self.standard_errors
        error = "" if errors is None else f" (standard error {errors[self.point]:.2g})"
        score = f"{self.label} {self.scores[self.point]:.4g}{error}"
        return (
            f"point {self.point} of {len(self.scores)} by {self.rule}, {score}, "
            f"{self.coef.count_nonzero():,} of {self.coef.shape[0]:,} features"
        )

    @property
    def label(self) -> str:
        """What the scores are of: the criterion, and of which models if they are not the points of the path."""
        return self.criterion if self.blend == 1.0 else f"{self.criterion} (blend {self.blend:g})"

    @property
    def best(self) -> int:
        """The point with the best score, which another rule may pass over for a sparser one; the sparsest of equals."""
        return best_point(self.scores, self.greater_is_better)

    def point_columns(self, path: LassoPath) -> dict[str, list[Any]]:
        """Return what is known of the points of a path; of the chosen one what holds for the model, refitted or not."""
        columns = path.point_columns()
        if self.blend != 1.0:
            own = {"radius": self.radius, "n_active": int(self.coef.count_nonzero()), "r2": self.r2}
            for name, value in {**own, "gap": math.nan, "status": "refitted"}.items():
                columns[name][self.point] = value
        return columns

    def record(self) -> dict[str, Any]:
        """Return the choice as JSON has it, without the coefficients."""
        return {
            "rule": self.rule,
            "point": self.point,
            "criterion": self.criterion,
            "greater_is_better": self.greater_is_better,
            "blend": self.blend,
            "radius": self.radius,
            "r2": self.r2,
            "scores": self.scores.tolist(),
            "standard_errors": None if self.standard_errors is None else self.standard_errors.tolist(),
            "fold_scores": None if self.fold_scores is None else self.fold_scores.tolist(),
            **({"pictures": [picture.record() for picture in self.pictures]} if self.pictures else {}),
        }


def choice_of_point(path: LassoPath, point: int, rule: str, criterion: str, scores: Vector) -> Choice:
    """Return the choice of a point of the path itself by numbers of which the smallest are the best."""
    intercept, radius, r2 = (float(values[point]) for values in (path.intercepts, path.radii, path.r2))
    model = {"coef": path.coefs[:, [point]], "intercept": intercept, "radius": radius, "r2": r2}
    return Choice(rule, point, criterion, scores, greater_is_better=False, **model)


def choose_by_information(path: LassoPath, rule: str) -> Choice:
    """Choose a point by an information criterion."""
    scores = information(path, rule)
    return choice_of_point(path, best_point(scores, False), rule, rule.upper(), scores)


def choose_by_scores(scored: LassoPath, scores: Matrix, rule: str | Rule, scoring: Scoring, blend: float) -> Choice:
    """Choose one of the models `scored` by scores of shape (n_points, n_folds), of points that all folds came to."""
    means, n_folds, greater = scores.mean(axis=1), scores.shape[1], scoring.greater_is_better
    errors = scores.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else None
    if callable(rule):
        point = int(rule(scored, scores))
        check("rule", point, 0 <= point < len(means), f"a function that returns a point below {len(means)}")
    else:
        point = within_one_error(means, errors, greater) if rule == "1se" else best_point(means, greater)
    name = rule if isinstance(rule, str) else getattr(rule, "__name__", "a function")
    return replace(
        choice_of_point(scored, point, name, scoring.name, _of_all(scored, means)),
        greater_is_better=greater,
        fold_scores=_of_all(scored, scores),
        standard_errors=None if errors is None else _of_all(scored, errors),
        blend=blend,
    )


def _of_all(path: LassoPath, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of every point of the path: NaN for those that not all folds came to."""
    return np.concatenate([known, np.full((len(path) - len(known), *known.shape[1:]), np.nan)])


def path_and_choice(path: Any, choice: Any) -> tuple[LassoPath, Choice | None]:
    """Return a path and the choice on it, if there is one; a CrossValidation, or a fitted LassoCV, has both."""
    given = path
    path = _part(given, "path", LassoPath)
    if choice is None and path is not given:
        choice = given
    return path, None if choice is None else choice_on(path, choice)


def choice_on(path: LassoPath, choice: Any) -> Choice:
    """Return a choice, or that of a CrossValidation or a fitted LassoCV; a ValueError if it is of another path."""
    found = _part(choice, "choice", Choice)
    p, n = path.coefs.shape
    fits = found.coef.shape == (p, 1) and found.scores.shape == (n,) and 0 <= found.point < n
    if fits and found.blend == 1.0:  # no refit, but the model of the point itself
        fits = np.array_equal(found.coef.toarray()[:, 0], path.coef(found.point))
        fits = fits and found.intercept == path.intercepts[found.point]
    if not fits:
        raise ValueError("choice must be that of a point of this path, got one of another path")
    return found


def _part(given: Any, name: str, kind: type[T]) -> T:
    """Return what is given, or the part of a CrossValidation or a LassoCV, whose names end in an underscore."""
    for found in (given, getattr(given, name, None), getattr(given, f"{name}_", None)):
        if isinstance(found, kind):
            return found
    raise TypeError(
        f"{name} must be a {kind.__name__}, the result of lasso_cv or a fitted LassoCV, got {type(given).__name__}"
    )

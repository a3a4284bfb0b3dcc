"""How a model is chosen on a path: by which rule, and on which samples it is scored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from ..data.checks import as_offset, as_weights, check, check_in_memory
from ..data.inputs import Data
from ..data.labels import encoded
from ..data.store import as_container
from ..options import Options
from ..problems import Part
from .criteria import INFORMATION_RULES, SCORE_RULES, Rule, check_degrees_of_freedom
from .scoring import Scoring

#: Shares of the Lasso's coefficients that `relax=True` tries; the rest is the least-squares refit.
BLENDS = (1.0, 0.75, 0.5, 0.25, 0.0)
#: If `cv` is None.
DEFAULT_FOLDS = 5


_SETS = "(X, y), (X, y, weights) or (X, y, weights, offset)"


class Split(NamedTuple):
    """The samples that a fold is fitted on, or how often it takes each, and those that it is scored on."""

    kept: Part
    held_out: NDArray[np.int64]


class Validation(NamedTuple):
    """Samples that take no part in the fits, to score on."""

    X: Any
    response: Vector
    weights: Vector | None = None
    offset: Vector | None = None


@dataclass(frozen=True)
class SelectionOptions:
    """How a model is chosen; building one raises a ValueError that names a bad argument."""

    cv: Any = None
    rule: str | Rule = "min"
    scoring: Any = None
    relax: bool | Sequence[float] = False
    validation: Any = None
    split_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    weighs_scores: bool = True  # a scorer gets the weights of the samples

    def __post_init__(self) -> None:
        known = (*SCORE_RULES, *INFORMATION_RULES)
        check("rule", self.rule, callable(self.rule) or self.rule in known, f"one of {', '.join(known)} or a function")
        check("relax", self.relax, self._relax_is_valid(), "True, False or numbers from 0 to 1")
        given = self.validation
        is_set = isinstance(given, tuple) and 2 <= len(given) <= 4
        is_fraction = isinstance(given, float) and 0.0 < given < 1.0
        is_known = given is None or is_set or is_fraction
        check("validation", given, is_known, f"a fraction of the samples or {_SETS}")
        if isinstance(given, tuple):
            for part in given:
                check_in_memory("validation", part)
        if given is not None and self.cv is not None:
            raise ValueError("give cv or validation, not both")
        looked_at = [name for name in ("cv", "scoring", "validation") if getattr(self, name) is not None]
        looked_at += ["relax"] if self.relax else []
        if self.rule in INFORMATION_RULES and looked_at:
            raise ValueError(f"{looked_at[0]}: rule={self.rule!r} uses no held-out samples, so leave it out")

    def _relax_is_valid(self) -> bool:
        if isinstance(self.relax, bool | np.bool_):
            return True
        blends = np.asarray(self.relax)
        are_numbers = blends.ndim == 1 and blends.dtype.kind in "iuf" and blends.size > 0
        return are_numbers and bool(((blends >= 0.0) & (blends <= 1.0)).all())

    @property
    def blends(self) -> tuple[float, ...]:
        """The shares of the Lasso's coefficients that are tried, from the Lasso on."""
        if isinstance(self.relax, bool | np.bool_):
            return BLENDS if self.relax else (1.0,)
        return tuple(sorted(map(float, self.relax), reverse=True))

    def check_terms(self, options: Options) -> None:
        """Raise a ValueError if the rule, or refits, are not for the models that the options ask for."""
        if self.rule in INFORMATION_RULES:
            check_degrees_of_freedom(str(self.rule), options.record())
        if options.loss != "squared" and min(self.blends) < 1.0:
            raise ValueError(f"relax: refits are least squares, and loss={options.loss!r} is none: leave it out")
        is_bounded = options.positive or options.lower is not None or options.upper is not None
        if is_bounded and min(self.blends) < 1.0:
            raise ValueError("relax: least squares on a support leaves bounds and signs: leave out one of both")

    def samples(self, data: Data) -> Validation | None:
        """Return the samples of their own to score on, if there are any."""
        if not isinstance(self.validation, tuple):
            return None
        X, y, weights, offset = (*self.validation, None, None)[:4]
        container = as_container(X)
        weights = getattr(container, "sample_weight", None) if weights is None else weights
        offset = getattr(container, "offset", None) if offset is None else offset
        m = np.shape(y)[0] if np.ndim(y) else 0
        try:
            weights = None if weights is None else as_weights(weights, m)
            truth = encoded(data.loss, y, data.classes, m)
            return Validation(X, truth, weights, None if offset is None else as_offset(offset, m))
        except ValueError as error:
            raise ValueError(f"validation: {error}") from None

    def check_data(self, data: Data, scoring: Scoring) -> None:
        """Raise a ValueError if the samples to score on do not go with the offset of the data, or with the scorer."""
        own = self.samples(data)
        if own is None:
            return
        scoring.weighted(own.weights)
        if (own.offset is None) != (data.offset is None):
            raise ValueError(
                "validation: there is an offset in one of both, in the data or in the samples to score on: give both, "
                "the latter as (X, y, weights, offset), or none"
            )

    def splits(self, data: Data, random_state: Any) -> list[Split]:
        """Return the folds: none if a rule or a validation set needs none."""
        if self.rule in INFORMATION_RULES or isinstance(self.validation, tuple):
            return []
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

        m, response, has_classes = data.response.size, data.response, data.classes is not None
        if data.loss == "cox":  # folds have events alike
            response, has_classes = (response > 0.0).astype(np.float64), True
        if data.offset is not None and data.loss == "squared":
            response = response + data.offset
        if self.validation is not None:
            shuffle = StratifiedShuffleSplit if has_classes else ShuffleSplit
            splitter = shuffle(1, test_size=self.validation, random_state=random_state)
        else:
            splitter = check_cv(DEFAULT_FOLDS if self.cv is None else self.cv, response, classifier=has_classes)
        found: list[Split] = []
        # Splitters copy sparse matrices to look at them: they get the number of samples alone.
        for train, test in splitter.split(np.zeros((m, 1)), response, **self.split_params):
            times = np.bincount(_rows(train, m), minlength=m)  # more than once in bootstrap samples
            kept = times > 0 if times.max() <= 1 else times.astype(np.float64)
            found.append(Split(kept, _rows(test, m)))
        empty = not found or any(not split.kept.any() or not split.held_out.size for split in found)
        check("cv", self.cv, not empty, "folds with samples to fit and samples to score")
        if data.weights is not None:
            for number, (kept, held_out) in enumerate(found, 1):
                for what, rows in (("fit", np.flatnonzero(kept)), ("score", held_out)):
                    if not data.weights[rows].any():
                        raise ValueError(f"sample_weight: all samples to {what} in fold {number} have weight zero")
        for number, (kept, _) in enumerate(found if data.loss != "squared" else [], 1):
            there = (response if data.loss == "cox" else data.response)[
                (kept > 0) if data.weights is None else (kept > 0) & (data.weights > 0.0)
            ]
            if not there.any() or (data.classes is not None and there.all()):
                what = (
                    "no event"
                    if data.loss == "cox"
                    else "counts of zero"
                    if data.classes is None
                    else f"the one class {data.classes[int(there[0])]!r}"
                )
                raise ValueError(f"cv: the samples to fit in fold {number} have {what}: take other or fewer folds")
        return found


def _rows(which: Any, m: int) -> NDArray[np.int64]:
    """Return the numbers of rows that an index, a mask or a slice selects of m."""
    try:
        rows: NDArray[np.int64] = np.arange(m)[which]
    except IndexError as error:
        raise ValueError(f"cv must select some of {m} rows: {error}") from None
    check("cv", which, rows.ndim == 1, "folds that are lists of rows, masks or slices")
    return rows

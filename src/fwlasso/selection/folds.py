"""How a model is chosen on a path: by which rule, and on which samples it is scored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, check_cv

from .._core.columns import Vector
from ..data.checks import check, check_in_memory
from ..problems import Mask
from .criteria import INFORMATION_RULES, SCORE_RULES, Rule

#: Shares of the Lasso's coefficients that `relax=True` tries; the rest is the least-squares refit.
BLENDS = (1.0, 0.75, 0.5, 0.25, 0.0)
#: If `cv` is None.
DEFAULT_FOLDS = 5


class Split(NamedTuple):
    """The samples that a fold is fitted on, and those that it is scored on."""

    kept: Mask
    held_out: NDArray[np.int64]


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

    def __post_init__(self) -> None:
        known = (*SCORE_RULES, *INFORMATION_RULES)
        check("rule", self.rule, callable(self.rule) or self.rule in known, f"one of {', '.join(known)} or a function")
        check("relax", self.relax, self._relax_is_valid(), "True, False or numbers from 0 to 1")
        given = self.validation
        is_pair = isinstance(given, tuple) and len(given) == 2
        is_fraction = isinstance(given, float) and 0.0 < given < 1.0
        is_known = given is None or is_pair or is_fraction
        check("validation", given, is_known, "a fraction of the samples or a pair (X, y)")
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

    def splits(self, response: Vector, random_state: Any) -> list[Split]:
        """Return the folds: none if a rule or a validation set needs none."""
        if self.rule in INFORMATION_RULES or isinstance(self.validation, tuple):
            return []
        if self.validation is not None:
            splitter = ShuffleSplit(1, test_size=self.validation, random_state=random_state)
        else:
            splitter = check_cv(DEFAULT_FOLDS if self.cv is None else self.cv)
        m = response.size
        found: list[Split] = []
        # Splitters copy sparse matrices to look at them: they get the number of samples alone.
        for train, test in splitter.split(np.zeros((m, 1)), response, **self.split_params):
            rows, held_out = _rows(train, m), _rows(test, m)
            kept = np.zeros(m, np.bool_)
            kept[rows] = True
            if np.count_nonzero(kept) < rows.size:
                raise ValueError(
                    f"cv: fold {len(found) + 1} has repeated rows to fit, as bootstrap samples have, and each would "
                    "count once: weights of samples are not supported yet. Leave the repeats out, or draw without "
                    "replacement, as ShuffleSplit does"
                )
            found.append(Split(kept, held_out))
        empty = not found or any(not split.kept.any() or not split.held_out.size for split in found)
        check("cv", self.cv, not empty, "folds with samples to fit and samples to score")
        return found


def _rows(which: Any, m: int) -> NDArray[np.int64]:
    """Return the numbers of rows that an index, a mask or a slice selects of m."""
    try:
        rows: NDArray[np.int64] = np.arange(m)[which]
    except IndexError as error:
        raise ValueError(f"cv must select some of {m} rows: {error}") from None
    check("cv", which, rows.ndim == 1, "folds that are lists of rows, masks or slices")
    return rows

"""Paths on parts of the rows by their inner products: one pass for all folds."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.moments import Matrix, Vector
from .._core.samples import Samples, as_samples
from .._core.threads import Workers
from ..data.inputs import Data
from ..data.terms import PLAIN, Terms
from .blocks import Mask
from .centring import Centre
from .folds import held_out_errors, total_sums, training_sums
from .problem import GramProblem, gram_problem
from .row_sums import RowSums, row_sums

# Errors on held-out rows are taken from inner products where rounding is no more than this share of them, and where
# predictions on the data, which are more exact, take more multiplications than so many.
_EXACT, _FEW_PRODUCTS = 1e-9, 1 << 23


class GramSubsets:
    """The problem on all rows and those on some masks, in the same coordinates.

    Where no row is left out by two masks, as in cross-validation, one pass makes the sums of all of them, and those of
    a mask are what the rows left out leave of the total. Otherwise every mask that leaves out any row has its own pass,
    and so have arrays of numbers, which tell how often rows are taken.
    """

    def __init__(
        self,
        data: Data,
        masks: Sequence[NDArray[Any]],
        fit_intercept: bool,
        standardize: bool,
        workers: Workers,
        *,
        weights: NDArray[Any] | None = None,
        terms: Terms = PLAIN,
    ) -> None:
        X, y = data.design.columns, data.response
        self._X, self._y, self._masks = X, y, masks
        self._weights, self._samples = weights, as_samples(y.size, weights)
        self._fit_intercept, self._standardize, self._terms = fit_intercept, standardize, terms
        self._workers = workers
        self._centres: dict[int, Centre] = {}
        self._left_out: dict[int, RowSums | None] = {}
        fold_of, self._are_folds = folds_of(masks, y.size) if masks else (None, False)
        self._names = data.design.feature_names
        self._folds = row_sums(X, y, fit_intercept, workers, fold_of, data.design.feature_names, samples=self._samples)
        self._total = total_sums(self._folds)

    def with_terms(self, terms: Terms) -> "GramSubsets":
        """Return the problems on the same sums with other terms of columns."""
        other = copy(self)
        other._terms, other._centres, other._left_out = terms, {}, {}
        return other

    def whole(self) -> GramProblem:
        """Return the problem on all rows."""
        return self._problem(self._total, None)

    def part(self, k: int) -> GramProblem:
        """Return the problem on the rows of a mask."""
        if self._are_folds:
            kept, left_out = training_sums(self._folds, self._total, k), self._folds[k]
        elif self._masks[k].dtype != np.bool_:
            return self._repeated(k)
        elif self._masks[k].all():
            kept, left_out = self._total, None
        else:
            fold_of = (~self._masks[k]).astype(np.int64)
            kept, left_out = row_sums(
                self._X, self._y, self._fit_intercept, self._workers, fold_of, samples=self._samples
            )
        problem = self._problem(kept, self._masks[k])
        self._centres[k], self._left_out[k] = problem.centre, left_out
        return problem

    def _repeated(self, k: int) -> GramProblem:
        """Return the problem on rows some of which are taken more than once: their weights are multiplied."""
        samples = as_samples(self._y.size, self._weights, self._masks[k])
        (sums,) = row_sums(self._X, self._y, self._fit_intercept, self._workers, samples=samples)
        self._left_out[k] = None
        return self._problem(sums, None, samples)

    def _problem(self, sums: RowSums, kept: Mask | None, samples: Samples | None = None) -> GramProblem:
        units = {"fit_intercept": self._fit_intercept, "standardize": self._standardize}
        asked: dict[str, Any] = {**units, "terms": self._terms, "names": self._names}
        return gram_problem(sums, self._X, self._y, samples or self._samples, kept, **asked)

    def squared_errors(self, k: int, scaled_coefs: sp.csc_array) -> Vector | None:
        """Return mean squared errors of models on rows that a mask leaves out; None if the data tell them better."""
        left_out = self._left_out[k]
        if left_out is None or left_out.n_rows * scaled_coefs.shape[0] * scaled_coefs.shape[1] < _FEW_PRODUCTS:
            return None
        centre = self._centres[k]
        return errors_by_sums(left_out, centre, weights_of(scaled_coefs, centre))


def weights_of(scaled_coefs: sp.csc_array, centre: Centre) -> Matrix:
    """Return the coefficients of points for the columns that moments are of."""
    weights: Matrix = np.ldexp(np.ascontiguousarray(scaled_coefs.toarray().T), -centre.transform.units.coef_power)
    return weights


def errors_by_sums(left_out: RowSums, centre: Centre, weights: Matrix) -> Vector | None:
    """Return mean squared errors of models on some rows; None if their sums do not tell them well enough."""
    errors, roundings = held_out_errors(left_out, centre, weights)
    return errors if (roundings <= _EXACT * errors).all() else None


def folds_of(masks: Sequence[NDArray[Any]], n_rows: int) -> tuple[NDArray[np.int64] | None, bool]:
    """Return which mask leaves out each row, the number of masks for none, and whether none is left out by two."""
    if any(kept.dtype != np.bool_ for kept in masks):
        return None, False
    n_left_out = np.zeros(n_rows, np.int64)
    fold_of = np.full(n_rows, len(masks))
    for k, kept in enumerate(masks):
        n_left_out += ~kept
        fold_of[~kept] = k
    are_folds = bool(len(masks) and (n_left_out <= 1).all() and all(not kept.all() for kept in masks))
    return (fold_of, True) if are_folds else (None, False)

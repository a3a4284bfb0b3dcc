"""The judge of refits: least squares on the support of every point, computed in integers as paths are."""

from fractions import Fraction
from typing import Any

import numpy as np

from fwlasso.selection.cross_validation import CrossValidation

from .judge import Coefs, Fault, Truth, number, point_of, truth_of

#: What `lasso_cv` is asked for: refits alone, of whichever point.
REFIT: dict[str, Any] = {"relax": [0.0], "rule": lambda *_: 0}
# The sum of squares of a refit may be larger than the least one by this share of it, and of that of y.
_SHARE, _OF_NULL = Fraction(1, 10**9), Fraction(1, 10**20)
# R2 may be off by so much.
_R2 = Fraction(1, 10**9)
_U = Fraction(1, 2**53)


def least_squares(truth: Truth, support: np.ndarray) -> Fraction:
    """Return the least sum of squares on some columns: Bareiss' elimination of [Z y]'[Z y], free of fractions."""
    W = np.column_stack([truth.Z[:, support], truth.y])
    A, before = W.T @ W, 1
    for _ in support:
        pivot = A[0, 0]
        if pivot == 0:  # of a column that depends on those before: zeros all along its row
            A = A[1:, 1:]
            continue
        A, before = (pivot * A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:])) // before, pivot
    return truth.y_scale**2 * Fraction(A[0, 0], before)


def judge_refits(found: CrossValidation, values: np.ndarray, y: np.ndarray) -> tuple[Fault, ...]:
    """Judge the refits of all points, of `lasso_cv` as `REFIT` asks it."""
    fit_intercept = found.path.settings["fit_intercept"]
    truth, faults = truth_of(values, y, fit_intercept, standardize=False), []
    for k, n_active in enumerate(found.path.n_active):
        if n_active > len(y) - 1 - fit_intercept:
            continue
        model = found.choose(lambda *_, k=k: k).choice
        if not np.isfinite([*model.coef.data, model.intercept, model.r2]).all():
            faults.append(Fault("non-finite", f"refit of point {k}"))
            continue
        coefs = dict(zip(model.coef.indices.tolist(), map(Fraction, model.coef.data.tolist()), strict=True))
        support = found.path.coefs[:, [k]].indices
        loss, least = point_of(truth, coefs).rr, least_squares(truth, support)
        null = 2 * truth.null_loss
        if set(coefs) != set(support.tolist()) or loss > least * (1 + _SHARE) + null * _OF_NULL:
            text = f"refit of point {k}, {n_active} active: {number(loss):.6e}, least {number(least):.6e}"
            faults.append(Fault("wrong", text))
        exact, size = _intercept(coefs, values, y) if fit_intercept else (0, 0)
        if abs(Fraction(model.intercept) - exact) > (len(y) + len(coefs) + 8) * _U * size:
            text = f"intercept {model.intercept!r} of the refit of point {k}, is {number(exact)!r}"
            faults.append(Fault("wrong", text))
        if abs(Fraction(model.r2) - (1 - loss / null)) > _R2:
            faults.append(Fault("wrong", f"r2 {model.r2} of the refit of point {k}, is {number(1 - loss / null)}"))
    return tuple(faults)


def _intercept(coefs: Coefs, values: np.ndarray, y: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return the intercept that follows from the coefficients, and the size of its terms."""
    exact = _mean(y) - sum(b * _mean(values[:, j]) for j, b in coefs.items())
    return exact, _mean(np.abs(y)) + sum(abs(b) * _mean(np.abs(values[:, j])) for j, b in coefs.items())


def _mean(values: np.ndarray) -> Fraction:
    return sum(map(Fraction, values.tolist()), Fraction(0)) / len(values)

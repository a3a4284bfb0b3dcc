"""The judge of refits: least squares on the support of every point, computed in integers as paths are."""

from fractions import Fraction

import numpy as np

from fwlasso.selection.cross_validation import CrossValidation

from .judge import Fault, Truth, number, point_of, truth_of

#: The sum of squares of a refit may be larger than the least one by this share of it, and of that of y ...
_SHARE, _OF_NULL = Fraction(1, 10**9), Fraction(1, 10**20)
# ... and its intercept may be off by this share of its terms.
_ROUNDING = Fraction(1, 2**50)
_R2 = Fraction(1, 10**9)


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


def judge_refits(found: CrossValidation, values: np.ndarray, y: np.ndarray) -> list[Fault]:
    """Judge the refits of all points, of `lasso_cv` with ``relax=[0.0]``."""
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
        terms = [Fraction(float(b)) * sum(map(Fraction, values[:, j].tolist())) / len(y) for j, b in coefs.items()]
        mean = sum(map(Fraction, y.tolist())) / len(y)
        off = abs(Fraction(model.intercept) - (mean - sum(terms)) * fit_intercept)
        if off > _ROUNDING * (abs(mean) + sum(map(abs, terms))) * (len(terms) + 1):
            faults.append(
                Fault("wrong", f"intercept {model.intercept!r} of the refit of point {k}: {number(off):.1e} off")
            )
        if abs(Fraction(model.r2) - (1 - loss / null)) > _R2:
            faults.append(Fault("wrong", f"r2 {model.r2} of the refit of point {k}, is {number(1 - loss / null)}"))
    return faults

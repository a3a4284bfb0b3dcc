"""What users ask of single columns beyond lambda |b_j|: factors, bounds and a ridge, in their own units."""

from typing import NamedTuple

from .._core.columns import Vector


class Terms(NamedTuple):
    """What is asked of the columns; None where nothing is.

    With W the total weight, users have

        1/(2W) sum_i w_i (y_i - (X b)_i - b0)^2 + sum_j v_j (alpha l1_ratio |b_j| + 1/2 mu b_j^2),   l_j <= b_j <= u_j,

    mu = alpha (1 - l1_ratio) + ridge, with the coefficients of scaled columns in the penalty if these are scaled.
    """

    factors: Vector | None = None  # v_j: 0 leaves a column without a penalty, infinity leaves it out
    lower: Vector | None = None  # l_j
    upper: Vector | None = None  # u_j
    l1_ratio: float = 1.0
    ridge: float = 0.0


#: The Lasso.
PLAIN = Terms()

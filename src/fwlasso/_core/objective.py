"""A loss plus a penalty: the one duality gap."""

from .columns import Vector
from .jit import by_type
from .losses import Loss, Squared, conjugate_value, loss_value, range_scale
from .penalties import Penalty, Sums, dual_scale, penalty_value, quadratic_gap


@by_type
def duality_gap(
    loss: Loss,
    penalty: Penalty,
    sums: Sums,
    max_corr: float,
    y: Vector,
    eta: Vector,
    theta: Vector,
) -> float:
    """Return how far the objective is above its minimum at most.

    max_corr is any upper bound of ||X'theta||_inf, and theta the residual of the loss at eta = X a: orthogonal to 1 if
    there is an intercept. Least squares is told by its sums, and asks for no vectors.
    """


@duality_gap.register(Squared)
def _(loss, penalty, sums, max_corr):
    return quadratic_gap(penalty, sums, max_corr)


@duality_gap.otherwise
def _(loss, penalty, sums, max_corr, y, eta, theta):
    # The dual point is the longest multiple of theta that is feasible, and at most theta.
    scale = range_scale(loss, y, theta)
    if max_corr > 0.0:
        scale = min(scale, dual_scale(penalty, max_corr))
    scale *= 1.0 - 1e-12  # what rounding leaves of a constant part of theta
    value = loss_value(loss, y, eta) + penalty_value(penalty, sums)
    return value + conjugate_value(loss, y, theta, scale)

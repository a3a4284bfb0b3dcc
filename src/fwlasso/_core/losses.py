"""The losses: a NamedTuple of its parameters each, and functions of one sample; eta is the linear predictor.

Another loss is another NamedTuple that is registered with the first five functions and its smoothness. What goes over
all samples is a loop over these, unless a loss has a way of its own.
"""

import math
from typing import Any, NamedTuple, TypeAlias

from .columns import Vector
from .jit import by_type


class Squared(NamedTuple):
    """1/2 (y - eta)^2."""


#: Squared, or whatever is registered with the functions below.
Loss: TypeAlias = Any


@by_type
def value(loss: Loss, y: float, eta: float) -> float:
    """Return f(eta)."""


@by_type
def residual(loss: Loss, y: float, eta: float) -> float:
    """Return -f'(eta); y - eta for least squares."""


@by_type
def curvature(loss: Loss, y: float, eta: float) -> float:
    """Return f''(eta)."""


@by_type
def conjugate(loss: Loss, y: float, theta: float) -> float:
    """Return f*(-theta)."""


@by_type
def dual_range(loss: Loss, y: float) -> tuple[float, float]:
    """Return the ends of the thetas with a finite conjugate; zero is one of these."""


@by_type
def is_quadratic(loss: Loss) -> bool:
    """Tell whether the curvature is one everywhere: sums tell the objective then."""


@by_type
def smoothness(loss: Loss) -> float:
    """Return the largest curvature that there is."""


@by_type
def loss_value(loss: Loss, y: Vector, eta: Vector) -> float:
    """Return the sum of f(eta) over the samples."""


@by_type
def fill_residual(loss: Loss, y: Vector, eta: Vector, out: Vector) -> None:
    """Fill -f'(eta), a sample vector."""


@by_type
def fill_curvature(loss: Loss, y: Vector, eta: Vector, out: Vector) -> None:
    """Fill f''(eta) for every sample."""


@by_type
def conjugate_value(loss: Loss, y: Vector, theta: Vector, scale: float) -> float:
    """Return the sum of f*(-scale theta) over the samples."""


@by_type
def range_scale(loss: Loss, y: Vector, theta: Vector) -> float:
    """Return the largest s of at most one for which s theta has a finite conjugate."""


@value.register(Squared)
def _(loss, y, eta):
    return 0.5 * (y - eta) ** 2


@residual.register(Squared)
def _(loss, y, eta):
    return y - eta


@curvature.register(Squared)
def _(loss, y, eta):
    return 1.0


@conjugate.register(Squared)
def _(loss, y, theta):
    return 0.5 * theta**2 - theta * y


@dual_range.register(Squared)
def _(loss, y):
    return -math.inf, math.inf


@is_quadratic.register(Squared)
def _(loss):
    return True


@smoothness.register(Squared)
def _(loss):
    return 1.0


@is_quadratic.otherwise
def _(loss):
    return False


@loss_value.otherwise
def _(loss, y, eta):
    total = 0.0
    for i in range(y.size - 1):
        total += value(loss, y[i], eta[i])
    return total


@fill_residual.otherwise
def _(loss, y, eta, out):
    total = 0.0
    for i in range(y.size - 1):
        out[i] = residual(loss, y[i], eta[i])
        total += out[i]
    out[y.size - 1] = total


@fill_curvature.otherwise
def _(loss, y, eta, out):
    for i in range(y.size - 1):
        out[i] = curvature(loss, y[i], eta[i])


@conjugate_value.otherwise
def _(loss, y, theta, scale):
    total = 0.0
    for i in range(y.size - 1):
        total += conjugate(loss, y[i], scale * theta[i])
    return total


@range_scale.otherwise
def _(loss, y, theta):
    scale = 1.0
    for i in range(y.size - 1):
        low, high = dual_range(loss, y[i])
        if theta[i] > 0.0:
            scale = min(scale, high / theta[i])
        elif theta[i] < 0.0:
            scale = min(scale, low / theta[i])
    return scale

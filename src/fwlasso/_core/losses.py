"""The losses: a NamedTuple of its samples each, and functions of these; eta is the linear predictor, less the offset.

A loss is a sum over samples, sum_i w_i f(y_i, eta_i + o_i). Another one is another NamedTuple with the fields `y`,
`weights` and `offset` that is registered with `terms`, `fenchel_term` and `reach`: what goes over all samples is made
of these. Its slopes theta = -F'(eta) carry the weights, as residuals do. None of this sees a column.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .columns import Matrix, Vector
from .jit import by_type, kernel, part_of_kernel

# What is outside of the domain of the conjugate by so little is on its boundary.
_ON_BOUNDARY = 1e-13
# Chances and rates that are less are as good as none; next to zero, numbers have no digits.
_LEAST_CHANCE = 1e-300
# A constant is found by so many steps at most; the first is at most one, and others twice the one before.
_MOST_STEPS, _MOST_NEWTON_STEPS = 200, 20


class Squared(NamedTuple):
    """1/2 (y - eta)^2: sums tell all of it, and no samples are held."""


class Logistic(NamedTuple):
    """log(1 + e^eta) - y eta, for y in [0, 1]."""

    y: Vector
    weights: Vector
    offset: Vector


class Poisson(NamedTuple):
    """e^eta - y eta, for y >= 0."""

    y: Vector
    weights: Vector
    offset: Vector


#: Squared, or whatever is registered with the functions below.
Loss: TypeAlias = Any


@by_type
def is_quadratic(loss: Loss) -> bool:
    """Tell whether it is `Squared`, which has ways of its own."""


@by_type
def terms(loss: Loss, y: float, eta: float) -> tuple[float, float, float]:
    """Return f, -f' and f'' of a sample."""


@by_type
def fenchel_term(loss: Loss, y: float, eta: float, theta: float) -> tuple[float, float, float, float]:
    """Return f(eta) + f*(-theta) + theta eta, what its rounding is relative to, -f'(eta) and f''(eta).

    The first is infinite outside of the domain, never negative, and computed as such a number: nothing large cancels.
    """


@by_type
def reach(loss: Loss, d: Vector) -> float:
    """Return delta for which f'' changes along the direction d by a factor between e^-delta and e^delta.

    Zero of a loss for which there is none: steps are then tried.
    """


@by_type
def smoothness(loss: Loss) -> float:
    """Return the most that f'' is; infinite where there is no bound."""


# Of all samples together; a sum over samples has them of what is above.


@by_type
def has_diagonal(loss: Loss) -> bool:
    """Tell whether F'' is a diagonal: curvatures are that, else whatever `curve` multiplies with F'' by."""


@by_type
def value_of(loss: Loss, eta: Vector) -> float:
    """Return `loss_value`."""


@by_type
def slopes_of(loss: Loss, eta: Vector, theta: Vector, curvatures: Vector) -> tuple[float, float]:
    """Do what `fill_slopes` does."""


@by_type
def fenchel_of(loss: Loss, eta: Vector, theta: Vector, s: float) -> tuple[float, float, float, float]:
    """Return `fenchel`."""


@by_type
def curve_into(loss: Loss, curvatures: Vector, v: Vector, out: Vector) -> None:
    """Fill F'' v."""


@by_type
def dual_size(loss: Loss, i: int, theta: float) -> float:
    """Return what the rounding of a slope is relative to: its size, or that of numbers it is the difference of."""


@is_quadratic.register(Squared)
def _(loss):
    return True


@is_quadratic.otherwise
def _(loss):
    return False


@has_diagonal.otherwise
def _(loss):
    return True


@dual_size.otherwise
def _(loss, i, theta):
    return abs(theta)


@part_of_kernel
def divergence(base: float, e: float) -> tuple[float, float]:
    """Return (base + e) log(1 + e / base) - e, and the size of that logarithm."""
    base = max(base, _LEAST_CHANCE)
    z = e / base
    if abs(z) < 1e-4:
        return e * z * (0.5 - z * (1.0 / 6.0 - z * (1.0 / 12.0 - z / 20.0))), abs(z)
    if z <= -1.0:
        return (-e if z >= -1.0 - _ON_BOUNDARY else np.inf), 40.0
    log = math.log1p(z)
    return (base + e) * log - e, abs(log)


@part_of_kernel
def _chances(eta: float) -> tuple[float, float]:
    """Return 1 / (1 + e^-eta) and 1 / (1 + e^eta), both to all digits."""
    z = math.exp(-abs(eta))
    large = 1.0 / (1.0 + z)
    return (large, z * large) if eta >= 0.0 else (z * large, large)


@smoothness.register(Logistic)
def _(loss):
    return 0.25


@smoothness.otherwise
def _(loss):
    return np.inf


@terms.register(Logistic)
def _(loss, y, eta):
    p, n = _chances(eta)
    return math.log1p(math.exp(-abs(eta))) + (max(eta, 0.0) - y * eta), y * n - (1.0 - y) * p, p * n


@fenchel_term.register(Logistic)
def _(loss, y, eta, theta):
    # With q = y - theta and e = q - p it is p phi(e / p) + n phi(-e / n), phi(z) = (1 + z) log(1 + z) - z.
    p, n = _chances(eta)
    r = y * n - (1.0 - y) * p
    first, log_p = divergence(p, r - theta)
    second, log_n = divergence(n, theta - r)
    size = first + second + (abs(r) + abs(theta)) * (1.0 + abs(eta)) * (1.0 + log_p + log_n)
    return first + second, size, r, p * n


@reach.register(Logistic)
@reach.register(Poisson)
def _(loss, d):
    return largest_size(loss.weights, d)


@terms.register(Poisson)
def _(loss, y, eta):
    mean = np.exp(eta)
    return mean - y * eta, y - mean, mean


@fenchel_term.register(Poisson)
def _(loss, y, eta, theta):
    mean = np.exp(eta)
    term, log = divergence(mean, (y - mean) - theta)
    return term, term + (y + mean + abs(theta)) * (1.0 + abs(eta)) * log, y - mean, mean


# Over all samples; vectors may have their sum in a last place, which nobody looks at. ---------------------------------


@kernel
def largest_size(weights: Vector, d: Vector) -> float:
    """Return the largest |d_i| of samples with a weight."""
    largest = 0.0
    for i in range(weights.size):
        if weights[i] > 0.0:
            largest = max(largest, abs(d[i]))
    return largest


@kernel
def loss_value(loss: Loss, eta: Vector) -> float:
    """Return F(eta), up to a constant."""
    return value_of(loss, eta)  # type: ignore[no-any-return]


@value_of.otherwise
def _(loss, eta):
    total = 0.0
    for i in range(loss.y.size):
        if loss.weights[i] > 0.0:
            total += loss.weights[i] * terms(loss, loss.y[i], eta[i] + loss.offset[i])[0]
    return total


@kernel
def fill_slopes(loss: Loss, eta: Vector, theta: Vector, curvatures: Vector) -> tuple[float, float]:
    """Fill theta = -F'(eta) and the curvatures F''(eta), both zero where samples have no weight; return their sums.

    A loss that no constant changes has a sum of curvatures for which none moves.
    """
    return slopes_of(loss, eta, theta, curvatures)  # type: ignore[no-any-return]


@slopes_of.otherwise
def _(loss, eta, theta, curvatures):
    slopes = bends = 0.0
    for i in range(loss.y.size):
        theta[i] = curvatures[i] = 0.0
        if loss.weights[i] > 0.0:
            _, slope, bend = terms(loss, loss.y[i], eta[i] + loss.offset[i])
            theta[i], curvatures[i] = loss.weights[i] * slope, loss.weights[i] * bend
        slopes += theta[i]
        bends += curvatures[i]
    return slopes, bends


@kernel
def fenchel(loss: Loss, eta: Vector, theta: Vector, s: float) -> tuple[float, float, float, float]:
    """Return F(eta) + F*(-s theta) + s theta'(eta + o), and what its rounding is relative to.

    The last two are sum w f'^2 and the largest f''.
    """
    return fenchel_of(loss, eta, theta, s)  # type: ignore[no-any-return]


@fenchel_of.otherwise
def _(loss, eta, theta, s):
    total = size = slopes2 = top = 0.0
    for i in range(loss.y.size):
        w = loss.weights[i]
        if w > 0.0:
            term, own, slope, bend = fenchel_term(loss, loss.y[i], eta[i] + loss.offset[i], s * theta[i] / w)
            total += w * term
            size += w * own
            slopes2 += w * slope * slope
            top = max(top, bend)
    return total, size, slopes2, top


@kernel
def curve(loss: Loss, curvatures: Vector, rows: Matrix, out: Matrix) -> None:
    """Fill F''(eta) times vectors over samples, which are rows."""
    for k in range(rows.shape[0]):
        curve_into(loss, curvatures, rows[k], out[k])


@curve_into.otherwise
def _(loss, curvatures, v, out):
    for i in range(out.size):
        out[i] = curvatures[i] * v[i]


@kernel
def add_best_constant(loss: Loss, eta: Vector, enough: float) -> float:
    """Add to eta the constant for which slopes add up to zero, to `enough` of its digits; return it.

    By Newton's method, between the numbers that it is known to be between. From far away its steps may be of one unit
    each, as those of an exponential are: after some, steps double, and then halve the interval.
    """
    theta, curvatures = np.empty(loss.y.size), np.empty(loss.y.size)
    low, high, most, constant = -np.inf, np.inf, 1.0, 0.0
    for k in range(_MOST_STEPS):
        slopes, bends = fill_slopes(loss, eta, theta, curvatures)
        if slopes > 0.0:
            low = constant
        elif slopes < 0.0:
            high = constant
        else:
            break
        step = slopes / bends if bends > 0.0 else np.inf * slopes
        step = max(-most, min(most, step))
        is_last = abs(step) <= enough * (1.0 + abs(constant))
        if not (is_last or (k < _MOST_NEWTON_STEPS and low < constant + step < high)):
            step = 0.5 * (low + high) - constant if high - low < np.inf else most * np.sign(slopes)
        most *= 2.0
        constant += step
        for i in range(loss.y.size):
            eta[i] += step
        if is_last:
            break
    return constant

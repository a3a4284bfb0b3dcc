"""Cox's partial likelihood with Breslow's ties: a loss of all samples together, whose curvature is no diagonal.

With event times t_g, the weight d_g of the events at each, the risk sets R_g of samples that are still there, and
r_k = w_k e^eta_k, S_g the sum of r over R_g, pi_g = r / S_g on R_g, c_k the weight of an event, zero of others:

    F = sum_g d_g log S_g - c'eta,   theta = c - nu,   nu = sum_g d_g pi_g,   H = sum_g d_g (diag pi_g - pi_g pi_g').

A constant changes nothing: 1'theta = 0 and H 1 = 0, by stratum, so that there is no intercept. For theta = -F'(eta) and
s <= 1, s theta = c - sum_g d_g pi_g^s with pi_g^s = (1 - s) c_g / d_g + s pi_g, distributions on the risk sets, and so

    F(eta) + F*(-s theta) + s theta'eta <= sum_g d_g KL(pi_g^s || pi_g),

a sum of terms that are not negative: with s = 0 an equality. Nothing is claimed for another theta. Where there are
`curvatures` of a loss there are the r_k here, each stratum's relative to its largest.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Vector
from .jit import kernel, part_of_kernel
from .losses import curve_into, divergence, dual_size, fenchel_of, has_diagonal, reach, slopes_of, value_of
from .moments import gamma

Indices = NDArray[np.int64]

# A sum of curvatures for which no constant moves.
_IMMOVABLE = 1e300
# Sums over risk sets are at least so much of the largest e^eta.
_LEAST_TOTAL = 1e-280


class Cox(NamedTuple):
    """The partial likelihood; a time is one of a stratum."""

    y: Vector  # one for an event, zero for a sample that was censored
    weights: Vector
    offset: Vector
    order: Indices  # samples with a weight, by stratum and time
    cuts: Indices  # where the times begin in that order, and its end
    deaths: Vector  # d by time
    fresh: NDArray[np.bool_]  # by time: whether it is the first of its stratum


def make_cox(times: Vector, events: Vector, strata: Vector, *, weights: Vector, offset: Vector) -> Cox:
    """Return the loss of some samples; strata are numbers."""
    order = np.lexsort((times, strata))
    order = order[weights[order] > 0.0]
    new = np.diff(strata[order], prepend=np.nan) != 0.0
    cuts = np.flatnonzero(new | (np.diff(times[order], prepend=np.nan) != 0.0))
    deaths = np.add.reduceat((weights * events)[order], cuts)
    times_of = {"cuts": np.append(cuts, order.size), "deaths": deaths, "fresh": new[cuts]}
    return Cox(events, weights, offset, order, **times_of)


@has_diagonal.register(Cox)
def _(loss):
    return False


@dual_size.register(Cox)
def _(loss, i, theta):
    # theta is a difference, c - nu, of sums over the risk sets: it is off by what these are rounded by.
    return 4.0 * (2.0 * loss.weights[i] * loss.y[i] + abs(theta))


@kernel
def _fill_risks(loss: Any, eta: Vector, risks: Vector, totals: Vector) -> tuple[float, float]:
    """Fill r and S by time; return F, and how far eta is from the largest of its stratum at most."""
    value = spread = 0.0
    end = loss.deaths.size
    risks[:] = 0.0
    while end > 0:
        first = end - 1
        while not loss.fresh[first]:
            first -= 1
        top = -np.inf
        for place in range(loss.cuts[first], loss.cuts[end]):
            i = loss.order[place]
            top = max(top, eta[i] + loss.offset[i])
        left = 0.0
        for g in range(end - 1, first - 1, -1):
            for place in range(loss.cuts[g], loss.cuts[g + 1]):
                i = loss.order[place]
                own = eta[i] + loss.offset[i] - top
                risks[i] = loss.weights[i] * np.exp(own)
                left += risks[i]
                value -= loss.weights[i] * loss.y[i] * own
                spread = max(spread, -own)
            totals[g] = left
            if loss.deaths[g] > 0.0:  # what float64 has no room for is no place to go to
                value += loss.deaths[g] * np.log(left) if left > _LEAST_TOTAL else np.inf
        end = first
    return value, spread


@kernel
def _fill_totals(loss: Any, r: Vector, totals: Vector) -> None:
    """Fill the sum of r over the risk set of every time."""
    left = 0.0
    for g in range(loss.deaths.size - 1, -1, -1):
        for place in range(loss.cuts[g], loss.cuts[g + 1]):
            left += r[loss.order[place]]
        totals[g] = left
        left = 0.0 if loss.fresh[g] else left


@value_of.register(Cox)
def _(loss, eta):
    return _fill_risks(loss, eta, np.empty(loss.y.size), np.empty(loss.deaths.size))[0]


@slopes_of.register(Cox)
def _(loss, eta, theta, curvatures):
    totals = np.empty(loss.deaths.size)
    value, _ = _fill_risks(loss, eta, curvatures, totals)
    hazard = 0.0
    for i in range(loss.y.size):
        theta[i] = 0.0
    for g in range(loss.deaths.size):
        hazard = (0.0 if loss.fresh[g] else hazard) + (loss.deaths[g] / totals[g] if loss.deaths[g] > 0.0 else 0.0)
        for place in range(loss.cuts[g], loss.cuts[g + 1]):
            i = loss.order[place]
            theta[i] = loss.weights[i] * loss.y[i] - curvatures[i] * hazard
    return value - value, _IMMOVABLE


@curve_into.register(Cox)
def _(loss, curvatures, v, out):
    # H v = r (Lambda v - sum over the events so far of d / S^2 times the sum of r v over the risk set).
    totals, sums, rv = np.empty(loss.deaths.size), np.empty(loss.deaths.size), np.empty(loss.y.size)
    for i in range(rv.size):
        rv[i] = curvatures[i] * v[i]
        out[i] = 0.0
    _fill_totals(loss, curvatures, totals)
    _fill_totals(loss, rv, sums)
    hazard = mean = 0.0
    for g in range(loss.deaths.size):
        if loss.fresh[g]:
            hazard = mean = 0.0
        if loss.deaths[g] > 0.0:
            hazard += loss.deaths[g] / totals[g]
            mean += loss.deaths[g] / totals[g] * (sums[g] / totals[g])
        for place in range(loss.cuts[g], loss.cuts[g + 1]):
            i = loss.order[place]
            out[i] = hazard * rv[i] - curvatures[i] * mean


@reach.register(Cox)
def _(loss, d):
    widest, low, high = 0.0, np.inf, -np.inf
    for g in range(loss.deaths.size):
        if loss.fresh[g]:
            low, high = np.inf, -np.inf
        for place in range(loss.cuts[g], loss.cuts[g + 1]):
            low, high = min(low, d[loss.order[place]]), max(high, d[loss.order[place]])
        widest = max(widest, high - low)
    return widest


@part_of_kernel
def _shrunk(s: float) -> float:
    """Return s log s - (s - 1)."""
    return divergence(1.0, s - 1.0)[0]


@fenchel_of.register(Cox)
def _(loss, eta, theta, s):
    m = loss.y.size
    risks, totals = np.empty(m), np.empty(loss.deaths.size)
    _, spread = _fill_risks(loss, eta, risks, totals)
    total = size = slopes2 = top = hazard = 0.0
    for g in range(loss.deaths.size):
        d, known, largest = loss.deaths[g], 0.0, 0.0
        hazard = (0.0 if loss.fresh[g] else hazard) + (d / totals[g] if d > 0.0 else 0.0)
        for place in range(loss.cuts[g], loss.cuts[g + 1]):
            i = loss.order[place]
            w, nu = loss.weights[i], risks[i] * hazard
            c = w * loss.y[i]
            if not abs(theta[i] - (c - nu)) <= gamma(4.0 * m + 64.0) * (c + nu):
                total = np.inf
            slopes2 += (c - nu) * (c - nu) / w
            top = max(top, nu / w)
            if c > 0.0:
                share = risks[i] / totals[g]
                term, log = divergence(share, (s - 1.0) * share + (1.0 - s) * c / d)
                total += d * term
                size += (d * share + c) * log
                known += share
                largest = max(largest, log)
        if d > 0.0:
            term = d * max(0.0, 1.0 - known) * _shrunk(s)
            total += term
            size += term + d * (1.0 - s) * (1.0 + largest)
    return total, 4.0 * (1.0 + spread) * (total + size), slopes2, top

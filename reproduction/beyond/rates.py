"""How fast the gap falls: steps of Frank-Wolfe and its relatives at one radius.

The solution lies inside a face of the ball, away from its corners. There plain Frank-Wolfe zigzags between the vertices
of the face, and its gap falls like a power of the number of steps. Steps away from a vertex, pairwise steps and
projections do not: on a problem with curvature, as this one, their gap falls by a constant factor a step.
"""

import re
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fwlasso._core.columns import Vector
from fwlasso.path import lasso_path

from ..pictures import legend_below, line_of, log_axes, panels
from ..study import Figure, Findings, Part, Record, Setup, Table, Task
from ..text import number, power
from .fits import Fit, exponential_law, power_law

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME: Final = "rates"
#: Label and arguments of `lasso_path`.
METHODS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "fw": ("FW, all columns", {"solver": "fw"}),
    "sfw": ("FW, 10 % of the columns", {"solver": "sfw", "sample_size": 0.1, "block_size": 1}),
    "afw": ("away-step FW", {"solver": "afw"}),
    "pfw": ("pairwise FW", {"solver": "pfw"}),
    "apg-ball": ("SLEP const. (projected gradients)", {"solver": "apg-ball"}),
}
N_SAMPLES, N_FEATURES, N_RELEVANT = 600, 300, 20
_RADIUS: Final = 0.5  # of the l1 norm of least squares: the constraint binds, and leaves a small face
MOST_STEPS: Final = 10_000
_LEAST_GAP: Final = 1e-12  # near what rounding lets be known
_START: Final = 0.1  # rates are fitted to gaps below this share of the first


def tasks(setup: Setup) -> list[Task]:
    """One task for every method."""
    shape = {"m": N_SAMPLES, "p": N_FEATURES, "relevant": N_RELEVANT, "radius": _RADIUS, "steps": MOST_STEPS}
    return [
        Task(f"{_NAME}/{key}", 5.0, partial(_run, options, setup.n_threads), {**shape, **options})
        for key, (_, options) in METHODS.items()
    ]


def problem() -> tuple[Vector, Vector, float]:
    """Return a well-conditioned least squares problem with more samples than features, and a radius that binds."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((N_SAMPLES, N_FEATURES)))
    truth = np.zeros(N_FEATURES)
    truth[:N_RELEVANT] = rng.choice([-1.0, 1.0], N_RELEVANT) * rng.uniform(0.5, 1.5, N_RELEVANT)
    y = X @ truth + rng.standard_normal(N_SAMPLES)
    free, *_ = np.linalg.lstsq(X, y, rcond=None)
    return X, y, _RADIUS * float(np.abs(free).sum())


def _run(options: Mapping[str, Any], n_threads: int | None) -> Record:
    """Return the gap after numbers of steps on a logarithmic grid, each from a run of its own from zero."""
    X, y, radius = problem()
    steps, gaps = [], []
    settings: dict[str, Any] = {
        "radii": [radius],
        "fit_intercept": False,
        "stop": "gap",
        "tol": _LEAST_GAP,
        "random_state": 0,
    }
    for n_steps in np.unique(np.geomspace(1, MOST_STEPS, 60).astype(int)).tolist():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # runs end by the number of their steps
            path = lasso_path(X, y, max_iter=n_steps, n_threads=n_threads, **settings, **options)
        steps.append(int(path.counters.iterations[0]))
        gaps.append(float(path.gaps[0]))
        if gaps[-1] <= _LEAST_GAP or steps[-1] < n_steps:
            break
    return {"steps": steps, "gaps": gaps, "n_active": int(path.n_active[0])}


class Rate:
    """The gaps of a method, the better of two laws through them, and how it reads."""

    def __init__(self, key: str, record: Record) -> None:
        self.key = key
        self.label = METHODS[key][0]
        self.steps = np.array(record["steps"], dtype=np.float64)
        self.gaps = np.minimum.accumulate(record["gaps"])
        self.n_active = record["n_active"]
        fitted = (self.gaps <= _START * self.gaps[0]) & (self.gaps > _LEAST_GAP)
        laws = (power_law, exponential_law)
        self.fits: list[Fit] = [law(self.steps[fitted], self.gaps[fitted]) for law in laws] if fitted.sum() > 2 else []

    @property
    def is_linear(self) -> bool:
        """Whether a constant factor a step fits better than a power of the number of steps."""
        return bool(self.fits) and self.fits[1].r2 > self.fits[0].r2

    @property
    def text(self) -> str:
        """The law in words."""
        if not self.fits:
            return "too few points to fit"
        sublinear, linear = self.fits
        if self.is_linear:
            return f"falls by {100.0 * -np.expm1(linear.slope):.2g} % a step"
        return f"falls like steps^{sublinear.slope:.2f}"

    def steps_to(self, gap: float) -> int | None:
        """Return the steps of the first run with a gap this small, if there was one."""
        met = np.flatnonzero(self.gaps <= gap)
        return int(self.steps[met[0]]) if met.size else None


def show(_: Setup, records: Mapping[str, Record]) -> Findings:
    """Return a table and a picture of the gaps, and the fitted rates."""
    rates = [Rate(key, records[f"{_NAME}/{key}"]) for key in METHODS if f"{_NAME}/{key}" in records]
    if not rates:
        return Findings([], [], [])
    title = f"Gap against steps at one radius: {N_SAMPLES} samples, {N_FEATURES} features"
    sentences = [
        f"At one radius the gap of {rate.label} {rate.text}; after {rate.steps[-1]:,.0f} steps it is "
        f"{power(float(rate.gaps[-1]), 2)}."
        for rate in rates
    ]
    return Findings([_table(rates)], [Figure(_NAME, title, lambda: _draw(rates))], sentences)


def _table(rates: list[Rate]) -> Table:
    goals = (1e-2, 1e-4, 1e-6, 1e-8)
    rows, data = [], []
    for rate in rates:
        needed = [rate.steps_to(goal) for goal in goals]
        last = int(rate.steps[-1])
        found = [f"{steps:,}" if steps is not None else f"> {last:,}" for steps in needed]
        quality = [number(fit.r2) for fit in rate.fits] or ["", ""]
        rows.append((rate.label, *found, rate.text, *quality, str(rate.n_active)))
        data.append(
            {
                "method": rate.key,
                **{f"steps_to_{goal:g}": steps for goal, steps in zip(goals, needed, strict=True)},
                **{
                    f"{law}_{what}": getattr(fit, what)
                    for law, fit in zip(("power", "exponential"), rate.fits, strict=False)
                    for what in ("slope", "r2")
                },
                "active": rate.n_active,
            }
        )
    header = (
        "method", *(f"steps to {goal:g}" for goal in goals), "the gap", "fit of a power", "fit of a factor",
        "active at the end",
    )  # fmt: skip
    note = (
        f"Smallest gap so far, over 1/2 ||y||², from runs of some 50 lengths up to {MOST_STEPS:,} steps. A fit is the "
        "share of the variation of log gap that a straight line over log steps (a power) or over steps (a constant "
        f"factor) explains, below {_START:g} of the first gap; the better of the two is named."
    )
    return Table(_NAME, "Steps to a gap at one radius", header, rows, note, data)


def _draw(rates: list[Rate]) -> "Picture":
    figure, (ax,) = panels(1, size=(8.6, 5.4))
    for rate in rates:
        ax.plot(rate.steps, rate.gaps, label=f"{rate.label}: {_drawn(rate)}", **line_of(rate.key))
    ax.set_xlabel("steps")
    ax.set_ylabel("smallest duality gap so far / (1/2 ||y||²)")
    ax.set_ylim(_LEAST_GAP / 10.0, 10.0)
    ax.set_title(f"Gap at one radius: {N_SAMPLES:,} x {N_FEATURES:,}, one run of each method", fontsize="medium")
    log_axes(ax)
    legend_below(figure, [ax], n_columns=2)
    return figure


def _drawn(rate: Rate) -> str:
    """Return the law with its exponent set."""
    return re.sub(r"steps\^(\S+)", r"steps$^{\1}$", rate.text)


PART = Part(_NAME, "Rates of convergence at one radius", tasks, show)

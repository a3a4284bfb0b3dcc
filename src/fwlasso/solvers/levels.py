"""What may be said of random columns with a level, and is no certificate: docs/method/convergence.md has the proofs.

A draw of kappa of p columns *hits* if it has the one that all columns together would choose: with probability kappa/p
at least, whatever was drawn before. After n >= 1 hits f - f* <= 4C/(n + 3) with C = 2 radius^2 max ||z_j||^2.
That asks for independent draws, of single columns: blocks go round, and so do draws without descent by default.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.columns import Vector
from .._core.costs import is_plain
from .._core.losses import is_quadratic
from .._core.problem import Problem
from ..gram.problem import AnyProblem
from .protocol import SolverSettings
from .sample_size import columns_to_draw, fewest_columns

_MOST_ROWS = 10  # of a table that is printed


def objection(settings: Mapping[str, Any]) -> str | None:
    """Return what keeps a path of these settings from having bounds with a level, the argument first; None: nothing."""
    solver, grid = str(settings.get("solver")), settings.get("grid", "alphas")
    variant, block_size = settings.get("variant", "default"), settings.get("block_size")
    of_lasso = {"loss": "squared", "ridge": 0.0, "positive": False}
    for name in (name for name, usual in of_lasso.items() if settings.get(name, usual) != usual):
        return f"{name}: the constant of a level is that of the Lasso, got {name}={settings[name]!r}; `gaps` are proofs"
    if solver != "sfw":
        return f"solver: a level is for columns drawn at random by 'sfw', got solver={solver!r}"
    if grid != "radii":
        return "alphas: a level is for the constrained form, give radii instead"
    if variant != "paper":
        return f"variant: a level is for independent draws, give variant='paper', got {variant!r}"
    if block_size not in (None, 1):
        return f"block_size: blocks cycle, and are not independent draws, give block_size=1, got {block_size}"
    return None


def reach(problem: Problem) -> float:
    """Return max ||z_j|| / ||y||: relative to 1/2 ||y||^2, C is 4 (radius reach)^2."""
    return math.sqrt(0.5 * float(np.max(problem.norms2, initial=0.0)) / problem.null_loss)


def draw_facts(problem: AnyProblem, settings: SolverSettings) -> dict[str, Any]:
    """Return what is recorded of a path on random columns: how many its first step looks at.

    If draws are independent, that is what bounds with a level follow from, too: the fewest columns of a draw, and the
    reach for radii of users.
    """
    rule, p = settings.sample_size, problem.shape[1]
    assert isinstance(problem, Problem)
    assert rule is not None
    facts = {"first_sample": columns_to_draw(rule, p, n_active=0)}
    kappa = fewest_columns(rule, p)
    is_independent = settings.variant == "paper" and settings.block_size in (None, 1)
    if not (is_independent and is_plain(problem.cost) and is_quadratic(problem.loss)) or kappa is None:
        return facts
    with np.errstate(over="ignore"):
        scaled = float(np.ldexp(reach(problem), -problem.units.coef_power))
    return facts | {"kappa": kappa, "reach": scaled or math.ulp(0.0)}


@dataclass(frozen=True, eq=False, repr=False)
class Confidence:
    """Bounds on how far points are above their minima, each with a probability. They are no certificates.

    Attributes
    ----------
    level : float
        The probability that the bound of a point holds, over the draws of columns; not of all points at once.
    radii : array of shape (n_points,)
    draws : array of shape (n_points,)
        Samples of columns that were drawn.
    share : float
        Share of the columns in a draw, the smallest if they differ.
    hits : array of shape (n_points,)
        How many of the draws had the column that all columns together would choose: at least so many, at this level.
    bounds : array of shape (n_points,)
        What the objective is above its minimum at most, relative to 1/2 ||y||^2 as ``LassoPath.gaps`` are. Infinite
        without a hit: nothing is known.
    passes : array of shape (n_points,)
        What the draws cost, in passes over all columns. One pass would prove a gap.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from fwlasso import lasso_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((50, 200)))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(50)
    >>> settings = {"solver": "sfw", "variant": "paper", "sample_size": 20, "random_state": 0}
    >>> with warnings.catch_warnings(action="ignore"):  # no gap is zero: 200 draws for every point
    ...     path = lasso_path(X, y, radii=[0.1, 0.3, 0.5], stop="gap", tol=0.0, max_iter=200, **settings)
    >>> path.confidence(level=0.95)
    <Confidence: at most so far above the minimum, relative to 1/2 ||y||^2, with probability 0.95
         radius      draws       hits      bound     passes
            0.1        200         13   0.000951         20
            0.3        200         13    0.00856         20
            0.5        200         13     0.0238         20
      No certificates. The draws took 60 passes; one over all columns proves a gap for every point.>
    >>> bool(path.gaps.max() <= 1e-9)  # one pass for all points: a proof
    True
    """

    level: float
    radii: Vector
    draws: NDArray[np.int64]
    share: float
    hits: NDArray[np.int64]
    bounds: Vector
    passes: Vector

    def __repr__(self) -> str:
        n, half = self.radii.size, _MOST_ROWS // 2
        shown = [*range(n)] if n <= _MOST_ROWS else [*range(half), *range(n - half, n)]
        bounds = [f"{bound:.3g}" if np.isfinite(bound) else "none" for bound in self.bounds]
        rows = [
            f"{self.radii[k]:11.3g}{self.draws[k]:11,}{self.hits[k]:11,}{bounds[k]:>11}{self.passes[k]:11.3g}"
            for k in shown
        ]
        if n > _MOST_ROWS:
            rows.insert(half, f"{'...':>11}")
        names = "".join(f"{name:>11}" for name in ("radius", "draws", "hits", "bound", "passes"))
        return (
            f"<Confidence: at most so far above the minimum, relative to 1/2 ||y||^2, with probability {self.level:g}\n"
            + "\n".join([names, *rows])
            + f"\n  No certificates. The draws took {self.passes.sum():.3g} passes; "
            + "one over all columns proves a gap for every point.>"
        )


def bounds_at(
    level: float, radii: Vector, draws: NDArray[np.int64], share: float, reach: float, is_fixed: bool
) -> Confidence:
    """Return what may be said of points after some draws.

    `is_fixed`: the numbers of draws do not depend on what was drawn, and hits have a binomial law. Else a rule may have
    ended a point as soon as it looked good, and the bound is one for all k at once (Ville's inequality):
    N_k >= (1 - 1/e) k kappa/p - ln(1/(1 - level)).
    """
    if is_fixed:
        from scipy.stats import binom

        hits = binom.ppf(1.0 - level, draws, share)
    else:
        hits = np.maximum(np.ceil(-math.expm1(-1.0) * share * draws + math.log1p(-level)), 0.0)
    with np.errstate(over="ignore"):
        bounds = np.where(hits > 0, 16.0 * (reach * radii) ** 2 / (hits + 3.0), np.inf)
    return Confidence(level, radii, draws, share, hits.astype(np.int64), bounds, passes=np.float64(share) * draws)

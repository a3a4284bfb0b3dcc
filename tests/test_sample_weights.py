"""Weights of the samples below the public options: every route and solver, judged apart from all of them."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import STORAGES, UNITS, held, random_values
from fwlasso import LassoPath, Status
from fwlasso.gram.problem import AnyProblem
from fwlasso.gram.subsets import GramSubsets
from fwlasso.options import Options
from fwlasso.path import Context, solve, solve_context
from fwlasso.problem.build import build_problem

#: How weights are made: three decades with zeros, whole numbers, a few that count, all sizes.
WEIGHTS = ["decades", "integers", "few", "sevens", "huge", "tiny"]
STORED = ["dense64", "dense32", "csc64", "bed"]
RADIAL = {"fw", "sfw", "afw", "pfw"}


def make_weights(kind: str, m: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "integers":
        return rng.integers(0, 4, m).astype(float)
    if kind == "sevens":
        return np.full(m, 7.0)
    w = 10.0 ** rng.uniform(-1.5, 1.5, m)
    w[rng.random(m) < 0.2] = 0.0
    if kind == "few":
        w[rng.random(m) < 0.5] *= 1e-9
    w[:3] = 1.0, 0.5, 2.0
    return w * {"huge": 1e150, "tiny": 1e-150}.get(kind, 1.0)


class Made(NamedTuple):
    X: Any
    values: np.ndarray
    y: np.ndarray
    w: np.ndarray


def make(storage: str, kind: str, m: int, p: int, seed: int) -> Made:
    rng = np.random.default_rng(seed)
    values = held(storage, random_values(rng, m, p, rng.choice([0.15, 0.5, 1.0])))
    if seed % 3 == 0 and not storage.startswith(("csc", "bed")):
        values = values + np.where(np.arange(p) % 4 == 0, 1000.0, 0.0)  # means far from zero
    y = values[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(m) + 3.0
    return Made(STORAGES[storage](values), values, y, make_weights(kind, m, rng))


def make_problem(context: Context, way: str, weights: np.ndarray | None, kept: np.ndarray | None) -> AnyProblem:
    data, units = context.data, (context.options.fit_intercept, context.options.standardize)
    if way == "gram":
        masks = [] if kept is None else [kept]
        grams = GramSubsets(data, masks, *units, context.workers, weights=weights)
        return grams.whole() if kept is None else grams.part(0)
    return build_problem(data.design, data.response, *units, context.workers, kept, weights=weights)


def solve_weighted(
    way: str, X: Any, y: np.ndarray, weights: np.ndarray | None, units: str, *, kept: Any = None, **settings: Any
) -> LassoPath:
    """Solve by a route of the certified path, or by a solver."""
    fit_intercept, standardize = UNITS[units]
    asked = {"radii" if way in RADIAL else "alphas": 6, "tol": 1e-7, "stop": "gap", "max_iter": 200_000, **settings}
    options = Options(
        solver=way, n_threads=1, random_state=0, fit_intercept=fit_intercept, standardize=standardize, **asked
    )
    with solve_context(X, y, options) as context, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return solve(*context.begin(), make_problem(context, way, weights, kept))


def judged(path: LassoPath, values: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Check every claim of a path by its gaps in long double, in the metric of the weights; return them."""
    Z, v, w = (given.astype(np.longdouble) for given in (values, y, w / w.max()))
    total, mean = w.sum(), np.longdouble(0.0)
    if path.settings["fit_intercept"]:
        mean = w @ v / total
        Z, v = Z - w @ Z / total, v - mean
    if path.settings["standardize"]:
        scale = np.sqrt(w @ Z**2 / total)
        Z = np.divide(Z, scale, out=np.zeros_like(Z), where=scale > 1e-15 * np.abs(values).max(axis=0))
    half_yy, gaps = w @ v**2 / 2, []
    for k, a in enumerate(path.scaled_coefs.toarray().T.astype(np.longdouble)):
        r = v - Z @ a
        c = Z.T @ (w * r)
        largest, rr, yr, l1 = np.abs(c).max(), w @ r**2, w @ (v * r), np.abs(a).sum()
        if path.settings["grid"] == "radii":
            gap = path.radii[k] * largest - a @ c
            assert l1 <= path.radii[k] * (1 + 1e-13)
        else:
            lam = path.alphas[k] * total
            s = min(lam / largest, yr / rr)
            gap = rr / 2 + lam * l1 - s * yr + s * s * rr / 2
        gaps.append(gap / half_yy)
        assert path.gaps[k] >= gaps[-1] - 1e-15, f"point {k}: claimed {path.gaps[k]:.2e}, is {gaps[-1]:.2e}"
        # Coefficients of users make the same predictions on the samples that are there.
        there = w > 0
        predicted = values[there].astype(np.longdouble) @ path.coefs.toarray()[:, k] + path.intercepts[k]
        size = np.abs(values[there]) @ np.abs(path.coefs.toarray()[:, k]) + np.abs(y[there]).max()
        assert (np.abs(predicted - ((Z @ a)[there] + mean)) <= 1e-13 * size).all()
    return np.array(gaps, float)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("way", ["working-set", "gram"])
def test_certified_paths_are_true_and_reach_their_gaps(way, storage, units):
    for seed in range(24):
        kind = WEIGHTS[seed % len(WEIGHTS)]
        m, p = [(30, 12), (24, 50)][seed // 6 % 2]
        made = make(storage, kind, m, p, seed)
        path = solve_weighted(way, made.X, made.y, made.w, units)
        judged(path, made.values, made.y, made.w)
        assert all(status is Status.CERTIFIED for status in path.statuses), (kind, path.statuses)

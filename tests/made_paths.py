"""Paths and choices that pictures and reports are made of."""

import numpy as np
import scipy.sparse as sp

from fwlasso import Counters, LassoPath, Status, lasso_path
from fwlasso.selection.choice import Choice

M, P = 30, 12


def make_data():
    """Columns of different scales, and a response of six of them."""
    rng = np.random.default_rng(5)
    X = np.asfortranarray(rng.standard_normal((M, P)) * np.linspace(0.5, 2.0, P))
    return X, X[:, :6] @ [6.0, -5.0, 4.0, -3.0, 2.0, 1.0] + 0.1 * rng.standard_normal(M)


def solve(y=None, **settings):
    """A path of seven points on these data, or on another response."""
    X, made = make_data()
    return lasso_path(X, made if y is None else y, **{"radii": 7, "random_state": 0, "n_threads": 1, **settings})


def choose(path, point, blend=1.0, folds=True, **changes):
    """A choice of a point by errors that are made up; a refit is stood in for by other coefficients."""
    rng = np.random.default_rng(9)
    fold_scores = 1.0 + (np.arange(len(path))[:, None] - point) ** 2 + rng.random((len(path), 5)) if folds else None
    scores = fold_scores.mean(axis=1) if folds else np.abs(np.arange(len(path)) - point) / 3.0
    return Choice(
        rule="1se",
        point=point,
        criterion="mean squared error" if folds else "bic",
        scores=scores,
        greater_is_better=False,
        coef=path.coefs[:, [point]] * (2.0 - blend),
        intercept=float(path.intercepts[point]) - (1.0 - blend),
        fold_scores=fold_scores,
        standard_errors=fold_scores.std(axis=1, ddof=1) / 5**0.5 if folds else None,
        blend=blend,
        radius=float(path.radii[point]) * (2.0 - blend),
        r2=float(path.r2[point]) if blend == 1.0 else 0.625,
        **changes,
    )


def synthetic_path(p, n_points, n_active, rng):
    """A path on many features as a solver would return it: features come in one by one, and grow."""
    features = rng.choice(p, n_active, replace=False)
    starts = np.sort(rng.integers(1, n_points, n_active))
    lengths = np.arange(n_points)[:, None] - starts
    weights = np.where(lengths >= 0, rng.standard_normal(n_active) * (1.0 + lengths), 0.0)
    scaled = sp.lil_array((p, n_points))
    for point, row in enumerate(weights):
        active = np.flatnonzero(row)
        scaled[features[active], point] = row[active]
    scaled = sp.csc_array(scaled)
    factors = rng.uniform(0.5, 2.0, p)
    coefs = sp.csc_array((scaled.data * factors[scaled.indices], scaled.indices, scaled.indptr), shape=scaled.shape)
    return LassoPath(
        alphas=np.geomspace(5.0, 0.05, n_points),
        radii=np.abs(weights).sum(axis=1),
        coefs=coefs,
        scaled_coefs=scaled,
        intercepts=rng.standard_normal(n_points),
        gaps=rng.uniform(0.0, 1e-6, n_points),
        r2=np.linspace(0.0, 0.99, n_points),
        statuses=(Status.CERTIFIED,) * n_points,
        counters=Counters(np.arange(n_points), 7 * p, 13.5, {"setup": 0.1, "grid": 0.0, "solve": 0.6, "certify": 0.0}),
        feature_names=tuple(f"x{j % 60}^2 x{j % 59} x{j % 61}" for j in range(p)),
        settings={"solver": "certified", "stop": "gap", "tol": 1e-6, "standardize": True, "n_samples": 186},
    )

"""The synthetic sets: the growth of the most relevant coefficients, and the test error, FW against CD."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..sampling import SparsityRule
from . import published
from .claims import SAME, Case, Claim
from .figures import LOOKS, Growth, growth_figure, test_error_figure
from .measuring import numbers, run
from .methods import Method
from .sets import SYNTHETIC, Loaded, load
from .study import Figure, Findings, Part, Record, Setup, Table, Task
from .text import number, percent, power
from .units import STOPPING

#: The relevant features are those with the largest mean coefficient along a path as exact as this.
REFERENCE_GAP = 1e-8
N_FEATURES = 10
#: The sets whose test error the paper shows.
WITH_TEST_ERROR = ("synthetic-10000-100", "synthetic-50000-158")
_CONFIDENCE = 0.99

_EXACT = Method("certified", "certified path", "alphas", {"solver": "corrective", "tol": REFERENCE_GAP})
_CD = Method("cd", "CD", "alphas", {"solver": "cd", **STOPPING})
_FW = Method("sfw", "FW", "radii", {"solver": "sfw", "block_size": 1, **STOPPING}, is_random=True)


def _tasks(setup: Setup) -> list[Task]:
    settings = {"gap": REFERENCE_GAP, "features": N_FEATURES, "confidence": _CONFIDENCE, **STOPPING}
    return [
        Task(f"synthetic/{name}", 10.0, partial(_run, setup, name), settings) for name in setup.sets if name in SYNTHETIC
    ]


def _run(setup: Setup, name: str) -> Record:
    """Follow the most relevant features along the exact path, CD's and FW's."""
    loaded = load(name, setup.data, setup.n_threads)
    exact = run(loaded, _EXACT, 0, setup.n_threads).path
    strength = np.asarray(abs(exact.scaled_coefs).mean(axis=1)).ravel()
    features = np.argsort(-strength, kind="stable")[:N_FEATURES]
    n_relevant = math.ceil(exact.n_active.mean())
    rule = SparsityRule(n_relevant, _CONFIDENCE)
    cd = run(loaded, _CD, 0, setup.n_threads)
    fw = run(loaded, _FW, 0, setup.n_threads, sample_size=rule)
    data = loaded.data
    assert data.relevant is not None
    return {
        "title": data.title,
        "features": features.tolist(),
        "true_features": int(np.isin(features, data.relevant).sum()),
        "n_relevant": n_relevant,
        "sample_size": rule(data.X.shape[1], 0),
        **{key: _path_record(loaded, path, features) for key, path in (("exact", exact), ("cd", cd.path), ("fw", fw.path))},
    }


def _path_record(loaded: Loaded, path: Any, features: Any) -> Record:
    data = loaded.data
    return {
        "l1": numbers(np.asarray(abs(path.scaled_coefs).sum(axis=0)).ravel()),
        "coefs": [numbers(row) for row in path.scaled_coefs.tocsr()[features].toarray()],
        "n_active": path.n_active.tolist(),
        "test_mse": numbers(loaded.mse(data.X_test, data.y_test, path.coefs, path.intercepts)),
        "iterations": int(path.counters.iterations.sum()),
        "dot_products": int(path.counters.dot_products),
    }


def _show(setup: Setup, records: Mapping[str, Record]) -> Findings:
    known = {name: records[f"synthetic/{name}"] for name in setup.sets if f"synthetic/{name}" in records}
    if not known:
        return Findings([], [], [])
    figures = [_growth(name, record) for name, record in known.items()]
    figures += [_test_error(name, record) for name, record in known.items() if name in WITH_TEST_ERROR]
    return Findings([_table(known)], figures, [claim.sentence for claim in _claims(known)])


def _growth(name: str, record: Record) -> Figure:
    labels = {"CD": "cd", "FW": "fw"}
    growth = Growth(
        name,
        f"{record['title']}: growth of the {len(record['features'])} most relevant coefficients",
        {label: np.array(record[key]["l1"]) for label, key in labels.items()},
        {label: np.array(record[key]["coefs"]) for label, key in labels.items()},
        {"CD": LOOKS["cd"], "FW": LOOKS["sfw-1"]._replace(width=1.6)},
    )
    return growth_figure(growth)


def _test_error(name: str, record: Record) -> Figure:
    looks = {"CD": ("cd", LOOKS["cd"]), "FW": ("fw", LOOKS["sfw-1"])}
    curves = {
        label: (np.array(record[key]["l1"]), np.array(record[key]["test_mse"]), look)
        for label, (key, look) in looks.items()
    }
    return test_error_figure(name, f"{record['title']}: test error", curves)


def _table(known: Mapping[str, Record]) -> Table:
    rows, data = [], []
    for name, record in known.items():
        fw, cd, exact = record["fw"], record["cd"], record["exact"]
        theirs = published.SAMPLE_SIZES[name]
        worst = [_distance(path, exact) for path in (fw, cd)]
        best = [min(path["test_mse"]) for path in (fw, cd, exact)]
        kappa = f"{record['sample_size']:,} ({theirs:,}, {percent(record['sample_size'] / theirs - 1.0)})"
        found = f"{record['true_features']} of {len(record['features'])}"
        dots = [power(path["dot_products"]) for path in (fw, cd)]
        shares = [f"{100 * share:.2g} %" for share in worst]
        rows.append((record["title"], kappa, found, *shares, *map(number, best), *dots))
        data.append(
            {
                "set": name,
                "sample_size": record["sample_size"],
                "sample_size_published": theirs,
                "mean_active_exact": float(np.mean(exact["n_active"])),
                "relevant_among_largest": record["true_features"],
                "largest_distance_fw": worst[0],
                "largest_distance_cd": worst[1],
                **dict(zip(("best_test_mse_fw", "best_test_mse_cd", "best_test_mse_exact"), best, strict=True)),
                "dot_products_fw": fw["dot_products"],
                "dot_products_cd": cd["dot_products"],
            }
        )
    header = (
        "data set", "columns per step", "of the true model", "distance of FW", "of CD", "best test MSE, FW", "CD", "exact",
        "dot products, FW", "CD",
    )  # fmt: skip
    note = (
        f"Columns per step by the sparsity rule at {_CONFIDENCE:.0%} from the mean number of active features of the exact "
        "path, published ones in brackets. Of the true model: how many of the ten largest coefficients belong to it. "
        "Distance: the largest difference of one of the ten coefficients from the exact path at the same l1 norm, relative "
        "to the largest coefficient."
    )
    return Table("synthetic", "Synthetic sets: FW against CD", header, rows, note, data)


def _distance(path: Record, exact: Record) -> float:
    """Return how far the coefficients are from the exact ones at equal l1 norms, relative to the largest of them."""
    rows = zip(path["coefs"], exact["coefs"], strict=True)
    l1, known = np.array(path["l1"]), np.array(exact["l1"])
    away = [np.abs(np.array(row) - np.interp(l1, known, np.array(theirs))).max() for row, theirs in rows]
    return float(max(away) / np.abs(np.array(exact["coefs"])).max())


def _claims(known: Mapping[str, Record]) -> list[Claim]:
    best, grown = [], []
    for record in known.values():
        fw, cd = record["fw"], record["cd"]
        errors = {label: min(path["test_mse"]) for label, path in (("FW", fw), ("CD", cd))}
        apart = errors["FW"] / errors["CD"] - 1.0
        shown = f"FW {number(errors['FW'])}, CD {number(errors['CD'])} ({percent(apart)})"
        best.append(Case(record["title"], abs(apart) <= SAME, shown))
        distances = [_distance(path, record["exact"]) for path in (fw, cd)]
        shown = f"at most {100 * distances[0]:.2g} % of the largest coefficient away from the exact path, CD {100 * distances[1]:.2g} %"
        grown.append(Case(record["title"], distances[0] <= 2.0 * SAME, shown))
    return [
        Claim("FW follows the most relevant coefficients along the path, within a tenth of the largest.", grown),
        Claim(f"FW and CD find the same best test error, within {SAME:.0%}.", best),
    ]


PART = Part("synthetic", "Synthetic data sets", _tasks, _show)

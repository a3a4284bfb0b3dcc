"""The synthetic sets: the growth of the most relevant coefficients, and the test error, FW against CD."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from fwlasso.solvers.sample_size import SparsityRule

from . import published
from .claims import SAME
from .data.paper_sets import PAPER_SETS
from .figures import LOOKS, Growth, growth_figure, held_out_figure
from .measuring import numbers, run
from .methods import Method
from .sets import SYNTHETIC, Loaded, load
from .study import Case, Claim, Figure, Findings, Part, Record, Setup, Table, Task
from .text import listed, number, percent, power, share
from .units import STOPPING

#: The relevant features are those with the largest mean coefficient along a path as exact as this.
REFERENCE_GAP = 1e-8
N_FEATURES = 10
#: The sets whose test error the paper shows.
WITH_TEST_ERROR = ("synthetic-10000-100", "synthetic-50000-158")
_CONFIDENCE = 0.99

_EXACT = Method("certified", "certified path", "alphas", {"solver": "certified", "tol": REFERENCE_GAP})
_CD = Method("cd", "CD", "alphas", {"solver": "cd", **STOPPING})
_FW = Method("sfw", "FW", "radii", {"solver": "sfw", "block_size": 1, **STOPPING}, is_random=True)


def _tasks(setup: Setup) -> list[Task]:
    settings = {"gap": REFERENCE_GAP, "features": N_FEATURES, "confidence": _CONFIDENCE, **STOPPING}
    return [
        Task(f"synthetic/{name}", 10.0, partial(_run, setup, name), settings)
        for name in setup.sets
        if name in SYNTHETIC
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
    paths = {"exact": exact, "cd": cd.path, "fw": fw.path}
    return {
        "title": data.title,
        "features": features.tolist(),
        "true_features": len({*features.tolist()} & {*_relevant(loaded)}),
        "n_relevant": n_relevant,
        "sample_size": rule(data.X.shape[1], 0),
        **{key: _path_record(loaded, path, features) for key, path in paths.items()},
    }


def _relevant(loaded: Loaded) -> list[int]:
    """Return the features of the true model."""
    return [] if loaded.data.relevant is None else [int(feature) for feature in loaded.data.relevant]


def _path_record(loaded: Loaded, path: Any, features: Any) -> Record:
    data = loaded.data
    assert data.y_test is not None  # synthetic sets come with a test set
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
    return Findings([_table(known)], figures, [], _claims(known))


def _growth(name: str, record: Record) -> Figure:
    labels = {"FW": "fw", "CD": "cd"}  # the dashes on top
    growth = Growth(
        name,
        f"{record['title']}: growth of the {len(record['features'])} most relevant coefficients",
        {label: np.array(record[key]["l1"]) for label, key in labels.items()},
        {label: np.array(record[key]["coefs"]) for label, key in labels.items()},
        {"FW": LOOKS["sfw-1"], "CD": LOOKS["cd"]._replace(width=1.3)},
    )
    return growth_figure(growth)


def _test_error(name: str, record: Record) -> Figure:
    looks = {"FW": ("fw", LOOKS["sfw-1"]), "CD": ("cd", LOOKS["cd"])}
    curves = {
        label: (np.array(record[key]["l1"]), np.array(record[key]["test_mse"]), look)
        for label, (key, look) in looks.items()
    }
    return held_out_figure(name, f"{record['title']}: test error", curves)


def _table(known: Mapping[str, Record]) -> Table:
    rows, data = [], []
    for name, record in known.items():
        fw, cd, exact = record["fw"], record["cd"], record["exact"]
        theirs = published.SAMPLE_SIZES[name]
        away = [_distance(path, exact) for path in (fw, cd)]
        best = [min(path["test_mse"]) for path in (fw, cd, exact)]
        kappa = f"{record['sample_size']:,} ({theirs:,}, {percent(record['sample_size'] / theirs - 1.0)})"
        found = f"{record['true_features']} of {len(record['features'])}"
        dots = [power(path["dot_products"]) for path in (fw, cd)]
        rows.append((record["title"], kappa, found, *map(share, away), *map(number, best), *dots))
        data.append(
            {
                "set": name,
                "sample_size": record["sample_size"],
                "sample_size_published": theirs,
                "mean_active_exact": float(np.mean(exact["n_active"])),
                "relevant_among_largest": record["true_features"],
                "distance_fw": away[0],
                "distance_cd": away[1],
                **dict(zip(("best_test_mse_fw", "best_test_mse_cd", "best_test_mse_exact"), best, strict=True)),
                "dot_products_fw": fw["dot_products"],
                "dot_products_cd": cd["dot_products"],
            }
        )
    header = (
        "data set", "columns per step", "of the true model", "distance of FW", "of CD", "best test MSE, FW", "CD",
        "exact", "dot products, FW", "CD",
    )  # fmt: skip
    note = (
        f"Columns per step by the sparsity rule at {share(_CONFIDENCE)} from the mean number of active features of the "
        "exact path, published ones in brackets. Of the true model: how many of the ten largest coefficients belong "
        "to it. Distance: the difference of the ten coefficients from the exact path at equal l1 norms, on average "
        "over the points, relative to the largest coefficient."
    )
    return Table("synthetic", "Synthetic sets: FW against CD", header, rows, note, data)


def _distance(path: Record, exact: Record) -> float:
    """Return how far coefficients are from exact ones at equal l1 norms, on average, relative to the largest one."""
    rows = zip(path["coefs"], exact["coefs"], strict=True)
    l1, known = np.array(path["l1"]), np.array(exact["l1"])
    away = [np.abs(np.array(row) - np.interp(l1, known, np.array(theirs))).mean() for row, theirs in rows]
    return float(np.mean(away) / np.abs(np.array(exact["coefs"])).max())


def _claims(known: Mapping[str, Record]) -> list[Claim]:
    best, grown = [], []
    for record in known.values():
        fw, cd = record["fw"], record["cd"]
        errors = {label: min(path["test_mse"]) for label, path in (("FW", fw), ("CD", cd))}
        apart = errors["FW"] / errors["CD"] - 1.0
        shown = f"FW {number(errors['FW'])}, CD {number(errors['CD'])} ({percent(apart)})"
        best.append(Case(record["title"], abs(apart) <= SAME, shown))
        distances = [_distance(path, record["exact"]) for path in (fw, cd)]
        shown = f"FW {share(distances[0])} away from the exact path on average, CD {share(distances[1])}"
        grown.append(Case(record["title"], distances[0] <= SAME, shown))
    return [
        Claim(f"FW follows the most relevant coefficients along the path, within {share(SAME)} of the largest.", grown),
        Claim(
            f"FW and CD find the same best test error, within {share(SAME)}.",
            best,
            f"The paper shows this for {listed([PAPER_SETS[name].title for name in WITH_TEST_ERROR])}.",
        ),
    ]


PART = Part("synthetic", "Synthetic data sets", _tasks, _show)

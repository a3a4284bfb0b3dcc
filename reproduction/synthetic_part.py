"""The synthetic sets: the growth of the most relevant coefficients, and the test error, FW against CD."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fwlasso.solvers.sample_size import SparsityRule

from . import published
from .claims import SAME
from .data.paper_sets import PAPER_SETS
from .figures import LOOKS, Growth, growth_figure, held_out_figure
from .measuring import numbers, run, stalled_points
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
_FW = Method("sfw", "FW", "radii", {"solver": "sfw", "variant": "paper", **STOPPING}, is_random=True)
_OURS = Method("sfw-ours", "FW, ours, single columns", "radii", {"solver": "sfw", "block_size": 1, **STOPPING}, True)


def _tasks(setup: Setup) -> list[Task]:
    settings = {
        "gap": REFERENCE_GAP, "features": N_FEATURES, "confidence": _CONFIDENCE, "seeds": setup.n_seeds,
        "fw": _FW.settings, "ours": _OURS.settings, **STOPPING,
    }  # fmt: skip
    return [
        Task(f"synthetic/{name}", 5.0 + 8.0 * setup.n_seeds, partial(_run, setup, name), settings)
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
    data = loaded.data
    paths = {"exact": exact, "cd": cd.path}
    runs = {
        key: [run(loaded, method, seed, setup.n_threads, sample_size=rule).path for seed in range(setup.n_seeds)]
        for key, method in (("fw", _FW), ("ours", _OURS))
    }
    return {
        "title": data.title,
        "features": features.tolist(),
        "true_features": len({*features.tolist()} & {*_relevant(loaded)}),
        "n_relevant": n_relevant,
        "sample_size": rule(data.X.shape[1], 0),
        **{key: _path_record(loaded, path, features) for key, path in paths.items()},
        **{key: [_path_record(loaded, path, features) for path in of_key] for key, of_key in runs.items()},
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
        "stalled": stalled_points(path),
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
    paths = {"FW": record["fw"][0], "CD": record["cd"]}  # the dashes on top
    growth = Growth(
        name,
        f"{record['title']}: growth of the {len(record['features'])} most relevant coefficients",
        {label: np.array(path["l1"]) for label, path in paths.items()},
        {label: np.array(path["coefs"]) for label, path in paths.items()},
        {"FW": LOOKS["sfw-1"], "CD": LOOKS["cd"]._replace(width=1.3)},
    )
    return growth_figure(growth)


def _test_error(name: str, record: Record) -> Figure:
    paths = {"FW": (record["fw"][0], LOOKS["sfw-1"]), "CD": (record["cd"], LOOKS["cd"])}
    curves = {label: (np.array(path["l1"]), np.array(path["test_mse"]), look) for label, (path, look) in paths.items()}
    return held_out_figure(name, f"{record['title']}: test error", curves)


def _table(known: Mapping[str, Record]) -> Table:
    rows, data = [], []
    for name, record in known.items():
        cd, exact, theirs = record["cd"], record["exact"], published.SAMPLE_SIZES[name]
        kappa = f"{record['sample_size']:,} ({theirs:,}, {percent(record['sample_size'] / theirs - 1.0)})"
        found = f"{record['true_features']} of {len(record['features'])}"
        for method, runs in ((_FW, record["fw"]), (_OURS, record["ours"])):
            away = [_distance(runs, exact), _distance([cd], exact)]
            best = [_best(paths) for paths in (runs, [cd], [exact])]
            dots = [_mean(path["dot_products"] for path in paths) for paths in (runs, [cd])]
            row = (record["title"], method.label, f"{len(runs)}", kappa, found)
            rows.append((*row, *map(share, away), *map(number, best), *map(power, dots)))
            data.append(
                {
                    "set": name,
                    "method": method.key,
                    "runs": len(runs),
                    "sample_size": record["sample_size"],
                    "sample_size_published": theirs,
                    "mean_active_exact": float(np.mean(exact["n_active"])),
                    "relevant_among_largest": record["true_features"],
                    "stalled_points_fw": _mean(len(path["stalled"]) for path in runs),
                    "distance_fw": away[0],
                    "distance_cd": away[1],
                    **dict(zip(("best_test_mse_fw", "best_test_mse_cd", "best_test_mse_exact"), best, strict=True)),
                    "dot_products_fw": dots[0],
                    "dot_products_cd": dots[1],
                }
            )
    header = (
        "data set", "FW", "runs", "columns per step", "of the true model", "distance of FW", "of CD",
        "best test MSE, FW", "CD", "exact", "dot products, FW", "CD",
    )  # fmt: skip
    note = (
        f"FW as the paper writes it, and ours; means over the runs. Columns per step by the sparsity rule at "
        f"{share(_CONFIDENCE)} from the mean number of active features of the exact path, published ones in brackets. "
        "Of the true model: how many of the ten largest coefficients belong to it. Distance: the difference of the ten "
        "coefficients from the exact path at equal l1 norms, on average over the points, relative to the largest "
        "coefficient."
    )
    return Table("synthetic", "Synthetic sets: FW against CD", header, rows, note, data)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _best(paths: Sequence[Record]) -> float:
    """Return the smallest test error of a path, the mean over the runs."""
    return _mean(min(path["test_mse"]) for path in paths)


def _distance(paths: Sequence[Record], exact: Record) -> float:
    """Return how far coefficients are from exact ones at equal l1 norms, on average, relative to the largest one."""
    known, away = np.array(exact["l1"]), []
    for path in paths:
        l1 = np.array(path["l1"])
        for row, theirs in zip(path["coefs"], exact["coefs"], strict=True):
            away.append(np.abs(np.array(row) - np.interp(l1, known, np.array(theirs))).mean())
    return _mean(away) / float(np.abs(np.array(exact["coefs"])).max())


def _claims(known: Mapping[str, Record]) -> list[Claim]:
    best, grown = [], []
    for record in known.values():
        fw, cd = record["fw"], [record["cd"]]
        apart = _best(fw) / _best(cd) - 1.0
        shown = f"FW {number(_best(fw))}, CD {number(_best(cd))} ({percent(apart)})"
        best.append(Case(record["title"], abs(apart) <= SAME, shown))
        distances = [_distance(paths, record["exact"]) for paths in (fw, cd)]
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
